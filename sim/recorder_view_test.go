package sim_test

import (
	"bytes"
	"cmp"
	"encoding/hex"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"

	"ibsm/conf/diag"
	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/partitions"
	"ibsm/routing"
	"ibsm/sweep/device"
	"ibsm/topo"
	"ibsm/view"
)

// writer takes a line.
type writer func(format string, args ...any)

// writeView writes what a view holds. Ports are named by GUID of the node and number.
// TestRecorderView names what is left out.
func writeView(v *view.View, line writer) {
	s := v.Subnet
	line("subnet prefix=%d timeout=%d sakey=%d resptime=%d maxrate=%d nomulticast=%t trust=%s", uint64(s.Prefix),
		s.SubnetTimeOut, s.SAKey, s.RespTimeValue, uint8(s.MaxRate), s.NoMulticast, plain(s.Trust))
	for _, p := range v.PrefixRoutes {
		line("prefix route %d %t %#x", uint64(p.Prefix), p.AnyPrefix, uint64(p.Router))
	}
	for _, sm := range v.SMs {
		line("sm %#x lid=%d priority=%d state=%d actcount=%d", uint64(sm.GUID), uint16(sm.LID), sm.Priority, sm.State,
			sm.ActCount)
	}
	for _, f := range v.Findings {
		line("finding %d %#x/%d %q", uint8(f.Kind), uint64(f.Node), f.Port, valuesIn(f.Detail))
	}
	line("further findings %d", v.FindingsMore)
	for _, a := range v.Absent {
		line("absent %#x lid=%d lmc=%d since=%d", uint64(a.Port), uint16(a.Base), a.LMC, a.Since)
	}
	for _, l := range v.Left {
		line("left %#x/%d %#x/%d", uint64(l.Here.GUID), l.Here.Port, uint64(l.Far.GUID), l.Far.Port)
	}
	for _, d := range v.Drained {
		line("drained %#x/%d by=%d state=%d hosts=%q more=%d", uint64(d.Switch), d.Port, uint8(d.By), uint8(d.State),
			d.Hosts, d.More)
	}
	line("self %s", portName(v.Topo, v.Topo.Self))
	line("endports%s", portNames(v.Topo, v.Topo.EndPorts))
	for i := range v.Topo.Nodes {
		writeNode(v, topo.NodeIdx(i), line)
	}
	if v.Topo.VPorts.Len() > 0 {
		line("vports %t %t %d %t", v.VPorts.Ignored, v.VPorts.Unread, v.VPorts.HopLimit, v.VPorts.Records)
		writeVPorts(v, line)
	}
	line("top lid=%d owners=%s", uint16(v.LIDs.Top), portNames(v.Topo, v.LIDs.Owner))
	writeRouting(v, line)
	writeTables(v, line)
	writePolicies(v, line)
	writeCabling(v.Cabling, line)
}

// writeVPorts writes the vPorts of a subnet.
func writeVPorts(v *view.View, line writer) {
	t := v.Topo
	for _, l := range v.LIDs.VPorts {
		line("vport lid %#x %d %s", uint64(l.GUID), uint16(l.LID), portName(t, l.Port))
	}
	if t.VPorts == nil {
		return
	}
	for _, h := range t.VPorts.Hosts {
		line("vhost %s cap=%d top=%d enabled=%t left=%q", portName(t, h.Port), h.Cap, h.Top, h.Enabled, h.Left)
	}
	if v.Partitions != nil {
		for i, want := range v.Partitions.VPorts {
			line("vport %d wants pkeys=%s", i, pkeysText(want))
		}
	}
	for i := range t.VPorts.List {
		p := &t.VPorts.List[i]
		var desc smp.NodeDescription
		if p.Desc != nil {
			desc = *p.Desc
		}
		line("vport %s/%d guid=%#x node=%#x lid=%d,%t shares=%d cap=%d", portName(t, p.Port), p.Index, uint64(p.GUID),
			uint64(p.Node), uint16(p.LID), p.LIDRequired, p.Shares, p.PartitionCap)
		line("vport %s/%d state=%d elsewhere=%t pkeys=%s desc=%s aliases=%v caps=%d waits=%d", portName(t, p.Port),
			p.Index, uint8(p.State), p.Elsewhere, pkeysText(p.PKeys), bare(desc[:]), t.VPorts.Aliases[topo.VPortIdx(i)],
			uint16(p.Caps), uint8(p.Waits))
	}
}

