package sweep

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/mad/txn"
	"ibsm/registry"
	"ibsm/topo"
	"ibsm/topo/net"
)

var multicastPhases = [...]string{multicastRests: "rests", multicastReads: "reads", multicastComputes: "computes", multicastRemoves: "removes", multicastAdds: "adds"}

// multicastHarness drives a Multicast on a fabric whose subnet is up.
type multicastHarness struct {
	*harness
	m      *Multicast
	reg    *registry.Registry
	hosts  []net.End
	now    time.Duration
	phases []string // that the Multicast has come to, in order, with the number of requests in each
	last   *Forwarding
}

const testMLID = mad.MinMulticastLID

func testMGID() (g mad.GID) {
	g[0], g[1], g[15] = 0xff, 0x12, 1
	return g
}

// newMulticastHarness has a group without members.
func newMulticastHarness(t *testing.T) *multicastHarness {
	t.Helper()
	h := &multicastHarness{harness: up(t, "fattree:k=4", Config{}), m: NewMulticast(&Settings{}), reg: registry.New(), now: time.Second}
	for i := range h.net.Nodes {
		if h.net.Nodes[i].Type == mad.CA {
			h.hosts = append(h.hosts, net.End{Node: int32(i), Port: 1})
		}
	}
	h.change(registry.PutGroup{Group: registry.Group{MGID: testMGID(), MLID: testMLID, PKey: mad.DefaultPKey, MTU: mad.MTU2048, Rate: 3}})
	return h
}

func (h *multicastHarness) change(c registry.Change) {
	h.Helper()
	if err := h.reg.Apply(c); err != nil {
		h.Fatal(err)
	}
}

func (h *multicastHarness) member(host int) mad.GID {
	return mad.MakeGID(mad.DefaultPrefix, h.fabric.PortGUID(h.hosts[host]))
}

// join makes hosts members in the registry that the next round uses.
func (h *multicastHarness) join(hosts ...int) {
	h.Helper()
	for _, i := range hosts {
		h.change(registry.PutMember{Member: registry.Member{MGID: testMGID(), Port: h.member(i), JoinState: registry.FullMember}})
	}
	h.m.SetRegistry(h.reg.Freeze())
}

// subnet gives the Multicast the subnet as a sweep has left it, with a MulticastFDBTop that suffices.
func (h *multicastHarness) subnet() {
	h.Helper()
	h.SetMulticastTop(h.m.Top())
	h.m.Lower()
	h.m.SetSubnet(h.heavy())
}

// step does the next thing that is due, and reports whether there was one.
func (h *multicastHarness) step() bool {
	h.Helper()
	if req, ok := h.m.Next(); ok {
		o := txn.Outcome{Tag: req.Tag, Method: req.Method, Attr: req.Attr, Mod: req.Mod, Data: req.Data, Result: txn.TimedOut}
		if h.drop == nil || !h.drop(&req) {
			o = h.ask(&req)
		}
		if h.meddle != nil {
			h.meddle(&req, &o)
		}
		h.note(1)
		h.m.Done(&o)
		return true
	}
	task, report, more := h.m.Settle(h.now)
	if report != nil {
		h.last = report
	}
	h.note(0)
	if task != nil {
		h.m.TaskDone(task.Run(context.Background()))
		h.note(0)
		return true
	}
	return more
}

// note adds requests to the present phase.
func (h *multicastHarness) note(requests int) {
	name := multicastPhases[h.m.phase]
	if n := len(h.phases); n > 0 && strings.HasPrefix(h.phases[n-1], name) {
		fmt.Sscanf(h.phases[n-1], name+" %d", &n)
		h.phases[len(h.phases)-1] = fmt.Sprint(name, " ", n+requests)
		return
	}
	h.phases = append(h.phases, fmt.Sprint(name, " ", requests))
}

// rest goes on until the Multicast rests, and compares the phases with those wanted.
func (h *multicastHarness) rest(want ...string) {
	h.Helper()
	h.phases, h.last = nil, nil
	for range 10_000 {
		if !h.step() {
			if h.phases = slices.DeleteFunc(h.phases, func(p string) bool { return strings.HasSuffix(p, " 0") }); !slices.Equal(h.phases, want) {
				h.Errorf("phases with requests: %q, want %q", h.phases, want)
			}
			if h.m.phase != multicastRests || h.m.open != 0 {
				h.Fatalf("it does not rest: %s, %d requests open", multicastPhases[h.m.phase], h.m.open)
			}
			return
		}
	}
	h.Fatal("no end")
}

