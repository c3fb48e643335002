package ctl

import (
	"fmt"
	"net/http"
)

// Diagnoses is the list of Diagnosis. It takes ports instead of a Filter.
const Diagnoses List = "diagnoses"

// Diagnosis explains why a port is not Active, or why one port does not reach another.
type Diagnosis struct {
	Port End  `json:"port"`
	To   *End `json:"to,omitempty"` // of a pair
	// of Port; "absent" for an absent port, "held back" for a device that is not used
	State    string   `json:"state"`
	Physical string   `json:"physical,omitempty"`
	Works    bool     `json:"works"`   // Port is Active, or reaches To; reasons are then remarks
	Reasons  []Reason `json:"reasons"` // most important first
	// of a pair: the routing engine, the engines that refused, and the SLs of the path and of the way back
	Routes string `json:"routes,omitempty"`
	// of a pair: switches on the path from which other ports lead to To as well, in the order of the path
	Choices []Choice `json:"choices,omitempty"`
}

// Choice are the ports by which packets could leave a switch for a destination, on the shortest ways that the routing
// engine permits.
type Choice struct {
	Node   string `json:"node"`
	Desc   string `json:"desc"`
	Out    uint8  `json:"out"`    // by which they leave
	Others []int  `json:"others"` // by which they could leave, too; ascending
}

// Reason is a cause.
type Reason struct {
	Kind string `json:"kind"`         // a fixed text for each kind of cause
	Text string `json:"text"`         // the finding
	Do   string `json:"do,omitempty"` // what to do about it
}

// diagnose answers about all ports that are not Active, about a port or node, or about a
// pair of ports.
func (s *Server) diagnose(w http.ResponseWriter, r *http.Request) error {
	port, other := r.URL.Query().Get("port"), r.URL.Query().Get("other")
	if port == "" && other != "" {
		return hint(fmt.Errorf("%w: parameter other requires parameter port", ErrBadRequest), "each is a LID, GUID, GID, NodeDescription or NODE:PORT")
	}
	sub, err := s.named(w, r)
	if err != nil {
		return err
	}
	rows, err := sub.Diagnose(port, other)
	if err != nil {
		return err
	}
	sendList(w, string(Diagnoses), &listHead{sub.Generation()}, rows)
	return nil
}
