package fabric

import (
	"encoding/binary"
	"slices"
	"testing"
	"time"

	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/topo/net"
)

// Requests and answers are written as bytes, and modifiers as numbers, by what is known of NVIDIA's attributes: offsets
// are beside them. The layout is the one with the index in bits 31..16, unless a test says otherwise.

const (
	attrVirtualization = 0xffb0
	attrVPort          = 0xffb1
	attrVNode          = 0xffb2
	attrStates         = 0xffb3
	attrDescription    = 0xffb4
	attrGUIDs          = 0xffb5
	attrPKeys          = 0xffb6
)

// withVPorts is twoSwitches brought up, H2 and H3 having functions: four, with GUID 0.
func withVPorts(t testing.TB, c VPorts) (*Fabric, *client) {
	t.Helper()
	c.Functions = 4
	f := New(twoSwitches(), Config{Caps: func(node int32, _ *net.Node, caps *Caps) {
		if node == h2 || node == h3 {
			own := c
			caps.VPorts, caps.NVIDIA = &own, true
		}
	}})
	return f, bringUp(t, f)
}

func function(node int32, index uint16) VPort { return VPort{end(node, 1), index} }

// giveGUIDs gives the functions of a host GUIDs that begin with 0x02: 0x02..NODE..INDEX, the virtual nodes 0x03...
func giveGUIDs(f *Fabric, node int32, indexes ...uint16) {
	for _, i := range indexes {
		guid := mad.GUID(node)<<16 | mad.GUID(i)
		f.SetFunctionGUID(function(node, i), 0x02<<56|guid, 0x03<<56|guid)
	}
}

// enable sets VirtualizationEnable: bit 7 of byte 4.
func (c *client) enable(node int32) {
	c.t.Helper()
	d := c.get(attrVirtualization, 0, paths[node]...)
	d[4] = d[4]&^0x60 | 0x80
	if st := c.set(attrVirtualization, 0, d, paths[node]...); st != mad.StatusOK {
		c.t.Fatalf("Set VirtualizationInfo of node %d: %v", node, st)
	}
}

// setState sets the VPortState of VPortInfo, bits 7..4 of byte 0, and nothing else, and returns the status.
func (c *client) setState(node int32, index uint32, s byte) mad.Status {
	c.t.Helper()
	d := c.get(attrVPort, index<<16, paths[node]...)
	d[0] = d[0]&0x0f | s<<4
	return c.set(attrVPort, index<<16, d, paths[node]...)
}

// activate brings a function from Initialize to Active, with a P_Key table.
func (c *client) activate(node int32, index uint32, keys ...uint16) {
	c.t.Helper()
	var table [64]byte
	for i, k := range keys {
		binary.BigEndian.PutUint16(table[2*i:], k)
	}
	if st := c.set(attrPKeys, index<<16, table, paths[node]...); st != mad.StatusOK {
		c.t.Fatalf("P_Keys of function %d: %v", index, st)
	}
	for _, s := range []byte{3, 4} {
		if st := c.setState(node, index, s); st != mad.StatusOK {
			c.t.Fatalf("state %d of function %d: %v", s, index, st)
		}
	}
}

func vPortStates(c *client, node int32) [3]byte {
	c.t.Helper()
	d := c.get(attrStates, 0, paths[node]...)
	return [3]byte(d[:])
}

// An adapter without functions has none of their attributes, and announces none.
func TestVPortsAbsent(t *testing.T) {
	c := newClient(t, New(twoSwitches(), Config{}), h1)
	for attr := mad.AttrID(attrVirtualization); attr <= attrPKeys; attr++ {
		for _, m := range []mad.Method{mad.MethodGet, mad.MethodSet} {
			for _, path := range [][]uint8{{1, 2}, {1}} {
				if p := c.request(m, attr, 0, [64]byte{}, path...); p == nil || p.Status() != 0x0c {
					t.Errorf("%v %#x along %v: %s, want status 0x0c", m, uint16(attr), path, describe(p))
				}
			}
		}
	}
	if d := c.get(smp.AttrPortInfo, 0, 1, 2); d[61]&0x04 != 0 {
		t.Error("CapabilityMask2 announces virtualization")
	}
}

