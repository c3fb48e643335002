package fabric

import (
	"testing"

	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/topo/net"
)

// quantum2 are switches of NDR with 64 ports and one for an aggregation node, which each has, and a ConnectX-7 at each.
func quantum2(t *testing.T) (f *Fabric, sw, host, node int32) {
	t.Helper()
	n, err := net.Generate("fattree:k=64,levels=2,pods=2,hosts=1,speed=NDR,sharp=on")
	if err != nil {
		t.Fatal(err)
	}
	sw = -1
	for i := range n.Nodes {
		switch {
		case n.Nodes[i].Type == mad.Switch && !n.Nodes[i].EnhancedPort0 && sw < 0:
			sw = int32(i)
		case n.Nodes[i].DeviceID == net.SHARPDevice:
			node = int32(i)
		case n.Nodes[i].Type == mad.CA:
			host = int32(i)
		}
	}
	f = New(n, Config{})
	if f.NumPorts(sw) != 65 {
		t.Fatalf("%d ports", f.NumPorts(sw))
	}
	return f, sw, host, node
}

// link is what a port says of its link.
type link struct {
	state                        smp.PortState
	phys, downDefault            smp.PortPhysicalState
	width, widthActive           mad.LinkWidth
	speed, ext, active, extAct   uint8
	mtu                          mad.MTU
	vls, arbHigh, arbLow, respTV uint8
}

func linkOf(pi *smp.PortInfo) link {
	return link{pi.PortState(), pi.PortPhysicalState(), pi.LinkDownDefaultState(), pi.LinkWidthSupported(),
		pi.LinkWidthActive(),
		pi.LinkSpeedSupported(), pi.LinkSpeedExtSupported(), pi.LinkSpeedActive(), pi.LinkSpeedExtActive(), pi.MTUCap(),
		pi.VLCap(), pi.VLArbitrationHighCap(), pi.VLArbitrationLowCap(), pi[52] & 31}
}

// What ports of Quantum-2 and ConnectX-7 were seen to report in ibdiagnet's db_csv of four
// switches, but for what their manager had set.
func TestRealPorts(t *testing.T) {
	f, sw, host, node := quantum2(t)
	for _, tt := range []struct {
		name  string
		at    net.End
		want  link
		mask  smp.CapMask
		mask2 smp.CapMask2
		lid   mad.LID
	}{
		{"base port 0", net.End{Node: sw}, link{respTV: 19}, 0xe550d848, 0x043b, 0},
		{"switch port", net.End{Node: sw, Port: 1},
			link{smp.PortInit, smp.PhysLinkUp, smp.PhysPolling, 19, 2, 5, 0xf, 4, 8, mad.MTU4096, 4, 8, 8, 0}, 0, 0, 0},
		{"port of an aggregation node", net.End{Node: sw, Port: 65},
			link{smp.PortInit, smp.PhysLinkUp, smp.PhysPolling, 3, 2, 7, 0xe, 4, 8, mad.MTU4096, 2, 2, 2, 0}, 0, 0, 0},
		{"host", net.End{Node: host, Port: 1},
			link{smp.PortInit, smp.PhysLinkUp, smp.PhysPolling, 19, 2, 1, 0xf, 0, 8, mad.MTU4096, 3, 8, 8, 16},
			0xa751e84a &^ smp.IsSM, 0x0432, 65535},
	} {
		pi := f.PortInfo(tt.at)
		if got := linkOf(&pi); got != tt.want {
			t.Errorf("%s: %+v\nwant %+v", tt.name, got, tt.want)
		}
		if pi.CapabilityMask() != tt.mask || pi.CapabilityMask2() != tt.mask2 || pi.LID() != tt.lid {
			t.Errorf("%s: CapabilityMask %#x, CapabilityMask2 %#x, LID %d", tt.name, uint32(pi.CapabilityMask()),
				uint16(pi.CapabilityMask2()), pi.LID())
		}
	}
	if got := f.NodeInfo(net.End{Node: node, Port: 1}); got.NodeGUID() != got.PortGUID() || got.DeviceID() != 0xcf09 {
		t.Errorf("aggregation node: NodeInfo % x", got)
	}
	got := f.nodes[sw].sw.info
	got.SetPortStateChange(false)
	// LinearFDBCap 49152, MulticastFDBCap 8192, DefaultPort 0, default multicast ports 255, OptimizedSLtoVLMapping 3,
	// PartitionEnforcementCap 32, enforcement and FilterRaw both ways, base port 0.
	if want := (smp.SwitchInfo{0xc0, 0, 0, 0, 0x20, 0, 0, 0, 0, 255, 255, 3, 0, 0, 0, 0x20, 0xf0}); got != want {
		t.Errorf("SwitchInfo % x, want % x", got[:20], want[:20])
	}
}

// An adapter has the LID and CapabilityMask of its generation. A port without a cage stays Down.
func TestRealGenerations(t *testing.T) {
	for _, tt := range []struct {
		speed string
		mask  smp.CapMask
		lid   mad.LID
		keys  uint16
	}{
		{"QDR", 0x02510868, 0, 64}, {"FDR", 0x02514868, 0, 128}, {"EDR", 0x2651e848, 65535, 64},
		{"HDR", 0xa651e848, 65535, 64}, {"NDR", 0xa751e848, 65535, 64}, {"XDR", 0xa750e848, 65535, 64},
	} {
		n, err := net.Generate("fattree:k=40,levels=1,hosts=2,speed=" + tt.speed)
		if err != nil {
			t.Fatal(err)
		}
		f := New(n, Config{})
		at := net.End{Node: 1, Port: 1}
		pi, info := f.PortInfo(at), f.NodeInfo(at)
		if pi.CapabilityMask() != tt.mask || pi.LID() != tt.lid || info.PartitionCap() != tt.keys || pi.VLCap() != 3 ||
			pi.GUIDCap() != 8 {
			t.Errorf("%s: CapabilityMask %#x, LID %d, %d P_Keys, VLCap %d, GUIDCap %d", tt.speed,
				uint32(pi.CapabilityMask()), pi.LID(), info.PartitionCap(), pi.VLCap(), pi.GUIDCap())
		}
		last := f.PortInfo(net.End{Port: f.NumPorts(0)})
		if shared := f.NumPorts(0) == 41; shared != (pi.LID() == 65535 && tt.speed != "EDR") ||
			last.PortState() != smp.PortDown || shared != (last.VLCap() == 2) {
			t.Errorf("%s: %d ports, the last %v with VLCap %d", tt.speed, f.NumPorts(0), last.PortState(), last.VLCap())
		}
	}
}
