package main_test

import (
	"slices"
	"strconv"
	"strings"

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

// of reports whether a difference is in one of some fields.
func (d *fieldDifference) of(fields ...string) bool { return slices.Contains(fields, d.part) }

// keeps reports whether ibsm leaves the field as it found it.
func (d *fieldDifference) keeps() bool {
	if d.sent {
		return len(d.ours) == 0
	}
	return d.ours[0] == d.first
}

// kind reports whether the port's node is of a kind.
func (d *fieldDifference) kind(name string) bool { return strings.Contains(d.kinds[d.at.Node], name) }

// left is a row's is: ibsm leaves a field as long as a setting is not chosen. What OpenSM did
// then shows after the setting was chosen, too.
func left(field, key string) func(d *fieldDifference) bool {
	return func(d *fieldDifference) bool {
		return d.of(field) && d.defaults[key] && (d.keeps() || d.settings.chosen(key) || d.settings.chosen("m_key"))
	}
}

// enforcement reports whether the difference is in whether a port checks P_Keys.
func (d *fieldDifference) enforcement() bool {
	return d.of("PartitionEnforcementInbound", "PartitionEnforcementOutbound")
}

// bits is the value of a field, 0 for none.
func bits(text ...string) (v uint64) {
	if len(text) == 1 {
		v, _ = strconv.ParseUint(text[0], 16, 64)
	}
	return v
}

// theirsGreater reports whether OpenSM's value is greater, or OpenSM sends none.
func (d *fieldDifference) theirsGreater() bool {
	return bits(d.theirs...) > bits(d.ours...) || d.sent && d.theirs == nil && bits(d.first) > bits(d.ours...)
}

// orsOldBits reports whether OpenSM's value is ibsm's with more of the last two bits.
func (d *fieldDifference) orsOldBits() bool {
	theirs, ours := bits(d.theirs...), bits(d.ours...)
	if d.sent && d.theirs == nil {
		theirs = bits(d.first)
	}
	if d.sent && d.ours == nil {
		ours = bits(d.first)
	}
	return theirs&ours == ours && theirs-ours < 4
}

// setBack reports whether a setting has got OpenSM's default again.
func (d *fieldDifference) setBack() bool {
	return d.stage == reloaded && !d.settings.chosen(d.changed) && d.keeps()
}

// vlsChanged reports whether max_op_vls was changed while links carry traffic.
func (d *fieldDifference) vlsChanged() bool {
	return d.stage == reloaded && d.changed == "max_op_vls" && d.keeps()
}

// justSent reports whether the difference is in what is sent; what is held shows the rest.
func (d *fieldDifference) justSent() bool { return d.sent }

// vlsFollow reports whether the port had another number of VLs, or has no link any more, so that
// OpenSM leaves it as it is.
func (d *fieldDifference) vlsFollow() bool { return !d.sent && (d.newVLs || d.place == unconnected) }

// wildcard reports whether a wildcard is for the port, for which OpenSM sends nothing.
func (d *fieldDifference) wildcard() bool {
	return d.place == unconnected || d.place == enhancedPort0 && d.kind("wildcards of SLtoVL")
}

// fullKeys reports whether ibsm has the keys that OpenSM has, all of them full.
func (d *fieldDifference) fullKeys() bool {
	if d.sent {
		return d.partitions != "" // what is held shows it
	}
	return slices.Equal(keysIn(strings.NewReplacer("0x0", "0x8", "0x7fff", "0xffff").Replace(d.theirs[0])), keysIn(d.ours[0]))
}

// sameKeys reports whether both have the same keys, at other places.
func (d *fieldDifference) sameKeys() bool {
	return d.kind("P_Keys of before") && (d.sent || slices.Equal(keysIn(d.theirs[0]), keysIn(d.ours[0])))
}

// keysIn are the P_Keys of a table, without regard to their places.
func keysIn(table string) []string {
	keys := strings.Fields(strings.Trim(table, "[]"))
	keys = slices.DeleteFunc(keys, func(k string) bool { return k == "0x0000" })
	slices.Sort(keys)
	return keys
}

const (
	notAChoice = "a default in opensm.conf is not a choice: ports keep what they have"
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
	{smp.AttrPortInfo, "LinkWidthEnabled", "`force_link_width` not chosen", "all supported", "unchanged", notAChoice,
		left("LinkWidthEnabled", "force_link_width")},
	{smp.AttrPortInfo, "LinkSpeedEnabled", "`force_link_speed` not chosen", "all supported", "unchanged", notAChoice,
		left("LinkSpeedEnabled", "force_link_speed")},
	{smp.AttrPortInfo, "LinkSpeedExtEnabled", "`force_link_speed_ext` not chosen", "all supported", "unchanged", notAChoice,
		left("LinkSpeedExtEnabled", "force_link_speed_ext")},
	{smp.AttrExtendedPortInfo, "all", "`fdr10` not chosen", "FDR10 enabled on all of NVIDIA's ports", "unchanged", notAChoice,
		func(d *fieldDifference) bool { return d.defaults["fdr10"] }},
	{smp.AttrPortInfo, "all", "the port does not support a width or speed of `force_link_width`, `force_link_speed` or `force_link_speed_ext`",
		"is sent; the port refuses the Set with all its fields", "is left out", "the port must get its other fields",
		func(d *fieldDifference) bool { return d.refusing[d.at] && len(d.settings.forced()) > 0 }},
	{smp.AttrPortInfo, "LinkWidthEnabled", "external port of a switch, `force_link_width` with 2x", "unchanged", "as configured",
		"CapabilityMask2 of an external port is 0; the bit for 2x is in that of port 0",
		func(d *fieldDifference) bool {
			return d.of("LinkWidthEnabled") && d.place != endPort && d.settings.chosen("force_link_width") && number(d.settings["force_link_width"])&16 != 0
		}},
	{smp.AttrPortInfo, "all", "the device refuses bit 31 of the attribute modifier", "is sent with it all the same; the Set is refused", "is sent without it",
		"the port must get its fields", func(d *fieldDifference) bool { return d.refusing[d.at] && d.kind("bit 31 refused") }},
	{smp.AttrPortInfo, "LocalPhyErrors, OverrunErrors", "enhanced port 0", "as configured", "unchanged", "port 0 has no link whose errors could be counted",
		func(d *fieldDifference) bool {
			return d.of("LocalPhyErrors", "OverrunErrors") && d.place == enhancedPort0 && d.keeps()
		}},
	{smp.AttrPortInfo, "LinkDownDefaultState", "base port 0 that holds 0", "Polling", "unchanged", "it has no link",
		func(d *fieldDifference) bool {
			return d.of("LinkDownDefaultState") && d.place == basePort0 && len(d.ours) == 0
		}},
	{smp.AttrPortInfo, "PortState", "an adapter or router in INIT needs another NeighborMTU or OperationalVLs", "DOWN first", "no DOWN",
		"a port in INIT carries no data, and the reset costs another sweep",
		func(d *fieldDifference) bool {
			return d.of("PortState") && d.sent && slices.Equal(d.theirs, append([]string{"1"}, d.ours...))
		}},
	{smp.AttrPortInfo, "OperationalVLs, PortState", "`max_op_vls` changed while the link carries traffic", "written; links of hosts go down", "unchanged until the link comes up again",
		inUse,
		func(d *fieldDifference) bool { return d.of("OperationalVLs", "PortState") && d.vlsChanged() }},
	{smp.AttrSwitchInfo, "PortStateChange", "`max_op_vls` changed while links carry traffic", "cleared, since links went down", "nothing to clear", inUse,
		func(d *fieldDifference) bool { return d.of("PortStateChange") && d.vlsChanged() }},
	{smp.AttrPortInfo, "ClientReregister", "a port comes up from INIT again", "1 only if a sweep has found the port gone", "1", "its host may have lost what it had registered",
		func(d *fieldDifference) bool {
			return d.of("ClientReregister") && len(d.theirs) == 0 && d.stage == reboot
		}},
	{smp.AttrPortInfo, "all", "a setting gets OpenSM's default again by a reload", "the default", "unchanged", notAChoice, (*fieldDifference).setBack},
	{smp.AttrSwitchInfo, "all", "a setting gets OpenSM's default again by a reload", "the default", "unchanged", notAChoice, (*fieldDifference).setBack},
}

var laneRows = []fieldRow{
	{smp.AttrSLtoVLMappingTable, "all", "the port holds it already, or its switch takes wildcards", "is sent all the same, one by one", "is not sent, or by a wildcard", "fewer requests",
		(*fieldDifference).justSent},
	{smp.AttrVLArbitrationTable, "all", "the port holds it already", "is sent all the same", "is not sent", "fewer requests", (*fieldDifference).justSent},
	{smp.AttrSLtoVLMappingTable, "all", "switch that takes wildcards: ports without a link, and port 0", "unchanged, or port 0 with `use_optimized_slvl` as its switch takes the wildcard for all ports", "as configured",
		"a wildcard is for all ports; whether port 0 is one of them is not known", (*fieldDifference).wildcard},
	{smp.AttrSLtoVLMappingTable, "all", "OperationalVLs change in the same sweep, or differ", "for the old number of VLs until the next heavy sweep, and for good where the link is lost before", "for the new one", "an SL would be on a VL that is not there",
		(*fieldDifference).vlsFollow},
	{smp.AttrSLtoVLMappingTable, "all", "`qos` is turned on by a reload, and one VL is in use", "unchanged until the next change: it takes tables that it has not read for zeros", "as configured",
		"an SL would be on a VL that is not there",
		func(d *fieldDifference) bool {
			return d.stage == reloaded && d.changed == "qos" && d.oneVL && strings.Trim(d.ours[0], "0") == ""
		}},
	{smp.AttrVLArbitrationTable, "all", "OperationalVLs change in the same sweep, or differ", "for the old number of VLs until the next heavy sweep, and for good where the link is lost before", "for the new one", "a VL would have no turn",
		(*fieldDifference).vlsFollow},
}

var keyRows = []fieldRow{
	{smp.AttrPortInfo, "M_Key", "`m_key` not chosen", "0", "unchanged", otherKeys,
		left("M_Key", "m_key")},
	{smp.AttrPortInfo, "M_KeyLeasePeriod", "neither `m_key_lease_period` nor `m_key` chosen", "0", "unchanged", otherKeys,
		func(d *fieldDifference) bool {
			return d.defaults["m_key"] && left("M_KeyLeasePeriod", "m_key_lease_period")(d)
		}},
	{smp.AttrPortInfo, "M_KeyProtectBits", "neither `m_key_protection_level` nor `m_key` chosen", "0", "unchanged", otherKeys,
		func(d *fieldDifference) bool {
			return d.defaults["m_key"] && left("M_KeyProtectBits", "m_key_protection_level")(d)
		}},
	{smp.AttrPKeyTable, "all", "switch port to a limited member", "limited keys", "full keys",
		"a packet of a limited member has the limited key, which matches no other limited key (IBA 10.9.3)",
		func(d *fieldDifference) bool { return (d.place == leafPort || d.place == unconnected) && d.fullKeys() }},
	{smp.AttrPKeyTable, "all", "the port holds P_Keys from before", "new keys come directly behind those that stay", "new keys come behind all that were there",
		"a queue pair names its P_Key by the index: it must not get into another partition", (*fieldDifference).sameKeys},
	{smp.AttrPKeyTable, "all", "no partition file", "the default partition alone", "unchanged", "without a policy P_Key tables are left alone",
		func(d *fieldDifference) bool { return d.partitions == "" && d.keeps() }},
	{smp.AttrPKeyTable, "all", smallTable, "as many as a block has room for", "as many as the port has room for", beyondEnd,
		func(d *fieldDifference) bool { return d.kind(oneKey) }},
	{smp.AttrPKeyTable, "all", "switch port to a host that has no room for all its P_Keys", "those that the host holds", "all that it should hold", "a key that the host lacks lets nothing in",
		func(d *fieldDifference) bool {
			return (d.place == leafPort || d.place == unconnected) && strings.Contains(strings.Join(d.kinds, ", "), "room for 2 P_Keys")
		}},
	{smp.AttrPortInfo, "PartitionEnforcementInbound, PartitionEnforcementOutbound", smallTable, "on", "off where the keys do not fit", beyondEnd,
		func(d *fieldDifference) bool { return d.enforcement() && d.kind(oneKey) }},
	{smp.AttrPortInfo, "PartitionEnforcementInbound, PartitionEnforcementOutbound", "PartitionEnforcementCap 0", "0 is sent where the port says 1", "unchanged",
		"the port checks nothing, whatever it says", func(d *fieldDifference) bool { return d.enforcement() && d.kind("no enforcement") && d.keeps() }},
	{smp.AttrPortInfo, "PartitionEnforcementInbound, PartitionEnforcementOutbound", "no partition file", "on at switch ports to hosts and routers, off elsewhere", "unchanged",
		"without a policy P_Key tables are left alone, and what checks them too",
		func(d *fieldDifference) bool { return d.enforcement() && d.partitions == "" && d.keeps() }},
}

var switchRows = []fieldRow{
	{smp.AttrSwitchInfo, "MulticastFDBTop", "the switch has one", "0xBFFF without groups; unchanged with `use_mfttop FALSE`", "the end of the first block",
		"a first group then needs no Set of SwitchInfo, and what another manager left above is not found",
		func(d *fieldDifference) bool { return d.of("MulticastFDBTop") }},
	{smp.AttrSwitchInfo, "LinearFDBTop", "the port with the highest LIDs is gone, or has a smaller LMC than the others", "as if it were there, with the LMC of the others",
		"the highest LID that a port has", "LIDs without a port are not forwarded",
		func(d *fieldDifference) bool { return d.of("LinearFDBTop") && len(d.ours) < 2 && d.theirsGreater() }},
	{smp.AttrSwitchInfo, "DefaultMulticastPrimaryPort, DefaultMulticastNotPrimaryPort", "it names a port of the switch", "unchanged", "255, which drops packets to groups that no tree forwards",
		"without a tree packets might circulate",
		func(d *fieldDifference) bool {
			return d.of("DefaultMulticastPrimaryPort", "DefaultMulticastNotPrimaryPort") && slices.Equal(d.ours, []string{"ff"})
		}},
	{smp.AttrSwitchInfo, "LifeTimeValue", "the switch had another value, or `packet_life_time` was changed", "the new value, with ones in the last two bits that the old one has", "the new value", "an error of OpenSM: it keeps bits of the old value",
		func(d *fieldDifference) bool { return d.of("LifeTimeValue") && d.orsOldBits() }},
	{smp.AttrMulticastForwardingTable, "all", "several trees lead to the members of a group", "a shortest-path tree from one switch", "a tree that grows and keeps its branches",
		"members that join or leave do not move the branches of others; whom members reach is the same",
		func(d *fieldDifference) bool {
			return !strings.HasPrefix(d.part, reachedMembers) && !strings.HasPrefix(d.part, reachedOthers)
		}},
	{smp.AttrMulticastForwardingTable, "all", "a switch has no multicast forwarding table (MulticastFDBCap 0)", "trees lead through it, and members behind it get nothing", "trees lead around it where there is a way",
		"members must be reached",
		func(d *fieldDifference) bool {
			return strings.HasPrefix(d.part, reachedMembers) && strings.Contains(strings.Join(d.kinds, ", "), "no multicast") && len(d.theirs[0]) < len(d.ours[0])
		}},
	{smp.AttrMulticastForwardingTable, "all", "a port has joined a group only to send", "it gets the packets of the group", "it gets none", "it has not asked for them",
		func(d *fieldDifference) bool { return strings.HasPrefix(d.part, reachedOthers) && d.ours[0] == "" }},
	{smp.AttrLinearForwardingTable, "all", "there is an aggregation node", "routes to it count for the balance", "they do not",
		"it belongs to the switch and carries no traffic of hosts",
		func(d *fieldDifference) bool { return d.aggregation }},
	{smp.AttrLinearForwardingTable, "all", "a link was lost, or a node has rebooted", "routes are computed anew", "routes that work stay",
		"packets keep their path and their order", func(d *fieldDifference) bool { return d.stage != coldStart }},
}
