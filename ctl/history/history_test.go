package history

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"ibsm/mad"
	"ibsm/manager"
	"ibsm/registry"
	"ibsm/routing"
	"ibsm/routing/minhop"
	"ibsm/sim"
	"ibsm/sim/fabric"
	"ibsm/sweep"
	"ibsm/topo"
	"ibsm/topo/net"
	"ibsm/view"
)

// world is a simulated fabric, its manager, and the views that it published.
type world struct {
	*sim.World
	net *net.Net
	m   *sim.Manager
}

// bringUp brings a generated fabric up.
func bringUp(t testing.TB, spec string) *world {
	t.Helper()
	n, err := net.Generate(spec)
	if err != nil {
		t.Fatal(err)
	}
	w := &sim.World{Fabric: fabric.New(n, fabric.Config{Latency: 5 * time.Microsecond})}
	cfg := manager.Config{Sweep: sweep.Config{Engine: minhop.Route, EngineName: "minhop"}, SweepInterval: 10 * time.Second}
	at := slices.IndexFunc(n.Nodes, func(n net.Node) bool { return n.Type == mad.CA })
	m, err := w.Add(net.End{Node: int32(at), Port: 1}, cfg, nil)
	if err != nil {
		t.Fatal(err)
	}
	out := &world{w, n, m}
	out.pass(time.Minute)
	if m.View == nil {
		t.Fatal("no view was published")
	}
	return out
}

func (w *world) pass(d time.Duration) { w.Run(w.Fabric.Now()+d, func() bool { return false }) }

// node is the index of a node by its description, or the first word of it.
func (w *world) node(t *testing.T, desc string) int32 {
	t.Helper()
	i := slices.IndexFunc(w.net.Nodes, func(n net.Node) bool { return n.Desc == desc || n.Desc == desc+" mlx5_0" })
	if i < 0 {
		t.Fatalf("no node %q", desc)
	}
	return int32(i)
}

// lid is the LID that the agent of a node has.
func (w *world) lid(node int32) mad.LID {
	for num := range uint8(2) { // port 0 of a switch
		if num == 1 || w.Fabric.NodeType(node) == mad.Switch {
			info := w.Fabric.PortInfo(net.End{Node: node, Port: num})
			return info.LID()
		}
	}
	return 0
}

// entries is what Compare counts, counted without a thought: entries of tables of switches
// that are in both.
func entries(old, now *view.View) (n int) {
	for _, at := range now.Topo.Switches {
		was := old.Topo.FindNode(now.Topo.Nodes[at].GUID)
		if was == topo.None {
			continue
		}
		a, b := old.Tables.LFT[old.Topo.Nodes[was].Switch], now.Tables.LFT[now.Topo.Nodes[at].Switch]
		for lid := range max(len(a), len(b)) {
			x, y := uint8(routing.NoPath), uint8(routing.NoPath)
			if lid < len(a) {
				x = a[lid]
			}
			if lid < len(b) {
				y = b[lid]
			}
			if x != y {
				n++
			}
		}
	}
	return n
}

