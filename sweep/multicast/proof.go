package multicast

import (
	"context"
	"slices"

	"ibsm/routing/creditloop"
	"ibsm/topo"
)

// Proof is the task that searches the routes in force for a credit loop together with multicast trees changed by joins
// since the sweep: a sweep proves routes with the trees of its time, and joins do not wait for a proof. It runs outside
// the core, on values that no other goroutine writes.
type Proof struct {
	hosts  *creditloop.Report // of packets between hosts, from the sweep
	search creditloop.In      // that found it, but for Since and the trees
}

// Proved is its result. It is immutable.
type Proved struct {
	Topo *topo.Topo
	Loop []creditloop.Channel // that multicast trees have closed; nil if there is none
}

// NewProof is the task for the routes and trees of a search, and the report of packets between hosts on these routes.
func NewProof(hosts *creditloop.Report, search creditloop.In) *Proof {
	search.Workers = 1 // so that a sweep beside it is as fast as alone
	return &Proof{hosts, search}
}

// WithTrees is the task for the same routes with other trees.
func (j *Proof) WithTrees(trees Trees) *Proof {
	n := *j
	n.search.Multicast = trees.Groups(j.search.Topo)
	return &n
}

// SameTrees reports whether two tasks for the same routes have the same trees.
func (j *Proof) SameTrees(o *Proof) bool { return slices.Equal(j.search.Multicast, o.search.Multicast) }

// Run searches. A cancelled context gives nil.
func (j *Proof) Run(ctx context.Context) *Proved {
	in := j.search
	in.Since = j.hosts
	r, err := creditloop.Find(ctx, in)
	if err != nil || ctx.Err() != nil {
		return nil
	}
	return &Proved{in.Topo, r.Loop}
}
