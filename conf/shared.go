package conf

import (
	"fmt"
	"slices"
	"strings"
)

// sharedGroups are the groups whose settings determine what is written to the fabric, and whom the SA
// answers.
var sharedGroups = []string{"subnet", "links", "routing", "partitions", "qos", "security"}

// Shared reports whether a setting determines what is written to the fabric, or whom the SA answers, so that it
// should be equal on all managers of a subnet: a standby takes over with its master's
// value. Keys, which must not be sent, and file names are not shared.
func (k *Key) Shared() bool {
	switch k.Name {
	case "m_key_lease_period", "m_key_protection_level", "m_key_per_port":
		return true
	case "partition_pkeys":
		return true // no file name
	case "partition_fallback":
		return false // concerns the local file
	}
	group, _, _ := strings.Cut(k.TOML, ".")
	return k.Kind != String && slices.Contains(sharedGroups, group)
}

// WriteShared writes the chosen shared settings in the format of ibsm.toml.
func (c *Config) WriteShared() []byte {
	var b strings.Builder
	for _, group := range tomlGroups() {
		head := fmt.Sprintf("[%s]\n", group)
		for i := range table {
			k, s := &table[i], c.settings[i]
			if k.Group() == group && k.Shared() && s.chosen(k) {
				fmt.Fprintf(&b, "%s%s = %s\n", head, k.Leaf(), k.tomlText(s.Value))
				head = ""
			}
		}
	}
	return []byte(b.String())
}

// WithShared returns a copy with the shared settings of another manager, as written by
// WriteShared; settings that it has not chosen get their defaults. name, which ends in
// .toml, names the text in Setting.Position. The error is a diag.List.
func (c *Config) WithShared(name string, text []byte) (*Config, error) {
	f := ReadFile(name, text)
	if err := f.Report.Err(Start); err != nil {
		return nil, err
	}
	next := c.clone()
	for i := range table {
		if !table[i].Shared() {
			continue
		}
		s, has := f.settings[i]
		if !has {
			s = Setting{Value: table[i].standard()}
		}
		if has {
			s.Source = FromMaster
		}
		next.settings[i] = s
	}
	var amended Report
	next.reconcile(&amended)
	return next, nil
}

// SharedDifferences are the names of the shared settings that differ between two
// configurations.
func (c *Config) SharedDifferences(o *Config) (names []string) {
	for i := range table {
		k := &table[i]
		mine, theirs := c.settings[i], o.settings[i]
		if chosen := mine.chosen(k); k.Shared() &&
			(chosen != theirs.chosen(k) || chosen && mine.Value != theirs.Value) {
			names = append(names, k.Name)
		}
	}
	return names
}
