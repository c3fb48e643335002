package daemon

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"

	"ibsm/conf"
	"ibsm/ctl"
	"ibsm/mad"
	"ibsm/manager"
	"ibsm/opensm/console"
	osmlog "ibsm/opensm/log"
	"ibsm/opensm/names"
	"ibsm/partitions"
	"ibsm/view"
)

// configuration is the configuration in force. Files that are read again, the console,
// ibsmctl, and the master that a standby follows change it.
//
// What is in force is an immutable value, so that readers wait for nobody. The goroutine of
// run is its one writer: changes are functions that it calls one after the other. None of
// them reads a file. Whoever reads files again does so before, and once more if something
// was changed meanwhile.
type configuration struct {
	logger *slog.Logger
	lines  *osmlog.Handler
	file   *osmlog.File // nil where the log is a stream
	names  names.Map    // of nodes
	// configs has the newest configuration for the manager that runs, or the next one.
	configs chan manager.Config
	kept    *state
	show    func(engine string, r *ctl.MirroredSettings) // shows what the manager is master by
	changes chan func()
	current atomic.Pointer[inForce]
}

// inForce is what is in force at a time. It is not changed any more.
type inForce struct {
	own        *conf.Loaded       // as this manager's own files say
	partitions *partitions.Chosen // the same; nil before the port is open
	routes     []view.PrefixRoute // the same
	port       mad.GUID
	from       *masterPolicy         // takes precedence over own and partitions; nil for none
	differs    []string              // settings of own that from has different, as logged; nil if nothing was logged
	tooLong    bool                  // the policy does not fit into what standbys are sent
	paused     bool                  // the console has stopped sweeps
	shown      *ctl.MirroredSettings // what ibsmctl shows of from
	master     bool                  // the manager is
}

func newConfiguration(l *conf.Loaded, logger *slog.Logger, lines *osmlog.Handler, file *osmlog.File, kept *state, show func(string, *ctl.MirroredSettings)) *configuration {
	c := &configuration{
		logger: logger, lines: lines, file: file, names: readNames(l, logger), configs: make(chan manager.Config, 1),
		kept: kept, show: show, changes: make(chan func()),
	}
	c.current.Store(&inForce{own: l})
	c.setModules(readModuleLog(l))
	return c
}

// run makes changes until ctx is done, after which nobody may ask for one.
func (c *configuration) run(ctx context.Context) {
	for {
		select {
		case change := <-c.changes:
			change()
		case <-ctx.Done():
			return
		}
	}
}

// change has run call edit with a copy of what is in force, which then comes into force. It
// returns when that is done. edit must not ask for another change.
func (c *configuration) change(edit func(next *inForce)) {
	c.swap(nil, edit)
}

// swap is change, but changes nothing unless was is still in force; nil is any.
func (c *configuration) swap(was *inForce, edit func(next *inForce)) (swapped bool) {
	done := make(chan struct{})
	c.changes <- func() {
		defer close(done)
		now := c.current.Load()
		if was != nil && was != now {
			return
		}
		next := *now
		edit(&next)
		c.current.Store(&next)
		swapped = true
	}
	<-done
	return swapped
}

// begin is the configuration of a manager that begins now at a port, with what the store
// knows of the one before: the partition file that was in force last, and the policy that
// it had inherited.
func (c *configuration) begin(port mad.GUID, lastPartitions, lastPolicy []byte) (cfg manager.Config) {
	for {
		was := c.current.Load()
		var read partitions.Reading
		if was.partitions == nil {
			read = readPartitions(was.own)
		}
		routes := c.readRoutes(was.own)
		begun := c.swap(was, func(next *inForce) {
			next.port, next.routes = port, routes
			if was.partitions == nil {
				chosen := partitions.Begin(read, lastPartitions, conf.PartitionFallback.In(next.own.Config) == "open")
				c.setPartitions(next, &chosen)
			}
			cfg = c.first(next, lastPolicy)
		})
		if begun {
			return cfg
		}
	}
}

// first is the configuration that a manager begins with. What was sent to the one before is
// taken back.
func (c *configuration) first(next *inForce, lastPolicy []byte) manager.Config {
	c.kept.keepConfiguration(next.own)
	c.kept.keepPartitions(next.partitions.Text)
	if len(lastPolicy) > 0 {
		from, err := newMasterPolicy(lastPolicy)
		if err != nil {
			c.logger.Error("the previous master's policy cannot be read: this manager uses its own files", "reason", err)
		}
		c.inherit(next, from)
	}
	select {
	case <-c.configs:
	default:
	}
	return c.managerConfig(next)
}

// Reload reads the configuration and the partition file again. A mistake in a file leaves
// what it is about unchanged. In either case a heavy sweep follows: an operator who sends
// OpenSM a SIGHUP may want no more than that. A master that used what it inherited uses its
// own files again.
func (c *configuration) Reload() *ctl.Reloaded { return c.reload(true) }

// reread is what the files say when they are read again.
type reread struct {
	config     *conf.Loaded // the one before, if err says that the new one is not taken
	changed    []string
	report     conf.Report
	err        error
	partitions partitions.Reading
	routes     []view.PrefixRoute
	modules    moduleLog
}

func (c *configuration) readAgain(was *inForce) (r reread) {
	r.config, r.changed, r.report, r.err = was.own.Reread(Environment)
	r.partitions = readPartitions(r.config)
	r.routes = c.readRoutes(r.config)
	r.modules = readModuleLog(r.config)
	return r
}

