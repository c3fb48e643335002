package manager

import (
	"errors"
	"slices"
	"testing"
	"time"

	"ibsm/congestioncontrol"
	"ibsm/mad"
	"ibsm/registry"
	"ibsm/sweep/elect"
)

// newMaster is the core of a MASTER that has swept nothing yet.
func newMaster(cfg Config) *Core {
	cfg.Elect = elect.Config{GUID: 5}
	c := NewCore(cfg)
	c.elect.Decide(0, nil)
	c.sweeps.wanted = 0
	c.fx.begin(time.Second)
	return c
}

// TestCongestionControlFollowsASweep: devices get their settings of congestion control after a heavy sweep that
// succeeded, where it is enabled, and not after one that failed.
func TestCongestionControlFollowsASweep(t *testing.T) {
	for _, c := range []struct {
		name       string
		enabled    bool
		err        error
		configured bool
	}{
		{"succeeded", true, nil, true},
		{"failed", true, errors.New("routes are missing"), false},
		{"not enabled", false, nil, false},
	} {
		out := *newSwept(t, "fattree:k=4,levels=2").heavy()
		out.Err = c.err
		core := newMaster(Config{Congestion: congestioncontrol.Settings{Enabled: c.enabled}})
		core.finish(&out)
		if did := core.fx.did(); slices.Contains(did, "Congestion") != c.configured {
			t.Errorf("%s: %q, want Congestion %t", c.name, did, c.configured)
		}
	}
}

// TestRaiseTop: a sweep raises MulticastFDBTop when groups come whose MLIDs are above it: also when they came during
// the sweep that ends now, and never while this manager is not master.
func TestRaiseTop(t *testing.T) {
	const low, high = mad.MinMulticastLID, mad.MinMulticastLID + 40 // in the first and in the second block of a table
	reg := func(mlid mad.LID) RegistryChanged {
		r := registry.New()
		group := registry.Group{MGID: mad.GID{0xff, 0x12, 15: 1}, MLID: mlid, PKey: mad.DefaultPKey, MTU: mad.MTU2048,
			Rate: 3}
		if err := r.Apply(registry.PutGroup{Group: group}); err != nil {
			t.Fatal(err)
		}
		return RegistryChanged{r.Freeze()}
	}
	for _, c := range []struct {
		name          string
		before, after mad.LID // MLIDs of the group before and after the end of the sweep
		wants         bool
	}{
		{"enough", low, low, false},
		{"too low at the end of the sweep", high, high, true},
		{"too low later", low, high, true},
	} {
		s := newSwept(t, "fattree:k=4,levels=2")
		core := newMaster(Config{})
		core.take(reg(low))
		s.sweeper.SetMulticastTop(core.multicast.Top())
		out := s.heavy()
		core.take(reg(c.before))
		if core.sweeps.wanted != 0 {
			t.Fatalf("%s: a sweep is wanted before this manager is master: %v", c.name, core.sweeps.wanted)
		}
		core.finish(out)
		if atEnd := c.before == high; core.sweeps.wanted.has(wishQuick) != atEnd {
			t.Errorf("%s: at the end of the sweep another is wanted: %t, want %t", c.name, !atEnd, atEnd)
		}
		core.take(reg(c.after))
		if core.sweeps.wanted.has(wishQuick) != c.wants {
			t.Errorf("%s: a sweep is wanted: %t, want %t", c.name, !c.wants, c.wants)
		}
		core.sweeps.wanted = 0
		core.unpublish()
		if core.take(reg(high)); core.sweeps.wanted != 0 {
			t.Errorf("%s: not master any more, and a sweep is wanted", c.name)
		}
	}
}
