package tree

import (
	"fmt"
	"strings"
	"testing"

	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/routing"
	"ibsm/routing/quality"
	"ibsm/topo"
	"ibsm/topo/net"
)

// mixed is a whole tree with a storage node more on some leaves, and in three levels four leaves whose hosts are all
// storage nodes. They are called by a name, "%d" in which is a number.
func mixed(t *testing.T, spec, name string) *net.Net {
	t.Helper()
	n, err := net.Generate(spec)
	if err != nil {
		t.Fatal(err)
	}
	levels := 0
	var leaves []int32
	for i := range n.Nodes {
		if n.Nodes[i].Type == mad.Switch && strings.HasPrefix(n.Nodes[i].Desc, "leaf") {
			leaves = append(leaves, int32(i))
		}
		if strings.HasPrefix(n.Nodes[i].Desc, "agg") {
			levels = 3
		}
	}
	number := 0
	rename := func(node *net.Node) {
		number++
		node.Desc = fmt.Sprintf(name, number)
	}
	if levels == 3 {
		for _, l := range []int{1, 6, 11, 16} { // 112 other hosts are a multiple of the 16 roots
			for _, p := range n.Nodes[leaves[l]].Ports {
				if p.Peer.Node >= 0 && n.Nodes[p.Peer.Node].Type == mad.CA {
					rename(&n.Nodes[p.Peer.Node])
				}
			}
		}
		return n
	}
	for i, l := range leaves {
		if i%3 == 2 {
			continue
		}
		guid := mad.GUID(0x77000000 + i*16)
		node := net.Node{ID: fmt.Sprintf("H-%016x", uint64(guid)), Type: mad.CA, GUID: guid, SystemImageGUID: guid,
			Ports: []net.Port{{Peer: net.NoEnd}, {GUID: guid + 1}}}
		rename(&node)
		n.Nodes[l].Ports = append(n.Nodes[l].Ports, net.Port{Peer: net.End{Node: int32(len(n.Nodes)), Port: 1}})
		node.Ports[1].Peer = net.End{Node: l, Port: uint8(len(n.Nodes[l].Ports) - 1)}
		n.Nodes = append(n.Nodes, node)
	}
	return n
}

// TestTypes: no two flows of a shift among the compute nodes of a whole tree meet, although there are storage nodes
// between them, if the engine knows these: by a file, by the name of their hosts, by a capability, or as routers. If it
// does not, flows meet.
func TestTypes(t *testing.T) {
	for _, spec := range []string{"fattree:k=8,levels=2", "fattree:k=8"} {
		for name, c := range map[string]struct {
			desc   string
			change func(in *routing.In, storage []topo.PortIdx) Settings
			meet   bool
		}{
			"not known": {"x-%d mlx5_0", func(*routing.In, []topo.PortIdx) Settings { return Settings{} }, true},
			"by name": {"site1-oss-%d mlx5_0", func(*routing.In, []topo.PortIdx) Settings {
				return Settings{}
			}, false},
			"I/O file": {"x-%d mlx5_0", func(in *routing.In, storage []topo.PortIdx) Settings {
				s := Settings{IO: map[mad.GUID]bool{}}
				for _, p := range storage {
					s.IO[in.Topo.Ports[p].GUID] = true
				}
				return s
			}, false},
			"compute file": {"x-%d mlx5_0", func(in *routing.In, storage []topo.PortIdx) Settings {
				s := Settings{Compute: map[mad.GUID]bool{}}
				for _, p := range quality.Hosts(in.Topo, in.LIDs) {
					s.Compute[in.Topo.Ports[p].GUID] = true
				}
				for _, p := range storage {
					delete(s.Compute, in.Topo.Ports[p].GUID)
				}
				return s
			}, false},
			"capability": {"x-%d mlx5_0", func(in *routing.In, storage []topo.PortIdx) Settings {
				for _, p := range storage {
					info := &in.Topo.Ports[p].Info
					info.SetCapabilityMask(info.CapabilityMask() | smp.IsDeviceManagementSupported)
				}
				return Settings{}
			}, false},
			"routers": {"x-%d mlx5_0", func(in *routing.In, storage []topo.PortIdx) Settings {
				for _, p := range storage {
					in.Topo.Nodes[in.Topo.Ports[p].Node].Type = mad.Router
				}
				return Settings{}
			}, false},
		} {
			in := problem(t, mixed(t, spec, c.desc), 0)
			var others, storage []topo.PortIdx
			for _, p := range asCabled(in) {
				if strings.HasPrefix(in.Topo.Nodes[in.Topo.Ports[p].Node].Desc.String(), "host-") {
					others = append(others, p)
				} else {
					storage = append(storage, p)
				}
			}
			tables, err := New(c.change(&in, storage))(t.Context(), in)
			if err != nil {
				t.Fatal(err)
			}
			f, err := quality.Patterns(t.Context(), in, tables.LFT, others, 0)
			if err != nil || len(storage) < 4 || (f.Worst > 1) != c.meet {
				t.Errorf("%s, %s: %d storage nodes, %+v, %v", spec, name, len(storage), f, err)
			}
		}
	}
}

// TestNamedType: words in the names of hosts.
func TestNamedType(t *testing.T) {
	for desc, want := range map[string]nodeType{
		"oss03 mlx5_0": storage, "dc1-MDS-2 HCA-1": storage, "login1 mlx5_0": service, "B11-P1-CUFM-02 mlx5_1": service,
		"ib-gw-1 ib0":    router,
		"host-01 mlx5_0": compute, "ossian mlx5_0": compute, "gpu-login mlx5_0": service, "": compute, "oss03": compute,
	} {
		if got := namedType(desc); got != want {
			t.Errorf("%q: %d", desc, got)
		}
	}
}
