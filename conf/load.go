package conf

import (
	"errors"
	"io/fs"
)

// Environment is what Load knows of the world.
type Environment struct {
	Getenv   func(name string) string
	ReadFile func(name string) ([]byte, error)
}

// DefaultFiles are where a configuration is looked for, in this order, if none is
// named. The first that exists is read, and no other.
var DefaultFiles = []string{"/etc/ibsm/ibsm.toml", "/etc/opensm/opensm.conf", "/etc/rdma/opensm.conf"}

// CommandLine is what a command line says besides the values of settings.
type CommandLine struct {
	Given        []Given
	ConfigFile   string // that is read, "" for none
	CreateConfig string // write the configuration there and leave
	PIDFile      string
	Fabric       string
	IBSim        bool
	AllPorts     bool   // a manager at each port
	Launch       bool   // the managers that OpenSM's packages would run
	Instance     string // the one of these with this name, "" for none
	Once         bool
	DryRun       bool
	Strict       bool
	Help         bool
	Version      bool
}

// Loaded is a configuration, what else was asked for, and what is wrong. It must not
// be used for a start if Report.Err(Start) is an error; Report.Err(Strict) for
// CommandLine.Strict.
type Loaded struct {
	*Config
	CommandLine
	Report Report
}

// Load reads the command line and the file that it names, or the first of
// DefaultFiles.
func Load(args []string, env Environment) *Loaded {
	l := &Loaded{Config: New()}
	var stray []string
	l.Given, stray, l.Report = ParseArgs(args)
	for _, word := range stray {
		l.Report.add(Warning, commandLine, "", "%s belongs to no option and is passed over", clean(word))
		l.Report[len(l.Report)-1].Status = 2
	}
	l.flags()
	if l.Help || l.Version {
		return l
	}
	if dir := env.Getenv("OSM_TMP_DIR"); dir != "" {
		l.settings[DumpFilesDir.row] = Setting{Value: Value{Text: dir}, Source: FromEnvironment}
	}
	if f := findFile(l.ConfigFile, env, &l.Report); f != nil {
		l.ConfigFile = f.Name
		l.Report = append(l.Report, f.Report...)
		l.apply(f)
		l.reconcile(&l.Report)
	}
	for _, g := range l.Given {
		l.set(g, &l.Report)
	}
	l.reconcile(&l.Report)
	l.comment(&l.Report)
	return l
}

// flags takes the options that set no setting.
func (l *Loaded) flags() {
	for _, g := range l.Given {
		switch g.Long {
		case "config":
			l.ConfigFile = g.Value
		case "create-config":
			l.CreateConfig = g.Value
		case "pidfile":
			l.PIDFile = g.Value
		case "fabric":
			l.Fabric = g.Value
		case "ibsim":
			l.IBSim = true
		case "all-ports":
			l.AllPorts = true
		case "launch":
			l.Launch = true
		case "instance":
			l.Instance = g.Value
		case "once":
			l.Once = true
		case "dry-run":
			l.DryRun = true
		case "strict":
			l.Strict = true
		case "help":
			l.Help = true
		case "version":
			l.Version = true
		}
	}
}

// findFile reads the file that is named, or the first of DefaultFiles. One that is
// named and does not exist is passed over, as OpenSM does, but told.
func findFile(named string, env Environment, report *Report) *File {
	names := DefaultFiles
	if named != "" {
		names = []string{named}
	}
	for _, name := range names {
		src, err := env.ReadFile(name)
		p := commandLine
		p.File = name
		switch {
		case err == nil:
			return ReadFile(name, src)
		case !errors.Is(err, fs.ErrNotExist):
			report.add(Refusal, p, "", "cannot be read: %v", err)
		case named != "":
			report.add(Warning, p, "", "there is no such file")
		}
	}
	return nil
}

// FromFile is the configuration that a file alone makes, with everything that is
// wrong with it.
func FromFile(name string, src []byte) (*Config, Report) {
	c := New()
	f := ReadFile(name, src)
	report := append(Report{}, f.Report...)
	c.apply(f)
	c.reconcile(&report)
	c.comment(&report)
	return c, report
}
