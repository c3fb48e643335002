package sa

import (
	"maps"
	"testing"

	"ibsm/registry"
	"ibsm/topo"
	"ibsm/view"
)

// TestNeighbors: where ports have M_Keys of their own, whoever is or was last behind a port is registered, and only
// what differs is changed.
func TestNeighbors(t *testing.T) {
	d := newHarness(t)
	expect := func(when string, want map[registry.End]registry.End, changes int) {
		t.Helper()
		if got := maps.Collect(d.reg.Neighbors()); !maps.Equal(got, want) {
			t.Errorf("%s: %v, want %v", when, got, want)
		}
		if got := len(d.saved); got != changes {
			t.Errorf("%s: %d changes, want %d: %v", when, got, changes, d.saved)
		}
		d.saved = nil
	}
	publish := func(unlinked topo.PortIdx, left []view.LeftLink) {
		v, c := *d.view, d.view.Topo.Clone()
		if unlinked != topo.None {
			c.Ports[c.Ports[unlinked].Peer].Peer, c.Ports[unlinked].Peer = topo.None, topo.None
		}
		v.Topo, v.Left = c, left
		d.step(ViewPublished{&v})
	}
	d.saved = nil
	publish(topo.None, nil)
	expect("one M_Key for all", map[registry.End]registry.End{}, 0)

	c := d.view.Topo
	all := map[registry.End]registry.End{}
	for i, port := range c.Ports {
		if port.Peer != topo.None && (c.IsSwitchPort(topo.PortIdx(i)) || topo.PortIdx(i) == c.Self) {
			all[endOf(c, topo.PortIdx(i))] = endOf(c, port.Peer)
		}
	}
	publish(topo.None, []view.LeftLink{})
	expect("M_Keys for each port", all, len(all))

	host := c.FindPort(h2)
	at, far := endOf(c, c.Ports[host].Peer), endOf(c, host)
	publish(host, []view.LeftLink{{Here: at, Far: far}})
	expect("one has left", all, 0)
	other := registry.End{GUID: 0x77, Port: 2}
	publish(host, []view.LeftLink{{Here: at, Far: other}})
	changed := maps.Clone(all)
	changed[at] = other
	expect("somebody else left later", changed, 1)
	publish(host, []view.LeftLink{})
	delete(changed, at)
	expect("it is forgotten", changed, 1)
	publish(topo.None, []view.LeftLink{{Here: at, Far: other}})
	expect("its place is taken", all, 1)
	publish(topo.None, nil)
	expect("one M_Key again", map[registry.End]registry.End{}, len(all))
}
