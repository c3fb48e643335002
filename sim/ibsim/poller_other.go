//go:build !linux

package ibsim

import (
	"errors"
	"time"
)

// poller is for Linux: the abstract names of the protocol are its, too.
type poller struct{}

type readiness struct {
	fd          int
	read, write bool
}

func newPoller() (*poller, error)                       { return nil, errors.ErrUnsupported }
func (*poller) add(int) error                           { return errors.ErrUnsupported }
func (*poller) set(int, bool, bool)                     {}
func (*poller) wait(time.Duration) ([]readiness, error) { return nil, errors.ErrUnsupported }
func (*poller) wake()                                   {}
func (*poller) close()                                  {}
func datagramSocket(int) (int, error)                   { return -1, errors.ErrUnsupported }
