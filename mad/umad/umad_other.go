//go:build !linux

package umad

import (
	"errors"
	"fmt"

	"ibsm/mad"
)

// Device is a port that is open. Only Linux has user MAD devices.
type Device struct{ SMI, GSI *Port }

// Port is one queue pair of a port that is open.
type Port struct{}

var errUnsupported = fmt.Errorf("umad: %w: user MAD devices exist only on Linux; use --fabric or --ibsim",
	errors.ErrUnsupported)

// Open says that there is nothing to open.
func Open(Pair, Config) (*Device, error) { return nil, errUnsupported }

// OpenBest says that there is nothing to open.
func OpenBest(string, mad.GUID, Config) (Pair, *Device, error) { return Pair{}, nil, errUnsupported }

// State is 0.
func (*Device) State() uint8 { return 0 }

// SetIsSM fails.
func (*Device) SetIsSM(bool) error { return errUnsupported }

// Close does nothing.
func (*Device) Close() error { return nil }

// Send fails.
func (*Port) Send([]mad.Datagram) (int, error)    { return 0, errUnsupported }
func (*Port) TrySend([]mad.Datagram) (int, error) { return 0, errUnsupported }

// Recv fails.
func (*Port) Recv([]mad.Datagram) (int, error) { return 0, errUnsupported }

// Close does nothing.
func (*Port) Close() error { return nil }

// Stats is empty.
func (*Port) Stats() Stats { return Stats{} }
