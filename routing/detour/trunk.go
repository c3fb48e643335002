package detour

import (
	"context"
	"slices"

	"ibsm/routing"
	"ibsm/routing/spread"
	"ibsm/topo"
)

// branch is a cable of a tree, as the switch at one end sees it.
type branch struct {
	to      topo.SwitchIdx
	port    uint8
	out, in int32 // channels
}

// known reports whether the first tree is known to close no credit loop.
func (g *graph) known() bool {
	for tree := range g.Trunks {
		if tree.Known {
			g.trunk = tree.Trunk
		}
		break
	}
	return g.trunk != nil
}

// firstTrunk is the first tree that closes no credit loop, nil if there is none.
func (g *graph) firstTrunk(ctx context.Context) *routing.Trunk {
	if g.Trunks == nil {
		return nil
	}
	for tree := range g.Trunks {
		if ctx.Err() != nil {
			break
		}
		if g.fits(tree.Trunk) {
			return tree.Trunk
		}
	}
	return nil
}

// fits reports whether packets along a tree, from every host to every other host, close no credit loop together with
// packets on paths.
func (g *graph) fits(tree *routing.Trunk) bool {
	branches := make([][]branch, len(g.Rows))
	for s := range tree.Up {
		link := &tree.Up[s]
		for i, port := range link.Up {
			up, down := g.channel[s<<8|int(port)], g.channel[int(link.To)<<8|int(link.Down[i])]
			branches[s] = append(branches[s], branch{to: link.To, port: port, out: up, in: down})
			branches[link.To] = append(branches[link.To], branch{to: topo.SwitchIdx(s), port: link.Down[i], out: down,
				in: up})
		}
	}
	lanes := make([][]uint8, len(g.next)) // by channel
	for _, of := range branches {
		for _, out := range of {
			g.eachInput(of, &out, func(port uint8) {
				if lane := g.Maps.Table(port, g.out[out.out]).VL(0); !slices.Contains(lanes[out.out], lane) {
					lanes[out.out] = append(lanes[out.out], lane)
				}
			})
		}
	}
	fits := true
	for _, of := range branches {
		for _, out := range of {
			for _, in := range of {
				if in.to == out.to {
					continue
				}
				for _, lane := range lanes[in.in] {
					fits = fits && g.depend(g.node(lane, in.in),
						g.node(g.Maps.Table(in.port, g.out[out.out]).VL(0), out.out))
				}
			}
		}
	}
	g.undo()
	return fits
}

// eachInput calls do for each port by which packets of a tree reach a switch that leave it by a branch; 0 stands for
// the ports of hosts.
func (g *graph) eachInput(of []branch, out *branch, do func(port uint8)) {
	do(0)
	for i := range of {
		if of[i].to != out.to {
			do(of[i].port)
		}
	}
}

// node is a channel on a lane.
func (g *graph) node(lane uint8, channel int32) int32 {
	return int32(lane)*int32(len(g.next)) + channel
}

// Tree is a tree of switches that grows.
type Tree struct {
	*routing.Trunk
	// Known says that packets along the tree close no credit loop with packets on paths, if no path is missing or odd.
	Known bool
	topo  *topo.Topo
}

// NewTree is a tree of one switch.
func NewTree(t *topo.Topo, root topo.SwitchIdx) *Tree {
	tree := &Tree{Trunk: &routing.Trunk{Root: root, Up: make([]routing.TrunkLink, len(t.Switches))}, topo: t}
	for s := range tree.Up {
		tree.Up[s].To = topo.None
	}
	return tree
}

// Has reports whether a switch is in the tree.
func (t *Tree) Has(s topo.SwitchIdx) bool { return s == t.Root || t.Up[s].To != topo.None }

// Join joins a switch to one of the tree by the cables to that.
func (t *Tree) Join(s topo.SwitchIdx, by *spread.Bundle) {
	link := routing.TrunkLink{To: by.To}
	for _, way := range by.Ways {
		link.Up = append(link.Up, way.Port)
		link.Down = append(link.Down, t.topo.Ports[t.topo.Ports[t.topo.Port(t.topo.Switches[s], way.Port)].Peer].Num)
	}
	t.Up[s] = link
}

// JoinRest joins the remaining switches to any neighbour. bundles are the bundles from each switch.
func (t *Tree) JoinRest(bundles ...[][]spread.Bundle) {
	for more := true; more; {
		more = false
		for s := range topo.SwitchIdx(len(t.Up)) {
			for _, of := range bundles {
				for i := range of[s] {
					if b := &of[s][i]; !t.Has(s) && t.Has(b.To) {
						t.Join(s, b)
						more = true
					}
				}
			}
		}
	}
}

// Prune takes off the switches at the tips that have no hosts.
func (t *Tree) Prune() {
	needed := make([]bool, len(t.Up))
	for _, p := range t.topo.EndPorts {
		if s := t.topo.SwitchOf(p); s != topo.None && t.topo.IsHost(p) {
			for ; s != topo.None && !needed[s]; s = t.Up[s].To {
				needed[s] = true
			}
		}
	}
	for s := range t.Up {
		if !needed[s] {
			t.Up[s] = routing.TrunkLink{To: topo.None}
		}
	}
}
