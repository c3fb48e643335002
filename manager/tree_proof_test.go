package manager

import (
	"strings"
	"testing"
	"time"

	"ibsm/mad"
	"ibsm/opensm/names"
	"ibsm/registry"
	"ibsm/routing/creditloop"
	"ibsm/sweep"
	"ibsm/sweep/multicast"
	"ibsm/sweep/plan"
	"ibsm/topo"
)

// TestProving: trees that differ from those of the sweep, or from those proved last, are proved a while after the first
// change, when no proof is out. Another sweep ends a proof that is out; its result is awaited, and says nothing. A loop
// is logged once, and reported until it ends.
func TestProving(t *testing.T) {
	f := newSwept(t, "fattree:k=4,levels=2")
	f.heavy()
	out := f.heavy()
	same, other := multicast.New(plan.MKeys{}), f.trees(out)
	base := out.TreeProof()
	if base == nil || !base.WithTrees(same.Trees()).SameTrees(base) || base.WithTrees(other.Trees()).SameTrees(base) {
		t.Fatal("the trees are not what they should be")
	}
	const prove, end, loop = "compute trees", "cancel trees", "TreeLoop"
	for _, c := range []struct {
		// s a sweep has left routes, 0 it has left none, e ends, f forgets, g trees have changed, w waits for their
		// time and j for half of it, with other trees, u waits with those of the sweep, d the task is done, l likewise
		// with a loop, x it was ended
		steps string
		state taskState
		due   bool
		did   string
	}{
		{"", noTask, false, ""},
		{"s", noTask, false, ""},
		{"gw", noTask, false, ""}, // of no routes
		{"sgj", noTask, true, ""},
		{"sgw", taskOut, false, prove},
		{"sgu", noTask, false, ""}, // the sweep has proved them
		{"sgjgj", taskOut, false, prove},
		{"sgwd", noTask, false, prove},
		{"sgwdgw", noTask, false, prove},
		{"sgwdgu", taskOut, false, prove + " " + prove},
		{"sgwgw", taskOut, false, prove}, // the task that is out first
		{"sgws", taskEnding, false, prove + " " + end},
		{"sgwe", taskEnding, false, prove + " " + end},
		{"sgwex", noTask, false, prove + " " + end},
		{"sgwel", noTask, false, prove + " " + end}, // it was done before it learnt of its end
		{"sgwsxgw", taskOut, false, prove + " " + end + " " + prove},
		{"s0gw", noTask, false, ""},
		{"sgwl", noTask, false, prove + " " + loop},
		{"sgwlgul", noTask, false, prove + " " + loop + " " + prove}, // the same loop
		{"sgwlgud", noTask, false, prove + " " + loop + " " + prove + " " + loop},
		{"sgwls", noTask, false, prove + " " + loop + " " + loop},
		{"sgwlf", noTask, false, prove + " " + loop + " " + loop},
		{"sgwle", noTask, false, prove + " " + loop},
	} {
		var p proving
		var did []string
		logged := 0
		fx := newEffects(time.Second)
		for _, s := range c.steps {
			switch s {
			case 's':
				p.begin(fx, out)
			case '0':
				p.begin(fx, &sweep.Outcome{SweepPlan: &sweep.SweepPlan{}})
			case 'e':
				p.end(fx)
			case 'f':
				p.forget(fx)
			case 'g':
				p.regrown(fx.now)
			case 'w', 'j', 'u':
				m := other
				if s == 'u' {
					m = same
				}
				if fx.now += treesWait; s == 'j' {
					fx.now -= treesWait / 2
				}
				p.tick(fx, m)
			case 'd', 'l':
				r := p.task.Run(t.Context())
				if s == 'l' {
					r.Loop = []creditloop.Channel{{Port: 1}}
				}
				p.done(fx, r, names.Map{})
			case 'x':
				p.done(fx, nil, names.Map{})
			}
			for _, a := range fx.actions {
				if _, is := a.(Log); is {
					logged++
				}
			}
			did = append(did, fx.did()...)
		}
		if _, due := p.deadline(); p.state != c.state || due != c.due || strings.Join(did, " ") != c.did {
			t.Errorf("%s leads to %d, due %t, %q; want %+v", c.steps, p.state, due, did, c)
		}
		if want := min(1, strings.Count(c.did, loop)); logged != want {
			t.Errorf("%s: %d lines are logged, want %d", c.steps, logged, want)
		}
	}
}

// trees are multicast tables with a group of two hosts.
func (s *swept) trees(out *sweep.Outcome) *multicast.Machine {
	s.Helper()
	reg := registry.New()
	mgid := mad.GID{0xff, 0x12, 15: 1}
	changes := []registry.Change{
		registry.PutGroup{
			Group: registry.Group{MGID: mgid, MLID: mad.MinMulticastLID, PKey: mad.DefaultPKey, MTU: mad.MTU2048,
				Rate: 3},
		},
	}
	for _, p := range []topo.PortIdx{out.Topo.EndPorts[0], out.Topo.EndPorts[len(out.Topo.EndPorts)-1]} {
		port := mad.MakeGID(mad.DefaultPrefix, out.Topo.Ports[p].GUID)
		changes = append(changes,
			registry.PutMember{Member: registry.Member{MGID: mgid, Port: port, JoinState: registry.FullMember}})
	}
	for _, c := range changes {
		if err := reg.Apply(c); err != nil {
			s.Fatal(err)
		}
	}
	m := multicast.New(plan.MKeys{})
	m.SetRegistry(reg.Freeze())
	m.SetSubnet(out.MulticastSubnet())
	s.until(m.Next, m.Done, func() bool {
		task, _, more := m.Settle(time.Second)
		if task != nil {
			m.TaskDone(task.Run(s.Context()))
		}
		return task == nil && !more
	})
	return m
}
