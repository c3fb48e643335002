package sweep

import (
	"cmp"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/mad/txn"
	"ibsm/sim/fabric"
	"ibsm/topo"
	"ibsm/topo/net"
	"ibsm/topo/net/nettest"
)

// withStates gives all switches SwitchPortStateTable, or none.
func withStates(have bool) func(int32, *net.Node, *fabric.Caps) {
	return func(_ int32, _ *net.Node, c *fabric.Caps) {
		c.CapabilityMask2 &^= smp.IsSwitchPortStateTableSupported
		if have {
			c.CapabilityMask2 |= smp.IsSwitchPortStateTableSupported
		}
	}
}

// guid is that of a node of the Net.
func (b *harness) guid(node int32) mad.GUID {
	info := b.fabric.NodeInfo(net.End{Node: node, Port: 1})
	return info.NodeGUID()
}

// lookAll runs a light sweep and returns by node what it says of it. states selects a light sweep that asks for
// SwitchPortStateTable where a switch has it.
func (b *harness) lookAll(states bool) map[mad.GUID]string {
	b.Helper()
	if b.state.looks%2 == 1 != states {
		b.state.looks++
	}
	b.asked = map[mad.AttrID]int{}
	said := map[mad.GUID]string{}
	l := b.Look()
	for req, ok := l.Next(); ok; req, ok = l.Next() {
		b.asked[req.Attr]++
		o := b.outcome(&req)
		l.reason = ""
		if l.Done(&o); l.reason != "" {
			port := &l.t.Ports[topo.PortIdx(uint32(req.Tag))]
			said[l.t.Nodes[port.Node].GUID] = l.reason
		}
	}
	return said
}

// learn has every switch asked for SwitchPortStateTable: at first one of each model is.
func (b *harness) learn() {
	b.Helper()
	for range 2 {
		if said := b.lookAll(true); len(said) > 0 {
			b.Fatalf("of an unchanged subnet: %v", said)
		}
	}
}

// TestLightSweepFinds: a light sweep finds every change of a link by one request to each switch, by SwitchInfo and by
// SwitchPortStateTable: links go down, come up, or go down and come up again, hosts and switches restart. Of an
// unchanged subnet it says nothing. With IBSM_PROOF 10,000 changes of 1,620 switches.
func TestLightSweepFinds(t *testing.T) {
	spec, changes, together, uplinks := "fattree:k=6", 300, 1, 3
	if os.Getenv("IBSM_PROOF") != "" {
		spec, changes, together, uplinks = "fattree:k=36", 10_000, 100, 18
	}
	for _, have := range []bool{true, false} {
		t.Run(fmt.Sprintf("SwitchPortStateTable %t", have), func(t *testing.T) {
			const seed = 7
			c := &lightChanges{harness: newHarnessWith(t, nettest.Generate(t, spec), Config{}, withStates(have)),
				rng: rand.New(rand.NewPCG(seed, 1)), down: map[net.End]bool{}, most: uplinks - 1}
			c.heavy()
			c.heavy()
			c.learn()
			c.extent = Quick
			for done := 0; done < changes; done += together {
				changed := map[mad.GUID]string{}
				for range together {
					c.change(changed)
				}
				for _, states := range []bool{false, true} {
					said := c.lookAll(states)
					for guid, what := range changed {
						if said[guid] == "" {
							t.Fatalf("seed %d: states %t: nothing is said of %s", seed, states, what)
						}
					}
					want := map[mad.AttrID]int{smp.AttrSwitchInfo: len(c.state.prev.Switches), smp.AttrPortInfo: 1}
					if states && have {
						want[smp.AttrSwitchPortStateTable] = want[smp.AttrSwitchInfo]
						delete(want, smp.AttrSwitchInfo)
					}
					if fmt.Sprint(c.asked) != fmt.Sprint(want) {
						t.Fatalf("seed %d: asked %v, want %v", seed, c.asked, want)
					}
				}
				c.heavy()
				for _, states := range []bool{false, true} {
					if said := c.lookAll(states); len(said) > 0 {
						t.Fatalf("seed %d: states %t: after a heavy sweep: %v", seed, states, said)
					}
				}
			}
		})
	}
}

// lightChanges changes links at random.
type lightChanges struct {
	*harness
	rng  *rand.Rand
	down map[net.End]bool // links that are, by one of their ends
	most int              // links that may be down: no switch is cut off
}