func TestVPortsAnnounced(t *testing.T) {
	for _, tt := range []struct {
		name              string
		c                 VPorts
		portInfo, general bool
	}{
		{"both", VPorts{}, true, true},
		{"PortInfo", VPorts{NotInGeneral: true}, true, false},
		{"GeneralInfo", VPorts{NotInPortInfo: true}, false, true},
	} {
		_, c := withVPorts(t, tt.c)
		pi := c.get(smp.AttrPortInfo, 0, paths[h2]...)
		// CapabilityMask bit 15, CapabilityMask2 bit 2
		if is := pi[22]&0x80 != 0 && pi[61]&0x04 != 0; is != tt.portInfo {
			t.Errorf("%s: PortInfo announces it: %t", tt.name, is)
		}
		gi := c.get(0xff17, 4, paths[h2]...)
		if is := gi[2]&0x80 != 0; is != tt.general { // bit 15 of the first word
			t.Errorf("%s: GeneralInfo announces it: %t", tt.name, is)
		}
	}
	f := New(twoSwitches(), Config{})
	c := bringUp(t, f)
	f.SetVPorts(h2, VPorts{Functions: 2})
	got := c.traps(f, 0)
	if len(got) != 1 || (*smp.Notice)(got[0].Packet.Data()).TrapNumber() != 144 {
		t.Errorf("an adapter that gets functions at run time: %d traps, want one 144", len(got))
	}
	if n := f.NumFunctions(end(h2, 1)); n != 2 || f.NumFunctions(end(h3, 1)) != 0 {
		t.Errorf("%d functions", n)
	}
}

func TestVirtualizationEnabled(t *testing.T) {
	f, c := withVPorts(t, VPorts{})
	giveGUIDs(f, h2, 1, 2, 4)
	if got, want := c.get(attrVirtualization, 0, paths[h2]...), ([64]byte{1: 128, 3: 4}); got != want {
		t.Errorf("before: %x", got[:8]) // VPortCap 128, VPortIndexTop 4, all else 0
	}
	if got, want := vPortStates(c, h2), ([3]byte{0x41, 0x11, 0x10}); got != want {
		t.Errorf("states %x, want %x: all functions Down before virtualization is enabled", got, want)
	}
	if st := c.setState(h2, 1, 3); st != 0x0c {
		t.Errorf("Set of VPortInfo before: %v, want 0x0c", st)
	}
	c.enable(h2)
	if got, want := c.get(attrVirtualization, 0, paths[h2]...), ([64]byte{1: 128, 3: 4, 4: 0xa0}); got != want {
		t.Errorf("after: %x, want VirtualizationEnable and VPortStateChange", got[:8])
	}
	if got, want := vPortStates(c, h2), ([3]byte{0x42, 0x21, 0x20}); got != want {
		t.Errorf("states %x, want %x: function 3 has GUID 0", got, want)
	}
	if got, want := vPortStates(c, h3), ([3]byte{0x41, 0x11, 0x10}); got != want {
		t.Errorf("another port: states %x", got)
	}
	want := [64]byte{
		0:  0x20,               // VPortState Initialize, LIDRequired 0
		1:  8,                  // GUIDCap
		3:  0x41,               // CapabilityMask: CM, IsSMDisabled
		12: 0x02, 17: 3, 19: 2, // PortGUID: node h2 has index 3
		20: 0x5a, 27: 2, // PortProfile
	}
	if got := c.get(attrVPort, 2<<16, paths[h2]...); got != want {
		t.Errorf("VPortInfo\n got %x\nwant %x", got, want)
	}
	want = [64]byte{1: 64, 2: 1, 3: 1, 4: 0x03, 9: 3, 11: 2} // PartitionCap, LocalPortNum, NumPorts, VNodeGUID
	if got := c.get(attrVNode, 2<<16, paths[h2]...); got != want {
		t.Errorf("VNodeInfo\n got %x\nwant %x", got, want)
	}
	if got := c.get(attrDescription, 2<<16, paths[h2]...); string(got[:13]) != "H2 function 2" {
		t.Errorf("VNodeDescription %q", got[:])
	}
	if got := c.get(attrGUIDs, 2<<16, paths[h2]...); got != [64]byte{0: 0x02, 5: 3, 7: 2} {
		t.Errorf("VPortGUIDInfo %x", got)
	}
	if got := c.get(attrPKeys, 2<<16, paths[h2]...); got != [64]byte{0xff, 0xff} {
		t.Errorf("VPortP_KeyTable %x", got)
	}
	off := c.get(attrVirtualization, 0, paths[h2]...)
	off[4] = 0
	if st := c.set(attrVirtualization, 0, off, paths[h2]...); st != 0 ||
		vPortStates(c, h2) != [3]byte{0x41, 0x11, 0x10} {
		t.Errorf("disabled: %v, states %x", st, vPortStates(c, h2))
	}
}

