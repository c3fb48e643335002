package daemon

import (
	"cmp"
	"math"
	"os"
	"strconv"
	"time"

	"ibsm/conf"
	"ibsm/congestioncontrol"
	"ibsm/ctl"
	"ibsm/mad"
	"ibsm/mad/cc"
	"ibsm/mad/smp"
	"ibsm/mad/txn"
	"ibsm/manager"
	osmlog "ibsm/opensm/log"
	"ibsm/opensm/names"
	"ibsm/perf"
	"ibsm/registry"
	"ibsm/sa"
	"ibsm/sweep"
	"ibsm/sweep/elect"
	"ibsm/sweep/plan"
	"ibsm/sweep/routes"
	"ibsm/sweep/vports"
	"ibsm/view"
)

// What the configuration means for each part of the daemon. Settings that no line here
// names have no effect: the table in conf says so of them.

// managerConfig is the configuration of the manager.
func managerConfig(l *conf.Loaded) manager.Config {
	e := election(l.Config)
	return manager.Config{
		Sweep: sweep.Config{
			Settings:      subnetSettings(l.Config),
			IgnoreOtherSM: conf.IgnoreOtherSM.In(l.Config),
			AllowedSMs:    e.Allowed,
		},
		Elect:         e,
		Txn:           pace(l.Config),
		GUID:          portGUID(l.Config),
		SweepInterval: conf.SweepInterval.In(l.Config),
		ForceHeavy:    conf.ForceHeavySweep.In(l.Config),
		IgnoreTraps:   !conf.SweepOnTrap.In(l.Config),
		SAKey:         conf.SAKey.In(l.Config),
		Trust:         trust(l.Config),
		MaxRate:       maxRate(l.Config),
		NoMulticast:   conf.DisableMulticast.In(l.Config),
		VPorts:        vPortsView(l.Config),
		Registrar:     registrations(l.Config),
		Once:          l.Once,
		DryRun:        l.DryRun,
		HonorGUID2LID: conf.HonorGUID2LIDFile.In(l.Config),
		Counters:      counterSettings(l),
		Congestion:    congestionSettings(l),
		Queries: txn.Config{Timeout: conf.TransactionTimeout.In(l.Config),
			Retries: times(conf.TransactionRetries.In(l.Config))},
	}
}

// Images of counters are kept for an hour, in a bounded memory: enough for 11,664 hosts that are read
// every minute.
const (
	keepImages   = time.Hour
	imagesMemory = 128 << 20
)

// counterSettings is how counters are read. A run that ends by itself reads none.
func counterSettings(l *conf.Loaded) perf.Settings {
	s := perf.Settings{
		Window:       int(min(conf.PerfMgrMaxOutstandingQueries.In(l.Config), conf.MostQueries)),
		QueryInfo:    conf.PerfMgrQueryCPI.In(l.Config),
		Redirect:     conf.PerfMgrRedir.In(l.Config),
		SwitchesOnly: conf.PerfMgrIgnoreCAs.In(l.Config),
		KeepAbsent:   !conf.PerfMgrRemoveNodes.In(l.Config),
		Keep:         keepImages, Memory: imagesMemory,
	}
	if conf.PerfMgr.In(l.Config) && !l.Once && !l.DryRun {
		s.Interval = conf.PerfMgrSweepTime.In(l.Config)
	}
	return s
}

