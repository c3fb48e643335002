package conf

import (
	"fmt"
	"strconv"
	"strings"
)

// amend corrects a setting that contradicts another one.
func (c *Config) amend(report *Report, s Severity, k *Key, v Value, why string) {
	i, name := k.row(), k.Name
	if c.settings[i].Value == v {
		return
	}
	if from := c.settings[i].Source; from == FromDefault || from == FromSecurity || from == FromKeysFile {
		s = Note // the default was corrected, not a chosen value
	}
	report.add(s, c.settings[i].Position, name, "%s = %s: %s; using %s", name, k.Format(c.settings[i].Value), why,
		k.Format(v))
	c.settings[i].Value = v
}

// reconcile amends settings that contradict one another as OpenSM does.
func (c *Config) reconcile(report *Report) {
	if timeout := c.raw(TransactionTimeout.Key()); c.raw(LongTransactionTimeout.Key()) < timeout {
		c.amend(report, Warning, LongTransactionTimeout.Key(), Value{Num: timeout}, "less than transaction_timeout")
	}
	if MaxWireSMPs.In(c) == 0 {
		c.settings[MaxWireSMPs.row].Value.Num = NoBound
	}
	if NoPartitionEnforcement.In(c) && PartEnforce.In(c) != "off" {
		c.amend(report, Note, PartEnforce.Key(), Value{Text: "off"}, "no_partition_enforcement takes precedence")
	}
	if UseOriginalExtendedSARatesOnly.In(c) && MaxRateEnum.In(c) > 18 && MaxRateEnum.Chosen(c) {
		c.amend(report, Warning, MaxRateEnum.Key(), Value{Num: 18}, "limited by use_original_extended_sa_rates_only")
	}
	if lease, least := c.raw(MKeyLeasePeriod.Key()), c.leastLease(); MKeyProtectionLevel.In(c) > 0 && lease > 0 &&
		lease < least {
		c.amend(report, Invalid, MKeyLeasePeriod.Key(), Value{Num: least},
			fmt.Sprintf(
				"too short to read a port %d times, with transaction_retries of transaction_timeout each, before the lease ends", LeaseReads))
	}
}

// LeaseReads is how often a port is read in the time of its lease. Sweeps do not matter: a lease may be shorter than
// sweep_interval.
const LeaseReads = 3

// leastLease is the shortest lease, in seconds, that is renewed in time where answers come late: each read ends, with
// its retries, before the next one is due.
func (c *Config) leastLease() uint64 {
	read := c.raw(TransactionTimeout.Key()) * (min(c.raw(TransactionRetries.Key()), MostRetries) + 1) // in milliseconds
	return min((LeaseReads*read+999)/1000, 0xffff)
}

// raw is a number in the unit of its setting.
func (c *Config) raw(k *Key) uint64 { return c.Setting(k).Value.Num }

// comment reports valid values that may not be intended.
func (c *Config) comment(report *Report) {
	c.checkConsole(report)
	c.checkEffects(report)
	c.checkMost(report)
	c.checkTable(report)
	c.checkAllowed(report)
	c.checkPartitionPKeys(report)
	c.checkTrust(report)
	c.checkLanes(report)
	if k := TopoConfigEnabled.Key(); TopoConfigEnabled.In(c) && TopoConfigFile.In(c) == "" {
		report.add(Warning, c.Setting(k).Position, k.Name,
			"%s has no effect without topo_config_file: no cable is held back", k.Name)
	}
}

// MostRetries, MostSMPs and MostQueries are the largest values that this manager uses.
const (
	MostRetries = 14
	MostSMPs    = 128
	MostQueries = 2048
)

// checkMost reports larger values.
func (c *Config) checkMost(report *Report) {
	for _, bound := range []struct {
		key  *Key
		most uint64
	}{{TransactionRetries.Key(), MostRetries}, {MaxWireSMPs.Key(), MostSMPs},
		{PerfMgrMaxOutstandingQueries.Key(), MostQueries}, {CCMaxOutstandingMADs.Key(), MostQueries}} {
		if n := c.raw(bound.key); n > bound.most && n != NoBound {
			report.add(Warning, c.Setting(bound.key).Position, bound.key.Name, "%s = %d is above the maximum; using %d",
				bound.key.Name, n, bound.most)
		}
	}
}

// MostDelays is how many entries of cc_cct are used.
const MostDelays = 128

// checkTable reports a longer congestion control table.
func (c *Config) checkTable(report *Report) {
	if n := len(CCTable.In(c)); n > MostDelays {
		report.add(Warning, c.Setting(CCTable.Key()).Position, CCTable.Key().Name,
			"cc_cct has %d entries; using the first %d", n, MostDelays)
	}
}

// checkConsole disables a console on all addresses unless console_open confirms it.
func (c *Config) checkConsole(report *Report) {
	if Console.In(c) == "socket" && !ConsoleOpen.In(c) {
		c.amend(report, Invalid, Console.Key(), Value{Text: "off"},
			"commands would be taken from every address, without a password: choose loopback, or confirm it with console_open TRUE (--console-open)")
	}
}

// checkAllowed rejects entries that are no port GUID.
func (c *Config) checkAllowed(report *Report) {
	k := AllowedSMGUIDs.Key()
	for _, g := range AllowedSMGUIDs.In(c) {
		if n, err := strconv.ParseUint(g, 0, 64); err != nil || n == 0 {
			report.add(Refusal, c.Setting(k).Position, k.Name,
				"%s: %q is not a port GUID; expected a number such as 0x0002c90300000001", k.Name, g)
		}
	}
}

// PKeyRange is partition_pkeys: the first and the last P_Key.
func (c *Config) PKeyRange() (first, last uint16, err error) {
	from, to, is := strings.Cut(PartitionPKeys.In(c), "-")
	a, err := strconv.ParseUint(strings.TrimSpace(from), 0, 16)
	b, err2 := strconv.ParseUint(strings.TrimSpace(to), 0, 16)
	if !is || err != nil || err2 != nil || a < 1 || b > 0x7ffe || a > b {
		return 0, 0, fmt.Errorf("%q is no range of P_Keys; expected two of 0x1 to 0x7ffe, such as 0x1000-0x7ffe",
			PartitionPKeys.In(c))
	}
	return uint16(a), uint16(b), nil
}

func (c *Config) checkPartitionPKeys(report *Report) {
	if _, _, err := c.PKeyRange(); err != nil {
		k := PartitionPKeys.Key()
		report.add(Refusal, c.Setting(k).Position, k.Name, "%s: %v", k.Name, err)
	}
}

// checkEffects reports the chosen settings that have no effect, each at its position.
func (c *Config) checkEffects(report *Report) {
	first := len(*report)
	defer func() { (*report)[first:].sort() }()
	for i := range table {
		k, s := &table[i], &c.settings[i]
		if k.Effect != NotYet || s.Source <= FromEnvironment || s.Value == k.standard() {
			continue
		}
		report.add(Warning, s.Position, k.Name, "no effect in this version: %s", k.Name)
	}
}