// vPort 0 is the port: its GUID, state and P_Keys.
func TestVPort0(t *testing.T) {
	f, c := withVPorts(t, VPorts{})
	c.enable(h2)
	want := [64]byte{0: 0x40, 1: 32, 3: 1, 17: 0x10, 18: 0, 19: 0x11}
	if got := c.get(attrVPort, 0, paths[h2]...); got != want {
		t.Errorf("VPortInfo\n got %x\nwant %x", got, want)
	}
	if got := c.get(attrVNode, 0, paths[h2]...); got != [64]byte{1: 64, 2: 1, 3: 1, 9: 0x10, 11: 0x10} {
		t.Errorf("VNodeInfo %x", got)
	}
	if got := c.get(attrDescription, 0, paths[h2]...); got != [64]byte{'H', '2'} {
		t.Errorf("VNodeDescription %q", got[:])
	}
	if st := c.setState(h2, 0, 1); st != 0x1c {
		t.Errorf("Set of vPort 0 to Down: %v, want 0x1c", st)
	}
	if st := c.setState(h2, 0, 0); st != 0 {
		t.Errorf("Set of vPort 0 without change: %v", st)
	}
	if st := c.set(attrPKeys, 0, [64]byte{0x80, 0x01}, paths[h2]...); st != 0 {
		t.Fatal(st)
	}
	if got := f.PKeys(end(h2, 1)); !slices.Equal(got, []mad.PKey{0x8001}) {
		t.Errorf("P_Keys of the port: %v", got)
	}
}

