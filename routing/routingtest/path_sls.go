package routingtest

import (
	"testing"

	"ibsm/mad"
	"ibsm/sim/ibsim"
)

// PathSLs asks the OpenSM on an ibsim, which has brought up the same fabric, for the SL of the path
// between each two hosts.
func (r *Run) PathSLs(t testing.TB, sock string) map[[2]mad.LID]uint8 {
	t.Helper()
	var hosts []mad.LID
	var node string
	for _, p := range r.Topo.EndPorts {
		if n := &r.Topo.Nodes[r.Topo.Ports[p].Node]; n.Type != mad.Switch {
			hosts, node = append(hosts, r.LIDs.Base[p]), n.Desc.String()
		}
	}
	port, err := ibsim.Dial(t.Context(), ibsim.Config{SockName: sock, Node: node})
	if err != nil {
		t.Fatal(err)
	}
	defer port.Close()
	return PathSLs(t, port, hosts)
}
