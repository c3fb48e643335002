// Package umad sends and receives management packets through Linux's user MAD
// devices, /dev/infiniband/umad*, and sets IsSM of a port through issm*.
//
// Ports lists the ports of sysfs, and Find chooses the one to run at. Open opens it: one file
// for QP0 and another for QP1, so that a flood of queries to subnet administration never
// delays a subnet management packet.
//
// The kernel segments nothing here: RMPP is left to user space, and a datagram is always one
// packet of 256 bytes. It sends a Report again where there is no answer in time. Other requests
// it only remembers for Config.Timeout, because it delivers no reply to a request that it has
// forgotten: it cannot be stopped from sending a Set again that is no longer wanted. Several agents of the
// kernel share the requests, because newer kernels have requests wait that are too many for
// one agent.
package umad

import (
	"errors"
	"time"
)

// Config says how to open a port. The zero value is for a client.
type Config struct {
	// Serve also receives requests to the subnet manager and to subnet administration, and
	// traps. Only one process per port can; without it a port can be opened beside a running
	// subnet manager.
	Serve bool
	// Timeout is how long the kernel waits for the reply to a request before it returns the
	// request as timed out; 1 s if 0. A later reply is lost, so it should cover all attempts
	// of a request.
	Timeout time.Duration
	// QueryTimeout is the same for requests to other SAs; Timeout if 0.
	QueryTimeout time.Duration
	// ReportTimeout is how long the kernel waits for the answer to a Report, Timeout if 0,
	// before it sends that again, ReportRetries times. After those it returns the Report as
	// timed out.
	ReportTimeout time.Duration
	ReportRetries uint32
}

// Errors that do not pass by waiting.
var (
	// ErrNotInfiniBand is returned for a port of another link layer.
	ErrNotInfiniBand = errors.New("not an InfiniBand port")
	// ErrNoSMI is returned for a port without a QP0 for subnet managers. A device of several
	// planes may still get one, on another device.
	ErrNoSMI = errors.New("no subnet management")
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
	// Held is how many requests the kernel has not returned, answered or timed out, whether
	// on the wire or waiting in the kernel. One that the adapter fails to send stays counted.
	Held int
}
