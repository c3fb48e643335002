package manager

import (
	"time"

	"ibsm/mad"
	"ibsm/store"
	"ibsm/sweep"
)

// Keep is what has changed of that which must outlive the manager. LIDs come before they
// are written to the subnet.
type Keep struct {
	LIDs      []sweep.KeptLID // new or changed, in order of GUID
	Forgotten []mad.GUID      // ports whose LIDs are no longer kept for them
	Reign     *store.Reign    // that has begun; nil if it goes on
}

func (Keep) action() {}

// Batch is what the store is to be given.
func (k *Keep) Batch() store.Batch {
	b := store.Batch{Forget: k.Forgotten, Reign: k.Reign}
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
	var k sweep.Kept
	for _, l := range kept.LIDs {
		k.LIDs = append(k.LIDs, sweep.KeptLID(l))
	}
	if n := len(kept.Reigns); n > 0 {
		c.LastReign = kept.Reigns[n-1]
		k.Stale = !c.LastReign.Master
		gone := now.Sub(kept.Interrupted) // below 0 where the clock was set back meanwhile
		k.Registered = c.LastReign.Master && gone >= 0 && gone < quickRestart
	}
	c.Sweep.Kept = k
}