// congestionSettings are the wanted settings of congestion control. A dry run writes nothing.
func congestionSettings(l *conf.Loaded) congestioncontrol.Settings {
	c := l.Config
	s := congestioncontrol.Settings{
		Enabled: conf.CongestionControl.In(c) && !l.DryRun,
		Key:     cc.Key(conf.CCKey.In(c)),
		Window:  int(min(conf.CCMaxOutstandingMADs.In(c), conf.MostQueries)),
	}
	s.Switch.SetControlMap(conf.CCSwitchControlMap.In(c))
	s.Switch.SetVictimMask(conf.CCSwitchVictimMask.In(c))
	s.Switch.SetCreditMask(conf.CCSwitchCreditMask.In(c))
	s.Switch.SetThreshold(conf.CCSwitchThreshold.In(c))
	s.Switch.SetPacketSize(conf.CCSwitchPacketSize.In(c))
	s.Switch.SetCSThreshold(conf.CCSwitchCSThreshold.In(c))
	s.Switch.SetCSReturnDelay(entryOf(conf.CCSwitchCSReturnDelay.In(c)))
	s.Switch.SetMarkingRate(conf.CCSwitchMarkingRate.In(c))
	s.Adapter.SetPortControl(conf.CCAdapterPortControl.In(c))
	s.Adapter.SetControlMap(conf.CCAdapterControlMap.In(c))
	timer, increase, trigger, least := conf.CCAdapterTimer.In(c), conf.CCAdapterIncrease.In(c),
		conf.CCAdapterTriggerThreshold.In(c), conf.CCAdapterMin.In(c)
	for sl := range uint8(cc.SLs) {
		e := s.Adapter.SL(sl)
		e.SetCCTITimer(uint16(timer[sl]))
		e.SetCCTIIncrease(uint8(increase[sl]))
		e.SetTriggerThreshold(uint8(trigger[sl]))
		e.SetCCTIMin(uint8(least[sl]))
	}
	for _, d := range conf.CCTable.In(c) {
		s.Table = append(s.Table, entryOf(d))
	}
	return s
}

func entryOf(d conf.Delay) cc.Entry { return cc.EntryOf(d.Shift, d.Multiplier) }

// trust is how far the SA believes its clients.
func trust(c *conf.Config) view.Trust {
	t := view.Trust{Enhanced: conf.SAEnhancedTrustModel.In(c), CheckSGID: conf.SACheckSGIDSpoofing.In(c),
		Rate: conf.SARateThreshold.In(c)}
	if t.Enhanced {
		t.Proxies, t.GUIDs = conf.SAETMAllowUntrustedProxyRequests.In(c), conf.SAETMAllowUntrustedGUIDInfoRec.In(c)
		t.Groups, t.Services, t.Subscriptions = conf.SAETMMaxNumMCGs.In(c), conf.SAETMMaxNumSrvcs.In(c),
			conf.SAETMMaxNumEventSubs.In(c)
	}
	return t
}

// subnetSettings is what the operator says about the subnet. What nobody has chosen
// stays as it is in the fabric.
func subnetSettings(c *conf.Config) sweep.Settings {
	return sweep.Settings{
		SubnetPrefix:   chosen[mad.Prefix](c, conf.SubnetPrefix),
		LMC:            chosen[uint8](c, conf.LMC),
		LMCPort0:       sweep.Option[bool]{Value: conf.LMCEnhancedPort0.In(c), Given: conf.LMCEnhancedPort0.Chosen(c)},
		SubnetTimeOut:  chosen[uint8](c, conf.SubnetTimeout),
		PacketLifeTime: chosen[uint8](c, conf.PacketLifeTime),
		MaxOpVLs:       chosen[uint8](c, conf.MaxOpVLs),
		KindVLs: plan.KindVLs{CA: conf.MaxOpVLsCA.In(c), Switch: conf.MaxOpVLsSW.In(c),
			Router: conf.MaxOpVLsRtr.In(c)},
		HOQLife:      chosen[uint8](c, conf.HeadOfQueueLifetime),
		LeafHOQLife:  chosen[uint8](c, conf.LeafHeadOfQueueLifetime),
		VLStallCount: chosen[uint8](c, conf.VLStallCount),
		LeafVLStall:  chosen[uint8](c, conf.LeafVLStallCount),
		PhyErrors:    chosen[uint8](c, conf.LocalPhyErrorsThreshold),
		Overruns:     chosen[uint8](c, conf.OverrunErrorsThreshold),
		MKey:         chosen[mad.MKey](c, conf.MKey),
		MKeyLease:    chosen[uint16](c, conf.MKeyLeasePeriod),
		MKeyProtect:  chosen[uint8](c, conf.MKeyProtectionLevel),
		NoMKeyLookup: !conf.MKeyLookup.In(c),
		LinkWidth:    chosen[mad.LinkWidth](c, conf.ForceLinkWidth).Value,
		LinkSpeed:    chosen[uint8](c, conf.ForceLinkSpeed).Value,
		LinkSpeedExt: chosen[uint8](c, conf.ForceLinkSpeedExt).Value,
		FDR10:        chosen[plan.FDR10](c, conf.FDR10).Value,
		SMSL:         conf.SMSL.In(c),
		QoS:          conf.QoS.In(c),
		EngineSLs:    choosesSLs(c),
		Lanes:        laneUses(c),
		SLtoVLSingly: conf.UseOptimizedSLVL.Chosen(c) && !conf.UseOptimizedSLVL.In(c),

		ReassignLIDs:    conf.ReassignLIDs.In(c),
		NoReregister:    conf.NoClientsRereg.In(c),
		DisableBabblers: conf.BabblingPortPolicy.In(c),
		AR:              arModes[conf.ARMode.In(c)],
		VPorts:          vPorts(c),
	}
}

