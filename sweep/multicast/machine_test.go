package multicast

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
	"ibsm/routing/mcast"
	"ibsm/sim/fabric"
	"ibsm/sim/fabric/fabrictest"
	"ibsm/sweep/device"
	"ibsm/sweep/plan"
	"ibsm/topo"
	"ibsm/topo/net"
	"ibsm/topo/net/nettest"
	"ibsm/topo/netwalk"
)

var phaseNames = [...]string{rests: "rests", reads: "reads", computes: "computes", removes: "removes", adds: "adds",
	confirms: "confirms"}

// harness drives a Machine on a fabric whose ports are ACTIVE.
type harness struct {
	testing.TB
	net     *net.Net
	fabric  *fabric.Fabric
	at      *fabric.Station
	topo    *topo.Topo
	devices *device.Record
	m       *Machine
	reg     *registry.Registry
	hosts   []net.End
	now     time.Duration
	phases  []phaseRequests // that the Machine has come to, in order
	last    *Forwarding
	// meddle, when set, sees each outcome before the Machine does.
	meddle func(req *txn.Request, o *txn.Outcome)
}

// phaseRequests is how many requests a phase has made.
type phaseRequests struct {
	phase    phase
	requests int
}

func (p phaseRequests) String() string { return fmt.Sprint(phaseNames[p.phase], " ", p.requests) }

const testMLID = mad.MinMulticastLID

func testMGID() (g mad.GID) {
	g[0], g[1], g[15] = 0xff, 0x12, 1
	return g
}

// newHarness has a group without members.
func newHarness(t *testing.T) *harness {
	t.Helper()
	n := nettest.Generate(t, "fattree:k=4")
	h := &harness{
		TB: t, net: n, fabric: fabric.New(n, fabric.Config{}), devices: device.NewRecord(), m: New(plan.MKeys{}),
		reg: registry.New(), now: time.Second,
	}
	for i := range n.Nodes {
		if n.Nodes[i].Type == mad.CA {
			h.hosts = append(h.hosts, net.End{Node: int32(i), Port: 1})
		}
	}
	var err error
	if h.at, err = h.fabric.Attach(h.hosts[0]); err != nil {
		t.Fatal(err)
	}
	h.change(registry.PutGroup{Group: registry.Group{
		MGID: testMGID(), MLID: testMLID, PKey: mad.DefaultPKey, MTU: mad.MTU2048, Rate: 3,
	}})
	return h
}

func (h *harness) change(c registry.Change) {
	h.Helper()
	if err := h.reg.Apply(c); err != nil {
		h.Fatal(err)
	}
}

func (h *harness) member(host int) mad.GID {
	return mad.MakeGID(mad.DefaultPrefix, h.fabric.PortGUID(h.hosts[host]))
}

// join makes hosts members in the registry that the next round uses.
func (h *harness) join(hosts ...int) {
	h.Helper()
	for _, i := range hosts {
		h.change(registry.PutMember{Member: registry.Member{
			MGID: testMGID(), Port: h.member(i), JoinState: registry.FullMember,
		}})
	}
	h.m.SetRegistry(h.reg.Freeze())
}

// subnet gives the Machine the subnet as a sweep would leave it, with a MulticastFDBTop that suffices. found is
// what the tables of switches may hold that are not in the record.
func (h *harness) subnet(found device.Contents) {
	h.Helper()
	var err error
	if h.topo, err = netwalk.Topo(h.net, h.hosts[0]); err != nil {
		h.Fatal(err)
	}
	for i := range h.topo.Ports {
		if p := &h.topo.Ports[i]; p.Peer != topo.None {
			p.Info.SetPortState(smp.PortActive)
		}
	}
	for _, n := range h.topo.Switches {
		guid := h.topo.Nodes[n].GUID
		if h.devices.Find(guid) == nil {
			h.devices.Switches = append(h.devices.Switches, device.Switch{GUID: guid, Multicast: found})
		}
	}
	h.m.Lower()
	h.m.SetSubnet(Subnet{Topo: h.topo, Top: h.m.Top(), Devices: h.devices})
}

// ask is the outcome of a request, unless meddle wants another.
func (h *harness) ask(req *txn.Request) txn.Outcome {
	o := fabrictest.Ask(h.fabric, h.at, req)
	if h.meddle != nil {
		h.meddle(req, &o)
	}
	return o
}

