package sim_test

import (
	"testing"
	"time"

	"ibsm/ctl/ctltest"
	"ibsm/ctl/server"
	"ibsm/mad"
	"ibsm/sa"
	"ibsm/sim/fabric"
	"ibsm/topo/net"
)

// adapterPair is a cable between two ports of adapters: of one adapter, or of two.
func adapterPair(same bool) *net.Net {
	n := &net.Net{}
	for i := range 2 {
		guid := mad.GUID(0x100000 * (i + 1))
		node := net.Node{ID: "H" + string('1'+rune(i)), Desc: "host-" + string('a'+rune(i)), Type: mad.CA, GUID: guid,
			SystemImageGUID: guid, Ports: make([]net.Port, 3)}
		for num := range node.Ports {
			node.Ports[num] = net.Port{Peer: net.NoEnd}
		}
		node.Ports[1].GUID, node.Ports[2].GUID = guid+1, guid+2
		n.Nodes = append(n.Nodes, node)
	}
	a, z := net.End{Node: 0, Port: 1}, net.End{Node: 1, Port: 1}
	if same {
		n.Nodes, z = n.Nodes[:1], net.End{Node: 0, Port: 2}
	}
	for _, e := range [][2]net.End{{a, z}, {z, a}} {
		p := &n.Nodes[e[0].Node].Ports[e[0].Port]
		p.Peer, p.Width, p.Speed = e[1], mad.Width4x, mad.EDR
	}
	return n
}

// TestTwoHosts: two hosts and a cable join the broadcast group. Nothing forwards multicast packets there, so that no
// table is incomplete: they cross the cable. Nothing but ourselves sees that the other host answers no more: a light
// sweep asks it.
func TestTwoHosts(t *testing.T) {
	b := newHarness(t, adapterPair(false), fabric.Config{Seed: 1})
	cfg := minhopConfig()
	cfg.Registrar.Groups = sa.DefaultGroups()
	m := b.comeUp(cfg)
	other, err := b.Fabric.Attach(net.End{Node: 1, Port: 1})
	if err != nil {
		t.Fatal(err)
	}
	for _, st := range []*fabric.Station{m.Station, other} {
		b.joinBroadcast(st)
		b.pass(settling)
	}
	if m.says(multicastFails) > 0 || m.says(" ERROR ") > 0 {
		t.Error("errors are logged")
	}
	if g, ok := m.Registrar().State().Group(clientGroup(0)); !ok || m.Registrar().State().CountMembers(g.MGID) != 2 {
		t.Errorf("the group %+v does not have both hosts", g)
	}
	b.Fabric.SetUnresponsive(1, true)
	b.pass(3 * minhopConfig().SweepInterval)
	if d := ctltest.Diagnose(t, server.Show(m.View), "host-b", ""); d.Works ||
		!ctltest.HasReason(d, "no answer", "has not answered") {
		t.Errorf("the other host does not answer: %+v", d)
	}
	b.Fabric.SetUnresponsive(1, false)
	b.pass(3 * minhopConfig().SweepInterval)
	if d := ctltest.Diagnose(t, server.Show(m.View), "host-b", ""); !d.Works || len(d.Reasons) > 0 {
		t.Errorf("the other host answers again: %+v", d)
	}
	heavy := len(m.ups)
	if b.pass(5 * time.Minute); len(m.ups) != heavy {
		t.Errorf("%d heavy sweeps of a subnet that does not change", len(m.ups)-heavy)
	}
}

// TestOneAdapter: the two ports of an adapter and a cable reach each other, and nothing is wrong with either.
func TestOneAdapter(t *testing.T) {
	b := newHarness(t, adapterPair(true), fabric.Config{Seed: 1})
	m := b.comeUp(minhopConfig())
	if m.says("INFO", "nothing else is in the subnet") != 1 || m.says("no route uses them") > 0 ||
		m.says("WARN", "connected to each other") > 0 {
		t.Error("the cable is not described")
	}
	s := server.Show(m.View)
	rows, err := s.Diagnose("", "")
	if err != nil {
		t.Fatal(err)
	}
	for d := range rows {
		t.Errorf("%+v is listed", d)
	}
	for _, ends := range [][2]string{{"host-a:1", "host-a:2"}, {"host-a:2", "host-a:1"}} {
		if d := ctltest.Diagnose(t, s, ends[0], ends[1]); !d.Works || d.Routes != "minhop" {
			t.Errorf("%v: %+v", ends, d)
		}
		if p, err := s.Path(ends[0], ends[1]); err != nil || !p.Arrived || p.Links != 1 {
			t.Errorf("path %v: %+v, %v", ends, p, err)
		}
	}
	if _, err := s.Path("host-a:1", "host-a:3"); err == nil || err.Error() != "not found: \"host-a\" has 2 ports" {
		t.Errorf("a port that the adapter does not have: %v", err)
	}
}