// vPorts is what becomes of virtual functions.
func vPorts(c *conf.Config) vports.Settings {
	layout, _ := smp.ParseVPortLayout(conf.VirtModifierLayout.In(c)) // one of the words
	return vports.Settings{Mode: vports.Mode(conf.VirtEnabled.In(c)), Layout: layout,
		MaxPorts:   int(min(conf.VirtMaxPortsInProcess.In(c), math.MaxInt32)),
		FirstKeeps: conf.Security.In(c) == conf.Tenants}
}

// vPortsView is what the SA makes of them.
func vPortsView(c *conf.Config) view.VPorts {
	mode := vports.Mode(conf.VirtEnabled.In(c))
	return view.VPorts{Ignored: mode != vports.Enable, HopLimit: conf.VirtDefaultHopLimit.In(c),
		Records: conf.EnableVirtRecExt.In(c)}
}

// arModes are the words of ar_mode.
var arModes = map[string]routes.ARMode{"keep": routes.KeepAR, "hold": routes.HoldAR, "disable": routes.DisableAR}

// chosen is a number that applies only if somebody has chosen it.
func chosen[T ~uint8 | ~uint16 | ~uint64, V uint8 | uint16 | uint64](c *conf.Config,
	a conf.Accessor[V]) (o sweep.Option[T]) {
	if a.Chosen(c) {
		o = sweep.Given(T(a.In(c)))
	}
	return o
}

// registrations is what clients may register with the SA.
func registrations(c *conf.Config) sa.RegistrarConfig {
	return sa.RegistrarConfig{
		Groups:       sa.DefaultGroups(),
		MLIDs:        registry.MLIDPolicy{ShareSolicitedNode: conf.ConsolidateIPv6SNMReq.In(c)},
		AnyJoin:      !conf.MCGroupJoinValidation.In(c),
		AnyIPoIB:     !conf.IPoIBMCGroupCreationValidation.In(c),
		NewMTU:       mad.MTU(conf.DefaultMCGMTU.In(c)),
		NewRate:      mad.Rate(conf.DefaultMCGRate.In(c)),
		AssignedGUID: conf.SMAssignedGUID.In(c),

		DropSubscriptions: conf.DropEventSubscriptions.In(c),

		Reports: txn.Config{Timeout: conf.TransactionTimeout.In(c), Retries: times(conf.TransactionRetries.In(c))},
	}
}

// maxRate is the highest rate code of the SA, 0 for all: 18 where only the first codes of
// the extended speeds are wanted.
func maxRate(c *conf.Config) mad.Rate {
	const all, original = 63, 18
	most := conf.MaxRateEnum.In(c)
	if conf.UseOriginalExtendedSARatesOnly.In(c) {
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
		Priority:       conf.SMPriority.In(c),
		MasterPriority: conf.MasterSMPriority.In(c),
		SMKey:          conf.SMKey.In(c),
		IgnoreOthers:   conf.IgnoreOtherSM.In(c),
		Inactive:       conf.SMInactive.In(c),
	}
	e.Secret, _ = c.Secret()
	for _, g := range conf.AllowedSMGUIDs.In(c) {
		if n, err := strconv.ParseUint(g, 0, 64); err == nil { // or conf has refused it
			e.Allowed = append(e.Allowed, mad.GUID(n))
		}
	}
	if conf.SMInfoPollingTimeout.Chosen(c) {
		e.PollInterval = conf.SMInfoPollingTimeout.In(c)
	}
	if conf.PollingRetryNumber.Chosen(c) {
		e.PollRetries = times(conf.PollingRetryNumber.In(c))
	}
	return e
}

