package ctl

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"ibsm/conf/diag"
	"ibsm/opensm/names"
)

// NodeName is the name that the operator gave to a node in the node-name-map. The manager logs it in place of the
// NodeDescription.
type NodeName struct {
	GUID string `json:"guid"`
	Name string `json:"name"`
}

// names answers with the node-name-map in force, in no order.
func (s *Server) names(w http.ResponseWriter, r *http.Request) error {
	sendList(w, "names", nil, func(yield func(*NodeName) bool) {
		for guid, name := range s.cfg.Names {
			if !yield(&NodeName{GUID: guid.String(), Name: name}) {
				return
			}
		}
	})
	return nil
}

// MaxNames is the maximum length of a node-name-map in a request, in bytes: the names of 49,151 nodes have some 4 MiB.
const MaxNames = 16 << 20

// takesNames reports whether the body of a request is a node-name-map: those whose replies have names in sentences or
// dumps.
func takesNames(path string) bool {
	return path == "/v1/why" || path == "/v1/path-record" || strings.HasPrefix(path, "/v1/dump/")
}

// named returns the subnet with the names in the body of a request, or without a body with the manager's. As in the
// manager's own file, a line with an error is left out.
func (s *Server) named(w http.ResponseWriter, r *http.Request) (Subnet, error) {
	sub, err := s.subnet()
	if err != nil || r.ContentLength == 0 {
		return sub, err
	}
	if err := s.nameMaps.take(r.Context()); err != nil {
		return nil, err
	}
	defer s.nameMaps.end()
	control := w.(*patient).control
	control.SetReadDeadline(time.Now().Add(s.cfg.Patience)) // it may have waited for its turn
	body := http.MaxBytesReader(w, r.Body, MaxNames)
	given, err := names.Read("the node-name-map", body)
	if wrong := (diag.List)(nil); err == nil || errors.As(err, &wrong) {
		_, err = io.Copy(io.Discard, body) // beyond a file's first errors
	}
	if large := (*http.MaxBytesError)(nil); errors.As(err, &large) {
		err = fmt.Errorf("more than %d bytes: no more are read", large.Limit)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: the node-name-map: %w", ErrBadRequest, err)
	}
	control.SetReadDeadline(time.Time{}) // as without a body: the reply may take long
	return sub.Named(given), nil
}
