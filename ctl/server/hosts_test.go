package server

import (
	"encoding/json"
	"errors"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"ibsm/ctl"
	"ibsm/mad"
	"ibsm/partitions"
	"ibsm/routing/routingtest"
	"ibsm/topo"
	"ibsm/view/viewtest"
)

// TestHosts: a host with eight adapters in rails.
func TestHosts(t *testing.T) {
	s := newSubnet(viewtest.Of(t, routingtest.RailFabric(2), 0), nil)
	if all := rows[ctl.Host](t, s, ctl.Hosts, ctl.Filter{}); len(all) != 64 || all[0].Name != "host-1-01" {
		t.Fatalf("%d hosts, %+v", len(all), all[0])
	}
	found := rows[ctl.Host](t, s, ctl.Hosts, ctl.Filter{Name: "host-2-04"})
	if len(found) != 1 || len(found[0].Ports) != 8 || found[0].Shared != "" || found[0].SystemGUID != "" {
		t.Fatalf("%+v", found)
	}
	blocks := map[string]bool{}
	for i, p := range found[0].Ports {
		rail := 1 + i
		port := s.view.Topo.FindPort(guidIn(t, p.GUID))
		leaf := &s.view.Topo.Nodes[s.view.Topo.Ports[s.view.Topo.Ports[port].Peer].Node]
		node := s.view.Topo.Nodes[s.view.Topo.Ports[port].Node].GUID.String()
		want := ctl.HostPort{GUID: p.GUID, Node: node, SystemGUID: node, Port: 1, LID: s.view.LIDs.Base[port],
			State:  "Initialize",
			Device: "mlx5_" + string(rune('0'+i)), Rail: rail, Unit: 2, Block: p.Block,
			Leaf: &ctl.HostLeaf{Node: leaf.GUID.String(), Desc: "leaf-2-" + string(rune('0'+rail)), Port: 4}}
		if !reflect.DeepEqual(p, want) {
			t.Errorf("%+v, want %+v", p, want)
		}
		blocks[p.Block] = true
	}
	for _, h := range rows[ctl.Host](t, s, ctl.Hosts, ctl.Filter{Name: "host-*"}) {
		if !blocks[h.Ports[0].Block] == strings.HasPrefix(h.Name, "host-2-") {
			t.Errorf("%s is in block %q, the hosts of unit 2 in %v", h.Name, h.Ports[0].Block, blocks)
		}
	}
	if len(blocks) != 1 || blocks[""] {
		t.Errorf("blocks %v", blocks)
	}
}

// TestChosenHosts: a list of chosen rails and adapters has their ports alone, and the blocks that these make.
func TestChosenHosts(t *testing.T) {
	s := newSubnet(viewtest.Of(t, routingtest.RailFabric(2), 0), nil)
	for _, c := range []struct {
		filter ctl.Filter
		ports  int // of each host
		want   func(p *ctl.HostPort) bool
		block  string // of host-1-01
	}{
		{ctl.Filter{}, 8, func(p *ctl.HostPort) bool { return true }, "leaf-1-1"},
		{ctl.Filter{Rails: []int{3}}, 1, func(p *ctl.HostPort) bool { return p.Device == "mlx5_2" && p.Rail == 3 }, "leaf-1-3"},
		{ctl.Filter{Devices: []string{"mlx5_[4-5]", "mlx5_7"}}, 3, func(p *ctl.HostPort) bool {
			return p.Rail == 5 || p.Rail == 6 || p.Rail == 8
		}, "leaf-1-5"},
		{ctl.Filter{Rails: []int{5, 1}, Devices: []string{"mlx5_[4-7]"}}, 1, func(p *ctl.HostPort) bool { return p.Rail == 5 },
			"leaf-1-5"},
		{ctl.Filter{Devices: []string{"hfi*"}}, 0, nil, ""},
		{ctl.Filter{Rails: []int{3}}, 1, func(p *ctl.HostPort) bool { return p.Rail == 3 }, "leaf-1-3"}, // again
		{ctl.Filter{Rails: []int{3}}, 1, func(p *ctl.HostPort) bool { return p.Rail == 3 }, "leaf-1-3"}, // and the same
	} {
		all := rows[ctl.Host](t, s, ctl.Hosts, c.filter)
		if want := 64 * min(c.ports, 1); len(all) != want {
			t.Errorf("%+v: %d hosts, want %d", c.filter, len(all), want)
			continue
		}
		for i := range all {
			if len(all[i].Ports) != c.ports || all[i].Ports[0].Block == "" {
				t.Fatalf("%+v: %+v", c.filter, all[i])
			}
			for k := range all[i].Ports {
				if p := &all[i].Ports[k]; !c.want(p) {
					t.Errorf("%+v: %+v", c.filter, p)
				}
			}
		}
		if c.ports > 0 && all[0].Ports[0].Block != c.block {
			t.Errorf("%+v: %s is in block %q, want %q", c.filter, all[0].Name, all[0].Ports[0].Block, c.block)
		}
	}
	one := rows[ctl.Host](t, s, ctl.Hosts, ctl.Filter{Name: "host-2-04", Rails: []int{8}})
	if len(one) != 1 || len(one[0].Ports) != 1 || one[0].Ports[0].Device != "mlx5_7" {
		t.Errorf("%+v", one)
	}
	if again := rows[ctl.Host](t, s, ctl.Hosts, ctl.Filter{Name: "host-2-04"}); len(again[0].Ports) != 8 {
		t.Errorf("a list of a rail changed that of all: %+v", again)
	}
}

