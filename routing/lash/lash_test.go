package lash

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"ibsm/routing"
	"ibsm/routing/creditloop"
	"ibsm/routing/routingtest"
	"ibsm/routing/verify"
	"ibsm/topo"
)

// TestNoCreditLoop: all packets arrive, and no lane has a credit loop, on fabrics of every kind,
// some of them damaged.
func TestNoCreditLoop(t *testing.T) {
	for _, spec := range []string{
		"fattree:k=6", "torus:dims=7,hosts=2", "torus:dims=5x4,hosts=1,missing-links=5%", "torus:dims=4x3x3,hosts=1",
		"mesh:dims=4x4,hosts=1",
		"hypercube", "dragonfly", "hyperx:missing-links=5%", "random:switches=30,degree=4,hosts=1,missing-switches=3",
	} {
		in := routingtest.Problem(t, spec)
		tables, err := New(Settings{StartVL: 1})(t.Context(), in)
		if err != nil {
			t.Errorf("%s: %v", spec, err)
			continue
		}
		report, err := verify.Check(t.Context(), 0, in.Topo, in.LIDs, tables, nil)
		if err != nil || report.Bad() > 0 {
			t.Errorf("%s: %+v, %v", spec, report.Count, err)
		}
		for _, traffic := range []creditloop.Traffic{creditloop.BetweenHosts, creditloop.All} {
			r, err := creditloop.Find(t.Context(),
				creditloop.In{Topo: in.Topo, LIDs: in.LIDs, Forwarding: report.Forwarding(), SLs: tables.SLs,
					Traffic: traffic})
			if err != nil || r.Loop != nil {
				t.Errorf("%s, traffic %d: %+v, %v", spec, traffic, r.Loop, err)
			}
		}
		for _, row := range tables.SLs.Rows {
			if slices.Min(row) < 1 {
				t.Errorf("%s: a path has an SL below the first", spec)
				break
			}
		}
	}
}

// TestMerged: one pair of another lane is enough for a credit loop where lanes are full.
func TestMerged(t *testing.T) {
	in := routingtest.Problem(t, "torus:dims=5x5,hosts=1")
	tables, err := New(Settings{})(t.Context(), in)
	if err != nil || tables.SLs.Count < 2 {
		t.Fatal(tables, err)
	}
	for _, row := range tables.SLs.Rows {
		clear(row)
	}
	f := routing.NewForwarding(in.Topo, in.LIDs, tables)
	if r, err := creditloop.Find(t.Context(),
		creditloop.In{Topo: in.Topo, LIDs: in.LIDs, Forwarding: f, SLs: tables.SLs}); err != nil || r.Loop == nil {
		t.Errorf("%+v, %v: all paths on one lane have no loop", r, err)
	}
}

