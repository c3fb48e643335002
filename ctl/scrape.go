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
func (s *Server) metrics(w http.ResponseWriter, r *http.Request) error {
	if s.cfg.Metrics == nil {
		return fmt.Errorf("%w: there are no metrics", ErrNotFound)
	}
	select {
	case s.scrapes <- struct{}{}:
	default:
		return hint(fmt.Errorf("%w: %d scrapes are being answered", ErrNotNow, maxScrapes),
			"try again when one is done")
	}
	defer func() { <-s.scrapes }()
	w.(*patient).until = time.Now().Add(scrapePieces * s.cfg.Patience)
	return s.cfg.Metrics(w, r)
}