// change makes one change of which changed has no switch yet, and adds the switches that see it.
func (c *lightChanges) change(changed map[mad.GUID]string) {
	for {
		at := c.place()
		node := &c.net.Nodes[at.Node]
		peer := node.Ports[at.Port].Peer
		if peer.Node < 0 || c.near(at.Node) || c.near(peer.Node) {
			continue
		}
		kind := c.rng.IntN(5)
		if c.down[at] || c.down[peer] {
			kind = 5
		} else if kind < 2 && len(c.down) >= c.most {
			continue
		}
		ends := []net.End{at, peer}
		if kind == 4 {
			ends = c.ends(at.Node)
		}
		if c.taken(changed, ends) {
			continue
		}
		what := ""
		switch kind {
		case 0, 1:
			what = "a link that went down"
			c.fabric.LinkDown(at)
			c.down[at] = true
		case 2, 3:
			what = "a link that went down and came up"
			c.fabric.LinkDown(at)
			c.fabric.Advance(c.fabric.Now())
			c.fabric.LinkUp(at)
		case 4:
			what = "a node that restarted"
			c.fabric.Reboot(at.Node)
		case 5:
			what = "a link that came up"
			c.fabric.LinkUp(at)
			delete(c.down, at)
			delete(c.down, peer)
		}
		c.fabric.Advance(c.fabric.Now())
		for _, e := range ends {
			if c.net.Nodes[e.Node].Type == mad.Switch {
				changed[c.guid(e.Node)] = fmt.Sprintf("%s: %s, port %d", what,
					c.net.Nodes[e.Node].Desc, e.Port)
			}
		}
		return
	}
}

// place is a port at random, of a link that is down one time in five.
func (c *lightChanges) place() net.End {
	if len(c.down) > 0 && c.rng.IntN(5) == 0 {
		down := slices.SortedFunc(maps.Keys(c.down), func(a, b net.End) int {
			return cmp.Or(cmp.Compare(a.Node, b.Node), cmp.Compare(a.Port, b.Port))
		})
		return down[c.rng.IntN(len(down))]
	}
	node := int32(c.rng.IntN(len(c.net.Nodes)))
	return net.End{Node: node, Port: uint8(1 + c.rng.IntN(c.net.Nodes[node].NumPorts()))}
}

// near reports whether a node is the manager's or its switch: without it no switch answers.
func (c *lightChanges) near(node int32) bool {
	own := c.at.At()
	return node == own.Node || node == c.net.Nodes[own.Node].Ports[own.Port].Peer.Node
}

// ends are the ends of all links of a node that are up.
func (c *lightChanges) ends(node int32) (ends []net.End) {
	for num := range c.net.Nodes[node].Ports {
		at := net.End{Node: node, Port: uint8(num)}
		if peer := c.net.Nodes[node].Ports[num].Peer; num > 0 && peer.Node >= 0 && !c.down[at] && !c.down[peer] {
			ends = append(ends, at, peer)
		}
	}
	return ends
}

// taken reports whether a node of some ends has changed already or is near: none if there are no ends.
func (c *lightChanges) taken(changed map[mad.GUID]string, ends []net.End) bool {
	for _, e := range ends {
		if _, is := changed[c.guid(e.Node)]; is || c.near(e.Node) {
			return true
		}
	}
	return len(ends) == 0
}

// TestLightSweepTurns: what only SwitchInfo or only SwitchPortStateTable shows is found by the second light sweep at
// the latest, and the heavy sweep that follows reads the ports of the switch.
func TestLightSweepTurns(t *testing.T) {
	clears := func(req *txn.Request, o *txn.Outcome) {
		if req.Attr == smp.AttrSwitchInfo {
			(*smp.SwitchInfo)(&o.Data).SetPortStateChange(false)
		}
	}
	losesTable := func(req *txn.Request, o *txn.Outcome) {
		if req.Attr == smp.AttrSwitchInfo {
			(*smp.SwitchInfo)(&o.Data).SetLinearFDBTop(0)
		}
	}
	for _, c := range []struct {
		name   string
		meddle func(*txn.Request, *txn.Outcome)
		down   bool
		states bool // the light sweep that finds it
		says   string
	}{
		{"another manager clears PortStateChange", clears, true, true, "is Down"},
		{"a table is lost", losesTable, false, false, "lost its forwarding table"},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newHarnessWith(t, nettest.Generate(t, small), Config{}, withStates(true))
			b.heavy()
			b.heavy()
			b.learn()
			b.meddle = c.meddle
			sw := b.node(mad.Switch, 1)
			if c.down {
				b.fabric.LinkDown(net.End{Node: sw, Port: 1})
			}
			if said := b.lookAll(!c.states); len(said) > 0 {
				t.Errorf("found already: %v", said)
			}
			said := b.lookAll(c.states)
			if text := said[b.guid(sw)]; !strings.Contains(text, c.says) {
				t.Fatalf("not found: %v", said)
			}
			if !c.down {
				return
			}
			b.extent = Quick
			out := b.heavy()
			p := out.Topo.FindNodePort(b.guid(sw), 1)
			if got := out.Topo.Ports[p].Info.PortState(); got != smp.PortDown {
				t.Errorf("after the heavy sweep the port is known to be %v", got)
			}
		})
	}
}