func TestRefusals(t *testing.T) {
	torus := routingtest.Problem(t, "torus:dims=5x5,hosts=1")
	lanes := func(n uint8) []uint8 { return slices.Repeat([]uint8{n}, len(torus.Topo.Ports)) }
	for _, c := range []struct {
		name  string
		lanes []uint8
		start uint8
		want  string
	}{
		{"too few", lanes(2), 0, "more than 2 lanes are needed"},
		{"too few from the first on", lanes(4), 2, "more than 2 lanes are needed"},
		{"first too high", lanes(2), 2, "lash_start_vl is 2, and the links have lanes 0 to 1"},
	} {
		in := torus
		in.Lanes = c.lanes
		if _, err := New(Settings{StartVL: c.start})(t.Context(), in); err == nil || err.Error() != c.want {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	in := routingtest.Problem(t, "mesh:dims=1x3,hosts=1")
	for p := range in.Topo.Ports {
		if port := &in.Topo.Ports[p]; port.Peer != topo.None && in.Topo.Nodes[port.Node].Switch == 0 &&
			in.Topo.SwitchOf(port.Peer) > 0 {
			in.Topo.Ports[port.Peer].Peer, port.Peer = topo.None, topo.None
		}
	}
	for _, mesh := range []bool{false, true} {
		if _, err := New(Settings{MeshAnalysis: mesh})(t.Context(), in); err == nil ||
			!strings.Contains(err.Error(), "there is no path between switch") {
			t.Errorf("two parts: %v", err)
		}
	}
}

// TestShapes: polynomials are those in OpenSM's table, of which there are 100.
func TestShapes(t *testing.T) {
	if len(shapes) != 100 {
		t.Errorf("%d shapes", len(shapes))
	}
	for _, want := range []struct {
		dimensions int
		polynomial polynomial
	}{
		{1, polynomial{0}}, {1, polynomial{-1, 0}}, {1, polynomial{-36, 0}}, {2, polynomial{-15, -32, -18, 0}},
		{2, polynomial{8, 9, 0}},
		{3, polynomial{0, 0, -768, -512, -96, 0}}, {3, polynomial{96, 215, 160, 42, 0}},
		{4, polynomial{0, 0, -2304, -4864, -3552, -1136, -145, 0}},
		{5, polynomial{128, 240, 160, 40, 0}}, {6, polynomial{512, 1680, 2208, 1480, 520, 81, 0}},
		{8, polynomial{-1792, -6144, -8960, -7168, -3360, -896, -112, 0}},
	} {
		if !slices.ContainsFunc(shapes, func(s shape) bool {
			return len(s.sizes) == want.dimensions && slices.Equal(s.polynomial, want.polynomial)
		}) {
			t.Errorf("no shape %+v", want)
		}
	}
}

// TestMeshNeedsFewerLanes: the mesh analysis pays on tori, also in OpenSM.
func TestMeshNeedsFewerLanes(t *testing.T) {
	in := routingtest.Problem(t, "torus:dims=4x4x4,hosts=1")
	var lanes [2]int
	for i, settings := range []Settings{{}, {MeshAnalysis: true}} {
		tables, err := New(settings)(t.Context(), in)
		if err != nil {
			t.Fatal(err)
		}
		lanes[i] = tables.SLs.Count
	}
	if lanes[1] >= lanes[0] {
		t.Errorf("%d lanes, %d with mesh analysis", lanes[0], lanes[1])
	}
}

// TestOrder: the order of channels stays one through random insertions and removals, and an
// insertion is refused exactly when it closes a circle.
func TestOrder(t *testing.T) {
	const seed, channels = 3, 30
	rng := rand.New(rand.NewPCG(seed, 1))
	refused := 0
	for range 50 {
		l := newLayer(2, channels)
		for range 200 {
			from, to := int32(rng.IntN(channels)), int32(rng.IntN(channels))
			switch {
			case l.find(from, to) != nil:
				l.drop(from, to)
			case l.reaches(to, from) == l.insert(t.Context(), from, to):
				t.Fatalf("seed %d: from %d to %d", seed, from, to)
			case l.find(from, to) == nil:
				refused++
			}
			for c := range int32(channels) {
				for _, u := range l.next[c] {
					if l.place[c] >= l.place[u.to] {
						t.Fatalf("seed %d: %d before %d", seed, c, u.to)
					}
				}
			}
		}
	}
	if refused == 0 {
		t.Error("no circle happened")
	}
}

// reaches is a plain search.
func (l *layer) reaches(from, to int32) bool {
	seen, stack := map[int32]bool{from: true}, []int32{from}
	for len(stack) > 0 {
		at := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		if at == to {
			return true
		}
		for _, u := range l.next[at] {
			if !seen[u.to] {
				seen[u.to] = true
				stack = append(stack, u.to)
			}
		}
	}
	return false
}

func BenchmarkLash(b *testing.B) {
	for _, spec := range []string{"fattree:k=16", "torus:dims=6x6x6,hosts=1"} {
		b.Run(spec, func(b *testing.B) {
			in := routingtest.Problem(b, spec)
			for b.Loop() {
				if _, err := New(Settings{})(b.Context(), in); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// TestRemove: a lane from which pairs are taken is as if they had never been in it.
func TestRemove(t *testing.T) {
	n := newNetwork(t.Context(), routingtest.Problem(t, "mesh:dims=1x6,hosts=1").Topo, false)
	for root := range n.links {
		n.spread(int32(root))
	}
	l := newLayers(n)
	count := int32(len(n.links))
	l.lanes = append(l.lanes, newLayer(int(count), len(l.channels)))
	each := func(do func(i, j int32)) {
		for i := range count {
			for j := i + 1; j < count; j++ {
				do(i, j)
			}
		}
	}
	uses := func(lane *layer) (uses [][3]int32) {
		for from := range int32(len(l.channels)) {
			for to := range int32(len(l.channels)) {
				if u := lane.find(from, to); u != nil {
					uses = append(uses, [3]int32{from, to, u.uses})
				}
			}
		}
		return uses
	}
	stays := func(i, j int32) bool { return (i+j)%3 > 0 }
	each(func(i, j int32) {
		if !l.add(t.Context(), l.lanes[0], i, j) || stays(i, j) && !l.add(t.Context(), l.lanes[1], i, j) {
			t.Fatalf("paths between %d and %d close a circle in a row of switches", i, j)
		}
	})
	each(func(i, j int32) {
		if !stays(i, j) {
			l.remove(l.lanes[0], i, j)
		}
	})
	if got, want := uses(l.lanes[0]), uses(l.lanes[1]); !slices.Equal(got, want) || len(want) == 0 ||
		!slices.Equal(l.lanes[0].users, l.lanes[1].users) {
		t.Errorf("uses %v, want %v; channels have %v users, want %v", got, want, l.lanes[0].users, l.lanes[1].users)
	}
}
