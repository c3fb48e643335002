package sa

// RegistrarStats counts what a Registrar did besides answering, and holds what there
// is now.
type RegistrarStats struct {
	Late      uint64 // replies that left before their change was on disk and in the tables
	Refused   uint64 // changes that the registry did not take: a defect
	Expired   uint64 // services whose leases ended
	Reset     uint64 // ports whose registrations ended because they were found in INIT
	Absent    uint64 // ports that were absent too long
	Full      uint64 // requests refused because a limit was reached
	MLIDShare uint64 // new groups whose creator had as many MLIDs as were free
	Unwritten uint64 // replies about GUIDs that a port did not take

	Notices        uint64 // that subscribers may want to know of
	NoticesDropped uint64 // for want of room
	Reports        uint64 // sent, each counted once
	ReportsDropped uint64 // for want of room
	Unanswered     uint64 // Reports that the subscriber did not answer, and those behind them

	Joined     uint64 // times that partitions of callers were joined with those of another manager
	Unmirrored uint64 // orders about partitions that no standby has acknowledged in time

	Pending int // replies that wait
	Waiting int // Reports that wait
}

// Stats is a copy of the counters.
func (r *Registrar) Stats() RegistrarStats {
	st := r.count
	st.Pending, st.Waiting = len(r.pending.asked), r.reports.waiting
	return st
}
