package sim_test

import (
	"testing"
	"time"

	"ibsm/mad"
	"ibsm/mad/fabric"
	"ibsm/mad/fabric/net"
	"ibsm/manager"
	"ibsm/manager/sim"
	"ibsm/routing/minhop"
	"ibsm/sweep"
)

// firstHost is a port of the first channel adapter.
func firstHost(n *net.Net) net.End {
	for i := range n.Nodes {
		if n.Nodes[i].Type == mad.CA {
			return net.End{Node: int32(i), Port: 1}
		}
	}
	return net.NoEnd
}

func TestBringUp(t *testing.T) {
	n, err := net.Generate("fattree:k=4")
	if err != nil {
		t.Fatal(err)
	}
	w := &sim.World{Fabric: fabric.New(n, fabric.Config{Seed: 1})}
	m, err := w.Add(firstHost(n), manager.Config{Sweep: sweep.Config{Engine: minhop.Route, EngineName: "minhop"}, Once: true})
	if err != nil {
		t.Fatal(err)
	}
	if !w.Run(time.Minute, func() bool { return m.Exited }) || m.Err != nil {
		t.Fatal("no end, or", m.Err)
	}
	if at, bad := w.Fabric.FirstNotActive(); bad {
		t.Errorf("port %v is not ACTIVE", at)
	}
}
