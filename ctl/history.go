package ctl

import (
	"cmp"
	"net/http"
	"slices"
	"time"
)

// Generation is a generation of the subnet with changes.
type Generation struct {
	From       uint64         `json:"from,omitempty"` // the generation before it; 0 if it is the first as master
	Generation uint64         `json:"generation"`
	Last       uint64         `json:"last"` // later generations up to this one have no changes
	Time       time.Time      `json:"time"` // of publication
	First      bool           `json:"first,omitempty"`
	Counts     map[string]int `json:"counts"`  // changes by Change.What
	Entries    int            `json:"entries"` // changed forwarding table entries
}

// Diff holds the changes between two generations.
type Diff struct {
	Span
	Changes []Change
}

// Span is the range of generations of a Diff.
type Span struct {
	From uint64    `json:"from"`
	To   uint64    `json:"to"`
	Time time.Time `json:"time"` // of the last change
	// Missing is the number of changes that are not stored, because there were too many.
	Missing int `json:"missing,omitempty"`
	Entries int `json:"entries"` // changed forwarding table entries, the sum over all generations
}

// Change is one change.
type Change struct {
	// node, link, answers, state, speed, avoided, lid, pkeys, manager, setting, group, name, routes
	What string `json:"what"`
	Node string `json:"node,omitempty"` // GUID
	Name string `json:"name"`           // NodeDescription; GUID of a manager, MGID of a group, name of a setting
	Port uint8  `json:"port,omitempty"`
	From string `json:"from,omitempty"` // "" if added
	To   string `json:"to,omitempty"`   // "" if removed
	// FromPeer and ToPeer are the ports with which From and To end, as "NAME port N"; nil where they end with none.
	FromPeer *Peer `json:"from_peer,omitempty"`
	ToPeer   *Peer `json:"to_peer,omitempty"`
	Count    int   `json:"count,omitempty"`
}

// Peer is a port at the other end of a link.
type Peer struct {
	Node string `json:"node"` // GUID
	Name string `json:"name"` // as in texts
	Port uint8  `json:"port"`
}

// DiffRow is one row of a Diff: the first is the Span, the others are Changes.
type DiffRow struct {
	Span   *Span   `json:"span,omitempty"`
	Change *Change `json:"change,omitempty"`
}

func (s *Server) generations(w http.ResponseWriter, r *http.Request) error {
	if err := has(s.cfg.Generations != nil, "history"); err != nil {
		return err
	}
	sendList(w, "generations", nil, slices.Values(s.cfg.Generations()))
	return nil
}

func (s *Server) diff(w http.ResponseWriter, r *http.Request) error {
	from, wrong := number(r, "from", 64)
	to, wrongToo := number(r, "to", 64)
	if err := cmp.Or(wrong, wrongToo, has(s.cfg.Diff != nil, "history")); err != nil {
		return err
	}
	d, err := s.cfg.Diff(from, to)
	if err != nil {
		return hint(err, "ibsmctl generations lists the generations")
	}
	sendList(w, "rows", nil, func(yield func(*DiffRow) bool) {
		if !yield(&DiffRow{Span: &d.Span}) {
			return
		}
		for i := range d.Changes {
			if !yield(&DiffRow{Change: &d.Changes[i]}) {
				return
			}
		}
	})
	return nil
}
