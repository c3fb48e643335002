package main_test

import (
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/topo/net"
)

// What follows are conditions of rows. A row has to check the value that ibsm left, and the port,
// since anything else would excuse errors.

// of reports whether a difference is in one of some fields.
func (d *fieldDifference) of(fields ...string) bool { return slices.Contains(fields, d.part) }

// kind reports whether the port's node is of a kind.
func (d *fieldDifference) kind(name string) bool { return d.nodeKind(d.at.Node, name) }

func (c *fieldCase) nodeKind(node int32, name string) bool {
	return node >= 0 && slices.Contains(strings.Split(c.kinds[node], ", "), name)
}

// setting is the value of a setting, OpenSM's default if it is not given.
func (d *fieldDifference) setting(key string) uint64 {
	i := slices.IndexFunc(fieldSettings, func(f fieldSetting) bool { return f.key == key })
	text, given := d.settings[key]
	if !given {
		text = fieldSettings[i].standard
	}
	v, _ := strconv.ParseUint(text, 0, 64)
	return v
}

// hexValue is a value as fields have it.
func hexValue(v uint64) string { return fmt.Sprintf("%x", v) }

// bits is the value of a field.
func bits(text string) uint64 { v, _ := strconv.ParseUint(text, 16, 64); return v }

// info is what the port is and can do.
func (d *fieldDifference) info() *smp.PortInfo {
	info := d.ibsm.ports[d.at].info
	return &info
}

// port is an item of the difference's port.
func (d *fieldDifference) port(field string) item { return item{d.at, smp.AttrPortInfo, field} }

// keeps reports whether ibsm leaves the field as it found it.
func (d *fieldDifference) keeps() bool {
	if d.sent {
		return len(d.ours) == 0
	}
	return d.ours[0] == d.first
}

// theyKeep reports whether OpenSM does.
func (d *fieldDifference) theyKeep() bool {
	if d.sent {
		return len(d.theirs) == 0
	}
	return d.theirs[0] == d.openSM.first[d.item]
}

// stood reports whether the difference stood before the stage, and neither has changed
// anything. An earlier stage had it compared.
func (d *fieldDifference) stood() bool { return !d.sent && d.keeps() && d.theyKeep() }

// they reports whether OpenSM has left or sent the one value.
func (d *fieldDifference) they(v string) bool { return slices.Equal(d.theirs, []string{v}) }

// we reports whether ibsm has.
func (d *fieldDifference) we(v string) bool { return slices.Equal(d.ours, []string{v}) }

// left is a row's is: ibsm leaves a field as long as none of some settings is chosen, where OpenSM
// writes a value.
func left(field string, value func(d *fieldDifference) string, keys ...string) func(d *fieldDifference) bool {
	return func(d *fieldDifference) bool {
		if !d.of(field) {
			return false
		}
		if slices.ContainsFunc(keys, d.settings.chosen) { // they were not before
			return d.stage == reloaded && slices.Contains(keys, d.changed) && d.stood()
		}
		return d.keeps() && d.they(value(d))
	}
}

// supportedWidths is what OpenSM writes where nothing is chosen, and so are the next.
func supportedWidths(d *fieldDifference) string {
	return hexValue(uint64(d.info().LinkWidthSupported()))
}
func supportedSpeeds(d *fieldDifference) string {
	return hexValue(uint64(d.info().LinkSpeedSupported()))
}
func supportedExt(d *fieldDifference) string {
	return hexValue(uint64(d.info().LinkSpeedExtSupported()))
}
func zero(*fieldDifference) string { return "0" }

