package daemon

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ibsm/conf"
	"ibsm/conf/diag"
	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/partitions"
	"ibsm/routing"
	"ibsm/routing/routingtest"
	"ibsm/sweep/engines"
	"ibsm/topo/net"
	"ibsm/topo/net/nettest"
	"ibsm/topo/netwalk"
)

// selectedFiles are the files of engines at a start.
func selectedFiles(l *conf.Loaded) (keptFiles, diag.List, error) {
	files, _, warnings, err := selectFiles(l)
	return files, warnings, err
}

// readEngineFiles are the files of engines as they are read without a QoS policy.
func readEngineFiles(c *conf.Config) filesRead {
	r := readPortGroups(nil, c)
	r.read(c, conf.RoutingEngine.In(c), nil)
	return r
}

// grouping is the files of a manager with groups.
type grouping struct {
	dir      string
	settings string
}

// newGrouping has a root file, a file of groups and, where it is wanted, a QoS policy.
func newGrouping(t *testing.T, qos bool) *grouping {
	g := &grouping{dir: t.TempDir()}
	file := func(name string) string { return filepath.Join(g.dir, name) }
	g.settings = "routing_engine updn\nroot_guid_file " + file("roots") + "\npgrp_policy_file " + file("groups") + "\n"
	if qos {
		g.settings += "qos TRUE\nqos_policy_file " + file("qos") + "\n"
		g.write(t, "qos", ofQoS("port-guid: 0x11"))
	}
	g.write(t, "roots", "0x10\nspines\n")
	g.write(t, "groups", "port-group\nname: spines\nport-regexp: ^spine\nend-port-group\n")
	return g
}

func (g *grouping) write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(g.dir, name), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// ofQoS is a policy with a group of lines.
func ofQoS(lines string) string {
	return "port-groups\nport-group\nname: by QoS\n" + lines +
		"\nend-port-group\nend-port-groups\nqos-ulps\ndefault: 0\nend-qos-ulps\n"
}

// lists is what a root file lists, in words.
func (o *fixture) lists() string { return strings.Join(o.rootList(), "; ") }

func (o *fixture) rootList() (items []string) {
	settings := o.current.Load().engineFiles().settings(o.own().Config)
	if settings.Lists.Roots == nil {
		return []string{"no groups"}
	}
	for _, i := range settings.Lists.Roots.Items {
		if i.Group == nil {
			items = append(items, i.GUID.String())
		} else {
			items = append(items, i.Group.Lists())
		}
	}
	return items
}

// TestPortGroups: groups of both files are reloaded, what they list counts, and an error in any file leaves what is in
// force.
func TestPortGroups(t *testing.T) {
	g := newGrouping(t, true)
	o := newFixture(t, g.settings, ownParts)
	const ten = "0x0000000000000010"
	at := ten + "; description ^spine"
	if got := o.lists(); got != at {
		t.Fatalf("at first: %s", got)
	}
	for _, c := range []struct {
		when, file, text, want, says string
		changes                      bool // the chain of engines
	}{
		{"otherwise written", "groups",
			"# the same\nport-groups\nport-group\nport-regexp: ^spine\nname: Spines\nend-port-group\nend-port-groups\n",
			at, "", false},
		{"another pattern", "groups", "port-group\nname: spines\nport-regexp: ^core\nend-port-group\n",
			ten + "; description ^core", "", true},
		{"an error in the groups", "groups", "port-group\nname: spines\nport-regexp: (\nend-port-group\n",
			ten + "; description ^core", "groups:3:14: missing closing )", false},
		{"circles", "groups",
			"port-group\nname: spines\nunion-rule: b\nend-port-group\nport-group\nname: b\nunion-rule: spines\nend-port-group\n", ten + "; description ^core", `groups:7:1: port-group \"spines\" contains itself through \"b\"`, false},
		{"the group is gone", "groups", "port-group\nname: other\nport-guid: 0x9\nend-port-group\n",
			ten + "; description ^core",
			`roots:2:1: expected a GUID, with 0x before its digits, or the name of a port group, which \"spines\" is not`, false},
		{"a group of QoS", "roots", "0x10\nby QoS\n", ten + "; port GUID 0x0000000000000011", "", true},
		{"which changes", "qos", ofQoS("port-guid: 0x12"), ten + "; port GUID 0x0000000000000012", "", true},
		{"an error in the policy", "qos", ofQoS("port-guid: x"), ten + "; port GUID 0x0000000000000012", "qos:4:12: ",
			false},
		{"no group", "roots", "0x10\n", "no groups", "", true},
	} {
		g.write(t, c.file, c.text)
		before := o.sent.Sweep.Engines
		o.log.Reset()
		o.reload(true)
		o.take()
		if got := o.lists(); got != c.want {
			t.Errorf("%s: %s, want %s", c.when, got, c.want)
		}
		if changed := !o.sent.Sweep.Engines.Equal(before); changed != c.changes {
			t.Errorf("%s: the engines change: %t", c.when, changed)
		}
		o.mustSay(c.says)
	}
	if n := len(o.sent.PortGroups.Groups); n != 2 || o.sent.PortGroups.Find("byqos") == nil {
		t.Errorf("%d groups are shown", n)
	}
}