// TestPortStatesRefused: a switch that does not return SwitchPortStateTable is asked for SwitchInfo in the same light
// sweep, and it alone of its model was asked; one that returns other states than PortInfo has is not believed in the
// end.
func TestPortStatesRefused(t *testing.T) {
	for name, meddle := range map[string]func(*txn.Request, *txn.Outcome){
		"refused":    func(_ *txn.Request, o *txn.Outcome) { o.Status = mad.StatusBadMethodAttr },
		"busy":       func(_ *txn.Request, o *txn.Outcome) { o.Status = mad.StatusBusy },
		"unanswered": func(req *txn.Request, o *txn.Outcome) { *o = timedOut(req) },
		"exchanged": func(_ *txn.Request, o *txn.Outcome) {
			for i := range o.Data {
				o.Data[i] = o.Data[i]<<4 | o.Data[i]>>4
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			// an odd number of ports is in use on some switches
			b := newHarnessWith(t, nettest.Generate(t, "fattree:k=6,missing-links=20%"), Config{}, withStates(true))
			b.heavy()
			b.heavy()
			b.meddle = func(req *txn.Request, o *txn.Outcome) {
				if req.Attr == smp.AttrSwitchPortStateTable {
					meddle(req, o)
				}
			}
			switches := len(b.state.prev.Switches)
			heavy := 0
			for range 12 {
				reason, _, _ := b.look()
				if name == "exchanged" {
					if reason != "" {
						b.extent = Quick
						b.heavy()
						heavy++
					}
					continue
				}
				if reason != "" || b.asked[smp.AttrSwitchInfo] != switches || b.asked[smp.AttrSwitchPortStateTable] > 1 {
					t.Fatalf("%q, asked %v", reason, b.asked)
				}
			}
			b.look()
			b.look()
			// after the first switch of the model has answered, the others are asked; one that has as many links as
			// ports returns the same when exchanged
			most := map[string]int{"exchanged": 2}[name]
			if b.asked[smp.AttrSwitchPortStateTable] > most || heavy > maxWrong+1 {
				t.Errorf("at last asked %v, after %d heavy sweeps", b.asked, heavy)
			}
		})
	}
}

// TestCheck: where a trap comes from a switch whose change the last heavy sweep has read, Check asks that switch alone,
// says nothing if nothing has changed since, and finds another change, also where PortStateChange does not show it.
func TestCheck(t *testing.T) {
	for _, have := range []bool{true, false} {
		for _, c := range []struct {
			name    string
			change  func(b *harness, at net.End)
			cleared bool // PortStateChange
			says    string
		}{
			{"no change", func(*harness, net.End) {}, false, ""},
			{"a link comes up", func(b *harness, at net.End) { b.fabric.LinkUp(at) }, false, "change of port state"},
			{"a link comes up, cleared", func(b *harness, at net.End) { b.fabric.LinkUp(at) }, true, "port 1 of switch"},
			{"another link goes down, cleared", func(b *harness, at net.End) {
				b.fabric.LinkDown(net.End{Node: at.Node, Port: 2})
			}, true, "port 2 of switch"},
		} {
			t.Run(fmt.Sprintf("%s, SwitchPortStateTable %t", c.name, have), func(t *testing.T) {
				b := newHarnessWith(t, nettest.Generate(t, small), Config{}, withStates(have))
				b.heavy()
				b.heavy()
				b.learn()
				at := net.End{Node: b.node(mad.Switch, 1), Port: 1}
				if b.PortsChanged(b.guid(at.Node)) {
					t.Error("a change was read before there was one")
				}
				b.fabric.LinkDown(at)
				b.extent = Quick
				b.heavy()
				if !b.PortsChanged(b.guid(at.Node)) {
					t.Error("the change was read, but is not known to be")
				}
				c.change(b, at)
				b.meddle = func(req *txn.Request, o *txn.Outcome) {
					if c.cleared && req.Attr == smp.AttrSwitchInfo {
						(*smp.SwitchInfo)(&o.Data).SetPortStateChange(false)
					}
				}
				b.asked = map[mad.AttrID]int{}
				l := b.Check()
				var v Verdict
				b.until(l, func() (ok bool) { v, ok = l.Verdict(); return ok })
				if (v.Reason == "") != (c.says == "") || !strings.Contains(v.Reason, c.says) ||
					v.Reason != "" && v.Extent != Quick {
					t.Errorf("%+v", v)
				}
				want := map[mad.AttrID]int{smp.AttrSwitchInfo: 1}
				if c.cleared || c.says == "" {
					if want[smp.AttrSwitchPortStateTable] = 1; !have {
						delete(want, smp.AttrSwitchPortStateTable)
						want[smp.AttrPortInfo] = b.net.Nodes[at.Node].NumPorts()
					}
				}
				if fmt.Sprint(b.asked) != fmt.Sprint(want) {
					t.Errorf("asked %v, want %v", b.asked, want)
				}
			})
		}
	}
}
