package sim_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/manager"
	"ibsm/routing"
	"ibsm/sim"
	"ibsm/sim/fabric"
	"ibsm/topo"
	"ibsm/topo/net"
	"ibsm/topo/net/nettest"
	"ibsm/view"
)

// TestTranscripts plays each of transcripts and compares what it writes with its file, line by
// line. IBSM_TRANSCRIPTS=write writes the files.
func TestTranscripts(t *testing.T) {
	write := os.Getenv("IBSM_TRANSCRIPTS") == "write"
	files := map[string]bool{}
	for _, s := range transcripts {
		t.Run(s.name, func(t *testing.T) {
			nettest.SetProfile(t, net.RealDevices)
			got := s.play(t)
			path := filepath.Join("testdata", "transcripts", s.name+".txt")
			if write {
				if err := os.WriteFile(path, []byte(got), 0o666); err != nil {
					t.Fatal(err)
				}
				return
			}
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if diff := lineDiff(string(want), got); diff != "" {
				t.Errorf("%s has the lines with -, the run those with +; IBSM_TRANSCRIPTS=write writes it again:\n%s",
					path, diff)
			}
		})
		files[s.name+".txt"] = true
	}
	found, err := os.ReadDir("testdata/transcripts")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range found {
		if !files[f.Name()] {
			t.Errorf("testdata/transcripts/%s is no transcript's", f.Name())
		}
	}
}

// transcript is a run on a small fabric, of which a text is kept.
type transcript struct {
	*harness
	t     *testing.T
	words decoder
	out   strings.Builder
	on    bool
	open  []group
	lines []entry // of the section
	views map[*sim.Manager][]string
	peers map[string]string // SMInfo of a manager as another heard it last
}

// group is packets of one manager in one millisecond: Gets of whatever attributes, or Sets of one text.
type group struct {
	key, begin string
	attrs      []string            // with the method, in the order of the first
	places     map[string][]string // by attrs
	end        string              // text of Sets
}

// entry is a line. What recurs may be a poll: of more than three such lines that are equal but for the time,
// a section has the first alone, and their number at its end.
type entry struct {
	stamp, text string
	recurs      bool
}

// play runs a script and returns what it writes.
func (s *script) play(t *testing.T) string {
	n := cabled(t, s.fabric)
	if s.draw != nil {
		s.draw(n)
	}
	cfg := s.cfg
	cfg.Seed = 1
	b := newHarness(t, n, cfg)
	x := &transcript{harness: b, t: t, words: decoder{b.Fabric, n},
		views: map[*sim.Manager][]string{}, peers: map[string]string{}}
	b.World.Sent, b.World.Returned = x.sent, x.returned
	fmt.Fprintf(&x.out, "# %s\n", strings.ReplaceAll(s.about, "\n", "\n# "))
	s.run(x)
	x.endSection()
	return x.out.String()
}

// at is a port of a node by name.
func (x *transcript) at(name string, port uint8) net.End {
	i := slices.IndexFunc(x.net.Nodes, func(n net.Node) bool { return n.Desc == name })
	if i < 0 {
		x.Fatalf("no node %s", name)
	}
	return net.End{Node: int32(i), Port: port}
}

// manager puts a manager at a host.
func (x *transcript) manager(host string, cfg manager.Config, disk *sim.Disk) *watched {
	m := x.addKept(x.at(host, 1), cfg, disk)
	x.Cleanup(m.dump)
	m.Heard = func(got []mad.Datagram) {
		for i := range got {
			x.heard(m.Manager, &got[i])
		}
	}
	return m
}

// up lets a manager begin, of which nothing is written.
func (x *transcript) up(host string, cfg manager.Config, disk *sim.Disk) *watched {
	m := x.manager(host, cfg, disk)
	x.pass(settling)
	if m.last() != smp.Master && m.last() != smp.Standby {
		x.Fatalf("the manager at %s is %v", host, m.last())
	}
	return m
}

// foreign puts a manager at a host that others do not know as ibsm.
func (x *transcript) foreign(host string, priority uint8) {
	cfg := minhopConfig()
	cfg.Elect.Priority = priority
	m := x.manager(host, cfg, nil)
	heard := m.Heard
	m.Heard = func(got []mad.Datagram) {
		foreign(got)
		heard(got)
	}
}

