package creditloop

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"ibsm/mad"
	"ibsm/routing"
	"ibsm/routing/ftree"
	"ibsm/routing/lash"
	"ibsm/routing/minhop"
	"ibsm/routing/routingtest"
	"ibsm/routing/sssp"
	"ibsm/routing/tree"
	"ibsm/topo"
)

// room is how many packets the buffer of a lane at the end of a link holds.
const room = 2

// traffic is a subnet whose links have finite buffers: a packet leaves one only when there is room in
// the next. It knows nothing of channels that depend on each other, only of packets that move or do
// not.
type traffic struct {
	*routingtest.Subnet
	rng *rand.Rand
	// turned are, by SwitchIdx, the switches that follow their new rules, where there are rules of before.
	turned []bool
	buffer map[routingtest.Hop][]*held // the packets that have come over a link on a lane
	hops   []routingtest.Hop           // the keys of buffer, in the order in which they came up
	start  []*held                     // by end port in topo.EndPorts: the packet that it wants to send
	want   []routingtest.Packet        // those that are sent more often
	only   bool                        // no others are sent
	now    int                         // steps so far
}

// held is a packet in a buffer of a switch.
type held struct {
	routingtest.Packet
	sent int // when
	sw   topo.SwitchIdx
	in   uint8
	left []uint8 // ports by which it still has to leave
}

func newTraffic(s *routingtest.Subnet, seed uint64) *traffic {
	return &traffic{Subnet: s, rng: rand.New(rand.NewPCG(seed, 2)), turned: make([]bool, len(s.Topo.Switches)),
		buffer: map[routingtest.Hop][]*held{}, start: make([]*held, len(s.Topo.EndPorts))}
}

// side is what a switch follows now.
func (tr *traffic) side(sw topo.SwitchIdx) *routingtest.Subnet {
	if tr.Before != nil && !tr.turned[sw] {
		return tr.Before
	}
	return tr.Subnet
}

// arrived is a packet that has come to a switch: it finds out where it has to go.
func (tr *traffic) arrived(p routingtest.Packet, sw topo.SwitchIdx, in uint8) *held {
	h := &held{Packet: p, sent: tr.now, sw: sw, in: in}
	if p.To < mad.MinMulticastLID {
		if port := tr.side(sw).Tables.LFT[sw][p.To]; port <= tr.Topo.Nodes[tr.Topo.Switches[sw]].NumPorts && port != 0 {
			h.left = []uint8{port}
		}
		return h
	}
	for _, g := range tr.Groups {
		if g.Tree.MLID != p.To {
			continue
		}
		for port := range g.Tree.Ports(sw).Ports() {
			if port != in && port != 0 {
				h.left = append(h.left, port)
			}
		}
	}
	return h
}

// forward lets a packet leave by each port where there is room, and reports whether it has by any.
func (tr *traffic) forward(h *held) (moved bool) {
	h.left = slices.DeleteFunc(h.left, func(port uint8) bool {
		out := tr.Topo.Port(tr.Topo.Switches[h.sw], port)
		peer := tr.Topo.Ports[out].Peer
		if peer == topo.None {
			moved = true
			return true
		}
		vl := tr.side(h.sw).Maps.Table(h.in, out).VL(h.SL)
		next := tr.Topo.Nodes[tr.Topo.Ports[peer].Node].Switch
		if vl == routing.DropVL || next == topo.None { // dropped, or taken by its host
			moved = true
			return true
		}
		at := routingtest.Hop{Switch: h.sw, Port: port, Lane: vl}
		if len(tr.buffer[at]) == room {
			return false
		}
		if _, known := tr.buffer[at]; !known {
			tr.hops = append(tr.hops, at)
		}
		moves := tr.arrived(h.Packet, next, tr.Topo.Ports[peer].Num)
		moves.sent = h.sent
		tr.buffer[at] = append(tr.buffer[at], moves)
		moved = true
		return true
	})
	return moved
}

// step lets the first packet of each buffer move once, in random order, and reports whether any did.
func (tr *traffic) step() (moved bool) {
	tr.now++
	for _, i := range tr.rng.Perm(len(tr.hops)) {
		at := tr.hops[i]
		if len(tr.buffer[at]) == 0 {
			continue
		}
		first := tr.buffer[at][0]
		moved = tr.forward(first) || moved
		if len(first.left) == 0 {
			tr.buffer[at] = tr.buffer[at][1:]
			moved = true
		}
	}
	return moved
}

