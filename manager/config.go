package manager

import (
	"cmp"
	"time"

	"ibsm/congestioncontrol"
	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/mad/txn"
	"ibsm/opensm/names"
	"ibsm/perf"
	"ibsm/registry"
	"ibsm/routing/portgroups"
	"ibsm/routing/qos"
	"ibsm/sa"
	"ibsm/store"
	"ibsm/sweep"
	"ibsm/sweep/elect"
	"ibsm/sweep/proof"
	"ibsm/view"
)

// Config of a manager. The zero value works with OpenSM's defaults, but needs an
// engine.
type Config struct {
	Sweep sweep.Config
	Elect elect.Config
	// Salt is random: another one at each start. Run draws it.
	Salt proof.Salt
	// Txn is how SMPs are sent. Its MaxWindow is 32 where it is 0.
	Txn txn.Config
	// GUID is the required GUID of our port; 0 accepts any.
	GUID mad.GUID
	// SweepInterval is the time between light sweeps; 0 disables them.
	SweepInterval time.Duration
	// Resting holds all sweeps back until a configuration without it.
	Resting bool
	// ForceHeavy makes every sweep a heavy one.
	ForceHeavy bool
	// IgnoreTraps leaves changes that traps 128 and 144 report to the next sweep.
	IgnoreTraps bool
	SAKey       uint64
	Trust       view.Trust // of clients of the SA
	MaxRate     mad.Rate   // view.Subnet.MaxRate
	NoMulticast bool       // view.Subnet.NoMulticast
	// VPorts are view.View.VPorts, but for what is read.
	VPorts view.VPorts
	// PrefixRoutes are the routers to other subnets, for path queries.
	PrefixRoutes []view.PrefixRoute
	// PathSLs are the SLs of paths by partition: view.View.SLs.
	PathSLs map[mad.PKey]uint8
	// QoS is what paths may be: view.View.QoS.
	QoS *qos.Policy
	// PortGroups are those of files: view.View.PortGroups.
	PortGroups *portgroups.Set
	// Names are the names of nodes in the log; other nodes are named by their descriptions.
	Names names.Map
	// Registered is what is registered at the beginning, with the partitions of callers; nil for nothing. Run sets it.
	Registered *registry.State
	// Once ends the run with the first sweep that is complete.
	Once bool
	// Epoch is the time of day at Step's time 0, in seconds since 1970. Run sets it; ClockSet changes it.
	Epoch int64
	// LastTerm is the last mastership term before this manager's; the zero value if there is none. Resume sets it.
	LastTerm store.Term
	// HonorGUID2LID makes a standby that becomes master read the LIDs of OpenSM's file, which then take precedence over
	// the LIDs that ports report.
	HonorGUID2LID bool
	// Unchanged says that nothing that is written to the subnet differs from the configuration before: no sweep
	// follows.
	Unchanged bool
	// Counters is how the counters of all ports are read; off without an Interval. Queries is how
	// often a request for them is sent, and for how long an answer is awaited.
	Counters perf.Settings
	Queries  txn.Config
	// Congestion are the wanted settings of congestion control. Its requests are sent as often, too.
	Congestion congestioncontrol.Settings
	// Registrar configures the part of the SA that changes registrations. Run sets its Began.
	Registrar sa.RegistrarConfig
	// DryRun asks and computes, shows the plan, and ends without having written
	// anything or taken part in an election.
	DryRun bool
}

// maxSMPs is the default of Config.Txn.MaxWindow, as published for large fabrics of NVIDIA's.
const maxSMPs = 32

// maxWindow is the largest window of SMPs.
func (c *Config) maxWindow() int { return cmp.Or(c.Txn.MaxWindow, maxSMPs) }

// portPoll is how often a manager whose own port is down looks at it again.
const portPoll = time.Second

// reconfigure takes what can change while a manager runs from a configuration that was
// read again, and has a heavy sweep bring it into force.
func (c *Core) reconfigure(cfg *Config) {
	c.cfg.Sweep.Settings, c.cfg.Sweep.IgnoreOtherSM = cfg.Sweep.Settings, cfg.Sweep.IgnoreOtherSM
	c.partitions.configured = cfg.Sweep.Partitions
	c.cfg.Sweep.Partitions, c.cfg.Sweep.AllowedSMs = c.partitions.inForce(), cfg.Sweep.AllowedSMs
	if c.elect.State() == smp.Master {
		c.sweeps.sweeper.CompareEngines()
	}
	c.cfg.Sweep.Engines, c.cfg.Sweep.Drained, c.cfg.Sweep.Cabling = cfg.Sweep.Engines, cfg.Sweep.Drained,
		cfg.Sweep.Cabling
	c.cfg.Sweep.Avoided, c.cfg.Sweep.Routes = cfg.Sweep.Avoided, cfg.Sweep.Routes
	c.cfg.SweepInterval, c.cfg.ForceHeavy, c.cfg.IgnoreTraps = cfg.SweepInterval, cfg.ForceHeavy, cfg.IgnoreTraps
	c.sweeps.plan.reconfigured()
	c.cfg.Resting = cfg.Resting
	c.cfg.SAKey, c.cfg.Trust, c.cfg.HonorGUID2LID = cfg.SAKey, cfg.Trust, cfg.HonorGUID2LID
	c.cfg.PrefixRoutes, c.cfg.PathSLs, c.cfg.QoS, c.cfg.PortGroups = cfg.PrefixRoutes, cfg.PathSLs, cfg.QoS,
		cfg.PortGroups
	c.cfg.MaxRate, c.cfg.NoMulticast, c.cfg.VPorts = cfg.MaxRate, cfg.NoMulticast, cfg.VPorts
	c.cfg.Congestion = cfg.Congestion
	c.cfg.Registrar.Mirror = cfg.Registrar.Mirror
	c.cfg.Registrar.DropSubscriptions = cfg.Registrar.DropSubscriptions
	c.cfg.Elect = cfg.Elect
	c.elect.use(c.fx.now, &c.cfg)
	c.cfg.Sweep.Nonces = c.elect.walkNonces()
	c.sweeps.sweeper.Configure(c.cfg.Sweep)
	if c.elect.State() != smp.Master {
		c.sweeps.sweeper.FollowRoutes()
	}
	c.multicast.Configure(cfg.Sweep.Settings.MKeys())
	c.vPorts.Configure(cfg.Sweep.Settings.VPorts, cfg.Sweep.Settings.MKeys())
	c.enter()
	c.fx.table.SetMaxWindow(cfg.maxWindow(), cfg.Txn.Chosen)
	if !cfg.Unchanged {
		c.sweeps.want(wishFull, "configuration reloaded")
	}
}
