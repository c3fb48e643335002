package sweep

import (
	"testing"
	"time"

	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/mad/txn"
	"ibsm/topo"
)

// TestLeasesRenewed: a light sweep reads the PortInfo of each host, with its M_Key, once in a third of the lease,
// and only where a lease can run out; a port that was opened meanwhile wants a full sweep.
func TestLeasesRenewed(t *testing.T) {
	const hosts = 16
	for _, c := range []struct {
		name    string
		protect uint8
		lease   uint16
		renews  bool
	}{{"level 1", 1, 60, true}, {"level 2", 2, 60, true}, {"no protection", 0, 60, false}, {"no lease", 2, 0, false}} {
		var cfg Config
		cfg.Settings.MKey, cfg.Settings.MKeyProtect, cfg.Settings.MKeyLease = Given(mad.MKey(0x77)), Given(c.protect), Given(c.lease)
		b := newHarness(t, "fattree:k=4", cfg)
		b.heavy()
		pass := func(d time.Duration) { b.fabric.Advance(b.fabric.Now() + d) }
		looks := func(when string, want int) {
			t.Helper()
			reason, _, _ := b.look()
			if got := b.asked[smp.AttrPortInfo]; got != want || reason != "" {
				t.Errorf("%s, %s: %d PortInfos, want %d; %q", c.name, when, got, want, reason)
			}
		}
		renewed := 1 // our own port's alone
		if c.renews {
			renewed = hosts
		}
		looks("at first", 1)
		pass(20*time.Second - time.Nanosecond)
		looks("just before a third of the lease", 1)
		pass(time.Nanosecond)
		looks("after a third", renewed)
		looks("once more", 1)
		if !c.renews {
			continue
		}
		pass(20 * time.Second)
		b.meddle = func(req *txn.Request, o *txn.Outcome) {
			if req.MKey != 0x77 {
				t.Errorf("%s: M_Key %v", c.name, req.MKey)
			}
			if req.Attr == smp.AttrPortInfo && req.Tag&renewal != 0 && topo.PortIdx(uint32(req.Tag))%7 == 0 {
				(*smp.PortInfo)(&o.Data).SetMKeyProtectBits(0)
			}
		}
		if reason, full, _ := b.look(); reason == "" || !full {
			t.Errorf("%s: a port was opened: %q, full %v", c.name, reason, full)
		}
	}
}
