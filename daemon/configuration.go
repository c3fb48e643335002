package daemon

import (
	"context"
	"log/slog"
	"path/filepath"
	"slices"
	"sync/atomic"
	"time"

	"ibsm/conf"
	"ibsm/conf/diag"
	"ibsm/ctl"
	"ibsm/ctl/server"
	"ibsm/mad"
	"ibsm/manager"
	"ibsm/opensm/console"
	osmlog "ibsm/opensm/log"
	"ibsm/opensm/names"
	"ibsm/partitions"
	"ibsm/perf"
	"ibsm/perf/sick"
	"ibsm/sweep/exclude"
	"ibsm/sweep/routes"
	"ibsm/view"
)

// configuration is the configuration in force. Reloads, the console, ibsmctl, and the master
// that a standby follows change it.
//
// The configuration in force is an immutable value, so that readers never wait. The goroutine
// of run is its only writer: changes are functions that it calls one after the other. None of
// them reads a file. A reload reads the files before, and once more if the configuration has
// changed meanwhile.
type configuration struct {
	logger *slog.Logger
	lines  *osmlog.Handler
	output *logOutput
	names  names.Map // of nodes
	// configs has the newest configuration for the manager that runs, or the next one.
	configs  chan manager.Config
	state    *state
	now      func() time.Time
	show     func(server.Settings) // shows what is in force
	useRules func(sickRules) []ctl.Finding
	adopt    func(*sick.Saved) // has links judged by what was found before, too
	changes  chan func()
	current  atomic.Pointer[inForce]
	views    atomic.Pointer[func() *view.View] // of the manager that runs, or ran last; nil before the first
}

// inForce is a configuration in force. It is immutable.
type inForce struct {
	own        *conf.Loaded         // of this manager's own files
	partitions *partitions.Selected // the same; nil before the port is open
	former     formerKeys           // P_Keys that the partition file, or that of the master, had
	qos        *qosSelected         // the same; not nil where partitions are not
	routes     prefixRoutes         // the same
	rules      []byte               // text of the rules for sick links
	files      keptFiles            // the same; nil before the port is open
	port       mad.GUID
	from       *masterPolicy // takes precedence over own and partitions; nil for none
	mkeys      mkeyNumber
	links      *sick.Saved           // which are sick, and which are out of use; nil before the port is open
	record     routes.Record         // of the routes in force, or of those of the master that is followed
	keyless    bool                  // ports have M_Keys of a secret that this manager lacks, as logged
	mkey       [2]uint64             // m_key, and the one before it
	differs    []string              // settings of own that from has different, as logged; nil if nothing was logged
	tooLong    bool                  // the policy is too long for standbys
	paused     bool                  // the console has stopped sweeps
	shown      *ctl.MirroredSettings // what ibsmctl shows of from
	master     bool                  // the manager is
}

func newConfiguration(l *conf.Loaded, given names.Map, logger *slog.Logger, lines *osmlog.Handler, output *logOutput,
	state *state, show func(server.Settings), useRules func(sickRules) []ctl.Finding,
	adopt func(*sick.Saved)) *configuration {
	c := &configuration{
		logger: logger, lines: lines, output: output, names: given, configs: make(chan manager.Config, 1),
		state: state, now: time.Now, show: show, useRules: useRules, adopt: adopt, changes: make(chan func()),
	}
	rules := readSickRules(nil, l)
	c.useRules(rules)
	c.current.Store(&inForce{own: l, rules: []byte(rules.text)})
	c.setModules(readModuleLog(l))
	show(server.Settings{Engines: conf.RoutingEngine.In(l.Config)}) // until a manager has its port
	return c
}

// run makes changes until ctx is done. After that change must not be called.
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

// change has run call edit with a copy of the configuration in force, and puts the edited copy
// into force. It returns when that is done. edit must not call change.
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

// begin is the configuration of a manager that starts at a port. The store has the partition
// file that was in force last. The error is a refusal.
func (c *configuration) begin(port mad.GUID, lastPartitions []byte) (cfg manager.Config, err error) {
	for {
		was := c.current.Load()
		chosen, policy := was.partitions, was.qos
		files, warnings := was.files, diag.List(nil)
		if files == nil || policy == nil {
			if files, policy, warnings, err = selectFiles(was.own); err != nil {
				return cfg, refusal{err}
			}
		}
		if chosen == nil {
			if chosen, err = selectPartitions(was.own, port, files.portGroups(), lastPartitions); err != nil {
				return cfg, refusal{err}
			}
		}
		routes := readRoutes(nil, was.own, c.logger)
		begun := c.swap(was, func(next *inForce) {
			if c.state.givesBackPrefix(next.own) { // as found in the fabric would be what the operator has taken away
				next.own = next.own.With(conf.SubnetPrefix.Key(), uint64(mad.DefaultPrefix))
				c.logger.Warn(
					"subnet_prefix was set at the last start but is no longer set: the subnet gets the default prefix",
					"prefix", mad.DefaultPrefix)
			}
			next.mkeys = newer(next.mkeys, c.state.mkeyNumber())
			if next.links == nil {
				next.record = c.state.routes()
				next.links = c.state.links()
				c.adopt(next.links)
			}
			next.port, next.routes, next.files = port, routes, files
			for _, w := range warnings {
				c.logger.Warn(w.Error())
			}
			if was.partitions == nil {
				c.setPartitions(next, chosen)
				c.setQoS(next, policy)
			}
			cfg = c.first(next)
		})
		if begun {
			return cfg, nil
		}
	}
}

// first is the configuration that a manager starts with. Configurations that were sent to the
// previous manager are withdrawn.
func (c *configuration) first(next *inForce) manager.Config {
	c.state.keepConfiguration(next.own)
	c.state.keepPartitions(next.partitions.Text)
	select {
	case <-c.configs:
	default:
	}
	return c.managerConfig(next)
}

