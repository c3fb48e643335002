package ctl

import (
	"iter"
	"net/http"

	"ibsm/mad"
	"ibsm/rights"
)

// VPorts is a list of VPort, by the node and number of the port in front, and index. With Filter.Name it has those of a
// host, of the hosts of a pattern, or of a GUID of a vPort, a port or a node; with Filter.State those in a state.
const VPorts List = "vports"

// VPort is a virtual port of an adapter, as those of SR-IOV's functions are. That of a physical function is listed only
// if it is not as its port is.
type VPort struct {
	GUID string `json:"guid"` // 0x0000000000000000 for none
	// Further are more GUIDs that it is reached by.
	Further  []string `json:"further_guids,omitempty"`
	Host     string   `json:"host"` // name of the host, as in Host
	Device   string   `json:"device,omitempty"`
	Index    uint16   `json:"index"` // behind Port
	Port     End      `json:"port"`  // that it is behind
	PortGUID string   `json:"port_guid"`
	Node     string   `json:"node,omitempty"` // GUID of its virtual node; "" for none, or not known
	Desc     string   `json:"desc,omitempty"` // NodeDescription of its virtual node; "" if not known
	LID      mad.LID  `json:"lid,omitempty"`  // by which it is reached; 0 none
	Shared   bool     `json:"shared"`         // LID is not its own, and packets for it need a GRH
	State    string   `json:"state"`
	PKeys    []string `json:"pkeys"`            // that it holds
	Reason   string   `json:"reason,omitempty"` // why it is not Active, or what is wrong with it
	Do       string   `json:"do,omitempty"`     // what to do about it
}

// vPorts are the rows of VPorts that the user of a request may see: those with a GUID of its own or at its hosts.
func (s *Server) vPorts(r *http.Request, sub Subnet, f *Filter) (iter.Seq[any], error) {
	rows, err := sub.Rows(VPorts, *f)
	if err != nil {
		return nil, err
	}
	u := rights.Of(r.Context())
	return func(yield func(any) bool) {
		for row := range rows {
			v := row.(*VPort)
			guid, err := mad.ParseGUID(v.GUID)
			if (u.Member(0, v.Host) || err == nil && u.Member(guid, "")) && !yield(v) {
				return
			}
		}
	}, nil
}
