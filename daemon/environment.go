package daemon

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"

	"ibsm/conf"
	"ibsm/ctl/server"
	"ibsm/mad"
	osmlog "ibsm/opensm/log"
	"ibsm/opensm/names"
	"ibsm/regularfile"
	"ibsm/sa/mirror"
	"ibsm/sweep"
	"ibsm/sweep/elect"
)

// Environment is what the configuration is loaded from: this process's environment and
// files.
var Environment = conf.Environment{
	Getenv:   os.Getenv,
	ReadFile: func(name string) ([]byte, error) { return fileReader.Read(name, conf.MaxFile) }, ReadSecret: readSecret,
}

// fileReader reads all files that the configuration names, and those in places that it names.
var fileReader regularfile.Reader

// Judge prints the errors of the configuration. It returns 0, or the exit status if they
// prevent the start.
func Judge(l *conf.Loaded, stderr io.Writer) (status int) {
	refused := conf.Severity(conf.Start)
	if l.Strict {
		refused = conf.Strict
	}
	for _, f := range l.Report {
		severity := f.Severity
		if severity >= refused {
			severity = conf.Refusal
		}
		if severity > conf.Note {
			fmt.Fprintf(stderr, "ibsm: %v: %v\n", severity, f.Error)
		}
	}
	return l.Report.Status(refused)
}

// logReport writes findings to the log.
func logReport(logger *slog.Logger, report conf.Report) {
	for _, f := range report.Brief() {
		switch {
		case f.Severity > conf.Warning:
			logger.Error(f.Error.Error(), "severity", f.Severity)
		case f.Severity == conf.Warning:
			logger.Warn(f.Error.Error())
		default:
			logger.Info(f.Error.Error())
		}
	}
}

// warnOfDefaultKeys warns of keys that everybody knows, with what to set. What is simulated needs
// no secrets.
func warnOfDefaultKeys(l *conf.Loaded, logger *slog.Logger) {
	e := election(l.Config)
	if e.IgnoreOthers || l.Fabric != "" || l.DryRun {
		return
	}
	advise := func(text string, args ...any) { logger.Log(context.Background(), osmlog.LevelAdvice, text, args...) }
	if !e.Protected() {
		advise("default sm_key: any host of the subnet can depose this manager. "+
			"Set the same secret sm_key (keys.sm_key in ibsm.toml) on all managers, or list their port GUIDs in allowed_sm_guids; see docs/security.md", "sm_key", e.SMKey)
	}
	if m := mirrorKeys(l); !m.On() {
		logger.Info(
			"nothing is mirrored with default keys: after a failover clients are asked to register again; see docs/failover.md")
	}
	if conf.MKey.In(l.Config) != 0 && conf.MKeyProtectionLevel.Chosen(l.Config) &&
		conf.MKeyProtectionLevel.In(l.Config) == 0 {
		advise("m_key_protection_level 0: any host of the subnet can read the m_key. Set it to 1 or 2; see docs/security.md")
	}
	if conf.MKey.In(l.Config) == 0 {
		advise("no m_key: any host of the subnet can write to switches and ports. " +
			"Set the same secret m_key (keys.m_key in ibsm.toml) on all managers, and m_key_protection_level 1; see docs/security.md")
	}
}

// mirrorKeys are the settings by which managers that mirror authenticate each other.
func mirrorKeys(l *conf.Loaded) mirror.Config {
	m := mirror.Config{SMKey: conf.SMKey.In(l.Config), MKey: mad.MKey(conf.MKey.In(l.Config)),
		DefaultKeys: conf.MirrorWithDefaultKeys.In(l.Config)}
	m.Secret, _ = l.Secret()
	return m
}

// readNames reads the names of nodes. Lines with an error are logged, and the others are used.
func readNames(l *conf.Loaded, logger *slog.Logger) names.Map {
	path, given := nameMap(l.Config)
	text, err := fileReader.Read(path, names.MaxFile)
	if errors.Is(err, fs.ErrNotExist) && !given {
		return nil
	}
	var m names.Map
	if err == nil {
		m, err = names.Read(path, bytes.NewReader(text))
	}
	if err != nil {
		logger.Error("some node names cannot be read", "reason", err)
	}
	return m
}

// keysShown is what the configuration says of keys, without showing any.
func keysShown(l *conf.Loaded, settings *sweep.Settings) server.Keys {
	c := l.Config
	secret := func(k uint64) bool { return k != 0 && k != elect.DefaultSMKey }
	m := mirrorKeys(l)
	m.DefaultKeys = false
	return server.Keys{
		SMKey: secret(conf.SMKey.In(c)), SAKey: secret(conf.SAKey.In(c)), MKey: conf.MKey.In(c) != 0,
		Ports: settings.PortMKeys, PerPort: settings.MKeyPerPort,
		AllowedSMs: conf.AllowedSMGUIDs.Chosen(c), Mirrored: m.On(),
	}
}
