package manager

import (
	"bytes"
	"cmp"
	"slices"
	"sort"

	"ibsm/finding"
	"ibsm/mad/smp"
	"ibsm/routing/mcast"
	"ibsm/sweep"
	"ibsm/topo"
	"ibsm/view"
)

// publication is what questions are answered from.
type publication struct {
	view *view.View // nil when this manager is not master
	gen  uint64     // of the last one
}

// publish makes a view the one in force, and numbers it.
func (p *publication) publish(fx *effects, v *view.View) {
	p.gen++
	v.Gen, p.view = p.gen, v
	fx.do(Publish{v})
}

// replaceMulticast publishes other multicast tables of the same subnet, with their findings; without a subnet it does
// nothing.
func (p *publication) replaceMulticast(fx *effects, tables func(*topo.Topo) *mcast.MFTs, wrong finding.Set) {
	if p.view == nil {
		return
	}
	v, was := *p.view, p.view
	v.MFTs = tables(v.Topo)
	v.Findings, v.FindingsMore = withMulticast(v.Findings, v.FindingsMore, wrong)
	same := func(a, b finding.Finding) bool { return a.Same(&b) }
	if v.MFTs != was.MFTs || !slices.EqualFunc(v.Findings, was.Findings, same) {
		p.publish(fx, &v)
	}
}

// replaceVPorts publishes other vPorts of the same subnet, with their findings; t is nil where only what is said of
// them may be other. Without a subnet it does nothing.
func (p *publication) replaceVPorts(fx *effects, t *topo.Topo, said view.VPorts, wrong finding.Set) {
	if p.view == nil {
		return
	}
	v, was := *p.view, p.view
	if v.VPorts = said; t != nil {
		v.Topo = t
	}
	v.Findings, v.FindingsMore = withVPorts(v.Findings, v.FindingsMore, wrong)
	same := func(a, b finding.Finding) bool { return a.Same(&b) }
	if v.Topo != was.Topo || v.VPorts != was.VPorts || !slices.EqualFunc(v.Findings, was.Findings, same) {
		p.publish(fx, &v)
	}
}

// addSM publishes another manager of the same subnet.
func (p *publication) addSM(fx *effects, sm view.SM) {
	if p.view != nil {
		v := *p.view
		v.SMs = append(slices.Clone(v.SMs), sm)
		others := v.SMs[1:]
		slices.SortFunc(others, func(a, b view.SM) int { return cmp.Compare(a.GUID, b.GUID) })
		p.publish(fx, &v)
	}
}

// replaceTopo publishes other descriptions of the same subnet; it does nothing without one.
func (p *publication) replaceTopo(fx *effects, t *topo.Topo) {
	if p.view != nil {
		v := *p.view
		v.Topo = t
		p.publish(fx, &v)
	}
}

// withdraw ends the answers.
func (p *publication) withdraw(fx *effects) {
	p.view = nil
	fx.do(Publish{})
}

// publishFirst publishes the first view of a term as soon as our own port is ACTIVE, without waiting for the end of the
// program, which an unresponsive device delays. In a subnet in use this is before any Set, so before the hosts learn
// that this manager is their master: Linux then asks for its paths again, and drops packets until it has them.
// Otherwise it is when the port has answered the Set that activates it: by then all tables and LIDs are written, and
// hosts whose ports become ACTIVE next send their requests at once.
func (c *Core) publishFirst(p *sweep.Program) {
	r := p.Plan()
	self := r.Topo.Self
	if up := r.Topo.IsBasePort0(self) ||
		r.Topo.Ports[self].Info.PortState() == smp.PortActive; c.published.view != nil || r.Err != nil || !up {
		return
	}
	seen := *r
	seen.Topo = r.Topo.Clone() // replies to Sets change the other
	out := &sweep.Outcome{SweepPlan: &seen, Found: r.Found()}
	c.publish(out, programFindings(out, c.cfg.Names))
}

// publish answers questions from an outcome, with what its program found.
func (c *Core) publish(out *sweep.Outcome, program []finding.Finding) {
	last := c.published.view
	v := &view.View{
		Topo: out.Topo, LIDs: out.LIDs, Tables: out.InForce(), Partitions: out.Partitions, Ports: out.Ports(),
		MFTs: c.multicast.MFTs(out.Topo),
		Subnet: view.Subnet{Prefix: out.Values.Prefix, SubnetTimeOut: out.Values.SubnetTimeOut, SAKey: c.cfg.SAKey,
			Trust: c.cfg.Trust, RespTimeValue: 16,
			MaxRate: c.cfg.MaxRate, NoMulticast: c.cfg.NoMulticast},
		SMs:          []view.SM{c.elect.self(out.LIDs.Base[out.Topo.Self], c.sent)},
		Routing:      RoutingOf(out.SweepPlan),
		PrefixRoutes: c.cfg.PrefixRoutes, SLs: c.sls(), QoS: c.cfg.QoS, PortGroups: c.cfg.PortGroups,
	}
	v.Findings, v.FindingsMore = c.logged.viewFindings(out, program)
	v.Drained, v.Cabling = out.Drained, out.Cabling
	v.Absent = make([]view.Absent, 0, len(out.Absent))
	for _, k := range out.Absent {
		v.Absent = append(v.Absent, view.Absent{Port: k.Port, Base: k.Base, LMC: k.LMC, Since: k.Absent})
	}
	v.Left = c.sweeps.sweeper.MKeys().Left()
	v.VPorts = c.vPortsView()
	for i := range out.Found.SMs {
		o := &out.Found.SMs[i]
		v.SMs = append(v.SMs, viewOf(&o.Info, o.LID))
	}
	if last != nil && v.Topo == last.Topo {
		shareSame(v, last)
	}
	others := v.SMs[1:]
	sort.Slice(others, func(i, j int) bool { return others[i].GUID < others[j].GUID })
	logPortChanges(&c.fx, c.cfg.Names, last, v)
	c.descriptions.wantNew(last, v)
	c.fx.table.SetYields(true) // from now on hosts ask for paths
	c.published.publish(&c.fx, v)
}

// shareSame lets a view share the parts that equal those of the last view with the same Topo, so that users of views
// need not compare them.
func shareSame(v, last *view.View) {
	if v.LIDs != last.LIDs && slices.Equal(v.LIDs.Base, last.LIDs.Base) && slices.Equal(v.LIDs.LMC, last.LIDs.LMC) {
		v.LIDs = last.LIDs
	}
	if v.Tables != last.Tables && v.Tables.Top == last.Tables.Top && v.Tables.SLs.Equal(last.Tables.SLs) &&
		slices.EqualFunc(v.Tables.LFT, last.Tables.LFT, bytes.Equal) {
		v.Tables = last.Tables
	}
}

// unpublish ends the answers: this manager is not master any more.
func (c *Core) unpublish() {
	c.fx.table.SetYields(false)
	c.descriptions.reset()
	c.proving.forget(&c.fx)
	c.awaiting.forget(&c.fx)
	c.published.withdraw(&c.fx)
	if c.cfg.Congestion.Enabled {
		c.fx.do(Congestion{})
	}
}
