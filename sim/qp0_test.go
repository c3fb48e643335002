package sim_test

import (
	"slices"
	"testing"
	"time"

	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/manager"
	"ibsm/sim"
	"ibsm/sim/fabric"
	"ibsm/sweep/elect"
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

// fewLanes is VLHighLimit.
const fewLanes = 4

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
	all [fuzzedRoles]*watched
	// the control packets, by modifier, which come from the master and are right in all
	obeyed  [fuzzedRoles]map[uint32]bool
	unknown net.End             // a host without a manager
	lids    map[mad.LID]net.End // of all end ports
	owed    owed
}

// owed is what the master owes for the packets that came, as far as the fabric says, and what managers have sent.
type owed struct {
	traps   map[mad.Addr]map[mad.TID]int // that are not repressed yet
	all     int                          // traps
	changes int                          // traps by which a node says that a link of its own has changed
	// traps about another node, and Questions in the name of a port that has not sent them
	forged, lies uint64
	invited      int // Questions in the name of the host without a manager, from it
	questions    int // of any kind, to the master
	visits       int // Gets(SMInfo) to that host
	// whether there were Gets(SMInfo) with a TID that were Questions, and others
	asked map[mad.TID][2]bool
	ups   int // sweeps of the master before any packet
}

// answerMark is how SMInfo in the answer to a Question differs.
var answerMark = func() []byte {
	m := elect.New(elect.Config{GUID: 1})
	question := m.Question()
	answer := m.Answer(&question)
	return answer[markAt:]
}()

// markAt is where SMInfo is reserved.
const markAt = 56

