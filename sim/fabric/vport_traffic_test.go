package fabric

import (
	"slices"
	"testing"
	"time"

	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/topo/net"
)

// twoTenants has functions 1 and 2 of H2 and 1 of H3 Active: the first ones in partition 0x8001, function 2 in 0x8002.
func twoTenants(t *testing.T, c VPorts) (*Fabric, *client) {
	t.Helper()
	f, k := withVPorts(t, c)
	giveGUIDs(f, h2, 1, 2, 3)
	giveGUIDs(f, h3, 1)
	for _, node := range []int32{h2, h3} {
		k.enable(node)
		k.activate(node, 1, 0x8001)
	}
	k.activate(h2, 2, 0x8002)
	return f, k
}

// addKeys gives a port P_Keys besides the default partition, as a port must have whose functions have them.
func (c *client) addKeys(node int32, keys ...uint16) {
	c.t.Helper()
	table := [64]byte{0: 0xff, 1: 0xff}
	for i, k := range keys {
		table[2*i+2], table[2*i+3] = byte(k>>8), byte(k)
	}
	if st := c.set(smp.AttrPKeyTable, 0, table, paths[node]...); st != 0 {
		c.t.Fatal(st)
	}
}

func TestVPortPackets(t *testing.T) {
	f, k := twoTenants(t, VPorts{})
	k.addKeys(h1, 0x8001)
	a, b, other, far := function(h2, 1), VPort{At: end(h2, 1)}, function(h2, 2), function(h3, 1)
	own := VPort{At: end(h1, 1)} // a port without functions
	none := mad.GID{}
	for _, tt := range []struct {
		name     string
		from, to VPort
		pkey     mad.PKey
		gid      mad.GID
		want     Drop
	}{
		{"between hosts", a, far, 0x8001, f.VPortGID(far), Delivered},
		{"within a partition, from a port", own, far, 0x8001, f.VPortGID(far), Delivered},
		{"to a port", far, own, 0x8001, f.VPortGID(own), Delivered},
		{"without a GRH", a, far, 0x8001, none, DropGRH},
		{"without a GRH it reaches the port, which lacks the P_Key", own, far, 0x8001, none, DropPKey},
		{"without a GRH it reaches the port", own, far, 0xffff, none, Delivered},
		{"another tenant's P_Key at the sender", a, far, 0x8002, f.VPortGID(far), DropPKey},
		{"another tenant within the host", a, other, 0x8001, f.VPortGID(other), DropPKey},
		{"another tenant between hosts", far, other, 0x8001, f.VPortGID(other), DropPKey},
		{"the port's own P_Keys do not count for a function", b, a, 0xffff, f.VPortGID(a), DropPKey},
		{"a GID that is none of the LID's", own, far, 0x8001, f.VPortGID(a), DropPKey}, // for the port, as to P_Keys
		{"from one in Initialize", function(h2, 3), far, 0xffff, f.VPortGID(far), DropNotActive},
		{"to one in Initialize", far, function(h2, 3), 0x8001, f.VPortGID(function(h2, 3)), DropNotActive},
	} {
		if _, why := f.ProbeVPort(tt.from, f.VPortLID(tt.to), tt.gid, tt.pkey, 0, nil); why != tt.want {
			t.Errorf("%s: %v, want %v", tt.name, why, tt.want)
		}
	}
	f.SetFunctionGUID(function(h2, 4), f.VPortGID(a).GUID(), 4)
	k.activate(h2, 4, 0x8001)
	if hops, why := f.ProbeVPort(a, f.VPortLID(a), f.VPortGID(function(h2, 4)), 0x8001, 0, nil); why != Delivered ||
		len(hops) != 1 {
		t.Errorf("within the host: %v, hops %v", why, hops)
	}
	f.SetVPorts(h2, VPorts{})
	d := k.get(attrVirtualization, 0, paths[h2]...)
	d[4] = 0
	k.set(attrVirtualization, 0, d, paths[h2]...)
	if _, why := f.ProbeVPort(far, lids[h2], f.VPortGID(a), 0x8001, 0, nil); why != DropPKey {
		t.Errorf("after virtualization is disabled: %v", why)
	}
}

