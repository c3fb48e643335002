package routingtest

import (
	"math/rand/v2"
	"slices"
	"testing"

	"ibsm/mad"
	"ibsm/routing"
	"ibsm/topo"
	"ibsm/topo/net"
	"ibsm/topo/netwalk"
)

// Cable is two ends.
type Cable [2]net.End

// Living is a fabric that loses cables and gets them back, and the subnet that is there.
type Living struct {
	Fabric *net.Net
	Lost   []Cable
	Topo   *topo.Topo
	LIDs   *topo.LIDs

	base map[mad.GUID]mad.LID // of end ports
	lmc  uint8
	next mad.LID // to give to a port
}

// NewLiving is that of a fabric, whole, with LIDs for an LMC.
func NewLiving(t testing.TB, fabric *net.Net, lmc uint8) *Living {
	t.Helper()
	f := &Living{Fabric: fabric, base: map[mad.GUID]mad.LID{}, lmc: lmc, next: 1 << lmc}
	f.Walk(t)
	return f
}

// Self is the port of the manager, on the first host.
func (f *Living) Self() net.End {
	return net.End{Node: int32(slices.IndexFunc(f.Fabric.Nodes, func(n net.Node) bool {
		return n.Type != mad.Switch
	})), Port: 1}
}

// Walk finds the subnet, and gives each port that is new LIDs; others keep theirs, and so do those
// that are not there.
func (f *Living) Walk(t testing.TB) {
	t.Helper()
	var err error
	if f.Topo, err = netwalk.Topo(f.Fabric, f.Self()); err != nil {
		t.Fatal(err)
	}
	base, lmc := make([]mad.LID, len(f.Topo.Ports)), make([]uint8, len(f.Topo.Ports))
	for _, p := range f.Topo.EndPorts {
		guid := f.Topo.Ports[p].GUID
		if f.base[guid] == 0 {
			f.base[guid] = f.next
			f.next += 1 << f.lmc
		}
		base[p] = f.base[guid]
		if f.Topo.Nodes[f.Topo.Ports[p].Node].Type != mad.Switch {
			lmc[p] = f.lmc
		}
	}
	f.LIDs = topo.NewLIDs(base, lmc)
}

// Cables are those between switches, or of hosts other than the first.
func (f *Living) Cables(hosts bool) (all []Cable) {
	first := true
	for i := range f.Fabric.Nodes {
		node := &f.Fabric.Nodes[i]
		isHost := node.Type != mad.Switch
		if isHost && first {
			first = false
			continue
		}
		for num := 1; num < len(node.Ports); num++ {
			peer := node.Ports[num].Peer
			if peer.Node < 0 || isHost != hosts {
				continue
			}
			if !hosts && (f.Fabric.Nodes[peer.Node].Type != mad.Switch || peer.Node < int32(i)) {
				continue
			}
			all = append(all, Cable{{Node: int32(i), Port: uint8(num)}, peer})
		}
	}
	return all
}

// Cut takes a cable away.
func (f *Living) Cut(c Cable) {
	for _, end := range c {
		f.Fabric.Nodes[end.Node].Ports[end.Port].Peer = net.NoEnd
	}
	f.Lost = append(f.Lost, c)
}

// Restore returns a cable that was lost.
func (f *Living) Restore(i int) {
	c := f.Lost[i]
	f.Fabric.Nodes[c[0].Node].Ports[c[0].Port].Peer = c[1]
	f.Fabric.Nodes[c[1].Node].Ports[c[1].Port].Peer = c[0]
	f.Lost = slices.Delete(f.Lost, i, i+1)
}

// Damage loses or returns some cables at random.
func (f *Living) Damage(rng *rand.Rand) {
	for range 1 + rng.IntN(3) {
		cables, hosts := f.Cables(false), f.Cables(true)
		switch what := rng.IntN(7); {
		case what < 3 && len(cables) > 0:
			f.Cut(cables[rng.IntN(len(cables))])
		case what == 3 && len(hosts) > 0:
			f.Cut(hosts[rng.IntN(len(hosts))])
		case what == 4 && len(cables) > 0: // all cables of a switch to others
			at := cables[rng.IntN(len(cables))][rng.IntN(2)].Node
			for _, c := range cables {
				if c[0].Node == at || c[1].Node == at {
					f.Cut(c)
				}
			}
		default:
			for i := len(f.Lost) - 1; i >= 0; i-- {
				if rng.IntN(2) == 0 {
					f.Restore(i)
				}
			}
		}
	}
}

// Found are tables as a manager finds them after the subnet has changed: those of switches that are
// still there.
func (f *Living) Found(was *topo.Topo, tables *routing.Tables) *routing.Tables {
	found := &routing.Tables{LFT: make([][]uint8, len(f.Topo.Switches)), Top: f.LIDs.Top, SLs: tables.SLs,
		Origin: tables.Origin}
	for s, n := range f.Topo.Switches {
		if old := was.FindNode(f.Topo.Nodes[n].GUID); old != topo.None {
			found.LFT[s] = tables.LFT[was.Nodes[old].Switch]
		}
	}
	return found
}
