package ctl_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"ibsm/ctl"
)

// scraped are replies that a test controls.
type scraped struct {
	begun   chan bool // one is answered
	release chan bool // and may go on
}

func (s scraped) serve(w http.ResponseWriter, _ *http.Request) error {
	s.begun <- true
	<-s.release
	_, err := io.WriteString(w, "x 1\n")
	return err
}

// Scrapes beyond the limit are refused at once, and others are answered when one has ended.
func TestScrapes(t *testing.T) {
	const limit = 4
	s := scraped{make(chan bool), make(chan bool)}
	b := serve(t, &source{}, ctl.Config{Metrics: s.serve})
	ended := make(chan error)
	get := func() { ended <- b.Get(t.Context(), "/metrics", nil, nil) }
	for range limit {
		go get()
		<-s.begun
	}
	var f *ctl.Failure
	if err := b.Get(t.Context(), "/metrics", nil, nil); !errors.As(err, &f) || !strings.Contains(f.Err, "scrapes") {
		t.Errorf("a scrape beyond the limit: %v", err)
	}
	b.mustAnswer()
	s.release <- true
	<-ended
	go get()
	<-s.begun
	close(s.release)
	for range limit {
		<-ended
	}
	if n := b.server.Stats().Errors.Load(); n != 1 {
		t.Errorf("%d errors, want 1", n)
	}
}

// A client that takes each piece of a scrape in time, but never has all of it, is cut off
// too.
func TestSlowScrape(t *testing.T) {
	const patience = 100 * time.Millisecond
	ended := make(chan bool, 1)
	endless := func(w http.ResponseWriter, _ *http.Request) error {
		piece := make([]byte, ctl.Piece)
		for {
			if _, err := w.Write(piece); err != nil {
				ended <- true
				panic(http.ErrAbortHandler)
			}
		}
	}
	b := serve(t, &source{}, ctl.Config{Metrics: endless, Patience: patience})
	c := b.dial()
	defer c.Close()
	fmt.Fprint(c, "GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n")
	taken := make([]byte, ctl.Piece)
	for {
		if _, err := c.Read(taken); err != nil {
			break
		}
	}
	select {
	case <-ended:
	case <-time.After(late):
		t.Fatal("a client that takes a scrape slowly is served for ever")
	}
	b.until("the reply is counted as cut", func() bool { return b.server.Stats().Cut.Load() == 1 })
	b.until("others are answered", func() bool { // on a busy machine not each in time
		return b.Get(t.Context(), "/v1/status", nil, nil) == nil
	})
}

// There are no metrics where nobody gives any, and an error is the Source's.
func TestNoMetrics(t *testing.T) {
	b := serve(t, &source{}, ctl.Config{})
	var f *ctl.Failure
	if err := b.Get(t.Context(), "/metrics", nil, nil); !errors.As(err, &f) || f.Err != "there are no metrics" {
		t.Errorf("%v", err)
	}
	b = serve(t, &source{}, ctl.Config{Metrics: func(http.ResponseWriter, *http.Request) error {
		return fmt.Errorf("%w: no", ctl.ErrBadRequest)
	}})
	if err := b.Get(t.Context(), "/metrics", nil, nil); !errors.As(err, &f) || f.Err != "no" {
		t.Errorf("%v", err)
	}
}