// unplug takes the cable of a host out.
func (h *harness) unplug(host int) {
	at := h.hosts[host]
	h.fabric.LinkDown(at)
	peer := &h.net.Nodes[at.Node].Ports[at.Port].Peer
	h.net.Nodes[peer.Node].Ports[peer.Port].Peer, *peer = net.NoEnd, net.NoEnd
}

// step does the next thing that is due, and reports whether there was one.
func (h *harness) step() bool {
	h.Helper()
	if req, ok := h.m.Next(); ok {
		o := h.ask(&req)
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
func (h *harness) note(requests int) {
	if n := len(h.phases); n == 0 || h.phases[n-1].phase != h.m.phase {
		h.phases = append(h.phases, phaseRequests{phase: h.m.phase})
	}
	h.phases[len(h.phases)-1].requests += requests
}

// rest goes on until the Machine rests, and compares the phases that have made requests with those wanted.
func (h *harness) rest(want ...string) {
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

// goOn goes on until the Machine rests.
func (h *harness) goOn() {
	h.Helper()
	for range 10_000 {
		if !h.step() {
			if h.m.phase != rests || h.m.open != 0 {
				h.Fatalf("it does not rest: %s, %d requests open", phaseNames[h.m.phase], h.m.open)
			}
			return
		}
	}
	h.Fatal("no end")
}

// switchOf is the switch of a host.
func (h *harness) switchOf(host int) topo.NodeIdx {
	t := h.topo
	return t.Ports[t.Ports[t.FindPort(h.fabric.PortGUID(h.hosts[host]))].Peer].Node
}

// upward are the ports of a switch with a link to another one, and the other one.
func (h *harness) upward(n topo.NodeIdx) map[uint8]topo.NodeIdx {
	t, ports := h.topo, map[uint8]topo.NodeIdx{}
	for num := uint8(1); num <= t.Nodes[n].NumPorts; num++ {
		if peer := t.Ports[t.Port(n, num)].Peer; peer != topo.None && t.IsSwitchPort(peer) {
			ports[num] = t.Ports[peer].Node
		}
	}
	return ports
}

// reaches are the hosts to which switches forward a packet to the MLID from the first host, followed link by link in
// the fabric; each once, and no packet in a circle.
func (h *harness) reaches() (hosts []int) {
	h.Helper()
	t := h.topo
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
func (h *harness) nodeOf(guid mad.GUID) int32 {
	return int32(slices.IndexFunc(h.net.Nodes, func(n net.Node) bool { return n.GUID == guid }))
}

func (h *harness) reach(want ...int) {
	h.Helper()
	if got := h.reaches(); !slices.Equal(got, want) {
		h.Errorf("packets reach hosts %d, want %d", got, want)
	}
}

// TestRounds: which phases a round has, and what is in force after it.
func TestRounds(t *testing.T) {
	h := newHarness(t)
	h.rest() // nothing is known
	h.join(0, 1, 15)
	h.rest() // no subnet
	h.subnet(device.Anything)
	// Hosts 0 and 1 are at one leaf, 15 is in the last pod: two leaves, two switches above them, one spine. Each of the
	// 20 switches has been powered up, so that its table is unknown: it is written whole, which is one block of one
	// position. The five of the tree show that they keep it.
	h.rest("removes 20", "confirms 5")
	h.reach(1, 15)
	if h.last == nil || h.last.Seq != h.reg.Freeze().Seq() || len(h.last.Failures) > 0 || h.last.Missed > 0 {
		t.Errorf("report %+v", h.last)
	}
	h.rest() // nothing has changed
	if h.m.Due() != 0 {
		t.Errorf("due at %v", h.m.Due())
	}
	h.join(2)                         // at the other leaf of the first pod
	h.rest("removes 2", "confirms 1") // what a tree only gains closes no loop, and is written at once
	h.reach(1, 2, 15)
	h.change(registry.DeleteMember{MGID: testMGID(), Port: h.member(15)})
	h.join()
	h.rest("removes 4") // the spine, and on the way there and back from it
	h.reach(1, 2)
}

// TestBlocksInUse: of the blocks below MulticastFDBTop, which covers six, each switch gets those up to the last with
// groups. Where another manager may have written, all are read or written that packets get into: at switches next to
// hosts, and here at no others.
func TestBlocksInUse(t *testing.T) {
	for found, want := range map[device.Contents][2]int{
		device.Anything: {5, 6}, device.AnotherSM: {6, 6}, device.Nothing: {1, 1},
	} {
		h := newHarness(t)
		group := func(block int) {
			mgid := testMGID()
			mgid[14] = byte(block)
			mlid := mad.MinMulticastLID + mad.LID(block*mcast.BlockSize)
			h.change(registry.PutGroup{Group: registry.Group{
				MGID: mgid, MLID: mlid, PKey: mad.DefaultPKey, MTU: mad.MTU2048, Rate: 3,
			}})
			h.m.SetRegistry(h.reg.Freeze())
		}
		group(4)
		h.subnet(found)
		for i, want := range want {
			h.goOn()
			for _, n := range h.topo.Switches {
				want := want
				if found == device.AnotherSM && !isEntry(h.topo, n) {
					want = 0
				}
				if got := h.devices.Find(h.topo.Nodes[n].GUID).MFT.Rows(); got != want {
					t.Errorf("contents %v, %d groups: of %v %d blocks are known, want %d", found, 1+i,
						h.topo.Nodes[n].Desc.String(), got, want)
				}
			}
			group(5)
		}
	}
}

// TestRetries: a block whose Set got no answer is written again, later and later, until it is known to be in the
// switch. Switches that refuse their table are avoided after two rounds.
func TestRetries(t *testing.T) {
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
			h := newHarness(t)
			h.join(0, 1)
			h.subnet(device.Anything)
			h.rest("removes 20", "confirms 1")
			leaf := h.topo.Nodes[h.switchOf(2)]
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
				if len(h.m.Avoided()) > 0 {
					break
				}
			}
			want := []time.Duration{time.Second, 2 * time.Second, 4 * time.Second, 8 * time.Second, maxBackoff,
				maxBackoff}
			if !slices.Equal(waits, want[:len(waits)]) || len(waits) == 0 {
				t.Errorf("it waited %v", waits)
			}
			if len(h.m.Avoided()) != c.avoided {
				t.Fatalf("%v are avoided", h.m.Avoided())
			}
			h.meddle = nil
			for range 3 {
				h.now = max(h.now, h.m.Due())
				h.goOn()
			}
			if h.last == nil || len(h.last.Failures) > 0 || len(h.m.Avoided()) > 0 {
				t.Errorf("at last %+v, %v avoided", h.last, h.m.Avoided())
			}
			h.reach(1, 2)
		})
	}
}

