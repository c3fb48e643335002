package server

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"ibsm/ctl"
	"ibsm/ctl/ctltest"
	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/routing"
	"ibsm/routing/mcast"
	"ibsm/topo"
	"ibsm/view"
	"ibsm/view/viewtest"
)

// newView is a generated subnet, routed, with links of MTU 4096.
func newView(t testing.TB, spec string) *view.View {
	t.Helper()
	v := viewtest.New(t, spec, 1)
	for i := range v.Topo.Ports {
		v.Topo.Ports[i].Info.SetNeighborMTU(mad.MTU4096)
	}
	v.Gen, v.Subnet.Prefix = 3, mad.DefaultPrefix
	return v
}

// TestBasePort0State: a base port 0 has no state; the others show theirs.
func TestBasePort0State(t *testing.T) {
	v := newView(t, "fattree:k=4")
	base := map[string]bool{}
	for _, n := range v.Topo.Switches {
		node := &v.Topo.Nodes[n]
		base[node.GUID.String()] = !node.SwitchInfo.EnhancedPort0()
	}
	s, shown := newSubnet(v, nil), 0
	for _, p := range rows[ctl.Port](t, s, ctl.Ports, ctl.Filter{}) {
		is := p.Num == 0 && base[p.Node]
		if (p.State == ctl.BasePort0) != is || (p.Physical == "") != is {
			t.Errorf("port %d of %s: state %q, physical %q", p.Num, p.Desc, p.State, p.Physical)
		}
		if is {
			shown++
			if d := ctltest.Diagnose(t, s, p.Desc+":0", ""); d.State != ctl.BasePort0 || d.Physical != "" {
				t.Errorf("diagnosis of port 0 of %s: %+v", p.Desc, d)
			}
		}
	}
	if shown == 0 || shown == len(v.Topo.Switches) {
		t.Errorf("%d base ports 0", shown)
	}
}

// rows are those of a list.
func rows[T any](t *testing.T, s *subnet, l ctl.List, f ctl.Filter) (all []T) {
	t.Helper()
	seq, err := s.Rows(l, f)
	if err != nil {
		t.Fatal(err)
	}
	for r := range seq {
		row := *r.(*T)
		if p, ok := any(&row).(*ctl.Port); ok && p.Peer != nil {
			peer := *p.Peer
			p.Peer = &peer
		}
		all = append(all, row)
	}
	return all
}

// A fat tree of k=4 has 16 hosts, 20 switches of 4 ports, and 48 cables.
func TestRows(t *testing.T) {
	s := newSubnet(newView(t, "fattree:k=4"), nil)
	nodes := rows[ctl.Node](t, s, ctl.Nodes, ctl.Filter{})
	if len(nodes) != 36 || len(rows[ctl.Node](t, s, ctl.Nodes, ctl.Filter{Type: "CA"})) != 16 {
		t.Errorf("%d nodes", len(nodes))
	}
	ports := rows[ctl.Port](t, s, ctl.Ports, ctl.Filter{})
	if want := 16 + 20*5; len(ports) != want {
		t.Errorf("%d ports, want %d", len(ports), want)
	}
	for _, l := range rows[ctl.Link](t, s, ctl.Links, ctl.Filter{Routes: true}) {
		// 15 others, two LIDs each
		if l.Routes == nil || l.To.Type == "CA" && *l.Routes != (ctl.Routes{Out: 15 * 2, In: 15 * 2}) {
			t.Errorf("%v %v: routes %v", l.From, l.To, l.Routes)
		}
	}
	ends := map[ctl.End]ctl.End{}
	for _, p := range ports {
		if p.Peer != nil {
			lid := p.LID
			if p.Type == "switch" {
				lid = nodes[slices.IndexFunc(nodes, func(n ctl.Node) bool { return n.GUID == p.Node })].LID
			}
			ends[ctl.End{Node: p.Node, Desc: p.Desc, Type: p.Type, Port: p.Num, LID: lid}] = *p.Peer
		}
	}
	for from, to := range ends {
		if ends[to] != from {
			t.Errorf("%v leads to %v, which leads to %v", from, to, ends[to])
		}
	}
	links := rows[ctl.Link](t, s, ctl.Links, ctl.Filter{})
	for _, l := range links {
		if ends[l.From] != l.To {
			t.Errorf("no port shows the link from %v to %v", l.From, l.To)
		}
	}
	if len(links) != 48 || len(ends) != 96 || s.status.Links != 48 || s.status.CAs != 16 || s.status.Switches != 20 {
		t.Errorf("%d links, %d ends, status %+v", len(links), len(ends), s.status)
	}
	leaf := nodes[0]
	if got := rows[ctl.Link](t, s, ctl.Links, ctl.Filter{Node: leaf.GUID}); len(got) != leaf.Ports {
		t.Errorf("%d links of %s, which has %d ports", len(got), leaf.Desc, leaf.Ports)
	}
	if got := rows[ctl.Port](t, s, ctl.Ports, ctl.Filter{State: smp.PortDown.String()}); len(
		got) != s.status.Ports["Down"] {
		t.Errorf("%d ports down, %v counted", len(got), s.status.Ports)
	}
}

