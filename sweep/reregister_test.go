package sweep

import (
	"slices"
	"testing"

	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/topo/net"
)

// TestReregister asks the clients of ports that were named one after the other, and no others, and not again.
func TestReregister(t *testing.T) {
	b := newHarness(t, small, Config{})
	out := b.heavy()
	asked := func() (guids []mad.GUID) {
		for _, s := range b.sets {
			if info := (*smp.PortInfo)(&s.Data); s.Attr == smp.AttrPortInfo && info.ClientReregister() {
				guids = append(guids, b.fabric.PortGUID(net.End{Node: s.Node, Port: uint8(s.Mod)}))
			}
		}
		slices.Sort(guids)
		return guids
	}
	var hosts []mad.GUID
	for _, p := range out.Topo.EndPorts {
		if out.Topo.Nodes[out.Topo.Ports[p].Node].Type == mad.CA {
			hosts = append(hosts, out.Topo.Ports[p].GUID)
		}
	}
	want := slices.Sorted(slices.Values(hosts[1:3]))
	b.Reregister(hosts[1:2])
	b.Reregister(hosts[2:3])
	b.heavy()
	if got := asked(); !slices.Equal(got, want) {
		t.Errorf("asked %v to register again, want %v", got, want)
	}
	b.heavy()
	if got := asked(); got != nil {
		t.Errorf("asked %v again", got)
	}
}

// TestPutBack: ports of a task that was given up are asked by the next one, with those that were named meanwhile.
func TestPutBack(t *testing.T) {
	r := reregistrations{asked: map[mad.GUID]bool{1: true}}
	r.take()
	r.asked = map[mad.GUID]bool{2: true}
	r.putBack()
	if got := r.take(); !got[1] || !got[2] || len(got) != 2 {
		t.Errorf("asked are %v", got)
	}
	if r.putBack(); len(r.take()) != 2 {
		t.Error("ports are lost where none were named meanwhile")
	}
}
