package conf

import (
	"maps"
	"slices"

	"ibsm/conf/diag"
)

// Reload returns the configuration after a reload of the file, and the keys that have
// changed. If the file has errors it returns a diag.List and the configuration stays
// unchanged. report has all findings.
//
// As in OpenSM, only lines that have changed since the last read are applied, so a
// command line option stays in force until its line changes. A removed line leaves the
// value unchanged, except that QoS settings return to their defaults. Settings that take
// effect only at start keep their values.
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
		if next.settings[i].Value != c.settings[i].Value ||
			next.settings[i].chosen(&table[i]) != c.settings[i].chosen(&table[i]) {
			changed = append(changed, table[i].Name)
		}
	}
	return next, changed, report, nil
}

// With returns the configuration with another number, or 0 and 1 of a boolean, which is in the range
// of the setting, chosen by an operator of the running manager. The value stays until its line in
// the file changes.
func (l *Loaded) With(k *Key, n uint64) *Loaded {
	next := *l
	next.Config = l.clone()
	next.option(k, Value{Num: n})
	return &next
}

// Keep returns the configuration with a setting as another one has it, as if the line of the setting had not been read
// since: a reload applies it then.
func (l *Loaded) Keep(k *Key, was *Loaded) *Loaded {
	next, i := *l, k.row()
	next.Config = l.clone()
	next.settings[i] = was.settings[i]
	if next.file == nil {
		return &next
	}
	file := *next.file
	file.settings = maps.Clone(file.settings)
	delete(file.settings, i)
	if was.file != nil {
		if s, is := was.file.settings[i]; is {
			file.settings[i] = s
		}
	}
	next.file = &file
	return &next
}

// Reread reads the file again, or searches for one as Load did if there was none, and
// applies it as Reload does. A file that no longer exists is an error.
func (l *Loaded) Reread(env Environment) (next *Loaded, changed []string, report Report, err error) {
	f := findFile(l.ConfigFile, env, &report)
	if f == nil {
		return l, nil, report, report.Err(Warning)
	}
	f.checkWhole(l.file)
	config, changed, report, err := l.Reload(f)
	if err == nil {
		for _, name := range append(config.deriveKeys(env, &report), config.secure(&report)...) {
			if !slices.Contains(changed, name) {
				changed = append(changed, name)
			}
		}
		config.reconcile(&report)
		err = report.Err(Reload)
	}
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

// checkWhole refuses a file that is read again and may not be whole: was, which is in force, had settings, and this one
// has none, or had an end of its last line, and this one has not.
func (f *File) checkWhole(was *File) {
	if was == nil || was.Name != f.Name || f.Report.Err(Reload) != nil {
		return
	}
	switch at := (diag.Position{File: f.Name}); {
	case len(f.settings) == 0 && len(was.settings) > 0:
		f.Report.add(Refusal, at, "", "the file has no setting: write it again")
	case f.open && !was.open && len(was.settings) > 0:
		f.Report.add(Refusal, at, "", "the file ends within a line: write it again, with an end of this line")
	}
}

// reloadKey applies a setting of a file if its line differs from the previous read.
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
		if !has {
			s.Position.File = now.Name
		}
		report.add(Note, s.Position, k.Name, "%s: the new value takes effect at the next start", k.Name)
	case has:
		c.settings[i] = s
	case k.qosFamily(), s.Source == FromDefault && now.hasKeysFile(c) && k.isDerived(),
		c.settings[i].Source == FromSecurity:
		c.settings[i] = Setting{Value: k.standard()}
	case k.Kind == X64 && k.Group() == "keys":
		report.add(Note, diag.Position{File: now.Name}, k.Name,
			"%s is no longer in the file; its value stays until the next start", k.Name)
	default:
		report.add(Note, diag.Position{File: now.Name}, k.Name,
			"%s is no longer in the file; value %s stays until the next start", k.Name, k.Format(c.settings[i].Value))
	}
}

// qosFamily reports whether a setting is one of the QoS settings per type of port.
func (k *Key) qosFamily() bool {
	return k.Name != "qos_policy_file" && len(k.Name) > 4 && k.Name[:4] == "qos_"
}
