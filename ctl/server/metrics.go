package server

import (
	"strconv"

	"ibsm/ctl"
	"ibsm/mad/rmpp"
	"ibsm/mad/smp"
	"ibsm/manager"
	"ibsm/sa"
)

// Metrics writes what is known: of the manager under names of its own, of ports under
// those of ports.go.
func (d *Desk) Metrics(m *ctl.Metrics) {
	m.Family("ibsm_info", ctl.Gauge, "The program that runs.")
	m.Sample(1, "version", d.cfg.Version, "engine", d.cfg.Engine)
	m.Family("ibsm_start_timestamp_seconds", ctl.Gauge, "When it was started.")
	m.Sample(float64(d.started.UnixMilli()) / 1000)
	shell := d.shell.Load()
	state := smp.SMState(0)
	if shell != nil {
		st := shell.Stats()
		state = st.State
		manage(m, &st)
		smps(m, &st)
		answers(m, shell.SAStats())
		transfers(m, shell.SATransfers())
		registrations(m, shell.SARegistrations())
	}
	m.Family("ibsm_state", ctl.Gauge, "1 for the state that the subnet manager is in, 0 for the others; NOT-ACTIVE also while it has no port.")
	for s := smp.NotActive; s <= smp.Master; s++ {
		m.Sample(truth(s == state), "state", s.String())
	}
	d.lastSweep(m)
	if d.cfg.Console != nil {
		consoleMetrics(m, d.cfg.Console)
	}
	if s := d.subnet(); s != nil {
		s.metrics(m)
		s.portMetrics(m)
		registeredMetrics(m, s.registered)
	}
}

func truth(is bool) float64 {
	if is {
		return 1
	}
	return 0
}

// manage writes what the manager did.
func manage(m *ctl.Metrics, st *manager.Stats) {
	m.Family("ibsm_reigns_total", ctl.Counter, "How often the manager has become master.")
	m.Uint(st.Reign)
	m.Family("ibsm_sweeps_total", ctl.Counter, "Sweeps begun, by kind: light, quick (heavy, but only where ports have changed), heavy, plan (for show).")
	for kind, n := range st.Sweeps {
		m.Uint(n, "kind", manager.SweepKind(kind).String())
	}
	m.Family("ibsm_sweep_phase_seconds", ctl.Histogram, "How long the phases of sweeps take.")
	for phase, t := range st.ByPhase() {
		m.Histogram(manager.PhaseBounds[:], t.Buckets[:], t.Sum, "phase", phase.String())
	}
	m.Family("ibsm_traps_total", ctl.Counter, "Traps taken as master, by number; other, and vendor for those that are a vendor's.")
	for number, n := range st.Traps() {
		m.Uint(n, "trap", trapLabel(number))
	}
	m.Family("ibsm_bad_keys_total", ctl.Counter, "Traps 257 to 259, of wrong P_Keys and Q_Keys, by the port that sent the packet; 32 ports are told apart.")
	for o := range st.Offenders() {
		port := "other"
		if o.Port != 0 {
			port = o.Port.String()
		}
		m.Uint(o.Count, "trap", strconv.Itoa(int(o.Trap)), "port_guid", port)
	}
}

