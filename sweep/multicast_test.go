package sweep

import (
	"context"
	"fmt"
	"slices"
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
	phases []phaseRequests // that the Multicast has come to, in order
	last   *Forwarding
}

// phaseRequests is how many requests a phase has made.
type phaseRequests struct {
	phase    multicastPhase
	requests int
}

func (p phaseRequests) String() string { return fmt.Sprint(multicastPhases[p.phase], " ", p.requests) }

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
		o := h.outcome(&req)
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
	if n := len(h.phases); n == 0 || h.phases[n-1].phase != h.m.phase {
		h.phases = append(h.phases, phaseRequests{phase: h.m.phase})
	}
	h.phases[len(h.phases)-1].requests += requests
}

// rest goes on until the Multicast rests, and compares the phases that have made requests with those wanted.
func (h *multicastHarness) rest(want ...string) {
	h.Helper()
	h.phases, h.last = nil, nil
	h.goOn()
	var got []string
	for _, p := range h.phases {
		if p.requests > 0 {
			got = append(got, p.String())
		}
	}
	if !slices.Equal(got, want) {
		h.Errorf("phases with requests: %q, want %q", got, want)
	}
}

// goOn goes on until the Multicast rests.
func (h *multicastHarness) goOn() {
	h.Helper()
	for range 10_000 {
		if !h.step() {
			if h.m.phase != multicastRests || h.m.open != 0 {
				h.Fatalf("it does not rest: %s, %d requests open", multicastPhases[h.m.phase], h.m.open)
			}
			return
		}
	}
	h.Fatal("no end")
}

// switchOf is the switch of a host.
func (h *multicastHarness) switchOf(host int) topo.NodeIdx {
	t := h.state.prev
	return t.Ports[t.Ports[t.FindPort(h.fabric.PortGUID(h.hosts[host]))].Peer].Node
}

// upward are the ports of a switch with a link to another one, and the other one.
func (h *multicastHarness) upward(n topo.NodeIdx) map[uint8]topo.NodeIdx {
	t, ports := h.state.prev, map[uint8]topo.NodeIdx{}
	for num := uint8(1); num <= t.Nodes[n].NumPorts; num++ {
		if peer := t.Ports[t.Port(n, num)].Peer; peer != topo.None && t.IsSwitchPort(peer) {
			ports[num] = t.Ports[peer].Node
		}
	}
	return ports
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
			leaf := h.state.prev.Nodes[h.switchOf(2)]
			h.meddle = func(req *txn.Request, o *txn.Outcome) {
				if req.Route == leaf.Route {
					c.fails(o)
				}
			}
			h.join(2)
			h.goOn()
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
				h.goOn()
				if h.m.Avoided() > 0 {
					break
				}
			}
			if want := []time.Duration{time.Second, 2 * time.Second, 4 * time.Second, 8 * time.Second, maxMulticastBackoff, maxMulticastBackoff}; !slices.Equal(waits, want[:len(waits)]) || len(waits) == 0 {
				t.Errorf("it waited %v", waits)
			}
			if h.m.Avoided() != c.avoided {
				t.Fatalf("%d switches are avoided", h.m.Avoided())
			}
			h.meddle = nil
			for range 3 {
				h.now = max(h.now, h.m.Due())
				h.goOn()
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
	// Somebody else has a circle of two leaves and two switches above them: the links of its switches, by port.
	circle := map[topo.NodeIdx][]uint8{}
	leaves := []topo.NodeIdx{h.switchOf(0), h.switchOf(2)}
	for _, leaf := range leaves {
		for num, above := range h.upward(leaf) {
			circle[leaf] = append(circle[leaf], num)
			circle[above] = nil
		}
	}
	for n := range circle {
		for num, other := range h.upward(n) {
			if slices.Contains(leaves, other) {
				circle[n] = append(circle[n], num)
			}
		}
	}
	for n, ports := range circle {
		var mask uint16
		for _, num := range ports {
			mask |= 1 << num
		}
		req := txn.Request{Route: h.state.prev.Nodes[n].Route, Method: mad.MethodSet, Attr: smp.AttrMulticastForwardingTable}
		req.Data[0], req.Data[1] = byte(mask>>8), byte(mask)
		if o := h.ask(&req); o.Result != txn.Replied || o.Status != mad.StatusOK {
			t.Fatal(o)
		}
	}
	isOpen := func() bool {
		for n, ports := range circle {
			sw := h.nodeOf(h.state.prev.Nodes[n].GUID)
			if slices.ContainsFunc(ports, func(num uint8) bool { return !h.fabric.MulticastPort(sw, testMLID, num) }) {
				return true
			}
		}
		return false
	}
	if isOpen() || len(circle) != 4 {
		t.Fatalf("no test: there is no circle: %v", circle)
	}
	h.Abdicate()
	h.m.Abdicate()
	h.subnet()
	h.phases = nil
	for h.m.phase != multicastAdds && h.step() {
	}
	if !slices.Contains(h.phases, phaseRequests{multicastReads, 20}) {
		t.Errorf("phases %v", h.phases)
	}
	if !isOpen() {
		t.Error("the circle is not open before links are added")
	}
	h.goOn()
	h.reach(1, 15)
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
