package ctl

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net/http"
)

// piece is how much of a long reply is sent at a time: so much has Config.Patience to be
// taken.
const piece = 64 << 10

func newBuffer(w http.ResponseWriter) *bufio.Writer { return bufio.NewWriterSize(w, piece) }

// stream is a reply that holds a list, written as it is made: an object with the list
// as its last member, one element a line.
type stream struct {
	w     *bufio.Writer
	json  *json.Encoder // ends each element with a newline
	comma bool
	err   error
}

// newStream begins the reply. fields are members that come before the list, or "".
func newStream(w http.ResponseWriter, list, fields string) *stream {
	w.Header().Set("Content-Type", "application/json")
	s := &stream{w: newBuffer(w)}
	s.json = json.NewEncoder(s.w)
	s.json.SetEscapeHTML(false)
	if fields != "" {
		fields += ","
	}
	_, s.err = fmt.Fprintf(s.w, "{%s%q:[\n", fields, list)
	return s
}

func (s *stream) add(v any) error {
	if s.comma {
		s.w.WriteByte(',')
	}
	s.comma = true
	if s.err == nil {
		s.err = s.json.Encode(v)
	}
	return s.err
}

func (s *stream) end() {
	s.w.WriteString("]}\n")
	s.w.Flush()
}

// events writes the ring's events, one a line, and new ones as they come if they are to
// be followed.
func (s *Server) events(w http.ResponseWriter, r *http.Request) {
	err := known(r, "since", "follow")
	since, wrong := number(r, "since", 64)
	follow, wrongToo := flag(r, "follow")
	for _, e := range []error{wrong, wrongToo} {
		if err == nil {
			err = e
		}
	}
	if err != nil {
		s.fail(w, err, "")
		return
	}
	w.Header().Set("Content-Type", "application/x-ndjson")
	out := newBuffer(w)
	send := func(events []Event) error {
		lines := json.NewEncoder(out)
		lines.SetEscapeHTML(false)
		for i := range events {
			if err := lines.Encode(&events[i]); err != nil {
				return err
			}
		}
		return out.Flush()
	}
	if !follow {
		events, _ := s.cfg.Events.Since(since, nil)
		send(events)
		return
	}
	p := w.(*patient)
	if p.flush() != nil { // so that the client knows that it is followed
		return
	}
	s.cfg.Events.follow(r.Context(), since, func(events []Event) error {
		if err := send(events); err != nil {
			return err
		}
		return p.flush()
	})
}
