package routing_test

import (
	"slices"
	"testing"

	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/routing"
	"ibsm/routing/quality"
	"ibsm/routing/routingtest"
	"ibsm/topo"
)

// TestTenants: who exchanges packets with whom, beside what tables say about each pair.
func TestTenants(t *testing.T) {
	const limited = mad.DefaultPKey &^ mad.FullMember
	for name, c := range map[string]struct {
		keys    func(host int) []mad.PKey // of 16 hosts
		all     bool                      // exchange packets
		members int                       // partitions of two full members or more
	}{
		"one partition": {func(int) []mad.PKey { return []mad.PKey{mad.DefaultPKey} }, true, 0},
		"other orders": {func(i int) []mad.PKey {
			return [][]mad.PKey{{mad.DefaultPKey, 0x8001}, {0x8001, 0, mad.DefaultPKey}}[i%2]
		}, true, 0},
		"halves": {func(i int) []mad.PKey { return []mad.PKey{limited, 0x8001 + mad.PKey(i%2)} }, false, 2},
		"servers": {func(i int) []mad.PKey {
			return []mad.PKey{0x8001 + mad.PKey(i%2), []mad.PKey{0x0005, 0x8005}[i/14]}
		}, false, 3},
		"one is in both": {func(i int) []mad.PKey {
			return [][]mad.PKey{{0x8001}, {0x8002}, {0x8001, 0x8002}}[min(i, 15-i, 2)]
		}, false, 2},
		"one is not known": {func(i int) []mad.PKey {
			return [][]mad.PKey{{0x8001}, {0x8002}, nil}[min(i%2+2*(i/15), 2)]
		}, false, 2},
		"a manager": {func(i int) []mad.PKey {
			return [][]mad.PKey{{mad.DefaultPKey, 0x8001}, {limited, 0x8001}, {limited, 0x8002}}[min(i, 1+i%2)]
		}, false, 2},
		"storage, for which a host in eight is full": {func(i int) []mad.PKey {
			return [][]mad.PKey{{0x0005, 0x8001}, {0x0005, 0x8002}, {0x8005}}[max(i%2, i/14*2)]
		}, false, 3},
		"few servers": {func(i int) []mad.PKey {
			return [][]mad.PKey{{0x8005}, {0x8001}, {0x0005, 0x8002}}[min(i/2, 1+i%2)]
		}, false, 3},
		"nobody has tenant": {func(i int) []mad.PKey {
			return []mad.PKey{[]mad.PKey{mad.DefaultPKey, limited}[min(i, 1)]}
		}, true, 0},
	} {
		in := routingtest.Problem(t, "fattree:k=4")
		hosts, tables := quality.Hosts(in.Topo, in.LIDs), map[topo.PortIdx]*topo.PKeyTable{}
		for i, p := range hosts {
			if keys := c.keys(i); keys != nil {
				tables[p] = topo.NewPKeyTable(keys)
			}
		}
		got := routing.NewTenants(in.Topo, func(p topo.PortIdx) *topo.PKeyTable { return tables[p] })
		if (got == nil) != c.all || len(got.Members(hosts)) != c.members {
			t.Errorf("%s: %+v, %d partitions", name, got, len(got.Members(hosts)))
			continue
		}
		sources := got.Sources(in.Topo)
		want := make([]map[topo.SwitchIdx]uint32, len(hosts))
		for i, a := range hosts {
			want[i] = map[topo.SwitchIdx]uint32{}
			for _, b := range hosts {
				talk := c.all || tables[a] == nil || tables[b] == nil
				if !talk {
					_, talk = tables[a].Common(tables[b])
				}
				if name == "a manager" && (a == hosts[0] || b == hosts[0]) { // it sends to others for management alone
					talk = a == hosts[0] && tables[b].Has(0x8001) || b == hosts[0] && tables[a].Has(0x8001)
				}
				if got.Talk(got.Class(a), got.Class(b)) != talk || got.Talk(got.Class(b), got.Class(a)) != talk {
					t.Errorf("%s: ports %d and %d: not %v", name, a, b, talk)
				}
				if talk {
					want[i][in.Topo.SwitchOf(b)]++
				}
			}
			for s, count := range sources[got.Class(a)] {
				if want[i][topo.SwitchIdx(s)] != count {
					t.Errorf("%s: %d ports of switch %d send to port %d, want %d", name, count, s, a,
						want[i][topo.SwitchIdx(s)])
				}
			}
		}
		for _, members := range got.Members(hosts) {
			if !slices.IsSorted(members) && !slices.ContainsFunc(members, func(p topo.PortIdx) bool {
				return !slices.Contains(hosts, p)
			}) {
				t.Errorf("%s: members %v", name, members)
			}
		}
	}
}