func guidIn(t *testing.T, text string) mad.GUID {
	t.Helper()
	guid, err := mad.ParseGUID(text)
	if err != nil {
		t.Fatal(err)
	}
	return guid
}

// TestHostNames: names and patterns mean the hosts that they mean in partitions.conf, and no others. All adapters are
// listed once, and those of two nodes with one NodeDescription are marked.
func TestHostNames(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 0))
	words := []string{"node1", "node2", "node01", "rack1-a", "rack1-b", "x", "", " ", "nodé", "Node1", "a[1]", "*"}
	devices := []string{"", " mlx5_0", " mlx5_1", "  HCA-1 ", " mlx5 port"}
	patterns := []string{"node1", "node[1-9]", "node[01-09]", "rack1-*", "*", "?", "node*", "nowhere*"}
	for range 50 {
		s := newSubnet(newView(t, "fattree:k=4"), nil)
		topology := s.view.Topo
		for i := range topology.Nodes {
			n := &topology.Nodes[i]
			n.Info.SetSystemImageGUID(mad.GUID(rng.IntN(4)))
			n.Desc.Set(words[rng.IntN(len(words))] + devices[rng.IntN(len(devices))])
		}
		nodes := map[string][]string{} // GUIDs by description
		for _, n := range rows[ctl.Node](t, s, ctl.Nodes, ctl.Filter{Type: "CA"}) {
			nodes[strings.TrimSpace(n.Desc)] = append(nodes[strings.TrimSpace(n.Desc)], n.GUID)
		}
		for _, pattern := range append([]string{""}, patterns...) {
			var got, want []string // ports
			list, err := s.Rows(ctl.Hosts, ctl.Filter{Name: pattern})
			if errors.Is(err, ctl.ErrNotFound) && pattern == "node1" {
				continue
			} else if err != nil {
				t.Fatalf("%q: %v", pattern, err)
			}
			for row := range list {
				h := row.(*ctl.Host)
				if h.Shared != "" && (len(nodes[h.Shared]) < 2 || ctl.HostName(h.Shared) != h.Name) {
					t.Errorf("%+v, of %q", h, nodes[h.Shared])
				}
				for i := range h.Ports {
					if h.Shared == "" || pattern == "" {
						got = append(got, h.Ports[i].GUID)
					}
				}
			}
			for _, p := range topology.EndPorts {
				is := topology.Nodes[topology.Ports[p].Node].Type == mad.CA
				if pattern != "" {
					is = isMember(t, topology, p, pattern)
				}
				if is {
					want = append(want, topology.Ports[p].GUID.String())
				}
			}
			slices.Sort(got)
			if slices.Sort(want); !slices.Equal(got, want) {
				t.Errorf("%q: %q, want %q", pattern, got, want)
			}
		}
	}
}

// isMember reports whether a port is a member of a partition that lists a pattern.
func isMember(t *testing.T, topology *topo.Topo, p topo.PortIdx, pattern string) bool {
	t.Helper()
	policy, errs, _ := partitions.Parse("p", []byte("A=1, defmember=full: "+pattern+";\n")).Policy()
	if errs != nil {
		t.Fatal(errs)
	}
	return policy.Why(topology, p, 1) != nil
}