// A LID of its own leads to a function with a GRH and without, as far as the tables lead to its port.
func TestVPortPacketsByLID(t *testing.T) {
	f, k := withVPorts(t, VPorts{OwnLIDs: true})
	k.addKeys(h1, 0x8001)
	giveGUIDs(f, h2, 1)
	k.enable(h2)
	d := k.get(attrVPort, 1<<16, paths[h2]...)
	d[0], d[9] = 0x04, 7 // state unchanged, LIDRequired; VPortLID
	if st := k.set(attrVPort, 1<<16, d, paths[h2]...); st != 0 {
		t.Fatal(st)
	}
	k.activate(h2, 1, 0x8001)
	from, to := VPort{At: end(h1, 1)}, function(h2, 1)
	if _, why := f.ProbeVPort(from, 7, mad.GID{}, 0x8001, 0, nil); why != DropNoRoute {
		t.Errorf("without a route: %v", why)
	}
	si := k.get(smp.AttrSwitchInfo, 0, paths[sw1]...)
	si[7] = 7 // LinearFDBTop
	lft := k.get(smp.AttrLinearForwardingTable, 0, paths[sw1]...)
	lft[7] = lft[4]
	if a, b := k.set(smp.AttrSwitchInfo, 0, si, paths[sw1]...),
		k.set(smp.AttrLinearForwardingTable, 0, lft, paths[sw1]...); a|b != 0 {
		t.Fatal(a, b)
	}
	for _, tt := range []struct {
		name string
		lid  mad.LID
		gid  mad.GID
		want Drop
	}{
		{"its LID", 7, mad.GID{}, Delivered},
		{"its LID and GID", 7, f.VPortGID(to), Delivered},
		{"its LID and another GID", 7, f.VPortGID(from), DropGRH},
		{"the port's LID and its GID", lids[h2], f.VPortGID(to), DropPKey}, // for the port, as to P_Keys
	} {
		if _, why := f.ProbeVPort(from, tt.lid, tt.gid, 0x8001, 0, nil); why != tt.want {
			t.Errorf("%s: %v, want %v", tt.name, why, tt.want)
		}
	}
	if _, why := f.ProbeVPort(to, lids[h1], mad.GID{}, 0x8001, 0, nil); why != Delivered {
		t.Errorf("from it, without a GRH: %v", why)
	}
	if k.lidRouted(7, smp.AttrNodeInfo, 0) != nil {
		t.Error("a function answers an SMP")
	}
}

// A function shares the LID of another one that has its own.
func TestVPortSharesLID(t *testing.T) {
	f, k := withVPorts(t, VPorts{})
	giveGUIDs(f, h2, 1, 2)
	f.SetFunctionLID(function(h2, 1), true, 0)
	f.SetFunctionLID(function(h2, 2), false, 1)
	k.enable(h2)
	d := k.get(attrVPort, 1<<16, paths[h2]...)
	d[0], d[9] = 0x04, 3 // a LID that leads to H2 from itself
	k.set(attrVPort, 1<<16, d, paths[h2]...)
	k.activate(h2, 1, 0x8001)
	k.activate(h2, 2, 0x8001)
	if d = k.get(attrVPort, 2<<16, paths[h2]...); d[0] != 0x40 || d[9] != 0 || d[11] != 1 {
		t.Errorf("VPortInfo %x, want no VPortLID and LIDByVPortIndex 1", d[:12])
	}
	two := f.VPortGID(function(h2, 2))
	if _, why := f.ProbeVPort(function(h2, 1), 3, two, 0x8001, 0, nil); why != Delivered {
		t.Errorf("by the LID that it shares: %v", why)
	}
	if _, why := f.ProbeVPort(function(h2, 1), lids[h2], two, 0x8001, 0, nil); why == Delivered {
		t.Error("by the port's LID")
	}
}

