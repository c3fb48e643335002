package ctl

import (
	"fmt"
	"net/http"
	"time"

	"ibsm/mad"
)

// Offenders is a list of Offender, the latest first. It takes no Filter.
const Offenders List = "offenders"

// Security says rule by rule how well the subnet is protected from its own hosts.
type Security struct {
	Holds bool           `json:"holds"` // all rules hold
	Rules []SecurityRule `json:"rules"`
}

// SecurityRule is one of Security.
type SecurityRule struct {
	Rule  string `json:"rule"`
	State string `json:"state"` // "holds", "fails", or "left as found" for what this manager does not manage
	Text  string `json:"text"`  // what was found
	Do    string `json:"do,omitempty"`
	// Ports are those at which it fails, in the order of node GUIDs, the first 64.
	Ports []SecurityPort `json:"ports,omitempty"`
	More  int            `json:"more,omitempty"` // that found no room in Ports
}

// States of a SecurityRule.
const (
	RuleHolds = "holds"
	RuleFails = "fails"
	RuleLeft  = "left as found"
)

// SecurityPort is a port at which a rule fails.
type SecurityPort struct {
	Node string `json:"node"` // GUID
	Desc string `json:"desc"`
	Port uint8  `json:"port"`
}

// Offender is what a port sent that it may not send, of one kind.
type Offender struct {
	Port   string    `json:"port,omitempty"` // GUID; missing if it is not known
	Node   string    `json:"node,omitempty"` // GUID; missing if the port is absent
	Desc   string    `json:"desc,omitempty"`
	LID    mad.LID   `json:"lid"`           // 0 where it is not known
	Reason string    `json:"reason"`        // as in docs/security.md
	Last   time.Time `json:"last,omitzero"` // missing where it is not known
	Count  uint64    `json:"count"`
	What   string    `json:"what"` // the last packet
}

// security answers how well the subnet is protected.
func (s *Server) security(r *http.Request) (any, error) {
	sub, err := s.subnet()
	if err != nil {
		return nil, err
	}
	return sub.Security(), nil
}

// Rotated is the reply to a change of the M_Keys of all ports.
type Rotated struct {
	Number uint32 `json:"number"` // of the M_Keys that ports get
	Events uint64 `json:"events"` // those that follow have higher numbers
}

// rotate has all ports get their next M_Keys.
func (s *Server) rotate(r *http.Request) (any, error) {
	if err := has(s.cfg.RotateMKeys != nil, "configuration"); err != nil {
		return nil, err
	}
	last := s.cfg.Events.Last()
	number, err := s.cfg.RotateMKeys()
	if err != nil {
		return nil, hint(fmt.Errorf("%w: %w", ErrNotNow, err),
			"only the master changes M_Keys, with m_key_per_port TRUE; see ibsmctl status")
	}
	return &Rotated{number, last}, nil
}
