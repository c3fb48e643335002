package partitions

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"ibsm/mad"
	"ibsm/topo"
	"ibsm/topo/net"
	"ibsm/topo/netwalk"
)

func TestGlob(t *testing.T) {
	for _, c := range []struct {
		pattern string
		yes, no []string
	}{
		{"node[001-100]", []string{"node001", "node042", "node100"},
			[]string{"node1", "node0001", "node101", "node000", "node", "xnode001"}},
		// node101 is node10 and any text
		{"node[1-100]*", []string{"node1", "node7-ib0", "node100", "node101"}, []string{"node", "node0", "node07"}},
		{"node[1-12]", []string{"node1", "node12"}, []string{"node0", "node13", "node01", "node120"}},
		{"n[7]", []string{"n7"}, []string{"n07", "n77"}},
		{"rack1-*", []string{"rack1-", "rack1-a", "rack1-a-b"}, []string{"rack1", "rack11-a"}},
		{"*-gpu?", []string{"a-gpu1", "-gpu-"}, []string{"a-gpu", "a-gpu12"}},
		{"r[01-02]n[1-2]", []string{"r01n1", "r02n2"}, []string{"r1n1", "r03n1"}},
		{"**", []string{"", "x"}, nil},
	} {
		pieces, err := parseGlob(c.pattern)
		if err != nil {
			t.Errorf("%s: %v", c.pattern, err)
		}
		for _, name := range c.yes {
			if !matches(pieces, name) {
				t.Errorf("%s does not match %q", c.pattern, name)
			}
		}
		for _, name := range c.no {
			if matches(pieces, name) {
				t.Errorf("%s matches %q", c.pattern, name)
			}
		}
	}
	start := time.Now()
	pieces, _ := parseGlob(strings.Repeat("*a", 30))
	if matches(pieces, strings.Repeat("a", 63)+"b") || time.Since(start) > time.Second {
		t.Errorf("a pattern of many * took %v", time.Since(start))
	}
}

// describedTopo is the witness fabric, whose hosts have these descriptions by the GUIDs of their nodes.
func describedTopo(t *testing.T, descs map[mad.GUID]string) *topo.Topo {
	t.Helper()
	n, err := net.Parse("witness", []byte(witnessNet))
	if err != nil {
		t.Fatal(err)
	}
	for i := range n.Nodes {
		if d := descs[n.Nodes[i].GUID]; d != "" {
			n.Nodes[i].Desc = d
		}
	}
	subnet, err := netwalk.Topo(n, net.NoEnd)
	if err != nil {
		t.Fatal(err)
	}
	return subnet
}

// Nodes and the ports of them in the witness fabric.
const host1, host2, host3, host4 = mad.GUID(0x100000), mad.GUID(0x100002), mad.GUID(0x100004), mad.GUID(0x100006)

// membersOf are the hosts that have a key of a partition.
func membersOf(tables *Tables, t *topo.Topo, key mad.PKey) (hosts []mad.GUID) {
	for _, p := range t.EndPorts {
		if _, is := tables.Want[p].Find(key); is {
			hosts = append(hosts, t.Nodes[t.Ports[p].Node].GUID)
		}
	}
	slices.Sort(hosts)
	return hosts
}

