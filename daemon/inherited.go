package daemon

import (
	"bytes"
	"slices"
	"strings"

	"ibsm/conf"
	"ibsm/ctl"
	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/manager"
	"ibsm/partitions"
	"ibsm/sa/mirror"
	"ibsm/sweep/routes"
)

// A standby takes over with the policy of the master that it follows: its partitions and shared
// settings. They are in force at the standby all the time, and after it has become master,
// until its operator reloads its own files.

// mirroring is the configuration of mirroring: the keys by which managers authenticate each
// other, this manager's policy, and what a standby of a master that is not ibsm needs.
func (c *configuration) mirroring(next *inForce, cfg *manager.Config, l *conf.Loaded,
	chosen *partitions.Selected) mirror.Config {
	m := mirror.Config{
		SMKey: cfg.Elect.SMKey, MKey: cfg.Sweep.Settings.MKey.Value,
		DefaultKeys: conf.MirrorWithDefaultKeys.In(l.Config), Allowed: cfg.Elect.Allowed,
		SAKey: cfg.SAKey, Keys: partitionKeys(cfg.Sweep.Partitions.Policy),
	}
	m.Secret, _ = l.Secret()
	switch {
	case chosen == nil:
		return m
	case next.from != nil && next.from.chosen != nil:
		m.Policy = next.from.text
		if next.mkeys != next.from.mkeys || !next.agrees(next.from) {
			own := next.from.policyText
			own.mkeys, own.links, own.routes = next.mkeys, knownLinks(next.links), next.record
			m.Policy = own.encode()
		}
	default:
		own := policyText{of: next.port, shared: l.WriteShared(), qos: next.qosPolicy(l).text, mkeys: next.mkeys,
			links: next.links, routes: next.record, engines: next.engineFiles(), source: chosen.Source,
			file: chosen.Text}
		m.Policy = own.encode()
	}
	tooLong := len(m.Policy) > mirror.MaxPolicy
	if tooLong && !next.tooLong {
		c.logger.Error("the files for standbys are too long to send: after a failover a standby uses its own files",
			"bytes", len(m.Policy), "most", mirror.MaxPolicy)
	}
	next.tooLong = tooLong
	return m
}

// partitionKeys are the P_Keys of all partitions.
func partitionKeys(p *partitions.Policy) []mad.PKey {
	keys := []mad.PKey{mad.DefaultPKey}
	if p != nil {
		for i := range p.Partitions {
			keys = append(keys, p.Partitions[i].Key)
		}
	}
	return keys
}

// mirrored receives the policy of the master, empty if it sends none. When it returns, the resulting configuration has
// been sent to the manager.
func (c *configuration) mirrored(master mad.GUID, text []byte) {
	var from *masterPolicy
	var err error
	if len(text) > 0 {
		from, err = newMasterPolicy(text)
	}
	c.change(func(next *inForce) {
		switch {
		case from != nil && next.from != nil && next.from.chosen != nil &&
			string(next.from.text) == string(from.text) && next.agrees(from):
			return
		case err != nil:
			c.logger.Error("the master's policy cannot be read: after a failover this manager uses its own files",
				"guid", master, "reason", err)
		case from == nil:
			c.logger.Error(
				"the master sends no policy, because it is too long: after a failover this manager uses its own files",
				"guid", master)
		}
		if from != nil {
			c.takeLinks(next, from.links)
			c.takeRoutes(next, from.routes)
		}
		if from.sameFiles(next.from) {
			next.from = from
		} else {
			c.inherit(next, from)
		}
		c.send(next)
	})
}

// agrees reports whether the present sick links and record of routes equal those of a policy. They change while this
// manager is master.
func (s *inForce) agrees(p *masterPolicy) bool {
	return s.record == p.routes && knownLinks(s.links).Same(knownLinks(p.links))
}

// takeRoutes takes the master's record of routes.
func (c *configuration) takeRoutes(next *inForce, r routes.Record) {
	if r != next.record {
		next.record = r
		c.state.keepRoutes(r)
	}
}

// routed takes the record of routes that this manager has computed as master, which is in the store. Standbys get it.
func (c *configuration) routed(r routes.Record) {
	c.change(func(next *inForce) {
		if r != next.record {
			next.record = r
			c.sendTo(next, true)
		}
	})
}

// foreignMaster has this manager's own files apply again: the master is not ibsm.
func (c *configuration) foreignMaster(master mad.GUID) {
	c.change(func(next *inForce) {
		if next.from == nil {
			return
		}
		c.logger.Warn("the master is not ibsm: after a failover this manager uses its own files", "guid", master)
		c.inherit(next, nil)
		c.send(next)
	})
}

// inherit puts the policy of a master into force; nil ends that.
func (c *configuration) inherit(next *inForce, from *masterPolicy) {
	next.from, next.differs = from, nil
	c.compare(next)
}

// compare logs how this manager's own files differ from the master's policy.
func (c *configuration) compare(next *inForce) {
	if next.from == nil {
		return
	}
	l, chosen := next.effective()
	differs := append([]string{}, next.own.SharedDifferences(l.Config)...)
	if next.partitions != nil && !next.partitions.ForTables().Equal(chosen.ForTables()) {
		differs = append(differs, conf.PartitionConfigFile.Key().Name)
	}
	if next.qos != nil && !sameLines(next.qos.text, next.qosPolicy(l).text) {
		differs = append(differs, conf.QoSPolicyFile.Key().Name)
	}
	differs = append(differs, next.files.differ(next.from.engines)...)
	was := next.differs
	next.differs = differs
	switch {
	case was != nil && slices.Equal(was, differs):
	case len(differs) > 0:
		c.logger.Error(
			"this manager's own files differ from the master's: after a failover it uses the master's partitions and settings. Make the files identical",
			"guid", next.from.of, "differ", strings.Join(differs, ","))
	default:
		c.logger.Info("this manager's own files are identical to the master's", "guid", next.from.of)
	}
}

// entered takes a state that the manager has entered.
func (c *configuration) entered(state smp.SMState) {
	c.change(func(next *inForce) {
		next.master = state == smp.Master
		if next.master && next.shown != nil && len(next.shown.Differ) > 0 {
			c.logger.Error(
				"this manager uses the partitions and settings of the previous master until its own files are reloaded: ibsmctl config reload",
				"guid", next.shown.Of, "differ", strings.Join(next.shown.Differ, ","))
		}
	})
}

// useOwnFiles has this manager's own files apply again after a reload, if it is master and they
// have no errors.
func (c *configuration) useOwnFiles(next *inForce) {
	if next.from == nil || !next.master || next.partitions == nil {
		return
	}
	if len(next.partitions.Errors)+len(next.qos.errors) > 0 {
		c.logger.Error("the partitions and settings of the previous master stay in force", "guid", next.from.of)
		return
	}
	c.logger.Warn("from now on this manager uses its own files, not those of the previous master", "guid", next.from.of)
	c.inherit(next, nil)
}

// shown is what ibsmctl shows of a policy, nil without one.
func (p *masterPolicy) shown(differs []string) *ctl.MirroredSettings {
	if p == nil {
		return nil
	}
	return &ctl.MirroredSettings{Of: p.of.String(), Differ: differs}
}

// sameLines reports whether two files differ in comments and blanks only.
func sameLines(a, b []byte) bool {
	if bytes.Equal(a, b) {
		return true
	}
	words := func(text []byte) (words []string) {
		for line := range strings.Lines(string(text)) {
			line, _, _ = strings.Cut(line, "#")
			words = append(words, strings.Fields(line)...)
		}
		return words
	}
	return slices.Equal(words(a), words(b))
}
