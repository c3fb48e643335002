package metrics

import (
	"cmp"
	"context"
	"iter"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"ibsm/congestioncontrol"
	"ibsm/connlimit"
	"ibsm/ctl"
	"ibsm/ctl/server"
	"ibsm/finding"
	"ibsm/mad/smp"
	"ibsm/manager"
	"ibsm/opensm/console"
	"ibsm/perf/sick"
	"ibsm/registry"
	"ibsm/topo/cabling"
)

// collector collects the metrics of a manager. It describes none, since those that there
// are depend on what the manager is doing.
type collector struct{ Config }

// Describe is prometheus.Collector's.
func (*collector) Describe(chan<- *prometheus.Desc) {}

// Collect is prometheus.Collector's.
func (c *collector) Collect(to chan<- prometheus.Metric) {
	s, st := sink(to), c.Control.Status()
	s.gauge("ibsm_info", "Version of the manager, and the routing engine that computed the present routes.", "version",
		"engine")(1, st.Version, cmp.Or(st.Engine, "none"))
	s.refused(st)
	state := smp.SMState(0)
	if shell := c.Control.Manager(); shell != nil {
		stats := shell.Stats()
		state = stats.State
		s.manager(&stats)
		s.smps(&stats)
		s.packets(shell.GSICounts())
		s.answers(shell.SAStats())
		s.transfers(shell.SATransfers())
		s.registrations(shell.SARegistrations())
		s.mirrored(shell.MirrorStats())
		s.held(shell.Held)
		if st, err := c.Control.CongestionState(context.Background()); err == nil && st.Enabled {
			s.congestionControl(st)
		}
		if counters, err := c.Control.CounterStatus(context.Background()); err == nil {
			s.counters(counters)
		}
	}
	if sub := c.Control.Subnet(); sub != nil {
		s.cabling(sub.Cabling())
		s.security(sub.Security().Rules)
	}
	states := s.gauge("ibsm_state",
		"1 for the present state of the subnet manager, 0 for other states; NOT-ACTIVE also while it has no port.",
		"state")
	for of := smp.NotActive; of <= smp.Master; of++ {
		states(truth(of == state), of.String())
	}
	s.links(c.Control)
	if st.Sweep != nil {
		s.lastSweep(st.Sweep)
	}
	links := 0
	if st.TreeLoop != nil {
		links = st.TreeLoop.Links
	}
	s.gauge("ibsm_multicast_credit_loop_links",
		"Links of a credit loop created by changes of multicast trees since the last sweep; 0 if there is none.")(
		float64(links))
	if st.Subnet != nil {
		s.subnet(st.Subnet)
		if reg := c.Control.Registry(); reg != nil {
			s.registered(reg.Counts())
		}
	}
	if clients := c.Control.ConsoleClients(); clients != nil {
		s.console(clients)
	}
	s.control(c.Stats)
	if counts := c.API(); counts != nil {
		s.api(counts)
	}
	s.counter("ibsm_log_lines_dropped_total", "Log lines dropped, because the log could not be written fast enough.")(
		c.LogDropped())
	s.counter("ibsm_audit_lines_dropped_total",
		"Lines of the audit dropped, because the file could not be written fast enough.")(c.AuditDropped())
	s.counter("ibsm_events_total", "Events since the start; ibsmctl events shows the latest ones.")(st.Events)
}

// refused sends which engines cannot route the subnet, which files have errors, and which cannot be written.
func (s sink) refused(st *ctl.Status) {
	engine := s.gauge("ibsm_routing_engine_refused",
		"1 for each configured routing engine that cannot route the subnet.", "engine")
	for _, r := range st.Refused {
		engine(1, r.Engine)
	}
	file := s.gauge("ibsm_file_refused",
		"1 for each setting whose file has errors, so the previous version stays in force.", "setting")
	if st.Partitions != nil {
		file(1, "partition_config_file")
	}
	if st.QoSPolicy != nil {
		file(1, "qos_policy_file")
	}
	unwritten := s.gauge("ibsm_file_unwritten",
		"1 for each kind of file that the manager cannot write: state store, OpenSM's cache files, dump files, SA dump file. ibsmctl status shows the reason.", "files")
	for i := range st.Unwritten {
		unwritten(1, st.Unwritten[i].What)
	}
}

