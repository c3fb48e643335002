package shape

import (
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"ibsm/mad"
	"ibsm/topo"
	"ibsm/topo/net"
	"ibsm/topo/netwalk"
)

// seeds is how many fabrics of a kind are drawn: few, or many in full size.
func seeds(few, many int) uint64 {
	if os.Getenv("IBSM_PROOF") != "" {
		return uint64(many)
	}
	return uint64(few)
}

func generate(t testing.TB, spec string) *net.Net {
	t.Helper()
	fabric, err := net.Generate(spec)
	if err != nil {
		t.Fatalf("%s: %v", spec, err)
	}
	return fabric
}

// shuffled is the subnet of a fabric whose GUIDs are in no order.
func shuffled(t testing.TB, fabric *net.Net, seed uint64) *topo.Topo {
	t.Helper()
	for i, guid := range rand.New(rand.NewPCG(seed, 1)).Perm(len(fabric.Nodes)) {
		n := &fabric.Nodes[i]
		n.GUID = mad.GUID(guid+1) << 16
		for p := range n.Ports {
			n.Ports[p].GUID = n.GUID + mad.GUID(p)
		}
	}
	found, err := netwalk.Topo(fabric, net.NoEnd)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// name is what the generator calls a switch.
func name(t *topo.Topo, s topo.SwitchIdx) string { return t.Nodes[t.Switches[s]].Desc.String() }

// switches are the nodes that are switches, of those whose names begin with a word.
func switches(fabric *net.Net, word string) (list []int32) {
	for i := range fabric.Nodes {
		if n := &fabric.Nodes[i]; n.Type == mad.Switch && strings.HasPrefix(n.Desc, word) {
			list = append(list, int32(i))
		}
	}
	return list
}

// hosts are the nodes that are none.
func hosts(fabric *net.Net) (list []int32) {
	for i := range fabric.Nodes {
		if fabric.Nodes[i].Type != mad.Switch {
			list = append(list, int32(i))
		}
	}
	return list
}

// unplug takes a cable away.
func unplug(fabric *net.Net, end net.End) {
	port := &fabric.Nodes[end.Node].Ports[end.Port]
	if peer := port.Peer; peer.Node >= 0 {
		fabric.Nodes[peer.Node].Ports[peer.Port].Peer = net.NoEnd
	}
	port.Peer = net.NoEnd
}

// newPort is one more port of a switch.
func newPort(fabric *net.Net, s int32) net.End {
	n := &fabric.Nodes[s]
	n.Ports = append(n.Ports, net.Port{Peer: net.NoEnd})
	return net.End{Node: s, Port: uint8(n.NumPorts())}
}

// connect cables new ports of two switches, or of a switch to itself.
func connect(fabric *net.Net, a, z int32) {
	from, to := newPort(fabric, a), newPort(fabric, z)
	fabric.Nodes[a].Ports[from.Port].Peer, fabric.Nodes[z].Ports[to.Port].Peer = to, from
}

// move gives a host another switch.
func move(fabric *net.Net, host, to int32) {
	unplug(fabric, net.End{Node: host, Port: 1})
	end := newPort(fabric, to)
	fabric.Nodes[to].Ports[end.Port].Peer = net.End{Node: host, Port: 1}
	fabric.Nodes[host].Ports[1].Peer = end
}

// scatter moves a few hosts to other switches, and all of one switch that has some.
func scatter(fabric *net.Net, seed uint64) {
	rng := rand.New(rand.NewPCG(seed, 2))
	all, ends := switches(fabric, ""), hosts(fabric)
	for range max(1, len(all)/40) {
		move(fabric, ends[rng.IntN(len(ends))], all[rng.IntN(len(all))])
	}
	from := fabric.Nodes[ends[rng.IntN(len(ends))]].Ports[1].Peer.Node
	for _, host := range ends {
		if peer := fabric.Nodes[host].Ports[1].Peer.Node; peer == from {
			to := slices.DeleteFunc(slices.Clone(ends), func(h int32) bool {
				return fabric.Nodes[h].Ports[1].Peer.Node == from
			})
			move(fabric, host, fabric.Nodes[to[rng.IntN(len(to))]].Ports[1].Peer.Node)
		}
	}
}

// both is two fabrics in one.
func both(a, b *net.Net) *net.Net {
	shift := int32(len(a.Nodes))
	for i := range b.Nodes {
		b.Nodes[i].ID += "'"
		for p := range b.Nodes[i].Ports {
			if peer := &b.Nodes[i].Ports[p].Peer; peer.Node >= 0 {
				peer.Node += shift
			}
		}
	}
	return &net.Net{Nodes: append(a.Nodes, b.Nodes...), Profile: a.Profile}
}
