package ctl

import "net/http"

// NodeName is the name that the operator gave to a node in the node-name-map. The manager logs it in place of the
// NodeDescription.
type NodeName struct {
	GUID string `json:"guid"`
	Name string `json:"name"`
}

// names answers with the node-name-map in force, in no order.
func (s *Server) names(w http.ResponseWriter, r *http.Request) error {
	if err := known(r); err != nil {
		return err
	}
	sendList(w, "names", "", func(yield func(*NodeName) bool) {
		for guid, name := range s.cfg.Names {
			if !yield(&NodeName{GUID: guid.String(), Name: name}) {
				return
			}
		}
	})
	return nil
}
