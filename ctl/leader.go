package ctl

import (
	"net/http"
)

// leader answers in one word where the manager stands: status 200 on the master whose SA answers, else 503. It answers
// HEAD as well. The status 503 is an answer, and is not counted as an error.
func (s *Server) leader(w http.ResponseWriter, r *http.Request) error {
	if err := has(s.cfg.Leader != nil, "election"); err != nil {
		return err
	}
	word, leads := s.cfg.Leader()
	h := w.Header()
	h.Set("Content-Type", "text/plain; charset=utf-8")
	h.Set("Cache-Control", "no-store")
	p := w.(*patient)
	if !leads {
		p.WriteHeader(http.StatusServiceUnavailable)
		p.status = http.StatusOK
	}
	p.Write([]byte(word + "\n"))
	return nil
}
