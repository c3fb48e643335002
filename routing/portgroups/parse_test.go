package portgroups

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"ibsm/conf/policyfile"
)

// group is a file with a group of some lines.
func group(name, lines string) string {
	return "port-group\nname: " + name + "\n" + lines + "\nend-port-group\n"
}

// manual is the example of NVIDIA's manual, in which the last group has a name of its own.
const manual = `port-group
name: grp3
use: Subtract of groups grp1 and grp2
subtract-rule: grp1, grp2
end-port-group

port-group
name: grp1
port-guid: 0x281, 0x282, 0x283
end-port-group

port-group
name: grp2
port-guid-range: 0x282-0x286
end-port-group

port-group
name: grp4
port-name: hostname=kika port=1 hca_idx=1
end-port-group

port-group
name: grp5
union-rule: grp3, grp4
end-port-group
`

// good are files without errors, what their groups list, and what is warned of.
var good = []struct{ file, lists, warns string }{
	{"", "", ""},
	{"# nothing\n\n", "", ""},
	{manual, `grp3: group grp1 without group grp2; grp1: port GUID 0x0000000000000281-0x0000000000000283; ` +
		`grp2: port GUID 0x0000000000000282-0x0000000000000286; grp4: host kika HCA-1 port 1; grp5: group grp3 or grp4`,
		""},
	{strings.ReplaceAll(group("A", "port-regexp: ^a$\nport-guid: 1"), "\n", "\r\n"),
		"A: description ^a$, port GUID 0x0000000000000001", ""},
	// As a site has it, with the name at the end.
	{"port-group\nport-regexp: dsm.*ib4\nname: root_switches\nend-port-group\n", "root_switches: description dsm.*ib4",
		""},
	{group("A", "port-guid: 0x283@5-8/12/14, 0x286, 0x289@7"),
		"A: port GUID 0x0000000000000286, GUID 0x0000000000000283 ports 5-8,12,14, GUID 0x0000000000000289 ports 7",
		""},
	{group("A", "port-name: hostname=kuku; port=2; hca_idx=1 , hostname=host1; port=3, hostname=host2"),
		"A: host kuku HCA-1 port 2, host host1 port 3, host host2", ""},
	{group("A", "port-name: hostname = kuku ; port = 2"), "A: host kuku port 2", ""},
	{group("2nd row", "port-name: hostnameserver/P1, hostname-1/P2"), "2nd row: hostnameserver/P1, hostname-1/P2", ""},
	{group("A", "port-name: vs1 HCA-1/P1"), "A: vs1 HCA-1/P1", ""},
	{group("A", "port-regexp: SW*:3"), "A: description SW* port 3", ""},
	{group("A", `port-regexp: "(?i)^leaf, #[0-9]{1,2}$"`), "A: description (?i)^leaf, #[0-9]{1,2}$", ""},
	{group("A", "port-regexp: a:b:255"), "A: description a:b:255", ""},
	{group("A", "pkey: 0x8005\npartition: blue, red\nnode-type: CA, SELF"),
		"A: P_Key 0x0005, partition blue, partition red, CA, SELF", ""},
	{group("A", "union-rule: all switches, ALL_CAS, all_routers") + group("All Switches", "node-type: switch"),
		"A: group All Switches or ALL_CAS or ALL_ROUTERS; All Switches: SWITCH", ""},
	{"port-groups\n" + group("A", "pkey: 1") + "end-port-groups\n" + group("B", "union-rule: A"),
		"A: P_Key 0x0001; B: group A", ""},
	{group("A", "pkey: 1") + group("a", "union-rule: a"), "A: P_Key 0x0001; a: group A",
		`p:5:1: port-group "a" is never used: that of line 1 has the same name`},
}