// TestMembersByName: names and patterns, ranges and groups are looked up in the subnet; a host of two adapters is a
// member with both; a later member takes precedence, as for others. A NodeDescription that two nodes have makes neither
// a member, as a host can choose the description of another one; Claims and the check of the file say so.
func TestMembersByName(t *testing.T) {
	groups := &PortGroups{
		Check: func(name string, _ bool) error {
			if name != "gpus" {
				return fmt.Errorf("no such group")
			}
			return nil
		},
		Members: func(sub *topo.Topo, _ string) []topo.PortIdx {
			return []topo.PortIdx{sub.Port(sub.FindNode(host3), 1)}
		},
	}
	names := map[mad.GUID]string{host1: "node01 mlx5_0", host2: "node01 mlx5_1", host3: "node02 HCA-1",
		host4: " rack1-a mlx5_0 "}
	for _, c := range []struct {
		members string
		descs   map[mad.GUID]string
		want    []mad.GUID
		claims  string
	}{
		{"node01", names, []mad.GUID{host1, host2}, ""},
		{"node[01-02]=full", names, []mad.GUID{host1, host2, host3}, ""},
		{"rack1-*, node02", names, []mad.GUID{host3, host4}, ""},
		{"node03", names, nil, ""},
		{"Node01", names, nil, ""}, // names are compared as they are written
		{"S1", names, nil, ""},     // a switch is no host
		{"0x100000-0x100003", names, []mad.GUID{host1, host2}, ""},
		{"@gpus", names, []mad.GUID{host3}, ""},
		{"node01, node02", map[mad.GUID]string{host1: "node01 mlx5_0", host2: "node01 mlx5_0", host3: "node02"},
			[]mad.GUID{host3}, "node01"},
		{"*", map[mad.GUID]string{host1: "a", host2: "a", host3: "b", host4: "c"}, []mad.GUID{host3, host4}, "a"},
		// blanks that nobody sees
		{"node01", map[mad.GUID]string{host1: "node01 mlx5_0", host2: "node01 mlx5_0 "}, nil, "node01"},
	} {
		f := Parse("p", []byte("A=1, defmember=full: "+c.members+";\n"))
		f.PortGroups = groups
		policy, errors, _ := f.Policy()
		if errors != nil {
			t.Errorf("%s: %v", c.members, errors)
			continue
		}
		sub := describedTopo(t, c.descs)
		tables := Compile(policy, Settings{}, sub, nil)
		if got := membersOf(tables, sub, 1); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", c.members, got, c.want)
		}
		if got := fmt.Sprint(tables.Claims); (len(tables.Claims) > 0) != (c.claims != "") ||
			!strings.Contains(got, c.claims) {
			t.Errorf("%s: claims %s", c.members, got)
		}
		if c.claims != "" && !strings.Contains(policy.Conflicts(sub).Error(), "two nodes have the NodeDescription") {
			t.Errorf("%s: the check of the file lacks the claim", c.members)
		}
		for _, p := range sub.EndPorts {
			if is := policy.Why(sub, p, 1) != nil; is != slices.Contains(c.want, sub.Nodes[sub.Ports[p].Node].GUID) {
				t.Errorf("%s: why says %t of %v", c.members, is, sub.Ports[p].GUID)
			}
		}
	}
	f := Parse("p", []byte("A=1: node*=full, node01=limited;\n"))
	policy, _, _ := f.Policy()
	sub := describedTopo(t, names)
	tables := Compile(policy, Settings{}, sub, nil)
	if key, _ := tables.Want[sub.Port(sub.FindNode(host1), 1)].Find(1); key != 1 {
		t.Errorf("the later member gives %v", key)
	}
}

// TestNamesAreRefused: where hosts are not trusted, names and groups by names are errors; groups that do not exist are
// always, where groups are known.
func TestNamesAreRefused(t *testing.T) {
	check := &PortGroups{Check: func(name string, claims bool) error {
		if name == "none" || !claims {
			return fmt.Errorf("no group for %t", claims)
		}
		return nil
	}}
	for _, c := range []struct {
		member  string
		noNames bool
		groups  *PortGroups
		want    string
	}{
		{"node01", true, nil, "a host chooses its own"},
		{"rack*", true, nil, "a host chooses its own"},
		{"0x1-0x5", true, nil, ""},
		{"@gpus", true, check, "no group for false"},
		{"@gpus", false, check, ""},
		{"@none", false, check, "no group for true"},
		{"@none", false, nil, ""},
		{"ALLL", false, nil, "did you mean ALL?"},
		{"selff", false, nil, "did you mean SELF?"},
		{"deadbeef00", false, nil, "did you mean 0xdeadbeef00?"},
		{"cafe", false, nil, ""},
		{"node[9-1]", false, nil, "neither a port GUID"},
		{"no de", false, nil, "neither a port GUID"},
	} {
		f := Parse("p", []byte("A=1: SELF=full, "+c.member+";\n"))
		f.NoNames, f.PortGroups = c.noNames, c.groups
		if _, errors, _ := f.Policy(); (errors == nil) != (c.want == "") || errors != nil &&
			!strings.Contains(errors.Error(), c.want) {
			t.Errorf("%s: %v, want %s", c.member, errors, c.want)
		}
	}
}

