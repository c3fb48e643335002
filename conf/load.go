package conf

import (
	"errors"
	"io/fs"
	"strings"
)

// Environment is Load's access to environment variables and files.
type Environment struct {
	Getenv   func(name string) string
	ReadFile func(name string) ([]byte, error)
	// ReadSecret reads a file that others than its owner must not read, and says what is wrong otherwise. It is nil
	// where no manager will run.
	ReadSecret func(name string) ([]byte, error)
}

// DefaultFiles are the configuration files that are tried, in this order, if none is
// named. Only the first that exists is read.
var DefaultFiles = []string{"/etc/ibsm/ibsm.toml", "/etc/opensm/opensm.conf", "/etc/rdma/opensm.conf"}

// CommandLine holds the options that are not settings.
type CommandLine struct {
	Given        []Given
	ConfigFile   string // the file to read, "" for none
	CreateConfig string // write the configuration to this file and exit
	PIDFile      string
	Fabric       string
	IBSim        bool
	AllPorts     bool   // one manager on each port
	Launch       bool   // the instances that OpenSM's packages would start
	Instance     string // the name of one of these instances, "" for none
	Once         bool
	DryRun       bool
	Record       string // file for the packets of the start; "" for none
	CheckConfig  bool   // print the findings about the configuration and exit
	JSON         bool   // what DryRun and CheckConfig print
	Strict       bool
	Help         bool
	Version      bool
}

// Loaded is a configuration with the rest of the command line and all findings. The
// manager must not start if Report.Err(Start) is not nil, or with CommandLine.Strict if
// Report.Err(Strict) is not nil.
type Loaded struct {
	*Config
	CommandLine
	Report Report
	args   []string
}

// Again is what a start with the same command line would load now.
func (l *Loaded) Again(env Environment) *Loaded { return Load(l.args, env) }

// Load reads the command line and the file that it names, or the first of DefaultFiles
// that exists.
func Load(args []string, env Environment) *Loaded {
	l := &Loaded{Config: New(), args: args}
	var stray []string
	l.Given, stray, l.Report = ParseArgs(args)
	for _, word := range stray {
		l.Report.add(Warning, commandLine, "", "unexpected argument %s ignored", clean(word))
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
	l.usualFiles(env)
	l.deriveKeys(env, &l.Report)
	l.secure(&l.Report)
	l.reconcile(&l.Report)
	l.comment(&l.Report)
	return l
}

// Folders of OpenSM's files: in the sources and in Debian's package, and in RHEL's.
const (
	opensmFolder = "/etc/opensm/"
	rdmaFolder   = "/etc/rdma/"
)

// UsualFile is the path of a file that OpenSM's packages have in /etc/opensm or, as RHEL's, in
// /etc/rdma: the one that exists. If both or none do, it is path.
func UsualFile(path string, env Environment) string {
	name, usual := strings.CutPrefix(path, opensmFolder)
	if !usual || exists(path, env) || !exists(rdmaFolder+name, env) {
		return path
	}
	return rdmaFolder + name
}

func exists(path string, env Environment) bool {
	_, err := env.ReadFile(path)
	return !errors.Is(err, fs.ErrNotExist)
}

// usualFiles gives the files that nothing names their usual paths. Beside a configuration file
// in /etc/rdma, files there take precedence.
func (l *Loaded) usualFiles(env Environment) {
	for i := range table {
		s := &l.settings[i]
		name, usual := strings.CutPrefix(table[i].Default, opensmFolder)
		if !usual || s.Source != FromDefault {
			continue
		}
		s.Value.Text = UsualFile(table[i].Default, env)
		if other := rdmaFolder + name; strings.HasPrefix(l.ConfigFile, rdmaFolder) && exists(other, env) {
			s.Value.Text = other
		}
	}
}

// flags applies the options that are not settings.
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
		case "record":
			l.Record = g.Value
		case "dry-run":
			l.DryRun = true
		case "check-config":
			l.CheckConfig = true
		case "json":
			l.JSON = true
		case "strict":
			l.Strict = true
		case "help":
			l.Help = true
		case "version":
			l.Version = true
		}
	}
}

// findFile reads the named file, or the first of DefaultFiles that exists. A named
// file that does not exist is an error, unlike with OpenSM: the subnet would come up with other
// settings than the operator wants.
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
			report.add(Refusal, p, "", "cannot read configuration file: %v", err)
		case named != "":
			report.add(Refusal, p, "", "configuration file does not exist")
		}
	}
	return nil
}

// FromFile is the configuration of a file without command line, with its findings.
func FromFile(name string, src []byte) (*Config, Report) {
	c := New()
	f := ReadFile(name, src)
	report := append(Report{}, f.Report...)
	c.apply(f)
	c.secure(&report)
	c.reconcile(&report)
	c.comment(&report)
	return c, report
}