func writeNode(v *view.View, i topo.NodeIdx, line writer) {
	t, n := v.Topo, &v.Topo.Nodes[i]
	line("node %#x type=%d ports=%d aggregation=%t missed=%d extended=%t,%t ar=%d private=%d route=%d", uint64(n.GUID),
		uint8(n.Type), n.NumPorts, n.Aggregation, n.Missed, n.GetsExtended, n.SetsExtended, uint8(n.AR),
		uint8(n.PrivateLFT), n.Route.Ports())
	var ar smp.ARInfo
	if n.ARInfo != nil {
		ar = *n.ARInfo
	}
	line("node %#x info=%s desc=%s switch=%s ar=%s", uint64(n.GUID), bare(n.Info[:]), bare(n.Desc[:]),
		bare(n.SwitchInfo[:]), bare(ar[:]))
	for num := range int(n.NumPorts) + 1 {
		idx := t.Port(i, uint8(num))
		p := &t.Ports[idx]
		line("port %#x/%d guid=%#x seen=%t shunned=%t unhealthy=%t fdr10=%d peer=%s lid=%d lmc=%d pkeys=%s info=%s",
			uint64(n.GUID), num, uint64(p.GUID), p.Seen, p.Shunned, p.Unhealthy, uint8(p.FDR10),
			portName(t, p.Peer), uint16(v.LIDs.Base[idx]), v.LIDs.LMC[idx], pkeysText(p.PKeys), bare(p.Info[:]))
		if e, ok := t.Extended[idx]; ok {
			line("port %#x/%d extended=%s", uint64(n.GUID), num, bare(e[:]))
		}
		for _, a := range device.Attributes {
			if held := v.Ports.Blocks(device.Place{Attr: a.ID, Node: n.GUID, Port: uint8(num)}); held != nil {
				line("port %#x/%d holds %#x%s", uint64(n.GUID), num, uint16(a.ID), blocksText(held))
			}
		}
	}
}

// blocksText is the state and the value of each block, = for one like that before it.
func blocksText(held *device.Blocks) string {
	var out []byte
	last := ""
	for b := range len(held.Row()) / device.BlockSize {
		text := fmt.Sprintf(" %d:%s", uint8(held.State(b)), bare(held.Block(b)))
		if text == last {
			out = append(out, " ="...)
			continue
		}
		out, last = append(out, text...), text
	}
	return string(out)
}

// writeRouting writes where routes come from, and what their engine says.
func writeRouting(v *view.View, line writer) {
	r := v.Routing
	line("routing engine=%s kept=%t foreign=%s fabric=%q lanes=%q", r.Engine, r.Kept, r.Foreign, valuesIn(r.Fabric),
		valuesIn(r.Lanes))
	if r.Awaited != "" {
		line("routing awaits %s", r.Awaited)
	}
	for _, f := range r.Refused {
		line("routing refused by %s %q", f.Engine, valuesIn(f.Reason))
	}
	for _, note := range r.Notes {
		line("routing says %q", valuesIn(note))
	}
	if v.Tables == nil {
		return
	}
	t := v.Topo
	for _, note := range v.Tables.Notes {
		line("routing note %q", valuesIn(note))
	}
	for _, p := range v.Tables.Places {
		line("routing place %s %d", switchName(t, p.Switch), p.At)
	}
	if tree := v.Tables.Trunk; tree != nil {
		line("trunk root %s", switchName(t, tree.Root))
		for s, up := range tree.Up {
			line("trunk %s to=%s down=%d up=%d", switchName(t, topo.SwitchIdx(s)), switchName(t, up.To), up.Down, up.Up)
		}
	}
	if v.Tables.Ranks != nil {
		line("ranks %d", v.Tables.Ranks)
	}
	if f := v.Tables.Findings; f != nil {
		line("found roots%s", switchNames(t, f.Roots))
		line("found computes%s", portNames(t, f.Computes))
		line("found tree=%s lanes=%s mesh=%s", plain(f.Tree), plain(f.Lanes), plain(f.Mesh))
		for _, at := range slices.SortedFunc(maps.Keys(f.Weights), func(a, b routing.SwitchPort) int {
			return cmp.Or(cmp.Compare(a.Switch, b.Switch), cmp.Compare(a.Port, b.Port))
		}) {
			line("found weight %#x/%d %d", uint64(at.Switch), at.Port, f.Weights[at])
		}
	}
	writeSLs(v.Tables.SLs, t, line)
}