// reload is Reload; own says whether this manager's own files take precedence over what it
// inherited.
func (c *configuration) reload(own bool) *ctl.Reloaded {
	for {
		was := c.current.Load()
		read := c.readAgain(was)
		var found []ctl.Finding
		if !c.swap(was, func(next *inForce) { found = c.take(next, &read, own) }) {
			continue
		}
		return &ctl.Reloaded{File: read.config.ConfigFile, Refused: read.err != nil, Changed: append([]string{}, read.changed...), Findings: found}
	}
}

// take puts into force what was read again, and sends it to the manager.
func (c *configuration) take(next *inForce, read *reread, own bool) []ctl.Finding {
	logReport(c.logger, read.report)
	switch {
	case read.err != nil:
		c.logger.Error("the configuration stays as it is: its file has mistakes or cannot be read", "file", next.own.ConfigFile)
	case read.config.ConfigFile == "":
		c.logger.Info("there is no configuration file to be read again")
	default:
		next.own = read.config
		c.kept.keepConfiguration(next.own)
		c.setLog(next.own, read.changed)
		c.logger.Info("the configuration was read again", "file", next.own.ConfigFile, "changed", strings.Join(read.changed, ","))
	}
	next.routes = read.routes
	c.setModules(read.modules)
	found := findings(read.report)
	if next.partitions != nil {
		chosen := next.partitions.Again(read.partitions)
		c.setPartitions(next, &chosen)
		found = append(found, partitionFindings(&chosen)...)
	}
	if own && read.err == nil {
		c.useOwnFiles(next)
	}
	c.compare(next)
	c.send(next)
	return found
}

// send has the manager go on with what is in force now, in place of what it has not taken
// yet.
func (c *configuration) send(next *inForce) {
	cfg := c.managerConfig(next)
	select {
	case <-c.configs:
	default:
	}
	c.configs <- cfg
}

// managerConfig is the configuration of a manager now.
func (c *configuration) managerConfig(next *inForce) manager.Config {
	l, chosen := next.effective()
	cfg := managerConfig(l)
	cfg.Resting = next.paused
	cfg.Names = c.names
	cfg.Sweep.Partitions = sweepPartitions(chosen, l.Config)
	cfg.Registrar.Groups = groups(chosen, l.Config)
	cfg.Registrar.Mirror = c.mirroring(next, &cfg, l, chosen)
	cfg.PrefixRoutes = next.routes
	next.shown = next.from.shown(next.differs)
	c.show(cfg.Sweep.EngineName, next.shown)
	return cfg
}

// effective are the configuration and the partitions that this manager uses, or would as
// master.
func (s *inForce) effective() (*conf.Loaded, *partitions.Chosen) {
	if s.from == nil {
		return s.own, s.partitions
	}
	return s.from.over(s.own, s.partitions)
}

// setLog has the log written as the configuration now says. Log flags that ibsmctl has set
// stay until the file's change.
func (c *configuration) setLog(l *conf.Loaded, changed []string) {
	if slices.Contains(changed, conf.LogFlags.Key().Name) {
		c.lines.SetFlags(logFlagsOf(l.Config))
	}
	c.lines.SetPrefix(conf.LogPrefix.In(l.Config))
	if c.file != nil {
		c.file.SetLimits(logFile(l.Config))
	}
}

// own is what this manager's own files say.
func (c *configuration) own() *conf.Loaded { return c.current.Load().own }

// describe adds the settings to the status that the console shows.
func (c *configuration) describe(st *console.Status) {
	now := c.current.Load()
	config := now.own.Config
	st.Priority, st.SweepInterval, st.Sweeping = conf.SMPriority.In(config), conf.SweepInterval.In(config), !now.paused
	if len(st.SMs) > 0 {
		st.SMs[0].Priority = st.Priority // a new one is in force before the manager has taken it
	}
}

// setPriority puts another priority among subnet managers into force. It stays until the
// file's changes.
func (c *configuration) setPriority(priority uint8) {
	c.change(func(next *inForce) {
		next.own = next.own.WithPriority(priority)
		c.send(next)
	})
}

// setSweeping stops sweeps, or has them go on with a heavy one.
func (c *configuration) setSweeping(on bool) {
	c.change(func(next *inForce) {
		next.paused = !on
		c.send(next)
	})
}

// Settings are those in force, for the control socket.
func (c *configuration) Settings() []ctl.Setting {
	now := c.current.Load()
	l, chosen := now.effective()
	var all []ctl.Setting
	for i := range conf.Keys() {
		k := &conf.Keys()[i]
		s := l.Setting(k)
		shown := ctl.Setting{Key: k.Name, Value: k.Format(s.Value), Chosen: l.Chosen(k), Source: s.Source.String(), Position: s.Position.String()}
		switch {
		case k.Kind == conf.X64 && k.Group() == "keys":
			shown.Value, shown.Note = "-", "not shown"
		case k == conf.PartitionConfigFile.Key() && chosen != now.partitions:
			shown.Note = "partitions are those of " + now.from.of.String()
		case k.Unset != "" && !shown.Chosen:
			shown.Note = "not chosen: " + k.Unset
		}
		all = append(all, shown)
	}
	return all
}

// findings are those of a report for the control socket.
func findings(report conf.Report) []ctl.Finding {
	list := []ctl.Finding{}
	for _, f := range report {
		list = append(list, ctl.Finding{File: f.File, Line: f.Line, Column: f.Col, Severity: f.Severity.String(), Key: f.Key, Text: f.Text})
	}
	return list
}
