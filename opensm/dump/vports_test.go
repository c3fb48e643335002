package dump

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/topo"
	"ibsm/view/viewtest"
)

// TestVPorts: the file has each port with its vPorts, and why one is not Active; where only vPorts have changed no
// other file is written.
func TestVPorts(t *testing.T) {
	v := viewtest.New(t, "fattree:k=4", 0)
	a, b := v.Topo.EndPorts[0], v.Topo.EndPorts[1]
	v.Topo.VPorts = topo.NewVPorts([]topo.VPort{
		{GUID: 0x0200000000000001, Node: 7, Port: a, Index: 1, State: smp.PortActive,
			PKeys: topo.NewPKeyTable([]mad.PKey{0xffff, 0, 0x8001})},
		{Port: a, Index: 2, State: smp.PortDown, Waits: topo.WaitsForGUID},
		{GUID: 0x0200000000000003, Port: a, Index: 3, State: smp.PortInit, LID: 99, LIDRequired: true,
			Waits: topo.WaitsForSwitch},
	}, nil).WithHosts([]topo.VHost{{Port: a, Cap: 128, Top: 3, Enabled: true}, {Port: b, Cap: 16, Top: 4, Left: "it lies"}})
	got := write(t, VPorts, v)
	for i, want := range []string{
		`^port 0x[0-9a-f]{16} lid \d+ .* vports 3 of 128$`,
		`^  vport 1 guid 0x0200000000000001 node 0x0000000000000007 lid \d+ shared state Active 0xffff 0x8001$`,
		`^  vport 2 guid 0x0000000000000000 .* state Down: its GUID is zero$`,
		`^  vport 3 guid 0x0200000000000003 .* lid 99 state Initialize: the switch in front does not let its P_Keys pass yet$`,
		`^port 0x[0-9a-f]{16} lid \d+ .* vports 4 of 16: left as it was found: it lies$`,
	} {
		lines := strings.Split(got, "\n")
		if len(lines) != 6 || !regexp.MustCompile(want).MatchString(lines[i]) {
			t.Fatalf("line %d of\n%s\ndoes not match %s", i+1, got, want)
		}
	}

	dir, elsewhere := t.TempDir(), filepath.Join(t.TempDir(), "vports")
	k := NewKeeper(dir, nil, func() bool { return false }, nil)
	k.VPorts = func() string { return elsewhere }
	k.write(t.Context(), v)
	subnet := filepath.Join(dir, "opensm-subnet.lst")
	for _, name := range []string{subnet, elsewhere} {
		if _, err := os.Stat(name); err != nil {
			t.Error(err)
		}
		os.Remove(name)
	}
	next, tp := *v, *v.Topo
	tp.VPorts = topo.NewVPorts([]topo.VPort{{GUID: 5, Port: a, Index: 1, State: smp.PortInit}}, nil).WithHosts(
		v.Topo.VPorts.Hosts)
	next.Topo = &tp
	k.Put(v)
	<-k.views
	k.Put(&next)
	select {
	case is := <-k.views:
		k.write(t.Context(), is)
	default:
		t.Error("other vPorts are not put")
	}
	if text, err := os.ReadFile(elsewhere); err != nil || !strings.Contains(string(text), "guid 0x0000000000000005") {
		t.Errorf("with other vPorts: %s, %v", text, err)
	}
	if _, err := os.Stat(subnet); err == nil {
		t.Error("a file in which nothing has changed is written")
	}
}