func TestRowsRefusals(t *testing.T) {
	s := newSubnet(newView(t, "fattree:k=4"), nil)
	for _, c := range []struct {
		f    ctl.Filter
		want error
	}{{ctl.Filter{Type: "ca"}, ctl.ErrBadRequest}, {ctl.Filter{State: "up"}, ctl.ErrBadRequest},
		{ctl.Filter{Node: "nobody"}, ctl.ErrNotFound}} {
		if _, err := s.Rows(ctl.Ports, c.f); !errors.Is(err, c.want) {
			t.Errorf("%+v: %v", c.f, err)
		}
	}
}

func TestFindPort(t *testing.T) {
	v := newView(t, "fattree:k=4")
	s := newSubnet(v, nil)
	host := v.Topo.EndPorts[slices.IndexFunc(v.Topo.EndPorts, func(p topo.PortIdx) bool {
		return v.Topo.Nodes[v.Topo.Ports[p].Node].Type == mad.CA
	})]
	port := &v.Topo.Ports[host]
	node := &v.Topo.Nodes[port.Node]
	desc := node.Desc.String()
	first, _, _ := strings.Cut(desc, " ")
	base := v.LIDs.Base[host]
	sw := v.Topo.Port(v.Topo.Switches[0], 0)
	for _, c := range []struct {
		name string
		port topo.PortIdx
		lid  mad.LID
		err  error
	}{
		{base.String(), host, base, nil},
		{(base + 1).String(), host, base + 1, nil}, // the other LID of LMC 1
		{fmt.Sprintf("0x%04X", uint16(base)), host, base, nil},
		{port.GUID.String(), host, base, nil},
		{fmt.Sprintf("0x%x", uint64(node.GUID)), host, base, nil},
		{mad.MakeGID(mad.DefaultPrefix, port.GUID).String(), host, base, nil},
		{desc, host, base, nil},
		{first, host, base, nil},
		{v.Topo.Nodes[v.Topo.Switches[0]].Desc.String(), sw, v.LIDs.Base[sw], nil},
		{"0", 0, 0, ctl.ErrNotFound},
		{"49151", 0, 0, ctl.ErrNotFound},
		{"65536", 0, 0, ctl.ErrNotFound}, // too high for a LID: a name
		{"0x0000000000000001", 0, 0, ctl.ErrNotFound},
		{"fec0::1", 0, 0, ctl.ErrNotFound},
		{"", 0, 0, ctl.ErrNotFound},
		{"no such node", 0, 0, ctl.ErrNotFound},
	} {
		p, lid, err := s.findPort(c.name)
		if !errors.Is(err, c.err) || err == nil && (p != c.port || lid != c.lid) {
			t.Errorf("%q: port %d LID %v, %v; want port %d LID %v", c.name, p, lid, err, c.port, c.lid)
		}
	}
	copies := *v.Topo
	copies.Nodes = slices.Clone(v.Topo.Nodes)
	v.Topo = &copies
	// as on real adapters
	for _, set := range []string{"selene-02 mlx5_1 ", " selene-02 mlx5_1", "  selene-02 mlx5_1  "} {
		copies.Nodes[port.Node].Desc.Set(set)
		for _, name := range []string{set, "selene-02 mlx5_1", " selene-02 mlx5_1 ", "selene-02"} {
			if p, _, err := s.findPort(name); err != nil || p != host {
				t.Errorf("%q, asked for as %q: port %d, %v", set, name, p, err)
			}
		}
		if ports, err := s.findPorts("selene-02 mlx5_1:1"); err != nil || len(ports) != 1 || ports[0] != host {
			t.Errorf("%q, a port of it: %d, %v", set, ports, err)
		}
	}
	other := v.Topo.Ports[v.LIDs.PortOf(base+2)].Node // one that differs in blanks alone
	copies.Nodes[port.Node].Desc.Set("same ")
	copies.Nodes[other].Desc.Set("same")
	for n, name := range map[topo.NodeIdx]string{port.Node: "same ", other: "same"} {
		if p, _, err := s.findPort(name); err != nil || v.Topo.Ports[p].Node != n {
			t.Errorf("%q: port %d, %v", name, p, err)
		}
	}
	for i := range copies.Nodes {
		copies.Nodes[i].Desc.Set("MT4123 ConnectX6")
	}
	if _, _, err := s.findPort("MT4123"); !errors.Is(err, ctl.ErrBadRequest) ||
		!strings.Contains(err.Error(), copies.Nodes[0].GUID.String()) {
		t.Errorf("a name that many have: %v", err)
	}
}

