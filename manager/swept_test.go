package manager

import (
	"context"
	"testing"

	"ibsm/mad"
	"ibsm/mad/txn"
	"ibsm/sim/fabric"
	"ibsm/sim/fabric/fabrictest"
	"ibsm/sweep"
	"ibsm/sweep/engines"
	"ibsm/topo/net"
	"ibsm/topo/net/nettest"
)

// swept is a fabric that is swept without a manager, for the machines that take what sweeps leave.
type swept struct {
	*testing.T
	sweeper *sweep.Sweeper
	net     *net.Net
	fabric  *fabric.Fabric
	at      *fabric.Station
}

func newSwept(t *testing.T, spec string) *swept {
	n := nettest.Generate(t, spec)
	s := &swept{T: t, net: n, fabric: fabric.New(n, fabric.Config{}),
		sweeper: sweep.New(sweep.Config{Engines: engines.Chain{engines.MinHop}})}
	for i := range n.Nodes {
		if n.Nodes[i].Type == mad.CA {
			var err error
			if s.at, err = s.fabric.Attach(net.End{Node: int32(i), Port: 1}); err != nil {
				t.Fatal(err)
			}
			return s
		}
	}
	t.Fatal("no host")
	return nil
}

// heavy runs a heavy sweep to its end.
func (s *swept) heavy() (out *sweep.Outcome) {
	s.Helper()
	var found *sweep.Found
	w := s.sweeper.Walk(true, sweep.Full)
	s.until(w.Next, w.Done, func() bool { found = w.Found(); return found != nil })
	plan := found.Task(1).Run(context.Background())
	if plan == nil || plan.Err != nil {
		s.Fatal("no plan:", plan)
	}
	p := s.sweeper.Program(plan)
	s.until(p.Next, p.Done, func() bool { out, _ = p.Outcome(); return out != nil })
	return out
}

// until answers a phase until it is over.
func (s *swept) until(next func() (txn.Request, bool), done func(*txn.Outcome), over func() bool) {
	s.Helper()
	for range 1 << 20 {
		if req, ok := next(); ok {
			o := fabrictest.Ask(s.fabric, s.at, &req)
			done(&o)
		} else if over() {
			return
		}
	}
	s.Fatal("the sweep has no end")
}
