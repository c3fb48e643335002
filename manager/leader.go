package manager

import (
	"time"

	"ibsm/mad/smp"
)

// LeadsUntil returns until when this manager leads its subnet if it takes no further step: it is MASTER, has asked
// every other manager since it was last paused, and answers requests. Later, another may have become master: the next
// Step would ask the others again. It is 0 if this manager does not lead. Deadline is due before half of the time has
// passed.
func (c *Core) LeadsUntil() time.Duration {
	if c.published.view == nil || !c.elect.mayWrite() || c.handover.state == exited {
		return 0
	}
	return c.fx.now + c.elect.stall()
}

// State is that of the election. Any goroutine may call it at any time.
func (s *Shell) State() smp.SMState {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.stats.State
}

// Leads reports whether this manager leads its subnet now: see Core.LeadsUntil. Any goroutine may call it at any time.
func (s *Shell) Leads() bool {
	s.mu.Lock()
	until := s.leads
	s.mu.Unlock()
	now := time.Now()
	// The clock stops while the host sleeps, the time of day does not.
	return s.View() != nil && now.Before(until) && now.Round(0).Before(until.Round(0))
}