// reaches are the hosts to which switches forward a packet to the MLID from the first host, followed link by link in the fabric; each once, and no
// packet in a circle.
func (h *multicastHarness) reaches() (hosts []int) {
	h.Helper()
	t := h.state.prev
	at := t.Ports[t.FindPort(h.fabric.PortGUID(h.hosts[0]))].Peer
	var spread func(in topo.PortIdx, hops int)
	spread = func(in topo.PortIdx, hops int) {
		node := &t.Nodes[t.Ports[in].Node]
		sw := h.nodeOf(node.GUID)
		for num := uint8(1); num <= node.NumPorts; num++ {
			out := &t.Ports[t.Port(t.Ports[in].Node, num)]
			if num == t.Ports[in].Num || out.Peer == topo.None || !h.fabric.MulticastPort(sw, testMLID, num) {
				continue
			}
			if hops > len(t.Switches) {
				h.Fatal("a packet circulates")
			}
			if t.IsSwitchPort(out.Peer) {
				spread(out.Peer, hops+1)
				continue
			}
			end, _ := h.fabric.Find(t.Ports[out.Peer].GUID)
			hosts = append(hosts, slices.Index(h.hosts, end))
		}
	}
	spread(at, 0)
	slices.Sort(hosts)
	return hosts
}

// nodeOf is the index in the fabric of a node.
func (h *multicastHarness) nodeOf(guid mad.GUID) int32 {
	return int32(slices.IndexFunc(h.net.Nodes, func(n net.Node) bool { return n.GUID == guid }))
}

func (h *multicastHarness) reach(want ...int) {
	h.Helper()
	if got := h.reaches(); !slices.Equal(got, want) {
		h.Errorf("packets reach hosts %d, want %d", got, want)
	}
}

// TestMulticastRounds: which phases a round has, and what is in force after it.
func TestMulticastRounds(t *testing.T) {
	h := newMulticastHarness(t)
	h.rest() // nothing is known
	h.join(0, 1, 15)
	h.rest() // no subnet
	h.subnet()
	// Hosts 0 and 1 are at one leaf, 15 is in the last pod: two leaves, two switches above them, one spine. Each of the 20 switches has
	// been powered up, so that its table is unknown: it is written whole, which is one block of one position.
	h.rest("removes 20")
	h.reach(1, 15)
	if h.last == nil || h.last.Seq != h.reg.Freeze().Seq() || len(h.last.Failures) > 0 || h.last.Missed > 0 {
		t.Errorf("report %+v", h.last)
	}
	h.rest() // nothing has changed
	if h.m.Due() != 0 {
		t.Errorf("due at %v", h.m.Due())
	}
	h.join(2)           // at the other leaf of the first pod
	h.rest("removes 2") // what a tree only gains closes no loop, and is written at once
	h.reach(1, 2, 15)
	h.change(registry.DeleteMember{MGID: testMGID(), Port: h.member(15)})
	h.join()
	h.rest("removes 4") // the spine, and on the way there and back from it
	h.reach(1, 2)
}

// TestMulticastRetries: a block whose Set got no answer is written again, later and later, until it is known to be in the switch. Switches that
// refuse their table are avoided after two rounds.
func TestMulticastRetries(t *testing.T) {
	for _, c := range []struct {
		name    string
		fails   func(o *txn.Outcome)
		avoided int
	}{
		{"no answer", func(o *txn.Outcome) { o.Result = txn.TimedOut }, 0},
		{"refused", func(o *txn.Outcome) { o.Status = mad.StatusBadField }, 1},
		{"other values", func(o *txn.Outcome) { o.Data[0] ^= 4 }, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := newMulticastHarness(t)
			h.join(0, 1)
			h.subnet()
			h.rest("removes 20")
			leaf := h.state.prev.Nodes[h.state.prev.Ports[h.state.prev.Ports[h.state.prev.FindPort(h.fabric.PortGUID(h.hosts[2]))].Peer].Node]
			h.meddle = func(req *txn.Request, o *txn.Outcome) {
				if req.Route == leaf.Route {
					c.fails(o)
				}
			}
			h.join(2)
			h.step()
			h.phases = nil
			for h.step() {
			}
			if h.last == nil || len(h.last.Failures) != 1 || h.last.Failures[0].Node != leaf.GUID {
				t.Fatalf("report %+v", h.last)
			}
			var waits []time.Duration
			for range 6 {
				wait := h.m.Due() - h.now
				if wait <= 0 {
					t.Fatalf("due at %v, now %v", h.m.Due(), h.now)
				}
				if h.m.retryAt != h.m.Due() {
					break
				}
				waits = append(waits, wait)
				if h.step() {
					t.Fatal("it goes on before it is due")
				}
				h.now += wait
				for h.step() {
				}
				if h.m.Avoided() > 0 {
					break
				}
			}
			if want := []time.Duration{time.Second, 2 * time.Second, 4 * time.Second, 8 * time.Second, 10 * time.Second, 10 * time.Second}; !slices.Equal(waits, want[:len(waits)]) || len(waits) == 0 {
				t.Errorf("it waited %v", waits)
			}
			if h.m.Avoided() != c.avoided {
				t.Fatalf("%d switches are avoided", h.m.Avoided())
			}
			h.meddle = nil
			for range 3 {
				h.now = max(h.now, h.m.Due())
				for h.step() {
				}
			}
			if h.last == nil || len(h.last.Failures) > 0 || h.m.Avoided() > 0 {
				t.Errorf("at last %+v, %d avoided", h.last, h.m.Avoided())
			}
			h.reach(1, 2)
		})
	}
}

