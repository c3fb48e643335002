package portgroups

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"ibsm/conf/policyfile"
	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/partitions"
	"ibsm/topo"
	"ibsm/topo/net"
	"ibsm/topo/netwalk"
)

// subnet is two switches, three hosts, one with two ports and one with two adapters, and a router.
func subnet(t testing.TB) *topo.Topo {
	n, err := net.Parse("subnet", []byte(`switchguid=0x20
Switch 8 "leaf-01"
[1] "kuku HCA-1"[1]
[2] "kuku HCA-2"[1]
[3] "kuku HCA-2"[2]
[5] "spine-1"[5]

switchguid=0x30
Switch 8 "spine-1"
[1] "host1 mlx5_0"[1]
[2] "kuku2 HCA-1"[1]
[3] "R1"[1]
[4] "blanks"[1]
[5] "leaf-01"[5]

caguid=0x1000
Hca 1 "kuku HCA-1"
[1] "leaf-01"[1]

caguid=0x1010
Hca 2 "kuku HCA-2"
[1] "leaf-01"[2]
[2] "leaf-01"[3]

caguid=0x1020
Hca 2 "host1 mlx5_0"
[1] "spine-1"[1]

caguid=0x1030
Hca 1 "kuku2 HCA-1"
[1] "spine-1"[2]

caguid=0x1040
Hca 1 "blanks" # "selene-02 mlx5_1 "
[1] "spine-1"[4]

rtguid=0x3000
Rt 1 "R1"
[1] "spine-1"[3]
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

// called names ports by node and number.
func called(t *topo.Topo, ports []topo.PortIdx) string {
	var names []string
	for _, p := range ports {
		names = append(names, fmt.Sprintf("%s/%d", t.Nodes[t.Ports[p].Node].Desc.String(), t.Ports[p].Num))
	}
	slices.Sort(names)
	return strings.Join(names, " ")
}

// guidOf is the GUID of a port that called names.
func guidOf(t *topo.Topo, name string) mad.GUID {
	for _, p := range t.EndPorts {
		if called(t, []topo.PortIdx{p}) == name {
			return t.Ports[p].GUID
		}
	}
	return 0
}

// TestMembers: each rule has the ports that NVIDIA's manual says, and what it asks for in vain is named.
func TestMembers(t *testing.T) {
	sub := subnet(t)
	leaf, two := "0x20", guidOf(sub, "kuku HCA-2/2").String()
	for _, c := range []struct{ lines, want, unmatched string }{
		{"port-guid: " + leaf, "leaf-01/0", ""},
		{"port-guid: " + two, "kuku HCA-2/2", ""},
		{"port-guid: 0x1010", "kuku HCA-2/1 kuku HCA-2/2", ""}, // a node
		{"port-guid: 0x1010@2", "kuku HCA-2/2", ""},
		{"port-guid: 0x1010@1-3/9", "kuku HCA-2/1 kuku HCA-2/2", ""},
		{"port-guid: 0x20@3", "leaf-01/0", ""},
		{"port-guid: 0x20@9", "", "GUID 0x0000000000000020 ports 9"},
		{"port-guid: 0x21@1, 0x55, " + two, "kuku HCA-2/2",
			"port GUID 0x0000000000000055, GUID 0x0000000000000021 ports 1"},
		{"port-guid-range: 0x20-0x30", "leaf-01/0 spine-1/0", ""},
		{"port-guid-range: 0x1010-0x1010", "kuku HCA-2/1 kuku HCA-2/2", ""},
		{"port-name: hostname=kuku", "kuku HCA-1/1 kuku HCA-2/1 kuku HCA-2/2", ""},
		{"port-name: hostname=kuku; hca_idx=2", "kuku HCA-2/1 kuku HCA-2/2", ""},
		{"port-name: hostname=kuku port=2", "kuku HCA-2/2", ""},
		{"port-name: hostname=leaf-01, hostname=host1; hca_idx=1, hostname=kuku2; hca_idx=1", "kuku2 HCA-1/1",
			"host leaf-01, host host1 HCA-1"},
		{"port-name: selene-02 mlx5_1/P1", "selene-02 mlx5_1 /1", ""},
		{`port-name: "selene-02 mlx5_1 /P1"`, "selene-02 mlx5_1 /1", ""},
		{"port-name: selene-02 mlx5_1/P2, selene-02/P1", "", "selene-02 mlx5_1/P2, selene-02/P1"},
		{"port-name: host1 mlx5_0/P1, host1 mlx5_0/P2", "host1 mlx5_0/1", "host1 mlx5_0/P2"}, // no cable
		{"port-regexp: ^spine", "spine-1/0", ""},
		{"port-regexp: e-[0-9]$", "spine-1/0", ""},
		{"port-regexp: HCA", "kuku HCA-1/1 kuku HCA-2/1 kuku HCA-2/2 kuku2 HCA-1/1", ""},
		{"port-regexp: ^kuku HCA:2", "kuku HCA-2/2", ""},
		{"port-regexp: spine:9", "", "description spine port 9"},
		{"port-regexp: (a+)+$\nnode-type: router", "R1/1", "description (a+)+$"},
		{"node-type: SELF", called(sub, []topo.PortIdx{sub.Self}), ""},
		{"union-rule: ALL_SWITCHES, ALL_ROUTERS", "R1/1 leaf-01/0 spine-1/0", ""},
		{"subtract-rule: ALL, ALL_CAS", "R1/1 leaf-01/0 spine-1/0", ""},
		{"subtract-rule: ALL_CAS, ALL", "", "group ALL_CAS without group ALL"},
		{"partition: Default\npkey: 7", called(sub, sub.EndPorts), "P_Key 0x0007"},
		{"partition: blue", "", "partition blue"},
	} {
		groups, errors, _ := Parse("p", []byte(group("A", c.lines)))
		if groups == nil {
			t.Fatal(c.lines, errors)
		}
		v := NewResolver(sub, nil)
		var unmatched []string
		for _, u := range v.Unmatched(groups[0]) {
			unmatched = append(unmatched, u.Text)
			if u.Group != "A" || u.Position.Line < 3 {
				t.Errorf("%s: %+v", c.lines, u)
			}
		}
		if got, missing := called(sub, v.Members(groups[0])), strings.Join(unmatched, ", "); got != c.want ||
			missing != c.unmatched {
			t.Errorf("%s: %s, unmatched %s\nwant %s, unmatched %s", c.lines, got, missing, c.want, c.unmatched)
		}
	}
}

// matches is a naive matcher of patterns with ^, $, . and *.
func matches(pattern, text string) bool {
	if rest, anchored := strings.CutPrefix(pattern, "^"); anchored {
		return matchesHere(rest, text)
	}
	for i := 0; i <= len(text); i++ {
		if matchesHere(pattern, text[i:]) {
			return true
		}
	}
	return false
}

func matchesHere(pattern, text string) bool {
	switch {
	case pattern == "":
		return true
	case pattern == "$":
		return text == ""
	case len(pattern) > 1 && pattern[1] == '*':
		for i := 0; ; i++ {
			if matchesHere(pattern[2:], text[i:]) {
				return true
			}
			if i == len(text) || pattern[0] != '.' && pattern[0] != text[i] {
				return false
			}
		}
	}
	return text != "" && (pattern[0] == '.' || pattern[0] == text[0]) && matchesHere(pattern[1:], text[1:])
}

// naive is whether a port is in a group, port by port and by the text of the rules.
type naive struct {
	t     *topo.Topo
	rules map[string][]string // by name of the group
}

func (n *naive) has(group string, p topo.PortIdx) bool {
	port := &n.t.Ports[p]
	node := &n.t.Nodes[port.Node]
	isType := map[string]bool{"ALL": true, "ALL_SWITCHES": node.Type == mad.Switch, "ALL_CAS": node.Type == mad.CA,
		"ALL_ROUTERS": node.Type == mad.Router}
	if is, known := isType[group]; known {
		return is
	}
	return slices.ContainsFunc(n.rules[group], func(rule string) bool {
		word, value, _ := strings.Cut(rule, ": ")
		all := strings.Split(value, ", ")
		switch word {
		case "port-guid":
			return slices.ContainsFunc(all, func(g string) bool {
				var guid mad.GUID
				fmt.Sscan(g, &guid)
				return guid == port.GUID || guid == node.GUID && n.t.FindPort(guid) == topo.None
			})
		case "port-guid-range":
			var from, to mad.GUID
			fmt.Sscanf(value, "%v-%v", &from, &to)
			return from <= port.GUID && port.GUID <= to
		case "port-regexp":
			return matches(value, node.Desc.String())
		case "union-rule":
			return slices.ContainsFunc(all, func(g string) bool { return n.has(g, p) })
		case "subtract-rule":
			return n.has(all[0], p) && !n.has(all[1], p)
		}
		return false
	})
}

// TestNaive: random groups have the members that a naive search finds, in any order of the file.
func TestNaive(t *testing.T) {
	fabric, err := net.Generate("fattree:k=4,levels=3")
	if err != nil {
		t.Fatal(err)
	}
	sub, err := netwalk.Topo(fabric, net.NoEnd)
	if err != nil {
		t.Fatal(err)
	}
	var pieces []string
	for i := range sub.Nodes {
		desc := sub.Nodes[i].Desc.String()
		for from := range desc {
			if piece := desc[from:min(len(desc), from+3)]; !strings.ContainsAny(piece, `()[]{}+?|\".*^$#,: `) {
				pieces = append(pieces, piece)
			}
		}
	}
	rng := rand.New(rand.NewPCG(3, 4))
	members := 0
	for range 400 {
		n := naive{sub, map[string][]string{}}
		names := slices.Clone(Predefined)
		var texts []string
		for g := range 2 + rng.IntN(8) {
			name := fmt.Sprint("G", g)
			var rules []string
			for range 1 + rng.IntN(3) {
				rules = append(rules, randomRule(rng, sub, names, pieces))
			}
			n.rules[name], names = rules, append(names, name)
			texts = append(texts, group(name, strings.Join(rules, "\n")))
		}
		rng.Shuffle(len(texts), func(i, j int) { texts[i], texts[j] = texts[j], texts[i] })
		groups, errors, _ := Parse("p", []byte(strings.Join(texts, "")))
		if groups == nil {
			t.Fatal(texts, errors)
		}
		v := NewResolver(sub, nil)
		for _, g := range groups {
			got := v.Members(g)
			want := slices.DeleteFunc(slices.Clone(sub.EndPorts), func(p topo.PortIdx) bool {
				return !n.has(g.Name, p)
			})
			slices.Sort(want)
			if members += len(want); !slices.Equal(got, want) {
				t.Fatalf("%s of\n%s\nhas %s\nwant %s", g.Name, strings.Join(texts, ""), called(sub, got),
					called(sub, want))
			}
		}
	}
	if members < 1000 {
		t.Errorf("%d members in all", members)
	}
}

