package server

import (
	"fmt"
	"iter"
	"net/netip"
	"strconv"
	"strings"

	"ibsm/ctl"
	"ibsm/mad"
	"ibsm/mad/gsi"
	"ibsm/mad/rmpp"
	"ibsm/mad/sarec"
	"ibsm/registry"
	"ibsm/sa"
	"ibsm/topo"
)

// registeredRows returns the rows of a list of SA registrations; nil for other lists.
func (s *subnet) registeredRows(l ctl.List) func(f *ctl.Filter) (iter.Seq[any], error) {
	switch l {
	case ctl.Groups:
		return s.groups
	case ctl.Members:
		return s.members
	case ctl.Services:
		return s.services
	case ctl.Subscriptions:
		return s.subscriptions
	case ctl.Refusals:
		return s.refusalRows
	case ctl.Offenders:
		return s.offenderRows
	}
	return nil
}

// none is the rows of a list without any.
func none(func(any) bool) {}

func (s *subnet) groups(*ctl.Filter) (iter.Seq[any], error) {
	if s.registered == nil {
		return none, nil
	}
	return func(yield func(any) bool) {
		for g := range s.registered.Groups() {
			row := ctl.Group{
				MGID: g.MGID.String(), MLID: g.MLID, PKey: g.PKey.String(), QKey: fmt.Sprintf("0x%08x", g.QKey),
				MTU: g.MTU.Bytes(), Rate: g.Rate.Gbps(), SL: g.SL, Members: s.registered.CountMembers(g.MGID),
				Full: s.registered.FullMembers(g.MGID), WellKnown: g.WellKnown,
			}
			if !yield(&row) {
				return
			}
		}
	}, nil
}

// refusalRows are the groups that ports could not join: the filter's group, or all.
func (s *subnet) refusalRows(f *ctl.Filter) (iter.Seq[any], error) {
	if s.refusals == nil {
		return none, nil
	}
	return func(yield func(any) bool) {
		for _, r := range s.refusals() {
			if f.Group != "" && f.Group != r.MGID.String() && f.Group != netip.AddrFrom16(r.MGID).String() {
				continue
			}
			row := ctl.Refusal{Port: r.Port.String(), MGID: r.MGID.String(), Reason: r.Cause, Count: r.Count,
				Last: r.Last}
			row.Node, row.Desc = s.nodeOf(mad.MakeGID(s.view.Subnet.Prefix, r.Port))
			if !yield(&row) {
				return
			}
		}
	}, nil
}

// members are the members of the filter's group, or of all groups.
func (s *subnet) members(f *ctl.Filter) (iter.Seq[any], error) {
	if f.Group == "" {
		return s.membersOf(nil), nil
	}
	addr, err := netip.ParseAddr(f.Group)
	if err != nil || !addr.Is6() {
		return nil, fmt.Errorf("%w: %q is not an MGID; expected a GID such as ff12:401b:ffff::ffff:ffff",
			ctl.ErrBadRequest, f.Group)
	}
	mgid := mad.GID(addr.As16())
	if s.registered == nil {
		return none, nil
	}
	if _, found := s.registered.Group(mgid); !found {
		return nil, fmt.Errorf("%w: there is no group %s", ctl.ErrNotFound, mgid)
	}
	return s.membersOf(&mgid), nil
}

func (s *subnet) membersOf(only *mad.GID) iter.Seq[any] {
	if s.registered == nil {
		return none
	}
	return func(yield func(any) bool) {
		for g := range s.registered.Groups() {
			if only != nil && g.MGID != *only {
				continue
			}
			for m := range s.registered.Members(g.MGID) {
				row := ctl.Member{MGID: m.MGID.String(), Port: m.Port.String(), State: joinStates(m.JoinState),
					Proxy: m.Proxy}
				row.Node, row.Desc = s.nodeOf(m.Port)
				if !yield(&row) {
					return
				}
			}
		}
	}
}

// joinStates are the bits of a JoinState in words.
func joinStates(j registry.JoinState) (words []string) {
	for i, word := range ctl.JoinStates {
		if j&(1<<i) != 0 {
			words = append(words, word)
		}
	}
	return words
}

func (s *subnet) services(*ctl.Filter) (iter.Seq[any], error) {
	if s.registered == nil {
		return none, nil
	}
	return func(yield func(any) bool) {
		for v := range s.registered.Services() {
			name, _, _ := strings.Cut(string(v.Name[:]), "\x00")
			row := ctl.Service{
				ID: fmt.Sprintf("0x%016x", v.ID), GID: v.GID.String(), PKey: v.PKey.String(),
				Name: strings.ToValidUTF8(name, "?"), Lease: v.Lease, Ends: v.Expires,
			}
			row.Node, row.Desc = s.nodeOf(v.GID)
			if !yield(&row) {
				return
			}
		}
	}, nil
}

