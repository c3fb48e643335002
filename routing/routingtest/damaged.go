package routingtest

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"ibsm/mad"
	"ibsm/routing"
	"ibsm/topo"
	"ibsm/topo/net"
	"ibsm/topo/netwalk"
)

// Damaged is the routing of a random fabric with damage, and a configuration for it.
type Damaged struct {
	routing.In
	Spec  string // of what the fabric was made of
	Conf  string // file
	Lines []string
}

// NewDamaged draws a fabric of some kind, breaks it, and draws a configuration with an engine. LIDs have holes. The
// same number gives the same ones.
func NewDamaged(t testing.TB, engine string, number uint64) *Damaged {
	t.Helper()
	d := &draw{Rand: rand.New(rand.NewPCG(number, 0xda3a)), t: t, dir: t.TempDir()}
	f := &Damaged{Spec: d.spec(engine)}
	n, err := net.Generate(f.Spec)
	if err != nil { // too little of it would be left
		f.Spec = missing.ReplaceAllString(f.Spec, "")
		n, err = net.Generate(f.Spec)
	}
	if err != nil {
		t.Fatal(err)
	}
	if engine != torus2QoS || d.one(4) {
		d.change(n)
	}
	d.rename(n)
	if d.one(3) {
		d.cut(n)
	}
	if d.topo, err = netwalk.Topo(n, net.NoEnd); err != nil {
		t.Fatal(err)
	}
	s := &Seed{Spec: f.Spec, Engine: engine}
	d.configure(s)
	f.Lines = s.Lines
	f.Conf = d.write("opensm.conf", strings.Join(s.Lines, "\n")+"\n")
	lanes := []uint8{1, 2, 4, 8, 8, 15}[d.IntN(6)]
	f.In = routing.In{Topo: d.topo, LIDs: d.lids(s.LMC), Lanes: slices.Repeat([]uint8{lanes}, len(d.topo.Ports))}
	return f
}

// cut takes cables away, whatever hangs on them.
func (d *draw) cut(n *net.Net) {
	for range 1 + d.IntN(4) {
		node := int32(d.IntN(len(n.Nodes)))
		num := uint8(1 + d.IntN(n.Nodes[node].NumPorts()))
		if peer := n.Nodes[node].Ports[num].Peer; peer.Node >= 0 {
			n.Nodes[node].Ports[num].Peer, n.Nodes[peer.Node].Ports[peer.Port].Peer = net.NoEnd, net.NoEnd
		}
	}
}

// lids are random ones with holes; the ports of channel adapters have 2^lmc each.
func (d *draw) lids(lmc int) *topo.LIDs {
	base, lmcs := make([]mad.LID, len(d.topo.Ports)), make([]uint8, len(d.topo.Ports))
	next := mad.LID(1)
	for _, i := range d.Perm(len(d.topo.EndPorts)) {
		p := d.topo.EndPorts[i]
		if d.topo.Nodes[d.topo.Ports[p].Node].Type != mad.Switch {
			lmcs[p] = uint8(lmc)
		}
		count := mad.LID(1) << lmcs[p]
		next = (next + count - 1) &^ (count - 1)
		base[p] = next
		if next += count; d.one(4) {
			next += mad.LID(d.IntN(5))
		}
	}
	return topo.NewLIDs(base, lmcs)
}