// smps writes how the requests of the manager fared.
func smps(m *ctl.Metrics, st *manager.Stats) {
	t := &st.Txn
	m.Family("ibsm_smp_requests_total", ctl.Counter, "Requests that have ended, by result.")
	m.Uint(t.Replied, "result", "replied")
	m.Uint(t.TimedOut, "result", "timed_out")
	m.Uint(t.Cancelled, "result", "cancelled")
	m.Family("ibsm_smp_sent_total", ctl.Counter, "Packets sent for requests.")
	m.Uint(t.Sent)
	m.Family("ibsm_smp_retries_total", ctl.Counter, "Packets among them that were not the first of their request.")
	m.Uint(t.Retries)
	m.Family("ibsm_smp_timeouts_total", ctl.Counter, "Packets that had no answer in time.")
	m.Uint(t.Expired)
	m.Family("ibsm_smp_dropped_total", ctl.Counter, "Packets received that answer nothing that is outstanding, by reason.")
	m.Uint(t.Duplicates, "reason", "duplicate")
	m.Uint(t.Late, "reason", "late")
	m.Uint(t.Stale, "reason", "stale")
	m.Uint(t.Strangers, "reason", "stranger")
	m.Uint(t.Mismatched, "reason", "mismatched")
	m.Family("ibsm_smp_window", ctl.Gauge, "Requests that may be on the wire at a time.")
	m.Sample(float64(t.Window))
	m.Family("ibsm_smp_on_wire", ctl.Gauge, "Requests that wait for an answer.")
	m.Sample(float64(t.OnWire))
}

// answers writes what the SA answered. Pairs that have not occurred are left out.
func answers(m *ctl.Metrics, st *sa.Stats) {
	m.Family("ibsm_sa_replies_total", ctl.Counter, "Answers of subnet administration, by attribute and status.")
	for kind, n := range st.Replies() {
		if n == 0 {
			continue
		}
		m.Uint(n, "attribute", attrLabel(kind.Attr), "status", kind.Status.String())
	}
	m.Family("ibsm_sa_dropped_total", ctl.Counter, "Datagrams to subnet administration without an answer, by reason.")
	for reason, n := range st.Drops() {
		m.Uint(n, "reason", reason.String())
	}
	m.Family("ibsm_sa_answer_seconds", ctl.Histogram, "How long answers take from when the request was received: get, until one is sent; table, until it is made; register, until what is registered is on disk and in the switches.")
	for way, times := range st.Times() {
		m.Histogram(sa.TimeBounds[:], times.Counts[:], times.Sum, "way", way.String())
	}
}

// transfers writes what became of the SA's messages that take many packets. Ways to
// fail that have not occurred are left out.
func transfers(m *ctl.Metrics, st rmpp.Stats) {
	m.Family("ibsm_sa_transfers_total", ctl.Counter, "Messages by RMPP, tables for the most part, by how they ended.")
	m.Uint(st.Sent+st.Received, "end", rmpp.StatusNormal.String())
	for s, n := range st.Failed {
		if n > 0 {
			m.Uint(n, "end", rmpp.Status(s).String())
		}
	}
	m.Family("ibsm_sa_transfers_refused_total", ctl.Counter, "Messages by RMPP that were not begun, by the limit that was reached: all, client, bytes, size.")
	m.Uint(st.OverCount, "limit", "all")
	m.Uint(st.OverPeer, "limit", "client")
	m.Uint(st.OverBytes, "limit", "bytes")
	m.Uint(st.TooBig, "limit", "size")
	m.Family("ibsm_sa_strays_total", ctl.Counter, "Packets of messages by RMPP that are not known.")
	m.Uint(st.Strays)
	m.Family("ibsm_sa_transfers_under_way", ctl.Gauge, "Messages by RMPP that have not ended.")
	m.Sample(float64(st.UnderWay))
	m.Family("ibsm_sa_transfers_repeated_total", ctl.Counter, "Times that packets of a message were sent again, because the client did not confirm them.")
	m.Uint(st.Repeated)
	m.Family("ibsm_sa_segments_sent_total", ctl.Counter, "Packets of messages by RMPP that were sent, repeated ones included.")
	m.Uint(st.SegmentsSent)
}

