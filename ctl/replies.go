package ctl

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"ibsm/partitions/callers"
)

// Failure is an error reply.
type Failure struct {
	Err  string `json:"error"`
	Hint string `json:"hint,omitempty"`
	// Field is the field of the request that is wrong.
	Field string `json:"field,omitempty"`

	Status int   `json:"-"` // of the reply; 0 where there is none
	cause  error // why there is no reply
}

func (f *Failure) Error() string { return f.Err }

// Unwrap is why there is no reply; nil if there is one.
func (f *Failure) Unwrap() error { return f.cause }

// hinted is an error with what to do about it.
type hinted struct {
	error
	hint string
}

func (h *hinted) Unwrap() error { return h.error }

// hint adds to an error what to do about it.
func hint(err error, text string) error { return &hinted{err, text} }

// has is the error that the manager lacks something, nil if it is there.
func has(there bool, what string) error {
	if there {
		return nil
	}
	return fmt.Errorf("%w: this manager has no %s", ErrNotFound, what)
}

// Fail replies with an error of a Source or of an invalid request.
func (s *Server) Fail(w http.ResponseWriter, err error) {
	status, reply := FailureOf(err)
	s.reply(w, status, reply)
}

// FailureOf is the reply to an error of a Source or of an invalid request, with its status.
func FailureOf(err error) (status int, reply *Failure) {
	status, reply = http.StatusInternalServerError, &Failure{Err: err.Error()}
	if h := (*hinted)(nil); errors.As(err, &h) {
		reply.Hint = h.hint
	}
	if refused := (*callers.Refusal)(nil); errors.As(err, &refused) {
		status, reply.Field = refusalStatus[refused.Kind], refused.Field
	}
	for sentinel, code := range map[error]int{
		ErrBadRequest: http.StatusBadRequest, ErrNotFound: http.StatusNotFound,
		ErrNotNow: http.StatusServiceUnavailable, ErrForbidden: http.StatusForbidden,
	} {
		if errors.Is(err, sentinel) {
			status, reply.Err = code, strings.TrimPrefix(reply.Err, sentinel.Error()+": ")
		}
	}
	return status, reply
}

// reply replies with a value as one line of JSON.
func (s *Server) reply(w http.ResponseWriter, status int, v any) {
	body, err := json.Marshal(v)
	if err != nil {
		status, body = http.StatusInternalServerError, []byte(`{"error":"cannot encode the reply as JSON"}`)
		s.cfg.Logger.Error("control socket: a reply cannot be encoded", "error", err)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	w.Write(append(body, '\n'))
}

func unknown(r *http.Request) error {
	return hint(fmt.Errorf("%w: no such request: %s %s", ErrNotFound, r.Method, r.URL.Path),
		"docs/ctl.md lists the requests; paths begin with /v1/")
}

// flag is a parameter that is 1, 0 or missing.
func flag(r *http.Request, name string) (bool, error) {
	switch v := r.URL.Query().Get(name); v {
	case "", "0":
		return false, nil
	case "1":
		return true, nil
	default:
		return false, fmt.Errorf("%w: parameter %s=%q: expected 0 or 1", ErrBadRequest, name, v)
	}
}

// number is a decimal or hexadecimal (0x) parameter; 0 if missing.
func number(r *http.Request, name string, bits int) (uint64, error) {
	v := r.URL.Query().Get(name)
	if v == "" {
		return 0, nil
	}
	n, err := strconv.ParseUint(v, 0, bits)
	if err != nil {
		return 0, fmt.Errorf("%w: parameter %s=%q: expected a number of up to %d bits", ErrBadRequest, name, v, bits)
	}
	return n, nil
}