func TestVPortRefusals(t *testing.T) {
	const get, set = mad.MethodGet, mad.MethodSet
	f, c := withVPorts(t, VPorts{PartitionCap: 40})
	giveGUIDs(f, h2, 1, 2)
	c.enable(h2)
	info := c.get(attrVPort, 1<<16, paths[h2]...)
	virt := c.get(attrVirtualization, 0, paths[h2]...)
	edit := func(d [64]byte, at int, v byte) [64]byte { d[at] = v; return d }
	for _, tt := range []struct {
		name   string
		method mad.Method
		attr   mad.AttrID
		mod    uint32
		data   [64]byte
		want   mad.Status
	}{
		{"Set VPortState", set, attrStates, 0, [64]byte{}, 0x0c},
		{"Set VNodeInfo", set, attrVNode, 1 << 16, [64]byte{}, 0x0c},
		{"Set VNodeDescription", set, attrDescription, 1 << 16, [64]byte{}, 0x0c},
		{"Delete VPortInfo", mad.MethodDelete, attrVPort, 1 << 16, [64]byte{}, 0x08},
		{"modifier of VirtualizationInfo", get, attrVirtualization, 1, [64]byte{}, 0x1c},
		{"index in the other half", get, attrVPort, 1, [64]byte{}, 0x1c},
		{"index in both halves", get, attrVPort, 1<<16 | 1, [64]byte{}, 0x1c},
		{"last function", get, attrVPort, 4 << 16, [64]byte{}, 0},
		{"function above the top", get, attrVPort, 5 << 16, [64]byte{}, 0x1c},
		{"node of one above the top", get, attrVNode, 0xffff << 16, [64]byte{}, 0x1c},
		{"block of states above the top", get, attrStates, 1, [64]byte{}, 0x1c},
		{"states with an index", get, attrStates, 1 << 16, [64]byte{}, 0x1c},
		{"second block of P_Keys", get, attrPKeys, 1<<16 | 1, [64]byte{}, 0},
		{"third block of P_Keys", get, attrPKeys, 1<<16 | 2, [64]byte{}, 0x1c},
		{"second block of GUIDs", get, attrGUIDs, 1<<16 | 1, [64]byte{}, 0x1c},
		{"VPortInfo as it was read, state unchanged", set, attrVPort, 1 << 16, edit(info, 0, 0x00), 0},
		{"Initialize is no state to set", set, attrVPort, 1 << 16, edit(info, 0, 0x20), 0x1c},
		{"Active from Initialize", set, attrVPort, 1 << 16, edit(info, 0, 0x40), 0x1c},
		{"state 5", set, attrVPort, 1 << 16, edit(info, 0, 0x50), 0x1c},
		{"reserved bit of byte 0", set, attrVPort, 1 << 16, edit(edit(info, 0, 0x01), 63, 0), 0x1c},
		{"reserved byte", set, attrVPort, 1 << 16, edit(edit(info, 0, 0), 63, 1), 0x1c},
		{"LIDRequired", set, attrVPort, 1 << 16, edit(info, 0, 0x04), 0x1c},
		{"PortGUID", set, attrVPort, 1 << 16, edit(edit(info, 0, 0), 19, 9), 0x1c},
		{"PortProfile", set, attrVPort, 1 << 16, edit(edit(info, 0, 0), 20, 0), 0x1c},
		{"LID of one that wants none", set, attrVPort, 1 << 16, edit(edit(info, 0, 0), 9, 7), 0x1c},
		{"VPortInfo made of nothing", set, attrVPort, 1 << 16, [64]byte{0: 0x30}, 0x1c},
		{"reserved bit of VirtualizationInfo", set, attrVirtualization, 0, edit(virt, 4, 0x81), 0x1c},
		{"reserved byte of VirtualizationInfo", set, attrVirtualization, 0, edit(virt, 8, 1), 0x1c},
		{"read-only field of VirtualizationInfo", set, attrVirtualization, 0, edit(virt, 1, 1), 0},
		{"Armed", set, attrVPort, 1 << 16, edit(info, 0, 0x30), 0},
		{"Armed from Armed", set, attrVPort, 1 << 16, edit(info, 0, 0x30), 0x1c},
		{"Active", set, attrVPort, 1 << 16, edit(info, 0, 0x40), 0},
		{"Down comes up again", set, attrVPort, 1 << 16, edit(info, 0, 0x10), 0},
		{"Armed once more", set, attrVPort, 1 << 16, edit(info, 0, 0x30), 0},
		{"Armed of one that is Down", set, attrVPort, 3 << 16, edit(info, 0, 0x30), 0x1c},
	} {
		if p := c.request(tt.method, tt.attr, tt.mod, tt.data, paths[h2]...); p == nil || p.Status() != tt.want {
			t.Errorf("%s: %s, want %#x", tt.name, describe(p), uint16(tt.want))
		}
	}
	f.SetVPorts(h2, VPorts{AnyReadOnly: true})
	if st := c.set(attrVPort, 2<<16, [64]byte{0: 0x33, 63: 1}, paths[h2]...); st != 0 ||
		vPortStates(c, h2)[1]>>4 != 3 {
		t.Errorf("an agent that does not look at read-only fields: %v, states %x", st, vPortStates(c, h2))
	}
}

// An index that a layout has elsewhere is refused, or taken for another one where meaningless bits are not looked at.
func TestVPortLayouts(t *testing.T) {
	f, c := withVPorts(t, VPorts{})
	giveGUIDs(f, h2, 1, 2, 3)
	c.enable(h2)
	guid := func(attr mad.AttrID, mod uint32, at int) byte { // the last byte of the GUID, or the status
		p := c.request(mad.MethodGet, attr, mod, [64]byte{}, paths[h2]...)
		if p.Status() != 0 {
			return byte(p.Status())
		}
		return p.Data()[at]
	}
	for _, tt := range []struct {
		layout smp.VPortLayout
		any    bool
		want   [4]byte // VPortInfo by 0x20000 and 2, VPortGUIDInfo likewise
	}{
		{smp.VPortIndexHigh, false, [4]byte{2, 0x1c, 2, 0}}, // block 2 of the port's GUIDs is empty
		{smp.VPortIndexLow, false, [4]byte{0x1c, 2, 0, 2}},
		{smp.VPortIndexMixed, false, [4]byte{0x1c, 2, 2, 0}},
		{smp.VPortIndexHigh, true, [4]byte{2, 0x11, 2, 0}},
		{smp.VPortIndexLow, true, [4]byte{0x11, 2, 0, 2}},
	} {
		f.SetVPorts(h2, VPorts{Layout: tt.layout, AnyModifier: tt.any})
		got := [4]byte{guid(attrVPort, 2<<16, 19), guid(attrVPort, 2, 19), guid(attrGUIDs, 2<<16, 7),
			guid(attrGUIDs, 2, 7)}
		if got != tt.want {
			t.Errorf("layout %v, any modifier %t: %x, want %x", tt.layout, tt.any, got, tt.want)
		}
	}
}

