package metrics

import (
	"iter"

	"ibsm/ctl/server"
	"ibsm/mad/gsi"
	"ibsm/mad/rmpp"
	"ibsm/sa"
)

// answers sends what the SA answered.
func (s sink) answers(st *sa.Stats) {
	s.replies(st.Replies())
	dropped := s.counter("ibsm_sa_dropped_total", "Datagrams to subnet administration without a response, by reason.",
		"reason")
	for reason, n := range st.Drops() {
		dropped(n, reason.String())
	}
	s.counter("ibsm_sa_refused_joins_unlisted_total",
		"Rejected joins that ibsmctl why and groups do not list, because one port, or all ports together, had too many within a minute.")(st.Refusals.Missed())
	times := s.histogram("ibsm_sa_answer_seconds",
		"Response time from the receipt of a request: get, until the response is sent; table, until the response is complete; register, until the change is on disk and in the switches.", "way")
	for way, t := range st.Times() {
		times(sa.TimeBounds[:], t.Counts[:], t.Sum, way.String())
	}
}

// replies sends the SA's responses. Pairs that have not occurred are left out.
func (s sink) replies(counts iter.Seq2[sa.Kind, uint64]) {
	replies := s.counter("ibsm_sa_replies_total", "Responses of subnet administration, by attribute and status.",
		"attribute", "status")
	for kind, n := range counts {
		if n > 0 {
			replies(n, server.AttrLabel(kind.Attr), kind.Status.String())
		}
	}
}

// packets sends what came in on QP1.
func (s sink) packets(counts [gsi.NumKinds]gsi.Count) {
	received := s.counter("ibsm_gsi_received_total", "Packets received on QP1, by kind.", "kind")
	dropped := s.counter("ibsm_gsi_dropped_total",
		"Packets received on QP1 that were dropped because the queue was full or no service uses them, by kind.",
		"kind")
	for kind := gsi.SARequest; kind < gsi.NumKinds; kind++ {
		received(counts[kind].Received, kind.String())
		dropped(counts[kind].Dropped, kind.String())
	}
}

// transfers sends what became of the SA's messages by RMPP. Ways to fail that have not
// occurred are left out.
func (s sink) transfers(st rmpp.Stats) {
	transfers := s.counter("ibsm_sa_transfers_total", "Multi-packet (RMPP) responses, mostly tables, by result.", "end")
	transfers(st.Sent+st.Received, rmpp.StatusNormal.String())
	for status, n := range st.Failed {
		if n > 0 {
			transfers(n, rmpp.Status(status).String())
		}
	}
	limit := s.counter("ibsm_sa_transfers_refused_total",
		"Multi-packet (RMPP) responses that were rejected, by the limit that was reached: all, client, bytes, size.",
		"limit")
	limit(st.OverCount, "all")
	limit(st.OverPeer, "client")
	limit(st.OverBytes, "bytes")
	limit(st.TooBig, "size")
	s.counter("ibsm_sa_segments_unmatched_total", "RMPP packets received that belong to no response in progress.")(
		st.Unmatched)
	s.gauge("ibsm_sa_transfers_under_way", "Multi-packet (RMPP) responses in progress.")(float64(st.UnderWay))
	s.counter("ibsm_sa_transfers_repeated_total",
		"Number of times packets of an RMPP response were sent again, because the client did not acknowledge them.")(
		st.Repeated)
	s.counter("ibsm_sa_segments_sent_total", "Packets of RMPP responses sent, including repeated ones.")(
		st.SegmentsSent)
}

// registrations sends what happened to what clients register, and to the events that they
// subscribe to.
func (s sink) registrations(st sa.RegistrarStats) {
	s.counter("ibsm_sa_registrations_full_total", "Registrations rejected because a limit was reached.")(st.Full)
	s.counter("ibsm_sa_mlid_share_reached_total",
		"New multicast groups from ports that had reached their share of MLIDs.")(st.MLIDShare)
	ended := s.counter("ibsm_sa_registrations_ended_total",
		"Removed registrations: services whose lease expired (lease); ports that were found in INIT (reset) or were absent too long (absent).", "reason")
	ended(st.Expired, "lease")
	ended(st.Reset, "reset")
	ended(st.Absent, "absent")
	s.counter("ibsm_sa_replies_late_total",
		"Responses sent before their change was on disk and in the switches' tables.")(st.Late)
	s.counter("ibsm_partitions_unmirrored_total",
		"Changes of partitions by programs that no standby acknowledged within two seconds, or that were refused for lack of a standby.")(
		st.Unmirrored)
	s.counter("ibsm_sa_guids_unwritten_total", "Responses about alias GUIDs that the port did not accept.")(
		st.Unwritten)
	s.counter("ibsm_sa_defects_total", "Changes that contradict the registry: a bug in ibsm.")(st.Refused)
	notices := s.counter("ibsm_sa_notices_total",
		"Events for subscribers: taken (queued), or dropped because a queue was full.", "result")
	notices(st.Notices, "taken")
	notices(st.NoticesDropped, "dropped")
	reports := s.counter("ibsm_sa_reports_total",
		"Reports to subscribers: sent, each counted once; dropped because a queue was full; unanswered, which also counts Reports queued behind an unanswered one.", "result")
	reports(st.Reports, "sent")
	reports(st.ReportsDropped, "dropped")
	reports(st.Unanswered, "unanswered")
	waiting := s.gauge("ibsm_sa_waiting",
		"Replies that wait for the disk and the switches, and Reports that wait to be sent.", "what")
	waiting(float64(st.Pending), "replies")
	waiting(float64(st.Waiting), "reports")
}

// mirrored sends what a master has sent to standbys, and what a standby has received.
func (s sink) mirrored(st sa.MirrorStats) {
	s.gauge("ibsm_mirror_standbys", "Standbys to which the master sends its registrations.")(
		float64(st.Source.Standbys))
	answers := s.counter("ibsm_mirror_answers_total",
		"Mirror answers from a master to a standby, sent or received, with all registrations or only changes.",
		"result", "content")
	answers(st.Source.Whole, "sent", "all")
	answers(st.Source.Answers-st.Source.Whole, "sent", "changes")
	answers(st.Follower.Whole, "received", "all")
	answers(st.Follower.Answers-st.Follower.Whole, "received", "changes")
	s.counter("ibsm_mirror_unacknowledged_total", "Answers to standbys that were not acknowledged.")(st.Source.Failed)
	dropped := s.counter("ibsm_mirror_dropped_total",
		"Mirror requests and answers that were dropped, by role of this manager and reason: untrusted (wrong keys, unknown sender or old packet), version (different version), limit (a limit was reached), settings (settings too long to send), invalid.", "role", "reason")
	dropped(st.Source.Untrusted, "master", "untrusted")
	dropped(st.Source.Foreign, "master", "version")
	dropped(st.Source.Full, "master", "limit")
	dropped(st.Source.TooLong, "master", "settings")
	dropped(st.Follower.Untrusted, "standby", "untrusted")
	dropped(st.Follower.Garbage, "standby", "invalid")
}
