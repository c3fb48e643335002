package sweep

import (
	"context"
	"math/rand/v2"
	"slices"
	"testing"

	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/mad/txn"
	"ibsm/routing"
	"ibsm/routing/creditloop"
	"ibsm/routing/updn"
	"ibsm/sweep/engines"
	"ibsm/topo"
)

// updnFrom is the chain of updn with one root.
func updnFrom(root mad.GUID) engines.Chain {
	e, _ := engines.Find("updn", &engines.Settings{Updn: updn.Settings{Roots: []mad.GUID{root}, ConnectRoots: true}})
	return engines.Chain{e}
}

// TestTransition: when updn gets another root, switches are written so that packets can never wait for
// each other for ever, whatever the order in which the Sets of one group arrive. Where no such order
// is found, a moment comes when they can, and the plan says so. In the order of switches, they can in
// more fabrics.
func TestTransition(t *testing.T) {
	const seed = 11
	rng := rand.New(rand.NewPCG(seed, 1))
	var together, grouped, risks, needed int
	for range 40 {
		spec := []string{"torus:dims=4x3,hosts=1", "mesh:dims=4x3,hosts=1", "torus:dims=5,hosts=1",
			"fattree:k=4"}[rng.IntN(4)]
		b := newHarness(t, spec, Config{})
		var switches []mad.GUID
		for i := range b.net.Nodes {
			if b.net.Nodes[i].Type == mad.Switch {
				switches = append(switches, b.net.Nodes[i].GUID)
			}
		}
		b.Configure(Config{Engines: updnFrom(switches[rng.IntN(len(switches))])})
		first := b.heavy()
		b.Configure(Config{Engines: updnFrom(switches[rng.IntN(len(switches))])})
		b.Reroute()
		c := b.walk().Task(1).Run(context.Background())
		if c == nil || c.Err != nil {
			t.Fatalf("seed %d, %s: %+v", seed, spec, c)
		}
		w := writing{T: t, topo: c.Topo, lids: c.LIDs, top: c.Tables.Top, was: first.Tables.LFT, is: c.Tables.LFT}
		switch tr := &c.Transition; {
		case tr.Risk != nil:
			risks++
		case len(tr.Order) > 1:
			grouped++
		default:
			together++
		}
		if w.loopInTurn() {
			needed++
		}
		b.shuffled(b.Program(c), rng, func(req *txn.Request) {
			if n := c.Topo.SwitchOf(firstPort(c.Topo, req.Route)); req.Attr == smp.AttrLinearForwardingTable &&
				w.written(n, req) && c.Transition.Risk == nil {
				t.Fatalf("seed %d, %s: credit loop after the Set of switch %d; groups %v", seed, spec, n,
					c.Transition.Order)
			}
		})
		if !slices.EqualFunc(w.was, w.is, func(a, b []uint8) bool { return string(a) == string(b) }) {
			t.Fatalf("seed %d, %s: tables %v are written, want %v", seed, spec, w.was, w.is)
		}
	}
	t.Logf("seed %d: %d in any order, %d in groups, %d with a risk; %d with one in the order of switches", seed,
		together, grouped, risks, needed)
	if together == 0 || grouped == 0 || risks == 0 || needed <= risks {
		t.Error("some case did not happen")
	}
}

// firstPort is port 0 of the switch at the end of a route.
func firstPort(t *topo.Topo, r mad.Route) topo.PortIdx {
	for _, n := range t.Switches {
		if to, ok := t.RouteTo(t.Nodes[n].First); ok && to == r {
			return t.Nodes[n].First
		}
	}
	return topo.None
}

// writing is forwarding tables while they are written.
type writing struct {
	*testing.T
	topo    *topo.Topo
	lids    *topo.LIDs
	top     mad.LID
	was, is [][]uint8
}

// written takes a block of a switch, and reports whether there is a credit loop then.
func (w *writing) written(s topo.SwitchIdx, req *txn.Request) bool {
	w.was = slices.Clone(w.was)
	row := slices.Repeat([]uint8{routing.NoPath}, len(w.is[s]))
	copy(row, w.was[s])
	w.was[s] = row
	copy(w.was[s][int(req.Mod)*routing.BlockSize:], req.Data[:])
	return w.loop(w.was)
}

// loop reports whether tables have a credit loop.
func (w *writing) loop(lft [][]uint8) bool {
	w.Helper()
	tables := &routing.Tables{LFT: lft, Top: w.top}
	r, err := creditloop.Find(w.Context(),
		creditloop.In{Topo: w.topo, LIDs: w.lids, Forwarding: routing.NewForwarding(w.topo, w.lids, tables)})
	if err != nil {
		w.Fatal(err)
	}
	return r.Loop != nil
}

// loopInTurn reports whether there is a credit loop on the way, when switches are written in their order.
func (w *writing) loopInTurn() (found bool) {
	lft := slices.Clone(w.was)
	for s := range lft {
		lft[s] = w.is[s]
		found = found || w.loop(lft)
	}
	return found
}

// shuffled carries out a program whose requests of each stage arrive in random order. It calls sent after
// each.
func (b *harness) shuffled(p *Program, rng *rand.Rand, sent func(*txn.Request)) {
	b.Helper()
	for {
		var all []txn.Request
		for req, ok := p.Next(); ok; req, ok = p.Next() {
			all = append(all, req)
		}
		rng.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
		for i := range all {
			o := b.ask(&all[i])
			sent(&all[i])
			p.Done(&o)
		}
		if out, _ := p.Outcome(); out != nil {
			return
		}
	}
}
