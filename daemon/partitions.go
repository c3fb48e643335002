package daemon

import (
	"fmt"
	"slices"

	"ibsm/conf"
	"ibsm/conf/diag"
	"ibsm/ctl"
	"ibsm/mad"
	osmlog "ibsm/opensm/log"
	"ibsm/partitions"
	"ibsm/registry"
	"ibsm/routing/portgroups"
	"ibsm/sa"
	"ibsm/sweep"
)

// fallbacks are the words of partition_fallback.
var fallbacks = map[string]partitions.Fallback{"refuse": partitions.NoStart, "closed": partitions.StartClosed,
	"open": partitions.StartOpen}

// selectPartitions selects the policy of a start. The error says why the manager must not start:
// the partition file cannot be used, no earlier one is known, and partition_fallback says so; or
// with --strict the file has errors or warnings.
func selectPartitions(l *conf.Loaded, port mad.GUID, groups *portgroups.Set, lastGood []byte) (*partitions.Selected,
	error) {
	chosen := partitions.Select(readPartitions(nil, l, port, groups), lastGood,
		fallbacks[conf.PartitionFallback.In(l.Config)])
	switch found := append(slices.Clone(chosen.Errors), chosen.Warnings...); {
	case chosen.Policy == nil:
		return nil, fmt.Errorf(
			"the partition file cannot be used, and no earlier version is stored: fix it, or set partition_fallback: %w", chosen.Errors)
	case l.Strict && len(found) > 0:
		return nil, fmt.Errorf("--strict: the partition file has errors or warnings: %w", found)
	}
	return &chosen, nil
}

// partitionsTrouble is what ibsmctl shows of a partition file that is not in force; nil if it is.
func partitionsTrouble(chosen *partitions.Selected, l *conf.Loaded) *ctl.PartitionsTrouble {
	if chosen == nil || len(chosen.Errors) == 0 {
		return nil
	}
	return &ctl.PartitionsTrouble{InForce: chosen.Source.String(), File: conf.PartitionConfigFile.In(l.Config),
		Reason: chosen.Errors[0].Error()}
}

// setPartitions puts a policy into force, logs the errors of its file, and stores the file for
// a start without a good one.
func (c *configuration) setPartitions(next *inForce, chosen *partitions.Selected) {
	next.partitions = chosen
	c.logPartitions(next)
	c.state.keepPartitions(chosen.Text)
}

// partitionFindings are the errors and warnings of a partition file, for the control socket.
func partitionFindings(c *partitions.Selected) []ctl.Finding {
	return fileFindings(conf.PartitionConfigFile.Key(), c.Errors, c.Warnings)
}

// fileFindings are the errors and warnings of the file that a setting names.
func fileFindings(k *conf.Key, errors, warnings diag.List) (found []ctl.Finding) {
	for _, list := range []struct {
		severity conf.Severity
		list     diag.List
	}{{conf.Refusal, errors}, {conf.Warning, warnings}} {
		for _, e := range list.list {
			found = append(found,
				ctl.Finding{File: e.File, Line: e.Line, Column: e.Col, Severity: list.severity.String(), Key: k.Name,
					Text: e.Text})
		}
	}
	return found
}

// sweepPartitions is the input of the manager's P_Key tables.
func sweepPartitions(chosen *partitions.Selected, c *conf.Config) sweep.Partitions {
	if chosen == nil {
		return sweep.Partitions{}
	}
	return sweep.Partitions{Policy: chosen.ForTables(), Settings: partitionSettings(c)}
}

// partitionSettings are the settings about partitions.
func partitionSettings(c *conf.Config) partitions.Settings {
	settings := partitions.Settings{AllowBoth: conf.AllowBothPKeys.In(c), ForgetIndexes: !conf.KeepPKeyIndexes.In(c),
		Tenants: conf.Security.In(c) == conf.Tenants}
	switch conf.PartEnforce.In(c) {
	case "in":
		settings.Enforce = partitions.EnforceIn
	case "out":
		settings.Enforce = partitions.EnforceOut
	case "off":
		settings.Enforce = partitions.EnforceOff
	}
	return settings
}

// groups are those that the SA makes for the partitions; defaulted are those with an MTU or rate of the settings.
func groups(chosen *partitions.Selected, c *conf.Config) (all []registry.Group, defaulted map[mad.GID]bool) {
	if chosen == nil {
		return sa.DefaultGroups(), nil
	}
	return chosen.Policy.WellKnown(conf.QoS.In(c), groupDefaults(c))
}

// groupDefaults are the MTU and the rate of groups that have none of their own.
func groupDefaults(c *conf.Config) partitions.Defaults {
	return partitions.Defaults{MTU: mad.MTU(conf.DefaultMCGMTU.In(c)), Rate: mad.Rate(conf.DefaultMCGRate.In(c))}
}

