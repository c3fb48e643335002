package sim_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"testing"
	"time"

	"ibsm/finding"
	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/manager"
	"ibsm/registry"
	"ibsm/sim/fabric"
	"ibsm/topo"
	"ibsm/topo/net"
	"ibsm/topo/net/nettest"
)

// troubles are what can be wrong with a manager's own port, its cable, or whatever carries its
// packets, while nothing is wrong with the fabric. Each begins, and returns what happens before
// each step and what ends it.
var troubles = []struct {
	name  string
	total bool // nothing is heard
	begin func(s *storm) (step, end func())
}{
	{"loss on the cable", false, func(s *storm) (step, end func()) {
		s.m.Station.SetLoss(pick(s.rng, 0.1, 0.2, 0.3, 0.4, 0.5))
		return nil, func() { s.m.Station.SetLoss(0) }
	}},
	// as in ibsim: what our own agent is asked is lost as well
	{"loss everywhere", false, func(s *storm) (step, end func()) {
		s.Fabric.SetFaults(fabric.Faults{Loss: pick(s.rng, 0.1, 0.2, 0.3, 0.4, 0.5)})
		return nil, func() { s.Fabric.SetFaults(fabric.Faults{}) }
	}},
	{"everything is lost on the cable", true, func(s *storm) (step, end func()) {
		s.m.Station.SetLoss(1)
		return nil, func() { s.m.Station.SetLoss(0) }
	}},
	{"everything is lost", true, func(s *storm) (step, end func()) {
		s.Fabric.SetFaults(fabric.Faults{Loss: 1})
		return nil, func() { s.Fabric.SetFaults(fabric.Faults{}) }
	}},
	// what another manager may have changed meanwhile is read again
	{"paused, and loss", false, func(s *storm) (step, end func()) {
		s.Fabric.SetFaults(fabric.Faults{Loss: pick(s.rng, 0.1, 0.2, 0.3, 0.4, 0.5)})
		s.m.Asleep = s.Fabric.Now() + 3*time.Second
		return nil, func() { s.Fabric.SetFaults(fabric.Faults{}) }
	}},
	{"a server that stops", false, func(s *storm) (step, end func()) { // and answers everything afterwards
		goesOn := s.Fabric.Now() + 30*time.Second
		return func() {
			s.Fabric.SetLatency(max(latency, goesOn-s.Fabric.Now()))
		}, func() { s.Fabric.SetLatency(latency) }
	}},
}

// storm is a fabric in order, of which the manager hears little or nothing for a while. Meanwhile
// ports join multicast groups.
type storm struct {
	*choir
	rng     *rand.Rand
	ends    []net.End
	lids    map[net.End]mad.LID
	routes  map[int32][]uint8
	ports   int // in the view
	givenUp int // most at any time
	judging bool
}

// givenUpByOpenSM is how many ports OpenSM gives up in such a storm.
const givenUpByOpenSM = 0

func newStorm(t *testing.T, seed uint64) *storm {
	s := &storm{rng: rand.New(rand.NewPCG(seed, 0xd0b7)), lids: map[net.End]mad.LID{}}
	n := nettest.Generate(t, pick(s.rng, "fattree:k=4", "torus:dims=3x3,hosts=2", "fattree:k=8,levels=2",
		"tree:depth=1,fanout=4"))
	s.choir = newChoir(
		newHarness(t, n, fabric.Config{Seed: s.rng.Uint64(), TrainTime: 100 * time.Millisecond, OnSet: s.set}),
		minhopConfig())
	s.ends = s.endPorts()
	for i := range stormGroups {
		s.group(i, 0)
	}
	s.joinSome(3 * stormGroups)
	s.sing()
	for _, at := range s.ends {
		pi := s.Fabric.PortInfo(at)
		s.lids[at] = pi.LID()
	}
	s.routes, s.ports = s.lfts(), len(s.m.View.Topo.EndPorts)
	forward := s.m.OnAction
	s.m.OnAction = func(now time.Duration, a manager.Action) {
		if p, ok := a.(manager.Publish); ok && s.judging {
			s.published(now, p)
		}
		forward(now, a)
	}
	s.judging = true
	return s
}

// stormGroups is how many multicast groups there are.
const stormGroups = 6

// joinSome has some ports join groups.
func (s *storm) joinSome(count int) {
	for range count {
		s.join(s.rng.IntN(stormGroups), pick(s.rng, s.ends...), registry.FullMember)
	}
}

// published takes what questions are answered from.
func (s *storm) published(now time.Duration, p manager.Publish) {
	if p.View == nil {
		s.Errorf("at %v questions are not answered any more", now)
		return
	}
	left := 0
	for at := range s.lids {
		if p.View.Topo.FindPort(s.Fabric.PortGUID(at)) != topo.None {
			left++
		}
	}
	s.givenUp = max(s.givenUp, s.ports-left)
}

// set judges what is written: nothing but what is there.
func (s *storm) set(w fabric.Set) {
	if !s.judging {
		return
	}
	switch w.Attr {
	case smp.AttrPortInfo:
		info := (*smp.PortInfo)(&w.Data)
		if info.PortState() == smp.PortDown || info.PortPhysicalState() != 0 {
			s.Errorf("at %v port %d of %q is taken down", w.At, w.Mod&0xff, s.net.Nodes[w.Node].Desc)
		}
		at := net.End{Node: w.Node, Port: uint8(w.Mod)}
		if was, ok := s.lids[at]; ok && info.LID() != was {
			s.Errorf("at %v port %v is given LID %d, it had %d", w.At, at, info.LID(), was)
		}
	case smp.AttrLinearForwardingTable:
		for i, port := range w.Data {
			if lid := int(w.Mod)*len(w.Data) + i; lid < len(s.routes[w.Node]) && s.routes[w.Node][lid] != port {
				s.Errorf("at %v switch %d is given route %d for LID %d, it had %d", w.At, w.Node, port, lid,
					s.routes[w.Node][lid])
			}
		}
	}
}

