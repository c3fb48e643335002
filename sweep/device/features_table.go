package device

import (
	"ibsm/mad"
	"ibsm/mad/smp"
)

// FeatureRow says when a feature is asked for, what a failure means, and what is remembered. docs/devices.md has the
// same rows.
type FeatureRow struct {
	What, Asked, Failure, Remembered string
	SMPs                             []FeatureSMP // nil where the requests are of another class
}

// FeatureSMP is a request of subnet management: all with an attribute, or where Bits are not 0 those with one of these
// in the modifier.
type FeatureSMP struct {
	Method mad.Method
	Attr   mad.AttrID
	Bits   uint32
}

// Is reports whether a packet is such a request.
func (f *FeatureSMP) Is(p *mad.Packet) bool {
	return p.Method() == f.Method && p.AttrID() == f.Attr && (f.Bits == 0 || p.AttrMod()&f.Bits != 0)
}

// FeatureTable are all requests that OpenSM 3.3.23 does not send to every device.
var FeatureTable = []FeatureRow{
	{
		"Get(PortInfo) with bit 31 of the modifier",
		"after a Get without it, where the device has IsExtendedSpeedsSupported and a port with a link shows no extended speed; of a new device one port first",
		"any error, or no answer: the answer without the bit holds",
		"of the device until it restarts or leaves; a failure also of its model, as long as no device of it accepts the bit",
		[]FeatureSMP{{mad.MethodGet, smp.AttrPortInfo, 1 << 31}},
	},
	{
		"Set(PortInfo) with bit 31 of the modifier",
		"where the device has IsExtendedSpeedsSupported",
		"any error but busy, or no answer: the Set is sent without the bit, and the bit failed if that one is accepted",
		"the same",
		[]FeatureSMP{{mad.MethodSet, smp.AttrPortInfo, 1 << 31}},
	},
	{
		"Set(SLtoVLMappingTable) for several ports of a switch",
		"where bit 0 of SwitchInfo.OptimizedSLtoVLMappingProgramming is set, unless `use_optimized_slvl` is chosen as FALSE",
		"any error, no answer, or another value in the table that is read back: the tables are sent one by one in the same sweep",
		"the same; after a table was read back as wanted, none is read back any more",
		[]FeatureSMP{{mad.MethodSet, smp.AttrSLtoVLMappingTable, smp.SLtoVLAllOut | smp.SLtoVLAllIn}},
	},
	{
		"Get(GeneralInfo)",
		"of switches with the vendor ID of NVIDIA (0x0002c9), Bull (0x00119f) or Voltaire (0x0008f1)",
		"status 0x04, 0x08, 0x0c or 0x1c: the switch has no adaptive routing and no private forwarding tables. Another error, or no answer: not known, the next walk asks once more",
		"a failure, which is such a status or two walks with another one or without an answer: as above; an answer as long as the device is in the subnet",
		[]FeatureSMP{{mad.MethodGet, smp.AttrGeneralInfo, 0}},
	},
	{
		"Get(AdaptiveRoutingInfo)",
		"where GeneralInfo says that the switch has adaptive routing",
		"as of GeneralInfo, for adaptive routing alone",
		"a failure the same, unless the switch has answered before; whether adaptive routing is on is asked by every walk",
		[]FeatureSMP{{mad.MethodGet, smp.AttrARInfo, 0}},
	},
	{
		"Get(PrivateLFTInfo)",
		"where GeneralInfo says that the switch has private forwarding tables",
		"as of GeneralInfo, for private forwarding tables alone",
		"a failure the same, unless the switch has answered before; whether they are on is asked by every walk",
		[]FeatureSMP{{mad.MethodGet, smp.AttrPrivateLFTInfo, 0}},
	},
	{
		"Get(ExtendedPortInfo)",
		"with fdr10 other than 0, of the ports with a link of devices with one of these vendor IDs",
		"the port has no FDR10",
		"a failure, as of GeneralInfo, the same for the whole device, unless one of its ports has answered before",
		[]FeatureSMP{{mad.MethodGet, smp.AttrExtendedPortInfo, 0}},
	},
	{
		"Set(ExtendedPortInfo)",
		"with fdr10 other than 0, to ports that have answered that they have FDR10",
		"the port keeps its setting, and in two sweeps in a row it is sent again",
		"until the device restarts, settings change, or a person asks for a heavy sweep",
		[]FeatureSMP{{mad.MethodSet, smp.AttrExtendedPortInfo, 0}},
	},
	{
		"Get(LinearForwardingTable)",
		"by the first walk of a manager, of switches with an ARMED or ACTIVE port; by later ones where LinearFDBTop has changed, and of blocks that a late packet may have written",
		"the block is not known, and is written; after 128 blocks without an answer, if they are half of those asked for, the rest is not asked for",
		"nothing: a block that was written is known",
		[]FeatureSMP{{mad.MethodGet, smp.AttrLinearForwardingTable, 0}},
	},
	{
		"Get(MulticastForwardingTable)",
		"before the first tables of a manager are written, of switches with an ARMED or ACTIVE port; later of blocks that a late packet may have written",
		"the block is not known, and is written",
		"nothing: a block that was written is known",
		[]FeatureSMP{{mad.MethodGet, smp.AttrMulticastForwardingTable, 0}},
	},
	{
		"Get(SLtoVLMappingTable), Get(VLArbitrationTable)",
		"where traffic is on more lanes than VL 0, of ports in use",
		"the tables are not known, and are written",
		"two walks in a row that did not get all of them: until the device restarts, settings change, or a person asks for a heavy sweep",
		[]FeatureSMP{{mad.MethodGet, smp.AttrSLtoVLMappingTable, 0}, {mad.MethodGet, smp.AttrVLArbitrationTable, 0}},
	},
	{
		"of performance management: Get(ClassPortInfo)",
		"with `perfmgr`, of every agent before its counters, as OpenSM does, unless `perfmgr_query_cpi` is FALSE",
		"an error: the agent has PortCounters alone. No answer: none of its ports is read in this sweep",
		"an answer until a counter falls, or a redirection goes nowhere; no answer: nothing",
		nil,
	},
	{
		"of performance management: Get(PortCountersExtended)",
		"where ClassPortInfo says that the agent has them",
		"status 0x08 or 0x0c: the agent has PortCounters alone. Another error, or no answer, of an agent that has never answered: PortCounters are read in their place, and if these are answered, the second time means the same. Of one that has answered before: an error leaves the port with the counters of PortCounters alone, in this sweep; after no answer none of the agent's ports is read",
		"of the agent until it restarts or leaves",
		nil,
	},
	{
		"of congestion control: Set(SwitchCongestionSetting), Set(CACongestionSetting), Set(CongestionControlTable)",
		"with `congestion_control`, to every switch and adapter, with class version 2 and no ClassPortInfo first, as OpenSM does",
		"status 0x04, 0x08 or 0x0c: the device has no such agent and is left alone. Another error: it does not take this attribute. No answer in three rounds: it is left alone",
		"until the device restarts, the settings change, or for silence until `cc_key` changes",
		nil,
	},
	{
		"of a vendor class (0x4d): what a standby asks the master",
		"with `sm_key` or `m_key`, of a manager that has shown by its SMInfo that it is ibsm",
		"nothing is mirrored ([failover](failover.md))",
		"nothing: it is asked every two seconds at most",
		nil,
	},
}
