package cabling

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"ibsm/mad"
	"ibsm/topo/net"
)

func read(t testing.TB, lines ...string) *Cabling {
	t.Helper()
	c, err := Read("plan", []byte(header+"\n"+strings.Join(lines, "\n")+"\n"))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestWords shows what findings say.
func TestWords(t *testing.T) {
	devices := []string{"switch leaf-01 0x1", "switch leaf-02 0x2", "switch spine-01 0x3", "adapter h1 0x11",
		"adapter h2 0x12", "adapter h3 0x13", "adapter h4 0x14"}
	cables := []string{"cable leaf-01:1 - h1:1 4xHDR", "cable leaf-01:2 - h2:1 4xHDR", "cable leaf-01:3 - h3:1 4xHDR",
		"cable leaf-02:1 - h4:1 4xHDR", "cable leaf-01:9 - spine-01:1 4xHDR", "cable leaf-02:9 - spine-01:2 4xHDR"}
	plan := read(t, append(slices.Clone(devices), cables...)...)
	for _, c := range []struct {
		edits []string // old and new text in turn
		want  string
	}{
		{nil, ""},
		{[]string{"leaf-01:1 - h1", "leaf-01:2 - h1", "leaf-01:2 - h2", "leaf-01:1 - h2"},
			"cables 1 and 2 of leaf-01 are exchanged"},
		{[]string{"leaf-01:1 - h1", "leaf-02:1 - h1", "leaf-02:1 - h4", "leaf-01:1 - h4"},
			"the cables at leaf-01 port 1 and leaf-02 port 1 are exchanged"},
		{[]string{"leaf-01:3 -", "leaf-01:4 -", "leaf-01:2 -", "leaf-01:3 -", "leaf-01:1 -", "leaf-01:2 -"},
			"cables 1 to 3 of leaf-01 are shifted by one port, to ports 2 to 4"},
		{[]string{"leaf-01:2 - h2", "leaf-01:5 - h2"}, "the cable of h2 port 1 is in leaf-01 port 5 instead of port 2"},
		{[]string{"leaf-01:2 - h2", "leaf-02:2 - h2"},
			"the cable of h2 port 1 is in leaf-02 port 2 instead of leaf-01 port 2"},
		{[]string{"\ncable leaf-02:9 - spine-01:2 4xHDR", ""}, "cable leaf-02 port 9 - spine-01 port 2 is missing"},
		{[]string{"\ncable leaf-01:2 - h2:1 4xHDR", "", "\nadapter h2 0x12", ""}, "h2 is missing, with 1 cable"},
		{[]string{"cable leaf-01:1 ", "cable leaf-01:12 - spine-01:12\ncable leaf-01:1 "},
			"cable leaf-01 port 12 - spine-01 port 12 is not in the plan"},
		{[]string{"adapter h1 0x11", "adapter h1 0x11\nadapter h9 0x19", "cable leaf-01:1 ",
			"cable leaf-02:5 - h9:1\ncable leaf-02:6 - h9:2\ncable leaf-01:1 "},
			"h9 is not in the plan, with 2 cables"},
		{[]string{"h1:1 4xHDR", "h1:1 4xEDR"}, "link leaf-01 port 1 - h1 port 1 is 4xEDR instead of 4xHDR"},
		{[]string{"h1:1 4xHDR", "h1:1 2xHDR"}, "link leaf-01 port 1 - h1 port 1 is 2xHDR instead of 4xHDR"},
		{[]string{"h1:1 4xHDR", "h1:1 4xNDR"}, ""},
		{[]string{"leaf-01 0x1", "leaf-01 0x99"},
			"leaf-01 is another device: its GUID is 0x0000000000000099 instead of 0x0000000000000001"},
		{[]string{"switch leaf-01 0x1", "switch spare 0x99", "leaf-01", "spare"}, "spare is in the place of leaf-01"},
		{[]string{"adapter h1 0x11", "adapter new 0x99", "h1:1", "new:1"}, "new is in the place of h1"},
		{[]string{"\ncable leaf-02:9 - spine-01:2 4xHDR", "", "leaf-01:9 - spine-01:1", "leaf-01:9 - spine-01:2"},
			"the cable of leaf-01 port 9 is in spine-01 port 2 instead of port 1\ncable leaf-02 port 9 - spine-01 port 2 is missing"},
	} {
		text := strings.Join(append(slices.Clone(devices), cables...), "\n")
		for i := 0; i+1 < len(c.edits); i += 2 {
			if !strings.Contains(text, c.edits[i]) {
				t.Fatalf("%q is not in it", c.edits[i])
			}
			text = strings.ReplaceAll(text, c.edits[i], c.edits[i+1])
		}
		var got []string
		r := Compare(plan, read(t, text))
		for i := range r.Findings {
			got = append(got, r.Findings[i].String())
		}
		if strings.Join(got, "\n") != c.want {
			t.Errorf("%q:\n%s\nwant\n%s", c.edits, strings.Join(got, "\n"), c.want)
		}
	}
}

// TestOrder has findings of each kind in one plan: of devices first, then of cables that were moved, missing and slow
// ones. Each cable of a finding has its rate.
func TestOrder(t *testing.T) {
	devices := "switch a 0x1\nswitch b 0x2\nadapter h1 0x11\nadapter h2 0x12\nadapter h3 0x13\nadapter h4 0x14\nadapter h5 0x15\n"
	plan := read(
		t, devices+"cable a:1 - h1:1 4xHDR\ncable a:2 - h2:1 4xHDR\ncable a:3 - h3:1 4xHDR\ncable a:4 - h4:1 4xHDR\ncable a:5 - h5:1 2xNDR\ncable a:9 - b:9")
	present := read(t, strings.Replace(devices, "0x15", "0x99", 1)+
		"cable a:1 - h1:1 4xEDR\ncable a:3 - h2:1 4xHDR\ncable a:2 - h3:1 4xHDR\ncable a:5 - h5:1 2xNDR\ncable a:9 - b:9\ncable a:8 - b:8 1xSDR")
	var kinds []Kind
	r := Compare(plan, present)
	for _, f := range r.Findings {
		kinds = append(kinds, f.Kind)
	}
	if want := []Kind{Replaced, Exchanged, Missing, Added, Slower}; !slices.Equal(kinds, want) {
		t.Fatalf("%v, want %v", kinds, want)
	}
	if l := r.Findings[2].Planned[0]; l.Width != mad.Width4x || l.Speed != mad.HDR {
		t.Errorf("missing: %+v", l)
	}
	if l := r.Findings[3].Present[0]; l.Width != mad.Width1x || l.Speed != mad.SDR {
		t.Errorf("added: %+v", l)
	}
	if r.Limit(3); len(r.Findings) != 3 || r.More != 2 ||
		r.String() != "3 of 6 cables of the plan are there, 5 differences" {
		t.Errorf("%d, %d more: %v", len(r.Findings), r.More, r)
	}
}

// TestBounds has a switch with more cables missing than a finding lists, plans of which half and less than half is
// there, and a loopback plug.
func TestBounds(t *testing.T) {
	cables := func(from, to, shift int) string {
		text := "switch a 0x1\nswitch b 0x2\nswitch c 0x3\ncable a:40 - c:40\n"
		for p := from; p <= to; p++ {
			text += fmt.Sprintf("cable a:%d - b:%d\n", p, p+shift)
		}
		return text
	}
	plan := read(t, cables(1, 12, 0))
	r := Compare(plan, read(t, "switch a 0x1\nswitch c 0x3\ncable a:40 - c:40"))
	if f := &r.Findings[0]; len(r.Findings) != 1 || len(f.Planned) != MaxCables || f.More != 4 ||
		f.String() != "b is missing, with 12 cables" {
		t.Errorf("%d findings, %v", len(r.Findings), f)
	}
	for same, applies := range map[int]bool{5: false, 6: true, 7: true} { // and a:40 of 13
		text := cables(1, same, 0) + strings.TrimPrefix(cables(same+1, 12, 20), cables(1, 0, 0))
		if r := Compare(plan, read(t, text)); r.Applies() != applies || r.Same != same+1 || r.OtherSubnet() {
			t.Errorf("%d of 13: applies %v, the same %d", same+1, r.Applies(), r.Same)
		}
	}
	loop := read(t, cables(1, 1, 0))
	loop.Cables = append(loop.Cables, Cable{Ends: [2]End{{0, 7}, {0, 7}}})
	for _, c := range []struct {
		plan, present *Cabling
		want          Kind
		unplanned     int
	}{{loop, read(t, cables(1, 1, 0)), Missing, 0}, {read(t, cables(1, 1, 0)), loop, Added, 1}} {
		if r := Compare(c.plan, c.present); len(r.Findings) != 1 || r.Findings[0].Kind != c.want ||
			len(r.Unplanned) != c.unplanned {
			t.Errorf("loopback plug: %+v", r)
		}
	}
	if r := Compare(loop, loop); len(r.Findings) != 0 || len(r.Unplanned) != 0 {
		t.Errorf("a loopback plug that is planned: %+v", r)
	}
}

// TestMixed has cables that are mixed up in ways that have no better name, and ends where an exchange can be named at
// either side.
func TestMixed(t *testing.T) {
	devices := []string{"adapter h1 0x11", "adapter h2 0x12", "adapter h3 0x13", "adapter h4 0x14", "switch a 0x1",
		"switch b 0x2", "switch c 0x3"}
	plan := []string{"a:1 - h1:1", "a:2 - h2:1", "b:1 - h3:1", "c:1 - h4:1", "a:9 - b:9", "b:8 - c:9"}
	for _, c := range []struct{ present, want string }{
		{"a:2 - h1:1, a:1 - h2:1, b:1 - h3:1, c:1 - h4:1", "cables 1 and 2 of a are exchanged"},
		{"a:1 - h1:1, a:2 - h3:1, b:1 - h2:1, c:1 - h4:1", "the cables at a port 2 and b port 1 are exchanged"},
		{"a:1 - h2:1, a:2 - h3:1, b:1 - h1:1, c:1 - h4:1",
			"6 cables are mixed up: a port 1 - h2 port 1, a port 2 - h3 port 1, h1 port 1 - b port 1 instead of h1 port 1 - a port 1, h2 port 1 - a port 2, h3 port 1 - b port 1"},
		{"a:3 - h2:1, a:2 - h3:1, a:1 - h1:1, c:1 - h4:1",
			"4 cables are mixed up: h3 port 1 - a port 2, h2 port 1 - a port 3 instead of b port 1 - h3 port 1, a port 2 - h2 port 1"},
		{"a:1 - h2:1, a:2 - h3:1, b:1 - h4:1", "7 cables are mixed up"},
		{"a:1 - h1:1, a:2 - h3:1, b:1 - h4:1", "5 cables are mixed up"},
		{"a:2 - h1:1, a:3 - h2:1, b:1 - h3:1, c:1 - h4:1",
			"cables 1 and 2 of a are shifted by one port, to ports 2 and 3"},
		{"a:2 - h1:1, b:1 - h3:1, c:1 - h4:1",
			"h2 is missing, with 1 cable\nthe cable of h1 port 1 is in a port 2 instead of port 1"},
		{"a:1 - h1:1, a:2 - h2:1, b:1 - h3:1, c:1 - h4:1, c:7 - c:8", "cable c port 7 - c port 8 is not in the plan"},
	} {
		text := strings.Join(devices, "\n")
		used := strings.Split(c.present, ", ")
		present := read(t, text+"\ncable "+strings.Join(append(used, plan[4:]...), "\ncable "))
		if !strings.Contains(c.present, "h2") { // it is switched off
			present = withoutUnknown(renumbered(present, 0x12, 0))
		}
		if !strings.Contains(c.present, "h4") {
			present = withoutUnknown(renumbered(present, 0x14, 0))
		}
		var got []string
		r := Compare(read(t, text+"\ncable "+strings.Join(plan, "\ncable ")), present)
		for i := range r.Findings {
			got = append(got, r.Findings[i].String())
		}
		if all := strings.Join(got, "\n"); all != c.want &&
			!(strings.HasSuffix(c.want, "mixed up") && strings.HasPrefix(all, c.want)) {
			t.Errorf("%s:\n%s\nwant\n%s", c.present, all, c.want)
		}
	}
}

// renumbered gives a device another GUID.
func renumbered(c *Cabling, from, to mad.GUID) *Cabling {
	for i := range c.Devices {
		if c.Devices[i].GUID == from {
			c.Devices[i].GUID = to
		}
	}
	return c
}

// TestNames compares with plans that have names alone, or names that several devices have.
func TestNames(t *testing.T) {
	named := []string{"cable leaf:1 - h1:1", "cable leaf:2 - h2:1", "cable leaf:3 - spine:1"}
	present := []string{"switch leaf 0x1", "switch spine 0x2", "adapter h1 0x11", "adapter h2 0x12",
		"cable leaf:1 - h1:1", "cable leaf:2 - h2:1", "cable leaf:3 - spine:1"}
	for _, c := range []struct {
		plan, present []string
		unplanned     int
		want          string
	}{
		{named, present, 0, ""},
		// other adapters of these names
		{named, append(slices.Clone(present[:2]), "adapter h1 0x21", "adapter h2 0x22", present[4], present[5],
			present[6]), 0, ""},
		{named, append(slices.Clone(present[:2]), "adapter h2 0x11", "adapter h1 0x12", "cable leaf:1 - 0x11:1",
			"cable leaf:2 - 0x12:1", present[6]), 2, "cables 1 and 2 of leaf are exchanged"},
		// A name is the same without the blanks at its ends, unless another device has exactly the one that is meant.
		{named, append(slices.Clone(present[:2]), `adapter "h1 " 0x11`, `adapter " h2" 0x12`, "cable leaf:1 - 0x11:1",
			"cable leaf:2 - 0x12:1", present[6]), 0, ""},
		{named, append(slices.Clone(present[:2]), `adapter "h1 " 0x12`, "adapter h1 0x11", `adapter "h2 " 0x13`,
			"cable leaf:1 - 0x11:1", "cable leaf:2 - 0x13:1", "cable leaf:4 - 0x12:1", present[6]), 1,
			"h1  is not in the plan, with 1 cable"},
		// Of two devices of a name neither is known by it; cables say which is which.
		{named, append(slices.Clone(present[:2]), "adapter h1 0x11", "adapter h1 0x12", "cable leaf:1 - 0x11:1",
			"cable leaf:2 - 0x12:1", present[6]), 2,
			"h1 (0x0000000000000011) is in the place of h1, of which the plan has no GUID\nh1 (0x0000000000000012) is in the place of h2, of which the plan has no GUID\n2 devices are called h1, and the plan has no GUID: it may be any of them, so none is known"},
		{append(slices.Clone(present[:2]), "adapter h1 0x31", "adapter h1 0x32", "cable leaf:1 - 0x31:1",
			"cable leaf:2 - 0x32:1", present[6]),
			append(slices.Clone(present[:2]), "adapter h1 0x11", "adapter h1 0x12", "cable leaf:1 - 0x12:1",
				"cable leaf:2 - 0x11:1", present[6]), 2,
			"h1 is another device: its GUID is 0x0000000000000012 instead of 0x0000000000000031\nh1 is another device: its GUID is 0x0000000000000011 instead of 0x0000000000000032"},
		{append(slices.Clone(present[:4]), present[4], present[5], present[6]),
			append(slices.Clone(present[:2]), "router h1 0x21", present[3], present[4], present[5], present[6]), 1,
			"h1 is another device: its GUID is 0x0000000000000021 instead of 0x0000000000000011"},
	} {
		r := Compare(read(t, c.plan...), read(t, c.present...))
		var got []string
		for i := range r.Findings {
			got = append(got, r.Findings[i].String())
		}
		if strings.Join(got, "\n") != c.want || len(r.Unplanned) != c.unplanned {
			t.Errorf("%q, present %q:\n%s\n%d cables not in the plan; want\n%s\n%d", c.plan, c.present,
				strings.Join(got, "\n"), len(r.Unplanned), c.want, c.unplanned)
		}
	}
}

// TestReplaced replaces a rack: the leaf and its hosts, known by their places alone.
func TestReplaced(t *testing.T) {
	n, err := net.Generate("fattree:k=8,levels=2")
	if err != nil {
		t.Fatal(err)
	}
	present, leaf := clone(n), int32(slices.IndexFunc(n.Nodes, func(n net.Node) bool { return n.Desc == "leaf-03" }))
	if leaf < 0 {
		t.Fatal("no leaf")
	}
	rename := func(n *net.Node) {
		regive(n)
		n.Desc = "new " + n.Desc
	}
	rename(&present.Nodes[leaf])
	replaced := 1
	for _, p := range present.Nodes[leaf].Ports {
		if p.Peer.Node >= 0 && len(present.Nodes[p.Peer.Node].Ports) == 2 {
			rename(&present.Nodes[p.Peer.Node])
			replaced++
		}
	}
	c := Compare(Of(n), Of(present))
	for i := range c.Findings {
		if c.Findings[i].Kind != Replaced {
			t.Error(&c.Findings[i])
		}
	}
	if len(c.Findings) != replaced || len(c.Unplanned) != len(present.Nodes[leaf].Ports)-1-free(present, leaf) {
		t.Errorf("%d findings of %d, %d cables not in the plan", len(c.Findings), replaced, len(c.Unplanned))
	}
}

func free(n *net.Net, node int32) (free int) {
	for _, p := range n.Nodes[node].Ports[1:] {
		if p.Peer.Node < 0 {
			free++
		}
	}
	return free
}

// TestOtherSubnet compares with the plan of another subnet: there are no findings, and it does not apply. A plan of the
// same devices that are cabled otherwise has findings, and does not apply either.
func TestOtherSubnet(t *testing.T) {
	n, err := net.Generate("fattree:k=8")
	if err != nil {
		t.Fatal(err)
	}
	other := clone(n)
	for i := range other.Nodes {
		regive(&other.Nodes[i])
	}
	if c := Compare(Of(n), Of(other)); !c.OtherSubnet() || c.Applies() || len(c.Findings) > 0 || c.Known != 0 ||
		c.Same != 0 {
		t.Errorf("%d of %d known, %d findings", c.Known, c.Devices, len(c.Findings))
	}
	mixed := clone(n) // every host has the place of the next one
	var hosts []net.End
	for i := range n.Nodes {
		if len(n.Nodes[i].Ports) == 2 {
			hosts = append(hosts, net.End{Node: int32(i), Port: 1})
		}
	}
	for i := range mixed.Nodes {
		for num, p := range mixed.Nodes[i].Ports {
			if p.Peer.Node >= 0 && len(mixed.Nodes[p.Peer.Node].Ports) > 2 && len(mixed.Nodes[i].Ports) > 2 {
				unplug(mixed, net.End{Node: int32(i), Port: uint8(num)})
			}
		}
	}
	for i, h := range hosts {
		plug(mixed, h, peer(n, hosts[(i+1)%len(hosts)]))
	}
	if c := Compare(Of(n), Of(mixed)); c.OtherSubnet() || c.Applies() || len(c.Findings) == 0 {
		t.Errorf("%d of %d known, %d findings", c.Known, c.Devices, len(c.Findings))
	}
	// What is there is a small part of the plan.
	part := &Cabling{}
	leaf := peer(n, hosts[0])
	part.Devices = append(part.Devices, Device{GUID: n.Nodes[hosts[0].Node].GUID, Type: 1},
		Device{GUID: n.Nodes[leaf.Node].GUID, Type: 2})
	part.Cables = []Cable{{Ends: [2]End{{0, 1}, {1, leaf.Port}}}}
	if c := Compare(Of(n), part); !c.Applies() || len(c.Unplanned) > 0 {
		t.Errorf("a part of it: %+v", c)
	}
}

// TestPortGUIDs has a plan that names adapters by the GUIDs of their ports.
func TestPortGUIDs(t *testing.T) {
	n, err := net.Generate("fattree:k=4,levels=2")
	if err != nil {
		t.Fatal(err)
	}
	plan := Of(n)
	for i := range n.Nodes {
		if len(n.Nodes[i].Ports) == 2 {
			n.Nodes[i].Ports[1].GUID = n.Nodes[i].GUID + 77<<32
			plan.Devices[i].GUID = n.Nodes[i].Ports[1].GUID
		}
	}
	if c := Compare(plan, Of(n)); len(c.Findings) > 0 || len(c.Unplanned) > 0 {
		t.Errorf("%d findings, %d cables not in the plan: %v", len(c.Findings), len(c.Unplanned), &c.Findings[0])
	}
}

// TestAggregation: aggregation nodes of switches come and go, whether they are in the plan or not; they are no cables.
func TestAggregation(t *testing.T) {
	var with, without *net.Net
	for spec, n := range map[string]**net.Net{"fattree:k=40,levels=2,pods=3,sharp=on": &with,
		"fattree:k=40,levels=2,pods=3,sharp=off": &without} {
		var err error
		if *n, err = net.Generate(spec); err != nil {
			t.Fatal(err)
		}
	}
	if len(with.Nodes) == len(without.Nodes) {
		t.Fatal("no aggregation node")
	}
	for format := range 3 {
		for _, c := range []struct{ plan, present *net.Net }{{with, without}, {without, with}, {with, with}} {
			r := Compare(written(t, c.plan, format), Of(c.present))
			if len(r.Findings) > 0 || len(r.Unplanned) > 0 || r.Same != r.Planned || r.Same != r.Present {
				t.Errorf("format %d, plan of %d devices, %d present: %+v", format, len(c.plan.Nodes),
					len(c.present.Nodes), r.String())
			}
		}
	}
}

// TestInnerOfMissing: what a switch of the plan has inside is no cable where the switch is not there, either.
func TestInnerOfMissing(t *testing.T) {
	plan := &Cabling{
		Devices: []Device{{GUID: 1, Type: mad.Switch}, {GUID: 2, Type: mad.CA}, {GUID: 3, Type: mad.CA}},
		Cables:  []Cable{{Ends: [2]End{{0, 1}, {1, 1}}}, {Ends: [2]End{{0, 41}, {2, 1}}}},
		Inner:   []End{{0, 41}},
	}
	if c := Compare(plan, &Cabling{Devices: plan.Devices[1:2]}); c.Planned != 1 {
		t.Errorf("%d cables are planned", c.Planned)
	}
}

// TestDeterministic compares twice.
func TestDeterministic(t *testing.T) {
	n, err := net.Generate("torus:dims=4x4x3,hosts=2")
	if err != nil {
		t.Fatal(err)
	}
	other, err := net.Generate("torus:dims=4x4x3,hosts=2,missing-links=20,seed=9")
	if err != nil {
		t.Fatal(err)
	}
	if a, b := Compare(Of(n), Of(other)), Compare(Of(n), Of(other)); !reflect.DeepEqual(a, b) {
		t.Error("two results")
	}
}

// BenchmarkCompare compares 11,664 hosts with their plan; with miswirings, each leaf has two cables exchanged and one
// missing.
func BenchmarkCompare(b *testing.B) {
	n, err := net.Generate("fattree:k=36")
	if err != nil {
		b.Fatal(err)
	}
	plan := Of(n)
	wrong := clone(n)
	for i := range n.Nodes {
		if ports := n.Nodes[i].Ports; len(ports) > 4 && ports[1].Peer.Node >= 0 &&
			len(n.Nodes[ports[1].Peer.Node].Ports) == 2 {
			p, q := unplug(wrong, net.End{Node: int32(i), Port: 1}), unplug(wrong, net.End{Node: int32(i), Port: 2})
			plug(wrong, net.End{Node: int32(i), Port: 1}, q)
			plug(wrong, net.End{Node: int32(i), Port: 2}, p)
			unplug(wrong, net.End{Node: int32(i), Port: 3})
		}
	}
	for _, c := range []struct {
		name    string
		present *Cabling
	}{{"same", Of(n)}, {"miswired", Of(wrong)}} {
		b.Run(c.name, func(b *testing.B) {
			for b.Loop() {
				r := Compare(plan, c.present)
				b.ReportMetric(float64(len(r.Findings)), "findings")
			}
		})
	}
	b.Run("read", func(b *testing.B) {
		var text strings.Builder
		if err := Write(&text, plan); err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(text.Len()), "bytes")
		for b.Loop() {
			if _, err := Read("plan", []byte(text.String())); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// TestExchangedSwitches: cables of two switches that have each other's place are not in the plan, though the finding
// names the switches, not the cables.
func TestExchangedSwitches(t *testing.T) {
	n, err := net.Generate("fattree:k=4")
	if err != nil {
		t.Fatal(err)
	}
	var leaves []int32
	for i := range n.Nodes {
		if p := n.Nodes[i].Ports; len(p) > 2 && len(leaves) < 2 && slices.ContainsFunc(p[1:], func(p net.Port) bool {
			return p.Peer != net.NoEnd && len(n.Nodes[p.Peer.Node].Ports) == 2
		}) {
			leaves = append(leaves, int32(i))
		}
	}
	exchanged := clone(n)
	for _, num := range []uint8{1, 2, 3, 4} {
		a, b := net.End{Node: leaves[0], Port: num}, net.End{Node: leaves[1], Port: num}
		toA, toB := unplug(exchanged, a), unplug(exchanged, b)
		plug(exchanged, a, toB)
		plug(exchanged, b, toA)
	}
	c := Compare(Of(n), Of(exchanged))
	if len(c.Findings) != 1 || c.Findings[0].Kind != ExchangedDevices || len(c.Unplanned) != 8 {
		t.Errorf("findings %v, %d cables are not in the plan", c.Findings, len(c.Unplanned))
	}
}