// TestMulticastTakeover: tables that another manager may have written are read first, and links of theirs that go are removed in all switches before
// others are added.
func TestMulticastTakeover(t *testing.T) {
	h := newMulticastHarness(t)
	h.join(0, 1, 15)
	h.subnet()
	h.rest("removes 20")
	// Somebody else has a circle of two leaves and two switches above them.
	pod := map[topo.NodeIdx]bool{}
	tp := h.state.prev
	for _, host := range []int{0, 2} {
		leaf := tp.Ports[tp.Ports[tp.FindPort(h.fabric.PortGUID(h.hosts[host]))].Peer].Node
		pod[leaf] = true
		for num := uint8(1); num <= tp.Nodes[leaf].NumPorts; num++ {
			if peer := tp.Ports[tp.Port(leaf, num)].Peer; peer != topo.None && tp.IsSwitchPort(peer) {
				pod[tp.Ports[peer].Node] = true
			}
		}
	}
	for n := range pod {
		var data smp.MulticastForwardingTable
		mask := uint16(0)
		for num := uint8(1); num <= tp.Nodes[n].NumPorts; num++ {
			if peer := tp.Ports[tp.Port(n, num)].Peer; peer != topo.None && pod[tp.Ports[peer].Node] {
				mask |= 1 << num
			}
		}
		data[0], data[1] = byte(mask>>8), byte(mask)
		o := h.ask(&txn.Request{Route: tp.Nodes[n].Route, Method: mad.MethodSet, Attr: smp.AttrMulticastForwardingTable, Data: data})
		if o.Result != txn.Replied || o.Status != mad.StatusOK {
			t.Fatal(o)
		}
	}
	h.Abdicate()
	h.m.Abdicate()
	h.subnet()
	removed := map[topo.NodeIdx]bool{}
	for h.m.phase != multicastAdds {
		phase := h.m.phase
		if !h.step() {
			break
		}
		if phase == multicastRemoves {
			for n := range pod {
				sw := h.nodeOf(tp.Nodes[n].GUID)
				links := 0
				for num := uint8(1); num <= tp.Nodes[n].NumPorts; num++ {
					if peer := tp.Ports[tp.Port(n, num)].Peer; peer != topo.None && pod[tp.Ports[peer].Node] && h.fabric.MulticastPort(sw, testMLID, num) {
						links++
					}
				}
				if links < 2 {
					removed[n] = true
				}
			}
		}
	}
	if len(h.phases) == 0 || !slices.Contains(h.phases, "reads 20") {
		t.Errorf("phases %q", h.phases)
	}
	if len(removed) == 0 {
		t.Error("the circle is not open before links are added")
	}
	h.rest(h.phasesLeft()...)
	h.reach(1, 15)
}

// phasesLeft are the requests that the present phase has yet to make.
func (h *multicastHarness) phasesLeft() []string {
	if n := len(h.m.blocks) - h.m.at; h.m.phase == multicastAdds && n > 0 {
		return []string{fmt.Sprintf("adds %d", n)}
	}
	return nil
}

// TestMulticastInterrupted: in every phase, and with a request open or a task out, this manager may cease to be master, or a sweep may have another
// subnet. What comes of the old round then changes nothing.
func TestMulticastInterrupted(t *testing.T) {
	for _, phase := range []multicastPhase{multicastComputes, multicastRemoves} {
		for _, abdicates := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s,abdicates=%t", multicastPhases[phase], abdicates), func(t *testing.T) {
				h := newMulticastHarness(t)
				h.join(0, 1)
				h.subnet()
				task, _, _ := h.m.Settle(h.now)
				if task == nil || h.m.phase != multicastComputes {
					t.Fatalf("no task: %s", multicastPhases[h.m.phase])
				}
				result := task.Run(context.Background())
				var open txn.Request
				if phase == multicastRemoves {
					h.m.TaskDone(result)
					var ok bool
					if open, ok = h.m.Next(); !ok || h.m.phase != phase {
						t.Fatalf("nothing is written: %s", multicastPhases[h.m.phase])
					}
				}
				end := func() {
					if phase == multicastComputes {
						h.m.TaskDone(result)
						return
					}
					o := h.ask(&open)
					h.m.Done(&o)
				}
				if abdicates {
					h.m.Abdicate()
					end()
					h.rest()
					if h.m.mfts != nil || h.m.computed != nil {
						t.Error("tables are believed to be in force")
					}
					h.subnet() // this manager is master again
					if task, _, _ := h.m.Settle(h.now); task == nil {
						t.Fatal("no task")
					}
					if h.m.TaskDone(result); h.m.phase != multicastComputes {
						t.Error("it takes the result of the old task for that of the new one")
					}
					return
				}
				h.fabric.LinkDown(h.hosts[1])
				h.subnet()
				end()
				h.rest("removes 20") // all of the new subnet: the block that was written is that of the leaf, and is another now
				h.reach()            // a member that is not in the subnet is none
				if h.last == nil || h.last.Seq != h.reg.Freeze().Seq() || h.last.Missed > 0 {
					t.Errorf("report %+v", h.last)
				}
			})
		}
	}
}