// randomRule is a rule about some ports of a subnet, or known groups.
func randomRule(rng *rand.Rand, t *topo.Topo, names, pieces []string) string {
	guid := func() string {
		if rng.IntN(3) == 0 {
			return t.Nodes[rng.IntN(len(t.Nodes))].GUID.String()
		}
		return t.Ports[t.EndPorts[rng.IntN(len(t.EndPorts))]].GUID.String()
	}
	any := func(of []string) string { return of[rng.IntN(len(of))] }
	switch rng.IntN(6) {
	case 0:
		return "port-guid: " + guid() + ", " + guid()
	case 1:
		from, to := guid(), guid()
		return "port-guid-range: " + min(from, to) + "-" + max(from, to)
	case 2:
		return "union-rule: " + any(names) + ", " + any(names)
	case 3:
		return "subtract-rule: " + any(names) + ", " + any(names)
	}
	pattern := any(pieces)
	switch rng.IntN(5) {
	case 0:
		pattern = "^" + pattern
	case 1:
		pattern += "$"
	case 2:
		pattern += ".*" + any(pieces)
	case 3:
		pattern = pattern[:len(pattern)-1] + "." + any(pieces)
	}
	return "port-regexp: " + pattern
}

// TestPatternTime: a pattern that takes others exponential time is harmless, also when it is as large as is allowed.
func TestPatternTime(t *testing.T) {
	sub := subnet(t)
	for i := range sub.Nodes {
		copy(sub.Nodes[i].Desc[:], strings.Repeat("a", len(smp.NodeDescription{})-2)+string(rune('b'+i)))
	}
	for _, pattern := range []string{"(a+)+$", "(a|aa)+$", "(a*)*c{3}", "(.*a){50}x", "(a?){60}a{60}x",
		strings.Repeat("(a*)*", 40) + "x"} {
		groups, errors, _ := Parse("p", []byte(group("A", "port-regexp: "+pattern)))
		if groups == nil {
			t.Errorf("%s: %v", pattern, errors)
			continue
		}
		started := time.Now()
		if n := len(NewResolver(sub, nil).Members(groups[0])); n != 0 || time.Since(started) > 5*time.Second {
			t.Errorf("%s: %d members after %v", pattern, n, time.Since(started))
		}
	}
}

