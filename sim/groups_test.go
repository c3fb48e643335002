package sim_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"ibsm/mad"
	"ibsm/manager"
	"ibsm/routing/portgroups"
	"ibsm/sim/fabric"
	"ibsm/sweep/engines"
	"ibsm/topo/net"
	"ibsm/topo/net/nettest"
)

// groupOf is a group of some lines.
func groupOf(t *testing.T, lines string) *portgroups.Group {
	t.Helper()
	groups, errors, _ := portgroups.Parse("groups", []byte("port-group\nname: chosen\n"+lines+"\nend-port-group\n"))
	if errors != nil {
		t.Fatal(errors)
	}
	return groups[0]
}

// withGroup are settings of engines with a group in place of GUIDs.
func withGroup(t *testing.T, list func(*engines.Settings, *portgroups.List), lines string) (s engines.Settings) {
	s.SetRoots(nil)
	list(&s, &portgroups.List{Items: []portgroups.Item{{Group: groupOf(t, lines)}}})
	return s
}

func roots(s *engines.Settings, l *portgroups.List)   { s.Lists.Roots = l }
func compute(s *engines.Settings, l *portgroups.List) { s.Lists.Compute = l }

// nodesOf are the nodes with descriptions, and their GUIDs.
func nodesOf(t *testing.T, n *net.Net, names ...string) (nodes []int32, guids []mad.GUID) {
	t.Helper()
	for _, name := range names {
		i := slices.IndexFunc(n.Nodes, func(o net.Node) bool { return o.Desc == name })
		if i < 0 {
			t.Fatalf("no node %s", name)
		}
		nodes, guids = append(nodes, int32(i)), append(guids, n.Nodes[i].GUID)
	}
	return nodes, guids
}

// TestPortGroups: roots by a group give the tables that they give by their GUIDs, at first and after each event: a
// member comes later, goes, and comes back, and so does a host.
func TestPortGroups(t *testing.T) {
	n := nettest.Generate(t, "fattree:k=4")
	spines, guids := nodesOf(t, n, "spine-01", "spine-02", "spine-03")
	var listed engines.Settings
	listed.SetRoots(guids)
	grouped := withGroup(t, roots, "port-regexp: ^spine-0[1-3]$")
	var all []*harness
	for _, s := range []engines.Settings{listed, grouped} {
		b := newHarness(t, n, fabric.Config{Seed: 1})
		b.Fabric.NodeDown(spines[2])
		m := b.comeUp(chainConfig(t, s, "updn", "no_fallback"))
		if m.View.Routing.Engine != "updn" {
			t.Fatalf("%+v", m.View.Routing)
		}
		all = append(all, b)
	}
	last := host(n, 7).Node
	for _, e := range []struct {
		what string
		do   func(f *fabric.Fabric)
	}{
		{"at first", func(*fabric.Fabric) {}},
		{"a member comes", func(f *fabric.Fabric) { f.NodeUp(spines[2]) }},
		{"a member goes", func(f *fabric.Fabric) { f.NodeDown(spines[0]) }},
		{"a host goes", func(f *fabric.Fabric) { f.NodeDown(last) }},
		{"a member is back", func(f *fabric.Fabric) { f.NodeUp(spines[0]) }},
		{"a host is back", func(f *fabric.Fabric) { f.NodeUp(last) }},
	} {
		for _, b := range all {
			e.do(b.Fabric)
			b.pass(settling)
		}
		if c := changed(all[0].lfts(), all[1].lfts()); len(c) > 0 {
			t.Errorf("%s: tables differ: %v", e.what, c)
		}
	}
}

// TestRenamedMember: a node that gets a description by which it is in a group is a member without any further event,
// and one that has none any more is not. What the group does not go by changes nothing.
func TestRenamedMember(t *testing.T) {
	n := nettest.Generate(t, "fattree:k=4")
	nodes, guids := nodesOf(t, n, "spine-01", "spine-02", "spine-03")
	by := func(guids ...mad.GUID) map[int32][]uint8 {
		var s engines.Settings
		s.SetRoots(guids)
		b := newHarness(t, n, fabric.Config{Seed: 1})
		b.comeUp(chainConfig(t, s, "updn", "no_fallback"))
		return b.lfts()
	}
	two, three := by(guids[:2]...), by(guids...)
	if len(changed(two, three)) == 0 {
		t.Fatal("the third root does not matter, and the test finds nothing")
	}
	b := newHarness(t, n, fabric.Config{Seed: 1})
	m := b.comeUp(chainConfig(t, withGroup(t, roots, "port-regexp: ^(spine-01|spine-02|root)"), "updn", "no_fallback"))
	for _, c := range []struct {
		name string
		want map[int32][]uint8
	}{{"spine-03", two}, {"root-03", three}, {"root-3", three}, {"spare", two}} {
		before := len(m.ups)
		b.Fabric.SetNodeDescription(nodes[2], c.name)
		b.pass(settling)
		if d := changed(c.want, b.lfts()); len(d) > 0 {
			t.Errorf("%s: %v entries are other ones", c.name, d)
		}
		if c.name == "root-3" && len(m.ups) > before {
			t.Error("a sweep for a description that changes no membership")
		}
	}
}