// writeSLs writes the SLs of paths, and the lanes that they need.
func writeSLs(s *routing.SLs, t *topo.Topo, line writer) {
	if s == nil {
		return
	}
	line("path sls count=%d hint=%d from=%d to=%d", s.Count, s.Hint, s.From, s.To)
	for i, row := range s.Rows {
		line("path sls %d %x", i, row)
	}
	if s.Maps == nil {
		return
	}
	for p, tables := range s.Maps.Of {
		if len(tables) > 0 {
			line("path lanes %s %s", portName(t, topo.PortIdx(p)), plain(tables))
		}
	}
	for p, turns := range s.Maps.Turns {
		if turns != nil {
			line("path turns %s %x", portName(t, topo.PortIdx(p)), turns[:])
		}
	}
}

// writeTables writes the tables of switches, and those of P_Keys.
func writeTables(v *view.View, line writer) {
	t := v.Topo
	if v.Tables != nil {
		line("lft top=%d", uint16(v.Tables.Top))
		for s, row := range v.Tables.LFT {
			line("lft %s %s", switchName(t, topo.SwitchIdx(s)), hex.EncodeToString(row))
		}
	}
	for mlid := mad.MinMulticastLID; v.MFTs != nil && mlid <= v.MFTs.Top() && mlid < math.MaxUint16; mlid++ {
		for s := range t.Switches {
			if ports := v.MFTs.Ports(topo.SwitchIdx(s), mlid); ports != [4]uint64{} {
				line("mft %#x %s %x", uint16(mlid), switchName(t, topo.SwitchIdx(s)), [4]uint64(ports))
			}
		}
	}
	if v.Partitions != nil {
		writePartitions(v.Partitions, t, line)
	}
}

func writePartitions(want *partitions.Tables, t *topo.Topo, line writer) {
	line("partitions settings=%s policy=%s", plain(want.Settings), plain(want.Policy))
	for i, table := range want.Want {
		if table != nil {
			line("pkeys wanted %s %s", portName(t, topo.PortIdx(i)), pkeysText(table))
		}
	}
	for i, c := range want.Checking {
		if c != partitions.LeaveAsIs {
			line("pkeys checked %s %d", portName(t, topo.PortIdx(i)), uint8(c))
		}
	}
	for _, c := range want.Claims {
		line("pkeys claimed host=%q desc=%q partition=%q", c.Host, c.Desc, c.Partition)
	}
	for _, o := range want.Overflows {
		line("pkeys left out %s size=%d %d", portName(t, o.Port), o.Size, o.Left)
		if o.VPort != topo.None {
			line("of vport %d", o.VPort)
		}
	}
	for _, at := range slices.SortedFunc(maps.Keys(want.Remember), func(a, b partitions.Port) int {
		return cmp.Or(cmp.Compare(a.GUID, b.GUID), cmp.Compare(a.Num, b.Num))
	}) {
		line("pkeys remembered %#x/%d %s", uint64(at.GUID), at.Num, pkeysText(want.Remember[at]))
	}
	line("pkeys unknown%s", portNames(t, want.Unknown))
}