// TestPartitions: a group follows the target tables of partitions, and what ports hold where these leave it alone.
func TestPartitions(t *testing.T) {
	sub := subnet(t)
	policy, errors, _ := partitions.Parse("partitions.conf",
		[]byte("Default=0x7fff: ALL=limited, SELF=full;\nblue=5: ALL_SWITCHES, ALL_ROUTERS=full;\n")).Policy()
	if policy == nil {
		t.Fatal(errors)
	}
	parts := partitions.Compile(policy, partitions.Settings{}, sub, nil)
	for line, want := range map[string]string{
		"partition: blue": "R1/1 leaf-01/0 spine-1/0", "pkey: 0x8004-6": "R1/1 leaf-01/0 spine-1/0", "pkey: 4": "",
	} {
		groups, _, _ := Parse("p", []byte(group("A", line)))
		if got := called(sub, NewResolver(sub, parts).Members(groups[0])); got != want {
			t.Errorf("%s: %s, want %s", line, got, want)
		}
	}
}

// TestList: a group stands for its members in its place, without those that the list has as GUIDs.
func TestList(t *testing.T) {
	sub := subnet(t)
	groups, _, _ := Parse("p", []byte(group("A", "node-type: ALL")+group("none", "port-regexp: nothing")))
	l := &List{Items: []Item{{GUID: 0x99}, {Group: groups[0]}, {GUID: 0x30}, {GUID: 0x30}, {Group: groups[1]},
		{Group: groups[0]}}}
	v := NewResolver(sub, nil)
	if got, want := l.Switches(v), []mad.GUID{0x99, 0x20, 0x30, 0x30}; !slices.Equal(got, want) {
		t.Errorf("switches %v, want %v", got, want)
	}
	if got := l.EndPorts(v); len(got) != len(sub.EndPorts)+2 || got[0] != 0x99 || got[len(got)-1] != 0x30 {
		t.Errorf("end ports %v", got)
	}
	if got := (&List{Items: []Item{{Group: groups[1]}}}).EndPorts(v); got == nil || len(got) != 0 {
		t.Errorf("an empty group: %v", got)
	}
	if set := NewSet(groups); set.Find(" N O n e") != groups[1] || set.Find("nobody") != nil ||
		!IsPredefined(set.Find("all_cas")) || policyfile.Fold(set.Find("ALL").Name) != "all" {
		t.Error("names")
	}
}
