package sim_test

import (
	"fmt"
	"log/slog"
	"testing"
	"time"

	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/manager"
	"ibsm/opensm/cache"
	"ibsm/sim/fabric"
	"ibsm/sweep"
	"ibsm/sweep/plan"
	"ibsm/topo/net"
	"ibsm/topo/net/nettest"
)

// quickReturn is how long a port that is back may take until it is usable again, with an M_Key of its own as with one
// M_Key of all ports: a sweep, and the time-out of one request (4 times 200 ms) for an adapter at a new place.
const quickReturn = 1500 * time.Millisecond

// outage is an event that takes hosts away and brings them back.
type outage struct {
	name  string
	hosts []net.End
	down  func()
	up    func()
}

// outages are the events in a fat tree with a manager at the first host.
func (b *harness) outages() []outage {
	f, one, other := b.Fabric, host(b.net, 20), host(b.net, 25)
	leaf := f.Peer(one).Node
	place := f.Peer(other)
	links := func(do func(net.End), ends ...net.End) func() {
		return func() {
			for _, e := range ends {
				do(e)
			}
		}
	}
	first := b.uplinks(leaf)
	var leaves, behind []net.End
	for i := 1; i <= 10; i++ { // hosts per leaf are half its ports
		h := host(b.net, i*len(first))
		leaves, behind = append(leaves, b.uplinks(f.Peer(h).Node)...), append(behind, h)
	}
	return []outage{
		{"link of a host", []net.End{one}, links(f.LinkDown, one), links(f.LinkUp, one)},
		{"uplinks of a leaf", []net.End{one}, links(f.LinkDown, first...), links(f.LinkUp, first...)},
		{"a leaf reboots", []net.End{one}, func() { f.NodeDown(leaf) }, func() { f.NodeUp(leaf) }},
		{"a host moves", []net.End{one}, links(f.LinkDown, one), func() {
			f.Unplug(one)
			f.Unplug(other)
			f.Plug(one, place, mad.Width4x, mad.EDR)
		}},
		{"uplinks of ten leaves", behind, links(f.LinkDown, leaves...), links(f.LinkUp, leaves...)},
	}
}

// uplinks are the ports of a leaf that lead to switches.
func (b *harness) uplinks(leaf int32) (ends []net.End) {
	for e := range b.Fabric.Ports() {
		if peer := b.Fabric.Peer(e); e.Node == leaf && e.Port != 0 && peer != net.NoEnd &&
			b.Fabric.NodeType(peer.Node) == mad.Switch {
			ends = append(ends, e)
		}
	}
	return ends
}

// awaitUsable waits until packets from the manager's host reach all hosts, and returns how long that took.
func (b *harness) awaitUsable(hosts []net.End) time.Duration {
	b.Helper()
	began, left := b.Fabric.Now(), hosts
	for b.Fabric.Now()-began < 5*time.Minute {
		for len(left) > 0 {
			info := b.Fabric.PortInfo(left[0])
			if _, end := b.Fabric.Probe(firstHost(b.net), info.LID(), mad.DefaultPKey, 0,
				nil); info.PortState() != smp.PortActive || end != fabric.Delivered {
				break
			}
			left = left[1:]
		}
		if len(left) == 0 {
			return b.Fabric.Now() - began
		}
		b.pass(50 * time.Millisecond)
	}
	return -1
}

// TestReturnWithPortMKeys: whoever was away is back after a second, although each port has an M_Key that its agent has
// kept: after a flap of any length, with every lease, also at another port.
func TestReturnWithPortMKeys(t *testing.T) {
	for _, down := range []time.Duration{50 * time.Millisecond, 3 * time.Second, 3 * time.Minute} {
		for _, lease := range []uint16{0, 60} {
			for which := range 5 {
				b, cfg := treeWithPortMKeys(t, lease)
				b.comeUp(cfg)
				o := b.outages()[which]
				o.down()
				b.pass(down)
				o.up()
				if took := b.awaitUsable(o.hosts); took < 0 || took > quickReturn {
					t.Errorf("%s for %v, lease %d s: usable after %v, more than %v", o.name, down, lease, took,
						quickReturn)
				}
			}
		}
	}
}

// treeWithPortMKeys is a fat tree of 12 leaves, and the configuration of its manager.
func treeWithPortMKeys(t *testing.T, lease uint16) (*harness, manager.Config) {
	cfg := portMKeys(1)
	cfg.Sweep.Settings.MKeyLease = sweep.Given(lease)
	return newHarness(t, nettest.Generate(t, "fattree:k=12,levels=2"), fabric.Config{Seed: 1}), cfg
}