// A function is up only with GUIDs, a driver, a policy that lets it follow, and a link.
func TestVPortStates(t *testing.T) {
	f, c := withVPorts(t, VPorts{})
	giveGUIDs(f, h2, 1)
	c.enable(h2)
	at, down, init := function(h2, 1), byte(0x41), byte(0x42)
	check := func(what string, want byte) {
		t.Helper()
		if got := vPortStates(c, h2)[0]; got != want {
			t.Errorf("%s: states of vPorts 0 and 1 %x, want %x", what, got, want)
		}
	}
	check("at first", init)
	f.SetFunctionPolicy(at, true)
	check("held down", down)
	f.SetFunctionPolicy(at, false)
	check("follows", init)
	f.SetFunctionGUID(at, 5, 0)
	check("node GUID 0", down)
	f.SetFunctionGUID(at, 0, 5)
	check("port GUID 0", down)
	f.SetFunctionGUID(at, 5, 5)
	check("GUIDs", init)
	c.activate(h2, 1, 0x8001)
	check("activated", 0x44)
	f.SetFunctionLoaded(at, false)
	check("no driver", down)
	f.SetFunctionLoaded(at, true)
	check("driver again", init)
	if got := f.VPortPKeys(at); !slices.Equal(got, []mad.PKey{mad.DefaultPKey}) {
		t.Errorf("a function that restarted has P_Keys %v", got)
	}
	c.activate(h2, 1, 0x8001)
	f.LinkDown(end(h2, 1))
	if got := f.VPortInfo(at); got.VPortState() != smp.PortDown {
		t.Errorf("without a link: %v", got.VPortState())
	}
	f.LinkUp(end(h2, 1))
	check("link in Initialize", 0x22)
	if st := c.setState(h2, 1, 3); st != 0x1c {
		t.Errorf("Armed over a port in Initialize: %v, want 0x1c", st)
	}
	if got := f.VPortPKeys(at); !slices.Equal(got, []mad.PKey{0x8001}) {
		t.Errorf("the link's fall took the P_Keys: %v", got)
	}
	f.Reboot(h2)
	check("rebooted", 0x21)
	if v := f.VirtualizationInfo(end(h2, 1)); v.VirtualizationEnable() || v.VPortIndexTop() != 4 {
		t.Errorf("VirtualizationInfo after a reboot: %x", v[:8])
	}
	if got := f.VPortInfo(at); got.PortGUID() != 5 {
		t.Errorf("GUID after a reboot: %v", got.PortGUID())
	}
}

// A function keeps what a manager wrote over a change of its GUID where it remembers.
func TestVPortForgets(t *testing.T) {
	for _, remembers := range []bool{false, true} {
		f, c := withVPorts(t, VPorts{Remembers: remembers})
		giveGUIDs(f, h2, 1)
		c.enable(h2)
		c.activate(h2, 1, 0x8001)
		f.MoveFunctionGUID(function(h2, 1), function(h3, 2))
		want := []mad.PKey{mad.DefaultPKey}
		if remembers {
			want = []mad.PKey{0x8001}
		}
		if got := f.VPortPKeys(function(h2, 1)); !slices.Equal(got, want) {
			t.Errorf("remembers %t: P_Keys %v, want %v", remembers, got, want)
		}
		if vPortStates(c, h2)[0] != 0x41 {
			t.Errorf("remembers %t: the function that lost its GUID is not Down", remembers)
		}
		if at, ok := f.FindVPort(0x02<<56 | mad.GUID(h2)<<16 | 1); !ok || at != function(h3, 2) {
			t.Errorf("remembers %t: the GUID is at %v", remembers, at)
		}
		c.enable(h3)
		if got := vPortStates(c, h3); got != [3]byte{0x41, 0x21, 0x10} {
			t.Errorf("remembers %t: the function that got it: states %x", remembers, got)
		}
	}
}

