package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"time"

	"ibsm/conf/diag"
	"ibsm/ctl"
	"ibsm/mad"
	"ibsm/manager"
	"ibsm/partitions"
	"ibsm/partitions/callers"
	"ibsm/registry"
	"ibsm/rights"
	"ibsm/sa"
	"ibsm/topo"
	"ibsm/view"
)

// CallerRules are those of orders about partitions, as the configuration has them.
type CallerRules struct {
	callers.Rules      // without Claimed and Now
	Mirrored      bool // as in sa.PartitionOrder
}

// partitionPatience is how long an order may wait for its answer: clients give up after ten seconds.
const partitionPatience = 8 * time.Second

// errNoPort is the error that there is no manager.
var errNoPort = fmt.Errorf("%w: the manager is waiting for its port", ctl.ErrNotNow)

// callerRules are the rules in force, with the manager that they are for.
func (d *Server) callerRules() (*manager.Shell, *CallerRules, error) {
	shell := d.shell.Load()
	if shell == nil || d.cfg.CallerRules == nil {
		return nil, nil, errNoPort
	}
	rules := d.cfg.CallerRules()
	if rules == nil {
		return nil, nil, errNoPort
	}
	return shell, rules, nil
}

// ChangePartition carries an order out.
func (d *Server) ChangePartition(o *ctl.PartitionOrder) (*ctl.PartitionChanged, error) {
	shell, rules, err := d.callerRules()
	if err != nil {
		return nil, err
	}
	s := d.subnet()
	if s != nil {
		rules.Claimed = s.claimed
	}
	var before, after *ctl.PartitionValues
	answers := make(chan sa.PartitionAnswer, 1)
	shell.Order(sa.PartitionOrder{Mirrored: rules.Mirrored, Answer: func(a sa.PartitionAnswer) { answers <- a },
		Decide: func(state *registry.State, now int64) (*callers.Done, error) {
			rules.Now, rules.User = now, cmp.Or(o.By, new(rights.User))
			done, err := o.Decide(&rules.Rules, state)
			if err == nil && o.Strict {
				err = s.strict(state, done)
			}
			if err == nil {
				before, after = ctl.PartitionChange(state, done)
			}
			return done, err
		}})
	select {
	case a := <-answers:
		done, err := Changed(&a)
		if done != nil {
			done.Before, done.After = before, after
		}
		return done, err
	case <-time.After(partitionPatience):
		return nil, fmt.Errorf("%w: the manager does not answer: the partition may have been changed or not", ctl.ErrNotNow)
	}
}

// Changed is the reply to an order that was answered. The error is a ctl.ErrNotNow where the same order may succeed
// later, or with another manager.
func Changed(a *sa.PartitionAnswer) (*ctl.PartitionChanged, error) {
	var out *ctl.PartitionChanged
	if a.Done != nil {
		p := &a.Done.Partition
		out = &ctl.PartitionChanged{Name: p.Name, Created: a.Done.Created, Deleted: a.Done.Deleted,
			Changed: len(a.Done.Changes) > 0, Mirrored: !a.Unmirrored}
		if p.Key != 0 {
			out.PKey, out.Number, out.Since = p.Key.String(), p.Number, time.Unix(p.Since, 0).UTC()
		}
		for _, c := range a.Done.Changes {
			if e, is := c.(registry.PutPartitionEdit); is {
				out.Put, out.Removed = int(e.Put), int(e.Removed)
			}
		}
		if p.Key != 0 && !out.Deleted {
			out.ETag = ctl.ETag(p.Number)
		}
	}
	for _, busy := range []error{sa.ErrNotMaster, sa.ErrNotMirrored, sa.ErrNotStored, sa.ErrBusy} {
		if errors.Is(a.Err, busy) {
			return out, fmt.Errorf("%w: %w", ctl.ErrNotNow, a.Err)
		}
	}
	return out, a.Err
}

