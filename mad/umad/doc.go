// Package umad sends and receives management packets through Linux's user MAD
// devices, /dev/infiniband/umad*, and says through issm* that a subnet manager runs
// at a port.
//
// Ports and Find read sysfs to tell which ports there are and which one to run at;
// Open opens it: one file for QP0 and another for QP1, so that a flood of questions
// to subnet administration never delays a subnet management packet.
//
// The kernel segments nothing here: RMPP is left to user space, and a datagram is
// always one packet of 256 bytes. Nor does it send anything again; it only holds on
// to a request for as long as Config.Timeout, since it delivers no answer to a
// request that it has let go.
package umad

import (
	"errors"
	"time"
)

// Config says how to open a port. The zero value is for asking only.
type Config struct {
	// Serve takes what others send unasked: requests to the subnet manager and to
	// subnet administration, and traps. One process per port can; without it a port
	// can be opened beside a running subnet manager.
	Serve bool
	// Timeout is how long the kernel waits for the answer to a request before it
	// says that there is none; 1 s if 0. An answer that comes later is lost, so
	// it should cover all attempts of a request, whose answers are all as good.
	Timeout time.Duration
}

// Errors that waiting does not mend.
var (
	// ErrNotInfiniBand is returned for a port of another link layer.
	ErrNotInfiniBand = errors.New("not an InfiniBand port")
	// ErrInUse is returned where another subnet manager runs at the port.
	ErrInUse = errors.New("umad: the port is in use")
	// ErrABI is returned when the kernel speaks another version of the interface.
	ErrABI = errors.New("unknown version of the user MAD interface")
)

// Stats counts what a Port has done since it was opened.
type Stats struct {
	Sent      uint64 // packets that the kernel took
	Refused   uint64 // packets that it did not take; they are as good as lost
	Received  uint64 // packets
	TimedOut  uint64 // requests that the kernel says have no answer
	Malformed uint64 // reads that were neither
	Oversized uint64 // messages of more than one packet, dropped
}