// security sends which rules hold.
func (s sink) security(rules []ctl.SecurityRule) {
	holds := s.gauge("ibsm_security_rule_holds",
		"1 for each rule of ibsmctl security that holds, 0 for each rule that fails.", "rule")
	for _, r := range rules {
		if r.State != ctl.RuleLeft {
			holds(truth(r.State == ctl.RuleHolds), r.Rule)
		}
	}
}

// cabling sends how cables differ from their plan, and how many are held back.
func (s sink) cabling(c *ctl.Cabling) {
	s.gauge("ibsm_cabling_held_back",
		"Cables held back, because they are not in the plan or their switch is held back.")(
		float64(len(c.HeldBack) + c.MoreHeld))
	if !c.Plan {
		return
	}
	cables := s.gauge("ibsm_cabling_cables",
		"Cables in the plan (planned), in the subnet (present), and in both (same).", "which")
	cables(float64(c.Planned), "planned")
	cables(float64(c.Present), "present")
	cables(float64(c.Same), "same")
	kinds := map[string]int{}
	for i := range c.Findings {
		kinds[c.Findings[i].Kind]++
	}
	findings := s.gauge("ibsm_cabling_differences",
		"Differences between the cables and their plan, by kind; an exchange of two cables counts once.", "kind")
	for kind := range cabling.Kinds() {
		findings(float64(kinds[kind.String()]), kind.String())
	}
}

// sink takes the metrics of one scrape.
type sink chan<- prometheus.Metric

// counter begins a family with labels of these names, and returns what sends its samples.
func (s sink) counter(name, help string, labels ...string) func(n uint64, values ...string) {
	d := prometheus.NewDesc(name, help, labels, nil)
	return func(n uint64, values ...string) {
		s.send(d)(prometheus.NewConstMetric(d, prometheus.CounterValue, float64(n), values...))
	}
}

// gauge is the same for gauges.
func (s sink) gauge(name, help string, labels ...string) func(v float64, values ...string) {
	d := prometheus.NewDesc(name, help, labels, nil)
	return func(v float64, values ...string) {
		s.send(d)(prometheus.NewConstMetric(d, prometheus.GaugeValue, v, values...))
	}
}

// histogram is the same for histograms. Counts are those of values up to each bound but
// above the one before; there is one more, of values above all.
func (s sink) histogram(name, help string, labels ...string) func(bounds []time.Duration, counts []uint64,
	sum time.Duration, values ...string) {
	d := prometheus.NewDesc(name, help, labels, nil)
	return func(bounds []time.Duration, counts []uint64, sum time.Duration, values ...string) {
		buckets, total := make(map[float64]uint64, len(bounds)), uint64(0)
		for i, n := range counts {
			total += n
			if i < len(bounds) {
				buckets[bounds[i].Seconds()] = total
			}
		}
		s.send(d)(prometheus.NewConstHistogram(d, total, sum.Seconds(), buckets, values...))
	}
}

// send sends a metric, or that it cannot be made, which the registry reports.
func (s sink) send(d *prometheus.Desc) func(prometheus.Metric, error) {
	return func(m prometheus.Metric, err error) {
		if err != nil {
			m = prometheus.NewInvalidMetric(d, err)
		}
		s <- m
	}
}

func truth(is bool) float64 {
	if is {
		return 1
	}
	return 0
}

// manager sends what the manager has done.
func (s sink) manager(st *manager.Stats) {
	s.counter("ibsm_mastership_total", "Number of times the manager has become master.")(st.Terms)
	sweeps := s.counter("ibsm_sweeps_total",
		"Sweeps started, by kind: light; quick, a heavy sweep that reads only switches that report changes; heavy; plan, a preview.", "kind")
	for kind, n := range st.Sweeps {
		sweeps(n, manager.SweepKind(kind).String())
	}
	phases := s.histogram("ibsm_sweep_phase_seconds", "Duration of the phases of sweeps.", "phase")
	for phase, t := range st.ByPhase() {
		phases(manager.PhaseBounds[:], t.Buckets[:], t.Sum, phase.String())
	}
	traps := s.counter("ibsm_traps_total",
		"Traps received as master, by number; vendor for vendor-specific traps, other for the rest.", "trap")
	for number, n := range st.Traps() {
		traps(n, server.TrapLabel(number))
	}
	alarms := s.counter("ibsm_alarms_total",
		"Forbidden packets from ports that may not send them, by kind; ibsmctl status names the ports.", "kind")
	for kind, n := range st.AlarmCounts() {
		alarms(n, kind.String())
	}
	s.badKeys(st.Offenders())
	s.gauge("ibsm_standbys", "Other managers in state STANDBY that could take over, as seen by the master.")(
		float64(st.Standbys()))
	s.gauge("ibsm_standby_expected",
		"1 if another manager has been seen since the start of this one, or allowed_sm_guids lists another port.")(
		truth(st.AwaitsStandby))
}

