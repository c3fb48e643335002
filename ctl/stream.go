package ctl

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"iter"
	"net/http"
)

// Piece is how much of a long reply is sent at a time, in bytes: so much has
// Config.Patience to be taken.
const Piece = 64 << 10

func newBuffer(w http.ResponseWriter) *bufio.Writer { return bufio.NewWriterSize(w, Piece) }

// listHead are the members before a list of the subnet.
type listHead struct {
	Generation uint64 `json:"generation"`
}

// sendList replies with a list while it is computed: an object with the list as its last member, one element per line.
// head is a struct with the members before it, or nil for none. It stops if the client does not read.
func sendList[T any](w http.ResponseWriter, list string, head any, rows iter.Seq[T]) {
	w.Header().Set("Content-Type", "application/json")
	out := newBuffer(w)
	enc := json.NewEncoder(out) // ends each element with a newline
	enc.SetEscapeHTML(false)
	begin := []byte{'{'}
	if head != nil {
		text, err := json.Marshal(head)
		if err != nil {
			return
		}
		begin = append(text[:len(text)-1], ',')
	}
	_, err := fmt.Fprintf(out, "%s%q:[\n", begin, list)
	comma := false
	for row := range rows {
		if comma {
			out.WriteByte(',')
		}
		comma = true
		if err == nil {
			err = enc.Encode(row)
		}
		if err != nil {
			return
		}
	}
	out.WriteString("]}\n")
	out.Flush()
}

// events writes the stored events, one per line, and with follow also new ones.
func (s *Server) events(w http.ResponseWriter, r *http.Request) error {
	since, wrong := number(r, "since", 64)
	follow, wrongToo := flag(r, "follow")
	if err := cmp.Or(wrong, wrongToo); err != nil {
		return err
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
		return nil
	}
	p := w.(*patient)
	if p.FlushError() != nil { // so that the client sees that the request was accepted
		return nil
	}
	s.cfg.Events.follow(r.Context(), since, func(events []Event) error {
		if err := send(events); err != nil {
			return err
		}
		return p.FlushError()
	})
	return nil
}
