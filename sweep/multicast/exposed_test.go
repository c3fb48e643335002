package multicast

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/mad/txn"
	"ibsm/sweep/device"
	"ibsm/topo"
)

// find is a switch by its name.
func (h *harness) find(name string) topo.NodeIdx {
	h.Helper()
	for _, n := range h.topo.Switches {
		if h.topo.Nodes[n].Desc.String() == name {
			return n
		}
	}
	h.Fatalf("no switch %q", name)
	return topo.None
}

// plant has a switch forward the first multicast LID to others.
func (h *harness) plant(from topo.NodeIdx, to ...topo.NodeIdx) {
	h.Helper()
	req := txn.Request{Route: h.topo.Nodes[from].Route, Method: mad.MethodSet, Attr: smp.AttrMulticastForwardingTable}
	table := (*smp.MulticastForwardingTable)(&req.Data)
	for num, other := range h.upward(from) {
		if slices.Contains(to, other) {
			table.SetPortMask(testMLID, table.PortMask(testMLID)|1<<num)
		}
	}
	if o := h.ask(&req); o.Result != txn.Replied || o.Status != mad.StatusOK {
		h.Fatal(o)
	}
}

// circles has two circles of switches between the first pod and the last, of two switches above leaves and two spines,
// which no leaf leads to.
func circles(h *harness) {
	for _, names := range [][2]string{{"agg-01", "agg-07"}, {"agg-02", "agg-08"}} {
		a, b := h.find(names[0]), h.find(names[1])
		var spines []topo.NodeIdx
		for _, above := range h.upward(a) {
			if strings.HasPrefix(h.topo.Nodes[above].Desc.String(), "spine") {
				spines = append(spines, above)
			}
		}
		h.plant(a, spines...)
		h.plant(b, spines...)
		for _, s := range spines {
			h.plant(s, a, b)
		}
	}
}

// TestUnexposed: a takeover reads the tables of switches next to hosts and of those with a port 0 for programs, and
// where these lead. What others hold is overwritten before a packet gets to it.
func TestUnexposed(t *testing.T) {
	h := newHarness(t)
	h.join()
	h.subnet(device.AnotherSM)
	circles(h)
	h.rest("reads 12") // eight leaves, and the switches of two pods above them
	h.join(0, 15)
	h.phases = nil
	for h.step() {
		h.reaches() // no packet circulates at any moment
	}
	h.reach(15)
	if !slices.ContainsFunc(h.phases, func(p phaseRequests) bool { return p.phase == removes && p.requests >= 3 }) {
		t.Errorf("phases %v: the three switches between the leaves are not written before these", h.phases)
	}
	if slices.ContainsFunc(h.phases, func(p phaseRequests) bool { return p.phase == reads && p.requests > 0 }) {
		t.Errorf("phases %v: what is written anyhow is read", h.phases)
	}
}

// TestExposed: where the tables of switches next to hosts lead is read, too, and where those lead, and whatever is next
// to a switch that does not answer; the circle is opened.
func TestExposed(t *testing.T) {
	for _, c := range []struct {
		name  string
		leads []string // of leaf-01, before the takeover
		quiet string   // a switch that does not answer a Get
		reads string   // switches without an own way in
	}{
		{name: "leads nowhere"},
		{name: "leads up", leads: []string{"agg-01"}, reads: "agg-01 agg-07 spine-01 spine-03"},
		{name: "does not answer", quiet: "leaf-01",
			reads: "agg-01 agg-02 agg-07 agg-08 spine-01 spine-02 spine-03 spine-04"},
		{name: "does not answer above", leads: []string{"agg-01"}, quiet: "spine-01",
			reads: "agg-01 agg-07 spine-01 spine-03"},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := newHarness(t)
			h.join()
			h.subnet(device.AnotherSM)
			circles(h)
			for _, above := range c.leads {
				h.plant(h.find("leaf-01"), h.find(above))
			}
			asked := map[string]bool{}
			h.meddle = func(req *txn.Request, o *txn.Outcome) {
				n := h.topo.Switches[topo.SwitchIdx(uint32(req.Tag))]
				name := h.topo.Nodes[n].Desc.String()
				if req.Method == mad.MethodGet {
					if !isEntry(h.topo, n) {
						asked[name] = true
					}
					if name == c.quiet {
						*o = txn.Outcome{Owner: o.Owner, Tag: o.Tag, Method: o.Method, Attr: o.Attr, Mod: o.Mod,
							Result: txn.TimedOut}
					}
				}
			}
			h.goOn()
			var names []string
			for name := range asked {
				names = append(names, name)
			}
			slices.Sort(names)
			if got := strings.Join(names, " "); got != c.reads {
				t.Errorf("reads %q, want %q", got, c.reads)
			}
			h.meddle = nil
			h.join(0, 15)
			h.goOn()
			h.reach(15)
		})
	}
}

// TestExposedLater: a subnet that comes while tables are read has those read that were not yet, and one in which a
// switch has got a host has that read.
func TestExposedLater(t *testing.T) {
	h := newHarness(t)
	leaf := h.fabric.Peer(h.hosts[15])
	h.unplug(14)
	h.unplug(15)
	h.join()
	h.subnet(device.AnotherSM)
	const read = 5
	for range read + 1 { // one to begin
		if !h.step() {
			t.Fatal("nothing is read")
		}
	}
	h.unplug(3)
	h.subnet(device.AnotherSM)
	h.rest(fmt.Sprint("reads ", 11-read))
	h.net.Nodes[leaf.Node].Ports[leaf.Port].Peer, h.net.Nodes[h.hosts[15].Node].Ports[1].Peer = h.hosts[15], leaf
	h.fabric.LinkUp(h.hosts[15])
	h.subnet(device.AnotherSM)
	h.rest("reads 1")
}