// TestQoSNamesPortGroups: the QoS policy may name groups of pgrp_policy_file, and changes with them.
func TestQoSNamesPortGroups(t *testing.T) {
	const rule = "qos-levels\nqos-level\nname: DEFAULT\nsl: 0\nend-qos-level\nend-qos-levels\nqos-match-rules\nqos-match-rule\nsource: spines\nqos-level-name: DEFAULT\nend-qos-match-rule\nend-qos-match-rules\n"
	g := newGrouping(t, true)
	g.write(t, "qos", rule)
	o := newFixture(t, g.settings, ownParts)
	source := func() string { return o.sent.QoS.Rules[0].Sources[0].Lists() }
	if got := source(); got != "description ^spine" {
		t.Fatal(got)
	}
	g.write(t, "groups", "port-group\nname: spines\nport-regexp: ^core\nend-port-group\n")
	o.reload(true)
	o.take()
	if got := source(); got != "description ^core" {
		t.Errorf("after a reload: %s", got)
	}
	// With an error in a file of an engine the groups stay as they were, and so does the policy.
	g.write(t, "groups", "port-group\nname: spines\nport-regexp: ^other\nend-port-group\n")
	g.write(t, "roots", "nobody\n")
	o.reload(true)
	o.take()
	if got := source(); got != "description ^core" {
		t.Errorf("after an error: %s", got)
	}
	master := o.sent.Registrar.Mirror.Policy
	standby := newFixture(t, "routing_engine updn\nqos TRUE\n", ownParts)
	standby.hears(master)
	if p := standby.sent.QoS; p == nil || p.Rules[0].Sources[0].Lists() != "description ^core" {
		t.Error("the standby has another policy")
	}
}

// TestInheritPortGroups: a standby has the groups of its master, and with files that list the same nothing differs.
func TestInheritPortGroups(t *testing.T) {
	g := newGrouping(t, false)
	master := newFixture(t, g.settings, ownParts)
	own := newGrouping(t, false)
	o := newFixture(t, own.settings, ownParts)
	o.hears(master.sent.Registrar.Mirror.Policy)
	if !o.sent.Sweep.Engines.Equal(master.sent.Sweep.Engines) || len(o.policy.Differ) > 0 ||
		!o.sent.PortGroups.Equal(master.sent.PortGroups) {
		t.Errorf("equal files differ in %q", o.policy.Differ)
	}
	own.write(t, "groups", "port-group\nname: spines\nport-regexp: ^core\nend-port-group\n")
	o.reload(false)
	o.take()
	if want := []string{"pgrp_policy_file", "root_guid_file"}; !slices.Equal(o.policy.Differ, want) {
		t.Errorf("%q differ, want %q", o.policy.Differ, want)
	}
	if got := o.lists(); got != "0x0000000000000010; description ^spine" {
		t.Errorf("the standby would use %s", got)
	}
	o.entered(smp.Master)
	if string(o.sent.Registrar.Mirror.Policy) != string(master.sent.Registrar.Mirror.Policy) {
		t.Error("its standbys get another policy")
	}
	// Groups of the master's QoS policy come with that.
	g = newGrouping(t, true)
	g.write(t, "roots", "by QoS\n")
	master = newFixture(t, g.settings, ownParts)
	o = newFixture(t, "", ownParts)
	o.hears(master.sent.Registrar.Mirror.Policy)
	if got := o.lists(); got != "port GUID 0x0000000000000011" {
		t.Errorf("of the QoS policy: %s", got)
	}
	// What no manager sends is refused as a whole.
	for _, bad := range []string{"pgrp_policy_file 3\nbad", "root_guid_file 7\nspines\n"} {
		texts, err := splitFiles([]byte(bad))
		if err != nil {
			t.Fatal(err)
		}
		files, err := parsePortGroupsOf(texts)
		if err == nil {
			err = files.parse(texts, nil)
		}
		if err == nil {
			t.Errorf("%q is taken", bad)
		}
	}
}

