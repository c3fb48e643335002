package sweep

import (
	"ibsm/sweep/device"
	"ibsm/sweep/multicast"
)

// MulticastSubnet is the subnet for the multicast tables.
func (o *Outcome) MulticastSubnet() multicast.Subnet { return o.multicastSubnet(o.devices) }

// multicastSubnet is likewise the subnet of a plan. Tables are nil if no engine routes it.
func (c *SweepPlan) multicastSubnet(devices *device.Record) multicast.Subnet {
	s := multicast.Subnet{Topo: c.Topo, Top: c.MulticastTop, Devices: devices}
	if c.Tables != nil {
		s.Trunk, s.Ranks = c.Tables.Trunk, c.Tables.Ranks
	}
	return s
}

// WithMulticast has the task of a preview also show the multicast blocks that would be
// written.
func (j *RouteTask) WithMulticast(m *multicast.Machine) *RouteTask {
	j.multicast = m.Preview(j.state.devices)
	return j
}

// WithTrees has the task also prove multicast trees.
func (j *RouteTask) WithTrees(trees multicast.Trees) *RouteTask {
	j.trees = trees
	return j
}

// TreeProof is the task for the routes that a sweep left, with its trees; nil if it has left none, or if they have a
// credit loop without later trees, which the sweep reports.
func (o *Outcome) TreeProof() *multicast.Proof {
	if o.Tables == nil {
		return nil
	}
	hosts, search, ok := o.delta.routes.TreeSearch(o.Topo, o.LIDs)
	if !ok {
		return nil
	}
	return multicast.NewProof(hosts, search)
}
