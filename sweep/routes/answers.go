package routes

import (
	"bytes"
	"context"
	"slices"

	"ibsm/mad/smp"
	"ibsm/routing"
	"ibsm/sweep/engines"
	"ibsm/topo"
)

// answers are the results of the engines of a chain for a subnet. Engines are pure: while the subnet is the same and
// the resulting tables are in force, a sweep that keeps its tables runs none of them again, because an engine can take
// long to route or refuse a subnet. They are immutable.
type answers struct {
	chain   engines.Chain
	in      routing.In // without the tables that were in force
	refused []engines.Refusal
	engine  engines.Engine // the one that routed the subnet
	tables  *routing.Tables
}

// newAnswers are the answers in the sweep that computed r. They are nil if tables were repaired or routes were cut.
func (a *attempt) newAnswers(r *routed) *answers {
	if r.keep == routing.KeepWorking || r.beforeCut != nil || r.closing != nil || r.computed == nil {
		return nil
	}
	k := &answers{chain: a.chain, in: a.in, refused: a.out.Refused, engine: *r.engine, tables: r.computed}
	k.in.Prev, k.in.Base, k.engine.Route = nil, nil, nil
	return k
}

// known is what the engines are known to answer; nil if they have to be asked.
func (a *attempt) known(keep routing.Keep) *answers {
	switch {
	case a.rerouting != KeepsRoutes || a.base != nil:
		return nil
	case a.was.ready != nil && a.was.interim.same(a):
		return a.was.ready.answers
	case keep == routing.KeepMinimal && a.was.answers.stand(a):
		return a.was.answers
	}
	return nil
}

// stand reports whether a sweep would get the same answers.
func (k *answers) stand(a *attempt) bool {
	return k != nil && a.in.Prev != nil && k.chain.Equal(a.chain) &&
		slices.EqualFunc(k.tables.LFT, a.in.Prev.LFT, bytes.Equal) && asksAlike(&k.in, &a.in)
}

// again is the engine with its answer.
func (k *answers) again() *engines.Engine {
	e := k.engine
	e.Route = func(ctx context.Context, _ routing.In) (*routing.Tables, error) {
		tables := *k.tables
		tables.LFT = slices.Clone(tables.LFT)
		return &tables, ctx.Err()
	}
	return &e
}

// routedAlike reports whether two subnets are the same for engines: states of ports, and what manager and ports agree
// on, do not matter.
func routedAlike(t, o *topo.Topo) bool {
	if t == o {
		return true
	}
	node := func(a, b topo.Node) bool {
		return a.GUID == b.GUID && a.Type == b.Type && a.NumPorts == b.NumPorts && a.Aggregation == b.Aggregation &&
			a.Missed == b.Missed && a.First == b.First &&
			a.Switch == b.Switch && a.Info == b.Info && a.Desc == b.Desc
	}
	port := func(a, b topo.Port) bool {
		return a.GUID == b.GUID && a.Node == b.Node && a.Peer == b.Peer && a.Num == b.Num &&
			a.Unhealthy == b.Unhealthy &&
			(a.Info.CapabilityMask()^b.Info.CapabilityMask())&(smp.IsDeviceManagementSupported|smp.IsSM) == 0 &&
			(a.Peer == topo.None || a.Info.LinkWidthActive() == b.Info.LinkWidthActive() &&
				a.Info.LinkSpeedActive() == b.Info.LinkSpeedActive())
	}
	return slices.EqualFunc(t.Nodes, o.Nodes, node) && slices.EqualFunc(t.Ports, o.Ports, port)
}
