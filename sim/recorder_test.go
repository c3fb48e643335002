package sim_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"io"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/manager"
	"ibsm/partitions"
	"ibsm/sim"
	"ibsm/topo"
	"ibsm/view"
)

// recorder writes down as lines of text what leaves the managers of one World: every
// packet, every published view, and the level and numbers of every log event. It names no
// Go type and no wording, so that its digests outlive a rebuilt manager.
type recorder struct {
	world   *sim.World
	packets digest
	views   digest
	log     digest
	buf     []byte
	// transcript gets every line; of a view only those that differ from the manager's last
	// one. nil for none.
	transcript io.Writer
	shown      map[int]map[string]bool // lines of the last view, by manager
}

// digest is that of the lines of one kind, and their number. A view counts as one.
type digest struct {
	hash.Hash
	count int
}

func (d *digest) String() string { return hex.EncodeToString(d.Sum(nil)[:8]) }

func newRecorder(w *sim.World, transcript io.Writer) *recorder {
	r := &recorder{world: w, transcript: transcript, shown: map[int]map[string]bool{}}
	r.packets.Hash, r.views.Hash, r.log.Hash = sha256.New(), sha256.New(), sha256.New()
	w.Sent, w.Returned = r.sent, r.returned
	return r
}

// String is the recorder's part of a line of the record.
func (r *recorder) String() string {
	return fmt.Sprintf("packets=%v views=%v log=%v sent=%d published=%d logged=%d", &r.packets, &r.views, &r.log, r.packets.count, r.views.count, r.log.count)
}

// begin begins a line with the time in seconds, the kind, and the number of the manager.
func (r *recorder) begin(m *sim.Manager, kind string) {
	now := r.world.Fabric.Now()
	r.buf = fmt.Appendf(r.buf[:0], "%d.%09d manager %d %s", now/time.Second, now%time.Second, slices.Index(r.world.Managers, m), kind)
}

// end adds the line to a digest.
func (r *recorder) end(d *digest) {
	d.count++
	r.buf = append(r.buf, '\n')
	d.Write(r.buf)
	if r.transcript != nil {
		r.transcript.Write(r.buf)
	}
}

// sent writes one line for each datagram. Zeros at the end of a packet are left out.
func (r *recorder) sent(m *sim.Manager, batch []mad.Datagram) {
	for i := range batch {
		d := &batch[i]
		p := &d.Packet
		r.begin(m, "send")
		r.buf = fmt.Appendf(r.buf, " class=%#x method=%#x attr=%#x mod=%#x", uint8(p.MgmtClass()), uint8(p.Method()), uint16(p.AttrID()), p.AttrMod())
		if p.MgmtClass() == mad.ClassDirected {
			r.buf = fmt.Appendf(r.buf, " route=%d", p.InitialPath()[1:min(int(p.HopCount())+1, 64)])
		}
		r.buf = fmt.Appendf(r.buf, " lid=%d qpn=%d sl=%d bits=%d pkey=%d timedout=%t ", uint16(d.LID), d.QPN, d.SL, d.PathBits, d.PKeyIndex, d.TimedOut)
		r.buf = hex.AppendEncode(r.buf, bytes.TrimRight(p[:], "\x00"))
		r.end(&r.packets)
	}
}

// returned writes the log, changes of state, and views.
func (r *recorder) returned(m *sim.Manager, a manager.Action) {
	switch a := a.(type) {
	case manager.Publish:
		r.published(m, a.View)
	case manager.Log:
		r.begin(m, "log")
		r.buf = fmt.Appendf(r.buf, " level=%d numbers=%d", int(a.Level), numbers(a.Msg, a.Args))
		r.end(&r.log)
	case manager.Entered:
		r.begin(m, "enters")
		r.buf = fmt.Appendf(r.buf, " state=%d", uint8(a.State))
		r.end(&r.log)
	case manager.Up:
		r.begin(m, "up")
		r.buf = fmt.Appendf(r.buf, " nodes=%d switches=%d links=%d lids=%d active=%d took=%d longest=%d cut=%d bad=%d failures=%d errors=%t first=%t sets=",
			a.Nodes, a.Switches, a.Links, a.LIDs, a.Active, int64(a.Took), a.Longest, a.Cut, a.Bad, a.Failures, a.Errors, a.First)
		for _, attr := range slices.Sorted(maps.Keys(a.Sets)) {
			r.buf = fmt.Appendf(r.buf, "%#x:%d,", uint16(attr), a.Sets[attr])
		}
		r.end(&r.log)
	case manager.Exit:
		r.begin(m, "exits")
		r.buf = fmt.Appendf(r.buf, " failed=%t", a.Err != nil)
		r.end(&r.log)
	}
}

// number is a decimal or hexadecimal number that is no part of a word.
var number = regexp.MustCompile(`\b(0[xX][0-9a-fA-F]+|[0-9]+)\b`)

// numbers are those that a log event has in its message or its values, each once: other
// words, and a value that moves from the message to a field, make no difference.
func numbers(msg string, args []any) []uint64 {
	text := msg
	for i := 1; i < len(args); i += 2 {
		text = fmt.Sprint(text, " ", args[i])
	}
	found := map[uint64]bool{}
	for _, digits := range number.FindAllString(text, -1) {
		base := 10
		if hexadecimal, ok := strings.CutPrefix(strings.ToLower(digits), "0x"); ok {
			digits, base = hexadecimal, 16
		}
		if n, err := strconv.ParseUint(digits, base, 64); err == nil {
			found[n] = true
		}
	}
	return slices.Sorted(maps.Keys(found))
}

