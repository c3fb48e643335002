package discover

import (
	"math/rand/v2"
	"testing"

	"ibsm/finding"
	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/mad/txn"
	"ibsm/sim/fabric"
	"ibsm/sim/fabric/fabrictest"
	"ibsm/topo"
	"ibsm/topo/net"
	"ibsm/topo/net/nettest"
)

// walker carries a Machine's requests over a fabric.
type walker struct {
	t      testing.TB
	fabric *fabric.Fabric
	at     *fabric.Station
	window int        // requests under way at once; 0 means 1
	random *rand.Rand // chooses whose answer comes next; nil for the order of asking
	count  map[mad.AttrID]int
	// meddle, when set, sees each outcome before the machine does.
	meddle func(req *txn.Request, o *txn.Outcome)
}

func newWalker(t testing.TB, n *net.Net, self net.End, cfg fabric.Config) *walker {
	t.Helper()
	n.Profile = nettest.Profile(t)
	w := &walker{t: t, fabric: fabric.New(n, cfg)}
	at, err := w.fabric.Attach(self)
	if err != nil {
		t.Fatal(err)
	}
	w.at = at
	return w
}

// walk runs a machine to its end.
func (w *walker) walk(m *Machine) *Result {
	w.t.Helper()
	w.count = map[mad.AttrID]int{}
	var open []txn.Request
	for {
		for len(open) < max(w.window, 1) {
			req, ok := m.Next()
			if !ok {
				break
			}
			if m.Finished() {
				w.t.Fatal("finished, with a request open")
			}
			open = append(open, req)
		}
		if len(open) == 0 {
			break
		}
		i := 0
		if w.random != nil {
			i = w.random.IntN(len(open))
		}
		req := open[i]
		open = append(open[:i], open[i+1:]...)
		o := w.ask(&req)
		if w.meddle != nil {
			w.meddle(&req, &o)
		}
		m.Done(&o)
	}
	if !m.Finished() {
		w.t.Fatal("nothing to ask, nothing open, and not finished")
	}
	return m.Result()
}

// ask sends one request and takes its answer.
func (w *walker) ask(req *txn.Request) txn.Outcome {
	w.count[req.Attr]++
	return fabrictest.Ask(w.fabric, w.at, req)
}

// firstHost is the default position of a manager.
func firstHost(n *net.Net) net.End {
	for i := range n.Nodes {
		if n.Nodes[i].Type == mad.CA {
			return net.End{Node: int32(i), Port: 1}
		}
	}
	return net.NoEnd
}

// plant makes a Net of nodes and cables. Switches have GUIDs from 0x1000 on, in steps
// of 0x1000; hosts 0x10, 0x20 and so on, and their ports follow.
type plant struct{ net.Net }

func (p *plant) add(typ mad.NodeType, guid mad.GUID, ports int) int32 {
	node := net.Node{Type: typ, GUID: guid, Desc: guid.String(), Ports: make([]net.Port, ports+1)}
	for i := range node.Ports {
		node.Ports[i].Peer = net.NoEnd
		if typ != mad.Switch && i > 0 {
			node.Ports[i].GUID = guid + mad.GUID(i)
		}
	}
	if typ == mad.Switch {
		node.Ports[0].GUID = guid
	}
	p.Nodes = append(p.Nodes, node)
	return int32(len(p.Nodes) - 1)
}

func (p *plant) cable(a int32, pa uint8, b int32, pb uint8) {
	p.Nodes[a].Ports[pa].Peer = net.End{Node: b, Port: pb}
	p.Nodes[b].Ports[pb].Peer = net.End{Node: a, Port: pa}
}

// checkTopo asserts what must hold of every Topo, whatever the replies were made of.
func checkTopo(t testing.TB, top *topo.Topo) {
	t.Helper()
	within := func(p topo.PortIdx) bool { return p >= 0 && int(p) < len(top.Ports) }
	ports := 0
	for i := range top.Nodes {
		n := &top.Nodes[i]
		if i > 0 && top.Nodes[i-1].GUID >= n.GUID || n.GUID == 0 || int(n.First) != ports {
			t.Fatalf("node %d: GUID %v, first port %d", i, n.GUID, n.First)
		}
		for num := range int(n.NumPorts) + 1 {
			if p := &top.Ports[ports]; int(p.Node) != i || int(p.Num) != num {
				t.Fatalf("port %d belongs to node %d as %d", ports, p.Node, p.Num)
			}
			ports++
		}
		if (n.Switch != topo.None) != (n.Type == mad.Switch) {
			t.Fatalf("node %d: %v, switch %d", i, n.Type, n.Switch)
		}
	}
	if ports != len(top.Ports) || top.Self != topo.None && !within(top.Self) {
		t.Fatalf("%d ports of %d, self %d", ports, len(top.Ports), top.Self)
	}
	for i := range top.Ports {
		switch p := &top.Ports[i]; {
		case p.Peer == topo.None:
		case !within(p.Peer) || top.Ports[p.Peer].Peer != topo.PortIdx(i):
			t.Fatalf("port %d: its peer %d has another", i, p.Peer)
		case p.Num == 0:
			t.Fatalf("port %d: a cable leads to port 0", i)
		case !p.Seen || p.Info.PortState() <= smp.PortDown:
			t.Fatalf("port %d: a cable, though it is down or was not read", i)
		}
		top.RouteTo(topo.PortIdx(i))
		top.SwitchOf(topo.PortIdx(i))
	}
	for i, e := range top.EndPorts {
		if !within(e) || i > 0 && top.Ports[top.EndPorts[i-1]].GUID >= top.Ports[e].GUID {
			t.Fatalf("end port %d is port %d", i, e)
		}
	}
}

// kinds are the findings of a walk, as a count of each kind.
func kinds(r *Result) map[finding.Kind]int {
	out := map[finding.Kind]int{}
	for _, f := range r.Findings {
		out[f.Kind]++
	}
	return out
}
