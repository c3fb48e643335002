package hosts

import (
	"testing"
	"time"

	"ibsm/mad"
	"ibsm/mad/sarec"
	"ibsm/mad/smp"
	"ibsm/sim/fabric"
	"ibsm/topo/net"
)

// TestFunctions: hosts at functions ask by the GIDs of these, with a GRH where they share a LID, and get their answers.
func TestFunctions(t *testing.T) {
	b := newHarness(t)
	at := net.End{Node: 2, Port: 1}
	b.f.SetVPorts(at.Node, fabric.VPorts{Functions: 2})
	functions := []fabric.VPort{{At: at, Index: 1}, {At: at, Index: 2}}
	for i, v := range functions {
		b.f.SetFunctionGUID(v, mad.GUID(0x0200000000000001+i), mad.GUID(1+i))
	}
	b.f.SetFunctionLID(functions[1], true, 0)
	path := []uint8{1, 2}
	b.change(smp.AttrVirtualizationInfo, 0, func(d *[64]byte) { d[4] |= 0x80 }, path...)
	for _, state := range []byte{3, 4} {
		for i := range uint32(2) {
			b.change(smp.AttrVPortInfo, (i+1)<<16, func(d *[64]byte) {
				if d[0] = d[0]&0x0f | state<<4; i == 1 {
					d[9] = 6 // VPortLID, which leads to the host, see below
				}
			}, path...)
		}
	}
	b.change(smp.AttrSwitchInfo, 0, func(d *[64]byte) { (*smp.SwitchInfo)(d).SetLinearFDBTop(6) }, 1)
	b.change(smp.AttrLinearForwardingTable, 0, func(d *[64]byte) { d[6] = 2 }, 1)
	crowd, err := NewFunctions(b.f, 1, functions)
	if err != nil {
		t.Fatal(err)
	}
	crowd.Begin(Boot{Paths: 1})
	buf, joins, paths := make([]mad.Datagram, 16), 0, 0
	for b.f.Now() < time.Second {
		b.f.Advance(b.f.Now() + time.Millisecond)
		crowd.Step()
		for _, in := range buf[:b.sa.Recv(buf)] {
			if in.Packet.Method() == mad.MethodTrap {
				continue
			}
			asker, own := in.GRH.GID.GUID(), in.LID == 6
			if own {
				asker = 0x0200000000000002
			}
			if in.GRH.Present == own || in.LID != 6 && in.LID != 2 {
				t.Fatalf("a request from LID %v, GRH %+v", in.LID, in.GRH)
			}
			switch in.Packet.AttrID() {
			case sarec.AttrMCMemberRecord:
				if rec := (*sarec.MCMemberRecord)(in.Packet.SAData()[:56]); in.Packet.Method() == mad.MethodSet {
					joins++
					if rec.PortGID().GUID() != asker {
						t.Errorf("%v joins as %v", asker, rec.PortGID())
					}
				}
			case sarec.AttrPathRecord:
				paths++
				rec := (*sarec.PathRecord)(in.Packet.SAData()[:64])
				if rec.SGID().GUID() != asker || rec.DGID().GUID() != 0x0200000000000003-asker+0x0200000000000000 {
					t.Errorf("%v asks for a path from %v to %v", asker, rec.SGID(), rec.DGID())
				}
			}
			in.Packet.SetMethod(in.Packet.Method()&^mad.MethodSet | mad.MethodGetResp)
			b.sa.Send([]mad.Datagram{in})
		}
	}
	r := crowd.Report()
	if joins != 2 || paths != 2 || len(r.Kinds[Join].Took) != 2 || len(r.Kinds[Path].Took) != 2 || crowd.Open() != 0 {
		t.Errorf("%d joins, %d paths, %d open: %+v", joins, paths, crowd.Open(), r)
	}
}
