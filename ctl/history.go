package ctl

import (
	"fmt"
	"net/http"
	"slices"
	"time"
)

// Historian tells what changed from one generation of the subnet to another.
type Historian interface {
	// Generations are those that are still known, the oldest first.
	Generations() []Generation
	// Diff is what changed between two of them. With to 0 the newest is meant, and with
	// from 0 the one before the last change up to to.
	Diff(from, to uint64) (*Diff, error)
}

// Generation is a generation of the subnet that brought changes.
type Generation struct {
	Generation uint64         `json:"generation"`
	Last       uint64         `json:"last"` // later ones up to this are the same but for what is not compared
	Time       time.Time      `json:"time"` // when it was published
	First      bool           `json:"first,omitempty"`
	Counts     map[string]int `json:"counts"`  // changes by what they are about
	Entries    int            `json:"entries"` // of forwarding tables that changed
}

// Diff is what changed between two generations.
type Diff struct {
	Span
	Changes []Change
}

// Span is the generations that a Diff is about.
type Span struct {
	From uint64    `json:"from"`
	To   uint64    `json:"to"`
	Time time.Time `json:"time"` // of the last change
	// Missing is how many changes are not kept any more, or never were, as there were too
	// many.
	Missing int `json:"missing,omitempty"`
	Entries int `json:"entries"` // of forwarding tables; of more than one step the sum
}

// Change is one thing that changed.
type Change struct {
	What  string `json:"what"`           // node, link, answers, state, speed, avoided, lid, pkeys, manager, setting, group, name, routes
	Node  string `json:"node,omitempty"` // GUID
	Name  string `json:"name"`           // NodeDescription; GUID of a manager, MGID of a group, name of a setting
	Port  uint8  `json:"port,omitempty"`
	From  string `json:"from,omitempty"` // "" for what was not there
	To    string `json:"to,omitempty"`   // "" for what is not there any more
	Count int    `json:"count,omitempty"`
}

// DiffRow is one row of a Diff: the first is the Span, the others are Changes.
type DiffRow struct {
	Span   *Span   `json:"span,omitempty"`
	Change *Change `json:"change,omitempty"`
}

func (s *Server) generations(w http.ResponseWriter, r *http.Request) {
	err := known(r)
	if err == nil {
		err = s.hasHistory()
	}
	if err != nil {
		s.fail(w, err, "")
		return
	}
	sendList(w, "generations", "", slices.Values(s.cfg.History.Generations()))
}

func (s *Server) hasHistory() error {
	if s.cfg.History == nil {
		return fmt.Errorf("%w: no history is kept", ErrNotFound)
	}
	return nil
}

func (s *Server) diff(w http.ResponseWriter, r *http.Request) {
	err := known(r, "from", "to")
	from, wrong := number(r, "from", 64)
	to, wrongToo := number(r, "to", 64)
	for _, e := range []error{wrong, wrongToo, s.hasHistory()} {
		if err == nil {
			err = e
		}
	}
	if err != nil {
		s.fail(w, err, "")
		return
	}
	d, err := s.cfg.History.Diff(from, to)
	if err != nil {
		s.fail(w, err, "ibsmctl generations lists those that are known")
		return
	}
	sendList(w, "rows", "", func(yield func(*DiffRow) bool) {
		if !yield(&DiffRow{Span: &d.Span}) {
			return
		}
		for i := range d.Changes {
			if !yield(&DiffRow{Change: &d.Changes[i]}) {
				return
			}
		}
	})
}
