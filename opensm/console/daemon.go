package console

import (
	"time"

	"ibsm/mad/smp"
	"ibsm/opensm/names"
	"ibsm/registry"
	"ibsm/view"
)

// Daemon is what Sessions know of a manager, and what they can have done. All fields
// must be set; sessions of different goroutines may call the functions at once.
type Daemon struct {
	Version string // of what OpenSM and which program this is, in one line
	Now     func() time.Time

	View     func() *view.View      // what was published last; nil while this manager is not master
	Registry func() *registry.State // what clients have registered; nil for nothing
	Names    names.Map
	Status   func() Status
	PerfMgr  PerfMgr
	Config   func() ([]byte, error) // the configuration in force, as opensm.conf
	// ModuleLog is the file of log flags for single modules; with an error that is
	// fs.ErrNotExist there is none.
	ModuleLog func() (path string, text []byte, err error)
	LogFlags  func() uint8

	SetLogFlags func(flags uint8)
	SetPriority func(priority uint8) // 0..15
	SetSweeping func(on bool)
	// Do has the manager do something soon; the error says why it cannot.
	Do func(Order) error
	// WriteFile writes a file for dump_portguid.
	WriteFile func(name string, text []byte) error
	// Acted is called for each command that changes something, before it runs.
	Acted func(line string)
}

// Order is a command to the manager.
type Order uint8

// Orders.
const (
	LightSweep Order = 1
	HeavySweep Order = 2
	Reroute    Order = 3
	ReadNames  Order = 4 // ask every node for its NodeDescription
)

// Status is what the command status shows.
type Status struct {
	State    smp.SMState
	Priority uint8  // sm_priority
	Ready    bool   // the SA answers
	Engine   string // that made the routes in force; "" for none yet
	SMPs     SMPs
	SA       SA

	Sweeping      bool          // sweeps are allowed
	SweepInterval time.Duration // 0 for none
	InitErrors    bool          // the last heavy sweep left the subnet with errors
	FirstSweep    bool          // as master has not ended yet
	FromStandby   bool          // that sweep is of a manager that was standby
	SMs           []view.SM     // this manager first, the others in any order
}

// SMPs counts subnet management packets.
type SMPs struct {
	Outstanding, OnWire              int
	Received, Sent, Unicast, Unknown uint64 // Unicast are those sent that want no answer
}

// SA counts what came to subnet administration and what it sent.
type SA struct {
	Outstanding                      int
	Received, Sent, Unknown, Ignored uint64
}
