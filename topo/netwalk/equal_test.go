package netwalk

import (
	"testing"

	"ibsm/mad"
	"ibsm/topo"
	"ibsm/topo/net"
)

// What was read twice is equal, whether partition tables are shared or not, and anything
// that is different is seen.
func TestEqual(t *testing.T) {
	read := func(change func(*topo.Topo)) *topo.Topo {
		got, err := Topo(twoSwitches(false), net.End{Node: 3, Port: 1})
		if err != nil {
			t.Fatal(err)
		}
		got.Ports[got.Self].PKeys = topo.NewPKeyTable([]mad.PKey{0xffff, 0x8001})
		change(got)
		return got
	}
	first := read(func(*topo.Topo) {})
	if !first.Equal(first) || !first.Equal(read(func(*topo.Topo) {})) {
		t.Error("what was read twice is not equal")
	}
	for what, change := range map[string]func(*topo.Topo){
		"own port":      func(o *topo.Topo) { o.Self-- },
		"node's name":   func(o *topo.Topo) { o.Nodes[1].Desc[0]++ },
		"route":         func(o *topo.Topo) { o.Nodes[1].Route = mad.MakeRoute(1, 7) },
		"a node less":   func(o *topo.Topo) { o.Nodes = o.Nodes[1:] },
		"a port less":   func(o *topo.Topo) { o.Ports = o.Ports[1:] },
		"PortInfo":      func(o *topo.Topo) { o.Ports[o.Self].Info[5]++ },
		"link":          func(o *topo.Topo) { o.Ports[o.Self].Peer = topo.None },
		"P_Key":         func(o *topo.Topo) { o.Ports[o.Self].PKeys = topo.NewPKeyTable([]mad.PKey{0xffff, 0x8002}) },
		"P_Keys unread": func(o *topo.Topo) { o.Ports[o.Self].PKeys = nil },
		"P_Key, PortInfo": func(o *topo.Topo) {
			o.Ports[o.Self].PKeys = topo.NewPKeyTable(nil)
			o.Ports[o.Self].Info[5]++
		},
	} {
		if o := read(change); first.Equal(o) || o.Equal(first) {
			t.Errorf("%s: not seen", what)
		}
	}
}
