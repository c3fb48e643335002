package main

import (
	"cmp"
	"fmt"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"ibsm/conf"
	"ibsm/ctl"
	"ibsm/mad"
	"ibsm/mad/txn"
	"ibsm/manager"
	osmlog "ibsm/opensm/log"
	"ibsm/opensm/names"
	"ibsm/registry"
	"ibsm/routing"
	"ibsm/routing/minhop"
	"ibsm/sa"
	"ibsm/sweep"
	"ibsm/sweep/elect"
	"ibsm/sweep/plan"
)

// What each part of the daemon is told, made of the configuration. Settings that no
// line here names have no effect: the table in conf says so of them.

// managerConfig is what the manager is told.
func managerConfig(l *conf.Loaded) manager.Config {
	engine, _, _ := chooseEngine(l.List("routing_engine"))
	return manager.Config{
		Sweep: sweep.Config{
			Settings:      subnetSettings(l.Config),
			Engine:        engines[engine],
			EngineName:    engine,
			IgnoreOtherSM: l.Bool("ignore_other_sm"),
		},
		Elect:         election(l.Config),
		Txn:           pace(l.Config),
		GUID:          portGUID(l.Config),
		SweepInterval: l.Duration("sweep_interval"),
		ForceHeavy:    l.Bool("force_heavy_sweep"),
		IgnoreTraps:   !l.Bool("sweep_on_trap"),
		SAKey:         l.Uint("sa_key"),
		MaxRate:       maxRate(l.Config),
		NoMulticast:   l.Bool("disable_multicast"),
		Registrar:     registrations(l.Config),
		Once:          l.Once,
		DryRun:        l.DryRun,
		HonorGUID2LID: l.Bool("honor_guid2lid_file"),
	}
}

// subnetSettings is what the operator says about the subnet. What nobody has chosen
// stays as it is in the fabric.
func subnetSettings(c *conf.Config) sweep.Settings {
	return sweep.Settings{
		SubnetPrefix:   chosen[mad.Prefix](c, "subnet_prefix"),
		LMC:            chosen[uint8](c, "lmc"),
		LMCPort0:       sweep.Option[bool]{Value: c.Bool("lmc_esp0"), Given: c.Chosen("lmc_esp0")},
		SubnetTimeOut:  chosen[uint8](c, "subnet_timeout"),
		PacketLifeTime: chosen[uint8](c, "packet_life_time"),
		MaxOpVLs:       chosen[uint8](c, "max_op_vls"),
		HOQLife:        chosen[uint8](c, "head_of_queue_lifetime"),
		LeafHOQLife:    chosen[uint8](c, "leaf_head_of_queue_lifetime"),
		VLStallCount:   chosen[uint8](c, "vl_stall_count"),
		LeafVLStall:    chosen[uint8](c, "leaf_vl_stall_count"),
		PhyErrors:      chosen[uint8](c, "local_phy_errors_threshold"),
		Overruns:       chosen[uint8](c, "overrun_errors_threshold"),
		MKey:           chosen[mad.MKey](c, "m_key"),
		MKeyLease:      chosen[uint16](c, "m_key_lease_period"),
		MKeyProtect:    chosen[uint8](c, "m_key_protection_level"),
		NoMKeyLookup:   !c.Bool("m_key_lookup"),
		LinkWidth:      chosen[mad.LinkWidth](c, "force_link_width").Value,
		LinkSpeed:      chosen[uint8](c, "force_link_speed").Value,
		LinkSpeedExt:   chosen[uint8](c, "force_link_speed_ext").Value,
		FDR10:          chosen[plan.FDR10](c, "fdr10").Value,
		SMSL:           uint8(c.Uint("sm_sl")),

		ReassignLIDs:    c.Bool("reassign_lids"),
		NoReregister:    c.Bool("no_clients_rereg"),
		DisableBabblers: c.Bool("babbling_port_policy"),
		DisableAR:       c.Text("ar_mode") == "disable",
	}
}

// chosen is a number that counts only if somebody has chosen it.
func chosen[T ~uint8 | ~uint16 | ~uint64](c *conf.Config, name string) (o sweep.Option[T]) {
	if c.Chosen(name) {
		o = sweep.Given(T(c.Uint(name)))
	}
	return o
}

// registrations is what clients may register with the SA.
func registrations(c *conf.Config) sa.RegistrarConfig {
	return sa.RegistrarConfig{
		Groups:       sa.DefaultGroups(),
		MLIDs:        registry.MLIDPolicy{ShareSolicitedNode: c.Bool("consolidate_ipv6_snm_req")},
		AnyJoin:      !c.Bool("mcgroup_join_validation"),
		AnyIPoIB:     !c.Bool("ipoib_mcgroup_creation_validation"),
		AssignedGUID: uint8(c.Uint("sm_assigned_guid")),

		DropSubscriptions: c.Bool("drop_event_subscriptions"),
	}
}

// maxRate is the highest rate code of the SA, 0 for all: 18 where only the first codes of
// the extended speeds are to be used.
func maxRate(c *conf.Config) mad.Rate {
	const all, original = 63, 18
	most := c.Uint("max_rate_enum")
	if c.Bool("use_original_extended_sa_rates_only") {
		most = min(most, original)
	}
	if most == all {
		return 0
	}
	return mad.Rate(most)
}