// badKeys sends which ports have sent packets with wrong keys.
func (s sink) badKeys(offenders iter.Seq[manager.Offender]) {
	keys := s.counter("ibsm_bad_keys_total",
		"Traps 256 to 259 about wrong M_Keys, P_Keys and Q_Keys, by the port that sent the packet; 32 ports have their own label, all others share the label other.", "trap", "port_guid")
	for o := range offenders {
		port := "other"
		if o.Port != 0 {
			port = o.Port.String()
		}
		keys(o.Count, strconv.Itoa(int(o.Trap)), port)
	}
}

// smps sends what became of the manager's requests.
func (s sink) smps(st *manager.Stats) {
	t := &st.Txn
	requests := s.counter("ibsm_smp_requests_total", "Completed requests, by result.", "result")
	requests(t.Replied, "replied")
	requests(t.TimedOut, "timed_out")
	requests(t.Cancelled, "cancelled")
	s.counter("ibsm_smp_sent_total", "Packets sent for requests.")(t.Sent)
	s.counter("ibsm_smp_retries_total", "Packets sent again for requests: all but the first of each request.")(
		t.Retries)
	s.counter("ibsm_smp_timeouts_total", "Packets sent for requests that got no response in time.")(t.Expired)
	dropped := s.counter("ibsm_smp_dropped_total",
		"Received packets that were dropped, by reason: queue_full if the manager had too many to process; all other reasons: no outstanding request matches.", "reason")
	dropped(t.Duplicates, "duplicate")
	dropped(t.Late, "late")
	dropped(t.Stale, "stale")
	dropped(t.Unmatched, "unknown")
	dropped(t.Mismatched, "mismatched")
	dropped(st.QueueFull, "queue_full")
	s.gauge("ibsm_smp_window", "Present limit of requests on the wire at a time.")(float64(t.Window))
	s.gauge("ibsm_smp_on_wire", "Requests that wait for a response, except the ones that have waited too long.")(
		float64(t.OnWire))
	s.gauge("ibsm_smp_overdue",
		"Requests that have waited for a response for more than 10 ms, or more than four round trips if that is longer; they are not counted in the window.")(float64(t.Overdue))
	s.gauge("ibsm_smp_waiting", "Requests that wait for other requests to the same device.")(float64(t.Parked))
	s.gauge("ibsm_smp_path_limited", "1 while the window is 4, because switches seem to forward SMPs in software.")(
		truth(t.PathLimited))
}

// held sends how many requests the host's kernel has.
func (s sink) held(counts func() (qp0, qp1 int)) {
	if counts == nil {
		return
	}
	held := s.gauge("ibsm_kernel_requests",
		"Requests that the host's kernel has not returned, by queue pair. Each attempt counts until it is answered or all attempts have timed out.", "qp")
	qp0, qp1 := counts()
	held(float64(qp0), "0")
	held(float64(qp1), "1")
}

// congestionControl sends what devices hold of its settings.
func (s sink) congestionControl(st *congestioncontrol.State) {
	counts := map[ctl.CongestionState]int{}
	for i := range st.Devices {
		counts[server.CongestionStateOf(st.Devices[i].Standing)]++
	}
	devices := s.gauge("ibsm_congestion_control_devices",
		"Devices that get congestion control settings, by state: set, writing, refuses (rejects a value), no_answer, no_class (does not support the class).", "state")
	for _, state := range ctl.CongestionStates() {
		devices(float64(counts[state]), string(state))
	}
	s.counter("ibsm_congestion_control_requests_total", "Requests of congestion control.")(st.Sent)
}

