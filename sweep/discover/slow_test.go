package discover

import (
	"testing"

	"ibsm/finding"
	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/mad/txn"
	"ibsm/sim/fabric"
	"ibsm/topo"
	"ibsm/topo/net"
)

// lateWalker is a subnet of two switches and a host at the end that says that it has 65,535 P_Keys.
func lateWalker(t *testing.T) (w *walker, known *topo.Topo) {
	p, self, _, _ := two()
	w = newWalker(t, &p.Net, self, fabric.Config{Caps: func(_ int32, n *net.Node, c *fabric.Caps) {
		if n.GUID == 0x20 {
			c.PartitionCap = 65535
		}
	}})
	known = w.walk(New(Config{})).Builder.Freeze()
	for i := range known.Ports {
		if known.Ports[i].Info.PortState() == smp.PortInit {
			known.Ports[i].Info.SetPortState(smp.PortActive)
		}
	}
	return w, known
}

// raise has all links that are up be ACTIVE, but for the one at a port of the switch at the end of a route.
func raise(req *txn.Request, o *txn.Outcome, hops int, but uint8) {
	info := (*smp.PortInfo)(&o.Data)
	if o.Attr == smp.AttrPortInfo && info.PortState() == smp.PortInit &&
		(req.Route.Hops() != hops || uint8(req.Mod) != but) {
		info.SetPortState(smp.PortActive)
	}
}

// TestFewToOneAgent: of the blocks of a large table, few are asked for at a time, and still fewer when one was late.
func TestFewToOneAgent(t *testing.T) {
	for _, late := range []bool{false, true} {
		w, _ := lateWalker(t)
		w.window = 1000
		m := New(Config{})
		open, most, asked := 0, 0, 0
		var requests []txn.Request
		for {
			for req, ok := m.Next(); ok; req, ok = m.Next() {
				if requests = append(requests, req); req.Route.Hops() == 3 && !req.Unknown {
					open++
				}
			}
			if most = max(most, open); len(requests) == 0 {
				break
			}
			o := w.ask(&requests[0])
			if req := &requests[0]; req.Route.Hops() == 3 && !req.Unknown {
				if open--; req.Attr == smp.AttrPKeyTable {
					asked++
				}
				if o.Attempts = 1; late {
					o.Attempts = 2
					most = max(most-1, open)
				}
			}
			m.Done(&o)
			requests = requests[1:]
		}
		if asked != 128 || !m.Finished() || !late && most != maxOpen || late && most > maxOpenLate {
			t.Errorf("late %v: %d blocks were asked for, %d at a time", late, asked, most)
		}
	}
}

// TestOutOfTime: a node that has not answered in time is asked nothing more, and is taken as in the previous walk if
// the link to it has been up since.
func TestOutOfTime(t *testing.T) {
	for _, attr := range []mad.AttrID{smp.AttrPortInfo, smp.AttrPKeyTable} {
		for _, linkDown := range []bool{false, true} {
			w, known := lateWalker(t)
			asked := 0
			w.meddle = func(req *txn.Request, o *txn.Outcome) {
				but := uint8(0)
				if linkDown {
					but = 1
				}
				raise(req, o, 2, but)
				if req.Route.Hops() != 3 || req.Unknown {
					return
				}
				if asked > 0 {
					t.Errorf("asked for %#x after it was out of time", req.Attr)
				}
				if req.Attr == attr {
					asked++
					o.Result = txn.OutOfTime
				}
			}
			r := w.walk(New(Config{Prev: known}))
			found := r.Builder.Freeze()
			n := found.FindNode(0x20)
			takes := !linkDown || attr == smp.AttrPKeyTable
			if asked > 0 && kinds(r)[finding.SlowAgent] != 1 || (n != topo.None) != takes || r.TimedOut > 0 || r.Moved {
				t.Errorf("%#x, link down %v: node %d, findings %v, %d timed out, moved %v", attr, linkDown, n, r.Findings,
					r.TimedOut, r.Moved)
			}
		}
	}
}

// TestSwitchOutOfTime: a switch that does not answer in time is taken as in the previous walk, and what is behind it is
// asked. A quick walk then does not ask it, and the next full one asks for the ports first that are not known.
func TestSwitchOutOfTime(t *testing.T) {
	w, known := lateWalker(t)
	w.meddle = func(req *txn.Request, o *txn.Outcome) {
		if raise(req, o, 0, 0); req.Route.Hops() == 2 && !req.Unknown {
			o.Result = txn.OutOfTime
		}
	}
	r := w.walk(New(Config{Prev: known}))
	nodes := len(r.Builder.Freeze().Nodes)
	if nodes != 4 || kinds(r)[finding.SlowAgent] != 1 || r.OfOthers() != 0 || r.LeftOut() {
		t.Fatalf("%d nodes, findings %v", nodes, r.Findings)
	}
	w.meddle = func(req *txn.Request, o *txn.Outcome) {
		if raise(req, o, 0, 0); req.Route.Hops() == 2 && req.Attr == smp.AttrSwitchInfo {
			t.Error("a quick walk asks for its SwitchInfo")
		}
	}
	quick := w.walk(New(Config{Prev: known, Quick: true, Findings: r.Findings}))
	if kinds(quick)[finding.SlowAgent] != 1 || len(quick.Builder.Freeze().Nodes) != 4 {
		t.Errorf("findings %v of a quick walk", quick.Findings)
	}

	unread := known.FindNodePort(0x2000, 5)
	known.Ports[unread].Seen = false
	first := -1
	w.meddle = func(req *txn.Request, o *txn.Outcome) {
		if raise(req, o, 0, 0); first < 0 && req.Route.Hops() == 2 && req.Attr == smp.AttrPortInfo {
			first = int(uint8(req.Mod))
		}
	}
	w.walk(New(Config{Prev: known, Findings: r.Findings}))
	if first != 5 {
		t.Errorf("port %d is asked first", first)
	}
}

// TestAnswersLater: a host whose answers come too late for each request is taken as in the previous walk.
func TestAnswersLater(t *testing.T) {
	for _, late := range []bool{false, true} {
		w, known := lateWalker(t)
		w.meddle = func(req *txn.Request, o *txn.Outcome) {
			if raise(req, o, 0, 0); req.Route.Hops() == 3 {
				o.Result = txn.TimedOut
			}
		}
		r := w.walk(New(Config{Prev: known, IsLate: func(node mad.GUID) bool { return late && node == 0x20 }}))
		n := r.Builder.Freeze().FindNode(0x20)
		if (n != topo.None) != late || kinds(r)[finding.SlowAgent] == 1 != late {
			t.Errorf("late %v: node %d, findings %v", late, n, r.Findings)
		}
	}
}