// claimed is the NodeDescription that two nodes have of a host; "" for none.
func (s *subnet) claimed(host string) string {
	if _, claimed := s.hostIndex().Find(host); len(claimed) == 0 {
		return ""
	}
	t, seen := s.view.Topo, map[string]bool{}
	for i := range t.Nodes {
		desc := strings.TrimSpace(t.Nodes[i].Desc.String())
		if t.Nodes[i].Type != mad.CA || ctl.HostName(desc) != host {
			continue
		}
		if seen[desc] {
			return desc
		}
		seen[desc] = true
	}
	return host
}

// memberPorts are the ports that a member is now, or the vPort.
func (s *subnet) memberPorts(k *registry.MemberKey) (ports []topo.EndIdx) {
	if k.Host != "" {
		ports, _ = s.hostIndex().Find(k.Host)
		return ports
	}
	if p := s.view.Topo.FindPort(k.Port); p != topo.None {
		ports = []topo.PortIdx{p}
	} else if v := s.view.Topo.FindVPort(k.Port); v != topo.None {
		ports = []topo.EndIdx{s.view.Topo.EndOf(v)}
	}
	return ports
}

// strict refuses changes with a host that is not known, or a member whose P_Key table is full.
func (s *subnet) strict(state *registry.State, done *callers.Done) error {
	if s == nil {
		return sa.ErrNotMaster
	}
	var newer []mad.PKey // P_Keys of partitions that the tables do not have yet
	for p := range state.Partitions() {
		if p.Key != done.Partition.Key && p.Number > s.policyNumber() {
			newer = append(newer, p.Key)
		}
	}
	for _, c := range done.Changes {
		c, is := c.(registry.PutPartitionMember)
		if !is {
			continue
		}
		ports := s.memberPorts(&c.MemberKey)
		if len(ports) == 0 && c.Host != "" {
			return &callers.Refusal{Kind: callers.Conflict, Field: "host",
				Text: fmt.Sprintf("strict: no host named %q has been seen", c.Host)}
		}
		for _, p := range ports {
			size := s.tableSize(p)
			if size > 0 && s.keysWith(state, p, &c.PartitionMember, newer) > size {
				return &callers.Refusal{Kind: callers.Conflict, Field: "members",
					Text: fmt.Sprintf("strict: the P_Key table of port %v is full: it has %d entries",
						s.view.Topo.EndGUID(p), size)}
			}
		}
	}
	return nil
}

// policyNumber is that of the policy of the tables; 0 if there is none.
func (s *subnet) policyNumber() uint64 {
	if parts := s.view.Partitions; parts != nil && parts.Policy != nil {
		return parts.Policy.Number
	}
	return 0
}

// tableSize is how many P_Keys a port or vPort has room for; 0 where that is not known.
func (s *subnet) tableSize(e topo.EndIdx) int {
	if v := s.view.Topo.VPortOf(e); v != topo.None {
		return s.view.Topo.VPorts.At(v).PKeyTableSize()
	}
	port := &s.view.Topo.Ports[e]
	return s.view.Topo.Nodes[port.Node].PKeyTableSize(port.Num)
}

// tableOf is the P_Key table that a port or vPort has, or is about to have.
func (s *subnet) tableOf(e topo.EndIdx) *topo.PKeyTable {
	v := s.view.Topo.VPortOf(e)
	if v == topo.None {
		return s.view.Partitions.Table(s.view.Topo, e)
	}
	if want := s.vPortTables(); want != nil && want[v] != nil {
		return want[v]
	}
	return s.view.Topo.EndPKeys(e)
}

// keysWith is how many entries the table of a port or vPort needs if it becomes a member.
func (s *subnet) keysWith(state *registry.State, p topo.EndIdx, m *registry.PartitionMember, newer []mad.PKey) int {
	table := s.tableOf(p)
	n := 1
	if partitions.Membership(m.Membership) == partitions.Both && s.view.Partitions != nil &&
		s.view.Partitions.Settings.AllowBoth {
		n = 2
	}
	for _, k := range table.Keys() {
		if k.Valid() && k.Base() != m.Key {
			n++
		}
	}
	host := ""
	if s.view.Topo.VPortOf(p) == topo.None { // the name of its host says nothing of a vPort
		host = ctl.HostName(s.view.Topo.Nodes[s.view.Topo.Ports[p].Node].Desc.String())
	}
	for _, key := range newer {
		_, byGUID := state.PartitionMember(registry.MemberKey{Key: key, Port: s.view.Topo.EndGUID(p)})
		byHost := false
		if host != "" {
			_, byHost = state.PartitionMember(registry.MemberKey{Key: key, Host: host})
		}
		if _, has := table.Find(key); (byGUID || byHost) && !has {
			n++
		}
	}
	return n
}

