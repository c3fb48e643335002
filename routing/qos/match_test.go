package qos

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"ibsm/conf/policyfile"
	"ibsm/mad"
	"ibsm/partitions"
	"ibsm/routing/portgroups"
	"ibsm/topo"
	"ibsm/topo/net"
	"ibsm/topo/netwalk"
)

// subnet is two switches with two hosts each and a router; the manager is at the first host.
func subnet(t testing.TB) *topo.Topo {
	n, err := net.Parse("subnet", []byte(`switchguid=0x20
Switch 6 "S1"
[1] "H1 one"[1]
[2] "H2"[1]
[5] "S2"[5]

switchguid=0x30
Switch 6 "S2"
[1] "H3"[1]
[2] "H2"[2]
[3] "R1"[1]
[5] "S1"[5]

caguid=0x1000
Hca 1 "H1 one"
[1] "S1"[1]

caguid=0x1010
Hca 2 "H2"
[1] "S1"[2]
[2] "S2"[2]

caguid=0x1020
Hca 1 "H3"
[1] "S2"[1]

rtguid=0x3000
Rt 1 "R1"
[1] "S2"[3]
`))
	if err != nil {
		t.Fatal(err)
	}
	topo, err := netwalk.Topo(n, net.NoEnd)
	if err != nil {
		t.Fatal(err)
	}
	return topo
}

// portsIn names ports by node and number.
func portsIn(t *topo.Topo, ports []topo.PortIdx) string {
	var names []string
	for _, p := range ports {
		names = append(names, fmt.Sprintf("%s/%d", t.Nodes[t.Ports[p].Node].Desc.String(), t.Ports[p].Num))
	}
	slices.Sort(names)
	return strings.Join(names, " ")
}

// TestMembers: each list of a group names the ports that the manual says.
func TestMembers(t *testing.T) {
	sub := subnet(t)
	h3 := sub.Ports[sub.EndPorts[slices.IndexFunc(sub.EndPorts, func(p topo.PortIdx) bool {
		return portsIn(sub, []topo.PortIdx{p}) == "H3/1"
	})]].GUID
	file := fmt.Sprintf(
		"Default=0x7fff: ALL=limited, SELF=full;\nblue=5: ALL_SWITCHES, %v=full;\nred=6: ALL_ROUTERS=full;\n", h3)
	policy, errors, _ := partitions.Parse("partitions.conf", []byte(file)).Policy()
	if policy == nil {
		t.Fatal(errors)
	}
	parts := partitions.Compile(policy, partitions.Settings{}, sub, nil)
	for lines, want := range map[string]string{
		"":                                   "",
		"node-type: CA":                      "H1 one/1 H2/1 H2/2 H3/1",
		"node-type: switch":                  "S1/0 S2/0",
		"node-type: Router, SWITCH":          "R1/1 S1/0 S2/0",
		"node-type: ALL":                     "H1 one/1 H2/1 H2/2 H3/1 R1/1 S1/0 S2/0",
		"node-type: SELF":                    portsIn(sub, []topo.PortIdx{sub.Self}),
		"port-name: H1 one/P1, H2/p2":        "H1 one/1 H2/2",
		`port-name: "H1 one/P1"`:             "H1 one/1",
		"port-name: S2/P3":                   "S2/0",
		"port-name: H1/P1, H2/P3, nobody/P1": "",
		"port-guid: " + h3.String():          "H3/1",
		"port-guid: 0-" +
			h3.String(): portsIn(sub, slices.DeleteFunc(slices.Clone(sub.EndPorts), func(p topo.PortIdx) bool {
			return sub.Ports[p].GUID > h3
		})),
		"port-guid: 0-0xffffffffffffffff": "H1 one/1 H2/1 H2/2 H3/1 R1/1 S1/0 S2/0",
		"pkey: 5":                         "H3/1 S1/0 S2/0",
		"pkey: 0x8006":                    "R1/1",
		"pkey: 0-0x10":                    "H3/1 R1/1 S1/0 S2/0",
		"pkey: 7":                         "",
		"partition: blue, red":            "H3/1 R1/1 S1/0 S2/0",
		"partition: Default":              "H1 one/1 H2/1 H2/2 H3/1 R1/1 S1/0 S2/0",
		"partition: green":                "",
		"partition: red\nport-name: H2/P1, S1/P1": "H2/1 R1/1 S1/0",
	} {
		p, errors, _ := Parse(nil, "p",
			[]byte(levels+"port-groups\nport-group\nname: G\n"+lines+
				"\nend-port-group\nend-port-groups\nqos-match-rules\nqos-match-rule\nsource:G\nqos-level-name:L1\nend-qos-match-rule\nend-qos-match-rules\n"))
		if p == nil {
			t.Fatal(lines, errors)
		}
		if got := portsIn(sub, portgroups.NewResolver(sub, parts).Members(p.Groups[0])); got != want {
			t.Errorf("%s: %s\nwant %s", lines, got, want)
		}
		m := p.Compile(sub, parts)
		var matched []topo.PortIdx
		for _, port := range sub.EndPorts {
			if rule, level := m.Match(&Request{Source: port, Destination: sub.Self}); rule != nil {
				matched = append(matched, port)
			} else if level != p.Default {
				t.Errorf("%s: no rule matches, and the level is not the default", lines)
			}
		}
		if got := portsIn(sub, matched); got != want {
			t.Errorf("%s: the rule matches %s\nwant %s", lines, got, want)
		}
	}
	everyone := &portgroups.Group{Rules: []portgroups.Rule{{PKeys: policyfile.Ranges{{From: 0x7fff, To: 0x7fff}}}}}
	if without := portgroups.NewResolver(sub, nil).Members(everyone); len(without) != len(sub.EndPorts) {
		t.Errorf("without partitions the default one has %s", portsIn(sub, without))
	}
}