// logPartitions logs the errors of the partition file, and which policy applies instead.
func (c *configuration) logPartitions(next *inForce) {
	p := next.partitions
	for _, w := range p.Warnings {
		c.logger.Warn(w.Error())
	}
	if len(p.Errors) == 0 && len(p.Policy.Dangers) > 0 {
		c.logger.Error(
			"THE PARTITION FILE HAS DANGEROUS LINES: they are applied as OpenSM would apply them and give access to other ports than they appear to",
			"lines", len(p.Policy.Dangers), "first", p.Policy.Dangers[0].Error())
	}
	for _, e := range p.Errors {
		c.logger.Error(e.Error())
	}
	if len(p.Errors) > 0 {
		c.logger.Error(osmlog.PartitionsInError)
	}
	file := conf.PartitionConfigFile.In(next.own.Config)
	switch {
	case len(p.Errors) == 0 && p.Source == partitions.FromNothing:
		c.logger.Info("no partition file: P_Key tables are left unchanged", "file", file)
	case len(p.Errors) == 0 && p.Source == partitions.FromSetting:
		c.logger.Info(
			"no partition file: with security tenants all ports are limited members of the default partition and reach only the manager", "file", file)
	case len(p.Errors) == 0:
		c.logger.Info("partition file in force", "file", file, "partitions", len(p.Policy.Partitions))
	case p.Source == partitions.FromCaution:
		c.logger.Error(
			"PARTITIONS ARE CLOSED: the partition file cannot be used and no earlier version is stored, so with partition_fallback closed every port reaches only the manager. Fix the file and send SIGHUP", "file", file)
	case p.Source == partitions.FromFallback:
		c.logger.Error(
			"PARTITIONS ARE OPEN: the partition file cannot be used, so with partition_fallback open every port is a full member of the default partition", "file", file)
	default:
		c.logger.Error(
			"the partition file cannot be used: the last valid version stays in force. Fix the file and send SIGHUP",
			"file", file)
	}
}

// planPartitions shows the rows of a file without applying it. If the file is the one in force, the rows say so.
func (d *daemon) planPartitions(text []byte) ([]ctl.PartitionRow, error) {
	now := d.current.current.Load()
	if now.partitions == nil {
		return nil, errNoPartitions
	}
	r := readPartitions(now, now.own, now.port, now.files.portGroups())
	if text != nil {
		r.Name, r.Named, r.Text, r.Err, r.Absent = "the file", false, text, nil, nil
	}
	r.Self = now.port
	l, chosen := now.effective()
	c := chosen.Reload(r, true)
	if c.Source == partitions.FromFile && string(c.Text) == string(chosen.Text) {
		c.Policy = chosen.Policy
	}
	return d.control.PartitionRows(r.Name, &c, partitionSettings(l.Config), c.NewDangers(chosen.Policy)), nil
}

// applyPartitions reloads the manager's partition file, and no other setting. A file without errors takes precedence
// over the policy of the previous master.
func (d *daemon) applyPartitions(force bool) ([]ctl.PartitionRow, error) {
	if d.current.current.Load().partitions == nil {
		return nil, errNoPartitions
	}
	now := d.current.applyPartitions(force)
	l, chosen := now.effective()
	return d.control.PartitionRows(conf.PartitionConfigFile.In(now.own.Config), chosen, partitionSettings(l.Config),
		nil), nil
}

// applyPartitions reloads the partition file and puts it into force. It returns the resulting
// configuration.
func (c *configuration) applyPartitions(force bool) (now *inForce) {
	for {
		was := c.current.Load()
		chosen := was.partitions.Reload(readPartitions(was, was.own, was.port, was.files.portGroups()), force)
		swapped := c.swap(was, func(next *inForce) {
			c.setPartitions(next, &chosen)
			if next.from != nil && next.master && len(chosen.Errors) == 0 {
				next.from = next.from.withoutPartitions()
			}
			c.compare(next)
			c.send(next)
			now = next
		})
		if swapped {
			return now
		}
	}
}

var errNoPartitions = fmt.Errorf("%w: the manager is waiting for its port and has not read its partition file yet",
	ctl.ErrNotNow)

// tenantsPartitions is in force without a partition file where security is for tenants: hosts reach the manager, and
// each other only in partitions that a file gives them.
const tenantsPartitions = "Default=0x7fff, ipoib: ALL=limited, SELF=full;\n"

// readPartitions reads the file that the configuration names, for the manager at a port. was is in force before a
// reload, nil at a start. Members may be of port groups.
func readPartitions(was *inForce, l *conf.Loaded, port mad.GUID, groups *portgroups.Set) partitions.Input {
	name, in := conf.PartitionConfigFile.In(l.Config), inUse{}
	if was != nil && was.partitions != nil {
		in = inUseOf(conf.PartitionConfigFile, was.own.Config, l.Config, was.partitions.Text)
	}
	text, err := in.read(name, partitions.MaxFile)
	read := partitions.Input{Name: name, Named: conf.PartitionConfigFile.Chosen(l.Config), Text: text, Err: err,
		Self: port, PortGroups: groups.ForPartitions()}
	if conf.Security.In(l.Config) == conf.Tenants {
		read.NoNames, read.Absent = true, []byte(tenantsPartitions)
	}
	return read
}
