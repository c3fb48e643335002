package sweep

import (
	"context"
	"slices"

	"ibsm/routing/creditloop"
	"ibsm/topo"
)

// TreeProof is the task that searches the routes in force for a credit loop together with the multicast trees that joins have made since the sweep:
// a sweep proves routes with the trees of its time, and joins wait for no proof. It runs outside the core, on values that nobody writes.
type TreeProof struct {
	topo   *topo.Topo
	hosts  *creditloop.Report // of packets between hosts, from the sweep
	search creditloop.In      // that found it, but for Since and the trees
}

// TreesProved is its result. It is immutable.
type TreesProved struct {
	Topo *topo.Topo
	Loop []creditloop.Channel // that multicast trees have closed; nil if there is none
}

// TreeProof is the task for the routes that a sweep left, with its trees; nil if it has left none, or if they have a credit loop
// without later trees, which the sweep reports.
func (o *Outcome) TreeProof() *TreeProof {
	d := &o.delta
	if o.Tables == nil || d.credit == nil || d.report == nil || d.credit.Loop != nil {
		return nil
	}
	search := proofOf(o.Topo, o.LIDs, d.report.Forwarding(), o.Tables.SLs, d.rules)
	search.Workers = 1 // so that a sweep beside it is as fast as alone
	search.Multicast = d.trees
	return &TreeProof{o.Topo, d.credit, search}
}

// WithTrees is the task for the same routes with the multicast trees that there are now.
func (j *TreeProof) WithTrees(m *Multicast) *TreeProof {
	n := *j
	now := treesOf(m)
	n.search.Multicast = now.groups(j.topo)
	return &n
}

// SameTrees reports whether two tasks for the same routes have the same trees.
func (j *TreeProof) SameTrees(o *TreeProof) bool {
	return slices.Equal(j.search.Multicast, o.search.Multicast)
}

// SameSubnet reports whether the subnet is as the last sweep left it.
func (c *SweepPlan) SameSubnet() bool { return c.compared != otherTopo }

// Run searches. A cancelled context gives nil.
func (j *TreeProof) Run(ctx context.Context) *TreesProved {
	in := j.search
	in.Since = j.hosts
	r, err := creditloop.Find(ctx, in)
	if err != nil || ctx.Err() != nil {
		return nil
	}
	return &TreesProved{j.topo, r.Loop}
}
