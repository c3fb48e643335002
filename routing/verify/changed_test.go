package verify

import (
	"context"
	"fmt"
	"math/bits"
	"math/rand/v2"
	"os"
	"reflect"
	"slices"
	"testing"

	"ibsm/mad"
	"ibsm/routing"
	"ibsm/topo"
)

// next is a copy of the fixture that shares all rows.
func (f *fixture) next() *fixture {
	t, l := *f.topo, *f.lids
	t.Ports, l.Owner = slices.Clone(t.Ports), slices.Clone(l.Owner)
	return &fixture{&t, &l, &routing.Tables{LFT: slices.Clone(f.tables.LFT), Top: f.tables.Top}}
}

// set writes an entry into a row of its own.
func (f *fixture) set(s, lid int, port uint8) {
	if lid < len(f.tables.LFT[s]) {
		f.tables.LFT[s] = slices.Clone(f.tables.LFT[s])
		f.tables.LFT[s][lid] = port
	}
}

// links are the ports of switches that lead to switches.
func (f *fixture) links() (ports []topo.PortIdx) {
	for s, n := range f.topo.Switches {
		_, nums := routing.NewGraph(f.topo).Edges(topo.SwitchIdx(s))
		for _, num := range nums {
			ports = append(ports, f.topo.Port(n, num))
		}
	}
	return ports
}

// happen changes something.
func (f *fixture) happen(tb testing.TB, rng *rand.Rand) string {
	lid := func() int { return rng.IntN(len(f.lids.Owner)) }
	port := func() topo.PortIdx { return topo.PortIdx(rng.IntN(len(f.topo.Ports))) }
	switch rng.IntN(9) {
	case 0:
		s, at := rng.IntN(len(f.tables.LFT)), lid()
		f.set(s, at, uint8(rng.IntN(8)))
		return fmt.Sprintf("switch %d sends LID %d elsewhere", s, at)
	case 1:
		if p := port(); f.topo.Ports[p].Peer != topo.None {
			f.unlink(p)
			return fmt.Sprintf("port %d has lost its link", p)
		}
	case 2: // and the tables stay as they are
		links := f.links()
		if len(links) < 2 {
			break
		}
		p, q := links[rng.IntN(len(links))], links[rng.IntN(len(links))]
		a, b := f.topo.Ports[p].Peer, f.topo.Ports[q].Peer
		if p == q || p == b {
			break
		}
		f.unlink(p)
		f.unlink(q)
		f.topo.Ports[p].Peer, f.topo.Ports[b].Peer, f.topo.Ports[q].Peer, f.topo.Ports[a].Peer = b, p, a, q
		return fmt.Sprintf("cables of ports %d and %d are swapped", p, q)
	case 3:
		a, b := lid(), lid()
		f.lids.Owner[a], f.lids.Owner[b] = f.lids.Owner[b], f.lids.Owner[a]
		return fmt.Sprintf("LIDs %d and %d are swapped", a, b)
	case 4:
		at, to := lid(), topo.PortIdx(topo.None)
		if rng.IntN(2) == 0 {
			to = f.topo.EndPorts[rng.IntN(len(f.topo.EndPorts))]
		}
		f.lids.Owner[at] = to
		return fmt.Sprintf("LID %d is that of port %d", at, to)
	case 5:
		f.tables.Top = mad.LID(lid())
		return fmt.Sprintf("tables end at %d", f.tables.Top)
	case 6:
		s := rng.IntN(len(f.tables.LFT))
		f.tables.LFT[s] = nil
		return fmt.Sprintf("switch %d has no table", s)
	case 7:
		f.tables.Top = f.lids.Top
		f.route(tb)
		return "routed again"
	case 8:
		for s, row := range f.tables.LFT {
			f.tables.LFT[s] = slices.Clone(row)
		}
		return "no row is shared"
	}
	return "nothing"
}

