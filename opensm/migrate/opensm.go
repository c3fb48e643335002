package migrate

import (
	"io/fs"
	"path"
	"strings"
	"time"

	"ibsm/conf"
	"ibsm/mad"
)

// Files of OpenSM, without settings.
const (
	saFile     = "opensm-sa.dump"
	subnetFile = "opensm-subnet.lst"
)

// OpenSM is a manager of OpenSM with what its command line and its file say.
type OpenSM struct {
	Process
	Config   string   // the file that it reads; "" if that does not exist
	Usual    string   // where that file is, whether it exists or not
	GUID     mad.GUID // of its port; 0 where nothing says it
	SADump   string   // the file to which it writes registrations
	SubnetAt string   // the file that it writes in each heavy sweep
	conf     *conf.Loaded
}

// openSM finds out how a process of OpenSM is configured.
func (h *Host) openSM(p Process) OpenSM {
	m := OpenSM{Process: p, conf: conf.Load(p.Args[1:], h.opensmFiles(p.Env))}
	m.Config, m.Usual = m.conf.ConfigFile, m.conf.ConfigFile
	if m.Config != "" && !h.exists(m.Config) { // -F with a file that does not exist: OpenSM takes its defaults
		m.Config = ""
	}
	if m.Usual == "" {
		m.Usual = h.usualConfig()
	}
	m.GUID = mad.GUID(conf.GUID.In(m.conf.Config))
	dir := conf.DumpFilesDir.In(m.conf.Config)
	m.SADump, m.SubnetAt = path.Join(dir, saFile), path.Join(dir, subnetFile)
	return m
}

// opensmFiles is OpenSM's view of the host: ibsm's own file is none of its.
func (h *Host) opensmFiles(env []string) conf.Environment {
	return conf.Environment{
		Getenv: func(name string) string {
			for _, v := range env {
				if value, is := strings.CutPrefix(v, name+"="); is {
					return value
				}
			}
			return ""
		},
		ReadFile: func(name string) ([]byte, error) {
			if name == conf.DefaultFiles[0] {
				return nil, fs.ErrNotExist
			}
			return fs.ReadFile(h.Files, strings.TrimPrefix(name, "/"))
		},
	}
}

// usualConfig is where OpenSM's package has its file.
func (h *Host) usualConfig() string {
	files := conf.DefaultFiles[1:]
	for _, file := range files {
		if h.exists(file) {
			return file
		}
	}
	for _, file := range files {
		if h.exists(path.Dir(file)) {
			return file
		}
	}
	return files[0]
}

// wanted are the settings with which the registrations go from one manager to the next.
func (m *OpenSM) wanted() []Setting {
	return []Setting{{"sa_db_dump", "TRUE"}, {"sa_db_file", m.SADump}, {"no_clients_rereg", "TRUE"}}
}

// missing are those of the wanted settings that are not in force at its next start.
func (m *OpenSM) missing() (list []Setting) {
	c := m.conf.Config
	for _, s := range m.wanted() {
		k := conf.Find(s.Key)
		if have := k.Format(c.Setting(k).Value); have != s.Value {
			list = append(list, s)
		}
	}
	return list
}

// dumps reports whether sa_db_dump is in its file or command line.
func (m *OpenSM) dumps() bool { return conf.SADBDump.In(m.conf.Config) }

// Wrote reports whether OpenSM has written its file of registrations itself, or has read its settings when it was
// started, so that a file that does not change is the present state. The times are those of the files.
func (m *OpenSM) Wrote(dump, config time.Time) bool {
	return !dump.IsZero() && (!dump.Before(m.Started) || m.dumps() && config.Before(m.Started))
}
