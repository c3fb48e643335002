package server

import (
	"context"
	"fmt"

	"ibsm/ctl"
	"ibsm/ctl/history"
	"ibsm/registry"
	"ibsm/view"
)

// Run compares published views until ctx is done.
func (d *Server) Run(ctx context.Context) { d.past.Run(ctx) }

// Published takes a view that the manager has published, nil if the subnet is no longer
// known. It does not block.
func (d *Server) Published(v *view.View) {
	var reg *registry.State
	if s := d.shell.Load(); s != nil && v != nil {
		reg = s.Registry()
	}
	d.past.Put(v, reg)
	d.mu.Lock()
	close(d.nextView)
	d.nextView = make(chan struct{})
	d.mu.Unlock()
}

// Generations are the generations whose changes are stored.
func (d *Server) Generations() (all []ctl.Generation) {
	for _, s := range d.past.Steps() {
		g := ctl.Generation{From: s.From, Generation: s.Gen, Last: s.Last, Time: s.At, First: s.From == 0,
			Counts: map[string]int{}, Entries: s.Entries}
		for kind, n := range s.Counts {
			if n > 0 {
				g.Counts[history.Kind(kind).String()] = n
			}
		}
		all = append(all, g)
	}
	return all
}

// Diff returns the changes between two generations.
func (d *Server) Diff(from, to uint64) (*ctl.Diff, error) {
	all := d.past.Steps()
	if len(all) == 0 {
		return nil, fmt.Errorf("%w: the manager has not read the subnet yet", ctl.ErrNotNow)
	}
	if to == 0 {
		to = all[len(all)-1].Last
	}
	for i := len(all) - 1; from == 0 && i >= 0; i-- {
		if s := &all[i]; s.Gen <= to && s.From == 0 {
			return nil, fmt.Errorf("%w: generation %d is the first, so there are no earlier changes", ctl.ErrNotFound,
				s.Gen)
		} else if s.Gen <= to {
			from = s.From
		}
	}
	steps, changes, err := d.past.Between(from, to)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ctl.ErrNotFound, err)
	}
	out := &ctl.Diff{Span: ctl.Span{From: from, To: to}}
	for _, s := range steps {
		out.Time = s.At
		out.Missing += s.Missing()
		out.Entries += s.Entries
	}
	for _, c := range changes {
		row := ctl.Change{What: c.Kind.String(), Name: c.Name, Port: c.Port, From: c.From, To: c.To,
			FromPeer: peerOf(c.FromPeer), ToPeer: peerOf(c.ToPeer), Count: c.Count}
		if c.Node != 0 {
			row.Node = c.Node.String()
		}
		out.Changes = append(out.Changes, row)
	}
	return out, nil
}

func peerOf(p *history.Peer) *ctl.Peer {
	if p == nil {
		return nil
	}
	return &ctl.Peer{Node: p.Node.String(), Name: p.Name, Port: p.Port}
}