// TestRegrouped: when hosts come into a group, the routes are those that a reroute makes, also by an engine that keeps
// to its own tables.
func TestRegrouped(t *testing.T) {
	for _, engine := range []string{"tree", "auto", "sssp"} {
		n := nettest.Generate(t, "fattree:k=4")
		b := newHarness(t, n, fabric.Config{Seed: 1})
		m := b.comeUp(chainConfig(t, withGroup(t, compute, "port-regexp: ^io"), engine, "no_fallback"))
		before := b.lfts()
		for _, i := range []int{1, 6, 11} {
			b.Fabric.SetNodeDescription(host(n, i).Node, fmt.Sprint("io-", i))
		}
		b.pass(settling)
		regrouped := b.lfts()
		if len(changed(before, regrouped)) == 0 {
			t.Errorf("%s: the routes are as before", engine)
		}
		b.Ask(m.Manager, manager.Reroute)
		b.pass(settling)
		if c := changed(regrouped, b.lfts()); len(c) > 0 {
			t.Errorf("%s: a reroute changes %v", engine, c)
		}
	}
}

// TestFlippingMember: a host that comes into a group and leaves it again and again has no more sweeps than one that
// sends traps.
func TestFlippingMember(t *testing.T) {
	n := nettest.Generate(t, "fattree:k=4")
	b := newHarness(t, n, fabric.Config{Seed: 1})
	m := b.comeUp(chainConfig(t, withGroup(t, compute, "port-regexp: ^io"), "sssp", "no_fallback"))
	before, began := len(m.ups), b.Fabric.Now()
	for i := range 200 {
		b.Fabric.SetNodeDescription(host(n, 5).Node, []string{"io-5", "idle"}[i%2])
		b.pass(100*time.Millisecond + time.Duration(i)*time.Millisecond)
	}
	seconds := int((b.Fabric.Now() - began) / time.Second)
	if got := len(m.ups) - before; got < 3 || got > seconds+10 {
		t.Errorf("%d sweeps in %d s", got, seconds)
	}
}

// TestGroupsKeepRoutes: routes that were found stay, whatever groups say, and members that come and go change no more
// than their GUIDs in a file would.
func TestGroupsKeepRoutes(t *testing.T) {
	n := nettest.Generate(t, "fattree:k=4")
	b := newHarness(t, n, fabric.Config{Seed: 1})
	m := b.comeUp(minhopConfig())
	m.retire()
	before := b.lfts()
	nodes, _ := nodesOf(t, n, "spine-03")
	m = b.add(host(n, 3), chainConfig(t, withGroup(t, roots, "port-regexp: ^(spine-01|root)"), "updn", "no_fallback"))
	b.pass(settling)
	b.Fabric.SetNodeDescription(nodes[0], "root-03")
	b.pass(settling)
	if c := changed(before, b.lfts()); len(c) > 0 || !m.View.Routing.Kept {
		t.Errorf("routes of another manager change: %v, %+v", c, m.View.Routing)
	}
	m.sweep(manager.Reroute)
	b.pass(settling)
	if m.View.Routing.Kept || len(changed(before, b.lfts())) == 0 {
		t.Error("a reroute does not use the groups")
	}
}

// TestUnmatchedGroups: rules that no port matches, and groups without a switch where switches are wanted, are logged
// once.
func TestUnmatchedGroups(t *testing.T) {
	n := nettest.Generate(t, "fattree:k=4")
	b := newHarness(t, n, fabric.Config{Seed: 1})
	s := withGroup(t, roots, "port-regexp: ^spine\nport-guid: 0x999999\nport-regexp: nothing$")
	s.Lists.Roots.Items = append(s.Lists.Roots.Items, portgroups.Item{Group: groupOf(t, "node-type: CA")})
	m := b.comeUp(chainConfig(t, s, "updn", "no_fallback"))
	m.sweep(manager.Heavy)
	if got := m.says("WARN", "rules that match no port", "detail 2, the first is port GUID 0x0000000000999999",
		"groups:4:1"); got != 1 {
		t.Errorf("%d lines about rules", got)
	}
	if got := m.says("WARN", "a port group in root_guid_file contains no switch", "chosen"); got != 1 {
		t.Errorf("%d lines about a group", got)
	}
}

// TestComputeGroup: compute nodes by partition, pattern or type give the tables of their GUIDs.
func TestComputeGroup(t *testing.T) {
	n := nettest.Generate(t, "fattree:k=4")
	names := []string{}
	for i := range 5 {
		names = append(names, n.Nodes[host(n, 3+i).Node].Desc)
	}
	nodes, _ := nodesOf(t, n, names...)
	var guids []mad.GUID
	lines := "port-name: "
	for i, node := range nodes {
		guids = append(guids, n.Nodes[node].Ports[1].GUID)
		if i > 0 {
			lines += ", "
		}
		lines += fmt.Sprintf("%s/P1", names[i])
	}
	var listed engines.Settings
	listed.SetCompute(guids)
	var tables []map[int32][]uint8
	for _, s := range []engines.Settings{listed, withGroup(t, compute, lines), {}} {
		b := newHarness(t, n, fabric.Config{Seed: 1})
		b.comeUp(chainConfig(t, s, "sssp", "no_fallback"))
		tables = append(tables, b.lfts())
	}
	if c := changed(tables[0], tables[1]); len(c) > 0 {
		t.Errorf("tables differ: %v", c)
	}
	if len(changed(tables[0], tables[2])) == 0 {
		t.Error("the file does not matter, and the test finds nothing")
	}
}