// VPortStateChange is set by what moves without a Set, and cleared by a Set that carries 0, or 1.
func TestVPortStateChange(t *testing.T) {
	for _, byOne := range []bool{false, true} {
		f, c := withVPorts(t, VPorts{ClearedByOne: byOne})
		giveGUIDs(f, h2, 1)
		c.enable(h2)
		changed := func() bool { d := c.get(attrVirtualization, 0, paths[h2]...); return d[4]&0x20 != 0 }
		carry := func(one bool) {
			d := c.get(attrVirtualization, 0, paths[h2]...)
			if d[4] = 0x80; one {
				d[4] = 0xa0
			}
			if st := c.set(attrVirtualization, 0, d, paths[h2]...); st != 0 {
				t.Fatal(st)
			}
		}
		carry(byOne)
		if changed() {
			t.Errorf("cleared by one %t: not cleared", byOne)
		}
		c.activate(h2, 1, 0xffff)
		if changed() {
			t.Errorf("cleared by one %t: set by a Set of VPortInfo", byOne)
		}
		f.RebootFunction(function(h2, 1))
		if carry(!byOne); !changed() {
			t.Errorf("cleared by one %t: cleared by the other value", byOne)
		}
	}
}

func TestVPortLag(t *testing.T) {
	f, c := withVPorts(t, VPorts{Lag: time.Second})
	giveGUIDs(f, h2, 1)
	c.enable(h2)
	if got := vPortStates(c, h2)[0]; got != 0x41 {
		t.Errorf("at once VPortState shows %x, want Down", got)
	}
	if d := c.get(attrVPort, 1<<16, paths[h2]...); d[0] != 0x20 {
		t.Errorf("at once VPortInfo shows %x, want Initialize", d[0])
	}
	f.Advance(f.Now() + time.Second)
	for c.s.Pending() > 0 { // traps
		c.s.Recv(make([]mad.Datagram, 8))
	}
	if got := vPortStates(c, h2)[0]; got != 0x42 {
		t.Errorf("after a second VPortState shows %x, want Initialize", got)
	}
}

func TestVPortIndexTopShrinks(t *testing.T) {
	f, c := withVPorts(t, VPorts{TopOfUp: true})
	giveGUIDs(f, h2, 1, 3)
	c.enable(h2)
	top := func() byte { d := c.get(attrVirtualization, 0, paths[h2]...); return d[3] }
	if got := top(); got != 3 {
		t.Errorf("top %d, want 3", got)
	}
	f.SetFunctionLoaded(function(h2, 3), false)
	if got := top(); got != 1 {
		t.Errorf("top %d with function 3 Down, want 1", got)
	}
	if p := c.request(mad.MethodGet, attrVPort, 3<<16, [64]byte{}, paths[h2]...); p.Status() != 0x1c {
		t.Errorf("VPortInfo above the top: %v", p.Status())
	}
	if err := f.SetFunctions(end(h2, 1), 128); err == nil {
		t.Error("a port has 128 functions")
	}
	if err := f.SetFunctions(end(h2, 1), 127); err != nil {
		t.Error(err)
	}
	f.SetVPorts(h2, VPorts{})
	if got := top(); got != 127 {
		t.Errorf("top %d, want 127", got)
	}
	if err := f.SetFunctions(end(h2, 1), 1); err != nil || top() != 1 {
		t.Errorf("one function: %v, top %d", err, top())
	}
}

func TestVPortsOffUntilEnabled(t *testing.T) {
	f, c := withVPorts(t, VPorts{OffUntilEnabled: true})
	giveGUIDs(f, h2, 1)
	if p := c.request(mad.MethodGet, attrStates, 0, [64]byte{}, paths[h2]...); p.Status() != 0x0c {
		t.Errorf("VPortState before: %v, want 0x0c", p.Status())
	}
	c.enable(h2)
	if got := vPortStates(c, h2)[0]; got != 0x42 {
		t.Errorf("states %x", got)
	}
}