// newCompany brings managers up, with lanes and a multicast group.
func newCompany(t testing.TB) *company {
	c := &company{harness: newHarness(t, nettest.Generate(t, "fattree:k=4,levels=2"), fabric.Config{Seed: 1})}
	c.unknown = host(c.net, 1)
	for i, at := range [fuzzedRoles]net.End{host(c.net, 0), host(c.net, 3), host(c.net, 5), host(c.net, 6),
		host(c.net, 7)} {
		cfg := registrarConfig()
		cfg.Elect.SMKey, cfg.Elect.Inactive = fuzzedKey, i == toInactive
		cfg.Sweep.Settings.QoS, cfg.Sweep.Settings.Lanes = true, useOf(fewLanes)
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
	for i, want := range [fuzzedRoles]smp.SMState{smp.Master, smp.Standby, smp.NotActive, smp.Discovering,
		smp.Discovering} {
		if got := c.all[i].last(); got != want {
			t.Fatalf("manager %d is %v, not %v", i, got, want)
		}
	}
	c.lids = map[mad.LID]net.End{}
	for _, at := range c.endPorts() {
		c.lids[c.lid(at)] = at
	}
	c.owed = owed{traps: map[mad.Addr]map[mad.TID]int{}, asked: map[mad.TID][2]bool{}, ups: len(c.all[toMaster].ups)}
	c.World.Sent = c.sent
	for i, m := range c.all {
		m.Heard = func(received []mad.Datagram) {
			for _, d := range received {
				c.came(i, &d)
			}
		}
	}
	return c
}

// came notes what a packet obliges a manager to.
func (c *company) came(to int, d *mad.Datagram) {
	p, o, from := &d.Packet, &c.owed, d.LID
	if d.TimedOut {
		return
	}
	if p.MgmtClass().IsSubnet() && p.Method() == mad.MethodGet && p.AttrID() == smp.AttrSMInfo {
		info := (*smp.SMInfo)(p.Data())
		asked := o.asked[p.TID()]
		if elect.IsQuestion(info) {
			asked[0] = true
		} else {
			asked[1] = true
		}
		if o.asked[p.TID()] = asked; elect.IsQuestion(info) && to == toMaster && p.MKey() == 0 {
			c.questioned(p, info)
		}
		return
	}
	if from == 0 {
		from = c.lid(c.all[to].Station.At())
	}
	if to != toMaster || p.MgmtClass() != mad.ClassLIDRouted || p.Method() != mad.MethodTrap ||
		p.AttrID() != smp.AttrNotice || !from.IsUnicast() {
		return
	}
	o.all++
	answer := mad.Addr{LID: from}
	if o.traps[answer] == nil {
		o.traps[answer] = map[mad.TID]int{}
	}
	o.traps[answer][p.TID()]++
	n := (*smp.Notice)(p.Data())
	sender, known := c.lids[from]
	issuer, named := c.lids[n.IssuerLID()]
	switch {
	case known && named && issuer.Node != sender.Node:
		o.forged++
	case known && n.IssuerLID() == from && n.IsGeneric() && n.TrapNumber() == smp.TrapLinkState &&
		n.LinkState().LID() == from:
		o.changes++
	}
}

// questioned notes a Question to the master, by where its return path leads.
func (c *company) questioned(p *mad.Packet, info *smp.SMInfo) {
	o, hops, own := &c.owed, p.HopCount(), c.all[toMaster].Station.At()
	o.questions++
	if p.MgmtClass() != mad.ClassDirected || p.DrSLID() != mad.PermissiveLID || p.DrDLID() != mad.PermissiveLID ||
		hops == 0 || hops > mad.MaxHops {
		return
	}
	back := slices.Clone(p.ReturnPath()[1 : 1+hops])
	slices.Reverse(back)
	at := c.behind(own, back)
	if at == net.NoEnd || at.Node == own.Node {
		return
	}
	if c.Fabric.NodeType(at.Node) == mad.Switch {
		at.Port = 0
	}
	isManager := slices.ContainsFunc(c.all[:], func(m *watched) bool {
		return c.Fabric.PortGUID(m.Station.At()) == info.GUID()
	})
	switch is := c.Fabric.PortGUID(at) == info.GUID(); {
	case !is && !isManager:
		o.lies++
	case is && at == c.unknown && o.questions == 1: // one is asked at a time
		o.invited++
	}
}

// sent judges what a manager sends.
func (c *company) sent(m *sim.Manager, batch []mad.Datagram) {
	for i := range batch {
		d := &batch[i]
		p := &d.Packet
		switch info := (*smp.SMInfo)(p.Data()); {
		case !p.MgmtClass().IsSubnet():
		case p.Method() == mad.MethodTrapRepress:
			waiting := c.owed.traps[mad.Addr{LID: d.LID}]
			if waiting[p.TID()] == 0 {
				c.Errorf("a TrapRepress to LID %d, TID %x, which has sent no such trap", d.LID, uint64(p.TID()))
				continue
			}
			waiting[p.TID()]--
			if at, known := c.lids[d.LID]; known {
				if pi := c.Fabric.PortInfo(at); pi.MKey() != p.MKey() {
					c.Errorf("a TrapRepress to LID %d shows M_Key %v, the port has %v", d.LID, p.MKey(), pi.MKey())
				}
			}
		case p.AttrID() != smp.AttrSMInfo:
		case p.Method() == mad.MethodGetResp:
			asked, marked := c.owed.asked[p.TID()], string(info[markAt:]) == string(answerMark)
			if asked[0] != asked[1] && marked != asked[0] && p.Status() == mad.StatusOK {
				c.Errorf("Get(SMInfo), a Question %t, was answered as one %t", asked[0], marked)
			}
		case p.Method() == mad.MethodGet:
			if info.SMKey() != 0 {
				c.Error("a Get(SMInfo) shows the SM_Key")
			}
			if p.MgmtClass() == mad.ClassDirected &&
				c.behind(m.Station.At(), p.InitialPath()[1:1+p.HopCount()]) == c.unknown {
				c.owed.visits++
			}
		}
	}
}

// manyTraps of one port have its link avoided.
const manyTraps = 10

// judgeAnswers fails the test where the master has not done what packets obliged it to, or more. It was given time.
func (c *company) judgeAnswers(before map[string]string) {
	o, m := &c.owed, c.all[toMaster]
	for to, waiting := range o.traps {
		for tid, n := range waiting {
			if n > 0 {
				c.Errorf("%d traps of LID %d, TID %x, are not repressed", n, to.LID, uint64(tid))
			}
		}
	}
	if o.changes > 0 && len(m.ups) == o.ups {
		c.Error("no sweep after a switch has reported a change of a link")
	}
	if n := m.alarms(manager.AlarmTrap); n < o.forged || n > uint64(o.all-o.changes) {
		c.Errorf("alarms about %d traps; of %d, %d are forged and %d true", n, o.all, o.forged, o.changes)
	}
	if n := m.alarms(manager.AlarmQuestion); n < o.lies {
		c.Errorf("alarms about %d Questions, %d are lies", n, o.lies)
	}
	if o.invited > 0 && o.visits == 0 || o.visits > 0 && o.questions == 0 {
		c.Errorf("the host without a manager was asked %d times after %d Questions, %d of its own", o.visits,
			o.questions, o.invited)
	}
	for _, sm := range m.View.SMs {
		if !slices.ContainsFunc(c.all[:], func(m *watched) bool {
			return c.Fabric.PortGUID(m.Station.At()) == sm.GUID
		}) {
			c.Errorf("%v is taken for a manager", sm.GUID)
		}
	}
	if o.all < manyTraps {
		c.mustBeAsBefore(before)
	}
	for _, wrong := range c.lanesWrong(fewLanes) {
		c.Error(wrong)
	}
	g, _ := m.Registrar().State().Group(clientGroup(0))
	from, to := m.Station.At(), c.all[toStandby].Station.At()
	if spread := c.Fabric.ProbeMulticast(from, g.MLID, mad.DefaultPKey, 0); !slices.Equal(spread.Delivered,
		[]net.End{to}) {
		c.Errorf("a packet to the group: %+v", spread)
	}
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
	if p.MgmtClass() == mad.ClassDirected && p.DrSLID() == mad.PermissiveLID && p.DrDLID() == mad.PermissiveLID &&
		p.Method() == mad.MethodSet && p.AttrID() == smp.AttrSMInfo && !d.TimedOut &&
		info.SMKey() == fuzzedKey && info.GUID() == c.Fabric.PortGUID(master) && info.SMState() == smp.Master &&
		p.HopCount() <= mad.MaxHops {
		back := slices.Clone(p.ReturnPath()[1 : 1+p.HopCount()])
		slices.Reverse(back)
		c.obeyed[to][p.AttrMod()] = c.obeyed[to][p.AttrMod()] || c.behind(m.Station.At(), back) == master
	}
	c.came(to, &d)
	c.Deliver(m.Manager, d)
}

// judge fails the test unless the master is master, and the others stand by, but one that was started NOT-ACTIVE and
// nobody woke, and one that the master has disabled.
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
		// the others look at their ports each second
		restless := i < toSevered && stats.Sweeps[manager.HeavySweep] > uint64(fewSweeps+packets)
		if got != want && !disabled || stats.Txn.Parked > 0 || restless {
			c.Errorf("manager %d is %v, not %v; %d requests parked, %d heavy sweeps", i, got, want, stats.Txn.Parked,
				stats.Sweeps[manager.HeavySweep])
		}
	}
	c.mustBeWhole(c.all[toMaster])
}

