package server

import (
	"cmp"
	"slices"
	"strconv"
	"sync"
	"time"

	"ibsm/ctl"
	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/manager"
	"ibsm/topo"
)

// Activity returns the counters of the manager.
func (d *Server) Activity() *ctl.Activity {
	out := &ctl.Activity{Time: time.Now(), Status: d.Status(), SA: d.SAStats(), Sweeps: map[string]uint64{},
		Phases: []ctl.Phase{}, Traps: map[string]uint64{}, BadKeys: []ctl.BadKey{}}
	out.Clients.Most = []ctl.SAClient{}
	shell := d.shell.Load()
	if shell == nil {
		return out
	}
	st := shell.Stats()
	for kind, n := range st.Sweeps {
		out.Sweeps[manager.SweepKind(kind).String()] = n
	}
	for phase, t := range st.ByPhase() {
		p := ctl.Phase{Phase: phase.String(), Seconds: t.Sum.Seconds()}
		for _, n := range t.Buckets {
			p.Count += n
		}
		out.Phases = append(out.Phases, p)
	}
	t := &st.Txn
	out.SMPs = ctl.SMPs{Sent: t.Sent, Retries: t.Retries, Replied: t.Replied, TimedOut: t.TimedOut, Window: t.Window,
		OnWire:  t.OnWire,
		Overdue: t.Overdue, Waiting: t.Parked, PathLimited: t.PathLimited}
	for number, n := range st.Traps() {
		if n > 0 {
			out.Traps[TrapLabel(number)] = n
		}
	}
	s := d.subnet()
	for o := range st.Offenders() {
		row := ctl.BadKey{Trap: uint16(o.Trap), Count: o.Count}
		if o.Port != 0 {
			row.Port = o.Port.String()
			row.Node, row.Desc = s.whose(o.Port)
		}
		out.BadKeys = append(out.BadKeys, row)
	}
	out.Clients = d.clients.since(shell, s, out.Time)
	return out
}

// TrapLabel is the number of a trap, or a word for those that are not counted by number.
func TrapLabel(n smp.TrapNumber) string {
	switch n {
	case manager.OtherTraps:
		return "other"
	case manager.VendorTraps:
		return "vendor"
	}
	return strconv.Itoa(int(n))
}

// whose is the node of a port, "" if there is no subnet or no such port.
func (s *subnet) whose(port mad.GUID) (guid, desc string) {
	if s == nil {
		return "", ""
	}
	p := s.portBehind(port)
	if p == topo.None {
		return "", ""
	}
	node := &s.view.Topo.Nodes[s.view.Topo.Ports[p].Node]
	return node.GUID.String(), node.Desc.String()
}

// clientRates compares the request counts of SA clients with those of the previous call.
// Concurrent callers get the same result.
type clientRates struct {
	mu    sync.Mutex // guards the following
	shell *manager.Shell
	at    time.Time
	was   []uint32 // by LID
	last  ctl.SAClients
}

// since returns the requests of clients since the previous call, at least a second ago.
func (c *clientRates) since(shell *manager.Shell, s *subnet, now time.Time) ctl.SAClients {
	c.mu.Lock()
	defer c.mu.Unlock()
	took := now.Sub(c.at)
	if c.shell == shell && took < time.Second {
		return c.last
	}
	counts := shell.SAClients(make([]uint32, 0, mad.MinMulticastLID))
	c.last = ctl.SAClients{Most: []ctl.SAClient{}}
	if c.shell == shell {
		c.last = most(c.was, counts)
		c.last.Seconds = took.Seconds()
		for i := range c.last.Most {
			row := &c.last.Most[i]
			if s == nil {
				continue
			}
			if p := s.view.LIDs.PortOf(mad.LID(row.LID)); p != topo.None {
				row.Node, row.Desc = s.whose(s.view.Topo.Ports[p].GUID)
			}
		}
	}
	c.shell, c.at, c.was = shell, now, counts
	return c.last
}

// most are the clients whose counts grew most.
func most(was, is []uint32) ctl.SAClients {
	out := ctl.SAClients{Most: []ctl.SAClient{}}
	for lid := range is {
		if n := is[lid] - was[lid]; n > 0 {
			out.Active++
			out.Asked += uint64(n)
			out.Most = append(out.Most, ctl.SAClient{LID: uint16(lid), Count: uint64(n)})
		}
	}
	slices.SortFunc(out.Most, func(a, b ctl.SAClient) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.LID, b.LID))
	})
	out.Most = slices.Clip(out.Most[:min(len(out.Most), ctl.MaxClients)])
	return out
}
