package daemon

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"ibsm/conf"
	"ibsm/conf/diag"
	"ibsm/mad"
	"ibsm/partitions"
)

// What a start refuses, checks refuse before it: --check-config by check, a reload by nextStart, and --dry-run
// because it is a start. They decide as a start does, with the functions that it calls:
//
//	conf.Load and Report.Err       the command line, the configuration, keys_file
//	checkEngines                   a list of routing engines that leaves none
//	partitions.Select              partitions without an earlier good file
//	readPortGroups, readQoS, read  port groups, QoS policy, files of routing engines
//	store.Check                    the store: of another port, of another version, no store
//	checkLogFile                   a log file that cannot be opened
//
// Not checked before, because they depend on what else runs at that time: the store and sockets that are in use, the
// port itself.

// CheckConfig prints the errors of the configuration of a command line, and of the files that it names. It returns the
// exit status: 1 if a start would be refused.
func CheckConfig(args []string, stdout, stderr io.Writer) int {
	l := loadToCheck(args)
	report := slices.Concat(l.Report, check(l))
	var err error
	if l.JSON {
		err = json.NewEncoder(stdout).Encode(findings(report))
	} else {
		for _, f := range report {
			fmt.Fprintln(stdout, f)
		}
	}
	refused := conf.Severity(conf.Start)
	if l.Strict {
		refused = conf.Strict
	}
	if err == nil && report.Err(refused) != nil {
		err = errors.New("a manager would not start with this configuration")
	}
	return ExitStatus(err, stderr)
}

// loadToCheck reads the configuration of a command line for check, as a start with it would.
func loadToCheck(args []string) *conf.Loaded {
	withoutSecrets := Environment
	withoutSecrets.ReadSecret = nil
	l := conf.Load(args, withoutSecrets)
	file := conf.KeysFile.In(l.Config)
	if file == "" {
		return l
	}
	if _, err := readSecret(file); errors.Is(err, fs.ErrPermission) {
		key := conf.KeysFile.Key()
		text := fmt.Sprintf("keys_file: %v: it is not checked", err)
		l.Report = append(l.Report, conf.Finding{Error: diag.Error{Position: l.Setting(key).Position, Text: text},
			Severity: conf.Note, Key: key.Name})
		return l
	}
	return conf.Load(args, Environment)
}

// check returns the findings about what a configuration names, as a start would have them. Those of the configuration
// itself are in its Report.
func check(l *conf.Loaded) (report conf.Report) {
	add := func(key *conf.Key, errs, warnings diag.List) {
		for i, e := range slices.Concat(errs, warnings) {
			severity := conf.Refusal
			if i >= len(errs) {
				severity = conf.Warning
			}
			if at := l.Setting(key).Position; e.Line == 0 && at.Line > 0 { // it is about the file as a whole
				e.Position = at
			}
			report = append(report, conf.Finding{Error: e, Severity: severity, Key: key.Name, Status: ExitFailed})
		}
	}
	r := readPortGroups(nil, l.Config)
	chosen := partitions.Select(readPartitions(nil, l, 0, r.files.portGroups()), nil, partitions.NoStart)
	add(conf.PartitionConfigFile.Key(), chosen.Errors, chosen.Warnings)
	policy := (&qosSelected{}).reload(readQoS(nil, l), r.files.portGroups())
	r.read(l.Config, enginesToRead(l.Config), policy.groups())
	for _, f := range r.reports {
		add(f.key, f.errors, f.warnings)
	}
	add(conf.QoSPolicyFile.Key(), policy.errors, policy.warnings)
	return append(report, checkPlaces(l, portsToCheck(l))...)
}

// checkPlaces returns the findings about what a start opens: engines, the stores of ports, the log.
func checkPlaces(l *conf.Loaded, ports []mad.GUID) (report conf.Report) {
	refuse := func(key *conf.Key, err error) {
		if err != nil {
			report = append(report,
				conf.Finding{Error: diag.Error{Position: l.Setting(key).Position, Text: err.Error()},
					Severity: conf.Refusal, Key: key.Name, Status: ExitFailed})
		}
	}
	refuse(conf.RoutingEngine.Key(), checkEngines(l.Config))
	for _, port := range ports {
		refuse(conf.StateDir.Key(), checkStore(l, port))
	}
	if path, _, _ := logTarget(l); path != "" {
		refuse(conf.LogFile.Key(), checkLogFile(path))
	}
	return report
}

// portsToCheck are the ports whose stores a start may open: the one that the configuration names, or all that have one.
func portsToCheck(l *conf.Loaded) (ports []mad.GUID) {
	if port := PortGUID(l); port != 0 {
		return []mad.GUID{port}
	}
	folders, _ := filepath.Glob(filepath.Join(keptDir(l), "0x*"))
	for _, f := range folders {
		if port, err := mad.ParseGUID(filepath.Base(f)); err == nil &&
			strings.EqualFold(port.String(), filepath.Base(f)) {
			ports = append(ports, port)
		}
	}
	return ports
}

// checkLogFile returns the error with which a log file could not be opened, without making it. What this user must not
// see is not judged.
func checkLogFile(path string) error {
	info, err := os.Stat(path)
	switch {
	case err == nil && info.IsDir():
		return fmt.Errorf("log file: %s is a directory", path)
	case errors.Is(err, fs.ErrNotExist):
		if _, err = os.Stat(filepath.Dir(path)); errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("log file: %w", err)
		}
	}
	return nil
}

// nextStart returns why the next start would be refused, with the settings that a reload leaves to it: nil if it would
// not. A reload with such a file is refused, while somebody is there to read why.
func (c *configuration) nextStart(l *conf.Loaded, port mad.GUID) conf.Report {
	if l.ConfigFile == "" {
		return nil
	}
	next := l.Again(Environment)
	report := checkPlaces(next, nil)
	if port != 0 && portGUID(next.Config) == portGUID(l.Config) {
		report = checkPlaces(next, []mad.GUID{port})
	}
	for _, f := range next.Report {
		if f.Severity >= conf.Start {
			report = append(report, f)
		}
	}
	return report
}