// send has each end port that has nothing to send want to send something, and sends what there is
// room for.
func (tr *traffic) send() {
	for _, i := range tr.rng.Perm(len(tr.start)) {
		switch h := tr.start[i]; {
		case h == nil:
			tr.start[i] = tr.some(tr.Topo.EndPorts[i])
		case h.To < mad.MinMulticastLID: // it is not at the switch yet, which may have turned
			tr.start[i] = tr.arrived(h.Packet, h.sw, h.in)
		}
		if h := tr.start[i]; h != nil {
			if tr.forward(h); len(h.left) == 0 {
				tr.start[i] = nil
			}
		}
	}
}

// some is a packet that an end port wants to send: one that is wanted more often, or any.
func (tr *traffic) some(from topo.PortIdx) *held {
	sw, in := routing.Home(tr.Topo, from)
	base := tr.LIDs.Base[from]
	if sw == topo.None || base == 0 {
		return nil
	}
	if tr.only || tr.rng.IntN(2) == 0 {
		var own []routingtest.Packet
		for _, p := range tr.want {
			if tr.LIDs.Owner[p.From] == from {
				own = append(own, p)
			}
		}
		if len(own) > 0 {
			return tr.arrived(own[tr.rng.IntN(len(own))], sw, in)
		}
		if tr.only {
			return nil
		}
	}
	if len(tr.Groups) > 0 && tr.rng.IntN(4) == 0 {
		g := tr.Groups[tr.rng.IntN(len(tr.Groups))]
		if g.Tree.Ports(sw).Empty() {
			return nil
		}
		return tr.arrived(routingtest.Packet{From: base, To: g.Tree.MLID, SL: g.SL}, sw, in)
	}
	to := tr.LIDs.Base[tr.Topo.EndPorts[tr.rng.IntN(len(tr.Topo.EndPorts))]]
	if to == 0 {
		return nil
	}
	return tr.arrived(routingtest.Packet{From: base, To: to, SL: tr.side(sw).Tables.SLs.Of(base, to)}, sw, in)
}

// stops reports whether packets stop for good: within some steps of traffic, after which nothing is
// sent any more, packets are left that do not move.
func (tr *traffic) stops(steps int) bool {
	for i := range steps {
		if tr.Before != nil && i%3 == 0 {
			tr.turned[tr.rng.IntN(len(tr.turned))] = true
		}
		tr.send()
		tr.step()
	}
	return tr.stuck()
}

// stuck reports whether packets are left that do not move when nothing is sent any more.
func (tr *traffic) stuck() bool {
	for range 100 * len(tr.hops) {
		if !tr.step() {
			break
		}
	}
	return slices.ContainsFunc(tr.hops, func(at routingtest.Hop) bool { return len(tr.buffer[at]) > 0 })
}

// stopsInStages is stops while switches turn in stages: in each one after the other, in random order, and the
// next stage follows when the packets that were sent before have arrived, but for those that a host
// could not send yet.
func (tr *traffic) stopsInStages(stages [][]topo.SwitchIdx) bool {
	for _, stage := range stages {
		for _, i := range tr.rng.Perm(len(stage)) {
			tr.turned[stage[i]] = true
			for range tr.rng.IntN(30) {
				tr.send()
				tr.step()
			}
		}
		for since := tr.now; tr.hasSentBefore(since); {
			if tr.now-since > 5000 {
				return true
			}
			tr.send()
			tr.step()
		}
	}
	return tr.stuck()
}

// hasSentBefore reports whether a packet is in a buffer that was sent before a time.
func (tr *traffic) hasSentBefore(when int) bool {
	for _, at := range tr.hops {
		if slices.ContainsFunc(tr.buffer[at], func(h *held) bool { return h.sent < when }) {
			return true
		}
	}
	return false
}

