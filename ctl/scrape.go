package ctl

import (
	"fmt"
	"net/http"
	"time"
)

// Limits of scrapes. One holds a view of the subnet, which may have been replaced
// meanwhile, and some buffers.
const (
	maxScrapes   = 4 // at a time, of all listeners together
	scrapePieces = 6 // the whole of a reply has as many times Config.Patience to be taken
)

// metrics answers a scrape.
func (s *Server) metrics(w http.ResponseWriter, r *http.Request) {
	if s.cfg.Metrics == nil {
		s.fail(w, fmt.Errorf("%w: there are no metrics", ErrNotFound), "")
		return
	}
	select {
	case s.scrapes <- struct{}{}:
	default:
		s.fail(w, fmt.Errorf("%w: %d scrapes are being answered", ErrNotNow, maxScrapes), "try again when one is done")
		return
	}
	defer func() { <-s.scrapes }()
	w.(*patient).until = time.Now().Add(scrapePieces * s.cfg.Patience)
	if err := s.cfg.Metrics(w, r); err != nil {
		s.fail(w, err, "")
	}
}
