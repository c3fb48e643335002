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
