package sweep

import (
	"maps"

	"ibsm/mad"
	"ibsm/topo"
)

// reregistrations are the ports, by GUID, whose clients must register again because the SA has lost registrations that
// it acknowledged to them. Each is asked once.
type reregistrations struct {
	asked map[mad.GUID]bool // for the next task
	out   map[mad.GUID]bool // of the present task or program, and not yet acknowledged
}

// Reregister has the clients of ports asked to register again by the next heavy sweep. Ports
// that are not there by then come back with clients that register anyway.
func (s *Sweeper) Reregister(ports []mad.GUID) {
	if s.reregistrations.asked == nil {
		s.reregistrations.asked = map[mad.GUID]bool{}
	}
	for _, p := range ports {
		s.reregistrations.asked[p] = true
	}
}

// take returns the ports for a task.
func (r *reregistrations) take() map[mad.GUID]bool {
	r.out, r.asked = r.asked, nil
	return r.out
}

// acknowledged ends a sweep: only ports that have not answered are asked again.
func (r *reregistrations) acknowledged(c *SweepPlan) {
	maps.DeleteFunc(r.out, func(guid mad.GUID, _ bool) bool {
		p := c.Topo.FindPort(guid)
		return p == topo.None || !c.Plan.Reregisters(p)
	})
}

// putBack leaves the ports that were not asked to the next task.
func (r *reregistrations) putBack() {
	if r.asked == nil {
		r.asked = r.out
	} else {
		maps.Copy(r.asked, r.out)
	}
	r.out = nil
}