// fdr10 reports whether OpenSM enables FDR10 where ibsm leaves it, or disables it again.
func (d *fieldDifference) fdr10() bool {
	enabled := item{d.at, smp.AttrExtendedPortInfo, "LinkSpeedEnabled"}
	switch {
	case d.kind("another maker") || !d.keeps():
		return false
	case !d.settings.chosen("fdr10"):
		return d.they("1")
	case d.stage != reloaded || d.changed != "fdr10":
		return false
	case d.of("LinkSpeedEnabled"): // neither writes it where there is no link, or for the value 0
		return d.stood() && (d.setting("fdr10") == 0 || d.place == unconnected)
	}
	return d.they("1") && d.ibsm.held[enabled] == "0" && d.openSM.held[enabled] == "0" && d.ibsm.first[enabled] == "0"
}

// refused reports whether the port has refused Sets of OpenSM with the values that ibsm's
// Sets brought it.
func (d *fieldDifference) refused() bool {
	wanted := d.openSM.refused[d.item]
	if d.sent {
		return len(wanted) > 0 && (len(d.ours) == 0 || d.ibsm.left(d.item)) &&
			!slices.ContainsFunc(d.theirs, func(v string) bool {
				return !slices.Contains(wanted, v) && v != d.openSM.held[d.item]
			})
	}
	if len(wanted) > 0 && d.of("OperationalVLs") && d.stage == reloaded && d.changed == "max_op_vls" {
		return d.stood() && slices.Contains(wanted, hexValue(d.vls())) // ibsm changes no VLs in use
	}
	return d.theyKeep() && (slices.Contains(wanted, d.ours[0]) || len(wanted) > 0 && d.supportedPart())
}

// supportedPart reports whether ibsm has enabled what the port supports of the configured widths or speeds.
func (d *fieldDifference) supportedPart() bool {
	for part, of := range map[string]struct {
		key       string
		supported uint8
	}{
		"LinkWidthEnabled":    {"force_link_width", uint8(d.info().LinkWidthSupported())},
		"LinkSpeedEnabled":    {"force_link_speed", d.info().LinkSpeedSupported()},
		"LinkSpeedExtEnabled": {"force_link_speed_ext", d.info().LinkSpeedExtSupported()},
	} {
		if d.of(part) && d.settings.chosen(of.key) && d.we(hexValue(d.setting(of.key)&uint64(of.supported))) {
			return true
		}
	}
	return false
}

// setBack reports whether a setting of a field has got OpenSM's default again.
func (d *fieldDifference) setBack() bool {
	field := map[string]string{
		"subnet_timeout": "SubnetTimeOut", "vl_stall_count": "VLStallCount", "leaf_vl_stall_count": "VLStallCount",
		"head_of_queue_lifetime":      "HOQLife",
		"leaf_head_of_queue_lifetime": "HOQLife", "local_phy_errors_threshold": "LocalPhyErrors",
		"overrun_errors_threshold": "OverrunErrors",
	}[d.changed]
	return field != "" && d.of(field) && !d.sent && d.stage == reloaded && !d.settings.chosen(d.changed) && d.keeps() &&
		d.they(hexValue(d.setting(d.changed)))
}

// twoLanes reports whether ibsm has configured a width of an external port that OpenSM leaves.
func (d *fieldDifference) twoLanes() bool {
	wanted := d.setting("force_link_width")
	return d.of("LinkWidthEnabled") && d.settings.chosen("force_link_width") && wanted&16 != 0 && d.at.Port != 0 &&
		d.place != endPort && d.theyKeep() &&
		d.we(hexValue(wanted&uint64(d.info().LinkWidthSupported())))
}

// thresholds reports whether only OpenSM sets those of errors at a port 0.
func (d *fieldDifference) thresholds() bool {
	key := map[string]string{"LocalPhyErrors": "local_phy_errors_threshold",
		"OverrunErrors": "overrun_errors_threshold"}[d.part]
	return key != "" && d.place == enhancedPort0 && d.keeps() && d.they(hexValue(d.setting(key)))
}

// newInStage reports whether ibsm has changed a field of the port.
func (d *fieldDifference) newInStage(field string) bool {
	return d.ibsm.first[d.port(field)] != d.ibsm.held[d.port(field)]
}