// blow lets trouble last for so long, and returns what the manager says of its port then.
func (s *storm) blow(begin func(s *storm) (step, end func()), length time.Duration) (says string) {
	step, end := begin(s)
	for over := s.Fabric.Now() + length; s.Fabric.Now() < over; {
		s.joinSome(s.rng.IntN(3))
		s.Register(s.m.Manager, s.reg.Freeze())
		s.Run(min(over, s.Fabric.Now()+time.Duration(s.rng.Int64N(int64(5*time.Second)))), func() bool {
			if step != nil {
				step()
			}
			return false
		})
	}
	says = s.m.Core.Stats().OwnPort
	end()
	return says
}

// TestOwnTrouble: whatever is wrong with the manager's own port or cable, nothing in the fabric is
// taken down, moved or forgotten, and questions are answered all the while.
func TestOwnTrouble(t *testing.T) {
	count := uint64(6)
	if os.Getenv("IBSM_PROOF") != "" {
		count = 100
	}
	for _, trouble := range troubles {
		for seed := range count {
			t.Run(fmt.Sprintf("%s/%d", trouble.name, seed), func(t *testing.T) {
				defer repeat(t, seed)
				s := newStorm(t, seed)
				for range 1 + s.rng.IntN(2) {
					s.pass(time.Duration(s.rng.Int64N(int64(12 * time.Second))))
					length := pick(s.rng, 2*time.Second, 30*time.Second, 30*time.Second, 3*time.Minute)
					if says := s.blow(trouble.begin, length); says == "" && trouble.total && length > 2*time.Second {
						t.Error("it does not say what it sees")
					}
				}
				s.pass(convergence)
				if says := s.m.Core.Stats().OwnPort; says != "" {
					t.Errorf("it still says %q", says)
				}
				if s.givenUp > givenUpByOpenSM {
					t.Errorf("%d of %d ports were given up, OpenSM gives up %d", s.givenUp, s.ports, givenUpByOpenSM)
				}
				if s.m.says(finding.MFTAvoided.Text()) > 0 {
					t.Error("multicast trees avoid a switch in order")
				}
				s.mustBeWhole(s.m)
				s.judgeMulticast()
			})
		}
	}
}

// TestStandbyInTrouble: a standby that hears little or nothing because of its own port or cable does
// not depose a master that is well, and nothing changes in the fabric. Later both are what they were.
func TestStandbyInTrouble(t *testing.T) {
	count := uint64(6)
	if os.Getenv("IBSM_PROOF") != "" {
		count = 100
	}
	for _, rate := range []float64{0.1, 0.2, 0.3, 0.4, 0.5, 1} {
		for seed := range count {
			t.Run(fmt.Sprintf("%g/%d", rate, seed), func(t *testing.T) {
				defer repeat(t, seed)
				s := newStorm(t, seed)
				s.judging = false
				other := s.add(host(s.net, 1+s.rng.IntN(3)), minhopConfig())
				t.Cleanup(other.dump)
				s.pass(settling)
				if other.last() != smp.Standby {
					t.Fatalf("the second manager is %v", other.states)
				}
				before, stood := len(s.m.states), len(other.states)
				s.judging = true
				other.Station.SetLoss(rate)
				s.pass(pick(s.rng, 5*time.Second, 30*time.Second, 3*time.Minute))
				other.Station.SetLoss(0)
				s.pass(convergence)
				if len(s.m.states) != before || other.last() != smp.Standby ||
					slices.Contains(other.states[stood:], smp.Master) {
					t.Errorf("the master was %v, the standby %v", s.m.states[before-1:], other.states[stood-1:])
				}
				s.mustBeWhole(s.m)
			})
		}
	}
}

// TestBootedUnderLoss: while the manager's cable loses packets, a switch that is powered up may take
// its tables and arm its links late. That is no reason to lead routes around it.
func TestBootedUnderLoss(t *testing.T) {
	count := uint64(6)
	if os.Getenv("IBSM_PROOF") != "" {
		count = 100
	}
	for seed := range count {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			defer repeat(t, seed)
			rng := rand.New(rand.NewPCG(seed, 0xb007))
			b := newHarness(t, nettest.Generate(t, pick(rng, "fattree:k=4", "torus:dims=3x3,hosts=2")),
				fabric.Config{Seed: seed, TrainTime: 100 * time.Millisecond})
			m := b.comeUp(minhopConfig())
			sw := b.Fabric.Peer(uplink(b.net, b.Fabric.Peer(m.Station.At()).Node)).Node
			b.Fabric.NodeDown(sw)
			b.pass(settling)
			forward := m.OnAction
			m.OnAction = func(now time.Duration, a manager.Action) {
				if p, ok := a.(manager.Publish); ok && p.View != nil {
					for i := range p.View.Topo.Ports {
						if port := &p.View.Topo.Ports[i]; port.Unhealthy {
							t.Errorf("at %v port %d of %q is avoided", now, port.Num, p.View.Topo.Nodes[port.Node].Desc)
						}
					}
				}
				forward(now, a)
			}
			m.Station.SetLoss(pick(rng, 0.2, 0.3, 0.4, 0.5))
			b.Fabric.NodeUp(sw)
			b.pass(pick(rng, 10*time.Second, time.Minute, 3*time.Minute))
			m.Station.SetLoss(0)
			b.pass(convergence)
			b.mustBeWhole(m)
		})
	}
}
