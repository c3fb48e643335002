package main

import (
	"fmt"
	"log/slog"

	"ibsm/conf"
	"ibsm/conf/diag"
	"ibsm/ctl"
	"ibsm/ctl/server"
	osmlog "ibsm/opensm/log"
	"ibsm/partitions"
	"ibsm/registry"
	"ibsm/sa"
	"ibsm/sweep"
)

// policy is who may talk to whom, as partitions.conf says: the policy in force, which
// stays when the file is broken or goes away.
type policy struct {
	logger *slog.Logger
	keep   func(text []byte) // is given each file that comes into force
	chosen *partitions.Chosen
}

// begin chooses the policy that a first manager starts with; later ones go on with it.
func (p *policy) begin(l *conf.Loaded, lastGood []byte) {
	if p.chosen == nil {
		c := partitions.Begin(readPartitions(l), lastGood, conf.PartitionFallback.In(l.Config) == "open")
		p.chosen = &c
		p.tell(l)
	}
	p.keepText()
}

// reread reads the file again and returns what is wrong with it.
func (p *policy) reread(l *conf.Loaded) []ctl.Finding {
	if p.chosen == nil {
		return nil
	}
	c := p.chosen.Again(readPartitions(l))
	p.chosen = &c
	p.tell(l)
	p.keepText()
	var found []ctl.Finding
	for _, list := range []struct {
		severity conf.Severity
		list     diag.List
	}{{conf.Refusal, c.Errors}, {conf.Warning, c.Warnings}} {
		for _, e := range list.list {
			found = append(found, ctl.Finding{File: e.File, Line: e.Line, Column: e.Col, Severity: list.severity.String(), Key: "partition_config_file", Text: e.Text})
		}
	}
	return found
}

// keepText keeps the file in force for a start at which there is no good one.
func (p *policy) keepText() {
	if p.chosen.Text != nil {
		p.keep(p.chosen.Text)
	}
}

// sweepPartitions is what the manager is told.
func sweepPartitions(chosen *partitions.Chosen, c *conf.Config) sweep.Partitions {
	if chosen == nil {
		return sweep.Partitions{}
	}
	return sweep.Partitions{Policy: chosen.ForTables(), Settings: partitionSettings(c)}
}

// partitionSettings are those of the configuration that are about partitions.
func partitionSettings(c *conf.Config) partitions.Settings {
	settings := partitions.Settings{AllowBoth: conf.AllowBothPKeys.In(c), ForgetIndexes: !conf.KeepPKeyIndexes.In(c)}
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

// groups are those that the SA makes for the partitions.
func groups(chosen *partitions.Chosen, c *conf.Config) []registry.Group {
	if chosen == nil {
		return sa.DefaultGroups()
	}
	return chosen.Policy.WellKnown(conf.QoS.In(c))
}

// tell writes to the log what is wrong with the file, and what holds for that reason.
func (p *policy) tell(l *conf.Loaded) {
	for _, w := range p.chosen.Warnings {
		p.logger.Warn(w.Error())
	}
	for _, e := range p.chosen.Errors {
		p.logger.Error(e.Error())
	}
	if len(p.chosen.Errors) > 0 {
		p.logger.Error(osmlog.PartitionsInError)
	}
	file := conf.PartitionConfigFile.In(l.Config)
	switch {
	case len(p.chosen.Errors) == 0 && p.chosen.Source == partitions.FromNothing:
		p.logger.Info("there is no partition file: ports keep the P_Keys that they have, which are those of the default partition where no manager has been", "file", file)
	case len(p.chosen.Errors) == 0:
		p.logger.Info("partitions are as the file says", "file", file, "partitions", len(p.chosen.Policy.Partitions))
	case p.chosen.Source == partitions.FromCaution:
		p.logger.Error("PARTITIONS ARE CLOSED: the partition file cannot be used and no earlier one is known, so that every port reaches the manager alone; mend the file and send SIGHUP", "file", file)
	case p.chosen.Source == partitions.FromFallback:
		p.logger.Error("PARTITIONS ARE OPEN: the partition file cannot be used, and as partition_fallback asks every port is a full member of the default partition", "file", file)
	default:
		p.logger.Error("partitions stay as the partition file last had them without an error; mend the file and send SIGHUP", "file", file)
	}
}

// partitioner is the ctl.Partitioner of a manager.
type partitioner struct {
	*inForce
	desk *server.Desk
}

// PlanPartitions reads a file and brings nothing into force. Where it is the file in
// force, it is known as such.
func (p partitioner) PlanPartitions(text []byte) ([]ctl.PartitionRow, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.policy.chosen == nil {
		return nil, errNoPartitions
	}
	r := partitions.Reading{Name: "the file", Text: text}
	if text == nil {
		r = readPartitions(p.now)
	}
	l, chosen := p.rules()
	c := chosen.Again(r)
	if c.Source == partitions.FromFile && string(c.Text) == string(chosen.Text) {
		c.Policy = chosen.Policy
	}
	return p.desk.PartitionRows(r.Name, &c, partitionSettings(l.Config)), nil
}

// ApplyPartitions reads the manager's file again, and no other setting. A file without a
// mistake goes before what a master has inherited.
func (p partitioner) ApplyPartitions() ([]ctl.PartitionRow, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.policy.chosen == nil {
		return nil, errNoPartitions
	}
	p.applyOwnPartitions()
	l, chosen := p.rules()
	return p.desk.PartitionRows(conf.PartitionConfigFile.In(p.now.Config), chosen, partitionSettings(l.Config)), nil
}

// applyOwnPartitions brings the partition file into force.
func (f *inForce) applyOwnPartitions() {
	f.policy.reread(f.now)
	if f.from != nil && f.master.Load() && len(f.policy.chosen.Errors) == 0 {
		f.from.chosen = nil
	}
	f.compare()
	f.send()
}

var errNoPartitions = fmt.Errorf("%w: the manager waits for its port, and has not read its partition file yet", ctl.ErrNotNow)

// readPartitions reads the file that the configuration names.
func readPartitions(l *conf.Loaded) partitions.Reading {
	name := conf.PartitionConfigFile.In(l.Config)
	text, err := readUpTo(name, partitions.MaxFile+1)
	return partitions.Reading{Name: name, Text: text, Err: err}
}
