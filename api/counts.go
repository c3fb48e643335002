package api

import (
	"cmp"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"

	"ibsm/ctl"
)

// family is a part of the requests.
type family uint8

const (
	control family = iota
	ufm
	other
	families
)

var familyNames = [families]string{control: "v1", ufm: "ufm", other: "other"}

// familyOf is the family of a path.
func familyOf(path string) family {
	switch {
	case strings.HasPrefix(path, "/v1/"):
		return control
	case strings.HasPrefix(path, "/ufmRest"):
		return ufm
	}
	return other
}

// Classes of statuses, by their first digits.
const (
	firstClass = 2
	classes    = 4 // 2xx to 5xx
)

// counts are what became of requests. They are safe for concurrent use.
type counts struct {
	requests [families][classes]atomic.Uint64
	right    atomic.Uint64 // credentials of users
	wrong    atomic.Uint64 // credentials of no user
	busy     atomic.Uint64 // passwords that were not checked, as too many waited
	full     atomic.Uint64 // found maxRequests others
	limited  atomic.Uint64 // beyond the limit of their user
	foreign  atomic.Uint64 // of pages of other sites
	unlisted atomic.Uint64 // refusals that no audit has, since there were too many
}

// count counts a request by the status of its reply.
func (c *counts) count(path string, status int) {
	if class := cmp.Or(status, http.StatusOK)/100 - firstClass; class >= 0 && class < classes {
		c.requests[familyOf(path)][class].Add(1)
	}
}

// Counts are numbers since the start.
func (s *Server) Counts() *ctl.APICounts {
	c := &ctl.APICounts{Open: s.conns.Open.Load(), Accepted: s.conns.Accepted.Load(), RefusedTotal: s.conns.Full.Load(),
		RefusedPeer: s.conns.Crowded.Load(), Yielded: s.conns.Yielded.Load(),
		Full: s.counts.full.Load(), Limited: s.counts.limited.Load(),
		Foreign: s.counts.foreign.Load(), Unlisted: s.counts.unlisted.Load(), Right: s.counts.right.Load(),
		Wrong: s.counts.wrong.Load(), Busy: s.counts.busy.Load()}
	for of := range s.counts.requests {
		for class := range s.counts.requests[of] {
			c.Requests = append(c.Requests, ctl.APIRequests{Family: familyNames[of],
				Class: fmt.Sprintf("%dxx", class+firstClass), Count: s.counts.requests[of][class].Load()})
		}
	}
	if s.users != nil {
		u := s.users.Counts()
		c.Checks = u.Checks
		c.RightEvicted, c.WrongEvicted, c.NetworksEvicted = u.RightEvicted, u.WrongEvicted, u.NetworksEvicted
	}
	return c
}

// statusWriter keeps the status of a reply, and gives its turn to others while the client reads.
type statusWriter struct {
	http.ResponseWriter
	turn   *handlerTurn
	status int // 0 before it is written
}

func (w *statusWriter) WriteHeader(status int) {
	w.status = status
	w.ResponseWriter.WriteHeader(status)
}

func (w *statusWriter) Write(b []byte) (int, error) {
	if w.status == 0 {
		w.status = http.StatusOK
	}
	w.turn.pause()
	defer w.turn.resume()
	return w.ResponseWriter.Write(b)
}

// Unwrap is for http.ResponseController.
func (w *statusWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
