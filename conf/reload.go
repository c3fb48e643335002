package conf

import "slices"

// Reload returns the configuration in force after the file was read again, and the
// keys that have changed. An error, a diag.List, says that the file has mistakes;
// then nothing changes. report says all that was found.
//
// As with OpenSM, only a line that has changed since the file was read last counts:
// so an option stays in force until then. A line that is gone leaves the value as it
// is, but those of QoS fall back to their defaults. Settings that take effect at a
// start alone keep their values.
func (c *Config) Reload(f *File) (next *Config, changed []string, report Report, err error) {
	report = slices.Clone(f.Report)
	if err := report.Err(Reload); err != nil {
		return c, nil, report, err
	}
	next = c.clone()
	next.file = f
	for i := range table {
		next.reloadKey(i, c.file, f, &report)
	}
	next.reconcile(&report)
	next.comment(&report)
	if err := report.Err(Reload); err != nil {
		return c, nil, report, err
	}
	for i := range table {
		if next.settings[i].Value != c.settings[i].Value || next.settings[i].chosen(&table[i]) != c.settings[i].chosen(&table[i]) {
			changed = append(changed, table[i].Name)
		}
	}
	return next, changed, report, nil
}

// WithPriority is the configuration with another sm_priority, 0 to 15, as the operator of
// the running manager chooses it. It stays until the line of the file changes.
func (l *Loaded) WithPriority(n uint8) *Loaded {
	next := *l
	next.Config = l.clone()
	next.option(SMPriority.Key(), Value{Num: uint64(n)})
	return &next
}

// Reread reads the file again, or looks for one as Load did if there was none, and
// does what Reload does. A file that is gone is an error.
func (l *Loaded) Reread(env Environment) (next *Loaded, changed []string, report Report, err error) {
	f := findFile(l.ConfigFile, env, &report)
	if f == nil {
		return l, nil, report, report.Err(Warning)
	}
	config, changed, report, err := l.Reload(f)
	if err == nil && l.Strict {
		err = report.Err(Strict)
	}
	if err != nil {
		return l, nil, report, err
	}
	again := *l
	again.Config, again.ConfigFile = config, f.Name
	return &again, changed, report, nil
}

// reloadKey takes a setting of a file if it differs from what the file had before.
func (c *Config) reloadKey(i int, before, now *File, report *Report) {
	k := &table[i]
	var old Setting
	had := false
	if before != nil {
		old, had = before.settings[i]
	}
	s, has := now.settings[i]
	switch {
	case !has && !had, has && had && s.Value == old.Value && s.Imposed == old.Imposed:
		return
	case !k.Reload && has && s.Value == c.settings[i].Value && s.chosen(k) == c.settings[i].chosen(k):
		return
	case !k.Reload:
		report.add(Note, s.Position, k.Name, "%s takes effect at the next start", k.Name)
	case has:
		c.settings[i] = s
	case k.qosFamily():
		c.settings[i] = Setting{Value: k.standard()}
	default:
		report.add(Note, s.Position, k.Name, "%s is no longer in the file; %s stays until the next start", k.Name, k.Format(c.settings[i].Value))
	}
}

// qosFamily reports whether a setting is one of those for each type of port.
func (k *Key) qosFamily() bool {
	return k.Name != "qos_policy_file" && len(k.Name) > 4 && k.Name[:4] == "qos_"
}