// TestReturnAfterRestart: the memory of places outlives the manager in OpenSM's file neighbors, and a standby has its
// own.
func TestReturnAfterRestart(t *testing.T) {
	for which := range 5 {
		for _, next := range []string{"restart", "standby"} {
			b, cfg := treeWithPortMKeys(t, 60)
			first := b.comeUp(cfg)
			o := b.outages()[which]
			var standby *watched
			if next == "standby" {
				other := cfg
				other.Sweep.Restored = restoredFrom(t, first)
				other.Sweep.Restored.Port = b.Fabric.PortGUID(host(b.net, 3))
				standby = b.add(host(b.net, 3), other)
				if b.pass(settling); standby.last() != smp.Standby {
					t.Fatalf("%s: the other manager is %v", o.name, standby.last())
				}
			}
			o.down()
			b.pass(30 * time.Second)
			first.retire()
			if next == "restart" {
				cfg.Sweep.Restored = restoredFrom(t, first)
				standby = b.add(firstHost(b.net), cfg)
			}
			b.pass(settling)
			if standby.last() != smp.Master {
				t.Fatalf("%s, %s: the next manager is %v", o.name, next, standby.last())
			}
			o.up()
			if took := b.awaitUsable(o.hosts); took < 0 || took > quickReturn {
				standby.dump()
				t.Errorf("%s, %s in between: usable after %v, more than %v", o.name, next, took, quickReturn)
			}
		}
	}
}

// TestReturnAfterTakeover: a standby knows from the mirror who came after its last walk, and has the M_Key for it,
// although it has never seen it: not by its walk, nor by a file, nor in the sweep of the takeover.
func TestReturnAfterTakeover(t *testing.T) {
	for _, lease := range []uint16{0, 60} {
		for which := range 5 {
			b, cfg := treeWithPortMKeys(t, lease)
			cfg.Registrar = registrarConfig().Registrar
			outages := b.outages()
			o, came := outages[which], outages[which]
			if o.name == "a host moves" {
				came = outages[0] // the same host
			}
			came.down()
			first := b.comeUp(cfg)
			other := cfg
			other.Sweep.Restored = restoredFrom(t, first)
			other.Sweep.Restored.Port = b.Fabric.PortGUID(host(b.net, 3))
			standby := b.add(host(b.net, 3), other)
			b.pass(settling)
			came.up()
			if took := b.awaitUsable(o.hosts); took < 0 {
				t.Fatalf("%s: the hosts do not come", o.name)
			}
			b.pass(settling)
			if walked := standby.states; standby.last() != smp.Standby || len(walked) != 2 {
				t.Fatalf("%s: the other manager is %v", o.name, walked)
			}
			o.down()
			b.pass(30 * time.Second)
			first.retire()
			if b.pass(settling); standby.last() != smp.Master {
				t.Fatalf("%s: the standby is %v", o.name, standby.last())
			}
			o.up()
			if took := b.awaitUsable(o.hosts); took < 0 || took > quickReturn {
				t.Errorf("%s, lease %d s: usable after %v, more than %v", o.name, lease, took, quickReturn)
			}
		}
	}
}

// restoredFrom is what the next start of a manager reads of OpenSM's cache files.
func restoredFrom(t *testing.T, m *watched) (r sweep.Restored) {
	t.Helper()
	files := &cache.Files{Dir: t.TempDir()}
	lids := map[mad.GUID]cache.LIDRange{}
	for _, p := range m.View.Topo.EndPorts {
		lid := m.View.LIDs.Base[p]
		lids[m.View.Topo.Ports[p].GUID] = cache.LIDRange{Min: lid, Max: lid}
	}
	for _, a := range m.View.Absent {
		lids[a.Port] = cache.LIDRange{Min: a.Base, Max: a.Base}
	}
	k := cache.NewKeeper(files, lids, nil, slog.New(slog.DiscardHandler))
	k.PutView(m.View)
	k.Close()
	k.Run()
	mkeys, skipped, err := files.ReadMKeys()
	neighbors, more, alsoErr := files.ReadNeighbors()
	if err != nil || alsoErr != nil || len(skipped)+len(more) > 0 {
		t.Fatal(err, alsoErr, fmt.Sprint(skipped, more))
	}
	r.MKeys, r.Behind, r.Port = mkeys, map[plan.Key]plan.Key{}, m.View.Topo.Ports[m.View.Topo.Self].GUID
	for near, far := range neighbors {
		r.Behind[plan.Key{Node: near.GUID, Port: near.Port}] = plan.Key{Node: far.GUID, Port: far.Port}
	}
	return r
}
