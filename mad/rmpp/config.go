package rmpp

import (
	"errors"
	"time"

	"ibsm/mad"
)

// Config of a Machine. The zero value means the stated defaults.
type Config struct {
	// ACKTimeout is how long a sender waits for an ACK before it goes back to the
	// segment behind the last one acknowledged; 500 ms.
	ACKTimeout time.Duration
	// Retries is how often in a row it goes back before it gives up: 5; negative for
	// never.
	Retries int
	// PlainPeers is where peers may know no RMPP: one that has not acknowledged the first
	// segment in time is not sent it again, nor notified that the transfer is over, and a new
	// message may take its place.
	PlainPeers bool
	// TotalTime is how long a transfer may take; 40 s, Linux's.
	TotalTime time.Duration
	// Linger is how long a transfer that is over is known, to acknowledge again what
	// comes twice; 10 s, Linux's.
	Linger time.Duration

	// MaxTransfers bounds the transfers under way: 4096. As many again may linger,
	// the oldest of which gives way to a new one.
	MaxTransfers int
	// MaxPerPeer bounds those with one LID: 64.
	MaxPerPeer int
	// MaxBytes bounds the payload of all transfers under way: 256 MiB.
	MaxBytes int
	// MaxMessage bounds one message that is received: 64 KiB.
	MaxMessage int
}

// Window is how many segments beyond the last one in order may be under way: what
// Linux grants, and as many as a receiver keeps a bit each for.
const Window = 64

// maxControl bounds the ACKs and aborts that wait for Output. A peer that misses one
// sends again.
const maxControl = 1024

// maxSegments is what a segment's number can count without PayloadLength running over.
const maxSegments = 1 << 24

func (c Config) withDefaults() Config {
	or := func(d *time.Duration, or time.Duration) {
		if *d <= 0 {
			*d = or
		}
	}
	or(&c.ACKTimeout, 500*time.Millisecond)
	or(&c.TotalTime, 40*time.Second)
	or(&c.Linger, 10*time.Second)
	if c.Retries == 0 {
		c.Retries = 5
	}
	c.Retries = max(c.Retries, 0)
	orInt := func(v *int, or int) {
		if *v <= 0 {
			*v = or
		}
	}
	orInt(&c.MaxTransfers, 4096)
	orInt(&c.MaxPerPeer, 64)
	orInt(&c.MaxBytes, 256<<20)
	orInt(&c.MaxMessage, 64<<10)
	return c
}

// Why Send takes no message.
var (
	ErrUnderWay = errors.New("rmpp: the same transfer is under way")
	ErrTooBig   = errors.New("rmpp: the message is too long")
	ErrFull     = errors.New("rmpp: too many transfers or bytes under way")
	ErrPeerFull = errors.New("rmpp: too many transfers with this peer under way")
)

// Ended is a transfer that is over.
type Ended struct {
	mad.Addr            // of the other side
	Sent     bool       // by us
	Status   Status     // StatusNormal, or why it failed
	Head     mad.Packet // the first segment
	Data     []byte     // records of a message that was received whole; the caller's
}

// Stats counts what a Machine has done since New, and shows where it stands.
type Stats struct {
	Sent     uint64      // messages, acknowledged to the end
	Received uint64      // messages, whole
	Failed   [256]uint64 // transfers, by Status

	SegmentsSent uint64 // repeated ones included
	Repeated     uint64 // times that a sender went back
	Segments     uint64 // received that were of use
	Duplicates   uint64 // segments received again
	ACKs         uint64 // received

	// What was not taken.
	Unmatched   uint64 // packets of no transfer that is known
	OverCount   uint64 // transfers beyond MaxTransfers
	OverPeer    uint64 // transfers beyond MaxPerPeer
	OverBytes   uint64 // transfers beyond MaxBytes
	TooBig      uint64 // messages beyond MaxMessage
	ControlLost uint64 // ACKs and aborts of ours for which there was no room

	UnderWay int // transfers now
	Bytes    int // of their payload now
}
