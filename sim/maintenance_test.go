package sim_test

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"ibsm/mad"
	"ibsm/manager"
	"ibsm/routing"
	"ibsm/sim/fabric"
	"ibsm/sweep"
	"ibsm/sweep/engines"
	"ibsm/topo/net"
	"ibsm/topo/net/nettest"
	"ibsm/view"
)

// pair is a packet's sender and its destination, by their places in maintained.hosts.
type pair struct{ from, to int }

// maintained is a fabric in which probes run between all pairs of hosts, whenever something has changed.
type maintained struct {
	*harness
	t       *testing.T
	m       *watched
	changed bool // since the last probes
	hosts   []net.End
	lids    []mad.LID
	paths   map[pair][]fabric.Hop // of the last probes that arrived
	lost    map[pair]bool         // by the last probes
}

// newMaintained is a fabric of one director, with spare switches that are not cabled yet: one for each of those named.
func newMaintained(t *testing.T, spec string, spared []string, cfg manager.Config) (w *maintained, spares []int32) {
	t.Helper()
	n := nettest.Generate(t, spec)
	for i := range n.Nodes {
		if n.Nodes[i].Type == mad.Switch {
			n.Nodes[i].SystemImageGUID = 0xd1
		}
	}
	w = &maintained{t: t, paths: map[pair][]fabric.Hop{}}
	for _, name := range spared {
		spare := n.Nodes[nodeNamed(t, n, name)]
		spare.ID, spare.GUID, spare.Ports = "spare-"+spare.ID, spare.GUID+1<<40, slices.Clone(spare.Ports)
		for num := range spare.Ports {
			spare.Ports[num].Peer = net.NoEnd
		}
		spare.Ports[0].GUID = spare.GUID
		spares = append(spares, int32(len(n.Nodes)))
		n.Nodes = append(n.Nodes, spare)
	}
	w.harness = newHarness(t, n, fabric.Config{Seed: 1, OnSet: func(fabric.Set) { w.changed = true }})
	w.m = w.comeUp(cfg)
	for i := range n.Nodes {
		if n.Nodes[i].Type != mad.Switch {
			at := net.End{Node: int32(i), Port: 1}
			info := w.Fabric.PortInfo(at)
			w.hosts, w.lids = append(w.hosts, at), append(w.lids, info.LID())
		}
	}
	return w, spares
}

func nodeNamed(t testing.TB, n *net.Net, name string) int32 {
	t.Helper()
	i := slices.IndexFunc(n.Nodes, func(o net.Node) bool { return o.Desc == name })
	if i < 0 {
		t.Fatalf("no node %q", name)
	}
	return int32(i)
}

// items are switches by description, or with a port after a colon their cables.
func (b *harness) items(names []string) (all []routing.SwitchPort) {
	b.Helper()
	for _, name := range names {
		name, port, _ := strings.Cut(name, ":")
		num, _ := strconv.Atoi(port)
		all = append(all, routing.SwitchPort{Switch: b.net.Nodes[nodeNamed(b, b.net, name)].GUID, Port: uint8(num)})
	}
	return all
}

// fail switches off, or unplugs, what items are.
func (b *harness) fail(items []routing.SwitchPort) {
	for _, item := range items {
		if node := b.nodeOf(item.Switch); item.Port > 0 {
			b.Fabric.Unplug(net.End{Node: node, Port: item.Port})
		} else {
			b.Fabric.NodeDown(node)
		}
	}
}

func (b *harness) nodeOf(guid mad.GUID) int32 {
	return int32(slices.IndexFunc(b.net.Nodes, func(n net.Node) bool { return n.GUID == guid }))
}

// probe sends a packet between each two hosts. Where its way is another one than before, packets that are under way at
// each switch of the way before must arrive, too.
func (w *maintained) probe(what string) {
	w.t.Helper()
	w.changed, w.lost = false, map[pair]bool{}
	for from, at := range w.hosts {
		for to, lid := range w.lids {
			if from == to {
				continue
			}
			p := pair{from, to}
			hops, end := w.Fabric.Probe(at, lid, mad.DefaultPKey, 0, nil)
			if end != fabric.Delivered {
				w.lost[p] = true
				delete(w.paths, p)
				continue
			}
			before := w.paths[p]
			w.paths[p] = hops
			if slices.Equal(before, hops) {
				continue
			}
			for _, hop := range before {
				if w.Fabric.NodeType(hop.Node) != mad.Switch {
					continue
				}
				if rest, end := w.Fabric.Probe(net.End{Node: hop.Node}, lid, mad.DefaultPKey, 0,
					nil); end != fabric.Delivered {
					w.t.Errorf("%s: a packet from host %d to host %d that is at switch %d is lost: %v, %v", what, from,
						to, hop.Node, end, rest)
				}
			}
		}
	}
}