// notKept is a switch that acknowledges its multicast table, and keeps nothing of it.
var notKept = fabric.Quirk{Method: mad.MethodSet, Attr: smp.AttrMulticastForwardingTable, Answer: fabric.Acknowledges}

// retry goes on when the machine wants to try again, and returns how long that took.
func (h *harness) retry() (waited time.Duration) {
	h.Helper()
	if waited = h.m.Due() - h.now; waited <= 0 {
		h.Fatalf("due at %v, now %v", h.m.Due(), h.now)
	}
	h.now = h.m.Due()
	h.phases, h.last = nil, nil
	h.goOn()
	return waited
}

// TestNotKept: a switch that acknowledges its table and does not keep it is sent it once more, and is then avoided for
// a rest, which neither other groups nor a stale-block check end early. When it keeps its table it is used again.
func TestNotKept(t *testing.T) {
	for _, again := range []bool{true, false} {
		t.Run(fmt.Sprintf("again=%t", again), func(t *testing.T) {
			h := newHarness(t)
			h.join(0, 1)
			h.subnet(device.Anything)
			h.rest("removes 20", "confirms 1")
			leaf := h.topo.Nodes[h.switchOf(2)]
			h.fabric.SetDefect(h.nodeOf(leaf.GUID), notKept.Defect())
			h.join(2)
			h.rest("removes 3", "confirms 2") // both leaves, and a switch above them; the first leaf has shown it
			if h.last == nil || len(h.last.Failures) != 1 || h.last.Failures[0].Node != leaf.GUID {
				t.Fatalf("report %+v", h.last)
			}
			if again {
				h.fabric.SetDefect(h.nodeOf(leaf.GUID), nil)
			}
			if waited := h.retry(); waited != time.Second {
				t.Errorf("it is sent again after %v", waited)
			}
			rested := h.m.Due()
			if again {
				h.reach(1, 2)
				if len(h.last.Failures) > 0 || rested != 0 {
					t.Errorf("report %+v, due %v", h.last, rested)
				}
				return
			}
			h.reach(1)
			avoided := h.m.Avoided()
			if rested != h.now+rest || len(avoided) != 1 || avoided[0].Node != leaf.GUID {
				t.Fatalf("due at %v, now %v, avoided %v", rested, h.now, avoided)
			}
			h.rests(leaf, rested)
			h.fabric.SetDefect(h.nodeOf(leaf.GUID), nil)
			h.retry()
			h.reach(1, 2, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15)
			if len(h.last.Failures) > 0 || len(h.m.Avoided()) > 0 || h.m.Due() != 0 {
				t.Errorf("report %+v, avoided %v, due %v", h.last, h.m.Avoided(), h.m.Due())
			}
		})
	}
}

