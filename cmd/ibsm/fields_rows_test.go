package main_test

import (
	"slices"

	"ibsm/mad"
	"ibsm/mad/smp"
)

// fieldRow is a row of the table of docs/fields.md: differences that are right.
type fieldRow struct {
	attr                 mad.AttrID
	fields               string // as the page names them
	when                 string
	opensm, ibsm, reason string
	is                   func(d *fieldDifference) bool
}

// name is the row in short.
func (r *fieldRow) name() string { return smp.AttrName(r.attr) + ": " + r.fields + "; " + r.when }

// row is the row that has the difference, nil for none.
func (d *fieldDifference) row() *fieldRow {
	for i := range fieldRows {
		if r := &fieldRows[i]; r.attr == d.attr && r.is(d) {
			return r
		}
	}
	return nil
}

const (
	notAChoice = "a default in opensm.conf counts as not set: ports keep their values"
	otherKeys  = "the keys of another manager protect the subnet until the operator decides"
	inUse      = "the change needs a reset of the link, which loses packets"
	beyondEnd  = "entries beyond the end of the table are lost"
	smallTable = "switch port with room for fewer P_Keys than a block has"
	oneKey     = "room for one P_Key at a switch's port"
)

var fieldRows []fieldRow

func init() { // they refer to functions that refer to them
	fieldRows = slices.Concat(linkRows, laneRows, keyRows, switchRows)
}

var linkRows = []fieldRow{
	{smp.AttrPortInfo, "LinkWidthEnabled", "`force_link_width` not set", "all supported", "unchanged", notAChoice,
		left("LinkWidthEnabled", supportedWidths, "force_link_width")},
	{smp.AttrPortInfo, "LinkSpeedEnabled", "`force_link_speed` not set", "all supported", "unchanged", notAChoice,
		left("LinkSpeedEnabled", supportedSpeeds, "force_link_speed")},
	{smp.AttrPortInfo, "LinkSpeedExtEnabled", "`force_link_speed_ext` not set", "all supported", "unchanged",
		notAChoice,
		left("LinkSpeedExtEnabled", supportedExt, "force_link_speed_ext")},
	{smp.AttrExtendedPortInfo, "all", "`fdr10` not set",
		"FDR10 enabled on all of NVIDIA's ports; `fdr10 2` by a reload disables it again", "unchanged", notAChoice,
		(*fieldDifference).fdr10},
	{smp.AttrPortInfo, "all",
		"the port does not support a width or speed of `force_link_width`, `force_link_speed` or `force_link_speed_ext`",
		"is sent; the port refuses the Set with all its fields", "what it does not support is left out",
		"the port must get its other fields",
		func(d *fieldDifference) bool { return len(d.settings.forced()) > 0 && d.refused() }},
	{smp.AttrPortInfo, "LinkWidthEnabled", "external port of a switch, `force_link_width` with 2x", "unchanged",
		"as configured",
		"CapabilityMask2 of an external port is 0; the bit for 2x is in that of port 0",
		(*fieldDifference).twoLanes},
	{smp.AttrPortInfo, "all", "the device refuses bit 31 of the attribute modifier",
		"is sent with it all the same; the Set is refused", "is sent without it",
		"the port must get its fields", func(d *fieldDifference) bool {
			return d.kind("bit 31 refused") && d.refused()
		}},
	{smp.AttrPortInfo, "LocalPhyErrors, OverrunErrors", "enhanced port 0", "as configured", "unchanged",
		"port 0 has no link whose errors could be counted",
		(*fieldDifference).thresholds},
	{smp.AttrPortInfo, "LinkDownDefaultState", "base port 0 that holds 0", "Polling", "unchanged", "it has no link",
		func(d *fieldDifference) bool {
			return d.of("LinkDownDefaultState") && d.sent && d.place == basePort0 && d.first == "0" && d.keeps() &&
				d.they("2")
		}},
	{smp.AttrPortInfo, "PortState", "an adapter or router in INIT needs another NeighborMTU or OperationalVLs",
		"DOWN first", "no DOWN",
		"a port in INIT carries no data, and the reset costs another sweep",
		func(d *fieldDifference) bool {
			return d.of("PortState") && d.sent && d.place == endPort &&
				(d.newInStage("NeighborMTU") || d.newInStage("OperationalVLs")) &&
				slices.Equal(d.ours, []string{"3", "4"}) && slices.Equal(d.theirs, []string{"1", "3", "4"})
		}},
	{smp.AttrPortInfo, "OperationalVLs, PortState", "`max_op_vls` changed while the port carries traffic",
		"written; links of hosts go down", "unchanged until the port comes up again",
		inUse,
		func(d *fieldDifference) bool { return d.of("OperationalVLs", "PortState") && d.vlsChanged() }},
	{smp.AttrSwitchInfo, "PortStateChange", "`max_op_vls` changed while links carry traffic",
		"cleared, since links went down", "nothing to clear", inUse,
		func(d *fieldDifference) bool { return d.of("PortStateChange") && d.vlsChanged() }},
	{smp.AttrPortInfo, "ClientReregister", "a port comes up from INIT again",
		"1 only if a sweep has found the port gone", "1", "its host may have lost what it had registered",
		func(d *fieldDifference) bool {
			return d.of("ClientReregister") && d.sent && len(d.theirs) == 0 && d.we("1") && d.stage == reboot &&
				d.came()
		}},
	{smp.AttrPortInfo, "all", "a setting gets OpenSM's default again by a reload", "the default", "unchanged",
		notAChoice, (*fieldDifference).setBack},
}

