package metrics

import "ibsm/ctl"

// api sends what the API's listener has done.
func (s sink) api(c *ctl.APICounts) {
	s.gauge("ibsm_api_connections_open", "Connections of the API's clients.")(float64(c.Open))
	s.counter("ibsm_api_connections_total", "Connections of the API's clients that were accepted.")(c.Accepted)
	refused := s.counter("ibsm_api_connections_refused_total",
		"Connections refused by the API, by the limit that they reached: total (1024) or peer (512 of one address).", "limit")
	refused(c.RefusedTotal, "total")
	refused(c.RefusedPeer, "peer")
	s.counter("ibsm_api_connections_yielded_total",
		"Connections that had no request of a user and were closed in place of new ones, beyond the same limits.")(c.Yielded)
	requests := s.counter("ibsm_api_requests_total",
		"Requests over the API, by family (v1, ufm, other) and class of the status (2xx to 5xx).", "family", "status")
	for _, r := range c.Requests {
		requests(r.Count, r.Family, r.Class)
	}
	denied := s.counter("ibsm_api_requests_refused_total",
		"Requests over the API that were refused, by reason: full (256 others at a time), user (1000 a second or 128 at a time of one user), site (sent for a page of another site).",
		"reason")
	denied(c.Full, "full")
	denied(c.Limited, "user")
	denied(c.Foreign, "site")
	credentials := s.counter("ibsm_api_authentications_total",
		"Credentials of requests over the API, by result: right, wrong, busy (too many passwords waited for their check).",
		"result")
	credentials(c.Right, "right")
	credentials(c.Wrong, "wrong")
	credentials(c.Busy, "busy")
	s.counter("ibsm_api_password_checks_total",
		"Passwords that were hashed with argon2id; right and wrong ones are then known for a while.")(c.Checks)
	evicted := s.counter("ibsm_api_known_passwords_evicted_total",
		"Entries that left full tables of 4096, by table: right and wrong passwords, networks with wrong passwords.", "table")
	evicted(c.RightEvicted, "right")
	evicted(c.WrongEvicted, "wrong")
	evicted(c.NetworksEvicted, "networks")
	s.counter("ibsm_api_refusals_unlisted_total",
		"Refused credentials that are not in the audit, because there were more than five a second.")(c.Unlisted)
}