// rests: a switch is sent no entries until its rest is over, whatever happens meanwhile.
func (h *harness) rests(sw topo.Node, until time.Duration) {
	h.Helper()
	h.meddle = func(req *txn.Request, o *txn.Outcome) {
		if req.Route == sw.Route && req.Method == mad.MethodSet && req.Data != [mad.DataSize]byte{} {
			h.Errorf("at %v it is sent entries", h.now)
		}
	}
	for i := range 10 {
		h.join(6 + i)
		h.goOn()
		h.m.check(tableBlock{s: h.topo.SwitchOf(sw.First)})
		h.m.checkAt = h.now + time.Second
		h.retry()
		if h.m.Due() != until {
			h.Errorf("at %v the rest ends at %v, not at %v", h.now, h.m.Due(), until)
		}
	}
	h.meddle = nil
}

// TestNotKeptAtAll: where no switch keeps its table, a rest follows after two rounds, too, and no member is reached.
func TestNotKeptAtAll(t *testing.T) {
	h, sets := newHarness(t), 0
	for _, n := range h.net.Nodes {
		if n.Type == mad.Switch {
			h.fabric.SetDefect(h.nodeOf(n.GUID), notKept.Defect())
		}
	}
	h.meddle = func(req *txn.Request, o *txn.Outcome) {
		if req.Method == mad.MethodSet {
			sets++
		}
	}
	h.join(0, 1, 15)
	h.subnet(device.Anything)
	h.rest("removes 20", "confirms 5")
	most := 20 + 5 + 1
	for range 2 {
		// 5 once more. The trees are without them then, but for what hosts 0 and 1 have at their leaf.
		h.retry()
		if h.m.Due() != h.now+rest || len(h.m.Avoided()) != 5 || h.last.Missed != 1 || sets > most {
			t.Errorf("due at %v, now %v, avoided %v, missed %d, Sets %d", h.m.Due(), h.now, h.m.Avoided(), h.last.Missed,
				sets)
		}
		sets, most = 0, 5+5+1
		h.retry() // they are forgiven
	}
}

// TestNotKeptBlocks: a switch that has not kept one block is sent all of them again. One that leaves a block unanswered
// is not asked in that round what it keeps of others: it might be believed because it leaves that unanswered, too.
func TestNotKeptBlocks(t *testing.T) {
	const second = testMLID + mcast.BlockSize
	h := newHarness(t)
	other := testMGID()
	other[15]++
	h.change(registry.PutGroup{Group: registry.Group{MGID: other, MLID: second, PKey: mad.DefaultPKey, MTU: mad.MTU2048,
		Rate: 3}})
	for _, i := range []int{0, 1} {
		h.change(registry.PutMember{Member: registry.Member{MGID: other, Port: h.member(i),
			JoinState: registry.FullMember}})
	}
	h.join(0, 1)
	h.meddle = func(req *txn.Request, o *txn.Outcome) {
		if req.Method == mad.MethodSet && req.Mod&0x1ff == 1 {
			o.Result = txn.TimedOut
		}
	}
	h.subnet(device.Anything)
	leaf := h.nodeOf(h.topo.Nodes[h.switchOf(0)].GUID)
	h.fabric.SetDefect(leaf, notKept.Defect())
	h.rest("removes 40")
	h.meddle = nil
	h.retry() // the block that was not answered, and now it is asked
	if len(h.last.Failures) != 1 || h.last.Failures[0].Detail !=
		"multicast forwarding table block 1, position 0: acknowledged, but not kept" {
		t.Errorf("report %+v", h.last)
	}
	h.fabric.SetDefect(leaf, nil)
	h.retry()
	for _, mlid := range []mad.LID{testMLID, second} {
		if !h.fabric.MulticastPort(leaf, mlid, h.topo.Ports[h.topo.Ports[h.topo.Self].Peer].Num) {
			t.Errorf("MLID %v is not in force", mlid)
		}
	}
}