// send sends the configuration in force to the manager. It replaces one that the manager has
// not taken yet.
func (c *configuration) send(next *inForce) { c.sendTo(next, false) }

// sendTo is send; unchanged is manager.Config's.
func (c *configuration) sendTo(next *inForce, unchanged bool) {
	cfg := c.managerConfig(next)
	cfg.Unchanged = unchanged
	select {
	case untaken := <-c.configs:
		cfg.Unchanged = cfg.Unchanged && untaken.Unchanged
	default:
	}
	c.configs <- cfg
}

// managerConfig is the manager's part of the configuration.
func (c *configuration) managerConfig(next *inForce) manager.Config {
	l, chosen := next.effective()
	cfg := managerConfig(l)
	cfg.Resting = next.paused
	cfg.Names = c.names
	cfg.Sweep.Engines = chain(l.Config, next.engineFiles())
	files := next.engineFiles().settings(l.Config)
	cfg.Sweep.Drained = files.Drained
	cfg.Sweep.Avoided = sick.Avoided(knownLinks(next.links).Excluded)
	cfg.Sweep.Routes = next.record
	cfg.Sweep.Cabling = exclude.Cabling{Plan: files.Cabling, Enforced: conf.TopoConfigEnabled.In(l.Config),
		HeldBack: files.HeldBack}
	cfg.Sweep.Partitions = sweepPartitions(chosen, l.Config)
	cfg.QoS = next.qosPolicy(l).policy
	cfg.PortGroups = next.engineFiles().known(next.qosPolicy(l).groups())
	cfg.Registrar.Groups, cfg.Registrar.Defaulted = pathGroups(chosen, l, cfg.QoS)
	cfg.Registrar.Callers = callerGroups(chosen, l.Config, cfg.QoS)
	next.former = next.former.without(cfg.Sweep.Partitions.Policy, c.now())
	cfg.Sweep.Settings.PortMKeys = c.mkeysInForce(next, l)
	cfg.Sweep.Settings.MKeyPerPort = conf.MKeyPerPort.In(l.Config) && !next.keyless
	cfg.Registrar.Mirror = c.mirroring(next, &cfg, l, chosen)
	cfg.Elect.Unmirrored = !cfg.Registrar.Mirror.On()
	cfg.PrefixRoutes = next.routes.routes
	if chosen != nil {
		cfg.PathSLs = chosen.Policy.SLs(conf.QoS.In(l.Config))
	}
	next.shown = next.from.shown(next.differs)
	c.show(server.Settings{
		Engines: conf.RoutingEngine.In(l.Config), Mirrored: next.shown,
		Partitions: partitionsTrouble(chosen, l), QoSPolicy: next.qosPolicy(l).trouble(l),
		Keys: keysShown(l, &cfg.Sweep.Settings),
	})
	return cfg
}

// effective are the configuration and the partitions that this manager uses as master.
func (s *inForce) effective() (*conf.Loaded, *partitions.Selected) {
	if s.from == nil {
		return s.own, s.partitions
	}
	return s.from.over(s.own, s.partitions)
}

// engineFiles are the files of routing engines that this manager uses as master.
func (s *inForce) engineFiles() keptFiles {
	if s.from == nil {
		return s.files
	}
	return s.from.engines
}

// setLog applies the log settings. Log flags that ibsmctl has set stay until those in the file
// change.
func (c *configuration) setLog(l *conf.Loaded, changed []string) {
	if slices.Contains(changed, conf.LogFlags.Key().Name) {
		c.lines.SetFlags(logFlagsOf(l.Config))
	}
	c.lines.SetPrefix(conf.LogPrefix.In(l.Config))
	c.output.setLimits(logFile(l.Config))
}

// own is the configuration of this manager's own files.
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

// setPriority puts another sm_priority into force. It stays until the one in the file changes.
func (c *configuration) setPriority(priority uint8) {
	c.change(func(next *inForce) {
		next.own = next.own.With(conf.SMPriority.Key(), uint64(priority))
		c.send(next)
	})
}

// setCounters applies another setting of the counters. It stays until the setting in the file changes. reader is the
// running reader, or nil.
func (c *configuration) setCounters(k *conf.Key, n uint64, reader *perf.Reader) {
	c.change(func(next *inForce) {
		next.own = next.own.With(k, n)
		if reader != nil {
			reader.Configure(counterSettings(next.own))
		}
	})
}

// setSweeping stops sweeps, or resumes them with a heavy one.
func (c *configuration) setSweeping(on bool) {
	c.change(func(next *inForce) {
		next.paused = !on
		c.send(next)
	})
}

// Settings are the settings in force, for the control socket.
func (c *configuration) Settings() []ctl.Setting {
	now := c.current.Load()
	l, chosen := now.effective()
	var all []ctl.Setting
	for i := range conf.Keys() {
		k := &conf.Keys()[i]
		s := l.Setting(k)
		shown := ctl.Setting{Key: k.Name, Value: k.Format(s.Value), Chosen: l.Chosen(k), Source: s.Source.String(),
			Position: s.Position.String()}
		if path, err := filepath.Abs(shown.Value); err == nil && k == conf.PartitionConfigFile.Key() &&
			shown.Value != "" {
			shown.Value = path // ibsmctl has another working directory
		}
		switch {
		case k.Kind == conf.X64 && k.Group() == "keys":
			shown.Value, shown.Note = "-", "not shown"
		case k == conf.PartitionConfigFile.Key() && chosen != now.partitions:
			shown.Note = "partitions are those of " + now.from.of.String()
		case k.Unset != "" && !shown.Chosen:
			shown.Note = "not set: " + k.Unset
		}
		all = append(all, shown)
	}
	return all
}