// TestCompare: what is done to a fabric is what is reported it, and nothing else but routes.
func TestCompare(t *testing.T) {
	end := func(t *testing.T, w *world, desc string, port uint8) net.End {
		return net.End{Node: w.node(t, desc), Port: port}
	}
	for name, c := range map[string]struct {
		do     func(t *testing.T, w *world)
		counts map[Kind]int
		want   Change // among them, but for GUIDs
		lost   string // of leaf-01 port 2
	}{
		"nothing": {func(*testing.T, *world) {}, nil, Change{}, ""},
		"host unplugged": {func(t *testing.T, w *world) { w.Fabric.Unplug(end(t, w, "host-02", 1)) },
			map[Kind]int{Nodes: 1}, Change{Kind: Nodes, Name: "host-02 mlx5_0", From: "CA LID %d at leaf-01 port 2"}, "host-02 mlx5_0 port 1"},
		"uplink down": {func(t *testing.T, w *world) { w.Fabric.LinkDown(end(t, w, "leaf-01", 3)) },
			map[Kind]int{Links: 1}, Change{Kind: Links, Name: "leaf-01", Port: 3, From: "agg-01 port 1"}, ""},
		"switch off": {func(t *testing.T, w *world) { w.Fabric.NodeDown(w.node(t, "agg-01")) },
			map[Kind]int{Nodes: 1, Links: 4}, Change{Kind: Nodes, Name: "agg-01", From: "switch LID %d"}, ""},
		"host mute": {func(t *testing.T, w *world) { w.Fabric.Mute(w.node(t, "host-02"), true); w.Ask(w.m, manager.Heavy) },
			map[Kind]int{Answers: 1}, Change{Kind: Answers, Name: "host-02 mlx5_0", From: "yes", To: "no"}, ""},
		"renamed": {func(t *testing.T, w *world) { w.Fabric.SetNodeDescription(w.node(t, "host-02"), "db1 mlx5_0") },
			map[Kind]int{Names: 1}, Change{Kind: Names, Name: "db1 mlx5_0", From: "host-02 mlx5_0", To: "db1 mlx5_0"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			w := bringUp(t, "fattree:k=4")
			before := w.m.View
			if c.want.Kind == Nodes && c.counts != nil {
				c.want.From = fmt.Sprintf(c.want.From, w.lid(w.node(t, strings.TrimSuffix(c.want.Name, " mlx5_0"))))
			}
			c.do(t, w)
			w.pass(12 * time.Second) // a light sweep, and no node is given up
			step, losses := Compare(Moment{before, nil}, Moment{w.m.View, nil})
			for kind := range Kind(NumKinds) {
				if kind != Routes && step.Counts[kind] != c.counts[kind] {
					t.Errorf("%v: %d changes, want %d: %+v", kind, step.Counts[kind], c.counts[kind], step.Changes)
				}
			}
			if want := entries(before, w.m.View); step.Entries != want {
				t.Errorf("%d entries of forwarding tables, want %d", step.Entries, want)
			}
			found := c.counts == nil
			for _, ch := range step.Changes {
				ch.Node = 0
				found = found || ch == c.want
			}
			if !found {
				t.Errorf("%+v, want among them %+v", step.Changes, c.want)
			}
			past := NewPast()
			past.Take(losses, time.Unix(7, 0))
			here := End{before.Topo.Nodes[before.Topo.FindNode(w.net.Nodes[w.node(t, "leaf-01")].GUID)].GUID, 2}
			if lost, since, ok := past.Link(here); ok != (c.lost != "") || lost != c.lost || ok && since != time.Unix(7, 0) {
				t.Errorf("lost: %q since %v", lost, since)
			}
		})
	}
}

// TestReboot: what went and came back is no change, and is forgotten as a loss.
func TestReboot(t *testing.T) {
	w := bringUp(t, "fattree:k=4")
	l := NewLog()
	l.Begin(w.m.View, time.Unix(1, 0))
	first := w.m.View.Gen
	follow := func() {
		before := w.m.View
		w.pass(time.Minute)
		step, losses := Compare(Moment{before, nil}, Moment{w.m.View, nil})
		l.Add(step, losses, time.Unix(2, 0))
	}
	sw := w.node(t, "agg-02")
	w.Fabric.NodeDown(sw)
	follow()
	gone := func() bool {
		_, ok := l.Gone(func(g *GoneNode) bool { return g.Name == "agg-02" })
		return ok
	}
	if len(l.links) != 4 || !gone() {
		t.Errorf("%d links are remembered", len(l.links))
	}
	w.Fabric.NodeUp(sw)
	follow()
	if len(l.links) != 0 || gone() {
		t.Errorf("%d links are still remembered", len(l.links))
	}
	steps, changes, err := l.Between(first, w.m.View.Gen)
	if err != nil || len(steps) != 2 || steps[0].Counts[Nodes] != 1 || steps[1].Counts[Nodes] != 1 {
		t.Fatalf("%+v, %v", steps, err)
	}
	for _, c := range changes {
		if c.Kind != Routes {
			t.Errorf("%+v remains", c)
		}
	}
}

