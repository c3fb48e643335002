package manager

import (
	"time"

	"ibsm/mad"
	"ibsm/store"
	"ibsm/sweep"
)

// Persist is what has changed of that which must outlive the manager. LIDs come before they
// are written to the subnet.
type Persist struct {
	LIDs      []sweep.LIDAssignment // new or changed, in order of GUID
	Forgotten []mad.GUID            // ports whose LIDs are no longer kept for them
	Term      *store.Term           // that has begun; nil if it goes on
}

func (Persist) action() {}

// Batch is the change of the store.
func (k *Persist) Batch() store.Batch {
	b := store.Batch{Forget: k.Forgotten, Term: k.Term}
	for _, l := range k.LIDs {
		b.LIDs = append(b.LIDs, store.LID(l))
	}
	return b
}

// quickRestart is how long a manager that did not end as it should may have been gone so
// that it goes on as if it had not: nobody else had the time to rule at its port.
const quickRestart = time.Minute

// Resume sets what a manager that begins now is to know from what was kept. Clients need
// not register again with a master that only was restarted, if nothing of theirs is
// lost.
func (c *Config) Resume(kept *store.Contents, now time.Time) {
	var k sweep.Restored
	for _, l := range kept.LIDs {
		k.LIDs = append(k.LIDs, sweep.LIDAssignment(l))
	}
	if n := len(kept.Terms); n > 0 {
		c.LastTerm = kept.Terms[n-1]
		k.Stale = !c.LastTerm.Master
		gone := now.Sub(kept.Interrupted) // below 0 where the clock was set back meanwhile
		k.Registered = c.LastTerm.Master && gone >= 0 && gone < quickRestart
	}
	c.Sweep.Restored = k
}