// bad are files with errors, and what is said of the first.
var bad = []struct{ file, want string }{
	{"port-group\nname: A\n",
		"p:3:1: the file ends within port-group, which begins in line 1; expected end-port-group"},
	{"topology\n", `p:1:1: unexpected "topology"; expected port-group`},
	{"port-group\npkey: 1\nend-port-group\n", "p:1:1: port-group without a name"},
	{group("A", ""), `p:1:1: port-group "A" without a rule`},
	{group("A:B", "pkey: 1"), `p:1:1: "A:B": a name must not have a colon`},
	{group("All_Switches", "pkey: 1"), `p:1:1: "All_Switches" is the name of a group that needs no definition`},
	{group("A", "port-group: 1"),
		`p:3:1: unexpected "port-group"; expected name, use, port-guid, port-name, pkey, partition, node-type, port-guid-range, port-regexp, union-rule, subtract-rule or end-port-group`},
	{group("A", "sl: 1"), `p:3:1: unexpected "sl"`},
	{group("A", "port-guid: 0x289/6/8"), `p:3:17: unexpected "/"`},
	{group("A", "port-guid: 0x289@"), `p:4:1: "end" is not a number`},
	{group("A", "port-guid: 0x289@255"), "p:3:18: 0xff is too large; expected at most 0xfe"},
	{group("A", "port-guid: 1-2@3"), "p:3:15: ports of a range of GUIDs"},
	{group("12", "pkey: 1"), `p:1:1: "12": a name must not begin with a number`},
	{group("0x1f row", "pkey: 1"), `p:1:1: "0x1f row": a name must not begin with a number`},
	{group("A", "port-name: hostname=kuku; slot=2"),
		`p:3:12: "slot=2" is not understood; expected hostname=HOST, port=N with 1 to 254, or hca_idx=N`},
	{group("A", "port-name: hostname=; port=2"), `p:3:12: "hostname=" is not understood`},
	{group("A", "port-name: hostname=h; port=0"), `p:3:12: "port=0" is not understood`},
	{group("A", "port-regexp: (a"), "p:3:14: missing closing ): `(a`"},
	{group("A", `port-regexp: (a)\1`), "p:3:14: invalid escape sequence: `\\1`"},
	{group("A", "port-regexp:"), "p:3:13: expected a regular expression"},
	{group("A", "port-regexp: :3"), "p:3:14: expected a regular expression"},
	{group("A", "port-regexp: "+strings.Repeat("a", 257)), "p:3:14: the pattern is longer than 256 bytes"},
	{group("A", "port-regexp: (x{100}){100}"), "p:3:14: invalid repeat count"},
	{group("A", "port-regexp: "+strings.Repeat("x{1000}", 36)),
		"p:3:14: the pattern is too large: its repetitions make more than 2000 steps"},
	{group("A", "union-rule: B"), `p:3:13: no port-group has the name "B"`},
	{group("A", "union-rule: storags") + group("storage", "pkey: 1"),
		`p:3:13: no port-group has the name "storags"; did you mean storage?`},
	{group("A", "subtract-rule: B") + group("B", "pkey: 1"),
		"p:3:1: subtract-rule with 1 names; expected two groups: one, and the one that is taken from it"},
	{group("A", "union-rule: A"), `p:3:1: port-group "A" contains itself`},
	{group("A", "union-rule: B") + group("B", "pkey: 1\nsubtract-rule: C, ALL") + group("C", "subtract-rule: ALL, a"),
		`p:12:1: port-group "A" contains itself through "B", "C"`},
	{"\x00", "p:1:1: a byte 0: this is not a text file"},
}

// TestParse: the groups of a file list what it says, in the order of the file.
func TestParse(t *testing.T) {
	for _, c := range good {
		groups, errors, warnings := Parse("p", []byte(c.file))
		var lists []string
		for _, g := range groups {
			lists = append(lists, g.Name+": "+g.Lists())
		}
		if got := strings.Join(lists, "; "); got != c.lists || len(errors) > 0 || warnings.Error() != c.warns {
			t.Errorf("%s\n%s\nwant %s\nerrors %v, warnings %v", c.file, got, c.lists, errors, warnings)
		}
	}
}

// TestErrors: each error has its place, is one line, and a file with one has no groups.
func TestErrors(t *testing.T) {
	for _, c := range bad {
		groups, errors, _ := Parse("p", []byte(c.file))
		if groups != nil || len(errors) == 0 || !strings.HasPrefix(errors[0].Error(), c.want) ||
			strings.Contains(errors[0].Error(), "\n") {
			t.Errorf("%.300q: %d groups, errors %.300v\nwant %s", c.file, len(groups), errors, c.want)
		}
	}
	for _, file := range []string{"port-regexp: x\n", "port-guid: 1@2\n", "port-guid-range: 1-2\n", "union-rule: ALL\n",
		"port-name: hostname=a\n"} {
		r, _ := policyfile.New("p", []byte("name: A\n"+file+"end-port-group\n"))
		Read(r, r.Top(), true)
		if len(r.Errors) > 0 || len(r.Warnings) != 1 ||
			!strings.Contains(r.Warnings.Error(), "OpenSM refuses the file") {
			t.Errorf("%q in a file for both programs: errors %v, warnings %v", file, r.Errors, r.Warnings)
		}
	}
}