// TestForeignAsOpenSM: OpenSM refuses each kind of member that is an extension, and makes every port a full member of
// the default partition, as the note of the line says. The exported file means to it what the file means here.
func TestForeignAsOpenSM(t *testing.T) {
	for _, member := range []string{"H1=full", "H[1-2]", "H*=both", "0x100000-0x100004", "@gpus=limited"} {
		file := "Default=0x7fff, ipoib: ALL=limited, SELF=full;\nA=1, defmember=full: SELF, 0x100005, # a comment\n    " + member + "; # the hosts\n"
		f := Parse("p", []byte(file))
		policy, errors, _ := f.Policy()
		if errors != nil || len(policy.Foreign) != 1 || policy.Foreign[0].Line != 3 {
			t.Errorf("%s: %v, %v", member, errors, policy)
			continue
		}
		theirs := runOpenSM(t, file)
		if !strings.Contains(theirs.log, "retrying with default config") {
			t.Errorf("OpenSM accepts %s:\n%s", member, theirs.log)
		}
		for guid, keys := range theirs.tables {
			if !slices.Equal(keys, []mad.PKey{0xffff}) {
				t.Errorf("%s: OpenSM gives %v %v", member, guid, keys)
			}
		}
		sub := describedTopo(t, nil)
		policy.groups = &PortGroups{Members: func(sub *topo.Topo, _ string) []topo.PortIdx {
			return []topo.PortIdx{sub.Port(sub.FindNode(host2), 1)}
		}}
		exported, err := f.Export(func(m Member) (ports []mad.GUID, err error) {
			for _, p := range (&compiler{Tables: &Tables{Policy: policy}, t: sub}).who(&m) {
				ports = append(ports, sub.Ports[p].GUID)
			}
			return ports, nil
		})
		if err != nil || !strings.Contains(string(exported), "# a comment\n") ||
			!strings.Contains(string(exported), "; # the hosts\n") {
			t.Errorf("%s: %v\n%s", member, err, exported)
		}
		if difference := compile(t, policy, false, true).unlike(
			runOpenSM(t, string(exported), "-Q")); difference != "" {
			t.Errorf("%s: exported as\n%s\n%s", member, exported, difference)
		}
	}
	nobody := Parse("p", []byte("A=1: nobody=full, SELF=full;\n"))
	if text, err := nobody.Export(func(Member) ([]mad.GUID, error) {
		return nil, nil
	}); err != nil || string(text) != "A=1: NONE, SELF=full;\n" {
		t.Errorf("%q, %v", text, err)
	}
}

// TestEditsOfNames: members by name, range and group are added, changed and removed as others; formatting keeps them.
func TestEditsOfNames(t *testing.T) {
	const file = "A=1 : SELF=full, # the manager\n    node[01-10]=limited,\n    0x5-0x9 ; # a range\n"
	f := Parse("p", []byte(file))
	edit := func(how func(string, ...Member) (*File, error), text string) {
		t.Helper()
		m, err := ParseMember(text)
		if err == nil {
			f, err = how("A", m)
		}
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
	}
	for _, step := range []struct {
		add  bool
		text string
		want string
	}{
		{true, "@gpus=full", "@gpus=full"}, {true, "node[01-10]=full", "node[01-10]=full"},
		{true, "rack1-*", "rack1-*=limited"},
		{true, "0x5-0x9=both", "=both"}, {true, "node7=full", "node7=full"},
		{false, "node7", ""}, {false, "@gpus", ""}, {false, "rack1-*", ""}, {false, "node[01-10]", ""},
	} {
		if step.add {
			edit(f.Add, step.text)
		} else {
			edit(f.Remove, step.text)
		}
		name, _, _ := strings.Cut(step.text, "=")
		if strings.Contains(f.Src, name) != step.add || !strings.Contains(f.Src, step.want) ||
			!strings.Contains(f.Src, "# the manager") {
			t.Errorf("%s:\n%s", step.text, f.Src)
		}
		before, _, _ := f.Policy()
		after, _, _ := Parse("p", f.Format()).Policy()
		if !sameMembers(before.Find(1).Members, after.Find(1).Members) {
			t.Errorf("formatted:\n%s", f.Format())
		}
	}
	policy, _, _ := f.Policy()
	if got := fmt.Sprint(policy.Find(1).Members); strings.Count(got, "-0x") != 2 ||
		!strings.Contains(got, "0x0000000000000005-0x0000000000000009=both") ||
		!strings.HasSuffix(f.Src, "# a range\n") {
		t.Errorf("%s of\n%s", got, f.Src)
	}
}
