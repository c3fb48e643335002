package sweep

import (
	"context"
	"testing"

	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/mad/txn"
	"ibsm/sim/fabric"
	"ibsm/sim/fabric/fabrictest"
	"ibsm/sweep/engines"
	"ibsm/sweep/routes"
	"ibsm/topo"
	"ibsm/topo/net"
	"ibsm/topo/net/nettest"
)

// harness is a Sweeper on a fabric that answers at once.
type harness struct {
	testing.TB
	*Sweeper
	net    *net.Net
	fabric *fabric.Fabric
	at     *fabric.Station
	sets   []fabric.Set // since the last sweep began
	asked  map[mad.AttrID]int
	// meddle, when set, sees each outcome before the Sweeper does.
	meddle func(req *txn.Request, o *txn.Outcome)
	// drop, when set, says which requests do not arrive.
	drop   func(req *txn.Request) bool
	extent Extent // of heavy
}

func newHarness(t testing.TB, spec string, cfg Config) *harness {
	t.Helper()
	return newHarnessOf(t, nettest.Generate(t, spec), cfg)
}

func newHarnessOf(t testing.TB, n *net.Net, cfg Config) *harness {
	t.Helper()
	return newHarnessWith(t, n, cfg, nil)
}

// newHarnessWith is newHarnessOf for devices of other capabilities.
func newHarnessWith(t testing.TB, n *net.Net, cfg Config, caps func(int32, *net.Node, *fabric.Caps)) *harness {
	t.Helper()
	if cfg.Engines == nil {
		cfg.Engines = engines.Chain{engines.MinHop}
	}
	b := &harness{TB: t, Sweeper: New(cfg), net: n}
	b.fabric = fabric.New(n, fabric.Config{Caps: caps, OnSet: func(s fabric.Set) { b.sets = append(b.sets, s) }})
	for i := range n.Nodes {
		if n.Nodes[i].Type == mad.CA {
			var err error
			if b.at, err = b.fabric.Attach(net.End{Node: int32(i), Port: 1}); err != nil {
				t.Fatal(err)
			}
			return b
		}
	}
	t.Fatal("no host")
	return nil
}

// heavy runs a heavy sweep to its end.
func (b *harness) heavy() *Outcome {
	b.Helper()
	c := b.walk().Task(1).Run(context.Background())
	if c != nil && c.Fitting.State == routes.LanesFirst {
		b.ReadLanes()
		c = b.walk().Task(1).Run(context.Background())
	}
	if c == nil || c.Err != nil {
		b.Fatal("computing:", c)
	}
	return b.write(c)
}

func (b *harness) walk() (found *Found) {
	b.Helper()
	b.sets, b.asked = nil, map[mad.AttrID]int{}
	w := b.Walk(true, b.extent)
	b.until(w, func() bool { found = w.Found(); return found != nil })
	return found
}

// write programs what was computed.
func (b *harness) write(c *SweepPlan) (out *Outcome) {
	b.Helper()
	p := b.Program(c)
	b.until(p, func() bool { out, _ = p.Outcome(); return out != nil })
	return out
}

// look runs a light sweep.
func (b *harness) look() (reason string, of Extent, sms []SMReply) {
	b.Helper()
	b.sets, b.asked = nil, map[mad.AttrID]int{}
	l := b.Look()
	var v Verdict
	b.until(l, func() (ok bool) { v, ok = l.Verdict(); return ok })
	return v.Reason, v.Extent, v.SMs
}

// phase is one that asks or writes.
type phase interface {
	Next() (txn.Request, bool)
	Done(*txn.Outcome)
}

// until answers what a phase asks until it is over, which is asked when it has no request.
func (b *harness) until(p phase, over func() bool) {
	b.Helper()
	for range 1 << 20 {
		if req, ok := p.Next(); ok {
			b.asked[req.Attr]++
			o := b.outcome(&req)
			p.Done(&o)
			continue
		}
		if over() {
			return
		}
	}
	b.Fatalf("the sweep has no end: %T", p)
}

// outcome is that of a request, unless drop and meddle want another.
func (b *harness) outcome(req *txn.Request) (o txn.Outcome) {
	b.Helper()
	if b.drop != nil && b.drop(req) {
		o = timedOut(req)
	} else {
		o = b.ask(req)
	}
	if b.meddle != nil {
		b.meddle(req, &o)
	}
	return o
}

// timedOut is the outcome of a request that got no answer.
func timedOut(req *txn.Request) txn.Outcome {
	return txn.Outcome{Tag: req.Tag, Method: req.Method, Attr: req.Attr, Mod: req.Mod, Result: txn.TimedOut}
}

// arm has a port ARMED, as another manager would.
func (b *harness) arm(t *topo.Topo, p topo.PortIdx) {
	b.Helper()
	port := &t.Ports[p]
	req := txn.Request{Route: t.Nodes[port.Node].Route, Method: mad.MethodSet, Attr: smp.AttrPortInfo,
		Mod: uint32(port.Num)}
	info := port.Info
	info.SetPortState(smp.PortArmed)
	info.SetPortPhysicalState(0)
	req.Data = info
	if o := b.ask(&req); o.Result != txn.Replied || o.Status != mad.StatusOK {
		b.Fatalf("port %d is not ARMED: %v %v", port.Num, o.Result, o.Status)
	}
}

func (b *harness) ask(req *txn.Request) txn.Outcome { return fabrictest.Ask(b.fabric, b.at, req) }

// node is the index in the Net of the nth switch (from the last one on, which are the
// spines of a fat tree) or host.
func (b *harness) node(typ mad.NodeType, n int) int32 {
	b.Helper()
	for i := range b.net.Nodes {
		if b.net.Nodes[i].Type == typ {
			if n == 0 {
				return int32(i)
			}
			n--
		}
	}
	b.Fatal("no such node")
	return 0
}

// up is a harness after two sweeps, the second of which had nothing to do.
func up(t *testing.T, spec string, cfg Config) *harness {
	t.Helper()
	b := newHarness(t, spec, cfg)
	first := b.heavy()
	if len(first.Failures) != 0 || len(first.NotKept) != 0 || first.Report.Bad() != 0 {
		t.Fatalf("failures %v, not held %v, bad routes %d", first.Failures, first.NotKept, first.Report.Bad())
	}
	if at, bad := b.fabric.FirstNotActive(); bad {
		t.Fatalf("port %v is not ACTIVE", at)
	}
	b.heavy()
	if len(b.sets) != 0 {
		t.Fatalf("%d Sets in an unchanged fabric, the first %+v", len(b.sets), b.sets[0])
	}
	return b
}