// pace is how requests are sent. An operator's bound replaces the default of 32; within it the
// window adapts to losses.
func pace(c *conf.Config) txn.Config {
	t := txn.Config{
		Timeout: conf.TransactionTimeout.In(c),
		Retries: times(conf.TransactionRetries.In(c)),
	}
	if n := conf.MaxWireSMPs.In(c); conf.MaxWireSMPs.Chosen(c) {
		t.MaxWindow, t.Chosen = int(min(n, conf.MostSMPs)), true // with conf.NoBound, too
	}
	return t
}

// times is a number of repetitions in a form in which 0 means the default, and a negative
// one none.
func times(n uint32) int {
	if n == 0 {
		return -1
	}
	return int(min(n, math.MaxInt32))
}

// patience is how long a request is worth an answer, whichever of its attempts the
// answer is to, and a little more.
func patience(timeout time.Duration, retries uint32) time.Duration {
	return timeout*time.Duration(retries+1) + 50*time.Millisecond
}

// PortGUID is the GUID of the port to run at, 0 for the best or one that has a name.
func PortGUID(l *conf.Loaded) mad.GUID { return portGUID(l.Config) }

// portGUID is PortGUID.
func portGUID(c *conf.Config) mad.GUID {
	if guid := conf.GUID.In(c); guid != askWhichPort {
		return mad.GUID(guid)
	}
	return 0
}

// inBackground reports whether the daemon leaves its terminal. A dry run has
// something to show, and a service manager wants to keep what it started.
func inBackground(l *conf.Loaded) bool {
	return conf.Daemon.In(l.Config) && !l.DryRun && os.Getenv("NOTIFY_SOCKET") == ""
}

// logTarget is where the log goes: a file, or with path "" standard output, standard
// error, or nowhere.
func logTarget(l *conf.Loaded) (path string, stdout, stderr bool) {
	switch path = conf.LogFile.In(l.Config); {
	case path == "-" || path == "stdout":
		return "", true, false
	case path == "stderr":
		return "", false, true
	case !conf.LogFile.Chosen(l.Config) && (l.Fabric != "" || l.DryRun):
		return "", false, false
	}
	return path, false, false
}

// toSyslog reports whether states are copied to the system's log. What is simulated is
// no business of the system's.
func toSyslog(l *conf.Loaded) bool {
	return conf.Syslog.In(l.Config) && (l.Fabric == "" && !l.IBSim || conf.Syslog.Chosen(l.Config)) && !l.DryRun
}

// logFile is how the file is kept.
func logFile(c *conf.Config) (limit int64, erase bool) {
	return conf.LogMaxSize.In(c), !conf.AccumLogFile.In(c)
}

// logFlagsOf are OpenSM's.
func logFlagsOf(c *conf.Config) osmlog.Flags { return osmlog.Flags(conf.LogFlags.In(c)) }

// dumpDir is where dump files go, "" for nowhere.
func dumpDir(l *conf.Loaded) string {
	if l.Fabric != "" && !conf.DumpFilesDir.Chosen(l.Config) {
		return ""
	}
	return conf.DumpFilesDir.In(l.Config)
}

// nameMap is the file of node names. Only one that was chosen has to be there.
func nameMap(c *conf.Config) (path string, given bool) {
	path = conf.NodeNameMapName.In(c)
	return cmp.Or(path, names.DefaultFile), path != ""
}

// controlSocket is where the control socket is wanted, "" for nowhere. given says that
// it was asked for by name.
func controlSocket(l *conf.Loaded) (path string, given bool) {
	path = cmp.Or(conf.CtlSocket.In(l.Config), os.Getenv(ctl.SocketEnv))
	switch {
	case !conf.CtlSocket.Chosen(l.Config) && (l.Fabric != "" || l.Once || l.DryRun):
		path = "none"
	case path == "":
		return ctl.DefaultSocket, false
	}
	if path == "none" {
		return "", false
	}
	return path, true
}