// Requests of a function carry its GID, and answers by it come to the function.
func TestVPortStation(t *testing.T) {
	f, k := twoTenants(t, VPorts{})
	k.addKeys(h1, 0x8001)
	sm, at := k.s, function(h2, 1)
	s, err := f.AttachVPort(at)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.AttachVPort(at); err == nil {
		t.Error("two stations at a function")
	}
	port, err := f.Attach(at.At)
	if err != nil {
		t.Fatal(err)
	}
	request := func(gid mad.GID) mad.Datagram {
		d := mad.Datagram{Addr: mad.Addr{LID: lids[h1], QPN: 1}}
		d.GRH = mad.GRH{Present: gid != mad.GID{}, GID: gid, HopLimit: 1}
		d.Packet.SetHeader(mad.ClassSA, mad.MethodGet, 0x35, 0)
		return d
	}
	s.Send([]mad.Datagram{request(mad.GID{})})
	if sm.Pending() != 0 || f.Stats().Drops[DropGRH] != 1 {
		t.Errorf("a request without a GRH: %d arrived", sm.Pending())
	}
	s.Send([]mad.Datagram{request(mad.MakeGID(mad.DefaultPrefix, 0x0200000000000002))}) // the SA's well-known GID
	var got [2]mad.Datagram
	if sm.Recv(got[:]) != 1 || got[0].LID != lids[h2] || !got[0].GRH.Present || got[0].GRH.GID != f.VPortGID(at) ||
		got[0].PKeyIndex != 1 {
		t.Fatalf("the request came from %+v, want GID %v", got[0].Addr, f.VPortGID(at))
	}
	got[0].Packet.SetMethod(mad.MethodGetResp)
	sm.Send(got[:1])
	if s.Recv(got[:]) != 1 || got[0].LID != lids[h1] || port.Pending() != 0 {
		t.Errorf("the answer is at the port: %d", port.Pending())
	}
	got[0].GRH.Present = false
	sm.Send([]mad.Datagram{{Addr: mad.Addr{LID: lids[h2], QPN: 1}, Packet: got[0].Packet}})
	if s.Pending() != 0 || port.Pending() != 1 {
		t.Errorf("an answer without a GRH: %d at the function, %d at the port", s.Pending(), port.Pending())
	}
	smps := f.Stats().Drops[DropUnsupported]
	var d mad.Datagram
	d.LID = lids[h1]
	d.Packet.SetHeader(mad.ClassLIDRouted, mad.MethodGet, smp.AttrNodeInfo, 0)
	if s.Send([]mad.Datagram{d}); f.Stats().Drops[DropUnsupported] != smps+1 {
		t.Error("a function sends SMPs")
	}
	if err := f.SetFunctions(at.At, 0); err != nil {
		t.Fatal(err)
	}
	if s.Send([]mad.Datagram{request(f.VPortGID(VPort{At: end(h1, 1)}))}); sm.Pending() != 0 {
		t.Error("a function that is gone sends")
	}
	s.Detach()
}

// With latency, a packet meets the function that is there when it arrives.
func TestVPortLatency(t *testing.T) {
	f, k := twoTenants(t, VPorts{})
	k.addKeys(h1, 0x8001)
	f.SetLatency(time.Millisecond)
	s, err := f.AttachVPort(function(h2, 1))
	if err != nil {
		t.Fatal(err)
	}
	d := mad.Datagram{Addr: mad.Addr{LID: lids[h2], QPN: 1, PKeyIndex: 1}}
	d.GRH = mad.GRH{Present: true, GID: f.VPortGID(function(h2, 1)), HopLimit: 1}
	d.Packet.SetHeader(mad.ClassSA, mad.MethodReport, 0x02, 0)
	k.s.Send([]mad.Datagram{d})
	f.Advance(f.Now() + time.Millisecond)
	if s.Pending() != 1 {
		t.Errorf("%d packets", s.Pending())
	}
	k.s.Send([]mad.Datagram{d})
	f.RebootFunction(function(h2, 1))
	f.Advance(f.Now() + time.Millisecond)
	if s.Pending() != 1 {
		t.Error("a function that restarted meanwhile took a packet")
	}
}

func TestVPortMulticast(t *testing.T) {
	f, k := twoTenants(t, VPorts{})
	for _, node := range []int32{h2, h3} {
		k.addKeys(node, 0x8001)
	}
	for _, sw := range []int32{sw1, sw2} {
		mft := k.get(smp.AttrMulticastForwardingTable, 0, paths[sw]...)
		mft[1] = 0x86 // MLID 0xC000, ports 1, 2 and 7
		if st := k.set(smp.AttrMulticastForwardingTable, 0, mft, paths[sw]...); st != 0 {
			t.Fatal(st)
		}
	}
	got := f.ProbeVPortMulticast(function(h3, 1), 0xc000, 0x8001, 0)
	if want := []VPort{function(h2, 1)}; !slices.Equal(got.VPorts, want) ||
		!slices.Equal(got.Delivered, []net.End{end(h2, 1)}) {
		t.Errorf("from afar: functions %v, ports %v, want %v", got.VPorts, got.Delivered, want)
	}
	k.activate(h2, 3, 0x8001)
	got = f.ProbeVPortMulticast(function(h2, 1), 0xc000, 0x8001, 0)
	if want := []VPort{function(h2, 3), function(h3, 1)}; !slices.Equal(got.VPorts, want) {
		t.Errorf("from a sibling: functions %v, want %v", got.VPorts, want)
	}
}