// FuzzFindPort: a port that is found has the LID that it is said to be reached by.
func FuzzFindPort(f *testing.F) {
	v := newView(f, "fattree:k=4")
	s := newSubnet(v, nil)
	for _, name := range []string{"1", "0x2", "fe80::1", "leaf-01", "0xb83fd20300400000", "::ffff:1.2.3.4",
		"fe80::1%eth0"} {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, name string) {
		if p, lid, err := s.findPort(name); err == nil && v.LIDs.PortOf(lid) != p {
			t.Errorf("%q: LID %v belongs to port %d, not %d", name, lid, v.LIDs.PortOf(lid), p)
		}
	})
}

// FuzzDiagnose: whatever is named, there is a diagnosis of something or an error, and what
// does not work has a reason.
func FuzzDiagnose(f *testing.F) {
	s := newSubnet(newView(f, "fattree:k=4"), nil)
	for _, name := range []string{"1", "leaf-01", "leaf-01:2", "0xb83fd20300400000:9", "fe80::1", "::", ":", "host-01",
		"x:999"} {
		f.Add(name, "")
		f.Add("1", name)
	}
	f.Fuzz(func(t *testing.T, port, other string) {
		rows, err := s.Diagnose(port, other)
		if err != nil {
			return
		}
		for d := range rows {
			if !d.Works && len(d.Reasons) == 0 {
				t.Errorf("%q, %q: %+v", port, other, d)
			}
		}
	})
}