var laneRows = []fieldRow{
	{smp.AttrSLtoVLMappingTable, "all", "the port holds it already, or its switch takes wildcards",
		"is sent all the same, one by one", "is not sent, or by a wildcard", "fewer requests",
		(*fieldDifference).lanesSent},
	{smp.AttrVLArbitrationTable, "all", "the port holds it already", "is sent all the same", "is not sent",
		"fewer requests", (*fieldDifference).lanesSent},
	{smp.AttrSLtoVLMappingTable, "all", "switch that takes wildcards: ports without a link, and port 0",
		"unchanged, or port 0 with `use_optimized_slvl` as its switch takes the wildcard for all ports",
		"as configured",
		"a wildcard is for all ports; whether port 0 is one of them is not known", (*fieldDifference).wildcard},
	{smp.AttrSLtoVLMappingTable, "all", "OperationalVLs change in the same sweep, or differ",
		"for the old number of VLs until the next heavy sweep, and for good where the link is lost before",
		"for the new one", "an SL would be on a VL that is not there",
		(*fieldDifference).lanesFollow},
	{smp.AttrSLtoVLMappingTable, "all", "`qos` is turned on by a reload, and one VL is in use",
		"unchanged until the next change: it takes tables that it has not read for zeros", "as configured",
		"an SL would be on a VL that is not there",
		func(d *fieldDifference) bool {
			return !d.sent && d.stage == reloaded && d.changed == "qos" && d.theyKeep() &&
				d.info().OperationalVLs() == 1 && d.we(lanesOf(1))
		}},
	{smp.AttrVLArbitrationTable, "all", "OperationalVLs change in the same sweep, or differ",
		"for the old number of VLs until the next heavy sweep, and for good where the link is lost before",
		"for the new one", "a VL would have no turn",
		(*fieldDifference).lanesFollow},
}