// election is how the manager stands among others.
func election(c *conf.Config) elect.Config {
	e := elect.Config{
		Priority:       uint8(c.Uint("sm_priority")),
		MasterPriority: uint8(c.Uint("master_sm_priority")),
		SMKey:          c.Uint("sm_key"),
		IgnoreOthers:   c.Bool("ignore_other_sm"),
		Inactive:       c.Bool("sm_inactive"),
	}
	for _, g := range c.List("allowed_sm_guids") {
		if n, err := strconv.ParseUint(g, 0, 64); err == nil { // or conf has refused it
			e.Allowed = append(e.Allowed, mad.GUID(n))
		}
	}
	if c.Chosen("sminfo_polling_timeout") {
		e.PollInterval = c.Duration("sminfo_polling_timeout")
	}
	if c.Chosen("polling_retry_number") {
		e.PollRetries = times(c.Uint("polling_retry_number"))
	}
	return e
}

// pace is how requests are sent. Without a bound of the operator's, the window grows
// as far as the fabric bears it.
func pace(c *conf.Config) txn.Config {
	t := txn.Config{
		Timeout: c.Duration("transaction_timeout"),
		Retries: times(c.Uint("transaction_retries")),
	}
	if n := c.Uint("max_wire_smps"); c.Chosen("max_wire_smps") && n < conf.NoBound {
		t.MaxWindow = int(n)
	}
	return t
}

// times is a number of repetitions for those who take 0 for their default, and a
// negative one for none.
func times(n uint64) int {
	if n == 0 {
		return -1
	}
	return int(min(n, math.MaxInt32))
}

// patience is how long a request is worth an answer, whichever of its attempts the
// answer is to, and a little more.
func patience(c *conf.Config) time.Duration {
	attempts := min(c.Uint("transaction_retries"), conf.MostRetries) + 1
	return c.Duration("transaction_timeout")*time.Duration(attempts) + 50*time.Millisecond
}

// engines are the routing engines that there are.
var engines = map[string]routing.Engine{"minhop": minhop.Route}

// chooseEngine is the first routing engine of a list that there is. An engine that
// OpenSM has and this manager has not is passed over, as OpenSM does with one that
// fails; minhop is the last, unless the list forbids it.
func chooseEngine(list []string) (name string, missing []string, err error) {
	for _, name := range list {
		if engines[name] != nil {
			return name, missing, nil
		}
		if name != "no_fallback" {
			missing = append(missing, name)
		}
	}
	if slices.Contains(list, "no_fallback") {
		return "", missing, fmt.Errorf("routing_engine %s: this version has none of these, and no_fallback forbids minhop", strings.Join(list, ","))
	}
	return "minhop", missing, nil
}

// portGUID is the port to run at, 0 for the best.
func portGUID(c *conf.Config) mad.GUID {
	if guid := c.Uint("guid"); guid != askWhichPort {
		return mad.GUID(guid)
	}
	return 0
}

// inBackground reports whether the daemon leaves its terminal. A dry run has
// something to show, and a service manager wants to keep what it started.
func inBackground(l *conf.Loaded) bool {
	return l.Bool("daemon") && !l.DryRun && os.Getenv("NOTIFY_SOCKET") == ""
}

// logTarget is where the log goes: a file, or with path "" standard output, standard
// error, or nowhere.
func logTarget(l *conf.Loaded) (path string, stdout, stderr bool) {
	switch path = l.Text("log_file"); {
	case path == "-" || path == "stdout":
		return "", true, false
	case path == "stderr":
		return "", false, true
	case !l.Chosen("log_file") && (l.Fabric != "" || l.DryRun):
		return "", false, false
	}
	return path, false, false
}

// toSyslog reports whether states are copied to the system's log. What is simulated is
// no business of the system's.
func toSyslog(l *conf.Loaded) bool {
	return l.Bool("syslog") && (l.Fabric == "" && !l.IBSim || l.Chosen("syslog")) && !l.DryRun
}

// logFile is how the file is kept.
func logFile(c *conf.Config) (limit int64, erase bool) {
	return c.Size("log_max_size"), !c.Bool("accum_log_file")
}

// logFlagsOf are OpenSM's.
func logFlagsOf(c *conf.Config) osmlog.Flags { return osmlog.Flags(c.Uint("log_flags")) }

// dumpDir is where dump files go, "" for nowhere.
func dumpDir(l *conf.Loaded) string {
	if l.Fabric != "" && !l.Chosen("dump_files_dir") {
		return ""
	}
	return l.Text("dump_files_dir")
}

// nameMap is the file of node names. Only one that was chosen has to be there.
func nameMap(c *conf.Config) (path string, given bool) {
	path = c.Text("node_name_map_name")
	return cmp.Or(path, names.DefaultFile), path != ""
}

// controlSocket is where the control socket is to be, "" for nowhere. given says that
// it was asked for by name.
func controlSocket(l *conf.Loaded) (path string, given bool) {
	path = cmp.Or(l.Text("ctl_socket"), os.Getenv(ctl.SocketEnv))
	switch {
	case !l.Chosen("ctl_socket") && (l.Fabric != "" || l.Once || l.DryRun):
		path = "none"
	case path == "":
		return ctl.DefaultSocket, false
	}
	if path == "none" {
		return "", false
	}
	return path, true
}
