package sweep

import (
	"context"
	"time"

	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/sweep/device"
	"ibsm/sweep/discover"
	"ibsm/sweep/mkeys"
	"ibsm/sweep/plan"
	"ibsm/topo"
	"ibsm/view"
)

// MKeys are the M_Keys by the settings.
func (s *Settings) MKeys() plan.MKeys {
	return plan.MKeys{One: s.MKey.Value, Ports: s.PortMKeys, PerPort: s.MKeyPerPort, NoLookup: s.NoMKeyLookup}
}

// MKeyFor is the M_Key of a request to the agent of a port: the one it was read with, else
// the configured one.
func (s *Settings) MKeyFor(t *topo.Topo, p topo.PortIdx) mad.MKey {
	k := s.MKeys()
	return k.For(t, p)
}

// MKeys looks M_Keys up as they are known now.
func (s *Sweeper) MKeys() mkeys.Lookup {
	return mkeys.Lookup{Memory: s.walks.mkeys, Wanted: s.cfg.Settings.MKeys(), Prev: s.state.prev,
		Old: s.state.remembered() == nil, Writing: s.program != nil, Restored: s.cfg.Restored.MKeys,
		Self: s.cfg.Restored.Port}
}

// MKeyAt is the M_Key that a packet to the agent at a LID shows. v is the view in force, or nil; during a sweep the
// replies to its Sets take precedence. known is false if the M_Key may be any: before the first view, and if no agent
// is known to have the LID although the subnet has M_Keys.
func (s *Sweeper) MKeyAt(lid mad.LID, v *view.View) (key mad.MKey, known bool) {
	var t *topo.Topo
	p := topo.PortIdx(topo.None)
	switch {
	case s.program != nil && s.program.c.LIDs != nil:
		t, p = s.program.Topo, s.program.c.LIDs.PortOf(lid)
	case v != nil:
		t, p = v.Topo, v.LIDs.PortOf(lid)
	default:
		return 0, false
	}
	if p == topo.None {
		return 0, s.cfg.Settings.MKey.Value == 0 && !s.cfg.Settings.PortMKeys.On() && s.walks.mkeys.NoneShown()
	}
	return s.cfg.Settings.MKeyFor(t, p), true
}

// Key is the nth M_Key, from 0 on, to show to the agent of a port: mkeys.Lookup.Key of now.
func (s *Sweeper) Key(port mad.GUID, n int) mad.MKey { return s.MKeys().Key(port, n) }

// EndKnocks ends the time of ports that were open to another manager for long enough, and reports whether there are
// any: the next heavy sweep protects them again.
func (s *Sweeper) EndKnocks(now time.Duration) bool {
	nodes, ended := s.MKeys().EndKnocks(now)
	for _, node := range nodes {
		s.state.devices.MarkDirty(device.Place{Attr: smp.AttrPortInfo, Node: node})
	}
	return ended
}

// MostMissing reports whether nobody answers behind some links, and most of the subnet is behind them: more nodes than
// the walk has found, by what was known of it, or perhaps, where nothing was known.
func (f *Found) MostMissing() bool {
	return f.s.MKeys().MostMissing(f.Unproved, f.Refusing, f.Builder.Len())
}

// OpenOwn is mkeys.Lookup.OpenOwn for the port that a walk has found.
func (f *Found) OpenOwn() (plan.Set, bool) { return f.s.MKeys().OpenOwn(f.Builder) }

// StandbyTask makes the subnet that a walk has found, for a manager that is not master. It runs outside the core.
type StandbyTask struct {
	s       *Sweeper
	builder *topo.Builder
	tried   []discover.Place
}

// Standby is the task that follows where nothing else is made of a walk, which gets its Builder.
func (f *Found) Standby() *StandbyTask {
	builder := f.Builder
	f.Builder = nil
	return &StandbyTask{f.s, builder, f.Tried}
}

// FoundSubnet is the result of a StandbyTask.
type FoundSubnet struct {
	*topo.Topo
	Of *StandbyTask
}

// Run makes it.
func (j *StandbyTask) Run(context.Context) *FoundSubnet { return &FoundSubnet{j.builder.Freeze(), j} }

// Remember keeps it for the M_Keys of later walks: a manager that is not master may become it.
func (f *FoundSubnet) Remember() {
	f.Of.s.walks.features.Prune(f.Topo)
	f.Of.s.MKeys().Remember(f.Topo, f.Of.tried)
}

// Leases are those of the ports of the subnet.
func (s *Sweeper) Leases() *mkeys.Leases {
	return mkeys.NewLeases(func() mkeys.Sweeps {
		now := mkeys.Sweeps{Prev: s.state.prev, Walks: s.asked, Wanted: s.cfg.Settings.MKeys(),
			Knocked: s.walks.mkeys.Knocked()}
		if p := s.program; p != nil {
			now.Program, now.Changes = p.Program, p.c.LIDs != nil && p.c.Err == nil
		}
		return now
	})
}

// maxHidden is after how many sweeps without an answer behind an ACTIVE port its link is taken down, where ports have
// M_Keys of their own: a node whose port is not known may answer only when its lease has ended.
const maxHidden = 100