// during lets a subnet settle, and calls judge after each change, with pairs whose packets are lost then.
func (w *maintained) during(what string, judge func(lost map[pair]bool) error) {
	w.t.Helper()
	check := func() bool {
		if w.changed {
			w.probe(what)
			if err := judge(w.lost); err != nil {
				w.t.Errorf("%v, %s: %v", w.Fabric.Now(), what, err)
				return true
			}
		}
		return false
	}
	w.changed = true
	w.Run(w.Fabric.Now()+settling, check)
	w.changed = true
	check()
}

// exactly is a judge that wants the packets of these pairs to be lost, and no others.
func exactly(want map[pair]bool) func(map[pair]bool) error {
	return func(lost map[pair]bool) error {
		if !maps.Equal(lost, want) {
			return fmt.Errorf("packets of %d pairs are lost, want %d: %v", len(lost), len(want), lost)
		}
		return nil
	}
}

// among is a judge that permits packets of these pairs to be lost.
func among(may map[pair]bool) func(map[pair]bool) error {
	return func(lost map[pair]bool) error {
		for p := range lost {
			if !may[p] {
				return fmt.Errorf("packets from host %d to host %d are lost", p.from, p.to)
			}
		}
		return nil
	}
}

// without asks for a plan, and returns it and the pairs that are lost by what it says: those with a host that is cut
// off, but for the pairs on one switch that stays.
func (w *maintained) without(items []routing.SwitchPort) (*sweep.SweepPlan, map[pair]bool) {
	w.t.Helper()
	before := w.snapshot()
	plan, err := w.m.planOf(manager.SweepRequested{Sweep: manager.Plan, Preview: manager.Preview{Without: items}})
	if err != nil {
		w.t.Fatal(err)
	}
	w.mustBeAsBefore(before)
	cut := map[int]bool{}
	for i, at := range w.hosts {
		cut[i] = slices.Contains(plan.CutOff, w.net.Nodes[at.Node].Desc)
	}
	leaf := func(i int) (net.End, bool) {
		at := w.Fabric.Peer(w.hosts[i])
		gone := slices.Contains(items, routing.SwitchPort{Switch: w.net.Nodes[at.Node].GUID})
		return at, !gone
	}
	lost := map[pair]bool{}
	for from := range w.hosts {
		for to := range w.hosts {
			a, stays := leaf(from)
			if z, _ := leaf(to); from != to && (cut[from] || cut[to]) && !(stays && a.Node == z.Node) {
				lost[pair{from, to}] = true
			}
		}
	}
	if plan.PairsCut*2 != len(lost) {
		w.t.Errorf("a plan without %v has %d pairs without a way, want %d", items, plan.PairsCut, len(lost)/2)
	}
	return plan, lost
}

// passing is how many ways lead through switches, or over cables at them. With transit ways that begin or end at such a
// switch do not count.
func (w *maintained) passing(items []routing.SwitchPort, transit bool) (n int) {
	for _, hops := range w.paths {
		for i, h := range hops {
			for _, item := range items {
				if w.net.Nodes[h.Node].GUID == item.Switch &&
					(item.Port == 0 && (!transit || i > 1 && i < len(hops)-2) || item.Port > 0 &&
						(h.In == item.Port || h.Out == item.Port)) {
					n++
				}
			}
		}
	}
	return n
}

// maintenance is something that is drained, unplugged and, if it is a switch or the cables of one, replaced.
type maintenance struct {
	name     string
	drained  []string // switches by description, with a port after a colon
	replaced []string // switches
	states   []view.DrainState
	cut      int // hosts
}