// counters sends where the performance manager stands, and what infiniband_exporter says of its collectors.
func (s sink) counters(st *ctl.CounterStatus) {
	s.gauge("ibsm_counters_enabled", "1 if the performance manager reads counters.")(truth(st.Enabled))
	if st.Sweeps == 0 {
		return
	}
	s.gauge("ibsm_counters_age_seconds",
		"Age of the counters shown: seconds since the end of the last sweep over all ports.")(st.Age)
	s.gauge("ibsm_counters_sweep_seconds", "Duration of the last sweep over the counters.")(st.Took)
	ports := s.gauge("ibsm_counters_ports", "Ports whose counters are read, by whether the last sweep read them.",
		"result")
	ports(float64(st.Answered), "read")
	ports(float64(max(0, st.Ports-st.Answered)), "not_read")
	s.gauge("ibsm_counters_history_bytes", "Memory used by the readings of the last hour.")(float64(st.Bytes))
	s.counter("ibsm_counters_sweeps_total", "Sweeps over the counters of all ports.")(st.Sweeps)
	s.counter("ibsm_counters_late_sweeps_total",
		"Sweeps over the counters that began late because the previous one had not ended.")(st.Late)
	s.counter("ibsm_counters_requests_total", "Requests for counters.")(st.Asked)
	s.counter("ibsm_counters_unanswered_total", "Requests for counters without an answer.")(st.Unanswered)
	s.counter("ibsm_counters_resets_total", "Resets of nearly full 32-bit counters by this manager.")(st.Resets)
	s.counter("ibsm_counters_findings_total",
		"Abnormal readings: no answer, a reset by another program, a reboot, or a value that contradicts the previous one.")(st.Findings)
	const collector = "counters"
	s.gauge("infiniband_exporter_collector_duration_seconds",
		"Duration of the last sweep over the counters, under infiniband_exporter's name.", "collector")(st.Took,
		collector)
	s.counter("infiniband_exporter_collect_errors_total", "Abnormal readings, under infiniband_exporter's name.",
		"collector")(st.Findings, collector)
	s.counter("infiniband_exporter_collect_timeouts_total",
		"Requests for counters without an answer, under infiniband_exporter's name.", "collector")(st.Unanswered,
		collector)
	s.gauge("infiniband_exporter_last_execution",
		"End of the last sweep over the counters, in seconds since the epoch, under infiniband_exporter's name.",
		"collector")(float64(time.Now().UnixMilli())/1000-st.Age, collector)
}

// lastSweep sends how the last heavy sweep as master ended.
func (s sink) lastSweep(st *ctl.SweepStatus) {
	s.gauge("ibsm_last_sweep_end_timestamp_seconds", "End of the last heavy sweep as master, since the epoch.")(
		float64(st.Ended.UnixMilli()) / 1000)
	s.gauge("ibsm_last_sweep_seconds", "Duration of the last heavy sweep.")(st.Seconds)
	s.gauge("ibsm_last_sweep_up", "1 when the last heavy sweep left the subnet up.")(truth(st.Up))
	s.gauge("ibsm_last_sweep_failed_sets", "Sets that failed in the last heavy sweep.")(float64(st.Failures))
	s.gauge("ibsm_last_sweep_cut_pairs", "Pairs of switch and LID that no path of cables connects.")(float64(st.Cut))
	s.gauge("ibsm_last_sweep_lost_routes", "Pairs of switch and LID that cables connect but no route does.")(
		float64(st.Lost))
	s.gauge("ibsm_last_sweep_forbidden_routes",
		"Pairs of switch and LID for which the routing engine permits no route, such as two root switches with updn; no host needs them.")(float64(st.Forbidden))
	s.gauge("ibsm_last_sweep_longest_route_links", "Number of links of the longest route.")(float64(st.Longest))
	s.gauge("ibsm_last_sweep_credit_loop_links", "Number of links in a credit loop of the routes; 0 if there is none.")(
		float64(st.CreditLoop))
}