// begin writes from now on; it does what the line says, and lets time pass.
func (x *transcript) begin(line string, d time.Duration, do func()) {
	x.endSection()
	x.on = true
	fmt.Fprintf(&x.out, "\n== %s\n", line)
	do()
	x.pass(d)
}

// endSection writes the lines of the section.
func (x *transcript) endSection() {
	x.flush()
	key := func(e entry) string {
		_, who, _ := strings.Cut(strings.TrimSpace(e.stamp), " ")
		return who + " " + e.text
	}
	times, written := map[string]int{}, map[string]bool{}
	for _, e := range x.lines {
		times[key(e)]++
	}
	var polls []string
	for _, e := range x.lines {
		k := key(e)
		if e.recurs && times[k] > 3 {
			if written[k] {
				continue
			}
			polls = append(polls, fmt.Sprintf("again: %d times %s", times[k]-1, k))
		}
		written[k] = true
		x.wrap(e.stamp + e.text)
	}
	for _, p := range polls {
		x.wrap("         " + p)
	}
	x.lines = nil
}

// client is a program at a host that asks the SA.
func (x *transcript) client(host string) *fabric.Station {
	st, err := x.Fabric.Attach(x.at(host, 1))
	if err != nil {
		x.Fatal(err)
	}
	st.OnReceive(func(mad.Datagram) {})
	return st
}

func (x *transcript) who(m *sim.Manager) string { return x.words.node(m.Station.At().Node) }

// line writes a line with the time in milliseconds and the manager.
func (x *transcript) line(m *sim.Manager, format string, args ...any) {
	if x.flush(); x.on {
		x.lines = append(x.lines, entry{x.stamp(m), fmt.Sprintf(format, args...), false})
	}
}

func (x *transcript) stamp(m *sim.Manager) string {
	return fmt.Sprintf("%8.3f %s ", float64(x.Fabric.Now()/time.Millisecond)/1000, x.who(m))
}

// wrap breaks a long line between words.
func (x *transcript) wrap(line string) {
	const width = 130
	for len(line) > width {
		i := strings.LastIndex(line[:width], " ")
		if i < 24 {
			break
		}
		x.out.WriteString(line[:i] + "\n")
		line = strings.Repeat(" ", 16) + line[i+1:]
	}
	x.out.WriteString(line + "\n")
}

// packet adds one to the group that is open, or opens another. Gets of several managers may alternate.
func (x *transcript) packet(m *sim.Manager, verb, attr, place, text string) {
	if !x.on {
		return
	}
	g := group{key: x.stamp(m) + verb, begin: x.stamp(m), places: map[string][]string{}, end: text}
	if text != "" {
		g.key += attr + text
	}
	i := slices.IndexFunc(x.open, func(o group) bool { return o.key == g.key })
	if i < 0 {
		if text != "" || len(x.open) > 0 && x.open[0].end != "" {
			x.flush()
		}
		i = len(x.open)
		x.open = append(x.open, g)
	}
	o := &x.open[i]
	name := verb + " " + attr
	if _, ok := o.places[name]; !ok {
		o.attrs = append(o.attrs, name)
	}
	o.places[name] = append(o.places[name], place)
}

// flush writes the groups that are open.
func (x *transcript) flush() {
	for _, g := range x.open {
		if g.end != "" {
			at := strings.Join(places(g.places[g.attrs[0]]), " ")
			x.lines = append(x.lines, entry{g.begin, g.attrs[0] + " " + at + ": " + g.end, false})
			continue
		}
		var parts []string
		for i, name := range g.attrs {
			at := g.places[name]
			if i > 0 {
				_, name, _ = strings.Cut(name, " ")
			}
			if to := places(at); len(to) <= 3 && len(at) <= 4 {
				name += " " + strings.Join(to, " ")
			} else {
				name += fmt.Sprintf(" x%d", len(at))
			}
			parts = append(parts, name)
		}
		x.lines = append(x.lines, entry{g.begin, strings.Join(parts, ", "), true})
	}
	x.open = nil
}

// places joins ports of a node that follow each other: leaf-1/1-4.
func places(all []string) (joined []string) {
	for len(all) > 0 {
		node, _, isPort := strings.Cut(all[0], "/")
		var ports []int
		for len(all) > 0 {
			n, port, _ := strings.Cut(all[0], "/")
			number, err := strconv.Atoi(port)
			if n != node || err != nil {
				break
			}
			ports, all = append(ports, number), all[1:]
		}
		if ports == nil {
			joined, all = append(joined, all[0]), all[1:]
		} else if isPort {
			joined = append(joined, node+"/"+ranges(ports))
		}
	}
	return slices.Compact(joined)
}

