package main

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"

	"ibsm/conf"
	"ibsm/ctl"
	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/manager"
	"ibsm/partitions"
	"ibsm/sa/mirror"
)

// What a standby takes over with: the partitions and settings of the master that it stands
// by. They are in force at a standby all the time, so that they are when it becomes master;
// and until its operator has its own files read again then.

// rules is what this manager rules by, or would.
func (f *inForce) rules() (*conf.Loaded, *partitions.Chosen) {
	if f.from == nil {
		return f.now, f.policy.chosen
	}
	return f.from.over(f.now, f.policy.chosen)
}

// mirroring is what managers tell each other: the keys by which they know each other, and
// what this one rules by; and what a standby of a manager of another kind needs to know.
func (f *inForce) mirroring(cfg *manager.Config, l *conf.Loaded, chosen *partitions.Chosen) mirror.Config {
	m := mirror.Config{
		SMKey: cfg.Elect.SMKey, MKey: cfg.Sweep.Settings.MKey.Value,
		SAKey: cfg.SAKey, Keys: partitionKeys(cfg.Sweep.Partitions.Policy),
	}
	switch {
	case chosen == nil:
		return m
	case f.from != nil && f.from.chosen != nil:
		m.Policy = f.from.text
	default:
		r := ruling{of: f.own, shared: l.WriteShared(), source: chosen.Source, file: chosen.Text}
		m.Policy = r.encode()
	}
	tooLong := len(m.Policy) > mirror.MaxPolicy
	if tooLong && !f.tooLong {
		f.logger.Error("the partition file is too long for standbys: they would rule by their own", "bytes", len(m.Policy), "most", mirror.MaxPolicy)
	}
	f.tooLong = tooLong
	return m
}

// partitionKeys are those of the partitions that there are.
func partitionKeys(p *partitions.Policy) []mad.PKey {
	keys := []mad.PKey{mad.DefaultPKey}
	if p != nil {
		for i := range p.Partitions {
			keys = append(keys, p.Partitions[i].Key)
		}
	}
	return keys
}

// mirrored takes what the master rules by; empty where it does not tell. The manager is
// told of it before mirrored returns.
func (f *inForce) mirrored(master mad.GUID, text []byte) {
	var from *inherited
	var err error
	if len(text) > 0 {
		from, err = newInherited(text)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case from != nil && f.from != nil && f.from.chosen != nil && string(f.from.text) == string(from.text):
		return
	case err != nil:
		f.logger.Error("what the master rules by cannot be read: this manager would rule by its own files", "guid", master, "reason", err)
	case from == nil:
		f.logger.Error("the master does not tell what it rules by, as that is too long: this manager would rule by its own files", "guid", master)
	}
	f.inherit(from)
	f.send()
}

// forget has this manager's own files count again: the master is of another kind.
func (f *inForce) forget(master mad.GUID) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.from == nil {
		return
	}
	f.logger.Warn("the master is no ibsm: if it dies, this manager rules by its own files", "guid", master)
	f.inherit(nil)
	f.send()
}

// inherit has a ruling count from now on, or nil for none.
func (f *inForce) inherit(from *inherited) {
	f.from, f.differs = from, nil
	text := []byte{}
	if from != nil {
		text = from.text
	}
	f.keepRuling(text)
	f.compare()
}

// compare tells how this manager's own files differ from what counts.
func (f *inForce) compare() {
	if f.from == nil {
		return
	}
	differs := []string{}
	l, chosen := f.rules()
	differs = append(differs, f.now.SharedDifferences(l.Config)...)
	if f.policy.chosen != nil && meaning(f.policy.chosen) != meaning(chosen) {
		differs = append(differs, "partition_config_file")
	}
	was := f.differs
	f.differs = differs
	switch {
	case was != nil && slices.Equal(was, differs):
	case len(differs) > 0:
		f.logger.Error("this manager's own files are not the master's, whose partitions and settings it takes over: make them the same",
			"guid", f.from.of, "differ", strings.Join(differs, ","))
	default:
		f.logger.Info("this manager's own files say what the master's do", "guid", f.from.of)
	}
}

// entered takes a state that the manager has entered.
func (f *inForce) entered(state smp.SMState) {
	f.master.Store(state == smp.Master)
	if r := f.ruling.Load(); r != nil && len(r.Differ) > 0 && state == smp.Master {
		f.logger.Error("this manager rules by the partitions and settings of the master before, not by its own files, until these are read again: ibsmctl config reload",
			"guid", r.Of, "differ", strings.Join(r.Differ, ","))
	}
}

// ownAgain has this manager's own files count again, which were just read, if it is master
// and they are without mistakes.
func (f *inForce) ownAgain() {
	if f.from == nil || !f.master.Load() || f.policy.chosen == nil {
		return
	}
	if len(f.policy.chosen.Errors) > 0 {
		f.logger.Error("the partitions and settings of the master before stay in force", "guid", f.from.of)
		return
	}
	f.logger.Warn("this manager rules by its own files from now on, no longer by those of the master before", "guid", f.from.of)
	f.inherit(nil)
}

// shown is what counts, for the control socket.
func (f *inForce) shown() *ctl.Ruling {
	if f.from == nil {
		return nil
	}
	return &ctl.Ruling{Of: f.from.of.String(), Differ: f.differs}
}

// Settings are those that count, for the control socket.
func (f *inForce) Settings() []ctl.Setting {
	f.mu.Lock()
	defer f.mu.Unlock()
	l, chosen := f.rules()
	var all []ctl.Setting
	for i := range conf.Keys() {
		k := &conf.Keys()[i]
		s := l.Setting(k)
		shown := ctl.Setting{Key: k.Name, Value: k.Format(s.Value), Chosen: l.Chosen(k), Source: s.Source.String(), Place: s.Position.String()}
		switch {
		case k.Kind == conf.X64 && k.Group() == "keys":
			shown.Value, shown.Note = "-", "not shown"
		case k.Name == "partition_config_file" && chosen != f.policy.chosen:
			shown.Note = fmt.Sprintf("partitions are those of %v", f.from.of)
		case k.Unset != "" && !shown.Chosen:
			shown.Note = "not chosen: " + k.Unset
		}
		all = append(all, shown)
	}
	return all
}

// meaning is a sum over the policy that is made of a partition file, however that is
// written.
func meaning(c *partitions.Chosen) [sha256.Size]byte {
	h := sha256.New()
	if p := c.ForTables(); p != nil {
		for _, p := range p.Partitions {
			fmt.Fprintln(h, uint16(p.Key), p.IPoIB, p.SL)
			for _, m := range p.Members {
				fmt.Fprintln(h, m.Who, m.Port, m.Membership, m.Index0)
			}
			for _, g := range p.Groups {
				fmt.Fprintln(h, g.MGID, g.QKey, g.MTU, g.Rate, g.SL, g.TClass, g.FlowLabel)
			}
		}
	}
	return [sha256.Size]byte(h.Sum(nil))
}