// maintenances are those of a three-level tree of switches with twice half ports.
func maintenances(half int) []maintenance {
	var uplinks []string
	var states []view.DrainState
	for num := half + 1; num <= 2*half; num++ {
		uplinks, states = append(uplinks, fmt.Sprintf("leaf-03:%d", num)), append(states, view.DrainEmpty)
	}
	states[half-1] = view.DrainNeeded
	two, card := []view.DrainState{view.DrainEmpty, view.DrainEmpty},
		[]string{"agg-01", fmt.Sprintf("agg-%02d", half+1)}
	return []maintenance{
		{"an uplink", uplinks[:1], nil, two[:1], 0},
		{"all uplinks", uplinks, []string{"leaf-03"}, states, half},
		{"a spine", []string{"spine-01"}, []string{"spine-01"}, two[:1], 0},
		{"a line card with hosts", []string{"leaf-03", "leaf-04"}, []string{"leaf-03", "leaf-04"}, two, 2 * half},
		{"a line card with leaves", card, card, two, 0},
	}
}

// TestMaintenance: the uplinks of a leaf, a spine, and line cards of a director, with hosts and with leaves on them,
// are drained, unplugged, replaced by switches with other GUIDs, and undrained, while probes run between all pairs.
// Only packets of hosts that hang on them are lost, from when they are unplugged until they are replaced: those that a
// plan without them has said. With IBSM_PROOF=1 there are 128 hosts.
func TestMaintenance(t *testing.T) {
	half := 2
	if os.Getenv("IBSM_PROOF") != "" {
		half = 4
	}
	for _, engine := range []string{"tree", "minhop"} {
		for _, c := range maintenances(half) {
			t.Run(engine+" "+c.name, func(t *testing.T) {
				cfg := chainConfig(t, engines.Settings{}, engine)
				w, spares := newMaintained(t, fmt.Sprintf("fattree:k=%d", 2*half), c.replaced, cfg)
				w.maintain(cfg, &c, spares)
			})
		}
	}
}

func (w *maintained) maintain(cfg manager.Config, c *maintenance, spares []int32) {
	t, items := w.t, w.items(c.drained)
	none := map[pair]bool{}
	w.during("at first", exactly(none))
	if w.passing(items, false) == 0 {
		t.Fatal("nothing passes what is drained")
	}
	plan, lost := w.without(items)
	if len(plan.CutOff) != c.cut {
		t.Errorf("cut off: %v, want %d", plan.CutOff, c.cut)
	}
	_, replacing := w.without(w.items(c.replaced))

	drained := cfg
	drained.Sweep.Drained = items
	w.Configure(w.m.Manager, drained)
	w.during("drain", exactly(none))
	var states []view.DrainState
	for _, d := range w.m.View.Drained {
		states = append(states, d.State)
	}
	if !slices.Equal(states, c.states) {
		t.Errorf("%v, want %v", states, c.states)
	}
	if n := w.passing(items, true); n > 0 && !slices.Contains(states, view.DrainNeeded) {
		t.Errorf("%d ways pass what is drained", n)
	}

	w.fail(items)
	w.during("unplugged", exactly(lost))

	for i, item := range w.items(c.replaced) {
		w.replace(w.nodeOf(item.Switch), spares[i])
	}
	if c.replaced == nil {
		for _, item := range items {
			at := net.End{Node: w.nodeOf(item.Switch), Port: item.Port}
			p := w.net.Nodes[at.Node].Ports[at.Port]
			w.Fabric.Plug(at, p.Peer, p.Width, p.Speed)
		}
	}
	w.during("replaced", among(replacing))
	w.probe("replaced")
	if len(w.lost) > 0 {
		t.Errorf("packets of %d pairs are still lost", len(w.lost))
	}

	w.Configure(w.m.Manager, cfg)
	w.during("undrain", exactly(none))
	w.m.sweep(manager.Reroute)
	w.during("reroute", exactly(none))
	w.mustBeWhole(w.m)
	if len(w.m.View.Drained) > 0 {
		t.Errorf("%+v is still drained", w.m.View.Drained)
	}
	passed := items
	for _, node := range spares {
		passed = append(passed, routing.SwitchPort{Switch: w.net.Nodes[node].GUID})
	}
	if w.passing(passed, false) == 0 {
		t.Error("undrained, and nothing passes it")
	}
}

// replace has a switch take the cables of another, which is taken away.
func (w *maintained) replace(old, spare int32) {
	w.Fabric.NodeDown(old)
	for num := 1; num < len(w.net.Nodes[old].Ports); num++ {
		if p := w.net.Nodes[old].Ports[num]; p.Peer != net.NoEnd {
			w.Fabric.Plug(net.End{Node: spare, Port: uint8(num)}, p.Peer, p.Width, p.Speed)
		}
	}
}
