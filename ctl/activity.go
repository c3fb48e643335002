package ctl

import (
	"net/http"
	"time"
)

// Activity holds counters since the start of a manager; compare two to get rates.
type Activity struct {
	Time   time.Time         `json:"time"` // of the counters
	Status *Status           `json:"status"`
	SA     *SAStats          `json:"sa"`
	Sweeps map[string]uint64 `json:"sweeps"` // started, by kind
	Phases []Phase           `json:"phases"` // of sweeps
	SMPs   SMPs              `json:"smps"`
	Traps  map[string]uint64 `json:"traps"` // received as master, by number; other, vendor
	// BadKeys are the ports whose packets had wrong P_Keys or Q_Keys, from traps.
	BadKeys []BadKey  `json:"bad_keys"`
	Clients SAClients `json:"clients"`
}

// Phase holds the total duration of one phase of sweeps.
type Phase struct {
	Phase   string  `json:"phase"`
	Count   uint64  `json:"count"`
	Seconds float64 `json:"seconds"` // total
}

// SMPs holds the counters of the manager's own requests.
type SMPs struct {
	Sent     uint64 `json:"sent"` // packets
	Retries  uint64 `json:"retries"`
	Replied  uint64 `json:"replied"`
	TimedOut uint64 `json:"timed_out"` // requests without a response
	Window   int    `json:"window"`    // maximum number of requests on the wire
	OnWire   int    `json:"on_wire"`   // requests on the wire
	Overdue  int    `json:"overdue"`   // requests that have waited for more than 10 ms: not counted in OnWire
	Waiting  int    `json:"waiting"`   // requests that wait for others to the same device
	// PathLimited says that the window is 4, as switches seem to pass SMPs on in their agents.
	PathLimited bool `json:"path_limited"`
}

// BadKey is a port that sent packets with wrong keys.
type BadKey struct {
	Port  string `json:"port,omitempty"` // GUID; "" for all other ports together
	Node  string `json:"node,omitempty"`
	Desc  string `json:"desc,omitempty"`
	Trap  uint16 `json:"trap"`
	Count uint64 `json:"count"`
}

// SAClients are the most active clients of subnet administration in the interval before
// Activity.Time, at least one second.
type SAClients struct {
	Seconds float64    `json:"seconds"` // 0 for the first request
	Asked   uint64     `json:"asked"`   // packets from all clients
	Active  int        `json:"active"`  // clients that sent packets
	Most    []SAClient `json:"most"`    // at most MaxClients
}

// SAClient is a client of subnet administration.
type SAClient struct {
	LID   uint16 `json:"lid"`
	Node  string `json:"node,omitempty"` // GUID; "" for an unassigned LID
	Desc  string `json:"desc,omitempty"`
	Count uint64 `json:"count"` // packets
}

// MaxClients bounds SAClients.Most.
const MaxClients = 50

func (s *Server) activity(r *http.Request) (any, error) { return s.cfg.Source.Activity(), nil }
