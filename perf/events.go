package perf

import (
	"cmp"
	"time"

	"ibsm/mad"
	"ibsm/mad/pma"
	"ibsm/topo"
)

// Settings are what an operator can choose.
type Settings struct {
	Interval  time.Duration // from the beginning of one sweep to that of the next; 0 for no sweeps
	Window    int           // requests on the way at a time, at least 1
	QueryInfo bool          // ask for ClassPortInfo; else PortCounters alone is used
	Redirect  bool          // go where an agent redirects to
	Keep      time.Duration // how far back images are kept
	Memory    int           // bytes that images may take; 0 for any number

	SwitchesOnly bool // channel adapters are left out by a Reader
	KeepAbsent   bool // a node that has gone keeps its totals, for when it comes back
}

// Key names a port for as long as its device exists.
type Key struct {
	Node mad.GUID
	Port uint8
}

// Compare is the order by GUID and port.
func (k Key) Compare(o Key) int {
	return cmp.Or(cmp.Compare(k.Node, o.Node), cmp.Compare(k.Port, o.Port))
}

// In is the port in a subnet, None if it is not there.
func (k Key) In(t *topo.Topo) topo.PortIdx { return t.FindNodePort(k.Node, k.Port) }

// KeyOf is that of a port of a subnet.
func KeyOf(t *topo.Topo, p topo.PortIdx) Key {
	return Key{t.Nodes[t.Ports[p].Node].GUID, t.Ports[p].Num}
}

// Port is a port to be read.
type Port struct {
	Key
	To mad.Addr // its agent's LID, port 0's on a switch and the port's own on an adapter, with the SL of the path
	// Words is how much data the link can carry in one direction, in 4 octets a second; 0 if
	// that is not known.
	Words uint64
}

// Event is something that happened.
type Event interface{ event() }

// Ports are all ports to read from now on. What is known of those that were there before stays.
type Ports struct{ List []Port }

// Rebooted says that nodes may have rebooted, since a port of theirs is in INIT or a switch has lost its tables. Their
// ClassPortInfo may have changed. Only a counter that has fallen shows that what was counted is lost: after a
// failure of the cable a port is in INIT, too.
type Rebooted struct{ Nodes map[mad.GUID]bool }

// Answered is the response to a request.
type Answered struct {
	Tag    uint64
	Packet *mad.Packet // valid during the step
}

// Unanswered says that a request got no response, and that it will not be sent again.
type Unanswered struct{ Tag uint64 }

// Tick is nothing but the time, which Machine.Next asked for.
type Tick struct{}

// SweepNow begins a sweep before its time.
type SweepNow struct{}

// Clear begins the totals of a port anew, or of all where Of is nil. No device is asked for anything.
type Clear struct{ Of func(Key) bool }

// ForgetAbsent drops the totals of nodes that have gone.
type ForgetAbsent struct{}

// ForgetRedirects has agents asked anew that redirected elsewhere: those of a node, or all for 0.
type ForgetRedirects struct{ Node mad.GUID }

// Changed are other settings.
type Changed struct{ Settings Settings }

func (*Ports) event()           {}
func (*Rebooted) event()        {}
func (*Answered) event()        {}
func (*Unanswered) event()      {}
func (*Tick) event()            {}
func (*SweepNow) event()        {}
func (*Clear) event()           {}
func (*ForgetAbsent) event()    {}
func (*ForgetRedirects) event() {}
func (*Changed) event()         {}

// Ask is a request to send. Each has one end, Answered or Unanswered; until then it has its
// place in the window.
type Ask struct {
	Tag    uint64
	To     mad.Addr
	Packet mad.Packet // without transaction ID
}

// Finding is a reading in which something is not as it should be.
type Finding struct {
	Key      Key
	At       time.Duration
	Note     Note
	Counters pma.Counters // those that are unconfirmed or began again, 0 for the whole port
}

// Output is what a step asks for. Its slices are valid until the next step.
type Output struct {
	Asks     []Ask
	Findings []Finding  // at most maxFindings a sweep
	Image    *Image     // of the sweep that is done now, nil if none is
	Gone     []mad.GUID // nodes of which no port is read any more
}

// maxFindings bounds the findings of a sweep: ten thousand ports can stop answering at once.
const maxFindings = 256

// Note says what is special about a reading: a sum of bits.
type Note uint16

// Notes.
const (
	First        Note = 1 << iota // there is no reading before, so nothing has been counted
	NoAnswer                      // the agent did not answer
	Refused                       // the agent refused, or answered something else
	Partial                       // an attribute is missing
	ResetByUs                     // we reset counters since
	ResetByOther                  // somebody else did, or the counter wrapped around
	AfterReboot                   // the node rebooted since
	Backwards                     // counters went backwards, and no reset explains it
	Implausible                   // counters rose by more than the link can carry
	Saturated                     // counters have their largest value
	MayOverflow                   // counters could have reached their largest value since
	Rebased                       // counters go on from the value that was unconfirmed before
)

var noteNames = [...]string{"first reading", "no answer", "refused", "partial", "reset by this manager",
	"reset by another program",
	"rebooted", "went backwards", "implausible", "saturated", "may have overflowed",
	"continues from an uncertain value"}

// String lists what is set.
func (n Note) String() string {
	text := ""
	for i, name := range noteNames {
		if n>>i&1 != 0 {
			if text != "" {
				text += ", "
			}
			text += name
		}
	}
	if text == "" {
		return "sound"
	}
	return text
}