// vls is the number of OperationalVLs that max_op_vls demands of the port.
func (d *fieldDifference) vls() uint64 {
	vls := min(d.setting("max_op_vls"), uint64(d.info().VLCap()))
	if peer := d.ibsm.ports[d.at].peer; peer != net.NoEnd {
		info := d.ibsm.ports[peer].info
		vls = min(vls, uint64(info.VLCap()))
	}
	return max(vls, 1)
}

// vlsChanged reports whether OpenSM alone has taken down a link, or changed its VLs, since max_op_vls was changed.
func (d *fieldDifference) vlsChanged() bool {
	if d.stage != reloaded || d.changed != "max_op_vls" || !d.keeps() {
		return false
	}
	switch d.part {
	case "OperationalVLs":
		return d.they(hexValue(d.vls()))
	case "PortState":
		return slices.Equal(d.theirs, []string{"3", "4"}) || slices.Equal(d.theirs, []string{"1", "3", "4"})
	case "PortStateChange":
		return d.they("1")
	}
	return false
}

// came reports whether the port was ARMED in this stage.
func (d *fieldDifference) came() bool { return slices.Contains(d.ibsm.sent[d.port("PortState")], "3") }

// lanesOf is the SLtoVLMappingTable of OpenSM's defaults for some OperationalVLs.
func lanesOf(code uint8) string {
	var b strings.Builder
	for sl := range uint8(16) {
		vl := sl
		if sl == 15 {
			vl = 7
		}
		fmt.Fprintf(&b, "%x", vl&laneMask(code))
	}
	return b.String()
}

func laneMask(code uint8) uint8 { return 1<<(code-1) - 1 }

// turnsOf is a block of the VLArbitrationTable of OpenSM's defaults: VL 0 has turns in the high
// priority table, the others in the low one.
func turnsOf(info *smp.PortInfo, block int) string {
	var t smp.VLArbitrationTable
	entries := int(info.VLArbitrationLowCap())
	if block >= 2 {
		entries = int(info.VLArbitrationHighCap())
	}
	for i := range min(entries-block%2*smp.VLArbBlockSize, smp.VLArbBlockSize) {
		vl, weight := uint8(block%2*smp.VLArbBlockSize+i), uint8(0)
		if (vl == 0) == (block >= 2) && vl < 15 {
			weight = 4
		}
		if vl < 15 {
			t.SetEntry(i, vl&laneMask(info.OperationalVLs()), weight)
		}
	}
	return hex.EncodeToString(t[:])
}

// lanesFollow reports whether ibsm has configured the port for its OperationalVLs, which have changed or are
// other than OpenSM's, while OpenSM's port has a table for others.
func (d *fieldDifference) lanesFollow() bool {
	if d.sent || d.info().OperationalVLs() == 0 {
		return false
	}
	vls := d.port("OperationalVLs")
	if d.ibsm.first[vls] == d.ibsm.held[vls] && d.openSM.held[vls] == d.ibsm.held[vls] && d.place != unconnected {
		return false
	}
	if d.attr == smp.AttrSLtoVLMappingTable {
		return d.we(lanesOf(d.info().OperationalVLs()))
	}
	block, _ := strconv.Atoi(strings.TrimPrefix(d.part, "held in block "))
	return d.we(turnsOf(d.info(), block))
}

// wildcard reports whether ibsm's wildcard for the switch, by the VLs of a link, is for a port without one.
func (d *fieldDifference) wildcard() bool {
	sw := d.ibsm.switches[d.at.Node]
	if d.sent || d.place != unconnected || sw.OptimizedSLtoVLMappingProgramming()&1 == 0 || !d.theyKeep() {
		return false
	}
	if d.keeps() {
		return d.stage != coldStart
	}
	for at, p := range d.ibsm.ports {
		if at.Node == d.at.Node && at.Port != 0 && p.peer != net.NoEnd && d.we(lanesOf(p.info.OperationalVLs())) {
			return true
		}
	}
	return false
}

