package ctl

import (
	"context"
	"errors"
	"iter"
)

// Source is the manager that a Server serves. All methods may be called by any number
// of goroutines.
type Source interface {
	Status() *Status
	// Subnet is nil while there is none to be shown.
	Subnet() Subnet
	// Order hands an order on to the manager, and does not wait until it is carried out.
	Order(ctx context.Context, o Order) error
	// SAStats is what subnet administration has answered so far.
	SAStats() *SAStats
	// Activity is what the manager has done so far.
	Activity() *Activity
}

// Planner tells what a heavy sweep would write now, step by step, in words. The steps
// are computed as they are asked for.
type Planner interface {
	Plan(ctx context.Context, reroute bool) (iter.Seq[string], error)
}

// LogLevel is what the log lets through, in OpenSM's log flags (-D).
type LogLevel interface {
	LogFlags() uint8
	SetLogFlags(flags uint8)
}

// Reloader has the configuration read again, and shows what is in force.
type Reloader interface {
	Reload() *Reloaded
	Settings() []Setting
}

// Setting is one of the configuration in force. Values are as in opensm.conf; those of keys
// are not shown.
type Setting struct {
	Key    string `json:"key"`
	Value  string `json:"value"`
	Chosen bool   `json:"chosen"` // by somebody
	Source string `json:"source"` // default, environment, opensm.conf, ibsm.toml, option, master
	Place  string `json:"place,omitempty"`
	Note   string `json:"note,omitempty"` // what holds in place of the value
}

// Order is something that a manager is told to do.
type Order string

// Orders.
const (
	LightSweep Order = "light"
	HeavySweep Order = "heavy"
	Reroute    Order = "reroute" // a heavy sweep with all routes computed afresh
)

// Sentinels that an error of a Source wraps where it is no fault of the program's.
var (
	ErrBadRequest = errors.New("bad request")
	ErrNotFound   = errors.New("not found")
	ErrNotNow     = errors.New("not now")
)