// TestLogLimits: many large Steps do not grow a Log beyond what it may hold, and it shows
// what it has forgotten.
func TestLogLimits(t *testing.T) {
	l := NewLog()
	v := &view.View{Gen: 1, Topo: &topo.Topo{}}
	l.Begin(v, time.Unix(0, 0))
	const steps = 3 * MaxSteps
	for gen := uint64(2); gen <= steps; gen++ {
		s := Step{From: gen - 1, Gen: gen, Last: gen, Changes: make([]Change, 500)}
		for i := range s.Changes {
			s.Changes[i] = Change{Kind: States, Node: mad.GUID(i + 1), To: "Active"}
		}
		s.Counts[States] = len(s.Changes) + 3
		l.Add(&s, &Losses{}, time.Unix(int64(gen), 0))
	}
	l.Add(&Step{From: steps, Gen: steps + 1, Last: steps + 1}, &Losses{}, time.Unix(1, 0)) // nothing has changed
	kept, missing := 0, 0
	for _, s := range l.Steps() {
		kept += len(s.Changes)
		missing += s.Missing()
	}
	if len(l.Steps()) != MaxSteps || kept > MaxKept || kept != l.kept || kept+missing != MaxSteps*503 {
		t.Errorf("%d steps with %d changes (%d counted), %d missing", len(l.Steps()), kept, l.kept, missing)
	}
	oldest := uint64(steps - MaxSteps)
	for _, c := range []struct {
		from, to uint64
		steps    int
		err      error
	}{
		{steps - 1, steps, 1, nil}, {steps, steps + 1, 0, nil}, {oldest, steps, MaxSteps, nil}, {5, 5, 0, ErrUnknown},
		{oldest - 1, steps, 0, ErrUnknown}, {steps, steps + 2, 0, ErrUnknown}, {steps, steps - 1, 0, ErrUnknown},
	} {
		got, _, err := l.Between(c.from, c.to)
		if !errors.Is(err, c.err) || len(got) != c.steps {
			t.Errorf("%d to %d: %d steps, %v", c.from, c.to, len(got), err)
		}
	}
	l.Begin(&view.View{Gen: steps + 5, Topo: &topo.Topo{}}, time.Unix(9, 0))
	if _, _, err := l.Between(steps, steps+5); !errors.Is(err, ErrGap) {
		t.Errorf("over a time without mastership: %v", err)
	}
	l.Begin(v, time.Unix(10, 0)) // another manager
	if n := len(l.Steps()); n != 1 || l.kept != 0 {
		t.Errorf("%d steps of another manager", n)
	}
}

// TestPastLimits: losses without end are counted, not kept.
func TestPastLimits(t *testing.T) {
	p := NewPast()
	l := &Losses{}
	for i := range MaxLost + 10 {
		l.Links = append(l.Links, LostLink{Here: End{mad.GUID(i), 1}})
		l.Gone = append(l.Gone, GoneNode{GUID: mad.GUID(i)})
	}
	p.Take(l, time.Unix(1, 0))
	if len(p.links) != MaxLost || len(p.nodes) != MaxGone || p.More != 10+MaxLost+10-MaxGone {
		t.Errorf("%d links, %d nodes, %d more", len(p.links), len(p.nodes), p.More)
	}
}

// TestGroups compares what is registered.
func TestGroups(t *testing.T) {
	v := &view.View{Gen: 1, Topo: &topo.Topo{Ports: make([]topo.Port, 1)}, LIDs: &topo.LIDs{}}
	r := registry.New()
	apply := func(c registry.Change) {
		if err := r.Apply(c); err != nil {
			t.Fatal(err)
		}
	}
	mgid := func(n byte) mad.GID { return mad.GID{0xff, 0x12, 15: n} }
	join := func(n, port byte) {
		apply(registry.PutMember{Member: registry.Member{MGID: mgid(n), Port: mad.GID{0xfe, 0x80, 15: port}, JoinState: registry.FullMember}})
	}
	for n := byte(1); n <= 3; n++ {
		apply(registry.PutGroup{Group: registry.Group{MGID: mgid(n), MLID: 0xc000 + mad.LID(n), PKey: mad.DefaultPKey, MTU: mad.MTU2048, Rate: 3}})
		join(n, 1)
	}
	old := r.Freeze()
	apply(registry.DeleteGroup{MGID: mgid(1)})
	join(2, 7)
	apply(registry.PutGroup{Group: registry.Group{MGID: mgid(9), MLID: 0xc009, PKey: mad.DefaultPKey, MTU: mad.MTU2048, Rate: 3}})
	step, _ := Compare(Moment{v, old}, Moment{v, r.Freeze()})
	want := []Change{
		{Kind: Groups, Name: mgid(1).String(), From: "1 members"},
		{Kind: Groups, Name: mgid(2).String(), From: "1 members", To: "2 members"},
		{Kind: Groups, Name: mgid(9).String(), To: "0 members"},
	}
	if !slices.Equal(step.Changes, want) {
		t.Errorf("%+v", step.Changes)
	}
}