// TestCircles: groups that contain each other have one line for each circle, however they name each other.
func TestCircles(t *testing.T) {
	var all strings.Builder
	const n = 8000
	for i := range n {
		all.WriteString(group(fmt.Sprint("G", i), fmt.Sprintf("union-rule: G%d, G%d", (i+1)%n, (i+1)%n)))
	}
	_, errors, _ := Parse("p", []byte(all.String()))
	if len(errors) != 2 || len(errors.Error()) > 500 ||
		!strings.Contains(errors.Error(), `"G0" contains itself through "G1", `) ||
		!strings.Contains(errors.Error(), "7991 more") {
		t.Errorf("%.500v", errors)
	}
	// A group that others share is no circle, and is read once for each.
	all.Reset()
	for i := range n {
		line := fmt.Sprintf("union-rule: G%d, G%d", i+1, i+1)
		if i == n-1 {
			line = "pkey: 1"
		}
		all.WriteString(group(fmt.Sprint("G", i), line))
	}
	started := time.Now()
	groups, errors, _ := Parse("p", []byte(all.String()))
	if len(groups) != n || time.Since(started) > 20*time.Second {
		t.Errorf("%d groups in %v, %v", len(groups), time.Since(started), errors)
	}
	if got := len(NewResolver(subnet(t), nil).Members(groups[0])); got != 0 {
		t.Errorf("%d members", got)
	}
}

// TestEqual: what groups list counts, not how or where it is written.
func TestEqual(t *testing.T) {
	set := func(file string) *Set {
		groups, errors, _ := Parse("p", []byte(file))
		if len(errors) > 0 {
			t.Fatal(errors)
		}
		return NewSet(groups)
	}
	base := group("A", "port-regexp: zz") + group("B", "union-rule: A")
	for file, same := range map[string]bool{
		base: true,
		"# comment\n\n" + group("A", "use: other\nport-regexp:   zz") + group("B", "union-rule: a"): true,
		group("A", "port-regexp: y") + group("B", "union-rule: A"):                                  false,
		group("A", "port-regexp: zz:1") + group("B", "union-rule: A"):                               false,
		group("A", "port-regexp: zz") + group("B", "union-rule: A, ALL"):                            false,
		group("A", "port-regexp: zz") + group("C", "union-rule: A"):                                 false,
		group("A", "port-regexp: zz"):                                                               false,
		"":                                                                                          false,
	} {
		if got := set(base).Equal(set(file)); got != same {
			t.Errorf("%q: equal %t", file, got)
		}
	}
	// The group that names one differs where that one does.
	if a, b := set(base).Find("B"),
		set(strings.Replace(base, "zz", "y", 1)).Find("B"); (&List{Items: []Item{{Group: a}}}).Equal(
		&List{Items: []Item{{Group: b}}}) {
		t.Error("lists with other members are equal")
	}
}

// FuzzParse: whatever the bytes, reading ends, stays within bounds, and names places within the file.
func FuzzParse(f *testing.F) {
	for _, c := range good {
		f.Add([]byte(c.file))
	}
	for _, c := range bad {
		f.Add([]byte(c.file))
	}
	sub := subnet(f)
	f.Fuzz(func(t *testing.T, src []byte) {
		groups, errors, warnings := Parse("p", src)
		if groups != nil && len(errors) > 0 || len(errors) > policyfile.MaxFindings+1 ||
			len(warnings) > policyfile.MaxFindings {
			t.Errorf("%d groups, %d errors, %d warnings", len(groups), len(errors), len(warnings))
		}
		lines := strings.Split(string(src), "\n")
		for _, e := range append(errors, warnings...) {
			if e.Line < 1 || e.Line > len(lines) || e.Col > len(lines[e.Line-1])+1 || strings.Contains(e.Text, "\n") {
				t.Errorf("%v is not in the file", e)
			}
		}
		v := NewResolver(sub, nil)
		for _, g := range groups {
			if n := len(v.Members(g)); n > len(sub.EndPorts) {
				t.Errorf("%d members of %d", n, len(sub.EndPorts))
			}
			v.Unmatched(g)
			g.Lists()
		}
	})
}