// TestBuffersInStages: packets never stop while switches turn from old to new routes in the stages that Order
// finds, where those of a stage turn in any order. Turned in the opposite order of stages, some do stop.
func TestBuffersInStages(t *testing.T) {
	wanted := 12
	if os.Getenv("IBSM_PROOF") != "" {
		wanted = 200
	}
	const seed = 7
	rng := rand.New(rand.NewPCG(seed, 4))
	stopped := 0
	for staged := 0; staged < wanted; {
		spec := []string{"torus:dims=4x3,hosts=2", "mesh:dims=4x3,hosts=2", "torus:dims=5,hosts=3"}[rng.IntN(3)]
		is, was := routed(t, spec, rng), routed(t, spec, rng)
		now, old := routing.NewForwarding(is.Topo, is.LIDs, is.Tables),
			routing.NewForwarding(was.Topo, was.LIDs, was.Tables)
		in := In{Topo: is.Topo, LIDs: is.LIDs, Forwarding: now, Traffic: All, Before: &Rules{Forwarding: old}}
		tr, err := Order(t.Context(), in, 64)
		if err != nil {
			t.Fatal(err)
		}
		if tr.Risk != nil || len(tr.Stages) < 2 {
			continue
		}
		staged++
		is.Before = was
		for try := range uint64(3) {
			if newTraffic(is, uint64(staged)+try<<32).stopsInStages(tr.Stages) {
				t.Fatalf("case %d of seed %d, %s: packets have stopped; stages %v", staged, seed, spec, tr.Stages)
			}
		}
		back := slices.Clone(tr.Stages)
		slices.Reverse(back)
		for try := range uint64(3) {
			if newTraffic(is, uint64(staged)+try<<32).stopsInStages(back) {
				stopped++
				break
			}
		}
	}
	t.Logf("%d cases; in the opposite order packets stopped in %d", wanted, stopped)
	if stopped == 0 {
		t.Error("the order made no difference")
	}
}

// TestBuffersOfTakeover: routes of OpenSM's min-hop, ftree and dfsssp become those of the engines by which auto
// replaces them, whole and with cables missing, while packets move through finite buffers: in the stages that Order
// finds they never stop.
func TestBuffersOfTakeover(t *testing.T) {
	seeds := uint64(3)
	if os.Getenv("IBSM_PROOF") != "" {
		seeds = 40
	}
	count := map[string]int{}
	for _, spec := range []string{"fattree:k=4", "fattree:k=8,levels=2", "random:switches=12,degree=4,hosts=1"} {
		for seed := range seeds {
			in := routingtest.Problem(t, fmt.Sprintf("%s,missing-links=%d%%,seed=%d", spec, seed%4*3, seed+1))
			in.Lanes = slices.Repeat([]uint8{8}, len(in.Topo.Ports))
			dfsssp, err := sssp.NewDeadlockFree(sssp.Settings{})(t.Context(), in)
			if err != nil {
				t.Fatal(err)
			}
			is, err := tree.New(tree.Settings{})(t.Context(), in)
			if err != nil {
				is = dfsssp // the next engine of auto
			}
			olds := map[string]*routing.Tables{"dfsssp": dfsssp}
			for name, engine := range map[string]routing.Engine{
				"minhop": minhop.Route, "ftree": ftree.New(ftree.Settings{Roots: roots(in)}),
			} {
				if tables, err := engine(t.Context(), in); err == nil {
					olds[name] = tables
				}
			}
			for name, old := range olds {
				now := &routingtest.Subnet{Topo: in.Topo, LIDs: in.LIDs, Tables: is, Maps: is.SLs.Lanes()}
				now.Before = &routingtest.Subnet{Topo: in.Topo, LIDs: in.LIDs, Tables: old, Maps: old.SLs.Lanes()}
				rules := func(s *routingtest.Subnet) Rules {
					return Rules{routing.NewForwarding(s.Topo, s.LIDs, s.Tables), s.Tables.SLs, s.Maps}
				}
				was, f := rules(now.Before), rules(now)
				tr, err := Order(t.Context(), In{Topo: in.Topo, LIDs: in.LIDs, Forwarding: f.Forwarding, SLs: f.SLs,
					Maps: f.Maps, Traffic: All, Before: &was}, 64)
				if err != nil {
					t.Fatal(err)
				}
				if tr.Risk != nil { // of traffic with ports 0 of switches, too
					continue
				}
				count[name]++
				for try := range uint64(2) {
					if newTraffic(now, seed+try<<32).stopsInStages(tr.Stages) {
						t.Errorf("%s, seed %d: from %s packets have stopped; stages %v", spec, seed, name, tr.Stages)
					}
				}
			}
		}
	}
	t.Logf("%v", count)
	for _, name := range []string{"minhop", "ftree", "dfsssp"} {
		if count[name] == 0 {
			t.Errorf("no case of %s", name)
		}
	}
}

