package sweep

import (
	"maps"

	"ibsm/mad"
	"ibsm/topo"
)

// reregistrations are the ports whose clients are to be asked to register again, by GUID: what the
// SA holds is not any more what they were told. Each is asked once.
type reregistrations struct {
	asked map[mad.GUID]bool // for the next task
	out   map[mad.GUID]bool // of the task that is out or being programmed, and not yet told
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

// take gives out what a task is to ask.
func (r *reregistrations) take() map[mad.GUID]bool {
	r.out, r.asked = r.asked, nil
	return r.out
}

// told ends a sweep: only ports that have not answered are asked again.
func (r *reregistrations) told(c *SweepPlan) {
	maps.DeleteFunc(r.out, func(guid mad.GUID, _ bool) bool {
		p := c.Topo.FindPort(guid)
		return p == topo.None || !c.Plan.Reregisters(p)
	})
}

// putBack has the next task ask what this one has not.
func (r *reregistrations) putBack() {
	if r.asked == nil {
		r.asked = r.out
	} else {
		maps.Copy(r.asked, r.out)
	}
	r.out = nil
}