// sent writes what a manager sends: Gets by their number, all else in words.
func (x *transcript) sent(m *sim.Manager, batch []mad.Datagram) {
	for i := range batch {
		d := &batch[i]
		p := &d.Packet
		to := x.words.target(m.Station.At(), d)
		method := p.Method()
		switch {
		case p.MgmtClass() == mad.ClassMirror:
			x.packet(m, "mirrors", "to", x.words.node(to.Node), "")
		case p.MgmtClass() == mad.ClassSA && method == mad.MethodReport:
			x.packet(m, "Report", "to", x.words.node(to.Node), x.words.record(p))
		case p.MgmtClass() == mad.ClassSA:
			text := x.words.record(p)
			if p.Status() != mad.StatusOK {
				text = p.Status().String()
			}
			x.packet(m, method.String(), attr(p), x.words.node(to.Node), text)
		case method == mad.MethodGet || method == mad.MethodTrapRepress:
			place, _ := x.words.place(to, p)
			x.packet(m, method.String(), attr(p), place, "")
		case p.IsResponse() && p.AttrID() == smp.AttrSMInfo && p.Status() == mad.StatusOK:
			// the manager that has asked hears it
		default:
			place, text := x.words.place(to, p)
			if p.Status() != mad.StatusOK {
				text = p.Status().String()
			}
			x.packet(m, method.String(), attr(p), place, text)
		}
	}
}

// heard writes what a manager receives: refusals, traps, control packets and the SMInfo of others
// where it is another than before, and what clients ask for.
func (x *transcript) heard(m *sim.Manager, d *mad.Datagram) {
	p := &d.Packet
	from := x.words.node(x.words.lid(d.LID).Node)
	switch method := p.Method(); {
	case p.MgmtClass() == mad.ClassMirror || method == mad.MethodReportResp || method == mad.MethodTrapRepress:
	case method == mad.MethodTrap:
		x.line(m, "hears %s", x.words.notice((*smp.Notice)(p.Data())))
	case p.MgmtClass() == mad.ClassSA:
		x.line(m, "hears %v %s from %s: %s", method, attr(p), from, x.words.record(p))
	case p.IsResponse() && p.Status() != mad.StatusOK:
		x.line(m, "hears of %s: %v", attr(p), p.Status())
	case p.AttrID() == smp.AttrSMInfo && method == mad.MethodGetResp:
		info := (*smp.SMInfo)(p.Data())
		of, text := x.words.guid(info.GUID()), x.words.smInfo(info)
		if key := x.who(m) + of; x.peers[key] != text {
			x.peers[key] = text
			x.line(m, "hears SMInfo of %s: %s", of, text)
		}
	}
}

// returned writes the log, states and views.
func (x *transcript) returned(m *sim.Manager, a manager.Action) {
	switch a := a.(type) {
	case manager.Publish:
		x.published(m, a.View)
	case manager.Log:
		text := ""
		for i := 0; i+1 < len(a.Args); i += 2 {
			text += fmt.Sprintf(" %v=%v", a.Args[i], a.Args[i+1])
		}
		x.line(m, "log %v %s%s", a.Level, a.Msg, text)
	case manager.Entered:
		x.line(m, "enters %s", strings.ToUpper(a.State.String()))
	case manager.Up:
		sets := 0
		for _, n := range a.Sets {
			sets += n
		}
		x.line(m, "SUBNET UP: %d nodes, %d links, %d Sets, %d failures, %d routes cut, errors %t",
			a.Nodes, a.Links, sets, a.Failures, a.Cut+a.Bad, a.Errors)
	case manager.Restarted:
		x.line(m, "has found restarted: %d ports, %d nodes", len(a.Ports), len(a.Nodes))
	case manager.Persist:
		x.line(m, "stores %d LIDs, forgets %d, term %t, routes %t",
			len(a.LIDs), len(a.Forgotten), a.Term != nil, a.Routes != nil)
	case manager.Exit:
		x.line(m, "ends: %v", a.Err)
	}
}

