// Package device records the known state of the devices of a subnet, so that a plan is the
// difference between the wanted and the known state. It alone decides which blocks become
// unknown after a loss, a time-out, a reboot, another master, or a late or duplicate packet.
package device

import (
	"ibsm/mad"
	"ibsm/mad/txn"
)

// State is the state of knowledge of a block, the 64 bytes that one SMP reads or writes.
type State uint8

// States of a block.
const (
	Known   State = iota // the device holds the recorded value
	Unknown              // it may hold anything
	// the recorded value is sent, or about to be, and not confirmed: the device may hold it or not
	InFlight
	Refused // the device rejects the recorded value: it is not sent again until another is wanted
)

var stateNames = [...]string{"known", "unknown", "in flight", "refused"}

func (s State) String() string { return stateNames[s] }

// Event is an event that may change the state of a block.
type Event uint8

// Events.
const (
	Got           Event = iota // a Get returned the value
	Unread                     // a Get of it brought no value
	Sent                       // a Set of a value is about to be sent
	Confirmed                  // the response to the Set shows the value that was sent
	Differs                    // it shows another value
	Rejected                   // its status is an error
	TimedOut                   // no response came, whatever became of the Set
	Contradicted               // a reply that answers no open request, or a stale-block check, shows another value
	Rebooted                   // the device may have been powered up since
	ForeignMaster              // another manager may have written it since
	events
)

var eventNames = [...]string{"got", "unread", "sent", "confirmed", "differs", "rejected", "timed out", "contradicted",
	"rebooted", "foreign master"}

func (e Event) String() string { return eventNames[e] }

// Answered is what the outcome of a Set says of the block that it sent.
func Answered(o *txn.Outcome, sent []byte) Event {
	switch {
	case o.Result != txn.Replied:
		return TimedOut
	case o.Status != mad.StatusOK:
		return Rejected
	case string(o.Data[:]) != string(sent):
		return Differs
	}
	return Confirmed
}

// transitions are the states that follow, by event and state.
//
// The response to a Set carries the value after it (IBA 14.2.1.2), so only an equal one
// confirms. A Set without a response may still have been executed, and so may a rejected one
// of which an earlier attempt was accepted: then the block is unknown. A reply that contradicts
// a block that is InFlight may be older than the Set; the response to the Set decides.
var transitions = [events][4]State{
	//             Known     Unknown   InFlight  Refused
	Got:           {Known, Known, Known, Known},
	Unread:        {Unknown, Unknown, Unknown, Unknown},
	Sent:          {InFlight, InFlight, InFlight, InFlight},
	Confirmed:     {Known, Known, Known, Known},
	Differs:       {Unknown, Unknown, Unknown, Unknown},
	Rejected:      {Unknown, Unknown, Unknown, Refused},
	TimedOut:      {Unknown, Unknown, Unknown, Unknown},
	Contradicted:  {Unknown, Unknown, InFlight, Unknown},
	Rebooted:      {Unknown, Unknown, Unknown, Unknown},
	ForeignMaster: {Unknown, Unknown, Unknown, Unknown},
}

// After is the state of a block after an event.
func (s State) After(e Event) State { return transitions[e][s] }