// published writes a view.
func (r *recorder) published(m *sim.Manager, v *view.View) {
	r.begin(m, "publishes")
	if v == nil {
		r.buf = append(r.buf, " nothing"...)
		r.end(&r.views)
		return
	}
	r.buf = fmt.Appendf(r.buf, " gen=%d", v.Gen)
	r.end(&r.views)
	who := slices.Index(r.world.Managers, m)
	was, is := r.shown[who], map[string]bool{}
	writeView(v, func(format string, args ...any) {
		r.buf = append(fmt.Appendf(r.buf[:0], format, args...), '\n')
		r.views.Write(r.buf)
		if r.transcript == nil {
			return
		}
		is[string(r.buf)] = true
		if !was[string(r.buf)] {
			fmt.Fprintf(r.transcript, "\t+ %s", r.buf)
		}
	})
	for _, line := range slices.Sorted(maps.Keys(was)) {
		if !is[line] {
			fmt.Fprintf(r.transcript, "\t- %s", line)
		}
	}
	r.shown[who] = is
}

// writeView writes what a view holds. Ports are named by GUID of the node and number.
func writeView(v *view.View, line func(format string, args ...any)) {
	s := v.Subnet
	line("subnet prefix=%d timeout=%d sakey=%d resptime=%d maxrate=%d nomulticast=%t", uint64(s.Prefix), s.SubnetTimeOut, s.SAKey, s.RespTimeValue, uint8(s.MaxRate), s.NoMulticast)
	for _, p := range v.PrefixRoutes {
		line("prefix route %d %t %#x", uint64(p.Prefix), p.AnyPrefix, uint64(p.Router))
	}
	for _, sm := range v.SMs {
		line("sm %#x lid=%d priority=%d state=%d actcount=%d", uint64(sm.GUID), uint16(sm.LID), sm.Priority, sm.State, sm.ActCount)
	}
	for _, f := range v.Faults {
		line("fault %d %#x/%d", uint8(f.Kind), uint64(f.Node), f.Port)
	}
	line("further faults %d", v.FaultsMore)
	for _, a := range v.Absent {
		line("absent %#x lid=%d lmc=%d since=%d", uint64(a.Port), uint16(a.Base), a.LMC, a.Since)
	}
	line("self %s", portName(v.Topo, v.Topo.Self))
	line("endports%s", portNames(v.Topo, v.Topo.EndPorts))
	for i := range v.Topo.Nodes {
		writeNode(v, topo.NodeIdx(i), line)
	}
	writeTables(v, line)
}

func writeNode(v *view.View, i topo.NodeIdx, line func(format string, args ...any)) {
	t, n := v.Topo, &v.Topo.Nodes[i]
	line("node %#x type=%d ports=%d aggregation=%t missed=%d ar=%d route=%d", uint64(n.GUID), uint8(n.Type), n.NumPorts, n.Aggregation, n.Missed, uint8(n.AR), n.Route.Ports())
	var ar smp.ARInfo
	if n.ARInfo != nil {
		ar = *n.ARInfo
	}
	line("node %#x info=%s desc=%s switch=%s ar=%s", uint64(n.GUID), bare(n.Info[:]), bare(n.Desc[:]), bare(n.SwitchInfo[:]), bare(ar[:]))
	for num := range int(n.NumPorts) + 1 {
		idx := t.Port(i, uint8(num))
		p := &t.Ports[idx]
		line("port %#x/%d guid=%#x seen=%t shunned=%t unhealthy=%t fdr10=%d peer=%s lid=%d lmc=%d pkeys=%s info=%s", uint64(n.GUID), num, uint64(p.GUID), p.Seen, p.Shunned, p.Unhealthy, uint8(p.FDR10),
			portName(t, p.Peer), uint16(v.LIDs.Base[idx]), v.LIDs.LMC[idx], pkeysText(p.PKeys), bare(p.Info[:]))
		if e, ok := t.Extended[idx]; ok {
			line("port %#x/%d extended=%s", uint64(n.GUID), num, bare(e[:]))
		}
	}
}

// writeTables writes the tables that belong to the subnet as a whole.
func writeTables(v *view.View, line func(format string, args ...any)) {
	t := v.Topo
	line("top lid=%d", uint16(v.LIDs.Top))
	if v.Tables != nil {
		line("lft top=%d", uint16(v.Tables.Top))
		for s, row := range v.Tables.LFT {
			line("lft %#x %s", uint64(t.Nodes[t.Switches[s]].GUID), hex.EncodeToString(row))
		}
	}
	for mlid := mad.MinMulticastLID; v.MFTs != nil && mlid <= v.MFTs.Top() && mlid < math.MaxUint16; mlid++ {
		for s, n := range t.Switches {
			if ports := v.MFTs.Ports(topo.SwitchIdx(s), mlid); ports != [4]uint64{} {
				line("mft %#x %#x %x", uint16(mlid), uint64(t.Nodes[n].GUID), [4]uint64(ports))
			}
		}
	}
	if v.Partitions != nil {
		writePartitions(v.Partitions, t, line)
	}
}

func writePartitions(want *partitions.Tables, t *topo.Topo, line func(format string, args ...any)) {
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
	for _, o := range want.Overflows {
		line("pkeys left out %s size=%d %d", portName(t, o.Port), o.Size, o.Left)
	}
	line("pkeys unknown%s", portNames(t, want.Unknown))
}

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
