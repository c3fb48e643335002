package routingtest

import (
	"fmt"
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

// NewDamaged draws a fabric of some kind, breaks it, and draws a configuration with an engine. LIDs have holes. The same
// number gives the same ones.
func NewDamaged(t testing.TB, engine string, number uint64) *Damaged {
	t.Helper()
	d := &draw{Rand: rand.New(rand.NewPCG(number, 0xda3a)), t: t, dir: t.TempDir()}
	f := &Damaged{Spec: d.spec(engine)}
	torus := engine == "torus-2QoS" && !d.one(20)
	if torus {
		f.Spec = d.torus()
	}
	n, err := net.Generate(f.Spec)
	if err != nil { // too little of it would be left
		f.Spec = missing.ReplaceAllString(f.Spec, "")
		n, err = net.Generate(f.Spec)
	}
	if err != nil {
		t.Fatal(err)
	}
	if !torus || d.one(4) {
		d.change(n)
	}
	d.rename(n)
	if d.one(3) {
		d.cut(n)
	}
	if d.topo, err = netwalk.Topo(n, net.NoEnd); err != nil {
		t.Fatal(err)
	}
	s := &Seed{Engine: engine}
	d.configure(s)
	if engine == "torus-2QoS" {
		s.Lines = append(s.Lines, "torus_config "+d.write("torus-2QoS.conf", d.torusFile(f.Spec)))
	}
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

// torus is the spec of a torus or mesh, of two or three dimensions.
func (d *draw) torus() string {
	n := func(from, to int) int { return from + d.IntN(to-from+1) }
	kind := []string{"torus", "torus", "mesh"}[d.IntN(3)]
	spec := fmt.Sprintf("%s:dims=%dx%dx%d,hosts=%d", kind, n(2, 5), n(2, 5), n(2, 4), n(1, 2))
	if d.one(3) {
		spec = fmt.Sprintf("%s:dims=%dx%d,hosts=%d", kind, n(2, 7), n(2, 7), n(1, 2))
	}
	switch d.IntN(4) {
	case 0:
		spec += fmt.Sprintf(",missing-links=%d", n(1, 4))
	case 1:
		spec += fmt.Sprintf(",missing-links=%d%%", n(1, 10))
	case 2:
		spec += ",missing-switches=1"
	}
	return spec + fmt.Sprintf(",devices=ideal,sharp=none,seed=%d", n(1, 1<<20))
}

// torusFile is torus-2QoS.conf for a spec, with a seed at each of some switches, wherever the names of switches say that
// they are.
func (d *draw) torusFile(spec string) string {
	kind, rest, _ := strings.Cut(spec, ":")
	var size [3]int
	if n, _ := fmt.Sscanf(rest, "dims=%dx%dx%d", &size[0], &size[1], &size[2]); n < 2 {
		size = [3]int{3, 3, 1} // something else than the fabric
	}
	size[2] = max(size[2], 1)
	open := [3]bool{kind == "mesh", kind == "mesh", kind == "mesh"}
	guids := map[[3]int]mad.GUID{}
	for _, s := range d.topo.Switches {
		var at [3]int
		if n, _ := fmt.Sscanf(d.topo.Nodes[s].Desc.String(), "switch-%d-%d-%d", &at[0], &at[1], &at[2]); n >= 2 {
			guids[at] = d.topo.Nodes[s].GUID
		}
	}
	var b strings.Builder
	b.WriteString("torus")
	for dim, n := range size {
		fmt.Fprintf(&b, " %d%s", n, map[bool]string{true: "M", false: "t"}[open[dim] || n < 3])
	}
	b.WriteString("\n")
	for seed := range 3 {
		at := [3]int{d.IntN(size[0]), d.IntN(size[1]), d.IntN(size[2])}
		if seed > 0 {
			b.WriteString("next_seed\n")
		}
		for dim, n := range size {
			for side, sign := range []int{-1, 1} {
				to := at
				to[dim] = (at[dim] + sign + n) % n
				if n > 1 && (to[dim]-at[dim] == sign || !open[dim] && n > 2) {
					fmt.Fprintf(&b, "%c%c_link %#x %#x\n", "xyz"[dim], "mp"[side], uint64(guids[at]), uint64(guids[to]))
				}
			}
			if n > 1 {
				fmt.Fprintf(&b, "%c_dateline %d\n", "xyz"[dim], -at[dim])
			}
		}
	}
	return b.String()
}