// TestMatch: a rule wants everything it asks for, the first decides, and qos-ulps come last.
func TestMatch(t *testing.T) {
	sub := subnet(t)
	p, errors, _ := Parse(nil, "p", []byte("qos-ulps\nsdp: 1\nany, pkey 5: 2\ndefault: 7\nend-qos-ulps\n"+levels+
		"qos-match-rules\nqos-match-rule\nuse: A\nservice-id: 0x10000\npkey: 5-6\nqos-level-name: L1\nend-qos-match-rule\n"+
		"qos-match-rule\nuse: B\nqos-class: 4,9\nqos-level-name: L1\nend-qos-match-rule\nend-qos-match-rules\n"))
	if p == nil {
		t.Fatal(errors)
	}
	m := p.Compile(sub, nil)
	for _, c := range []struct {
		r    Request
		want string
	}{
		{Request{}, "default 0"},
		{Request{ServiceID: 0x10000}, "default 0"}, // a value that is not given
		{Request{ServiceID: 0x10000, HasServiceID: true}, "sdp 1"},
		{Request{ServiceID: 0x1ffff, HasServiceID: true, PKey: 0x8005, HasPKey: true}, "sdp 1"},
		{Request{ServiceID: 0x10000, HasServiceID: true, PKey: 0x8005, HasPKey: true}, "A 1"},
		{Request{ServiceID: 0x20000, HasServiceID: true, PKey: 5, HasPKey: true}, "any, pkey 5 2"},
		{Request{PKey: 6, HasPKey: true}, "default 0"},
		{Request{Class: 9, HasClass: true, PKey: 5, HasPKey: true}, "B 1"},
		{Request{Class: 5, HasClass: true}, "default 0"},
	} {
		got := "default"
		rule, level := m.Match(&c.r)
		if rule != nil {
			got = rule.Use
		}
		if got = fmt.Sprint(got, " ", level.SL); got != c.want {
			t.Errorf("%+v: %s, want %s", c.r, got, c.want)
		}
		if n := testing.AllocsPerRun(10, func() { m.Match(&c.r) }); n != 0 {
			t.Errorf("%v allocations", n)
		}
	}
}

// TestOthers: rules may name groups of another file, of which those of this file have precedence.
func TestOthers(t *testing.T) {
	sub := subnet(t)
	all, errors, _ := portgroups.Parse("groups",
		[]byte("port-group\nname: hosts\nport-regexp: ^H\nend-port-group\nport-group\nname: own\nport-regexp: ^H\nend-port-group\n"))
	if errors != nil {
		t.Fatal(errors)
	}
	file := levels + "port-groups\nport-group\nname: Own\nnode-type: router\nend-port-group\nend-port-groups\n" +
		"qos-match-rules\nqos-match-rule\nsource: Hosts, own\nqos-level-name: L1\nend-qos-match-rule\nend-qos-match-rules\n"
	p, errors, _ := Parse(portgroups.NewSet(all), "p", []byte(file))
	if p == nil {
		t.Fatal(errors)
	}
	var sources []topo.PortIdx
	for _, g := range p.Rules[0].Sources {
		sources = append(sources, portgroups.NewResolver(sub, nil).Members(g)...)
	}
	if got, want := portsIn(sub, sources), "H1 one/1 H2/1 H2/2 H3/1 R1/1"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if p, errors, _ := Parse(nil, "p", []byte(file)); p != nil ||
		!strings.Contains(errors.Error(), `no port-group has the name "Hosts"`) {
		t.Errorf("without the other file: %v", errors)
	}
}

// TestIPoIB: only a rule that asks for the P_Key and nothing else is about a whole partition.
func TestIPoIB(t *testing.T) {
	p, errors, _ := Parse(nil, "p",
		[]byte("qos-ulps\nany, service-id 1: 1\nipoib, pkey 0x8001-3: 4\nany, pkey 2: 5\nipoib: 6\nany, pkey 8-9: 7\ndefault: 3\nend-qos-ulps\n"))
	if p == nil {
		t.Fatal(errors)
	}
	for key, want := range map[mad.PKey]string{0x8001: "4 true", 2: "4 true", 0xffff: "6 true", 5: "0 false",
		9: "7 true"} {
		sl, found := p.SLOf(key)
		if got := fmt.Sprint(sl, found); got != want {
			t.Errorf("%v: %s, want %s", key, got, want)
		}
	}
	parts, _, _ := partitions.Parse("partitions.conf", []byte("a=1:ALL=full;\nb=2:ALL=full;")).Policy()
	want := "p:3:1: no partition has the P_Key 0x0003: OpenSM refuses the whole file because of this line\np:6:1: no partition has a P_Key of this rule"
	if got := p.Conflicts(parts).Error(); got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
}
