package sim_test

import (
	"slices"
	"testing"
	"time"

	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/manager"
	"ibsm/sim/fabric"
	"ibsm/topo/net"
	"ibsm/topo/net/nettest"
)

// A packet in the fuzzer's bytes is: whom it goes to, with a bit for one that the port has given up, after what time,
// from which LID, and the packet.
const (
	fuzzedSMP  = 3 + mad.PacketSize
	givenUp    = 0x80
	fuzzedLast = 16 // packets that count
)

// fuzzedKey is the SM_Key of the managers of FuzzQP0.
const fuzzedKey = 0x5ec

// To whom packets go.
const (
	toMaster = iota
	toStandby
	toInactive  // started NOT-ACTIVE
	toSevered   // DISCOVERING: its port has no link
	toNameless  // the same, and it does not know its GUID: its own agent does not answer
	fuzzedRoles // that many
)

// company is a fabric with managers in all states.
type company struct {
	*harness
	all     [fuzzedRoles]*watched
	obeyed  [fuzzedRoles]map[uint32]bool // the control packets, by modifier, which come from the master and are right in all
	unknown net.End                      // a host without a manager
}

// newCompany brings managers up, with lanes and a multicast group.
func newCompany(t testing.TB) *company {
	c := &company{harness: newHarness(t, nettest.Generate(t, "fattree:k=4,levels=2"), fabric.Config{Seed: 1})}
	c.unknown = host(c.net, 1)
	for i, at := range [fuzzedRoles]net.End{host(c.net, 0), host(c.net, 3), host(c.net, 5), host(c.net, 6), host(c.net, 7)} {
		cfg := registrarConfig()
		cfg.Elect.SMKey, cfg.Elect.Inactive = fuzzedKey, i == toInactive
		cfg.Sweep.Settings.QoS, cfg.Sweep.Settings.Lanes = true, useOf(4)
		if i == toMaster {
			cfg.Elect.Priority = 9
		}
		if i >= toSevered {
			c.Fabric.LinkDown(at)
			c.Fabric.SetUnresponsive(at.Node, i == toNameless)
		}
		c.all[i], c.obeyed[i] = c.add(at, cfg), map[uint32]bool{}
	}
	c.pass(10 * time.Second)
	for _, m := range c.all[:toInactive] {
		c.joinBroadcast(m.Station)
		c.pass(time.Second)
	}
	for i, want := range [fuzzedRoles]smp.SMState{smp.Master, smp.Standby, smp.NotActive, smp.Discovering, smp.Discovering} {
		if got := c.all[i].last(); got != want {
			t.Fatalf("manager %d is %v, not %v", i, got, want)
		}
	}
	return c
}

// behind is where a directed route ends that begins at a port.
func (c *company) behind(from net.End, ports []uint8) net.End {
	at := from
	for i, port := range ports {
		if i > 0 && c.Fabric.NodeType(at.Node) != mad.Switch || int(port) > c.net.Nodes[at.Node].NumPorts() {
			return net.NoEnd
		}
		if at = c.Fabric.Peer(net.End{Node: at.Node, Port: port}); at == net.NoEnd {
			return at
		}
	}
	return at
}

// deliver gives a manager a packet, and notes one that it must obey: a Set(SMInfo) with the SM_Key, in the name of the
// master and by a path that leads back to it. Those may change what a manager is (IBA 14.4.1), all others may not.
func (c *company) deliver(to int, d mad.Datagram) {
	p, m, master := &d.Packet, c.all[to], c.all[toMaster].Station.At()
	info := (*smp.SMInfo)(p.Data())
	if p.MgmtClass() == mad.ClassDirected && p.Method() == mad.MethodSet && p.AttrID() == smp.AttrSMInfo && !d.TimedOut &&
		info.SMKey() == fuzzedKey && info.GUID() == c.Fabric.PortGUID(master) && info.SMState() == smp.Master && p.HopCount() <= mad.MaxHops {
		back := slices.Clone(p.ReturnPath()[1 : 1+p.HopCount()])
		slices.Reverse(back)
		c.obeyed[to][p.AttrMod()] = c.obeyed[to][p.AttrMod()] || c.behind(m.Station.At(), back) == master
	}
	c.Deliver(m.Manager, d)
}

// judge fails the test unless the master is master, and the others stand by, but one that was started NOT-ACTIVE and nobody woke,
// and one that the master has disabled.
func (c *company) judge(packets int) {
	for i, m := range c.all {
		want := smp.Standby
		switch {
		case i == toMaster:
			want = smp.Master
		case i == toInactive && !c.obeyed[i][smp.ControlStandby]:
			want = smp.NotActive
		}
		got, stats := m.last(), m.Core.Stats()
		disabled := i != toMaster && got == smp.NotActive && c.obeyed[i][smp.ControlDisable]
		restless := i < toSevered && stats.Sweeps[manager.HeavySweep] > uint64(fewSweeps+packets) // the others look at their ports each second
		if got != want && !disabled || stats.Txn.Parked > 0 || restless {
			c.Errorf("manager %d is %v, not %v; %d requests parked, %d heavy sweeps", i, got, want, stats.Txn.Parked, stats.Sweeps[manager.HeavySweep])
		}
	}
	c.mustBeWhole(c.all[toMaster])
}

// fewSweeps is how many heavy sweeps a manager makes without any packet: three until all are up, and two when the links of the last two come up.
const fewSweeps = 5

// FuzzQP0: whatever packets come to QP0 of managers in all states, which have a secret key, they stay what they
// are unless the master orders otherwise, the subnet is whole, and nothing is left of it that waits.
func FuzzQP0(f *testing.F) {
	for _, seed := range newCompany(f).seeds() {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, packets []byte) {
		c := newCompany(t)
		count := 0
		for ; len(packets) > 0 && count < fuzzedLast; count++ {
			var in [fuzzedSMP]byte
			packets = packets[copy(in[:], packets):]
			d := mad.Datagram{Addr: mad.Addr{LID: mad.LID(int8(in[2]))}, TimedOut: in[0]&givenUp != 0, Packet: mad.Packet(in[3:])}
			c.deliver(int(in[0]&^givenUp)%fuzzedRoles, d)
			c.pass(time.Duration(in[1]) * 10 * time.Millisecond)
		}
		for _, m := range c.all[toSevered:] {
			c.Fabric.SetUnresponsive(m.Station.At().Node, false)
			c.Fabric.LinkUp(m.Station.At())
		}
		c.pass(2 * settling)
		c.judge(count)
	})
}
