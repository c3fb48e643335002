package ctl

import (
	"net/http"
	"time"
)

// Activity is what a manager has done so far, to be compared with what it will have done:
// all counts are since its start.
type Activity struct {
	Time   time.Time         `json:"time"` // when it was so
	Status *Status           `json:"status"`
	SA     *SAStats          `json:"sa"`
	Sweeps map[string]uint64 `json:"sweeps"` // begun, by kind
	Phases []Phase           `json:"phases"` // of sweeps
	SMPs   SMPs              `json:"smps"`
	Traps  map[string]uint64 `json:"traps"` // taken as master, by number; other, vendor
	// BadKeys are the ports whose packets had wrong P_Keys or Q_Keys, as traps told.
	BadKeys []BadKey  `json:"bad_keys"`
	Clients SAClients `json:"clients"`
}

// Phase is how long one phase of sweeps took.
type Phase struct {
	Phase   string  `json:"phase"`
	Count   uint64  `json:"count"`
	Seconds float64 `json:"seconds"` // in sum
}

// SMPs is how the manager's own requests fared.
type SMPs struct {
	Sent     uint64 `json:"sent"` // packets
	Retries  uint64 `json:"retries"`
	Replied  uint64 `json:"replied"`
	TimedOut uint64 `json:"timed_out"` // requests without any answer
	Window   int    `json:"window"`    // requests that may be on the wire at a time
	OnWire   int    `json:"on_wire"`   // that are, now
}

// BadKey is a port that sent packets with wrong keys.
type BadKey struct {
	Port  string `json:"port,omitempty"` // GUID; "" for all that are not told apart
	Node  string `json:"node,omitempty"`
	Desc  string `json:"desc,omitempty"`
	Trap  uint16 `json:"trap"`
	Count uint64 `json:"count"`
}

// SAClients are those of subnet administration that asked most in the time before, which is
// at least a second and ends with the Activity's.
type SAClients struct {
	Seconds float64    `json:"seconds"` // 0 where there was no time before
	Asked   uint64     `json:"asked"`   // packets from all clients
	Active  int        `json:"active"`  // clients that sent any
	Most    []SAClient `json:"most"`    // MaxClients of them at most
}

// SAClient is one of them.
type SAClient struct {
	LID   uint16 `json:"lid"`
	Node  string `json:"node,omitempty"` // GUID; "" where the LID is nobody's
	Desc  string `json:"desc,omitempty"`
	Count uint64 `json:"count"` // packets
}

// MaxClients is how many of them are named.
const MaxClients = 50

func (s *Server) activity(w http.ResponseWriter, r *http.Request) {
	if err := known(r); err != nil {
		s.fail(w, err, "")
		return
	}
	s.reply(w, http.StatusOK, s.cfg.Source.Activity())
}
