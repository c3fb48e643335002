package torus

import (
	"maps"
	"math/bits"
	"testing"

	"ibsm/routing/routingtest"
	"ibsm/topo"
)

// TestCubeIsSymmetric: turned and mirrored, the steps of a cube stay the same steps. Where one corner alone
// is missing, three faces lead to it, of which OpenSM takes one.
func TestCubeIsSymmetric(t *testing.T) {
	for missing, row := range cubeSteps {
		for _, s := range row {
			near := (s.known[0] ^ s.known[1]) | (s.known[1] ^ s.known[2])
			if missing>>s.known[0]&1+missing>>s.known[1]&1+missing>>s.known[2]&1 > 0 || missing>>s.to&1 == 0 {
				t.Errorf("%08b: step %+v is not from known corners to a missing one", missing, s)
			}
			if bits.OnesCount8(uint8(s.known[0]^s.known[1])) != 1 ||
				bits.OnesCount8(uint8(s.known[1]^s.known[2])) != 1 || bits.OnesCount8(uint8(near)) != 2 {
				t.Errorf("%08b: corners %v are not in a row", missing, s.known)
			}
			want := s.known[0] ^ s.known[1] ^ s.known[2]
			if s.away {
				want = s.known[1] ^ 7 ^ near
			}
			if s.to != want {
				t.Errorf("%08b: step %+v leads to %d", missing, s, want)
			}
		}
		if bits.OnesCount8(missing) == 1 && len(row) != 1 {
			t.Errorf("%08b: %v", missing, row)
		}
	}
	images := 0
	for _, axes := range [][3]int{{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}} {
		for mirror := range 8 {
			corner := func(c int) int { return (c&1<<axes[0] | c>>1&1<<axes[1] | c>>2<<axes[2]) ^ mirror }
			for missing := range 256 {
				image := 0
				for c := range 8 {
					image |= missing >> c & 1 << corner(c)
				}
				want := map[step]bool{}
				for _, s := range cubeSteps[uint8(missing)] {
					want[step{[3]int{corner(s.known[0]), corner(s.known[1]), corner(s.known[2])}, corner(s.to),
						s.away}.eitherWay()] = true
				}
				got := map[step]bool{}
				for _, s := range cubeSteps[uint8(image)] {
					got[s.eitherWay()] = true
				}
				if bits.OnesCount(uint(missing)) == 1 && len(want) == 1 && len(got) == 1 {
					continue
				}
				if !maps.Equal(got, want) {
					t.Errorf("%08b as image of %08b: %v, want %v", image, missing, got, want)
				}
				images += len(want)
			}
		}
	}
	if images < 48*100 {
		t.Errorf("%d images", images)
	}
}

// eitherWay has the known corners in one of both orders: they are a row from either end.
func (s step) eitherWay() step {
	s.known[0], s.known[2] = min(s.known[0], s.known[2]), max(s.known[0], s.known[2])
	return s
}

// TestDeadlocks: missing switches close no circle if they are one, or neighbors in z; the ring of z is closed.
func TestDeadlocks(t *testing.T) {
	for _, c := range []struct {
		missing [][3]int
		want    bool
	}{
		{[][3]int{{1, 1, 1}}, false},
		{[][3]int{{1, 1, 1}, {1, 1, 2}}, false},
		{[][3]int{{1, 1, 4}, {1, 1, 0}}, false},
		{[][3]int{{1, 1, 4}, {1, 1, 0}, {1, 1, 1}}, false},
		{[][3]int{{1, 1, 1}, {1, 1, 3}}, true},
		{[][3]int{{1, 1, 0}, {1, 1, 1}, {1, 1, 3}}, true},
		{[][3]int{{1, 1, 1}, {2, 1, 1}}, true},
		{[][3]int{{1, 1, 1}, {1, 2, 1}}, true},
	} {
		g := newGrid(&Settings{Radix: [3]int{3, 3, 5}}, nil)
		for i := range g.cells {
			g.cells[i] = &cell{}
		}
		for _, at := range c.missing {
			g.cells[g.index(at)] = nil
		}
		if got := g.deadlocks(c.missing); got != c.want {
			t.Errorf("without %v: %t", c.missing, got)
		}
	}
}

// TestLeastLanes: of links between switches and of those to end ports each has its least number of lanes.
func TestLeastLanes(t *testing.T) {
	in := routingtest.Problem(t, "mesh:dims=1x3,hosts=2")
	in.Lanes = make([]uint8, len(in.Topo.Ports))
	for _, c := range []struct{ link, end, switches, ends uint8 }{{8, 8, 8, 8}, {8, 2, 8, 2}, {4, 15, 4, 15},
		{0, 0, 15, 15}} {
		for p := range in.Lanes {
			in.Lanes[p] = 15
		}
		for p := range topo.PortIdx(len(in.Lanes)) {
			if peer := in.Topo.Ports[p].Peer; peer != topo.None && in.Topo.IsSwitchPort(p) {
				if in.Topo.IsSwitchPort(peer) {
					in.Lanes[p] = c.link
				} else {
					in.Lanes[p] = c.end
				}
			}
		}
		if switches, ends := lanes(in); switches != c.switches || ends != c.ends {
			t.Errorf("%+v: %d and %d", c, switches, ends)
		}
	}
}