// What is found of a subnet that has changed is the same, whatever was found before.
func TestSince(t *testing.T) {
	specs := []string{"random:switches=12,degree=4,hosts=3", "mesh:dims=3x4,hosts=1", "fattree:k=4",
		"torus:dims=3x4,hosts=2", "mesh:dims=2x6,hosts=3"}
	spared, found := 0, [numKinds]int{}
	seeds := 10
	if os.Getenv("IBSM_PROOF") != "" {
		seeds = 300
	}
	for seed := range uint64(seeds) {
		rng := rand.New(rand.NewPCG(seed, 2))
		f := newFixture(t, specs[seed%5], uint8(rng.IntN(2)))
		last := f.check(t)
		said := "at first"
		for step := range 40 {
			if step%20 == 19 { // another subnet, with as many switches
				f, said = newFixture(t, specs[rng.IntN(5)], uint8(rng.IntN(2))), "another subnet"
			} else {
				f = f.next()
				said = f.happen(t, rng)
			}
			want := f.check(t)
			got, err := Check(t.Context(), 0, f.topo, f.lids, f.tables, last)
			if err != nil {
				t.Fatal(err)
			}
			spared += got.checker.spared(last)
			for kind, n := range want.Count {
				found[kind] += n
			}
			if !reflect.DeepEqual(got.checker.longest, want.checker.longest) {
				t.Fatalf("seed %d step %d, %s: routes found good differ", seed, step, said)
			}
			g, w := *got, *want
			g.checker, w.checker = nil, nil
			if !reflect.DeepEqual(g, w) {
				t.Fatalf("seed %d step %d, %s:\n%+v, and without what was found before\n%+v", seed, step, said, g, w)
			}
			last = got
		}
	}
	if spared == 0 || slices.Contains(found[:TooLong], 0) || found[Unowned] == 0 {
		t.Errorf("%d LIDs were not followed, found %v", spared, found)
	}
}

// spared is how many LIDs are not followed.
func (c *checker) spared(since *Report) (n int) {
	for _, word := range c.changed(context.Background(), since) {
		n += bits.OnesCount64(^word)
	}
	return n
}

// Nothing is followed where nothing has changed, and little where little has.
func TestLittleChanged(t *testing.T) {
	f := newFixture(t, "fattree:k=8", 0)
	all := f.check(t)
	if n := len(all.checker.longest) - all.checker.spared(all); n != 0 {
		t.Errorf("%d LIDs followed of the same subnet", n)
	}
	after := f.next()
	p := after.links()[0]
	n := after.topo.Ports[p].Node
	after.unlink(p)
	through := 0 // of both ends' tables
	for _, end := range []topo.PortIdx{p, f.topo.Ports[p].Peer} {
		port := &f.topo.Ports[end]
		for _, egress := range f.tables.LFT[f.topo.Nodes[port.Node].Switch] {
			if egress == port.Num {
				through++
			}
		}
	}
	c := newChecker(after.topo, after.lids, after.tables)
	if followed := len(c.longest) - c.spared(all); through == 0 || followed != through {
		t.Errorf("a link of node %d with %d LIDs is lost, %d are followed", n, through, followed)
	}
}

// Routes are followed, rather than each entry looked at, where many entries of a LID have changed.
func TestMuchChanged(t *testing.T) {
	f := newFixture(t, "fattree:k=8", 0)
	all := f.check(t)
	host, _ := f.host(0)
	lid := int(host)
	for _, switches := range []int{8, 60} {
		after := f.next()
		for s, row := range f.tables.LFT[:switches] {
			after.set(s, lid, row[lid]^1)
		}
		entries, follow, known := newChecker(after.topo, after.lids, after.tables).FewChanges(all.checker.Forwarding)
		few := switches == 8
		if !known || follow.Has(lid) == few || few != (len(entries) == switches) || !few && len(entries) > 0 {
			t.Errorf("entries of %d switches have changed: %d to look at, routes followed %v", switches, len(entries),
				follow.Has(lid))
		}
	}
}

// A LID that nobody owned is followed when a port has it that no switch leads to.
func TestOwnedOutThere(t *testing.T) {
	f := newFixture(t, "mesh:dims=1x3,hosts=2", 0)
	lid, _ := f.host(2)
	owner := f.lids.Owner[lid]
	f.unlink(owner)
	f.lids.Owner[lid] = topo.None
	f.route(t)
	last := f.check(t)
	f = f.next()
	f.lids.Owner[lid] = owner
	r, err := Check(t.Context(), 0, f.topo, f.lids, f.tables, last)
	if err != nil || last.Bad() != 0 || last.Count[Cut] != 0 || r.Count[Cut] != 3 {
		t.Errorf("%+v, %v; before %+v; want it cut off from 3 switches", r.Count, err, last.Count)
	}
}
