package manager

import (
	"bytes"
	"slices"
	"sort"

	"ibsm/mad/smp"
	"ibsm/sweep"
	"ibsm/view"
)

// serveSoon answers the hosts of a subnet in use before they are told that this manager is
// their master: Linux asks for its paths anew then, and drops packets until it has them.
func (c *Core) serveSoon(r *sweep.Computed) {
	if c.view != nil || r.Err != nil || r.Topo.Ports[r.Topo.Self].Info.PortState() != smp.PortActive {
		return
	}
	found := *r.Topo // as it was: replies to Sets change the other
	found.Nodes, found.Ports = slices.Clone(found.Nodes), slices.Clone(found.Ports)
	seen := *r
	seen.Topo = &found
	c.publish(&sweep.Outcome{Computed: &seen, Found: c.sweeper.Found()})
}

// publish makes the outcome what questions are answered from.
func (c *Core) publish(out *sweep.Outcome) {
	c.gen++
	v := &view.View{
		Gen: c.gen, Topo: out.Topo, LIDs: out.LIDs, Tables: out.InForce(), Partitions: out.Partitions, MFTs: c.multicast.MFTs(out.Topo),
		Subnet: view.Subnet{Prefix: out.Values.Prefix, SubnetTimeOut: out.Values.SubnetTimeOut, SAKey: c.cfg.SAKey, RespTimeValue: 16,
			MaxRate: c.cfg.MaxRate, NoMulticast: c.cfg.NoMulticast},
		SMs:          []view.SM{c.self(out.LIDs.Base[out.Topo.Self])},
		PrefixRoutes: c.cfg.PrefixRoutes,
	}
	v.Faults, v.FaultsMore = faults(out)
	v.Absent = make([]view.Absent, 0, len(out.Absent))
	for _, k := range out.Absent {
		v.Absent = append(v.Absent, view.Absent{Port: k.Port, Base: k.Base, LMC: k.LMC, Since: k.Absent})
	}
	for i := range out.Found.SMs {
		o := &out.Found.SMs[i]
		v.SMs = append(v.SMs, rival(&o.Info, o.LID))
	}
	if c.view != nil && v.Topo == c.view.Topo {
		keepSame(v, c.view)
	}
	others := v.SMs[1:]
	sort.Slice(others, func(i, j int) bool { return others[i].GUID < others[j].GUID })
	c.comings(c.view, v)
	c.view = v
	c.table.SetYields(true) // from now on hosts ask for paths
	c.do(Publish{v})
}

// keepSame has a view share what is the same in the last one, of the same Topo: who works
// from views need not look any closer then.
func keepSame(v, last *view.View) {
	if v.LIDs != last.LIDs && slices.Equal(v.LIDs.Base, last.LIDs.Base) && slices.Equal(v.LIDs.LMC, last.LIDs.LMC) {
		v.LIDs = last.LIDs
	}
	if v.Tables != last.Tables && v.Tables.Top == last.Tables.Top && slices.EqualFunc(v.Tables.LFT, last.Tables.LFT, bytes.Equal) {
		v.Tables = last.Tables
	}
}

// unpublish ends the answers: this manager is not master any more.
func (c *Core) unpublish() {
	c.view = nil
	c.table.SetYields(false)
	c.renames = newRenames(c.renames.last)
	c.do(Publish{})
}