func (s *subnet) subscriptions(*ctl.Filter) (iter.Seq[any], error) {
	if s.registered == nil {
		return none, nil
	}
	return func(yield func(any) bool) {
		for v := range s.registered.Subscriptions() {
			row := ctl.Subscription{
				Subscriber: v.Subscriber.String(), LID: v.Addr.LID, QPN: v.QPN, Generic: v.Generic,
				Trap:     orAll(uint32(v.Trap), uint32(registry.AnyTrap)),
				Type:     orAll(uint32(v.Type), uint32(registry.AnyType)),
				Producer: orAll(v.Producer, registry.AnyProducer), Issuers: issuers(&v.Filter),
			}
			row.Node, row.Desc = s.nodeOf(v.Subscriber)
			if !yield(&row) {
				return
			}
		}
	}, nil
}

// orAll formats a number, or "all" for the wildcard.
func orAll(n, all uint32) string {
	if n == all {
		return "all"
	}
	return strconv.FormatUint(uint64(n), 10)
}

// issuers describes the issuers that match a filter.
func issuers(f *registry.Filter) string {
	switch {
	case f.GID != mad.GID{}:
		return f.GID.String()
	case f.LIDBegin == registry.AnyLID:
		return "all"
	case f.LIDEnd <= f.LIDBegin:
		return "LID " + f.LIDBegin.String()
	}
	return "LID " + f.LIDBegin.String() + "-" + f.LIDEnd.String()
}

// nodeOf is the node of a port or of one of its alias GIDs, "" if absent.
func (s *subnet) nodeOf(gid mad.GID) (guid, desc string) {
	t := s.view.Topo
	p := s.portBehind(gid.GUID())
	if p == topo.None {
		at, found := s.registered.Alias(gid.GUID())
		if !found {
			return "", ""
		}
		if p = t.FindPort(at.Port); p == topo.None {
			return "", ""
		}
	}
	node := &t.Nodes[t.Ports[p].Node]
	return node.GUID.String(), node.Desc.String()
}

// SAStats returns the statistics of the SA; empty while there is no port.
func (d *Server) SAStats() *ctl.SAStats {
	out := &ctl.SAStats{Replies: []ctl.SAReplies{}, Dropped: []ctl.SADrops{}, Packets: []ctl.GSIPackets{},
		Times: []ctl.SATimes{}}
	shell := d.shell.Load()
	if shell == nil {
		return out
	}
	for kind, n := range shell.SAStats().Replies() {
		if n > 0 {
			out.Replies = append(out.Replies,
				ctl.SAReplies{Attribute: AttrLabel(kind.Attr), Status: kind.Status.String(), Count: n})
		}
	}
	for reason, n := range shell.SAStats().Drops() {
		if n > 0 {
			out.Dropped = append(out.Dropped, ctl.SADrops{Reason: reason.String(), Count: n})
		}
	}
	for kind, n := range shell.GSICounts() {
		if kind := gsi.Kind(kind); kind != gsi.Subnet && n.Received > 0 {
			out.Packets = append(out.Packets,
				ctl.GSIPackets{Kind: kind.String(), Received: n.Received, Dropped: n.Dropped})
		}
	}
	for way, times := range shell.SAStats().Times() {
		if row := timesRow(way, times); row.Count > 0 {
			out.Times = append(out.Times, row)
		}
	}
	t := shell.SATransfers()
	out.Transfers = ctl.SATransfers{Sent: t.Sent, Received: t.Received, UnderWay: t.UnderWay, Repeated: t.Repeated,
		Failed: failed(&t), Refused: t.OverCount + t.OverPeer + t.OverBytes + t.TooBig}
	r := shell.SARegistrations()
	out.Registrations = ctl.SARegistrations{
		Full: r.Full, MLIDShare: r.MLIDShare, Late: r.Late, Expired: r.Expired, Reset: r.Reset, Absent: r.Absent,
		Unwritten: r.Unwritten, Defects: r.Refused,
		Notices: r.Notices, NoticesDropped: r.NoticesDropped, Reports: r.Reports, ReportsDropped: r.ReportsDropped,
		Unanswered:     r.Unanswered,
		RepliesWaiting: r.Pending, ReportsWaiting: r.Waiting,
	}
	return out
}

// timesRow formats response times.
func timesRow(way sa.Way, times *sa.AnswerTimes) ctl.SATimes {
	row := ctl.SATimes{Way: way.String(), Seconds: times.Sum.Seconds()}
	over := 0.0
	for i, n := range times.Counts {
		to := 0.0
		if i < len(sa.TimeBounds) {
			to = sa.TimeBounds[i].Seconds()
		}
		if n > 0 {
			row.Buckets = append(row.Buckets, ctl.TimeBucket{Over: over, To: to, Count: n})
		}
		row.Count += n
		over = to
	}
	row.P50, row.P99 = ctl.Quantile(row.Buckets, 0.5), ctl.Quantile(row.Buckets, 0.99)
	return row
}

func failed(t *rmpp.Stats) (n uint64) {
	for _, f := range t.Failed {
		n += f
	}
	return n
}

// AttrLabel is the name of an attribute by which answers are counted.
func AttrLabel(a mad.AttrID) string {
	if a == sa.OtherAttr {
		return "other"
	}
	return sarec.AttrName(a)
}
