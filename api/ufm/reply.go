package ufm

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"

	"ibsm/ctl"
	"ibsm/partitions/callers"
)

// reply replies with a value.
func (s *Server) reply(w http.ResponseWriter, v any) error {
	text, err := newEncoder().append(nil, v)
	if err != nil {
		return err
	}
	send(w, http.StatusOK, text)
	return nil
}

// send sends a reply, with its length and in pieces of which each has its time.
func send(w http.ResponseWriter, status int, text []byte) {
	head(w, status, len(text))
	for piece := range slices.Chunk(text, ctl.Piece) {
		if _, err := w.Write(piece); err != nil {
			panic(http.ErrAbortHandler) // so that the client detects the incomplete reply
		}
	}
}

// head sends the beginning of a reply.
func head(w http.ResponseWriter, status, length int) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(length))
	w.WriteHeader(status)
}

// encoder encodes values one after the other.
type encoder struct {
	compact bytes.Buffer
	json    *json.Encoder
}

func newEncoder() *encoder {
	e := &encoder{}
	e.json = json.NewEncoder(&e.compact)
	e.json.SetEscapeHTML(false)
	return e
}

// append appends a value as JSON, in the form in which UFM sends it: with a blank behind each colon and comma, and
// without a newline at the end. U+FFFD stands for bytes of texts that are not UTF-8.
func (e *encoder) append(to []byte, v any) ([]byte, error) {
	e.compact.Reset()
	if err := e.json.Encode(v); err != nil {
		return nil, err
	}
	return appendSpaced(to, bytes.TrimSuffix(e.compact.Bytes(), []byte("\n"))), nil
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

// list is a JSON array or an object that is encoded element by element.
type list struct {
	*encoder
	ends   byte      // ] or }
	out    io.Writer // nil: text is kept as long as it is short
	text   []byte
	length int // of all that was added
	more   bool
	err    error
}

// shortList is the length of lists that are kept before they are sent, in bytes. Longer ones are made twice: to know
// their length, and to be sent. So that clients which read slowly take little memory: 256 requests hold 128 MiB.
const shortList = 512 << 10

// elements adds each element of a list; name is that of a member of an object. It does so in the same way each time.
type elements func(add func(name string, v any)) error

func newList(ends byte, out io.Writer) *list {
	return &list{encoder: newEncoder(), ends: ends, out: out, text: []byte{map[byte]byte{']': '[', '}': '{'}[ends]}}
}

func (l *list) add(name string, v any) {
	if l.err != nil {
		return
	}
	if l.more {
		l.text = append(l.text, ", "...)
	}
	l.more = true
	if l.ends == '}' {
		l.text = append(strconv.AppendQuote(l.text, name), ": "...)
	}
	if l.text, l.err = l.append(l.text, v); l.err == nil {
		l.pass()
	}
}

// pass passes on what is complete.
func (l *list) pass() {
	switch {
	case l.out != nil:
		_, l.err = l.out.Write(l.text)
	case l.length+len(l.text) <= shortList:
		return
	}
	l.length += len(l.text)
	l.text = l.text[:0]
}

// of adds all elements, and ends the list.
func (l *list) of(each elements) error {
	if err := cmp.Or(each(l.add), l.err); err != nil {
		return err
	}
	l.text = append(l.text, l.ends)
	if l.out != nil || l.length > 0 {
		l.pass()
	}
	return l.err
}

// array replies with an array, and object with an object.
func (s *Server) array(w http.ResponseWriter, r *http.Request, each elements) error {
	return s.list(w, r, ']', each)
}

func (s *Server) object(w http.ResponseWriter, r *http.Request, each elements) error {
	return s.list(w, r, '}', each)
}

func (s *Server) list(w http.ResponseWriter, r *http.Request, ends byte, each elements) error {
	if err := s.lists.take(r.Context()); err != nil {
		return err
	}
	l := newList(ends, nil)
	err := l.of(each)
	s.lists.end()
	if err != nil {
		return err
	}
	if l.length == 0 {
		send(w, http.StatusOK, l.text)
		return nil
	}
	head(w, http.StatusOK, l.length)
	out := bufio.NewWriterSize(w, ctl.Piece)
	again := newList(ends, out)
	if err := cmp.Or(again.of(each), out.Flush()); err != nil || again.length != l.length {
		panic(http.ErrAbortHandler) // so that the client detects the incomplete reply
	}
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
	text, err := newEncoder().append(nil, failure)
	if err != nil {
		text = []byte(`{"error": "internal error"}`)
	}
	send(w, status, text)
}

// refuse is an error about a field of a request, or without one about its state.
func refuse(kind callers.Kind, field, format string, args ...any) error {
	return &callers.Refusal{Kind: kind, Field: field, Text: fmt.Sprintf(format, args...)}
}
