package manager

import (
	"time"

	"ibsm/mad"
	"ibsm/registry"
	"ibsm/routing"
	"ibsm/sa"
	"ibsm/sa/mirror"
	"ibsm/sweep"
	"ibsm/sweep/engines"
)

// Event is something that happened: one of the types below.
type Event interface{ event() }

// TimePassed says that Deadline has come, or that the manager begins.
type TimePassed struct{}

// Received are datagrams that came in on QP0. They are only valid during Step.
type Received struct{ Datagrams []mad.Datagram }

// SweepRequested is an operator's request.
type SweepRequested struct {
	Sweep  Sweep
	Number uint64 // of a Plan, PlanReroute or EndPlan: the client knows the plan by it
	Preview
}

// Preview is what a plan is of, other than the subnet and the configuration as they are.
type Preview struct {
	Engines engines.Chain        // of a PlanReroute: in place of the configured ones; nil for these
	Without []routing.SwitchPort // switches, with port 0, and cables that are left out
	Policy  *sweep.Policy        // settings and partitions; nil for those in force
}

// Sweep is a sweep that is asked for.
type Sweep uint8

// Sweeps.
const (
	NoSweep Sweep = iota // the core loop takes it, and so shows that it runs
	Light
	Heavy       // sends again what devices did not take and was given up
	Reroute     // heavy, with all routes computed afresh
	Plan        // what a heavy sweep would write: Planned answers, and nothing is written
	PlanReroute // the same for a reroute
	EndPlan     // no sweep: the client that asked for a plan has left, and gets no answer
	Describe    // no sweep: every node is asked for its NodeDescription
)

// RegistryChanged is the present registry.
type RegistryChanged struct{ State *registry.State }

// PartitionsChanged is another policy alone, which a quick sweep applies. Simulations send it; an edit of the partition
// file is a ConfigChanged.
type PartitionsChanged struct{ Partitions sweep.Partitions }

// ConfigChanged is a configuration that was read again.
type ConfigChanged struct{ Config *Config }

// WriteGUIDs is a block of GUIDs that a port is wanted to have. sa.GUIDsWritten answers, unless
// this manager ceases to be master.
type WriteGUIDs struct{ Block sa.GUIDBlock }

// MirrorHeard is what a standby's Registrar heard from the master that is followed.
type MirrorHeard struct{ Heard sa.Heard }

// OtherVersion is a standby that speaks another version of the mirror's protocol, so that it is not mirrored to.
type OtherVersion struct{ mirror.OtherVersion }

// Reregister are ports whose clients are asked to register again.
type Reregister struct{ Ports []mad.GUID }

// MLIDShareReached is a port that has created multicast groups on as many MLIDs as are free.
type MLIDShareReached struct{ Port mad.GUID }

// Resumed says for how long the host was suspended, or this manager paused while it did what a Step had come to, which
// the times of Step and Waits do not show.
type Resumed struct{ Paused time.Duration }

// ClockSet says that the time of day was set, or that the host was suspended. It is the time of day at Step's time 0 by
// the new clock, in seconds since 1970.
type ClockSet struct{ Epoch int64 }

// StandbyComplete is a standby that has everything which is registered with this master.
type StandbyComplete struct{ GUID mad.GUID }

// Leave has this manager end: Exit follows, after elect.LeavePatience at the latest.
type Leave struct{}

func (TimePassed) event()        {}
func (Received) event()          {}
func (SweepRequested) event()    {}
func (RegistryChanged) event()   {}
func (PartitionsChanged) event() {}
func (ConfigChanged) event()     {}
func (WriteGUIDs) event()        {}
func (MirrorHeard) event()       {}
func (OtherVersion) event()      {}
func (Reregister) event()        {}
func (MLIDShareReached) event()  {}
func (Resumed) event()           {}
func (ClockSet) event()          {}
func (StandbyComplete) event()   {}
func (Leave) event()             {}