// TestManagementPartition: the partition of most hosts, as limited members, carries nothing if its full members are
// ports of subnet managers. Storage that few hosts serve is not such a partition.
func TestManagementPartition(t *testing.T) {
	in := routingtest.Problem(t, "fattree:k=12")
	hosts := quality.Hosts(in.Topo, in.LIDs)
	full := hosts[len(hosts)-3:]
	tenants := func() *routing.Tenants {
		return routing.NewTenants(in.Topo, func(p topo.PortIdx) *topo.PKeyTable {
			if slices.Contains(full, p) {
				return topo.NewPKeyTable([]mad.PKey{0x8001})
			}
			return topo.NewPKeyTable([]mad.PKey{0x0001, 0x8010 + mad.PKey(p/2%2)})
		})
	}
	if got := tenants(); got.Classes() != 3 || !got.Talk(got.Class(hosts[0]), got.Class(full[0])) {
		t.Errorf("3 servers of %d hosts: hosts do not send to them", len(hosts))
	}
	for i, p := range full {
		if got := tenants(); !got.Talk(got.Class(hosts[0]), got.Class(full[0])) {
			t.Errorf("%d of the servers have a subnet manager: hosts do not send to the others", i)
		}
		info := &in.Topo.Ports[p].Info
		info.SetCapabilityMask(info.CapabilityMask() | smp.IsSM)
	}
	if got := tenants(); got.Talk(got.Class(hosts[0]), got.Class(full[0])) {
		t.Error("hosts send to subnet managers in the partition for management")
	}
}

// BenchmarkSources is of the largest number of classes that nearly all exchange packets.
func BenchmarkSources(b *testing.B) {
	in := routingtest.Problem(b, "fattree:k=54")
	table := map[int]*topo.PKeyTable{}
	for b.Loop() {
		tenants := routing.NewTenants(in.Topo, func(p topo.PortIdx) *topo.PKeyTable {
			i := int(p) / 2 % 1000
			if table[i] == nil {
				table[i] = topo.NewPKeyTable([]mad.PKey{[]mad.PKey{0x8001, 0x8002}[min(i, 1)], 0x8010 + mad.PKey(i)})
			}
			return table[i]
		})
		tenants.Sources(in.Topo)
		b.ReportMetric(float64(tenants.Classes()), "classes")
	}
}

// BenchmarkTalk is of 1000 classes of ports that are in many partitions together.
func BenchmarkTalk(b *testing.B) {
	in := routingtest.Problem(b, "fattree:k=24")
	tables := make([]*topo.PKeyTable, 1000)
	for i := range tables {
		keys := []mad.PKey{0x9000 + mad.PKey(i)}
		for k := range mad.PKey(100) {
			if i > 0 || k > 0 {
				keys = append(keys, 0x8100+k)
			}
		}
		tables[i] = topo.NewPKeyTable(keys)
	}
	tables[0] = topo.NewPKeyTable([]mad.PKey{0x8001})
	for b.Loop() {
		got := routing.NewTenants(in.Topo, func(p topo.PortIdx) *topo.PKeyTable { return tables[int(p)/2%len(tables)] })
		b.ReportMetric(float64(got.Classes()), "classes")
	}
}

// TestManyTenants: with a partition of its own for each host, beside that of a half, there are too many classes in a
// large subnet, and nobody is kept apart.
func TestManyTenants(t *testing.T) {
	alone := func(p topo.PortIdx) *topo.PKeyTable {
		return topo.NewPKeyTable([]mad.PKey{mad.PKey(0x8001 + p/2%2), mad.PKey(0x8010 + p)})
	}
	if got := routing.NewTenants(routingtest.Problem(t, "fattree:k=36,levels=2").Topo, alone); got == nil ||
		got.Classes() != 648 {
		t.Errorf("%d classes", got.Classes())
	}
	if got := routing.NewTenants(routingtest.Problem(t, "fattree:k=18").Topo, alone); got != nil {
		t.Errorf("%d classes", got.Classes())
	}
}
