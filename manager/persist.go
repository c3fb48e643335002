package manager

import (
	"time"

	"ibsm/mad"
	"ibsm/store"
	"ibsm/sweep"
	"ibsm/sweep/lids"
	"ibsm/sweep/routes"
)

// Persist has the Shell write changes to the state store. LIDs come before they are written to
// the subnet.
type Persist struct {
	LIDs      []lids.Assignment // new or changed, in order of GUID
	Forgotten []mad.GUID        // ports whose LIDs are no longer kept for them
	Term      *store.Term       // a new mastership term; nil if the present one continues
	Routes    *routes.Record    // nil if it is the one before
}

func (Persist) action() {}

// Batch is the change of the store.
func (k *Persist) Batch() store.Batch {
	b := store.Batch{Forget: k.Forgotten, Term: k.Term}
	if k.Routes != nil {
		b.Routes = k.Routes.Text()
	}
	for _, l := range k.LIDs {
		b.LIDs = append(b.LIDs, store.LID(l))
	}
	return b
}

// quickRestart is how long a manager that was interrupted may have been away and still
// assume that no other manager has been master at its port meanwhile.
const quickRestart = time.Minute

// Resume sets the initial state of a manager from the contents of its store. Clients need not register again with a
// master that only restarted and lost none of their registrations.
func (c *Config) Resume(kept *store.Contents, now time.Time) {
	k := sweep.Restored{MKeys: c.Sweep.Restored.MKeys, Behind: c.Sweep.Restored.Behind, Port: c.Sweep.Restored.Port}
	for _, l := range kept.LIDs {
		k.LIDs = append(k.LIDs, lids.Assignment(l))
	}
	if n := len(kept.Terms); n > 0 {
		c.LastTerm = kept.Terms[n-1]
		k.Stale = !c.LastTerm.Master
		gone := now.Sub(kept.Interrupted) // below 0 where the clock was set back meanwhile
		k.Registered = c.LastTerm.Master && gone >= 0 && gone < quickRestart
	}
	c.Sweep.Restored, c.Sweep.Routes = k, routes.ParseRecord(kept.Routes)
}
