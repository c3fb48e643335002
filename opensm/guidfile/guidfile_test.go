package guidfile

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"ibsm/conf/diag"
	"ibsm/mad"
	"ibsm/routing"
	"ibsm/routing/portgroups"
)

// TestGUIDs: GUIDs are read as OpenSM's parse_node_map reads them, by strtoull with base 0.
func TestGUIDs(t *testing.T) {
	for _, c := range []struct {
		name, text       string
		want             []mad.GUID
		warnings, errors string
	}{
		{"empty", "", nil, "", ""},
		{"comments", "# roots\n\n  # more\n\t\n", nil, "", ""},
		{"bases", "0x10\n0X1f\n16\n020\n0\n", []mad.GUID{0x10, 0x1f, 16, 16, 0},
			"f:3:1: GUID 0x0000000000000010 is also on line 1\nf:4:1: GUID 0x0000000000000010 is also on line 3\nf:5:1: GUID 0 belongs to no node", ""},
		{"what follows", "0x1 spine\n0x2#spine\n\t 0x3 \n", []mad.GUID{1, 2, 3}, "", ""},
		{"Windows, no end", "0x1\r\n\r\n0x2", []mad.GUID{1, 2}, "", ""},
		{"largest", "0xffffffffffffffff\n", []mad.GUID{0xffffffffffffffff}, "", ""},
		{"too large", "0x10000000000000000\n", nil, "", "f:1:1: expected a GUID"},
		{"no GUID", "0x1\n  spine1\n0x2\n", []mad.GUID{1, 2}, "", "f:2:3: expected a GUID"},
		{"no prefix", "b83fd20300404000\n", nil, "", "f:1:1: expected a GUID"},
		{"joined", "0x1,0x2\n0x3:4\n089\n-1\n", nil, "",
			"f:1:1: expected a GUID, with 0x before its digits, or the name of a port group, which \"0x1,0x2\" is not: OpenSM ignores the rest of the file\nf:2:1: e"},
		{"binary", "\x00\x01\xff\n", nil, "", "f:1:1: expected a GUID"},
		{"many errors", strings.Repeat("x\n", 1000), nil, "", "f:101: too many errors"},
		{"too long", strings.Repeat("#\n", MaxFile/2+1), nil, "", "f: the file is longer than"},
	} {
		list, warnings, errors := List("f", []byte(c.text), nil)
		if got := list.GUIDs(); !slices.Equal(got, c.want) || warnings.Error() != c.warnings ||
			!strings.Contains(errors.Error(), c.errors) || (len(errors) > 0) != (c.errors != "") {
			t.Errorf("%s: %v, warnings %v, errors %v", c.name, list.GUIDs(), warnings, errors)
		}
	}
}

// TestGroups: a line that begins with no GUID may name a port group. What OpenSM would not read has a warning.
func TestGroups(t *testing.T) {
	groups, errors, _ := portgroups.Parse("groups",
		[]byte("port-group\nname: root switches\nport-regexp: ib4\nend-port-group\nport-group\nname: 1st floor\npkey: 1\nend-port-group\n"))
	if errors != nil {
		t.Fatal(errors)
	}
	for _, c := range []struct{ name, text, want, warnings, errors string }{
		{"a name", "root switches\n", "root switches", "", ""},
		{"without blanks and case", "# roots\n  RootSwitches # ours\r\n", "root switches", "", ""},
		{"predefined", "ALL_SWITCHES\nall_cas", "ALL_SWITCHES ALL_CAS", "", ""},
		{"after GUIDs", "0x1\n0x2 spine\nroot switches\n", "0x0000000000000001 0x0000000000000002 root switches", "",
			""},
		{"before GUIDs", "root switches\n0x1\n0x2\n", "root switches 0x0000000000000001 0x0000000000000002",
			"f:2:1: OpenSM does not read the GUIDs after the port group on line 1", ""},
		{"begins with a digit", "1st floor\n", "1st floor", "", ""},
		{"reads as a GUID", "0x10\n", "0x0000000000000010", "", ""},
		{"no group", "0x1\n rootswitch\n", "0x0000000000000001", "",
			`f:2:2: expected a GUID, with 0x before its digits, or the name of a port group, which "rootswitch" is not: OpenSM ignores the rest of the file; did you mean root switches?`},
		{"two", "root switches, ALL\n", "", "", `f:1:1: expected a GUID`},
	} {
		list, warnings, errors := List("f", []byte(c.text), portgroups.NewSet(groups))
		var got []string
		for _, i := range list.Items {
			if i.Group != nil {
				got = append(got, i.Group.Name)
			} else {
				got = append(got, i.GUID.String())
			}
		}
		if s := strings.Join(got, " "); s != c.want || warnings.Error() != c.warnings ||
			!strings.HasPrefix(errors.Error(), c.errors) || (len(errors) > 0) != (c.errors != "") {
			t.Errorf("%s: %s, warnings %v, errors %v", c.name, s, warnings, errors)
		}
	}
}

