package ctl

import (
	"context"
	"errors"
	"iter"

	"ibsm/mad"
)

// Source is the manager that a Server serves. All methods are safe for concurrent use.
type Source interface {
	Status() *Status
	// Subnet is nil while the subnet is not known.
	Subnet() Subnet
	// Order passes a request to the manager, and does not wait until it is complete.
	Order(ctx context.Context, o Order) error
	// SAStats returns the statistics of subnet administration.
	SAStats() *SAStats
	// Activity returns the counters of the manager.
	Activity() *Activity
}

// PlanQuery is what a plan is wanted for.
type PlanQuery struct {
	Reroute bool     // all routes computed afresh
	Engines []string // by other routing engines than the configured ones; none for these
	Without []string // SWITCH or SWITCH:PORT, as if these had failed: see DrainOrder.Switches
	Tenants bool     // with security tenants
}

// Plan is the Sets that a heavy sweep would send, as texts, which are computed while the caller
// iterates.
type Plan struct {
	PlanHead
	Steps iter.Seq[string]
}

// PlanHead is the rest of a Plan.
type PlanHead struct {
	// Outdated says that a heavy sweep has begun, or is needed, since the manager read the subnet for the plan.
	Outdated bool   `json:"outdated"`
	Routes   string `json:"routes"` // which routing engine would route the subnet, and which refuse, in a line
	// Unrouted is of the routes of the plan; nil if there are none, or all LIDs have a route.
	Unrouted *Unrouted       `json:"unrouted,omitempty"`
	Change   *PlanChange     `json:"change,omitempty"`
	Settings []SettingChange `json:"settings,omitzero"` // that change, of a plan with security tenants; nil of others
}

// SettingChange is a setting that a plan changes.
type SettingChange struct {
	Key    string `json:"key"`
	Before string `json:"before"`
	After  string `json:"after"`
}

// Unrouted are pairs of a switch and a LID between which the routes of a plan do not lead, by reason.
type Unrouted struct {
	Lost      Pairs `json:"lost"`      // cables lead there, and the engine's rules permit a route, or a host needs one
	Cut       Pairs `json:"cut"`       // no cable leads there
	Forbidden Pairs `json:"forbidden"` // the engine's rules permit no route, and neither hosts nor the manager need one
	// ByRules is Forbidden in words, with what connect_roots would change.
	ByRules string `json:"by_rules,omitempty"`
}

// Pairs is a number of pairs of a switch and a LID. Listed are the first of each Reason, at most eight.
type Pairs struct {
	Count  int    `json:"count"`
	Listed []Pair `json:"listed,omitempty"`
}

// Pair is a switch and the port to which no route leads from there.
type Pair struct {
	From   End     `json:"from"`
	To     End     `json:"to"`
	LID    mad.LID `json:"lid"`    // of To, to which there is no route
	Reason string  `json:"reason"` // such as "dead end"
}

// PlanChange is what a plan that computes all routes afresh would change of them.
type PlanChange struct {
	// hosts that cannot be reached any more, of a plan without something
	CutOff []string `json:"cut_off,omitempty"`
	// likewise: pairs of ports of hosts that have no way to each other any more
	PairsCut   int          `json:"pairs_cut,omitempty"`
	Before     EngineRoutes `json:"before"`
	After      EngineRoutes `json:"after"`
	Switches   int          `json:"switches"`   // whose forwarding tables change
	Blocks     int          `json:"blocks"`     // of forwarding tables
	Entries    int          `json:"entries"`    // of forwarding tables
	Proof      string       `json:"proof"`      // whether the routes of the plan have a credit loop
	Transition string       `json:"transition"` // whether there is a risk while switches are written
}

// EngineRoutes are those of an engine, and how good they are: see Quality.
type EngineRoutes struct {
	Engine    string          `json:"engine"`
	Refused   []EngineRefusal `json:"refused,omitempty"` // by engines that were tried before
	Notes     []string        `json:"notes,omitempty"`   // what Engine has to say about the subnet
	SLs       int             `json:"sls"`               // that paths have
	Unused    int             `json:"unused"`
	Fullest   uint32          `json:"fullest"`
	Shift     float64         `json:"shift"`
	Worst     uint32          `json:"worst"`
	RailShift float64         `json:"rail_shift,omitempty"` // Shift within rails; 0 if the subnet has none
	Bisection float64         `json:"bisection"`
	Several   int             `json:"several,omitempty"` // hosts with several LIDs
	// share of them that the loss of one switch above leaves cuts off
	Cut float64 `json:"cut,omitempty"`
}

// Setting is a setting of the configuration in force. Values are as in opensm.conf; those
// of keys are hidden.
type Setting struct {
	Key      string `json:"key"`
	Value    string `json:"value"`
	Chosen   bool   `json:"chosen"` // by the user, not a default
	Source   string `json:"source"` // default, environment, opensm.conf, ibsm.toml, option, master
	Position string `json:"position,omitempty"`
	Note     string `json:"note,omitempty"` // the behaviour, if the value does not apply
}

// Order is a request for a sweep.
type Order string

// Requests for sweeps.
const (
	LightSweep Order = "light"
	HeavySweep Order = "heavy"
	Reroute    Order = "reroute" // a heavy sweep that recomputes all routes
)

// Sentinels that an error of a Source wraps unless it is an internal error.
var (
	ErrBadRequest = errors.New("bad request")
	ErrNotFound   = errors.New("not found")
	ErrNotNow     = errors.New("not now")
	ErrForbidden  = errors.New("forbidden")
)
