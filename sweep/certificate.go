package sweep

import (
	"context"
	"errors"
	"slices"

	"ibsm/routing"
	"ibsm/routing/certificate"
	"ibsm/routing/creditloop"
	"ibsm/topo"
)

// Certificate is what was proved of routes that are in force, beyond what is proved before they are
// written. It is immutable.
type Certificate struct {
	State CertificateState
	// Loop is, with HostsCertified, a credit loop among all packets; with NoCertificate one that multicast
	// trees have closed since the sweep.
	Loop []creditloop.Channel
	// Violation is, with Violated, the step of packets by which the proof is wrong.
	Violation *certificate.Violation
	Channels  int // directions of links between switches, each on as many lanes as are in use

	all  *creditloop.Report // of all packets; nil if it was not made
	task *CertificateTask
}

// CertificateState is what came of it.
type CertificateState uint8

// States.
const (
	NoCertificate  CertificateState = iota // packets between hosts have a credit loop
	HostsCertified                         // those have none, but packets from and to switches have
	Certified                              // no packets have
	Violated                               // the check disagrees with the proof: one of both is wrong
)

func (s CertificateState) String() string {
	return [...]string{"none", "hosts", "all", "violated"}[s]
}

// Topo is the subnet that it is about.
func (c *Certificate) Topo() *topo.Topo { return c.task.topo }

// Proves reports whether the certificate is what a task would come to.
func (c *Certificate) Proves(j *CertificateTask) bool { return j.Same(c.task) }

// LIDs are those of the subnet.
func (c *Certificate) LIDs() *topo.LIDs { return c.task.lids }

// CertificateTask proves the routes in force once more: the numbers of the channels are checked by
// code that shares nothing with what found them, and the packets from and to switches, such as those of
// performance management, are searched for a credit loop too. It runs outside the core, on values that
// nobody writes.
type CertificateTask struct {
	topo   *topo.Topo
	lids   *topo.LIDs
	tables *routing.Tables
	hosts  *creditloop.Report // of packets between hosts, from the sweep
	search creditloop.In      // that found it, but for Since; with the multicast trees of now
	trees  treesSince
	since  *Certificate // an earlier one; nil for none
}

// treesSince is whether multicast trees are as they were in the sweep.
type treesSince uint8

const (
	sameTrees treesSince = iota
	otherTrees
)

// Certificate is the task for the routes that a sweep left; nil if it has left none. since is the last
// certificate, nil for none.
func (o *Outcome) Certificate(since *Certificate) *CertificateTask {
	d := &o.delta
	if o.Tables == nil || d.credit == nil || d.report == nil {
		return nil
	}
	// One worker, so that a sweep beside it is as fast as alone.
	search := proofOf(o.Topo, o.LIDs, d.report.Forwarding(), o.Tables.SLs, d.rules)
	search.Workers = 1
	search.Multicast = d.trees
	return &CertificateTask{topo: o.Topo, lids: o.LIDs, tables: o.Tables, hosts: d.credit, search: search, since: since}
}

// WithTrees is the task for the same routes with the multicast trees that there are now. since is the last
// certificate.
func (j *CertificateTask) WithTrees(m *Multicast, since *Certificate) *CertificateTask {
	n := &CertificateTask{topo: j.topo, lids: j.lids, tables: j.tables, hosts: j.hosts, search: j.search, since: since}
	now := treesOf(m)
	if groups := now.groups(j.topo); !slices.Equal(groups, j.search.Multicast) {
		n.search.Multicast, n.trees = groups, otherTrees
	}
	return n
}

// SameSubnet reports whether the subnet is as the last sweep left it.
func (c *SweepPlan) SameSubnet() bool { return c.compared != otherTopo }

// Same reports whether two tasks prove the same.
func (j *CertificateTask) Same(o *CertificateTask) bool {
	a, b := &j.search, &o.search
	return j.topo == o.topo && slices.Equal(j.lids.Owner, o.lids.Owner) && a.SLs == b.SLs && a.Maps == b.Maps && slices.Equal(a.Lanes, b.Lanes) &&
		slices.Equal(a.Multicast, b.Multicast) && a.Forwarding.Changed(b.Forwarding).Empty()
}

// Run makes the certificate. A cancelled context gives nil.
func (j *CertificateTask) Run(ctx context.Context) *Certificate {
	since := j.since
	j.since = nil // or each certificate would keep all before it
	if since != nil && j.Same(since.task) {
		return since
	}
	c, hosts := &Certificate{task: j}, j.hosts
	if hosts.Loop != nil {
		return c
	}
	in := j.search
	var err error
	if j.trees == otherTrees {
		in.Since = hosts
		if hosts, err = creditloop.Find(ctx, in); err != nil {
			return nil
		}
		if c.Loop = hosts.Loop; c.Loop != nil {
			return c
		}
	}
	if c.Channels = hosts.Channels(); !j.check(ctx, c, hosts, true) {
		return unless(ctx, c)
	}
	if in.Traffic, in.Since = creditloop.All, nil; since != nil {
		in.Since = since.all
	}
	if c.all, err = creditloop.Find(ctx, in); err != nil {
		return nil
	}
	if c.Loop = c.all.Loop; c.Loop != nil {
		c.State = HostsCertified
	} else if j.check(ctx, c, c.all, false) {
		c.State = Certified
	}
	return unless(ctx, c)
}

// unless is a certificate, or nil for one that was cancelled while it was made.
func unless(ctx context.Context, c *Certificate) *Certificate {
	if ctx.Err() != nil {
		return nil
	}
	return c
}

// check has the numbers of a report checked, and reports whether they are right.
func (j *CertificateTask) check(ctx context.Context, c *Certificate, r *creditloop.Report, hosts bool) bool {
	err := certificate.Check(ctx, certificate.In{
		Topo: j.topo, LIDs: j.lids, Tables: j.tables, Maps: j.search.Maps, Groups: j.search.Multicast, Hosts: hosts, Lanes: lanesOfLinks(j.topo, j.search.Lanes), Number: r.Number, Workers: j.search.Workers,
	})
	if errors.As(err, &c.Violation) {
		c.State = Violated
	}
	return err == nil
}

// lanesOfLinks are numbers of lanes, where a port that has none has its peer's.
func lanesOfLinks(t *topo.Topo, lanes []uint8) []uint8 {
	lanes = slices.Clone(lanes)
	for p := range lanes {
		if peer := t.Ports[p].Peer; lanes[p] == 0 && peer != topo.None {
			lanes[p] = lanes[peer]
		}
	}
	return lanes
}