// subnet sends the subnet in figures.
func (s sink) subnet(st *ctl.SubnetStatus) {
	nodes := s.gauge("ibsm_nodes", "Nodes of the subnet, by type.", "type")
	nodes(float64(st.Switches), "switch")
	nodes(float64(st.CAs), "CA")
	nodes(float64(st.Routers), "router")
	s.gauge("ibsm_nodes_missing", "Nodes of the subnet that do not answer, but still keep their routes.")(
		float64(st.Missing))
	ports := s.gauge("ibsm_ports", "Physical ports, by state.", "state")
	for state := smp.PortDown; state <= smp.PortActiveDefer; state++ {
		ports(float64(st.Ports[state.String()]), state.String())
	}
	vPorts := s.gauge("ibsm_vports", "vPorts, those of virtual functions, by state.", "state")
	for state := smp.PortDown; state <= smp.PortActive; state++ {
		vPorts(float64(st.VPorts[state.String()]), state.String())
	}
	findings := s.gauge("ibsm_findings",
		"Problems found by the last heavy sweep, by kind, as in ibsmctl why: docs/messages.md explains them.", "kind")
	for _, name := range finding.Names() {
		findings(float64(st.Findings[name]), name)
	}
	s.gauge("ibsm_links", "Cables.")(float64(st.Links))
	s.gauge("ibsm_lids", "LIDs in use.")(float64(st.LIDs))
	s.gauge("ibsm_subnet_generation",
		"Generation of the subnet on which SA responses are based; it increases with each change.")(
		float64(st.Generation))
}

// registered sends how much clients have registered.
func (s sink) registered(n registry.Counts) {
	s.gauge("ibsm_sa_groups", "Multicast groups.")(float64(n.Groups))
	s.gauge("ibsm_sa_members", "Memberships of ports in multicast groups.")(float64(n.Members))
	s.gauge("ibsm_sa_services", "Registered services.")(float64(n.Services))
	s.gauge("ibsm_sa_subscriptions", "Subscriptions to events.")(float64(n.Subscriptions))
	s.gauge("ibsm_sa_aliases", "Alias GUIDs of ports.")(float64(n.Aliases))
	s.gauge("ibsm_sa_grh_ports", "Ports that require a GRH in every packet.")(float64(n.GRHPorts))
}

// console sends what became of the console's clients.
func (s sink) console(c *console.Counters) {
	s.gauge("ibsm_console_connections", "Clients connected to OpenSM's console.")(float64(c.Open.Load()))
	clients := s.counter("ibsm_console_clients_total",
		"Clients of OpenSM's console, by result: taken (accepted), refused (too many clients), cut (disconnected because idle or slow).", "result")
	clients(c.Accepted.Load(), "taken")
	clients(c.Refused(), "refused")
	clients(c.Cut.Load(), "cut")
	lines := s.counter("ibsm_console_lines_total", "Command lines of OpenSM's console, by result: read, too_long.",
		"result")
	lines(c.Lines.Load(), "read")
	lines(c.TooLong.Load(), "too_long")
}

// control sends what the control server has done.
func (s sink) control(st *ctl.Stats) {
	accepted := s.counter("ibsm_ctl_connections_total",
		"Connections accepted, by listener: control (the control socket), metrics (metrics_addr) or leader (leader_addr).",
		"listener")
	refused := s.counter("ibsm_ctl_connections_refused_total",
		"Connections refused, by listener and by the limit that they reached: total (64) or peer (32 of one address or user).",
		"listener", "limit")
	for listener, c := range map[string]*connlimit.Counters{"control": &st.Control, "metrics": &st.Metrics,
		"leader": &st.Leader} {
		accepted(c.Accepted.Load(), listener)
		refused(c.Full.Load(), listener, "total")
		refused(c.Crowded.Load(), listener, "peer")
	}
	s.counter("ibsm_ctl_requests_total", "Requests on the control socket, for metrics and over the API.")(st.Requests.Load())
	s.counter("ibsm_ctl_errors_total", "Requests answered with an error.")(st.Errors.Load())
	s.counter("ibsm_ctl_replies_cut_total", "Replies that the client did not read completely.")(st.Cut.Load())
	s.gauge("ibsm_ctl_requests_waiting",
		"Queued requests for plans, previews of partition files and other long tasks.")(float64(st.Waiting.Load()))
	s.counter("ibsm_ctl_requests_refused_total",
		"Requests for plans and other long tasks that were rejected, because 16 of the same kind were queued.")(
		st.NoRoom.Load())
}

// links are sick links, by what is done about them, and those that are out of use.
func (s sink) links(control *server.Server) {
	found, excluded := control.LinkCounts()
	count := s.gauge("ibsm_sick_links", "Sick links found by the rules, by action: report, avoid or disable.", "action")
	for action, n := range found {
		count(float64(n), sick.Action(action).String())
	}
	s.gauge("ibsm_links_out_of_use",
		"Links out of use, because they are sick or were isolated with ibsmctl links isolate.")(float64(excluded))
}
