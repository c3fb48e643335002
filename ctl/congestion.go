package ctl

import (
	"net/http"
	"time"
)

// Congestions are what ports wait for, by the last reading of their counters, and what they waited for before.
type Congestions struct {
	Age   float64      `json:"age"`   // seconds since the last reading; -1 before the first
	Open  []Congestion `json:"open"`  // the heaviest first
	Ended []Congestion `json:"ended"` // the last one first
}

// Congestion is a port that others wait for.
type Congestion struct {
	Cause   string    `json:"cause"`
	Root    PortOf    `json:"root"`
	Since   time.Time `json:"since"`   // the reading that showed it first
	Until   time.Time `json:"until"`   // the last one that did
	Weight  float64   `json:"weight"`  // the sum of the shares of the time that ports waited, at its worst
	Ports   int       `json:"ports"`   // that waited, at its worst
	Waiting []PortOf  `json:"waiting"` // by the last reading, the worst first
}

// PortOf is a port and the other end of its cable.
type PortOf struct {
	Node string `json:"node"` // GUID
	Desc string `json:"desc"`
	Port uint8  `json:"port"`
	Peer *End   `json:"peer,omitempty"`
}

func (s *Server) congestions(r *http.Request) (any, error) {
	if err := s.counterSource(); err != nil {
		return nil, err
	}
	return s.cfg.Counters.Congestions(r.Context())
}