// lanesSent reports whether what ibsm has sent is what the port now has.
func (d *fieldDifference) lanesSent() bool {
	if !d.sent {
		return false
	}
	for _, v := range d.ours {
		if d.attr == smp.AttrVLArbitrationTable {
			block, _ := strconv.Atoi(strings.TrimPrefix(d.part, "block "))
			if v != d.ibsm.held[item{d.at, d.attr, fmt.Sprintf("held in block %d", block-1)}] {
				return false
			}
			continue
		}
		var in int
		if _, err := fmt.Sscanf(d.part, "from port %d", &in); err == nil {
			part := fmt.Sprintf("held for port %d", in)
			if !d.ibsm.isSwitch(d.at.Node) {
				part = "held"
			}
			if v[:16] != d.ibsm.held[item{d.at, d.attr, part}] {
				return false
			}
		} else if !d.wildcardOfLink(v[:16]) {
			return false
		}
	}
	return true
}

// wildcardOfLink reports whether a table is the one of a port with a link that a wildcard is for.
func (d *fieldDifference) wildcardOfLink(table string) bool {
	for at, p := range d.ibsm.ports {
		one := d.part == "wildcard 2" && at.Port == d.at.Port
		if at.Node == d.at.Node && (one || d.part == "wildcard 3" && at.Port != 0) &&
			(at.Port == 0 || p.peer != net.NoEnd) && d.ibsm.held[item{at, d.attr, "held for port 1"}] == table {
			return true
		}
	}
	return false
}

// highestLID is the highest LID of the ports that have a link.
func (s *fieldState) highestLID() (top mad.LID) {
	for at, p := range s.ports {
		if p.info.LID().IsUnicast() && (p.peer != net.NoEnd || at.Port == 0) {
			top = max(top, p.info.LID()+1<<p.info.LMC()-1)
		}
	}
	return top
}

// linearTop reports whether ibsm's LinearFDBTop is the highest LID, and OpenSM's is above.
func (d *fieldDifference) linearTop() bool {
	return d.of("LinearFDBTop") && !d.sent && d.we(hexValue(uint64(d.ibsm.highestLID()))) &&
		bits(d.theirs[0]) > bits(d.ours[0])
}

// multicastTop reports whether ibsm's MulticastFDBTop is the end of the first block or of the table, and OpenSM's is
// what the switch had or that there is no group.
func (d *fieldDifference) multicastTop() bool {
	sw := d.ibsm.switches[d.at.Node]
	want := hexValue(uint64(mad.MinMulticastLID) + uint64(min(sw.MulticastFDBCap(), 32)) - 1)
	if !d.of("MulticastFDBTop") {
		return false
	}
	if d.sent {
		return len(d.ours) == 0 || d.we(want)
	}
	return d.we(want) && (d.theyKeep() || d.they("bfff") || d.they("0") && d.kind("MulticastFDBTop of before"))
}

// defaultMulticast reports whether ibsm has had the switch drop what no tree forwards, where OpenSM's names a port.
func (d *fieldDifference) defaultMulticast() bool {
	if !d.of("DefaultMulticastPrimaryPort", "DefaultMulticastNotPrimaryPort") {
		return false
	}
	num := bits(d.openSM.held[d.item])
	_, there := d.openSM.ports[net.End{Node: d.at.Node, Port: uint8(num)}]
	return num != 0 && there && d.we("ff") && (d.sent && len(d.theirs) == 0 || d.theyKeep())
}

// oldBits reports whether ibsm's LifeTimeValue is the configured one, and OpenSM's is that with more of the last two
// bits.
func (d *fieldDifference) oldBits() bool {
	want := d.setting("packet_life_time")
	theirs := bits(d.openSM.held[d.item])
	return d.of("LifeTimeValue") && d.ibsm.held[d.item] == hexValue(want) && theirs&want == want && theirs-want < 4 &&
		(!d.sent || d.ibsm.left(d.item))
}