// fewSweeps is how many heavy sweeps a manager makes without any packet: three until all are up, and two when the links
// of the last two come up.
const fewSweeps = 5

// answerTime is how long the master may take for what packets oblige it to.
const answerTime = 3 * time.Second

// FuzzQP0: whatever packets come to QP0 of managers in all states, which have a secret key, they stay what they are
// unless the master orders otherwise, they answer as they have to, the subnet is whole, and nothing is left of it that
// waits.
func FuzzQP0(f *testing.F) {
	for _, seed := range newCompany(f).seeds() {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, packets []byte) {
		c := newCompany(t)
		before, count := c.snapshot(), 0
		for ; len(packets) > 0 && count < fuzzedLast; count++ {
			var in [fuzzedSMP]byte
			packets = packets[copy(in[:], packets):]
			d := mad.Datagram{Addr: mad.Addr{LID: mad.LID(int8(in[2]))}, TimedOut: in[0]&givenUp != 0,
				Packet: mad.Packet(in[3:])}
			c.deliver(int(in[0]&^givenUp)%fuzzedRoles, d)
			c.pass(time.Duration(in[1]) * 10 * time.Millisecond)
		}
		c.pass(answerTime)
		c.judgeAnswers(before)
		for _, m := range c.all[toSevered:] {
			c.Fabric.SetUnresponsive(m.Station.At().Node, false)
			c.Fabric.LinkUp(m.Station.At())
		}
		c.pass(2 * settling)
		c.judge(count)
	})
}
