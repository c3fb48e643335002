package device

import (
	"ibsm/mad"
	"ibsm/mad/smp"
)

// FeatureRow describes a request: when it is sent, what a failure means, and what is remembered for how long.
// docs/devices.md has the same rows.
type FeatureRow struct {
	What, Asked, Failure, Remembered string
	SMPs                             []FeatureSMP // nil where the requests are of another class
}

// FeatureSMP selects subnet management requests: all with an attribute or, if Bits is not 0, those that have one of
// these bits in the modifier.
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
		"after a Get without it, if the device has IsExtendedSpeedsSupported and a port with a link shows no extended speed; a new device is first asked about one port",
		"any error, or no answer: the answer to the Get without the bit is used",
		"for the device, until it restarts or leaves; a failure also for its model, as long as no device of the model accepts the bit",
		[]FeatureSMP{{mad.MethodGet, smp.AttrPortInfo, 1 << 31}},
	},
	{
		"Set(PortInfo) with bit 31 of the modifier",
		"if the device has IsExtendedSpeedsSupported",
		"any error except busy, or no answer: the Set is sent without the bit. If that Set is accepted, the bit has failed",
		"the same",
		[]FeatureSMP{{mad.MethodSet, smp.AttrPortInfo, 1 << 31}},
	},
	{
		"Set(SLtoVLMappingTable) for several ports of a switch",
		"if bit 0 of SwitchInfo.OptimizedSLtoVLMappingProgramming is set, unless `use_optimized_slvl` is set to FALSE",
		"any error, no answer, or another value in the table that is read back: the tables are sent one by one in the same sweep",
		"the same; once a table that was read back had the wanted values, no further one is read back",
		[]FeatureSMP{{mad.MethodSet, smp.AttrSLtoVLMappingTable, smp.SLtoVLAllOut | smp.SLtoVLAllIn}},
	},
	{
		"Get(GeneralInfo)",
		"to switches with the vendor ID of NVIDIA (0x0002c9), Bull (0x00119f) or Voltaire (0x0008f1)",
		"status 0x04, 0x08, 0x0c or 0x1c: the switch has no adaptive routing and no private forwarding tables. Another error, or no answer: unknown; the next walk asks once more",
		"a failure, that is one of these statuses, or two walks with another error or no answer: as above; an answer: as long as the device is in the subnet",
		[]FeatureSMP{{mad.MethodGet, smp.AttrGeneralInfo, 0}},
	},
	{
		"Get(AdaptiveRoutingInfo)",
		"if GeneralInfo says that the switch has adaptive routing",
		"as with GeneralInfo, for adaptive routing only",
		"a failure: as with GeneralInfo, unless the switch has answered before. Every walk asks whether adaptive routing is on",
		[]FeatureSMP{{mad.MethodGet, smp.AttrARInfo, 0}},
	},
	{
		"Get(PrivateLFTInfo)",
		"if GeneralInfo says that the switch has private forwarding tables",
		"as with GeneralInfo, for private forwarding tables only",
		"a failure: as with GeneralInfo, unless the switch has answered before. Every walk asks whether they are on",
		[]FeatureSMP{{mad.MethodGet, smp.AttrPrivateLFTInfo, 0}},
	},
	{
		"Get(ExtendedPortInfo)",
		"with `fdr10` other than 0, for ports with a link, if the device has one of these vendor IDs",
		"the port has no FDR10",
		"a failure: as with GeneralInfo, for the whole device, unless one of its ports has answered before",
		[]FeatureSMP{{mad.MethodGet, smp.AttrExtendedPortInfo, 0}},
	},
	{
		"Set(ExtendedPortInfo)",
		"with `fdr10` other than 0, to ports that have reported FDR10",
		"the port keeps its setting; the Set is repeated in the next sweep, and given up after two sweeps in a row",
		"until the device restarts, settings change, or an operator requests a heavy sweep",
		[]FeatureSMP{{mad.MethodSet, smp.AttrExtendedPortInfo, 0}},
	},
	{
		"Get(SwitchPortStateTable)",
		"in every other light sweep, in place of SwitchInfo, to switches of up to 127 ports with IsSwitchPortStateTableSupported, if none of their links is in INIT; of a model that has not answered it yet, to one switch. Also after a trap 128 of a switch that has answered it, if the last sweep has read a change there",
		"any error, or no answer: SwitchInfo is asked for in the same light sweep. A table counts as an error if three times in a row the walk after it has found other states",
		"an error, or two light sweeps without an answer: for the device, until it restarts or leaves; also for its model, as long as it works on no device of the model",
		[]FeatureSMP{{mad.MethodGet, smp.AttrSwitchPortStateTable, 0}},
	},
	{
		"Get(LinearForwardingTable)",
		"in the first walk of a manager, to switches with an ARMED or ACTIVE port; in later walks if LinearFDBTop has changed, and for blocks that a late packet may have written",
		"the block is unknown, and is written",
		"nothing: once written, the block is known",
		[]FeatureSMP{{mad.MethodGet, smp.AttrLinearForwardingTable, 0}},
	},
	{
		"Get(MulticastForwardingTable)",
		"before a manager writes its first tables, to switches with an ARMED or ACTIVE port; for the first block with entries that a switch acknowledges; later for blocks that a late packet may have written",
		"the block is unknown, and is written; after a Set the switch is believed",
		"nothing: once written, the block is known; that a switch keeps its table, or is believed: until it restarts or leaves",
		[]FeatureSMP{{mad.MethodGet, smp.AttrMulticastForwardingTable, 0}},
	},
	{
		"Get(SLtoVLMappingTable), Get(VLArbitrationTable)",
		"if traffic uses other lanes than VL 0, to ports in use",
		"the tables are unknown, and are written",
		"a failure, that is two walks in a row that did not get all tables: until the device restarts, settings change, or an operator requests a heavy sweep",
		[]FeatureSMP{{mad.MethodGet, smp.AttrSLtoVLMappingTable, 0}, {mad.MethodGet, smp.AttrVLArbitrationTable, 0}},
	},
	{
		"of adapters: Get(GeneralInfo)",
		"with `virt_enabled` other than 0, to adapters with one of these vendor IDs whose ports do not announce vPorts in CapabilityMask2",
		"the port has no vPorts",
		"a failure: as with GeneralInfo of switches",
		nil,
	},
	{
		"of vPorts: Get(VirtualizationInfo), Get(VPortState), Set(VirtualizationInfo)",
		"with `virt_enabled` other than 0, to adapters with one of these vendor IDs whose ports announce vPorts",
		"any error except busy: the port's vPorts are left as they were found. No answer: asked again after 1 s, later 2, 4 and up to 160 s",
		"until the port's link goes down or an operator requests a heavy sweep",
		nil,
	},
	{
		"of vPorts: Get and Set of VPortInfo, Get(VNodeInfo), Get and Set of VPortP_KeyTable, Get(VPortGUIDInfo), Get(VNodeDescription)",
		"with `virt_enabled` 2, for vPorts up to VPortIndexTop",
		"any error, or values that were sent and are not kept: sent again in 0.1 s, later 0.2, 0.4 and up to 1.6 s; after the sixth time the vPort is left as it was found",
		"until the vPort goes down, partitions change, or an operator requests a heavy sweep",
		nil,
	},
	{
		"of performance management: Get(ClassPortInfo)",
		"with `perfmgr`, to every agent before its counters are read, as OpenSM does, unless `perfmgr_query_cpi` is FALSE",
		"an error: the agent has only PortCounters. No answer: none of its ports is read in this sweep",
		"an answer: until a counter falls, or a redirection leads nowhere; no answer: nothing",
		nil,
	},
	{
		"of performance management: Get(PortCountersExtended)",
		"if ClassPortInfo says that the agent has them",
		"status 0x08 or 0x0c: the agent has only PortCounters. Another error, or no answer, if the agent has never answered: PortCounters are read instead; if they are answered, a second failure means the same as status 0x08. If the agent has answered before: after an error only PortCounters of the port are read in this sweep; without an answer none of the agent's ports is read",
		"for the agent, until it restarts or leaves",
		nil,
	},
	{
		"of congestion control: Set(SwitchCongestionSetting), Set(CACongestionSetting), Set(CongestionControlTable)",
		"with `congestion_control`, to every switch and adapter, with class version 2 and without a ClassPortInfo before it, as OpenSM does",
		"status 0x04, 0x08 or 0x0c: the device has no such agent and is left alone. Another error: the device does not accept this attribute. No answer in three rounds: the device is left alone",
		"until the device restarts or `cc_key` changes; an attribute that it does not accept: until the device restarts or the values change",
		nil,
	},
	{
		"of a vendor class (0x4d): a standby's mirror requests to the master",
		"with `sm_key` or `m_key`, to a manager whose SMInfo shows that it is ibsm",
		"nothing is mirrored ([failover](failover.md))",
		"nothing: a request is sent at most every two seconds",
		nil,
	},
}
