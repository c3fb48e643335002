package ctl

import (
	"fmt"
	"iter"
	"net/http"
	"strconv"

	"ibsm/mad"
	"ibsm/rights"
)

// Hosts is a list of Host, by name; those without a name come last. With Filter.Name it has the hosts of a name or of a
// pattern, as partitions.conf has them, such as node[001-100]; with Filter.Rails and Filter.Devices the ports that
// these select, the hosts that have such a port, and the Block that only these ports make. It takes no other Filter.
const Hosts List = "hosts"

// Host is the adapters of one host: those whose NodeDescriptions begin with the same word. Adapters without a word, or
// with a Shared one, are of one host if they have the same SystemImageGUID.
type Host struct {
	Name string `json:"name"` // as partitions.conf has it; "" if the NodeDescriptions are empty
	// SystemGUID is the SystemImageGUID of all adapters; "" if they have different ones.
	SystemGUID string `json:"system_guid,omitempty"`
	// Shared is a NodeDescription that two nodes of this name have. Which of them is the host cannot be known:
	// partitions leave all hosts of the name out.
	Shared string     `json:"shared,omitempty"`
	Ports  []HostPort `json:"ports"` // by GUID
}

// HostPort is a port of an adapter.
type HostPort struct {
	GUID       string    `json:"guid"`
	Node       string    `json:"node"` // GUID of the adapter
	SystemGUID string    `json:"system_guid"`
	Port       uint8     `json:"port"` // number on the adapter
	LID        mad.LID   `json:"lid,omitempty"`
	State      string    `json:"state"`
	Device     string    `json:"device,omitempty"` // such as mlx5_0 of the NodeDescription "host-12 mlx5_0"
	Rail       int       `json:"rail,omitempty"`   // as in Rails; 0 none
	Leaf       *HostLeaf `json:"leaf,omitempty"`   // nil without a cable to a switch
	Unit       int       `json:"unit,omitempty"`   // of Leaf, as in Rails; 0 none
	// Block is the leaves that the same hosts are on, by the name that ibsmctl dump slurm-block gives them with the
	// same ports; "" if that leaves the host out.
	Block string `json:"block,omitempty"`
}

// HostLeaf is the switch that a cable leads to.
type HostLeaf struct {
	Node string `json:"node"` // GUID
	Desc string `json:"desc"`
	Port uint8  `json:"port"`
}

// hosts are the rows of Hosts that the user may see, with the ports that a request chooses.
func (s *Server) hosts(r *http.Request, sub Subnet, f *Filter) (iter.Seq[any], error) {
	query := r.URL.Query()
	f.Devices = query["device"]
	if len(f.Devices) > MaxChosen || len(query["rail"]) > MaxChosen {
		return nil, fmt.Errorf("%w: more than %d rails or devices", ErrBadRequest, MaxChosen)
	}
	for _, text := range query["rail"] {
		rail, err := strconv.ParseUint(text, 10, 16)
		if err != nil || rail == 0 {
			return nil, hint(fmt.Errorf("%w: parameter rail=%q: expected the number of a rail", ErrBadRequest, text),
				"ibsmctl rails lists them from 1 on")
		}
		f.Rails = append(f.Rails, int(rail))
	}
	if len(f.Rails)+len(f.Devices) > 0 { // a quarter of a second on 11,664 hosts
		if err := s.choices.take(r.Context()); err != nil {
			return nil, err
		}
		defer s.choices.end()
	}
	rows, err := sub.Rows(Hosts, *f)
	if err != nil {
		return nil, err
	}
	return ownHosts(rights.Of(r.Context()), rows), nil
}

// ownHosts are the rows of Hosts that a user may see: of another host it sees ports with a GUID of its own alone.
func ownHosts(u *rights.User, rows iter.Seq[any]) iter.Seq[any] {
	return func(yield func(any) bool) {
		for row := range rows {
			h := *row.(*Host)
			if !u.Member(0, h.Name) {
				all := h.Ports
				h.Ports = nil
				for _, p := range all {
					if guid, err := mad.ParseGUID(p.GUID); err == nil && u.Member(guid, "") {
						h.Ports = append(h.Ports, p)
					}
				}
				if len(h.Ports) == 0 {
					continue
				}
			}
			if !yield(&h) {
				return
			}
		}
	}
}