// TestPortGroupsAtStart: a start is refused with groups that cannot be used, with their place.
func TestPortGroupsAtStart(t *testing.T) {
	g := newGrouping(t, false)
	load := func() *conf.Loaded {
		g.write(t, "opensm.conf", g.settings)
		return conf.Load([]string{"-F", filepath.Join(g.dir, "opensm.conf")}, Environment)
	}
	if _, _, err := selectedFiles(load()); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ file, text, says string }{
		{"groups", "port-group\nname: spines\nsl: 3\nend-port-group\n", `groups:3:1: unexpected "sl"`},
		{"groups", "", `roots:2:1: expected a GUID, with 0x before its digits, or the name of a port group, which "spines" is not`},
	} {
		g.write(t, c.file, c.text)
		if _, _, err := selectedFiles(load()); err == nil || !strings.Contains(err.Error(), c.says) ||
			strings.Count(err.Error(), "\n") > 0 {
			t.Errorf("%s %q: %v", c.file, c.text, err)
		}
	}
	if err := os.Remove(filepath.Join(g.dir, "groups")); err != nil {
		t.Fatal(err)
	}
	if _, _, err := selectedFiles(load()); err == nil || !strings.Contains(err.Error(), "groups: pgrp_policy_file: ") {
		t.Errorf("a file that is missing: %v", err)
	}
}

// TestGroupsRoute: with each engine that reads a file of GUIDs, a file with a group gives the tables of one with the
// GUIDs, and others than no file does.
func TestGroupsRoute(t *testing.T) {
	in := routingtest.Problem(t, "fattree:k=4,levels=3,devices=ideal")
	spines, _, ports := guidsOf(&in)
	for _, c := range []struct {
		key, engine string
		group       string // a pattern
		guids       []mad.GUID
		alike       bool // the tables are those without a file
	}{
		{"root_guid_file", "updn", patternOf(t, &in, spines[:3], false), spines[:3], false},
		{"root_guid_file", "ftree", patternOf(t, &in, spines, false), spines, true},
		{"cn_guid_file", "ftree", patternOf(t, &in, ports[3:9], true), ports[3:9], false},
		{"cn_guid_file", "sssp", patternOf(t, &in, ports[8:], true), ports[8:], false},
		{"io_guid_file", "dfsssp", patternOf(t, &in, ports[3:5], true), ports[3:5], false},
		{"guid_routing_order_file", "minhop", patternOf(t, &in, ports[7:9], true), ports[7:9], false},
	} {
		t.Run(c.key+" "+c.engine, func(t *testing.T) {
			dir := t.TempDir()
			file := func(name, text string) string {
				path := filepath.Join(dir, name)
				if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
				return path
			}
			groups := file("groups", "port-group\nname: chosen\nport-regexp: "+c.group+"\nend-port-group\n")
			var lines []string
			for _, guid := range c.guids {
				lines = append(lines, guid.String())
			}
			route := func(text string) *routing.Tables {
				settings := "routing_engine " + c.engine + ",no_fallback\npgrp_policy_file " + groups + "\n"
				if text != "" {
					settings += c.key + " " + file("list", text) + "\n"
				}
				l := conf.Load([]string{"-F", file("opensm.conf", settings)}, Environment)
				files, _, err := selectedFiles(l)
				if err != nil {
					t.Fatal(err)
				}
				chain := chain(l.Config, files)
				if chain.Grouped() {
					var m *engines.Members
					if chain, m = chain.WithMembers(in.Topo, nil, nil); len(m.Unmatched)+len(m.Idle) > 0 {
						t.Errorf("%+v", m)
					}
				}
				tables, err := chain[0].Route(t.Context(), in)
				if err != nil {
					t.Fatal(err)
				}
				if u := chain[0].Unknown(in.Topo); len(u.Ports)+len(u.Switches) > 0 {
					t.Errorf("unknown %v", u)
				}
				return tables
			}
			want := route(strings.Join(lines, "\n"))
			if got := route("chosen\n"); !equalRows(got, want) {
				t.Error("the group gives other tables than its GUIDs")
			}
			if got := route(lines[0] + "\nchosen # all of them\n"); !equalRows(got, want) {
				t.Error("a GUID and the group give other tables than its GUIDs")
			}
			if equalRows(route(""), want) != c.alike {
				t.Error("the file does not matter, and the test finds nothing")
			}
		})
	}
}

