package manager

import (
	"ibsm/mad"
	"ibsm/sa"
	"ibsm/sweep"
	"ibsm/view"
)

// Action is something to be done: one of the types below.
type Action interface{ action() }

// Send sends datagrams. They are only valid until the next Step.
type Send struct{ Datagrams []mad.Datagram }

// Publish replaces the view from which requests are answered; nil means none.
type Publish struct{ View *view.View }

// StoodBy is the subnet that a standby has found, for counters. Only its Topo and LIDs are known.
type StoodBy struct{ View *view.View }

// Restarted reports ports that have lost their written settings, or may have, for congestion control, and nodes that
// may have rebooted, for counters.
type Restarted struct{ Ports, Nodes []mad.GUID }

// Congestion has devices get the settings of congestion control that they lack, after a heavy sweep;
// with nil, another manager may write them.
type Congestion struct{ View *view.View }

// Show is the plan of a dry run.
type Show struct{ Plan *sweep.SweepPlan }

// ForRegistrar is an event that the Registrar takes. The answer to WriteGUIDs is one.
type ForRegistrar struct{ sa.Event }

// Exit ends the run. A nil Err is success.
type Exit struct{ Err error }

func (Send) action()         {}
func (Publish) action()      {}
func (StoodBy) action()      {}
func (Restarted) action()    {}
func (Congestion) action()   {}
func (Show) action()         {}
func (ForRegistrar) action() {}
func (Exit) action()         {}
