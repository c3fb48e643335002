package engines

import (
	"slices"
	"testing"

	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/partitions"
	"ibsm/routing/portgroups"
	"ibsm/topo"
	"ibsm/topo/net"
	"ibsm/topo/netwalk"
)

// walked is a generated subnet in which change has been made.
func walked(t *testing.T, change func(n *net.Net)) *topo.Topo {
	t.Helper()
	n, err := net.Generate("fattree:k=4,levels=2,devices=ideal")
	if err != nil {
		t.Fatal(err)
	}
	change(n)
	found, err := netwalk.Topo(n, net.NoEnd)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// unplug takes the cables of a node away.
func unplug(n *net.Net, desc string) {
	for i := range n.Nodes {
		if n.Nodes[i].Desc != desc {
			continue
		}
		for num := range n.Nodes[i].Ports {
			if peer := n.Nodes[i].Ports[num].Peer; peer.Node >= 0 && num > 0 {
				n.Nodes[i].Ports[num].Peer = net.NoEnd
				n.Nodes[peer.Node].Ports[peer.Port].Peer = net.NoEnd
			}
		}
	}
}

// rename gives a node another description.
func rename(n *net.Net, from, to string) {
	for i := range n.Nodes {
		if n.Nodes[i].Desc == from {
			n.Nodes[i].Desc = to
		}
	}
}

// listOf is a list of GUIDs and of a group of some lines.
func listOf(t *testing.T, lines string, guids ...mad.GUID) *portgroups.List {
	t.Helper()
	groups, errors, _ := portgroups.Parse("p", []byte("port-group\nname: g\n"+lines+"\nend-port-group\n"))
	if errors != nil {
		t.Fatal(errors)
	}
	l := &portgroups.List{}
	for _, guid := range guids {
		l.Items = append(l.Items, portgroups.Item{GUID: guid})
	}
	l.Items = append(l.Items, portgroups.Item{Group: groups[0]})
	return l
}

// TestMembersChanged: what comes and goes is no change, as with the GUIDs in the file; what comes into a group or
// leaves it while it is there is one.
func TestMembersChanged(t *testing.T) {
	same := func(*net.Net) {}
	first := walked(t, same)
	descs := []string{}
	for i := range first.Nodes {
		descs = append(descs, first.Nodes[i].Desc.String())
	}
	host, other, spine := "", "", ""
	for i := range first.Nodes {
		switch n := &first.Nodes[i]; {
		case n.Type == mad.CA && topo.NodeIdx(i) != first.Ports[first.Self].Node && host == "":
			host = descs[i]
		case n.Type == mad.CA && topo.NodeIdx(i) != first.Ports[first.Self].Node:
			other = descs[i]
		case n.Type == mad.Switch:
			spine = descs[i]
		}
	}
	for what, c := range map[string]struct {
		change  func(*net.Net)
		changed bool
	}{
		"nothing":                {same, false},
		"a member has gone":      {func(n *net.Net) { unplug(n, host) }, false},
		"another node has gone":  {func(n *net.Net) { unplug(n, other) }, false},
		"a member has left":      {func(n *net.Net) { rename(n, host, "idle") }, true},
		"a node has joined":      {func(n *net.Net) { rename(n, other, "io-1") }, true},
		"a root has left":        {func(n *net.Net) { rename(n, spine, "leaf") }, true},
		"a node is called other": {func(n *net.Net) { rename(n, other, "x") }, false},
	} {
		for name, set := range map[string]func(*Settings, *portgroups.List){
			"compute": func(s *Settings, l *portgroups.List) { s.Lists.Compute = l },
			"io":      func(s *Settings, l *portgroups.List) { s.Lists.IO = l },
			"order":   func(s *Settings, l *portgroups.List) { s.Lists.Order = l },
		} {
			s := &Settings{}
			set(s, listOf(t, "port-regexp: ^("+host+"|io-1)$", 0x77777))
			s.Lists.Roots = listOf(t, "port-regexp: ^"+spine+"$")
			chain, err := New([]string{"updn", "sssp", "auto"}, s)
			if err != nil {
				t.Fatal(err)
			}
			_, before := chain.WithMembers(first, nil, nil)
			resolved, after := chain.WithMembers(walked(t, c.change), nil, before)
			for _, m := range [][2]*Members{{before, after}, {after, before}} {
				if got := m[1].Changed(m[0]); got != c.changed {
					t.Errorf("%s, %s: changed %t", what, name, got)
				}
			}
			if resolved.Grouped() || after.Changed(nil) {
				t.Errorf("%s: groups are left, or a first time is a change", what)
			}
		}
	}
}

// TestMembersAgain: the members of groups are found again where anything that they depend on is another thing, and only
// there.
func TestMembersAgain(t *testing.T) {
	sub := walked(t, func(*net.Net) {})
	tables := func(file string) *partitions.Tables {
		policy, errors, _ := partitions.Parse("partitions.conf", []byte(file)).Policy()
		if policy == nil {
			t.Fatal(errors)
		}
		return partitions.Compile(policy, partitions.Settings{}, sub, nil)
	}
	port := sub.Ports[sub.EndPorts[0]].GUID.String()
	few, many := tables("Default=0x7fff:ALL=full;\nblue=5:"+port+"=full;\n"),
		tables("Default=0x7fff:ALL=full;\nblue=5:ALL=full;\n")
	for _, c := range []struct {
		lines string
		first *topo.Topo
		parts [2]*partitions.Tables
		again bool
	}{
		{"port-regexp: .", sub, [2]*partitions.Tables{few, few}, false},
		{"port-regexp: .", sub, [2]*partitions.Tables{few, many}, false},
		{"port-regexp: .", walked(t, func(n *net.Net) { unplug(n, "host-05 mlx5_0") }), [2]*partitions.Tables{}, true},
		{"port-regexp: .", walked(t, func(n *net.Net) {
			rename(n, n.Nodes[0].Desc, "x")
		}), [2]*partitions.Tables{}, true},
		{"partition: blue", sub, [2]*partitions.Tables{few, many}, true},
		{"subtract-rule: ALL, h\nend-port-group\nport-group\nname: h\npkey: 5", sub, [2]*partitions.Tables{few, many},
			true},
	} {
		s := &Settings{Lists: Lists{Compute: listOf(t, c.lines)}}
		chain, _ := New([]string{"sssp"}, s)
		_, before := chain.WithMembers(c.first, c.parts[0], nil)
		_, fresh := chain.WithMembers(sub, c.parts[1], nil)
		_, after := chain.WithMembers(sub, c.parts[1], before)
		if again := len(after.compute) == 0 || len(before.compute) == 0 ||
			&after.compute[0] != &before.compute[0]; again != c.again || !slices.Equal(after.compute, fresh.compute) ||
			after.topo != sub {
			t.Errorf("%s: found again %t, %d members, %d by a first search", c.lines, again, len(after.compute),
				len(fresh.compute))
		}
		other, _ := New([]string{"sssp"}, &Settings{Lists: Lists{Compute: listOf(t, "port-guid: "+port)}})
		if _, m := other.WithMembers(sub, nil, before); len(m.compute) != 1 {
			t.Error("the members of other groups")
		}
	}
}

// BenchmarkMembersAgain is what port groups cost a sweep that finds the nodes as they were, of 11,664 hosts and 1,620
// switches.
func BenchmarkMembersAgain(b *testing.B) {
	n, err := net.Generate("fattree:k=36")
	if err != nil {
		b.Fatal(err)
	}
	sub, err := netwalk.Topo(n, net.NoEnd)
	if err != nil {
		b.Fatal(err)
	}
	groups, _, _ := portgroups.Parse("p", []byte("port-group\nname: roots\nport-regexp: ^spine\nend-port-group\n"))
	chain, _ := New([]string{"updn"},
		&Settings{Lists: Lists{Roots: &portgroups.List{Items: []portgroups.Item{{Group: groups[0]}}}}})
	_, before := chain.WithMembers(sub, nil, nil)
	for b.Loop() {
		_, before = chain.WithMembers(sub, nil, before)
	}
}

// TestAutoMembers: the engines that auto stands for get the members of groups, as each engine of a list does.
func TestAutoMembers(t *testing.T) {
	sub := walked(t, func(*net.Net) {})
	var switches, ports []mad.GUID
	for _, n := range sub.Switches {
		switches = append(switches, sub.Nodes[n].GUID)
	}
	for _, p := range sub.EndPorts {
		if sub.Nodes[sub.Ports[p].Node].Type == mad.CA {
			ports = append(ports, sub.Ports[p].GUID)
		}
	}
	listed, grouped := &Settings{}, &Settings{Lists: Lists{
		Roots: listOf(t, "node-type: SWITCH"), Compute: listOf(t, "union-rule: all_cas"),
		IO: listOf(t, "port-regexp: nothing"), Order: listOf(t, "node-type: CA", ports[2]),
	}}
	listed.SetRoots(switches)
	listed.SetCompute(ports)
	listed.SetIO(nil)
	order := []mad.GUID{ports[2]}
	for _, p := range sub.EndPorts { // in the order of the nodes, which is that of their ports here
		if guid := sub.Ports[p].GUID; sub.Nodes[sub.Ports[p].Node].Type == mad.CA && guid != ports[2] {
			order = append(order, guid)
		}
	}
	listed.SetOrder(order)
	list := []string{"auto", "updn", "ftree", "sssp", "dfsssp", "minhop"}
	want, _ := New(list, listed)
	chain, _ := New(list, grouped)
	if chain.Equal(want) {
		t.Fatal("groups are their members before there is a subnet")
	}
	got, m := chain.WithMembers(sub, nil, nil)
	if !got.Equal(want) || len(m.Unmatched) != 1 || m.Unmatched[0].Text != "description nothing" {
		t.Errorf("the chain has other members, or %+v", m)
	}
	got, _ = got.For(sub)
	if want, _ := want.For(sub); !got.Equal(want) || len(got) <= len(list) {
		t.Errorf("%v, want %v", got, want)
	}
}

// TestRegroups: descriptions count that a rule of a group that is used distinguishes, also through other groups.
func TestRegroups(t *testing.T) {
	sub := walked(t, func(*net.Net) {})
	guid := sub.Nodes[0].GUID
	desc := func(text string) map[mad.GUID]smp.NodeDescription {
		var d smp.NodeDescription
		copy(d[:], text)
		return map[mad.GUID]smp.NodeDescription{guid: d, 0x123456: d}
	}
	now := sub.Nodes[0].Desc.String()
	many := map[mad.GUID]smp.NodeDescription{}
	for i := range mad.GUID(maxCompared + 1) {
		many[1<<40+i] = smp.NodeDescription{}
	}
	for _, c := range []struct {
		lines   string
		descs   map[mad.GUID]smp.NodeDescription
		changed bool
	}{
		{"port-regexp: ^spare", desc("spare"), true},
		{"port-regexp: ^spare", desc("other"), false},
		{"port-name: spare/P1", desc("spare"), true},
		{"port-name: hostname=spare; hca_idx=2", desc("spare HCA-2"), true},
		{"port-name: hostname=spare; hca_idx=2", desc("spare HCA-1"), false},
		{"subtract-rule: ALL, h\nend-port-group\nport-group\nname: h\nport-regexp: ^spare", desc("spare"), true},
		{"port-regexp: .", desc(now), false},
		{"node-type: CA", desc("spare"), false},
		{"node-type: CA", many, false},
		{"port-regexp: ^spare", many, true},
	} {
		s := &Settings{Lists: Lists{IO: listOf(t, c.lines)}}
		chain, _ := New([]string{"sssp"}, s)
		if got := chain.Regroups(sub, c.descs); got != c.changed {
			t.Errorf("%s: %t", c.lines, got)
		}
	}
	plain, _ := New([]string{"sssp"}, &Settings{})
	if plain.Regroups(sub, many) || plain.Grouped() {
		t.Error("a chain without groups")
	}
}

// TestSettingsEqual: groups count by what they list.
func TestSettingsEqual(t *testing.T) {
	with := func(lines string) *Settings { return &Settings{Lists: Lists{Roots: listOf(t, lines)}} }
	a := with("port-regexp: x")
	if !a.Equal(with("use: another text\nport-regexp: x")) || a.Equal(with("port-regexp: xy")) || a.Equal(&Settings{}) {
		t.Error("settings")
	}
	chain := func(s *Settings) Chain { c, _ := New([]string{"updn", "auto"}, s); return c }
	if !chain(a).Equal(chain(with("port-regexp:   x"))) || chain(a).Equal(chain(with("port-regexp: xy"))) ||
		chain(a).Equal(chain(&Settings{})) {
		t.Error("chains")
	}
}