// The bytes of the traps, as they are known.
func TestVPortTraps(t *testing.T) {
	f, c := withVPorts(t, VPorts{})
	giveGUIDs(f, h2, 1, 2)
	next := func(what string, want [64]byte) {
		t.Helper()
		got := c.traps(f, time.Second*5)
		if len(got) == 0 {
			t.Fatalf("%s: no trap", what)
		}
		if *got[0].Packet.Data() != want {
			t.Errorf("%s:\n got %x\nwant %x", what, *got[0].Packet.Data(), want)
		}
		for _, g := range got {
			c.repress(g)
		}
	}
	c.enable(h2)
	lid := byte(lids[h2])
	next("functions come up", [64]byte{0: 0x01, 2: 0x02, 3: 0xc9, 4: 0x04, 5: 0x7a, 7: lid, 13: lid}) // 1146, urgent
	c.activate(h2, 1, 0x8001)
	c.activate(h2, 2, 0x8002)
	if got := c.traps(f, time.Minute); len(got) != 0 {
		t.Errorf("%d traps about states that were set", len(got))
	}
	f.SetFunctionDescription(function(h2, 1), "vf")
	f.SetFunctionCapabilities(function(h2, 2), 0x0001)
	got := c.traps(f, time.Second*10)
	var seen [][64]byte
	for _, g := range got {
		if !slices.Contains(seen, *g.Packet.Data()) {
			seen = append(seen, *g.Packet.Data())
		}
		c.repress(g)
	}
	want := [][64]byte{ // 1144: local changes flag 15, capability mask 16, change flags 18, vPort index 22
		{0: 0x04, 2: 0x02, 3: 0xc9, 4: 0x04, 5: 0x78, 7: lid, 13: lid, 15: 1, 17: 0x41, 19: 1, 23: 1},
		{0: 0x04, 2: 0x02, 3: 0xc9, 4: 0x04, 5: 0x78, 7: lid, 13: lid, 17: 0x01, 23: 2},
	}
	if !slices.Equal(seen, want) {
		t.Errorf("traps 1144:\n got %x\nwant %x", seen, want)
	}
	if d := c.get(attrDescription, 1<<16, paths[h2]...); d != [64]byte{'v', 'f'} {
		t.Errorf("VNodeDescription %q", d[:8])
	}

	a, b := function(h2, 1), function(h2, 2)
	if _, why := f.ProbeVPort(a, f.VPortLID(b), f.VPortGID(b), 0x8001, 5, nil); why != DropPKey {
		t.Fatal(why)
	}
	bad := [64]byte{0: 0x02, 2: 0x02, 3: 0xc9, 4: 0x04, 5: 0xe9, 7: lid, // 1257, security
		13: lid, 15: lid, 18: 0x80, 19: 0x01, 20: 0x50, 23: 1, 27: 1, // LIDs, P_Key, SL, QPs
		28: 0xfe, 29: 0x80, 36: 0x02, 41: 3, 43: 1, 44: 0xfe, 45: 0x80, 52: 0x02, 57: 3, 59: 2, 61: 2} // GIDs, index
	next("a P_Key that is not there", bad)
	if d := c.get(attrVPort, 2<<16, paths[h2]...); d[5] != 1 {
		t.Errorf("P_KeyViolations %d", d[5])
	}
	f.BadQKey(b, end(h3, 1), 0x80010000)
	next("a Q_Key that is not right", [64]byte{0: 0x02, 2: 0x02, 3: 0xc9, 4: 0x04, 5: 0xea, 7: lid, // 1258
		13: byte(lids[h3]), 15: lid, 16: 0x80, 17: 0x01, 23: 1, 27: 1, 61: 2})
	d := c.get(attrVPort, 2<<16, paths[h2]...)
	if d[7] != 1 {
		t.Errorf("Q_KeyViolations %d", d[7])
	}
	d[0], d[5], d[7] = 0, 0, 0 // what a Set of 0 clears
	if st := c.set(attrVPort, 2<<16, d, paths[h2]...); st != 0 {
		t.Error(st)
	}
	if d = c.get(attrVPort, 2<<16, paths[h2]...); d[5] != 0 || d[7] != 0 {
		t.Errorf("violations %d, %d after they were cleared", d[5], d[7])
	}
}

// A rack of functions that come up at once is one trap a port.
func TestVPortTrapsAreFew(t *testing.T) {
	f, c := withVPorts(t, VPorts{})
	c.enable(h2)
	if err := f.SetFunctions(end(h2, 1), 127); err != nil {
		t.Fatal(err)
	}
	for i := range uint16(127) {
		giveGUIDs(f, h2, i+1)
	}
	for _, g := range c.traps(f, 0) {
		c.repress(g)
	}
	if got := c.traps(f, time.Minute); len(got) > 1 {
		t.Errorf("%d more traps", len(got))
	}
}
