package server

import (
	"fmt"
	"iter"
	"slices"
	"strconv"
	"time"

	"ibsm/ctl"
	"ibsm/mad"
	"ibsm/partitions"
	"ibsm/partitions/callers"
	"ibsm/registry"
	"ibsm/rights"
	"ibsm/topo"
)

// partitionLister describes partitions for clients. It is for one request.
type partitionLister struct {
	*subnet // nil where the subnet is not known
	state   *registry.State
	facts   callers.Facts
	members bool                       // are shown
	holders map[mad.PKey][]topo.EndIdx // by P_Key of the file: ports and vPorts that have it, or will
}

func (d *Server) partitionLister(members bool) (*partitionLister, error) {
	shell, rules, err := d.callerRules()
	if err != nil {
		return nil, err
	}
	state := shell.Registered()
	if state == nil {
		return nil, errNoPort
	}
	return newPartitionLister(d.subnet(), state, rules.File, members), nil
}

func newPartitionLister(s *subnet, state *registry.State, file *partitions.Policy, members bool) *partitionLister {
	l := &partitionLister{subnet: s, state: state, members: members, facts: callers.Facts{File: file}}
	if l.subnet == nil {
		return l
	}
	l.facts.Tables, l.facts.Topo, l.facts.Hosts = l.view.Partitions, l.view.Topo, l.hostIndex
	l.holders = map[mad.PKey][]topo.EndIdx{}
	for _, p := range l.view.Topo.Ends() {
		for _, k := range l.tableOf(p).Keys() {
			// the two keys of a partition are one port
			if ports := l.holders[k.Base()]; k.Valid() && (len(ports) == 0 || ports[len(ports)-1] != p) {
				l.holders[k.Base()] = append(ports, p)
			}
		}
	}
	return l
}

// file are the partitions of the partition file.
func (l *partitionLister) file() []partitions.Partition {
	if l.facts.File == nil {
		return nil
	}
	return l.facts.File.Partitions
}

// ofCaller describes a partition of callers.
func (l *partitionLister) ofCaller(p *registry.Partition) *ctl.Partition {
	out := &ctl.Partition{Name: p.Name, PKey: p.Key.String(), Origin: ctl.OfCaller, Note: p.Note, IPoIB: p.IPoIB,
		MTU: p.MTU.Bytes(), Rate: p.Rate.Gbps(), SL: p.SL, Scope: p.Scope, ETag: ctl.ETag(p.Number), Number: p.Number,
		Since: time.Unix(p.Since, 0).UTC(), Held: l.facts.Held(p), States: map[string]int{},
		DeleteWhenEmpty: p.DeleteWhenEmpty}
	if p.QKey != 0 {
		out.QKey = fmt.Sprintf("0x%04x", p.QKey)
	}
	rows := l.facts.Rows(l.state, p)
	for state, n := range callers.Summary(rows) {
		out.States[state.String()] = n
	}
	out.Ready = out.Held == "" && l.subnet != nil && l.policyNumber() >= p.Number && callers.Ready(rows)
	if l.members {
		out.Members = l.membersOf(rows)
	}
	return out
}

// membersOf are the members of which there are rows.
func (l *partitionLister) membersOf(rows []callers.Row) []ctl.PartitionMember {
	all := []ctl.PartitionMember{}
	for len(rows) > 0 {
		n := 1
		for n < len(rows) && rows[n].MemberKey == rows[0].MemberKey {
			n++
		}
		worst := slices.MaxFunc(rows[:n], func(a, b callers.Row) int { return int(a.State) - int(b.State) })
		m := ctl.PartitionMember{Host: worst.Host, Membership: partitions.Membership(worst.Membership).String(),
			Index0: worst.Index0, State: worst.State.String(), Why: worst.Why, Since: time.Unix(worst.Since, 0).UTC()}
		if worst.Host == "" {
			m.GUID = worst.Port.String()
		}
		for i := range rows[:n] {
			row := &rows[i]
			if row.At == topo.None {
				continue
			}
			port := l.memberPort(row.At)
			if n > 1 {
				port.State, port.Why = row.State.String(), row.Why
			}
			m.Ports = append(m.Ports, port)
		}
		all, rows = append(all, m), rows[n:]
	}
	return all
}

func (l *partitionLister) memberPort(e topo.EndIdx) ctl.MemberPort {
	t := l.view.Topo
	port := &t.Ports[t.Physical(e)]
	desc := t.Nodes[port.Node].Desc.String()
	m := ctl.MemberPort{GUID: t.EndGUID(e).String(), Host: ctl.HostName(desc), Desc: desc, Num: port.Num}
	m.VPort = indexOf(t, e)
	return m
}

// ofFile describes a partition of the file.
func (l *partitionLister) ofFile(p *partitions.Partition) *ctl.Partition {
	out := &ctl.Partition{Name: p.Name, PKey: p.Key.String(), Origin: ctl.OfFile, IPoIB: p.IPoIB, SL: p.SL,
		States: map[string]int{}}
	if p.Position.Line > 0 {
		out.Position = p.Position.String()
	}
	if all := p.OfHosts(); all != 0 {
		out.All = all.String()
	}
	if len(p.Groups) > 0 {
		g := &p.Groups[0]
		if out.QKey = fmt.Sprintf("0x%04x", g.QKey); !g.AnyMTU {
			out.MTU = g.MTU.Bytes()
		}
		if !g.AnyRate {
			out.Rate = g.Rate.Gbps()
		}
	}
	if l.members {
		out.Members = []ctl.PartitionMember{}
	}
	for _, at := range l.holders[p.Key] {
		m := l.holder(at, p.Key)
		out.States[m.State]++
		if l.members {
			out.Members = append(out.Members, m)
		}
	}
	out.Ready = l.subnet != nil && out.States[callers.Pending.String()] == 0
	for m := range l.unseen(p) {
		out.States[m.State]++
		if l.members {
			out.Members = append(out.Members, m)
		}
	}
	return out
}

