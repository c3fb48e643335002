package daemon

import (
	"bytes"
	"cmp"
	"slices"
	"strings"

	"ibsm/conf"
	"ibsm/ctl"
	"ibsm/partitions"
)

// Reload reads the configuration and the partition file again. A file with an error changes
// nothing. In either case a heavy sweep follows: an operator who sends OpenSM a SIGHUP may
// want only that. A master that used the policy of the previous master uses its own files
// again.
func (c *configuration) Reload() *ctl.Reloaded { return c.reload(true) }

// reread is the content of the files after a reload. They are parsed before the change, for which the manager waits.
type reread struct {
	config     *conf.Loaded // the previous one if err is not nil
	changed    []string
	report     conf.Report
	err        error
	partitions *partitions.Selected // nil before the port is open
	qos        *qosSelected         // the same
	routes     prefixRoutes
	engines    filesRead
	modules    moduleLog
	rules      sickRules
}

func (c *configuration) readAgain(was *inForce) (r reread) {
	r.config, r.changed, r.report, r.err = was.own.Reread(Environment)
	if refused := c.nextStart(r.config, was.port); r.err == nil && refused.Err(conf.Start) != nil {
		r.report = append(r.report, refused...)
		r.config, r.changed, r.err = was.own, nil, refused.Err(conf.Start)
	}
	qosFile := readQoS(was, r.config)
	r.routes = readRoutes(was, r.config, c.logger)
	r.engines = readPortGroups(was, r.config.Config)
	policy := cmp.Or(was.qos, &qosSelected{}).reload(qosFile, r.engines.files.portGroups())
	r.engines.read(r.config.Config, enginesToRead(r.config.Config), policy.groups())
	groups := r.engines.files
	if len(r.engines.errors) > 0 { // those before stay in force
		groups = was.files
	}
	if was.partitions != nil {
		chosen := was.partitions.Reload(readPartitions(was, r.config, was.port, groups.portGroups()), false)
		r.partitions, r.qos = &chosen, was.qos.reload(qosFile, groups.portGroups())
	}
	r.modules = readModuleLog(r.config)
	r.rules = readSickRules(was, r.config)
	return r
}

// reload is Reload; own says whether this manager's own files take precedence over the policy of
// the previous master.
func (c *configuration) reload(own bool) *ctl.Reloaded {
	for {
		was := c.current.Load()
		read := c.readAgain(was)
		if fileReader.Stopped() { // not all was read
			return &ctl.Reloaded{Refused: true, Changed: []string{}, Findings: []ctl.Finding{}}
		}
		out := &ctl.Reloaded{File: read.config.ConfigFile, Refused: read.err != nil,
			Changed: append([]string{}, read.changed...)}
		swapped := c.swap(was, func(next *inForce) {
			out.Findings = append([]ctl.Finding{}, c.take(next, &read, own)...) // not null in JSON
			out.Partitions = reloadedPartitions(was, next)
		})
		if swapped {
			return out
		}
	}
}

// reloadedPartitions is the result of reloading the partition file, nil if none is in force.
func reloadedPartitions(was, now *inForce) *ctl.ReloadedPartitions {
	p := now.partitions
	if p == nil || p.Source != partitions.FromFile || len(p.Errors) > 0 {
		return nil
	}
	return &ctl.ReloadedPartitions{
		File: conf.PartitionConfigFile.In(now.own.Config), Count: len(p.Policy.Partitions),
		Changed: was.partitions.Source != partitions.FromFile || !bytes.Equal(was.partitions.Text, p.Text),
	}
}

// take puts the reloaded files into force, and sends them to the manager.
func (c *configuration) take(next *inForce, read *reread, own bool) []ctl.Finding {
	logReport(c.logger, read.report)
	c.keepPlan(next, read)
	switch {
	case read.err != nil:
		c.logger.Error("the configuration is unchanged, because its file has errors or cannot be read", "file",
			next.own.ConfigFile)
	case read.config.ConfigFile == "":
		c.logger.Info("no configuration file to reload")
	default:
		next.own = read.config
		c.state.keepConfiguration(next.own)
		c.setLog(next.own, read.changed)
		c.logger.Info("configuration reloaded", "file", next.own.ConfigFile, "changed", strings.Join(read.changed, ","))
	}
	next.routes = read.routes
	c.setModules(read.modules)
	rules := c.useRules(read.rules)
	if !slices.ContainsFunc(rules, isRefused) {
		next.rules = []byte(read.rules.text)
	}
	c.takeFiles(next, &read.engines)
	found := slices.Concat(findings(read.report.Brief()), read.engines.found(), rules, read.routes.found)
	if read.partitions != nil {
		c.setPartitions(next, read.partitions)
		c.setQoS(next, read.qos)
		found = append(append(found, partitionFindings(read.partitions)...), qosFindings(read.qos)...)
	}
	if own && read.err == nil && len(read.engines.errors) == 0 {
		c.useOwnFiles(next)
	}
	c.compare(next)
	c.send(next)
	return found
}

// isRefused reports whether a file is not in force for a finding.
func isRefused(f ctl.Finding) bool { return f.Severity == conf.Refusal.String() }

// findings are the findings of a report, for the control socket.
func findings(report conf.Report) []ctl.Finding {
	list := []ctl.Finding{}
	for _, f := range report {
		list = append(list, ctl.Finding{File: f.File, Line: f.Line, Column: f.Col, Severity: f.Severity.String(),
			Key: f.Key, Text: f.Text})
	}
	return list
}