// writePolicies writes what operators have said of paths.
func writePolicies(v *view.View, line writer) {
	for _, key := range slices.Sorted(maps.Keys(v.SLs)) {
		line("sl of %#x %d", uint16(key), v.SLs[key])
	}
	if v.QoS != nil {
		line("qos %s", plain(v.QoS))
	}
	if v.PortGroups != nil {
		line("port groups %s", plain(v.PortGroups))
	}
}

func writeCabling(c *view.Cabling, line writer) {
	if c == nil {
		return
	}
	line("cabling enforced=%t spared=%d cutoff=%d of=%d compared=%s", c.Enforced, c.Spared, c.CutOff, c.Of,
		plain(c.Comparison))
	for _, h := range c.Held {
		line("cabling held %s", plain(h))
	}
	if c.Found != nil {
		line("cabling devices %s", plain(c.Found.Devices))
		line("cabling cables %s", plain(c.Found.Cables))
		line("cabling ports %s inner %s", plain(c.Found.Adapters), plain(c.Found.Inner))
	}
}

// plain is a value as text: what it holds in the order of its exported fields, without
// names of types and fields. Positions in files and texts of errors are left out.
func plain(v any) string { return string(appendPlain(nil, reflect.ValueOf(v))) }

func appendPlain(out []byte, v reflect.Value) []byte {
	switch v.Kind() {
	case reflect.Invalid:
		return append(out, '-')
	case reflect.Pointer:
		return appendPlain(out, v.Elem())
	case reflect.Struct:
		out = append(out, '{')
		for i := range v.NumField() {
			if f := v.Type().Field(i); f.IsExported() && !unwritten[f.Type] &&
				v.Type() != reflect.TypeFor[diag.Error]() {
				out = append(appendPlain(out, v.Field(i)), ' ')
			}
		}
		return append(out, '}')
	case reflect.Slice, reflect.Array:
		out = append(out, '[')
		for i := range v.Len() {
			out = append(appendPlain(out, v.Index(i)), ' ')
		}
		return append(out, ']')
	case reflect.String:
		return fmt.Appendf(out, "%q", v.String())
	case reflect.Bool:
		return fmt.Append(out, v.Bool())
	}
	switch {
	case v.CanUint():
		return fmt.Append(out, v.Uint())
	case v.CanInt():
		return fmt.Append(out, v.Int())
	}
	panic(fmt.Sprintf("%v has no plain text", v.Type())) // a map, which has no order, or an interface
}

// unwritten are types that plain leaves out.
var unwritten = map[reflect.Type]bool{reflect.TypeFor[diag.Position](): true}

// bare is data in hexadecimal, without the zeros at its end.
func bare(data []byte) string { return hex.EncodeToString(bytes.TrimRight(data, "\x00")) }

func pkeysText(table *topo.PKeyTable) string {
	if table == nil {
		return "-"
	}
	out := make([]byte, 0, 64)
	for _, k := range table.Keys() {
		out = fmt.Appendf(out, "%04x,", uint16(k))
	}
	return string(out)
}

func portName(t *topo.Topo, p topo.PortIdx) string {
	if p == topo.None {
		return "-"
	}
	return fmt.Sprintf("%#x/%d", uint64(t.Nodes[t.Ports[p].Node].GUID), t.Ports[p].Num)
}

func portNames(t *topo.Topo, ports []topo.PortIdx) string {
	var out []byte
	for _, p := range ports {
		out = append(append(out, ' '), portName(t, p)...)
	}
	return string(out)
}

func switchName(t *topo.Topo, s topo.SwitchIdx) string {
	if s == topo.None {
		return "-"
	}
	return fmt.Sprintf("%#x", uint64(t.Nodes[t.Switches[s]].GUID))
}

func switchNames(t *topo.Topo, switches []topo.SwitchIdx) string {
	var out []byte
	for _, s := range switches {
		out = append(append(out, ' '), switchName(t, s)...)
	}
	return string(out)
}
