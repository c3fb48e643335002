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

// timeOfDay is now in seconds since 1970.
func (c *Core) timeOfDay() int64 { return c.cfg.Epoch + int64(c.now/time.Second) }

// keepLIDs tells which LIDs the last Job has changed.
func (c *Core) keepLIDs() {
	if lids, forgotten := c.sweeper.Changes(); len(lids)+len(forgotten) > 0 {
		c.do(Keep{LIDs: lids, Forgotten: forgotten})
	}
}

// reignBegins raises the reign when this manager has just become master.
func (c *Core) reignBegins() {
	if !c.reigns {
		c.reigns = true
		c.stats.FromStandby = c.stoodBy
		c.stats.Reign++
		c.nextReign(true)
	}
	c.stoodBy = false
}

// reignEnds raises the reign when this manager is master no more, or was when it ended
// and now another is.
func (c *Core) reignEnds() {
	if c.reign.Master {
		c.nextReign(false)
	}
}

func (c *Core) nextReign(master bool) {
	c.reign = store.Reign{Number: c.reign.Number + 1, Master: master, Began: c.timeOfDay()}
	r := c.reign
	c.do(Keep{Reign: &r})
}