// roots are the switches that are farthest from hosts.
func roots(in routing.In) (guids []mad.GUID) {
	graph, far := routing.NewGraph(in.Topo), make([]int, len(in.Topo.Switches))
	for i := range far {
		far[i] = len(far)
	}
	var queue []topo.SwitchIdx
	for _, p := range in.Topo.EndPorts {
		if s := in.Topo.SwitchOf(p); s != topo.None && in.Topo.IsHost(p) && far[s] > 0 {
			far[s], queue = 0, append(queue, s)
		}
	}
	for i := 0; i < len(queue); i++ {
		peers, _ := graph.Edges(queue[i])
		for _, s := range peers {
			if far[s] > far[queue[i]]+1 {
				far[s], queue = far[queue[i]]+1, append(queue, s)
			}
		}
	}
	for s, n := range in.Topo.Switches {
		if far[s] == slices.Max(far) {
			guids = append(guids, in.Topo.Nodes[n].GUID)
		}
	}
	return guids
}

// TestBuffers lets packets move through finite buffers: by rules without a credit loop they never
// stop, also while switches turn from old rules to new ones one by one; by rules with one they stop
// for good sooner or later.
func TestBuffers(t *testing.T) {
	count := 60
	if os.Getenv("IBSM_PROOF") != "" {
		count = 1000
	}
	var free, loops, turns int
	for _, spec := range []string{"fattree:k=4", "torus:dims=4x3,hosts=1", "mesh:dims=1x5,hosts=2",
		"torus:dims=6,hosts=2", "random:switches=10,degree=3,hosts=1"} {
		base := routingtest.NewSubnet(t, spec, minhop.Route)
		for i := range count / 5 {
			seed := uint64(i)
			rng := rand.New(rand.NewPCG(seed, 3))
			s := base.Changed()
			s.Vary(rng)
			// packets of a lane that is not there, or never has its turn, are findings of another kind
			s.Lanes, s.Turns = nil, nil
			if i%3 == 0 {
				s.Before = s.Changed()
				s.Before.Spoil(rng)
			}
			r := find(t, s, All, nil)
			tr := newTraffic(s, seed)
			if r.Loop == nil {
				if tr.stops(300) {
					t.Errorf("%s, seed %d: packets have stopped, and there is no loop", spec, seed)
				}
				free++
				if s.Before != nil {
					turns++
				}
				continue
			}
			if s.Before != nil {
				continue // the loop may need both rules for longer than they last here
			}
			loops++
			stopped := false
			for try := uint64(0); try < 10 && !stopped; try++ {
				tr = newTraffic(s, seed+try<<32)
				tr.only = try%2 == 1
				for _, c := range r.Loop {
					tr.want = append(tr.want, routingtest.Packet{From: c.SourceLID, To: c.Dest, SL: c.SL})
				}
				stopped = tr.stops(3000)
			}
			if !stopped {
				t.Errorf("%s, seed %d: packets move on in spite of the loop %+v", spec, seed, r.Loop)
			}
		}
	}
	t.Logf("%d without a loop, %d of them while rules change; %d with one", free, turns, loops)
	if free == 0 || loops == 0 || turns == 0 {
		t.Error("some case did not happen")
	}
}

// TestBuffersOfLash: the routes of lash on a torus never stop with the SLs that it gives them, and stop
// for good with one SL for all, which is what a manager does that takes them over without SLs.
func TestBuffersOfLash(t *testing.T) {
	for _, spec := range []string{"torus:dims=5x5,hosts=1", "torus:dims=4x4x3,hosts=1"} {
		in := routingtest.Problem(t, spec)
		in.Lanes = slices.Repeat([]uint8{8}, len(in.Topo.Ports))
		tables, err := lash.New(lash.Settings{})(t.Context(), in)
		if err != nil {
			t.Fatal(err)
		}
		s := &routingtest.Subnet{Topo: in.Topo, LIDs: in.LIDs, Tables: tables}
		if r := find(t, s, BetweenHosts, nil); r.Loop != nil || newTraffic(s, 1).stops(2000) {
			t.Errorf("%s: packets stop with the SLs of lash; loop %+v", spec, r.Loop)
		}
		s = s.Changed()
		s.Tables.SLs = nil
		if r := find(t, s, BetweenHosts, nil); r.Loop == nil || !newTraffic(s, 1).stops(2000) {
			t.Errorf("%s: packets do not stop on one lane; loop %+v", spec, r.Loop)
		}
	}
}
