package hosts

import (
	"slices"
	"time"

	"ibsm/mad"
)

// Report is what became of the requests.
type Report struct {
	Kinds   [NumKinds]Outcome
	Reports uint64 // that hosts were sent
	Late    uint64 // answers to requests that had been answered, or given up
}

// Outcome is what became of the requests of one kind.
type Outcome struct {
	Asked   uint64
	Resent  uint64
	GivenUp uint64 // unanswered
	Refused map[mad.Status]uint64
	Took    []time.Duration // from the first sending to the answer, of those that were granted
}

func (o *Outcome) refuse(st mad.Status) {
	if o.Refused == nil {
		o.Refused = map[mad.Status]uint64{}
	}
	o.Refused[st]++
}

// Quantile is the time that a share of the requests took at most, 0 when there are
// none. It sorts Took.
func (o *Outcome) Quantile(share float64) time.Duration {
	if len(o.Took) == 0 {
		return 0
	}
	slices.Sort(o.Took)
	return o.Took[min(int(share*float64(len(o.Took))), len(o.Took)-1)]
}

// Report is what became of the requests since it was last called.
func (c *Crowd) Report() Report {
	r := c.report
	c.report = Report{}
	return r
}