// published writes a view as what differs from the one before.
func (x *transcript) published(m *sim.Manager, v *view.View) {
	if v == nil {
		x.line(m, "withdraws its view")
		return
	}
	was, is := x.views[m], x.viewLines(v)
	x.views[m] = is
	x.line(m, "publishes view %d", v.Gen)
	if !x.on {
		return
	}
	for _, l := range was {
		if !slices.Contains(is, l) {
			x.lines = append(x.lines, entry{text: strings.Repeat(" ", 10) + "- " + l})
		}
	}
	for _, l := range is {
		if !slices.Contains(was, l) {
			x.lines = append(x.lines, entry{text: strings.Repeat(" ", 10) + "+ " + l})
		}
	}
}

// viewLines are what clients see of a view.
func (x *transcript) viewLines(v *view.View) (lines []string) {
	add := func(format string, args ...any) { lines = append(lines, fmt.Sprintf(format, args...)) }
	t := v.Topo
	port := func(p topo.PortIdx) string {
		return fmt.Sprintf("%s/%d", x.words.guid(t.Ports[t.EndPort(p)].GUID), t.Ports[p].Num)
	}
	for _, sm := range v.SMs {
		add("SM at %s, LID %d, %s priority %d",
			x.words.guid(sm.GUID), sm.LID, strings.ToUpper(smp.SMState(sm.State).String()), sm.Priority)
	}
	for _, p := range t.EndPorts {
		add("%s has LID %d LMC %d", port(p), v.LIDs.Base[p], v.LIDs.LMC[p])
	}
	for _, a := range v.Absent {
		add("LID %d is kept for %#x", a.Base, uint64(a.Port))
	}
	add("routing engine %s, kept %t", v.Routing.Engine, v.Routing.Kept)
	if v.Tables != nil {
		for s, row := range v.Tables.LFT {
			add("routes of %s:%s", x.words.guid(t.Ports[t.Port(t.Switches[s], 0)].GUID), routesWords(row))
		}
	}
	if v.Partitions != nil {
		for p, want := range v.Partitions.Want {
			if want != nil {
				add("P_Keys of %s: %s", port(topo.PortIdx(p)), strings.TrimRight(pkeysText(want), ","))
			}
		}
	}
	for mlid := mad.MinMulticastLID; v.MFTs != nil && mlid <= v.MFTs.Top(); mlid++ {
		for s := range t.Switches {
			if mask := v.MFTs.Ports(topo.SwitchIdx(s), mlid); mask[0] != 0 {
				at := x.words.guid(t.Ports[t.Port(t.Switches[s], 0)].GUID)
				add("MLID %#x at %s: ports by mask %#x", uint16(mlid), at, mask[0])
			}
		}
	}
	for _, f := range v.Findings {
		add("finding at %s/%d: %v", x.words.guid(f.Node), f.Port, &f)
	}
	for _, d := range v.Drained {
		add("drained %#x/%d: %v, hosts %q", uint64(d.Switch), d.Port, d.State, d.Hosts)
	}
	return lines
}

func routesWords(row []uint8) (text string) {
	for lid, port := range row {
		if port != routing.NoPath {
			text += fmt.Sprintf(" %d:%d", lid, port)
		}
	}
	return text
}

// lineDiff is the lines that differ, with - those of was and with + those of is, and two before and
// after them; "" for none.
func lineDiff(was, is string) string {
	a, b := strings.Split(was, "\n"), strings.Split(is, "\n")
	common := make([][]int, len(a)+1) // lines in common from i and j on
	for i := range common {
		common[i] = make([]int, len(b)+1)
	}
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			if common[i][j] = max(common[i+1][j], common[i][j+1]); a[i] == b[j] {
				common[i][j] = common[i+1][j+1] + 1
			}
		}
	}
	type line struct {
		mark byte
		text string
	}
	var all []line
	near := map[int]bool{} // lines that are shown
	for i, j := 0, 0; i < len(a) || j < len(b); {
		switch {
		case i < len(a) && j < len(b) && a[i] == b[j]:
			all = append(all, line{' ', a[i]})
			i, j = i+1, j+1
			continue
		case j == len(b) || i < len(a) && common[i+1][j] >= common[i][j+1]:
			all = append(all, line{'-', a[i]})
			i++
		default:
			all = append(all, line{'+', b[j]})
			j++
		}
		for k := range 5 {
			near[len(all)-3+k] = true
		}
	}
	var out strings.Builder
	for _, i := range slices.Sorted(maps.Keys(near)) {
		if i >= 0 && i < len(all) {
			fmt.Fprintf(&out, "%c %s\n", all[i].mark, all[i].text)
		}
	}
	return out.String()
}
