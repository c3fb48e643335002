package daemon

import (
	"context"
	"errors"
	"io/fs"
	"time"

	"ibsm/mad"
	"ibsm/mad/umad"
	"ibsm/manager"
)

// Port is an open port that a subnet manager can run at.
type Port struct {
	SMI  mad.Port // QP0, or both queue pairs where GSI is nil
	GSI  mad.Port // QP1
	GUID mad.GUID // of the port
	Name string   // for the log
	// SetIsSM sets or clears the capability IsSM of the port.
	SetIsSM func(ctx context.Context, is bool) error
	// State reads the PortState of the port from the host, and ends SMI and GSI where the host has removed the
	// device; nil where the host does not know.
	State func() uint8
	// RetriesReports is set where the host's kernel sends a Report again that is not answered.
	RetriesReports bool
	// Held counts the requests of each queue pair that the host's kernel has not returned; nil
	// where there is no kernel between.
	Held func() (qp0, qp1 int)
	// PlainPeers is set where clients of the SA may not know RMPP, such as those of ibsim.
	PlainPeers bool
}

// close closes a port at which no manager ran. One that ran has closed it.
func (p *Port) close() {
	p.SMI.Close()
	if p.GSI != nil {
		p.GSI.Close()
	}
}

// Opener opens the port to run at. It is called again after the port has broken, or could
// not be opened, by one goroutine at a time.
type Opener struct {
	Name string // of the port, before it is open
	Open func(ctx context.Context) (*Port, error)
}

// isHopeless reports whether waiting for a port is in vain.
func isHopeless(err error) bool {
	return errors.Is(err, fs.ErrPermission) || errors.Is(err, errors.ErrUnsupported) ||
		errors.Is(err, umad.ErrNotInfiniBand) || errors.Is(err, umad.ErrInUse) || errors.Is(err, umad.ErrABI)
}

// watchPort is how often a port's own state is read, which costs the kernel one question
// to its driver.
const watchPort = 100 * time.Millisecond

// watch requests a light sweep when the port's state has changed by itself. The switch
// behind its cable may have lost its routes, and then no trap gets through.
func (p *Port) watch(ctx context.Context, requests chan<- manager.SweepRequested) {
	tick := time.NewTicker(watchPort)
	defer tick.Stop()
	for state := p.State(); ; {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		was := state
		if state = p.State(); state == was {
			continue
		}
		select {
		case <-ctx.Done():
		case requests <- manager.SweepRequested{Sweep: manager.Light}:
		}
	}
}