// registrations writes what happened to what clients register, and to the events that
// they are told of.
func registrations(m *ctl.Metrics, st sa.RegistrarStats) {
	m.Family("ibsm_sa_registrations_full_total", ctl.Counter, "Requests to register that were refused because a limit was reached.")
	m.Uint(st.Full)
	m.Family("ibsm_sa_registrations_ended_total", ctl.Counter, "Services whose lease ended (lease); ports whose registrations were dropped since they were found in INIT (reset) or absent too long (absent).")
	m.Uint(st.Expired, "reason", "lease")
	m.Uint(st.Reset, "reason", "reset")
	m.Uint(st.Absent, "reason", "absent")
	m.Family("ibsm_sa_replies_late_total", ctl.Counter, "Replies that left before their change was on disk and in the switches' tables.")
	m.Uint(st.Late)
	m.Family("ibsm_sa_guids_unwritten_total", ctl.Counter, "Replies about GUIDs that a port did not take.")
	m.Uint(st.Unwritten)
	m.Family("ibsm_sa_defects_total", ctl.Counter, "Changes that contradict what is registered: a defect of this program.")
	m.Uint(st.Refused)
	m.Family("ibsm_sa_notices_total", ctl.Counter, "Events that subscribers may want to know of, and those dropped for want of room.")
	m.Uint(st.Notices, "result", "taken")
	m.Uint(st.NoticesDropped, "result", "dropped")
	m.Family("ibsm_sa_reports_total", ctl.Counter, "Reports to subscribers: sent, each counted once; dropped for want of room; unanswered among those sent, and those behind them.")
	m.Uint(st.Reports, "result", "sent")
	m.Uint(st.ReportsDropped, "result", "dropped")
	m.Uint(st.Unanswered, "result", "unanswered")
	m.Family("ibsm_sa_waiting", ctl.Gauge, "Replies that wait for the disk and the switches, and Reports that wait for their turn.")
	m.Sample(float64(st.Pending), "what", "replies")
	m.Sample(float64(st.Waiting), "what", "reports")
}

// lastSweep writes how the last heavy sweep as master ended.
func (d *Desk) lastSweep(m *ctl.Metrics) {
	d.mu.Lock()
	s := d.sweep
	d.mu.Unlock()
	if s == nil {
		return
	}
	for _, g := range []struct {
		name, help string
		value      float64
	}{
		{"ibsm_last_sweep_end_timestamp_seconds", "When the last heavy sweep ended.", float64(s.Ended.UnixMilli()) / 1000},
		{"ibsm_last_sweep_seconds", "How long it took.", s.Seconds},
		{"ibsm_last_sweep_up", "1 when it left the subnet up.", truth(s.Up)},
		{"ibsm_last_sweep_failed_sets", "Sets that failed in it.", float64(s.Failures)},
		{"ibsm_last_sweep_cut_pairs", "Pairs of switch and LID without cables between.", float64(s.Cut)},
		{"ibsm_last_sweep_lost_routes", "Routes that do not arrive although cables lead there.", float64(s.Lost)},
		{"ibsm_last_sweep_longest_route_links", "Links of the longest route.", float64(s.Longest)},
	} {
		m.Family(g.name, ctl.Gauge, g.help)
		m.Sample(g.value)
	}
}

// metrics writes the subnet in figures.
func (s *subnet) metrics(m *ctl.Metrics) {
	st := s.status
	m.Family("ibsm_nodes", ctl.Gauge, "Nodes of the subnet, by type.")
	m.Sample(float64(st.Switches), "type", "switch")
	m.Sample(float64(st.CAs), "type", "CA")
	m.Sample(float64(st.Routers), "type", "router")
	m.Family("ibsm_nodes_missing", ctl.Gauge, "Nodes among them that do not answer, but keep their routes for a while.")
	m.Sample(float64(st.Missing))
	m.Family("ibsm_ports", ctl.Gauge, "Physical ports, by state.")
	for _, state := range states[1:] {
		m.Sample(float64(st.Ports[state]), "state", state)
	}
	m.Family("ibsm_links", ctl.Gauge, "Cables.")
	m.Sample(float64(st.Links))
	m.Family("ibsm_lids", ctl.Gauge, "LIDs in use.")
	m.Sample(float64(st.LIDs))
	m.Family("ibsm_subnet_generation", ctl.Gauge, "Raised with each change of what the SA answers from.")
	m.Sample(float64(st.Generation))
}
