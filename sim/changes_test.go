package sim_test

import (
	"fmt"
	"ibsm/ctl/history"
	"ibsm/mad"
	"ibsm/manager"
	"ibsm/routing"
	"ibsm/topo"
	"ibsm/topo/net"
	"ibsm/topo/net/nettest"
	"ibsm/view"
	"slices"
	"strings"
	"testing"
	"time"
)

// node is the index of a node by its description, or the first word of it.
func (w *managed) node(t *testing.T, desc string) int32 {
	t.Helper()
	i := slices.IndexFunc(w.net.Nodes, func(n net.Node) bool { return n.Desc == desc || n.Desc == desc+" mlx5_0" })
	if i < 0 {
		t.Fatalf("no node %q", desc)
	}
	return int32(i)
}

// lid is the LID that the agent of a node has.
func (w *managed) lid(node int32) mad.LID {
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
	end := func(t *testing.T, w *managed, desc string, port uint8) net.End {
		return net.End{Node: w.node(t, desc), Port: port}
	}
	for name, c := range ordered(map[string]struct {
		do     func(t *testing.T, w *managed)
		counts map[history.Kind]int
		want   history.Change // among them, but for GUIDs
		lost   string         // of leaf-01 port 2
	}{
		"nothing": {func(*testing.T, *managed) {}, nil, history.Change{}, ""},
		"host unplugged": {func(t *testing.T, w *managed) { w.Fabric.Unplug(end(t, w, "host-02", 1)) },
			map[history.Kind]int{history.Nodes: 1},
			history.Change{Kind: history.Nodes, Name: "host-02 mlx5_0", From: "CA LID %d at leaf-01 port 2"},
			"host-02 mlx5_0 port 1"},
		"uplink down": {func(t *testing.T, w *managed) { w.Fabric.LinkDown(end(t, w, "leaf-01", 3)) },
			map[history.Kind]int{history.Links: 1}, history.Change{Kind: history.Links, Name: "leaf-01", Port: 3,
				From: "agg-01 port 1"}, ""},
		"switch off": {func(t *testing.T, w *managed) { w.Fabric.NodeDown(w.node(t, "agg-01")) },
			map[history.Kind]int{history.Nodes: 1, history.Links: 4},
			history.Change{Kind: history.Nodes, Name: "agg-01", From: "switch LID %d"}, ""},
		"host unresponsive": {func(t *testing.T, w *managed) {
			w.Fabric.SetUnresponsive(w.node(t, "host-02"), true)
			w.Ask(w.m.Manager, manager.Heavy)
		},
			map[history.Kind]int{history.Answers: 1}, history.Change{Kind: history.Answers, Name: "host-02 mlx5_0",
				From: "yes", To: "no"}, ""},
		"renamed": {func(t *testing.T, w *managed) { w.Fabric.SetNodeDescription(w.node(t, "host-02"), "db1 mlx5_0") },
			map[history.Kind]int{history.Names: 1},
			history.Change{Kind: history.Names, Name: "db1 mlx5_0", From: "host-02 mlx5_0", To: "db1 mlx5_0"}, ""},
	}) {
		t.Run(name, func(t *testing.T) {
			w := bringUp(t, nettest.Generate(t, "fattree:k=4"), nil)
			before := w.m.View
			if c.want.Kind == history.Nodes && c.counts != nil {
				c.want.From = fmt.Sprintf(c.want.From, w.lid(w.node(t, strings.TrimSuffix(c.want.Name, " mlx5_0"))))
			}
			c.do(t, w)
			w.pass(12 * time.Second) // a light sweep, and no node is given up
			step, losses := history.Compare(nil, history.Moment{View: before}, history.Moment{View: w.m.View})
			for kind := range history.Kind(history.NumKinds) {
				if kind != history.Routes && step.Counts[kind] != c.counts[kind] {
					t.Errorf("%v: %d changes, want %d: %+v", kind, step.Counts[kind], c.counts[kind], step.Changes)
				}
			}
			if want := entries(before, w.m.View); step.Entries != want {
				t.Errorf("%d entries of forwarding tables, want %d", step.Entries, want)
			}
			found := c.counts == nil
			for _, ch := range step.Changes {
				ch.Node, ch.FromPeer, ch.ToPeer = 0, nil, nil // as From and To
				found = found || ch == c.want
			}
			if !found {
				t.Errorf("%+v, want among them %+v", step.Changes, c.want)
			}
			past := history.NewPast()
			past.Take(losses, time.Unix(7, 0))
			here := history.End{Node: w.net.Nodes[w.node(t, "leaf-01")].GUID, Port: 2}
			if l, ok := past.Link(here); ok != (c.lost != "") || l.Name != c.lost || ok && l.Since != time.Unix(7, 0) {
				t.Errorf("lost: %+v", l)
			}
		})
	}
}

// TestReboot: what went and came back is no change, and is forgotten as a loss.
func TestReboot(t *testing.T) {
	w := bringUp(t, nettest.Generate(t, "fattree:k=4"), nil)
	l := history.NewLog()
	l.Begin(w.m.View, time.Unix(1, 0))
	first := w.m.View.Gen
	follow := func() {
		before := w.m.View
		w.pass(time.Minute)
		step, losses := history.Compare(nil, history.Moment{View: before}, history.Moment{View: w.m.View})
		l.Add(step, losses, time.Unix(2, 0))
	}
	sw := w.node(t, "agg-02")
	links := func() (n int) {
		for _, p := range w.net.Nodes[sw].Ports {
			if p.Peer == net.NoEnd {
				continue
			}
			if _, lost := l.Link(history.End{Node: w.net.Nodes[p.Peer.Node].GUID, Port: p.Peer.Port}); lost {
				n++
			}
		}
		return n
	}
	w.Fabric.NodeDown(sw)
	follow()
	gone := func() bool {
		_, ok := l.Gone(func(g *history.GoneNode) bool { return g.Name == "agg-02" })
		return ok
	}
	if n := links(); n != 4 || !gone() {
		t.Errorf("%d links are remembered", n)
	}
	w.Fabric.NodeUp(sw)
	follow()
	if n := links(); n != 0 || gone() {
		t.Errorf("%d links are still remembered", n)
	}
	steps, changes, err := l.Between(first, w.m.View.Gen)
	if err != nil || len(steps) != 2 || steps[0].Counts[history.Nodes] != 1 || steps[1].Counts[history.Nodes] != 1 {
		t.Fatalf("%+v, %v", steps, err)
	}
	for _, c := range changes {
		if c.Kind != history.Routes {
			t.Errorf("%+v remains", c)
		}
	}
}