func equalRows(a, b *routing.Tables) bool {
	return slices.EqualFunc(a.LFT, b.LFT, slices.Equal[[]uint8])
}

// patternOf is a pattern for the nodes of GUIDs, which are those of their ports if so.
func patternOf(t *testing.T, in *routing.In, guids []mad.GUID, ports bool) string {
	t.Helper()
	var names []string
	for _, guid := range guids {
		n := in.Topo.FindNode(guid)
		if ports {
			n = in.Topo.Ports[in.Topo.FindPort(guid)].Node
		}
		names = append(names, "^"+in.Topo.Nodes[n].Desc.String()+"$")
	}
	return `"` + strings.Join(names, "|") + `"`
}

// TestPartitionsOfGroups: members of a partition may be those of a port group; the groups that are in force count, also
// after a reload, and a file that names one which does not exist is refused. By security tenants a group by
// descriptions is none.
func TestPartitionsOfGroups(t *testing.T) {
	groups := filepath.Join(t.TempDir(), "groups")
	write := func(rule string) {
		text := "port-group\nname: gpus\n" + rule +
			"\nend-port-group\nport-group\nname: keyed\npartition: A\nend-port-group\n"
		if err := os.WriteFile(groups, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	fabric := nettest.Generate(t, "fattree:k=4")
	sub, err := netwalk.Topo(fabric, net.NoEnd)
	if err != nil {
		t.Fatal(err)
	}
	members := func(o *fixture) (n int) {
		tables := partitions.Compile(o.sent.Sweep.Partitions.Policy, partitions.Settings{}, sub, nil)
		for _, p := range sub.EndPorts {
			if _, is := tables.Want[p].Find(1); is {
				n++
			}
		}
		return n
	}
	const file = "A=1 : @gpus=full;\n"
	write("port-regexp: ^host-0[1-3] ")
	o := newFixture(t, "pgrp_policy_file "+groups+"\n", file)
	if n := members(o); n != 3 {
		t.Errorf("%d members at the start, want 3", n)
	}
	write("port-regexp: ^host-0[1-5] ")
	o.reload(true)
	o.take()
	if n := members(o); n != 5 {
		t.Errorf("%d members after a reload of the groups, want 5", n)
	}
	for _, bad := range []string{"A=1 : @nobody=full;\n", "B=2 : @keyed=full;\n"} {
		o.write("partitions.conf", bad)
		o.reload(true)
		o.take()
		if n := members(o); n != 5 || len(o.current.Load().partitions.Errors) != 1 {
			t.Errorf("%q: %d members, errors %v", bad, n, o.current.Load().partitions.Errors)
		}
	}
	set := readPortGroups(nil, o.current.Load().own.Config).files.portGroups()
	if err := set.ForPartitions().Check("gpus", false); err == nil ||
		!strings.Contains(err.Error(), "a host chooses its own") {
		t.Errorf("security tenants: %v", err)
	}
	write("port-guid: 0x11")
	if err := readPortGroups(nil, o.current.Load().own.Config).files.portGroups().ForPartitions().Check("gpus",
		false); err != nil {
		t.Errorf("security tenants, a group of GUIDs: %v", err)
	}
}