var keyRows = []fieldRow{
	{smp.AttrPortInfo, "M_Key", "`m_key` not set", "0", "unchanged", otherKeys,
		left("M_Key", zero, "m_key")},
	{smp.AttrPortInfo, "M_KeyLeasePeriod", "neither `m_key_lease_period` nor `m_key` set", "0", "unchanged",
		otherKeys,
		left("M_KeyLeasePeriod", zero, "m_key_lease_period", "m_key")},
	{smp.AttrPortInfo, "M_KeyProtectBits", "neither `m_key_protection_level` nor `m_key` set", "0", "unchanged",
		otherKeys,
		left("M_KeyProtectBits", zero, "m_key_protection_level", "m_key")},
	{smp.AttrPKeyTable, "all", "switch port to a limited member", "limited keys",
		"full keys; with `security open`, limited keys that the port already holds stay",
		"full keys also suffice for a switch that compares inbound packets as an end port does, by which two limited keys do not match (IBA 10.9.3)",
		(*fieldDifference).limited},
	{smp.AttrPKeyTable, "all", "the port holds P_Keys from before", "new keys come directly behind those that stay",
		"new keys come behind all that were there",
		"a queue pair names its P_Key by the index: it must not get into another partition",
		(*fieldDifference).sameKeys},
	{smp.AttrPKeyTable, "all", "no partition file", "the default partition alone", "unchanged",
		"without a policy P_Key tables are left alone",
		(*fieldDifference).noPolicy},
	{smp.AttrPKeyTable, "all", smallTable, "as many as a block has room for", "as many as the port has room for",
		beyondEnd,
		(*fieldDifference).cutKeys},
	{smp.AttrPKeyTable, "all", "switch port to a host that has no room for all its P_Keys", "those that the host holds",
		"all that it should hold", "a key that the host lacks lets nothing in",
		(*fieldDifference).crowded},
	{smp.AttrPortInfo, "PartitionEnforcementInbound, PartitionEnforcementOutbound", smallTable, "on",
		"off where the keys do not fit", beyondEnd,
		(*fieldDifference).unchecked},
	{smp.AttrPortInfo, "PartitionEnforcementInbound, PartitionEnforcementOutbound", "PartitionEnforcementCap 0",
		"0 is sent where the port says 1", "unchanged",
		"the port checks nothing, whatever it says", (*fieldDifference).cannotCheck},
	{smp.AttrPortInfo, "PartitionEnforcementInbound, PartitionEnforcementOutbound", "no partition file",
		"on at switch ports to hosts and routers, off elsewhere", "unchanged",
		"without a policy P_Key tables are left alone, and what checks them too",
		(*fieldDifference).checksWithoutPolicy},
}

var switchRows = []fieldRow{
	{smp.AttrSwitchInfo, "MulticastFDBTop", "the switch has one",
		"0xBFFF without groups, at times 0 where another manager left a value; unchanged with `use_mfttop FALSE`",
		"the end of the first block, or of a smaller table",
		"a first group then needs no Set of SwitchInfo, and what another manager left above is not found",
		(*fieldDifference).multicastTop},
	{smp.AttrSwitchInfo, "LinearFDBTop", "the port with the highest LIDs is gone, or has a smaller LMC than the others",
		"as if it were there, with the LMC of the others",
		"the highest LID that a port has", "LIDs without a port are not forwarded",
		(*fieldDifference).linearTop},
	{smp.AttrSwitchInfo, "DefaultMulticastPrimaryPort, DefaultMulticastNotPrimaryPort", "it names a port of the switch",
		"unchanged", "255, which drops packets to groups that no tree forwards",
		"without a tree packets might circulate",
		(*fieldDifference).defaultMulticast},
	{smp.AttrSwitchInfo, "LifeTimeValue", "the switch had another value, or `packet_life_time` was changed",
		"the new value, with ones in the last two bits that the old one has", "the new value",
		"an error of OpenSM: it keeps bits of the old value",
		(*fieldDifference).oldBits},
	{smp.AttrMulticastForwardingTable, "all", "several trees lead to the members of a group",
		"a shortest-path tree from one switch", "a tree that grows and keeps its branches",
		"members that join or leave do not move the branches of others; whom members reach is the same",
		(*fieldDifference).otherTree},
	{smp.AttrMulticastForwardingTable, "all", "a switch has no multicast forwarding table (MulticastFDBCap 0)",
		"trees lead through it, and members behind it get nothing", "trees lead around it where there is a way",
		"members must be reached",
		(*fieldDifference).aroundSwitch},
	{smp.AttrMulticastForwardingTable, "all", "a port has joined a group only to send",
		"it gets the packets of the group", "it gets none", "it has not asked for them",
		(*fieldDifference).onlySend},
	{smp.AttrLinearForwardingTable, "all", "there is an aggregation node", "routes to it count for the balance",
		"they do not",
		"it belongs to the switch and carries no traffic of hosts",
		(*fieldDifference).balance},
	{smp.AttrLinearForwardingTable, "all", "a link was lost, or a node has rebooted, and reloads after that",
		"routes are computed anew", "routes that work by the fewest links stay",
		"packets keep their path and their order", (*fieldDifference).stays},
}