// unseen are the members of a partition of the file whose GUIDs or names nothing has. Nobody waits for them.
func (l *partitionLister) unseen(p *partitions.Partition) iter.Seq[ctl.PartitionMember] {
	return func(yield func(ctl.PartitionMember) bool) {
		if l.subnet == nil {
			return
		}
		listed := map[string]bool{}
		for i := range p.Members {
			m := &p.Members[i]
			out := ctl.PartitionMember{Membership: m.Membership.String(), Index0: m.Index0,
				State: callers.Pending.String()}
			switch m.Who {
			case partitions.OnePort:
				if l.portBehind(m.Port) != topo.None {
					continue
				}
				out.GUID, out.Why = m.Port.String(), callers.Unseen
			case partitions.Hosts:
				if ports, claimed := l.facts.Find(m.Name); len(ports)+len(claimed) > 0 {
					continue
				}
				out.Host, out.Why = m.Name, callers.UnseenHost
			default:
				continue
			}
			if key := out.GUID + out.Host; !listed[key] {
				listed[key] = true
				if !yield(out) {
					return
				}
			}
		}
	}
}

// holder is a port or vPort that is a member of a partition of the file.
func (l *partitionLister) holder(p topo.EndIdx, key mad.PKey) ctl.PartitionMember {
	held, wanted := l.view.Topo.EndPKeys(p), l.tableOf(p)
	full, limited := wanted.Has(key|mad.FullMember), wanted.Has(key)
	membership := partitions.Full
	if limited {
		membership = partitions.Limited
		if full {
			membership = partitions.Both
		}
	}
	state, why := callers.Applied, ""
	if full && !held.Has(key|mad.FullMember) || limited && !held.Has(key) {
		state, why = callers.Pending, "the port does not have the P_Key yet"
	}
	return ctl.PartitionMember{GUID: l.view.Topo.EndGUID(p).String(), Membership: membership.String(),
		Index0: wanted.Key(0).Base() == key, State: state.String(), Why: why,
		Ports: []ctl.MemberPort{l.memberPort(p)}}
}

// partitionFilter selects partitions.
type partitionFilter struct {
	*partitionLister
	by      *rights.User
	name    string
	key     mad.PKey               // 0 for any
	members [][]registry.MemberKey // the partition has one of each
	ports   [][]topo.EndIdx        // likewise one of the file
}

// filter is the filter of a query.
func (l *partitionLister) filter(q *ctl.PartitionQuery) (*partitionFilter, error) {
	f := &partitionFilter{partitionLister: l, by: q.By, name: q.Name}
	if q.PKey != "" {
		n, err := strconv.ParseUint(q.PKey, 0, 16)
		if f.key = mad.PKey(n).Base(); err != nil || f.key == 0 {
			return nil, fmt.Errorf("%w: parameter pkey=%q: expected a number such as 0x2fb", ctl.ErrBadRequest, q.PKey)
		}
	}
	if q.GUID != "" {
		guid, err := mad.ParseGUID(q.GUID)
		if err != nil {
			return nil, fmt.Errorf("%w: parameter guid: %w", ctl.ErrBadRequest, err)
		}
		f.member(registry.MemberKey{Port: guid})
	}
	if q.Host != "" {
		f.member(registry.MemberKey{Host: q.Host})
	}
	return f, nil
}

// member selects partitions with a port, or with a host or one of its ports.
func (f *partitionFilter) member(k registry.MemberKey) {
	keys, ports := []registry.MemberKey{k}, []topo.EndIdx(nil)
	if f.subnet != nil {
		ports = f.memberPorts(&k)
		for _, p := range ports {
			keys = append(keys, registry.MemberKey{Port: f.view.Topo.EndGUID(p)})
			if k.Host == "" && f.view.Topo.VPortOf(p) == topo.None { // of a vPort its host's name says nothing
				host := ctl.HostName(f.view.Topo.Nodes[f.view.Topo.Ports[p].Node].Desc.String())
				keys = append(keys, registry.MemberKey{Host: host})
			}
		}
	}
	f.members, f.ports = append(f.members, keys), append(f.ports, ports)
}

func (f *partitionFilter) selects(name string, key mad.PKey) bool {
	return (f.name == "" || f.name == name) && (f.key == 0 || f.key == key) && f.by.Partition(name, key)
}

func (f *partitionFilter) caller(p *registry.Partition) bool {
	return f.selects(p.Name, p.Key) && !slices.ContainsFunc(f.members, func(keys []registry.MemberKey) bool {
		return !slices.ContainsFunc(keys, func(k registry.MemberKey) bool {
			k.Key = p.Key
			_, is := f.state.PartitionMember(k)
			return is
		})
	})
}

func (f *partitionFilter) file(p *partitions.Partition) bool {
	return f.selects(p.Name, p.Key) && !slices.ContainsFunc(f.ports, func(ports []topo.PortIdx) bool {
		return !slices.ContainsFunc(ports, func(at topo.PortIdx) bool { return slices.Contains(f.holders[p.Key], at) })
	})
}
