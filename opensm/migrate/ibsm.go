package migrate

import (
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"ibsm/conf"
	"ibsm/opensm/instances"
)

// ibsmFiles are the files with the options of ibsm's units, of Debian's and of RHEL's package.
var ibsmFiles = []string{"etc/default/ibsm", "etc/sysconfig/ibsm"}

// ibsmOptions are those that ibsm's unit gives all of its managers.
func (h *Host) ibsmOptions() (options []string) {
	for _, file := range ibsmFiles {
		options = append(options, strings.Fields(instances.Value(h.Files, file, "IBSM_OPTIONS"))...)
	}
	return options
}

// inPlace are the options of the ibsm that ibsm.service would start in a manager's place; ok is false where it starts
// none.
func (h *Host) inPlace(m *OpenSM) (options []string, ok bool) {
	plan := instances.Read(h.Files)
	switch at := slices.IndexFunc(plan.Instances, func(i instances.Instance) bool {
		guid := i.GUID
		if i.Device != "" {
			guid, _ = h.PortNamed(i.Device) // unknownPorts has the error
		}
		return guid == m.GUID && i.Config == "" || i.Config != "" && i.Config == m.Config
	}); {
	case plan.All && m.GUID != 0:
		options = []string{"--guid=" + m.GUID.String()}
	case at >= 0:
		options = plan.Instances[at].Args()
	case len(plan.Instances) == 1 && plan.Instances[0].Name == "":
		options = plan.Instances[0].Args()
	default:
		return nil, false
	}
	return append(options, h.ibsmOptions()...), true
}

// unknownPorts are the devices and interfaces in OpenSM's files that do not exist.
func (h *Host) unknownPorts() (list []string) {
	for _, i := range instances.Read(h.Files).Instances {
		if i.Device == "" {
			continue
		}
		if _, err := h.PortNamed(i.Device); err != nil {
			list = append(list, fmt.Sprintf("%v: %s", i.Source, strings.TrimPrefix(err.Error(), "umad: ")))
		}
	}
	return list
}

// differences are the settings with which ibsm would start, and that differ from OpenSM's. lost are those that somebody
// has chosen for OpenSM: on its command line, which no file has, or in its file, where there is an ibsm.toml. others
// are chosen for ibsm.
func (h *Host) differences(m *OpenSM, options []string) (lost, others []string) {
	then := h.ibsmConf(options)
	for _, d := range conf.Diff(m.conf.Config, then.Config) {
		k := d.Key
		if k.Own || k.Effect != conf.Acts || d.A.Value == d.B.Value || slices.Contains(ownSettings, k.Name) {
			continue
		}
		now, was := valueIn(then.Config, k), valueIn(m.conf.Config, k)
		text := fmt.Sprintf("%s would be %s, with OpenSM it is %s", k.Name, now, was)
		if strings.HasSuffix(k.Name, "key") {
			text = k.Name + " would differ from OpenSM's"
		}
		if m.conf.Chosen(k) {
			lost = append(lost, text)
		} else {
			others = append(others, text)
		}
	}
	return lost, others
}

// ibsmConf is the configuration of an ibsm with options.
func (h *Host) ibsmConf(options []string) *conf.Loaded {
	return conf.Load(options, conf.Environment{
		Getenv: func(string) string { return "" },
		ReadFile: func(name string) ([]byte, error) {
			return fs.ReadFile(h.Files, strings.TrimPrefix(name, "/"))
		},
	})
}

// lacks are the settings that an ibsm lacks which reads a file of its own: an ibsm.toml, in the words of that file.
func (h *Host) lacks(m *OpenSM, options []string) string {
	own := h.ibsmConf(options)
	if own.ConfigFile == "" || own.ConfigFile == m.Usual || own.ConfigFile == m.Config {
		return ""
	}
	var missing []string
	for _, s := range m.wanted() {
		if k := conf.Find(s.Key); k.Format(own.Setting(k).Value) != s.Value {
			missing = append(missing, fmt.Sprintf("%s (%s) %s", k.TOML, s.Key, s.Value))
		}
	}
	if missing == nil {
		return ""
	}
	return fmt.Sprintf("ibsm reads %s instead of %s: add to it %s", own.ConfigFile, m.Usual, strings.Join(missing, ", "))
}

// ownSettings are each manager's own, or those that a migration writes.
var ownSettings = []string{"log_file", "daemon", "sa_db_dump", "sa_db_file", "no_clients_rereg"}

// valueIn is the value of a setting, or what applies until one is set.
func valueIn(c *conf.Config, k *conf.Key) string {
	if k.Unset != "" && !c.Chosen(k) {
		return "not set (" + k.Unset + ")"
	}
	if text := k.Format(c.Setting(k).Value); text != "(null)" {
		return text
	}
	return "not set"
}
