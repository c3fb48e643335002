package ctl

import "net/http"

// Rails are the rails of a subnet: ports of channel adapters that hold the same place in their hosts.
type Rails struct {
	Seen  string      `json:"seen"`  // in words: what was found, or why there are no rails
	Units int         `json:"units"` // groups of leaves that the same hosts are on
	Rails []Rail      `json:"rails"` // in the order of the places
	Wrong []WrongPort `json:"wrong"` // ports that are on another leaf than those of the same place in their unit
}

// Rail is one of them.
type Rail struct {
	Rail int `json:"rail"` // from 1 on
	// what the place is called in NodeDescriptions, such as mlx5_0; the most frequent first, at most 4
	Places []string   `json:"places"`
	Ports  int        `json:"ports"`
	Leaves []RailLeaf `json:"leaves"` // by unit
}

// RailLeaf is a leaf that a rail has in a unit.
type RailLeaf struct {
	Node string `json:"node"` // GUID
	Desc string `json:"desc"`
	Unit int    `json:"unit"` // from 1 on
}

// WrongPort is a port on the wrong leaf, and the cable that corrects it.
type WrongPort struct {
	Rail int `json:"rail"`
	Port End `json:"port"` // of the adapter
	On   End `json:"on"`   // the port of the leaf that its cable leads to
	// Want is the leaf where it belongs, and the port there: that of Exchange, or a free one; 0 if there is none.
	Want End `json:"want"`
	// Exchange is the port of another adapter, whose cable has to change places with that of Port. It is wrong there as
	// well, and with Both it is right afterwards.
	Exchange *End `json:"exchange,omitempty"`
	Both     bool `json:"both,omitempty"`
}

// rails answers what rails there are.
func (s *Server) rails(r *http.Request) (any, error) {
	sub, err := s.subnet()
	if err != nil {
		return nil, err
	}
	return sub.Rails(), nil
}
