package ufm

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"

	"ibsm/ctl"
	"ibsm/partitions/callers"
)

// reply replies with a value.
func (s *Server) reply(w http.ResponseWriter, v any) error {
	text, err := encode(nil, v)
	if err != nil {
		return err
	}
	send(w, http.StatusOK, text)
	return nil
}

// send sends a reply, with its length and in pieces of which each has its time.
func send(w http.ResponseWriter, status int, text []byte) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(text)))
	w.WriteHeader(status)
	for piece := range slices.Chunk(text, ctl.Piece) {
		if _, err := w.Write(piece); err != nil {
			panic(http.ErrAbortHandler) // so that the client detects the incomplete reply
		}
	}
}

// encode appends a value as JSON, in the form in which UFM sends it: with a blank behind each colon and comma, and
// without a newline at the end. U+FFFD stands for bytes of texts that are not UTF-8.
func encode(to []byte, v any) ([]byte, error) {
	var compact bytes.Buffer
	e := json.NewEncoder(&compact)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return appendSpaced(to, bytes.TrimSuffix(compact.Bytes(), []byte("\n"))), nil
}

// appendSpaced appends compact JSON with a blank behind each colon and comma outside of texts.
func appendSpaced(to, compact []byte) []byte {
	text := false
	for i := 0; i < len(compact); i++ {
		c := compact[i]
		to = append(to, c)
		switch {
		case text && c == '\\':
			i++
			to = append(to, compact[i])
		case c == '"':
			text = !text
		case !text && (c == ':' || c == ','):
			to = append(to, ' ')
		}
	}
	return to
}

// list is a JSON array, or an object, that is encoded element by element.
type list struct {
	text []byte
	ends byte
	err  error
}

func newArray() *list  { return &list{text: []byte{'['}, ends: ']'} }
func newObject() *list { return &list{text: []byte{'{'}, ends: '}'} }

// add adds an element. name is that of a member of an object.
func (l *list) add(name string, v any) {
	if l.err != nil {
		return
	}
	if len(l.text) > 1 {
		l.text = append(l.text, ", "...)
	}
	if l.ends == '}' {
		l.text = append(strconv.AppendQuote(l.text, name), ": "...)
	}
	text, err := encode(l.text, v)
	if l.err = err; err == nil {
		l.text = text
	}
}

// reply replies with the list.
func (l *list) reply(w http.ResponseWriter) error {
	if l.err != nil {
		return l.err
	}
	send(w, http.StatusOK, append(l.text, l.ends))
	return nil
}

// fail replies with an error.
func (s *Server) fail(w http.ResponseWriter, err error) {
	status, failure := ctl.FailureOf(err)
	switch large := (*http.MaxBytesError)(nil); {
	case errors.As(err, &large):
		status, failure.Err = http.StatusRequestEntityTooLarge, fmt.Sprintf("the body has more than %d bytes", large.Limit)
	case errors.Is(err, errNotImplemented):
		status = http.StatusNotImplemented
	case status == http.StatusPreconditionFailed: // nobody has set a condition: a name is taken
		status = http.StatusConflict
	case status == http.StatusServiceUnavailable:
		retryAfter(w)
	case status == http.StatusInternalServerError:
		s.cfg.Logger.Error("a call of UFM's API failed", "error", err)
	}
	text, err := encode(nil, failure)
	if err != nil {
		text = []byte(`{"error": "internal error"}`)
	}
	send(w, status, text)
}

// refuse is an error about a field of a request, or without one about its state.
func refuse(kind callers.Kind, field, format string, args ...any) error {
	return &callers.Refusal{Kind: kind, Field: field, Text: fmt.Sprintf(format, args...)}
}
