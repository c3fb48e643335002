package txn

// Stats counts what a Table has done since New, and shows where it stands.
type Stats struct {
	Requests  uint64 // submitted
	Refused   uint64 // by Submit: no slot left
	Sent      uint64 // packets, retries included
	Retries   uint64 // packets that were not the first of their request
	Replied   uint64 // requests that ended with a reply
	TimedOut  uint64 // or out of time
	Cancelled uint64

	Expired uint64 // attempts without a reply in time, bounces included
	Bounced uint64 // attempts that the port gave up
	Busy    uint64 // replies that asked for another attempt
	Slow    uint64 // replies to an attempt before the last; Replied counts them too

	// Datagrams that Match dropped.
	Duplicates uint64 // of a request that already had a reply
	Late       uint64 // of a request that was given up or cancelled
	Stale      uint64 // of a request long gone
	Unmatched  uint64 // no transaction of this table, or not a reply
	Mismatched uint64 // our transaction, but another class, attribute, modifier, method or path

	Cuts   uint64 // how often the window was halved
	Window int    // now
	OnWire int    // requests that count in the window now
	// Overdue is how many wait for a reply for longer than patience.
	Overdue int
	Parked  int // requests that wait for their device now
	// PathLimited says that the window is only pathWindow, as switches may pass SMPs on in
	// their agents.
	PathLimited bool
}
