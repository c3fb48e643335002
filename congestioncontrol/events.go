package congestioncontrol

import "ibsm/mad"

// Event is something that happened.
type Event interface{ event() }

// Ports are all ports after a heavy sweep, by GUID.
type Ports struct{ List []Port }

// Restarted are ports, by GUID, that have lost what they held, or may have.
type Restarted struct{ Ports map[mad.GUID]bool }

// Forget says that this manager is not master any more: another one may write.
type Forget struct{}

// Changed are other settings.
type Changed struct{ Settings Settings }

// Answered is the response to a request.
type Answered struct {
	Tag    uint64
	Status mad.Status
}

// Unanswered says that a request got no response, and that it will not be sent again.
type Unanswered struct{ Tag uint64 }

func (*Ports) event()      {}
func (*Restarted) event()  {}
func (*Forget) event()     {}
func (*Changed) event()    {}
func (*Answered) event()   {}
func (*Unanswered) event() {}

// Ask is a request to send. Each has one end, Answered or Unanswered; until then it has its place
// in the window.
type Ask struct {
	Tag    uint64
	To     mad.Addr
	Packet mad.Packet // without transaction ID
}

// Trouble is why a device does not hold the wanted settings.
type Trouble uint8

// Troubles.
const (
	Unresponsive Trouble = 1 // it does not answer: it has no agent, or another CC_Key
	NoAgent      Trouble = 2 // it refuses the class, or the attribute altogether
	Refused      Trouble = 3 // it refuses the value of an attribute
)

// Finding is a trouble with a device. There is one for each device, and one for each attribute whose
// value is refused, until the device has rebooted.
type Finding struct {
	Port    Port
	Trouble Trouble
	Attr    mad.AttrID
	Mod     uint32
	Status  mad.Status // 0 for Unresponsive
}

// Report is the end of a round: every device has what it accepts.
type Report struct {
	Devices int // that there are
	Sent    int // requests of this round
	Without int // devices that are left alone, or did not answer in this round
	Refused int // attributes whose value a device refuses
	More    int // findings of this round beyond maxFindings, which are not reported one by one
}

// Output is what a step asks for. Its slices are valid until the next step.
type Output struct {
	Asks     []Ask
	Findings []Finding
	Done     *Report // nil unless a round has ended that sent something
}
