package ctl

import "net/http"

// Quality is how good the routes in force are, between the hosts of the subnet in the order of their LIDs, the ports of
// one host side by side.
type Quality struct {
	Links   int     `json:"links"`   // directions of links between switches
	Unused  int     `json:"unused"`  // of them, those without routes between hosts
	Mean    float64 `json:"mean"`    // routes between hosts on a direction
	Fullest uint32  `json:"fullest"` // and on the one that has most
	Several int     `json:"several"` // hosts with several LIDs, of one port or several
	// share of them that the loss of one switch above leaves cuts off from a leaf, on average
	Cut        float64            `json:"cut"`
	All        Pattern            `json:"all"`             // flows between all hosts
	Rails      *RailShifts        `json:"rails,omitempty"` // flows within rails; nil if the subnet has none
	Partitions []PartitionQuality `json:"partitions"`      // flows within each partition of two hosts or more, by P_Key
}

// Pattern is what flows meet on links while each host sends to one other.
type Pattern struct {
	Hosts  int     `json:"hosts"`
	Shifts int     `json:"shifts"` // that were tried: each host sends to the one that is so many places after it
	Shift  float64 `json:"shift"`  // flows on the fullest link, on average over shifts
	Worst  uint32  `json:"worst"`  // and of the worst shift
	// share of a link's bandwidth that a flow has while halves drawn by chance send to each other
	Bisection float64 `json:"bisection"`
}

// RailShifts is what flows meet while each port sends to one other of its rail, in all rails at once.
type RailShifts struct {
	Rails int `json:"rails"`
	Hosts int `json:"hosts"` // ports of all rails
	// that were tried: each port sends to the one that is so many places after it in its rail
	Shifts int     `json:"shifts"`
	Shift  float64 `json:"shift"` // flows on the fullest link, on average over shifts
	Worst  uint32  `json:"worst"` // and of the worst shift
}

// PartitionQuality is that of flows within a partition.
type PartitionQuality struct {
	PKey string `json:"pkey"`
	Name string `json:"name,omitempty"`
	Pattern
}

// quality answers how good the routes are.
func (s *Server) quality(r *http.Request) (any, error) {
	if err := s.measurements.take(r.Context()); err != nil { // it takes as long as a plan
		return nil, err
	}
	defer s.measurements.end()
	sub, err := s.subnet()
	if err != nil {
		return nil, err
	}
	return sub.Quality(r.Context())
}