// TestUnreadable: a switch whose table cannot be read is believed, and not asked again.
func TestUnreadable(t *testing.T) {
	for name, fails := range map[string]func(o *txn.Outcome){
		"no answer": func(o *txn.Outcome) { o.Result = txn.TimedOut },
		"refused":   func(o *txn.Outcome) { o.Status = mad.StatusBadField },
	} {
		t.Run(name, func(t *testing.T) {
			h := newHarness(t)
			h.meddle = func(req *txn.Request, o *txn.Outcome) {
				if req.Method == mad.MethodGet {
					fails(o)
				}
			}
			h.join(0, 1)
			h.subnet(device.Anything)
			h.rest("removes 20", "confirms 1")
			h.join(15)
			h.rest("removes 5", "confirms 4")
			h.join(2)
			h.rest("removes 2", "confirms 1")
			h.reach(1, 2, 15)
			if len(h.last.Failures) > 0 || h.m.Due() != 0 {
				t.Errorf("report %+v, due %v", h.last, h.m.Due())
			}
		})
	}
}

// TestTakeover: tables that another manager may have written are read first, and links of theirs that go are removed in
// all switches before others are added.
func TestTakeover(t *testing.T) {
	h := newHarness(t)
	h.join(0, 1, 15)
	h.subnet(device.Anything)
	h.rest("removes 20", "confirms 5")
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
		req := txn.Request{Route: h.topo.Nodes[n].Route, Method: mad.MethodSet, Attr: smp.AttrMulticastForwardingTable}
		req.Data[0], req.Data[1] = byte(mask>>8), byte(mask)
		if o := h.ask(&req); o.Result != txn.Replied || o.Status != mad.StatusOK {
			t.Fatal(o)
		}
	}
	isOpen := func() bool {
		for n, ports := range circle {
			sw := h.nodeOf(h.topo.Nodes[n].GUID)
			if slices.ContainsFunc(ports, func(num uint8) bool { return !h.fabric.MulticastPort(sw, testMLID, num) }) {
				return true
			}
		}
		return false
	}
	if isOpen() || len(circle) != 4 {
		t.Fatalf("no test: there is no circle: %v", circle)
	}
	h.m.Abdicate()
	h.devices.ForeignMaster()
	h.subnet(device.AnotherSM)
	h.phases = nil
	for h.m.phase != adds && h.step() {
	}
	if !slices.Contains(h.phases, phaseRequests{reads, 16}) {
		t.Errorf("phases %v", h.phases)
	}
	if !isOpen() {
		t.Error("the circle is not open before links are added")
	}
	h.goOn()
	h.reach(1, 15)
}

// TestInterrupted: in every phase, and with a request open or a task out, this manager may cease to be master, or a
// sweep may have another subnet. What comes of the old round then changes nothing.
func TestInterrupted(t *testing.T) {
	for _, phase := range []phase{computes, removes} {
		for _, abdicates := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s,abdicates=%t", phaseNames[phase], abdicates), func(t *testing.T) {
				h := newHarness(t)
				h.join(0, 1)
				h.subnet(device.Anything)
				task, _, _ := h.m.Settle(h.now)
				if task == nil || h.m.phase != computes {
					t.Fatalf("no task: %s", phaseNames[h.m.phase])
				}
				result := task.Run(context.Background())
				var open txn.Request
				if phase == removes {
					h.m.TaskDone(result)
					var ok bool
					if open, ok = h.m.Next(); !ok || h.m.phase != phase {
						t.Fatalf("nothing is written: %s", phaseNames[h.m.phase])
					}
				}
				end := func() {
					if phase == computes {
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
					h.subnet(device.Anything) // this manager is master again
					if task, _, _ := h.m.Settle(h.now); task == nil {
						t.Fatal("no task")
					}
					if h.m.TaskDone(result); h.m.phase != computes {
						t.Error("it takes the result of the old task for that of the new one")
					}
					return
				}
				h.unplug(1)
				h.subnet(device.Anything)
				end()
				// all of the new subnet: the block that was written is that of the leaf, and is another now
				h.rest("removes 20")
				h.reach() // a member that is not in the subnet is none
				if h.last == nil || h.last.Seq != h.reg.Freeze().Seq() || h.last.Missed > 0 {
					t.Errorf("report %+v", h.last)
				}
			})
		}
	}
}