// Paths are as long as the tracer, which proves tables, finds them, and end as it says.
func TestPath(t *testing.T) {
	for _, damage := range []float64{0, 0.02} {
		v := newView(t, "fattree:k=8")
		rng := rand.New(rand.NewPCG(1, 2))
		for _, row := range v.Tables.LFT {
			for lid := range row {
				if rng.Float64() < damage {
					row[lid] = uint8(rng.IntN(10))
				}
			}
		}
		s := newSubnet(v, nil)
		tracer := routing.NewTracer(v.Topo, v.LIDs)
		trace := routing.NewTrace(len(v.Topo.Switches))
		arrived := 0
		for range 2000 {
			from := v.Topo.Switches[rng.IntN(len(v.Topo.Switches))]
			lid := mad.LID(1 + rng.IntN(int(v.LIDs.Top)))
			if v.LIDs.PortOf(lid) == topo.None {
				continue
			}
			p, err := s.Path(v.Topo.Nodes[from].GUID.String(), lid.String())
			if err != nil {
				t.Fatal(err)
			}
			tracer.Block(v.Tables.LFT, int(lid)/routing.BlockSize, routing.WholeBlock, trace)
			fate := trace.Fates(lid)[v.Topo.Nodes[from].Switch]
			if p.Arrived != (fate >= routing.Arrived) || p.Arrived && p.Links != int(fate-routing.Arrived) {
				t.Fatalf("from %v to LID %v: %d links, %s; the tracer says %d", from, lid, p.Links, p.Result, fate)
			}
			if loops := p.Result == "loops"; loops != (fate == routing.Loop) {
				t.Errorf("from %v to LID %v: %s; the tracer says %d", from, lid, p.Result, fate)
			}
			if p.Arrived {
				arrived++
			}
		}
		if arrived < 500 {
			t.Errorf("only %d paths arrive", arrived)
		}
	}
}

// A path between hosts begins and ends with them, and its hops join.
func TestPathOfHosts(t *testing.T) {
	v := newView(t, "fattree:k=4")
	s := newSubnet(v, nil)
	var hosts []topo.PortIdx
	for _, p := range v.Topo.EndPorts {
		if v.Topo.Nodes[v.Topo.Ports[p].Node].Type == mad.CA {
			hosts = append(hosts, p)
		}
	}
	for _, to := range hosts {
		p, err := s.Path(v.LIDs.Base[hosts[0]].String(), (v.LIDs.Base[to] + 1).String())
		if err != nil || !p.Arrived {
			t.Fatalf("%+v, %v", p, err)
		}
		if p.Hops[0].Node != p.From.Node || p.Hops[len(p.Hops)-1].Node != p.To.Node || p.DLID != v.LIDs.Base[to]+1 {
			t.Errorf("from %v to %v: %+v", p.From, p.To, p.Hops)
		}
		if p.Links > 0 && (p.Gbps != 200 || p.MTU != 4096) {
			t.Errorf("%g Gb/s, MTU %d", p.Gbps, p.MTU)
		}
		for i := range p.Links {
			guid, _ := mad.ParseGUID(p.Hops[i].Node)
			peer := v.Topo.Ports[v.Topo.Port(v.Topo.FindNode(guid), p.Hops[i].Out)].Peer
			if far := &v.Topo.Ports[peer]; v.Topo.Nodes[far.Node].GUID.String() != p.Hops[i+1].Node ||
				far.Num != p.Hops[i+1].In {
				t.Errorf("hop %d of %+v does not lead to the next", i, p.Hops)
			}
		}
	}
}

func TestDumps(t *testing.T) {
	v := newView(t, "fattree:k=4")
	v.MFTs = v.MFTs.With(&mcast.Tree{MLID: 0xc000, Branches: []mcast.Branch{{Switch: 0, Ports: mcast.PortMask{6}}}})
	s := newSubnet(v, nil)
	for _, kind := range s.Dumps() {
		var b bytes.Buffer
		if err := s.Dump(context.Background(), &b, kind); err != nil || b.Len() == 0 {
			t.Errorf("%s: %d bytes, %v", kind, b.Len(), err)
		}
		if kind == "guids" {
			p := v.Topo.EndPorts[0]
			want := fmt.Sprintf("%v 0x%04x 0x%04x\n\n", v.Topo.Ports[p].GUID, uint16(v.LIDs.Base[p]),
				int(v.LIDs.Base[p])+v.LIDs.Count(p)-1)
			if !strings.HasPrefix(b.String(), want) || strings.Count(b.String(), "\n") != 2*len(v.Topo.EndPorts) {
				t.Errorf("guids begin with %q, want %q", b.String()[:len(want)], want)
			}
		}
	}
}
