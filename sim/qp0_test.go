package sim_test

import (
	"testing"
	"time"

	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/manager"
	"ibsm/sim/fabric"
	"ibsm/topo/net/nettest"
)

// fuzzedSMP is a packet in the fuzzer's bytes: to whom it goes, after what time, from which LID,
// and the packet.
const fuzzedSMP = 3 + mad.PacketSize

// notice is a notice about a LID, as a trap or as the end of one.
func notice(method mad.Method, number smp.TrapNumber, producer smp.ProducerType, lid mad.LID) mad.Packet {
	d := trapFrom(number, lid, 0, func(n *smp.Notice) { n.SetProducerType(producer) })
	d.Packet.SetMethod(method)
	return d.Packet
}

// FuzzQP0: whatever packets come to QP0 of a master and its standby, which have a secret key, both stay
// what they are, the subnet is whole, and nothing is left of it that waits.
func FuzzQP0(f *testing.F) {
	seed := func(ps ...mad.Packet) {
		var b []byte
		for i := range ps {
			b = append(b, byte(i), 0, byte(1+i))
			b = append(b, ps[i][:]...)
		}
		f.Add(b)
	}
	var traps []mad.Packet
	for _, number := range []smp.TrapNumber{64, 65, 66, 67, 128, 129, 130, 131, 144, 145, 256, 257, 258, 259, 1144} {
		traps = append(traps, notice(mad.MethodTrap, number, 1, 3), notice(mad.MethodTrap, number, 2, 1), notice(mad.MethodTrapRepress, number, 2, 1))
	}
	for ; len(traps) > 0; traps = traps[3:] {
		seed(traps[:3]...)
	}
	route := mad.MakeRoute(1, 2)
	for _, method := range []mad.Method{mad.MethodGet, mad.MethodSet, mad.MethodGetResp} {
		for _, attr := range []mad.AttrID{smp.AttrSMInfo, smp.AttrNodeInfo, smp.AttrPortInfo, smp.AttrSwitchInfo, smp.AttrLinearForwardingTable, smp.AttrPKeyTable} {
			var directed, routed mad.Packet
			directed.SetDirected(&route, method, attr, uint32(attr&3))
			routed.SetHeader(mad.ClassLIDRouted, method, attr, uint32(attr&3))
			if attr == smp.AttrSMInfo {
				info := (*smp.SMInfo)(directed.Data())
				info.SetGUID(0x77)
				info.SetPriority(15)
				info.SetSMState(smp.Master)
			}
			answer := directed
			answer.SetReturning()
			seed(directed, routed, answer)
		}
	}
	var nowhere []byte
	for i, p := range []mad.Packet{{}, {}, notice(mad.MethodTrap, 128, 2, 1)} {
		if i < 2 {
			p.SetHeader(mad.ClassLIDRouted, mad.MethodGet+mad.Method(i), smp.AttrSMInfo, 1)
		}
		nowhere = append(append(nowhere, byte(i), 0, 0), p[:]...)
		nowhere = append(append(nowhere, byte(i), 0, 0xc0), p[:]...)
	}
	f.Add(nowhere)
	f.Fuzz(func(t *testing.T, packets []byte) {
		n := nettest.Generate(t, "fattree:k=4,levels=2")
		b := newHarness(t, n, fabric.Config{Seed: 1})
		cfg := minhopConfig()
		cfg.Elect.SMKey = 0x5ec
		both := [2]*watched{b.comeUp(cfg), b.add(host(n, 3), cfg)}
		b.pass(settling)
		roles := [2]smp.SMState{both[0].last(), both[1].last()}
		if roles[0] != smp.Master || roles[1] != smp.Standby {
			t.Fatalf("roles %v", roles)
		}
		count := 0
		for ; len(packets) > 0 && count < 16; count++ {
			var in [fuzzedSMP]byte
			packets = packets[copy(in[:], packets):]
			b.Deliver(both[in[0]&1].Manager, mad.Datagram{Addr: mad.Addr{LID: mad.LID(int8(in[2]))}, Packet: mad.Packet(in[3:])})
			b.pass(time.Duration(in[1]) * 10 * time.Millisecond)
		}
		b.pass(2 * settling)
		for i, m := range both {
			stats := m.Core.Stats()
			if m.last() != roles[i] || stats.Txn.Parked > 0 || stats.Sweeps[manager.HeavySweep] > uint64(3+count) {
				t.Errorf("manager %d is %v; %d requests parked, %d heavy sweeps", i, m.last(), stats.Txn.Parked, stats.Sweeps[manager.HeavySweep])
			}
		}
		b.mustBeWhole(both[0])
	})
}
