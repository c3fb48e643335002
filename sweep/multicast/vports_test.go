package multicast

import (
	"fmt"
	"slices"
	"testing"

	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/topo"
)

// Of two lists those vPorts are found that came, went, moved, got another GUID, or went up or down, and no others.
func TestChangedVPorts(t *testing.T) {
	up := func(port topo.PortIdx, index uint16, guid mad.GUID) topo.VPort {
		return topo.VPort{Port: port, Index: index, GUID: guid, State: smp.PortActive}
	}
	down := up(2, 4, 0x24)
	down.State = smp.PortDown
	base := []topo.VPort{up(1, 1, 0x11), up(1, 2, 0x12), up(2, 1, 0x21), down}
	with := func(edit func(list []topo.VPort) []topo.VPort) []topo.VPort { return edit(slices.Clone(base)) }
	for _, c := range []struct {
		what     string
		old, now []topo.VPort
		want     []string
	}{
		{"nothing", base, slices.Clone(base), nil},
		{"all come", nil, base, []string{"now 11", "now 12", "now 21", "now 24"}},
		{"all go", base, nil, []string{"old 11", "old 12", "old 21", "old 24"}},
		{"one goes", base, with(func(l []topo.VPort) []topo.VPort { return slices.Delete(l, 1, 2) }), []string{"old 12"}},
		{"one comes", base, with(func(l []topo.VPort) []topo.VPort { return slices.Insert(l, 2, up(1, 3, 0x13)) }),
			[]string{"now 13"}},
		{"one comes up", base, with(func(l []topo.VPort) []topo.VPort { l[3].State = smp.PortInit; return l }),
			[]string{"old 24", "now 24"}},
		{"another GUID", base, with(func(l []topo.VPort) []topo.VPort { l[0].GUID = 0x99; return l }),
			[]string{"old 11", "now 99"}},
		{"another state that is up", base, with(func(l []topo.VPort) []topo.VPort { l[0].State = smp.PortInit; return l }),
			nil},
	} {
		old, now := topo.NewVPorts(c.old, nil), topo.NewVPorts(c.now, nil)
		var got []string
		for of, i := range changedVPorts(old, now) {
			name := "now"
			if of == old {
				name = "old"
			}
			got = append(got, fmt.Sprintf("%s %x", name, uint64(of.At(i).GUID)))
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", c.what, got, c.want)
		}
	}
}
