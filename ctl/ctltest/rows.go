// Package ctltest makes rows of the control protocol, for tests.
package ctltest

import (
	"errors"
	"io/fs"
	"strings"
	"testing"

	"ibsm/ctl"
	"ibsm/mad"
	"ibsm/topo/net"
)

// Rows are the nodes and the links of a generated fabric, all Active, with LIDs from 1 on.
func Rows(tb testing.TB, spec string) (nodes []*ctl.Node, links []*ctl.Link) {
	tb.Helper()
	fabric, err := net.Generate(spec)
	if err != nil {
		tb.Fatal(err)
	}
	return Of(fabric)
}

// RealCluster are the rows of a real cluster's topology, which is kept beside the
// checkout; where it is not there, the test is passed over.
func RealCluster(tb testing.TB) (nodes []*ctl.Node, links []*ctl.Link) {
	tb.Helper()
	const file = "../../../shared/data/ndr-582.topo" // seen from a folder of ctl
	fabric, err := net.Load(file)
	if errors.Is(err, fs.ErrNotExist) {
		tb.Skip("the real cluster's file is not there")
	}
	if err != nil {
		tb.Fatal(err)
	}
	nodes, links = Of(fabric)
	for _, n := range nodes {
		n.Aggregation = strings.Contains(n.Desc, "Aggregation Node")
	}
	return nodes, links
}

// Of are the rows of any fabric.
func Of(fabric *net.Net) (nodes []*ctl.Node, links []*ctl.Link) {
	end := func(e net.End) ctl.End {
		n := &fabric.Nodes[e.Node]
		return ctl.End{Node: n.GUID.String(), Desc: n.Desc, Type: n.Type.String(), Port: e.Port,
			LID: mad.LID(e.Node + 1)}
	}
	for i := range fabric.Nodes {
		n := &fabric.Nodes[i]
		row := &ctl.Node{GUID: n.GUID.String(), Type: n.Type.String(), Desc: n.Desc, LID: mad.LID(i + 1),
			Ports: n.NumPorts(), SystemGUID: n.SystemImageGUID.String()}
		for num := range n.Ports {
			here, there := net.End{Node: int32(i), Port: uint8(num)}, n.Ports[num].Peer
			if num == 0 || there.Node < 0 {
				continue
			}
			row.Up++
			if there.Node > here.Node || there.Node == here.Node && there.Port > here.Port {
				links = append(links, &ctl.Link{From: end(here), To: end(there), State: "Active",
					Width: n.Ports[num].Width.String(), Speed: n.Ports[num].Speed.String()})
			}
		}
		nodes = append(nodes, row)
	}
	return nodes, links
}
