package ctl

import (
	"fmt"
	"net/http"
	"slices"
)

// API is the state of the API's listener.
type API struct {
	URL string `json:"url"`
	// Fingerprint is the SHA-256 of the certificate in force; "" without TLS.
	Fingerprint string `json:"fingerprint,omitempty"`
	// Own says that the certificate signs itself, and was made by the manager.
	Own bool `json:"own_certificate"`
}

// APICounts are numbers of the API's listener since the start.
type APICounts struct {
	Open                                int64  // connections now
	Accepted, RefusedTotal, RefusedPeer uint64 // connections; refused by the limit of all, or of one address
	Yielded                             uint64 // connections without a user that were closed in place of new ones
	Requests                            []APIRequests
	// Full requests found too many others, Limited ones were beyond the limit of their user, and Foreign ones came from
	// pages of other sites: all were refused.
	Full, Limited, Foreign uint64
	// Right credentials are those of users, Wrong ones of no user; a Busy one was not checked, as too many waited.
	Right, Wrong, Busy uint64
	Checks             uint64 // passwords that were hashed
	// Entries that left full tables: of right passwords, of wrong ones, and of networks with failures.
	RightEvicted, WrongEvicted, NetworksEvicted uint64
	Unlisted                                    uint64 // refusals that the audit does not have, as there were too many
}

// APIRequests are requests of a family whose replies have a class of status.
type APIRequests struct {
	Family string // v1, ufm or other
	Class  string // 2xx to 5xx
	Count  uint64
}

func (s *Server) api(*http.Request) (any, error) {
	if s.cfg.API == nil {
		return nil, has(false, "API")
	}
	if a := s.cfg.API(); a != nil {
		return a, nil
	}
	return nil, hint(has(false, "API"), "set api_addr, for example :8443, and restart")
}

// Entries of the audit that a reply has.
const (
	someAudited = 100
	mostAudited = 10_000
)

// audit answers with the last changes and refusals, the oldest first.
func (s *Server) audit(w http.ResponseWriter, r *http.Request) error {
	most, err := number(r, "most", 32)
	if err == nil {
		err = has(s.cfg.Audits != nil, "audit")
	}
	if err != nil {
		return err
	}
	if most == 0 {
		most = someAudited
	}
	entries, err := s.cfg.Audits(int(min(most, mostAudited)))
	if err != nil {
		return fmt.Errorf("audit: %w", err)
	}
	sendList(w, "entries", nil, slices.Values(entries))
	return nil
}
