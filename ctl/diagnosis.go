package ctl

import (
	"fmt"
	"net/http"
)

// Diagnoses is the list of what stands in the way of ports, of Diagnosis. It is asked for
// by itself, with ports instead of a Filter.
const Diagnoses List = "diagnoses"

// Diagnosis says why a port is not Active, or why one port does not reach another.
type Diagnosis struct {
	Port     End      `json:"port"`
	To       *End     `json:"to,omitempty"` // of a pair
	State    string   `json:"state"`        // of Port; "absent" where it is not there
	Physical string   `json:"physical,omitempty"`
	Works    bool     `json:"works"`   // Port is Active, or reaches To; reasons are then remarks
	Reasons  []Reason `json:"reasons"` // what weighs most first
}

// Reason is something that stands in the way.
type Reason struct {
	Kind string `json:"kind"`         // a few words, always the same for the same cause
	Text string `json:"text"`         // what was found
	Do   string `json:"do,omitempty"` // what to do about it
}

// diagnose answers about all ports that are not Active, about a port or a node, or about
// what is between two ports.
func (s *Server) diagnose(w http.ResponseWriter, r *http.Request) {
	err := known(r, "port", "other")
	port, other := r.URL.Query().Get("port"), r.URL.Query().Get("other")
	if err == nil && port == "" && other != "" {
		err = fmt.Errorf("%w: the parameter other needs port", ErrBadRequest)
	}
	if err != nil {
		s.fail(w, err, "each is a LID, GUID, GID, NodeDescription or NODE:PORT")
		return
	}
	sub, ok := s.subnet(w)
	if !ok {
		return
	}
	rows, err := sub.Diagnose(port, other)
	if err != nil {
		s.fail(w, err, "")
		return
	}
	sendList(w, string(Diagnoses), fmt.Sprintf(`"generation":%d`, sub.Generation()), rows)
}