func TestIDs(t *testing.T) {
	for _, c := range []struct {
		name, text string
		want       map[mad.GUID]uint64
		errors     string
	}{
		{"IDs", "0x1 5\n0x2\t0x10 comment\n0x3\n0x4 010 # eight\n", map[mad.GUID]uint64{1: 5, 2: 16, 3: 0, 4: 8}, ""},
		{"the last applies", "0x1 5\n0x1 6\r\n", map[mad.GUID]uint64{1: 6}, ""},
		{"no ID", "0x1  five\n", nil, "f:1:6: expected an ID"},
		{"a comment in its place", "0x1 # five\n", nil, "f:1:5: expected an ID"},
		{"joined", "0x1 5#\n", nil, "f:1:5: expected an ID"},
	} {
		got, _, errors := IDs("f", []byte(c.text))
		if !maps.Equal(got, c.want) || !strings.Contains(errors.Error(), c.errors) ||
			(len(errors) > 0) != (c.errors != "") {
			t.Errorf("%s: %v, errors %v", c.name, got, errors)
		}
	}
}

func port(of mad.GUID, num uint8) routing.SwitchPort {
	return routing.SwitchPort{Switch: of, Port: num}
}

// TestPorts: lines are read as OpenSM's mark_ignored_port reads them, by strtoul with base 0.
func TestPorts(t *testing.T) {
	for _, c := range []struct {
		name, text, warnings, errors string
		want                         []routing.SwitchPort
	}{
		{"ports", "# ours\n0x1 5\n0x1\t0x10 comment\n2 7x\r\n0x3 010", "", "",
			[]routing.SwitchPort{port(1, 5), port(1, 16), port(2, 7), port(3, 8)}},
		{"no ports", "0x1\n0x1 0\n0x1 p\n0x1 255\n0x1 #5\n0x2 1\n",
			"f:1:4: expected a port of the switch, 1 to 254: the line is ignored\nf:2:5: e", "",
			[]routing.SwitchPort{port(2, 1)}},
		{"twice", "0x1 5\n0x1 6\n0x1 05\n", "f:3:1: port 5 of switch 0x0000000000000001 is also on line 1", "",
			[]routing.SwitchPort{port(1, 5), port(1, 6)}},
		{"binary", "0x1 \x00\xff\n\x00\n", "f:1:5: expected a port", "f:2:1: expected a GUID", nil},
	} {
		got, warnings, errors := Ports("f", []byte(c.text))
		mustMatch(t, c.name, warnings, errors, c.warnings, c.errors)
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

// TestDrained: a switch, or a port of one, on each line; anything else is an error with its place.
func TestDrained(t *testing.T) {
	const text = "# comment\n0x10\n0x11 7 # leaf\r\n  0x12\t# all of it\n0x13 0\n0x14 255\n0x15 x\n0x16 3 4\n0x10\n0x17"
	got, warnings, errors := Drained("f", []byte(text))
	want := []routing.SwitchPort{{Switch: 0x10}, {Switch: 0x11, Port: 7}, {Switch: 0x12}, {Switch: 0x17}}
	if !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if len(warnings) != 1 || warnings[0].Line != 9 {
		t.Errorf("%v", warnings)
	}
	lines := []int{}
	for _, e := range errors {
		lines = append(lines, e.Line)
	}
	if !slices.Equal(lines, []int{5, 6, 7, 8}) {
		t.Errorf("%v", errors)
	}
}

// TestWeights: as OpenSM's set_hop_wf, for which one character of any kind stands before a weight.
func TestWeights(t *testing.T) {
	for _, c := range []struct {
		name, text, warnings, errors string
		want                         map[routing.SwitchPort]uint8
	}{
		{"weights", "0x1 5 2\n0x1 6,0xff # slow\n0x2 1  010\r\n", "", "",
			map[routing.SwitchPort]uint8{port(1, 5): 2, port(1, 6): 255, port(2, 1): 8}},
		{"0 and 256", "0x1 5 0\n0x1 5 256\n0x1 5 1",
			"f:1:8: expected a weight, 1 to 255: the line is ignored, and the link has weight 1\nf:2:10: e", "",
			map[routing.SwitchPort]uint8{port(1, 5): 1}},
		{"none", "0x1 5\n0x1 5 \n0x1 5 x\n0x1\n", "f:1:6: expected a weight", "", nil},
		{"the last applies", "0x1 5 2\n0x1 5 3\n",
			"f:2:1: the weight of port 5 of switch 0x0000000000000001 is also on line 1", "",
			map[routing.SwitchPort]uint8{port(1, 5): 3}},
		{"no GUID", "0x1 5 2\nspine 5 2\n", "", "f:2:1: expected a GUID", map[routing.SwitchPort]uint8{port(1, 5): 2}},
	} {
		got, warnings, errors := Weights("f", []byte(c.text))
		mustMatch(t, c.name, warnings, errors, c.warnings, c.errors)
		if !maps.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

// TestSearchOrders: as OpenSM's set_search_ordering_ports.
func TestSearchOrders(t *testing.T) {
	for _, c := range []struct {
		name, text, warnings, errors string
		want                         string
	}{
		{"orders", "0x1 3 2 0x1\n0x2\t7 # x\n0x3 1  2\r\n", "", "", "[{1 [3 2 1]} {2 [7]} {3 [1 2]}]"},
		{"bad ports", "0x1 3 0\n0x1 3 255\n0x1 3,2\n0x1 3 x\n0x1 3 2 3\n0x1\n0x1 #3\n",
			"f:1:7: expected a port of the switch, 1 to 254: the line is ignored\nf:2:7: expected", "", "[]"},
		{"twice in a line", "0x1 3 2 3\n", "f:1:1: port 3 is listed twice: the line is ignored", "", "[]"},
		{"twice", "0x1 3\n0x1 4\n",
			"f:2:1: switch 0x0000000000000001 is also on line 1, which applies if the switch has all ports of that line", "",
			"[{1 [3]} {1 [4]}]"},
		{"long", "0x1" + strings.Repeat(" ", 300) + "3\n",
			"f:1:1: the line is longer than 255 bytes: OpenSM reads the rest as another line", "", "[{1 [3]}]"},
		{"binary", "\xff\xfe0\x00\n", "", "f:1:1: expected a GUID", "[]"},
	} {
		got, warnings, errors := SearchOrders("f", []byte(c.text))
		mustMatch(t, c.name, warnings, errors, c.warnings, c.errors)
		plain := make([]struct {
			s uint64
			p []uint8
		}, len(got))
		for i, o := range got {
			plain[i].s, plain[i].p = uint64(o.Switch), o.Ports
		}
		if s := fmt.Sprint(plain); s != c.want {
			t.Errorf("%s: %s, want %s", c.name, s, c.want)
		}
	}
}

// mustMatch fails the test unless what is said of a file contains the texts, and is nothing where they are "".
func mustMatch(t *testing.T, name string, warnings, errors diag.List, w, e string) {
	t.Helper()
	for _, c := range []struct {
		list diag.List
		want string
	}{{warnings, w}, {errors, e}} {
		if !strings.Contains(c.list.Error(), c.want) || (len(c.list) > 0) != (c.want != "") {
			t.Errorf("%s: %v, want %q", name, c.list, c.want)
		}
	}
}

// FuzzParse: whatever a file has, it is read or refused.
func FuzzParse(f *testing.F) {
	f.Add([]byte("0x1 5\n# x\n020\r\n"))
	f.Add([]byte("0x1 5 256\n0x1 3 2 1\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		lines := strings.Count(string(text), "\n") + 1
		check := func(entries int, warnings, errors diag.List) {
			if entries+len(errors) > lines+1 || len(warnings) > 3*lines {
				t.Errorf("%d entries, %d warnings and %d errors of %d lines", entries, len(warnings), len(errors),
					lines)
			}
		}
		list, w, e := List("f", text, nil)
		check(len(list.Items), w, e)
		ids, w, e := IDs("f", text)
		check(len(ids), w, e)
		ports, w, e := Ports("f", text)
		check(len(ports), w, e)
		weights, w, e := Weights("f", text)
		check(len(weights), w, e)
		orders, w, e := SearchOrders("f", text)
		check(len(orders), w, e)
	})
}
