package detour

import (
	"slices"

	"ibsm/routing"
	"ibsm/topo"
)

// branch is a cable of a tree, as the switch at one end sees it.
type branch struct {
	to      topo.SwitchIdx
	port    uint8
	out, in int32   // channels
	lanes   []uint8 // of packets that leave by it
}

// fits reports whether packets along a tree, from all hosts to all others, close no credit loop with those of the paths.
func (g *graph) fits(tree *routing.Trunk) bool {
	branches := make([][]branch, len(g.Rows))
	for s := range tree.Up {
		link := &tree.Up[s]
		for i, port := range link.Up {
			up, down := g.channel[s<<8|int(port)], g.channel[int(link.To)<<8|int(link.Down[i])]
			branches[s] = append(branches[s], branch{to: link.To, port: port, out: up, in: down})
			branches[link.To] = append(branches[link.To], branch{to: topo.SwitchIdx(s), port: link.Down[i], out: down, in: up})
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
					fits = fits && g.depend(g.node(lane, in.in), g.node(g.Maps.Table(in.port, g.out[out.out]).VL(0), out.out))
				}
			}
		}
	}
	g.undo()
	return fits
}

// eachInput calls do for each port by which packets of a tree come to a switch that leave it by a branch, 0 for those of its hosts.
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
	topo *topo.Topo
}

// NewTree is a tree of one switch.
func NewTree(t *topo.Topo, root topo.SwitchIdx) *Tree {
	tree := &Tree{&routing.Trunk{Root: root, Up: make([]routing.TrunkLink, len(t.Switches))}, t}
	for s := range tree.Up {
		tree.Up[s].To = topo.None
	}
	return tree
}

// Has reports whether a switch is in the tree.
func (t *Tree) Has(s topo.SwitchIdx) bool { return s == t.Root || t.Up[s].To != topo.None }

// Join joins a switch to one of the tree by the cables at some of its ports.
func (t *Tree) Join(s, to topo.SwitchIdx, ports []uint8) {
	link := routing.TrunkLink{To: to}
	for _, port := range ports {
		link.Up = append(link.Up, port)
		link.Down = append(link.Down, t.topo.Ports[t.topo.Ports[t.topo.Port(t.topo.Switches[s], port)].Peer].Num)
	}
	t.Up[s] = link
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