// A function that wants a LID of its own is not Armed without one.
func TestVPortLID(t *testing.T) {
	f, c := withVPorts(t, VPorts{OwnLIDs: true})
	giveGUIDs(f, h2, 1)
	c.enable(h2)
	if d := c.get(attrVPort, 1<<16, paths[h2]...); d[0] != 0x24 || d[8] != 0 || d[9] != 0 {
		t.Errorf("VPortInfo %x, want Initialize, LIDRequired, no LID", d[:12])
	}
	if st := c.setState(h2, 1, 3); st != 0x1c {
		t.Errorf("Armed without a LID: %v, want 0x1c", st)
	}
	set := func(lid uint16) mad.Status {
		d := c.get(attrVPort, 1<<16, paths[h2]...)
		d[0] &= 0x0f
		binary.BigEndian.PutUint16(d[8:], lid)
		return c.set(attrVPort, 1<<16, d, paths[h2]...)
	}
	for lid, want := range map[uint16]mad.Status{0xc000: 0x1c, 0xffff: 0x1c, 7: 0} {
		if st := set(lid); st != want {
			t.Errorf("LID %#x: %v, want %#x", lid, st, uint16(want))
		}
	}
	if st := set(7); st != 0 || f.VPortLID(function(h2, 1)) != 7 {
		t.Errorf("LID %v, %v", f.VPortLID(function(h2, 1)), st)
	}
	c.activate(h2, 1, 0xffff)
	if lid, shared := f.FirstSharedLID(); shared {
		t.Errorf("LID %v is said to be shared", lid)
	}
	if set(4); f.VPortLID(function(h2, 1)) != 4 {
		t.Fatal("LID 4 was not set")
	}
	if lid, shared := f.FirstSharedLID(); !shared || lid != 4 {
		t.Errorf("LID 4 is that of the port, too: %v, %t", lid, shared)
	}
}

func TestVPortReregister(t *testing.T) {
	f, c := withVPorts(t, VPorts{})
	giveGUIDs(f, h2, 1, 2)
	c.enable(h2)
	var at [3]*Station
	for i := range at {
		s, err := f.AttachVPort(function(h2, uint16(i)))
		if err != nil {
			t.Fatal(err)
		}
		at[i] = s
	}
	asked := func() (got [3]bool) {
		for i := range at {
			got[i] = at[i].TakeReregister()
		}
		return got
	}
	asked()
	d := c.get(attrVPort, 2<<16, paths[h2]...)
	d[0] = 0x08
	if st := c.set(attrVPort, 2<<16, d, paths[h2]...); st != 0 || asked() != [3]bool{2: true} {
		t.Errorf("ClientReregister of VPortInfo: %v", st)
	}
	d = c.get(attrVirtualization, 0, paths[h2]...)
	d[4] = 0xc0
	if st := c.set(attrVirtualization, 0, d, paths[h2]...); st != 0 || asked() != [3]bool{true, true, true} {
		t.Errorf("ClientReregister of VirtualizationInfo: %v", st)
	}
	if d = c.get(attrVirtualization, 0, paths[h2]...); d[4]&0x40 != 0 {
		t.Error("ClientReregister stays set")
	}
}

// vPort 0 can have a state of its own: then the port carries no data until it is brought up.
func TestVPort0OfItsOwn(t *testing.T) {
	f, c := withVPorts(t, VPorts{OwnVPort0: true})
	probe := func() Drop {
		_, why := f.Probe(end(h1, 1), lids[h2], mad.DefaultPKey, 0, nil)
		return why
	}
	if why := probe(); why != Delivered {
		t.Errorf("before virtualization is enabled: %v", why)
	}
	c.enable(h2)
	if got, why := vPortStates(c, h2)[0], probe(); got != 0x21 || why != DropNotActive {
		t.Errorf("enabled: states %x, a packet: %v", got, why)
	}
	if _, why := f.Probe(end(h2, 1), lids[h1], mad.DefaultPKey, 0, nil); why != DropNotActive {
		t.Errorf("enabled: a packet from it: %v", why)
	}
	for _, s := range []byte{3, 4} {
		if st := c.setState(h2, 0, s); st != 0 {
			t.Fatalf("state %d: %v", s, st)
		}
	}
	if got, why := vPortStates(c, h2)[0], probe(); got != 0x41 || why != Delivered {
		t.Errorf("brought up: states %x, a packet: %v", got, why)
	}
}