// Partition is a partition with its members, when it is ready if that is awaited.
func (d *Server) Partition(ctx context.Context, by *rights.User, name string, ready bool) (*ctl.Partition, error) {
	for {
		d.mu.Lock()
		next := d.nextView
		d.mu.Unlock()
		p, err := d.partitionNamed(by, name)
		if err != nil || !ready || p.Ready {
			return p, err
		}
		select {
		case <-next:
		case <-ctx.Done():
			return p, nil
		}
	}
}

// partitionNamed is the partition with a name: a caller's, or one of the file.
func (d *Server) partitionNamed(by *rights.User, name string) (*ctl.Partition, error) {
	l, err := d.partitionLister(true)
	if err != nil {
		return nil, err
	}
	if p, is := l.state.PartitionNamed(name); is && by.Partition(p.Name, p.Key) {
		return l.ofCaller(&p), nil
	}
	var found *partitions.Partition
	var names []string
	for i := range l.file() {
		p := &l.file()[i]
		if !by.Partition(p.Name, p.Key) {
			continue
		}
		names = append(names, p.Name)
		switch {
		case p.Name != name:
		case found != nil:
			return nil, fmt.Errorf(
				"%w: several partitions of the file are named %q: GET /v1/partition?name=NAME&members=1 lists them",
				ctl.ErrBadRequest, name)
		default:
			found = p
		}
	}
	if found != nil {
		return l.ofFile(found), nil
	}
	for p := range l.state.Partitions() {
		if by.Partition(p.Name, p.Key) {
			names = append(names, p.Name)
		}
	}
	return nil, fmt.Errorf("%w: there is no partition %q%s", ctl.ErrNotFound, name, diag.Meant(name, names))
}

// Partitions are the partitions of the file and of callers that a query selects.
func (d *Server) Partitions(q *ctl.PartitionQuery) (iter.Seq[*ctl.Partition], error) {
	l, err := d.partitionLister(q.Members)
	if err != nil {
		return nil, err
	}
	return l.list(q)
}

// ShowPartitions are the partitions of a file and of callers that a query selects, in a view that no manager has
// published; nil for none, as at a standby.
func ShowPartitions(v *view.View, state *registry.State, file *partitions.Policy, q *ctl.PartitionQuery) (
	iter.Seq[*ctl.Partition], error) {
	var s *subnet
	if v != nil {
		s = newSubnet(v, state)
	}
	return newPartitionLister(s, state, file, q.Members).list(q)
}

// list are the partitions that a query selects.
func (l *partitionLister) list(q *ctl.PartitionQuery) (iter.Seq[*ctl.Partition], error) {
	selects, err := l.filter(q)
	if err != nil {
		return nil, err
	}
	return func(yield func(*ctl.Partition) bool) {
		if q.Origin != ctl.OfCaller {
			for i := range l.file() {
				p := &l.file()[i]
				if selects.file(p) && !yield(l.ofFile(p)) {
					return
				}
			}
		}
		if q.Origin == ctl.OfFile {
			return
		}
		for p := range l.state.Partitions() {
			if selects.caller(&p) && !yield(l.ofCaller(&p)) {
				return
			}
		}
	}, nil
}

// ExportPartitions is the partitions of callers as partitions.conf.
func (d *Server) ExportPartitions() ([]byte, error) {
	l, err := d.partitionLister(false)
	if err != nil {
		return nil, err
	}
	return callers.Export(l.state), nil
}