// TestHostGroups: adapters without a name, or with a shared one, are of one host if they have the same
// SystemImageGUID.
func TestHostGroups(t *testing.T) {
	s := newSubnet(newView(t, "fattree:k=4"), nil)
	cas := 0
	for i := range s.view.Topo.Nodes {
		n := &s.view.Topo.Nodes[i]
		if n.Type != mad.CA {
			continue
		}
		n.Info.SetSystemImageGUID(mad.GUID(1 + cas/2))
		switch {
		case cas < 4:
			n.Desc.Set("ConnectX Mellanox")
		case cas < 8:
			n.Desc.Set("")
		case cas < 10:
			n.Desc.Set("node mlx5_" + string(rune('0'+cas)))
			n.Info.SetSystemImageGUID(mad.GUID(100 + cas)) // as two cards have
		}
		cas++
	}
	got := map[string]int{}
	for _, h := range rows[ctl.Host](t, s, ctl.Hosts, ctl.Filter{}) {
		if name := h.Name + "/" + h.Shared + "/" + h.SystemGUID; !strings.HasPrefix(name, "host-") {
			got[name] = len(h.Ports)
		}
	}
	want := map[string]int{"ConnectX/ConnectX Mellanox/0x0000000000000001": 2,
		"ConnectX/ConnectX Mellanox/0x0000000000000002": 2, "//0x0000000000000003": 2, "//0x0000000000000004": 2,
		"node//": 2}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// TestHostileHostNames: whatever bytes descriptions have, the list is JSON that says what was meant.
func TestHostileHostNames(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 0))
	for range 50 {
		s := newSubnet(newView(t, "fattree:k=4"), nil)
		ports := 0
		for i := range s.view.Topo.Nodes {
			n := &s.view.Topo.Nodes[i]
			for j := range n.Desc {
				n.Desc[j] = []byte{byte(rng.UintN(256)), ' ', '"', '\\', '*', '[', 0x1b}[rng.IntN(7)]
			}
			if n.Type == mad.CA {
				ports++
			}
		}
		for _, h := range rows[ctl.Host](t, s, ctl.Hosts, ctl.Filter{}) {
			text, err := json.Marshal(h)
			var read ctl.Host
			if err != nil || !utf8.Valid(text) || json.Unmarshal(text, &read) != nil || !reflect.DeepEqual(read, h) {
				t.Errorf("%q, %v", text, err)
			}
			for i := range h.Ports {
				ports--
				if leaf := h.Ports[i].Leaf; strings.ContainsFunc(h.Name+h.Shared+h.Ports[i].Device+leaf.Desc,
					func(r rune) bool { return r < ' ' }) {
					t.Errorf("control characters in %+v", h)
				}
			}
		}
		if ports != 0 {
			t.Errorf("%d ports are missing", ports)
		}
	}
}

func TestHostsRefusals(t *testing.T) {
	s := newSubnet(newView(t, "fattree:k=4"), nil)
	for name, want := range map[string]error{"host-99": ctl.ErrNotFound, "a b": ctl.ErrBadRequest, "[": ctl.ErrBadRequest,
		"host-01=full": ctl.ErrBadRequest, "ALL": ctl.ErrBadRequest, "0x5": ctl.ErrBadRequest, "@g": ctl.ErrBadRequest,
		"a; B=2: host-01": ctl.ErrBadRequest, strings.Repeat("a", 65): ctl.ErrBadRequest, "\n": ctl.ErrBadRequest,
		" host-01": ctl.ErrBadRequest, "host-01,host-02": ctl.ErrBadRequest, "nowhere*": nil} {
		if _, err := s.Rows(ctl.Hosts, ctl.Filter{Name: name}); !errors.Is(err, want) {
			t.Errorf("%q: %v", name, err)
		}
	}
	for device, want := range map[string]error{"mlx5_[": ctl.ErrBadRequest, "mlx5_]": ctl.ErrBadRequest, "": ctl.ErrBadRequest,
		"mlx5_[a]": ctl.ErrBadRequest, strings.Repeat("a", 65): ctl.ErrBadRequest, "mlx5_[7-1]": ctl.ErrBadRequest,
		"mlx4*": nil} {
		if _, err := s.Rows(ctl.Hosts, ctl.Filter{Devices: []string{"*", device}}); !errors.Is(err, want) {
			t.Errorf("device %q: %v", device, err)
		}
	}
	if _, err := s.Rows(ctl.Hosts, ctl.Filter{Rails: []int{1}}); !errors.Is(err, ctl.ErrNotFound) ||
		!strings.Contains(err.Error(), "no rail 1; ibsmctl rails lists its 0 rails") {
		t.Errorf("a rail of a subnet without rails: %v", err)
	}
}

// BenchmarkHosts lists the hosts of a subnet of 11,664: at first, when they are known, and one of them.
func BenchmarkHosts(b *testing.B) {
	v := viewtest.New(b, "fattree:k=36", 0)
	list := func(b *testing.B, s *subnet, name string, devices []string) (hosts, bytes int) {
		rows, err := s.Rows(ctl.Hosts, ctl.Filter{Name: name, Devices: devices})
		if err != nil {
			b.Fatal(err)
		}
		for row := range rows {
			text, err := json.Marshal(row)
			if err != nil {
				b.Fatal(err)
			}
			hosts, bytes = hosts+1, bytes+len(text)
		}
		return hosts, bytes
	}
	for _, c := range []struct {
		name, host string
		first      bool
		devices    []string
	}{{name: "first", first: true}, {name: "again"}, {name: "one", host: "host-00017"},
		{name: "chosen", devices: []string{"mlx5_[0-7]"}}} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			s, hosts, bytes := newSubnet(v, nil), 0, 0
			list(b, s, c.host, c.devices)
			for b.Loop() {
				if c.first {
					s = newSubnet(v, nil)
				}
				hosts, bytes = list(b, s, c.host, c.devices)
			}
			b.ReportMetric(float64(bytes), "reply-bytes")
			b.ReportMetric(float64(hosts), "hosts")
		})
	}
}
