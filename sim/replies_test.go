package sim_test

import (
	"maps"
	"slices"
	"testing"
	"time"

	"ibsm/mad"
	"ibsm/mad/sarec"
	"ibsm/mad/smp"
	"ibsm/manager"
	"ibsm/partitions"
	"ibsm/registry"
	"ibsm/sim"
	"ibsm/sim/fabric"
	"ibsm/sweep"
	"ibsm/sweep/plan"
	"ibsm/sweep/routes"
	"ibsm/topo"
	"ibsm/topo/net"
	"ibsm/topo/net/nettest"
)

// What the managers of replies set, and what one host has before: it hides its M_Key, which the managers know
// from a file.
const (
	aliasIndex  = 2
	repliesKey  = mad.MKey(0x78)
	hiddenKey   = mad.MKey(0x77)
	tenantKey   = mad.PKey(5)
	aliasGUID   = mad.GUID(0xa11a5)
	highLimit   = 4
	repliesName = "renamed"
)

// replies is a fabric with two managers, all of whose replies a spoiler can spoil.
type replies struct {
	*harness
	spoiler
	first, second *watched
	hidden        net.End // the host that hides its M_Key
	rebooted      int32   // its switch
}

// newReplies builds a fabric on which managers ask for as many kinds of attribute as one can. Adaptive routing is on
// until a manager turns it off.
func newReplies(t testing.TB, script []byte) *replies {
	n := nettest.Generate(t, "torus:dims=3,hosts=1,speed=FDR")
	r := &replies{hidden: host(n, 2)}
	r.rebooted = n.Nodes[r.hidden.Node].Ports[1].Peer.Node
	r.spoiler.begin(script)
	for i := range n.Nodes {
		r.ports = max(r.ports, uint8(len(n.Nodes[i].Ports)-1))
	}
	r.harness = newHarness(t, n,
		fabric.Config{Seed: 1, TrainTime: 5 * time.Millisecond, Caps: func(i int32, n *net.Node, c *fabric.Caps) {
			c.NVIDIA, c.GUIDCap = true, 8
			c.Defect = func(p *mad.Packet, obey func() mad.Status) (mad.Status, bool) { return r.refuse(i, p, obey) }
			if n.Type == mad.Switch {
				c.AR, c.PrivateLFTs, c.NoFallback = fabric.AROn, true, i == r.rebooted
			}
			if i == r.hidden.Node {
				c.PowerUp = func(_ uint8, info *smp.PortInfo) {
					info.SetMKey(hiddenKey)
					info.SetMKeyProtectBits(2)
					// it says when it is renamed
					info.SetCapabilityMask(info.CapabilityMask() | smp.IsTrapSupported |
						smp.IsOtherLocalChangesNoticeSupported)
				}
			}
		}})
	r.World.Sent = func(m *sim.Manager, batch []mad.Datagram) { r.sending(m, batch) }
	return r
}

// tenantPolicy makes all ports full members of a second partition.
func tenantPolicy() *partitions.Policy {
	policy := partitions.Default()
	policy.Partitions = append(policy.Partitions, partitions.Partition{Name: "tenant", Key: tenantKey,
		Members: []partitions.Member{{Who: partitions.All, Membership: partitions.Full}}})
	return policy
}

// manage adds a manager with M_Keys, FDR10, partitions, lanes and adaptive routing turned off.
func (r *replies) manage(at net.End, priority uint8) *watched {
	cfg := registrarConfig()
	cfg.Elect.Priority = priority
	s := &cfg.Sweep.Settings
	s.MKey, s.MKeyProtect = sweep.Given(repliesKey), sweep.Given(uint8(2))
	s.FDR10, s.AR = plan.EnableFDR10, routes.DisableAR
	s.QoS, s.Lanes = true, useOf(highLimit)
	cfg.Sweep.Partitions.Policy = tenantPolicy()
	cfg.Sweep.Restored = r.keptKeys(hiddenKey)
	hidden := r.Fabric.PortGUID(r.hidden)
	maps.DeleteFunc(cfg.Sweep.Restored.MKeys, func(guid mad.GUID, _ mad.MKey) bool { return guid != hidden })
	cfg.Sweep.Restored.Port = r.Fabric.PortGUID(at)
	m := r.add(at, cfg)
	m.Heard = func(received []mad.Datagram) { r.spoil(r.Fabric.Now(), m.Manager, received) }
	m.OnAction = func(now time.Duration, a manager.Action) {
		if m.took(now, a); m.View != nil {
			if _, swept := a.(manager.Up); swept {
				r.judgeSwept(m)
			}
		}
	}
	return m
}

// judgeSwept fails the test where the sweep ends in which a port has refused a Set, and it is left in INIT, or
// otherwise than the manager believes; or where a sweep with true replies takes a switch for one that routes
// adaptively.
func (r *replies) judgeSwept(m *watched) {
	for i := range r.denied {
		if d := &r.denied[i]; d.again == awaited {
			d.again = leftOut
		}
	}
	t := m.View.Topo
	if r.applied == 1 && len(r.denied) == 1 && r.denied[0].attr == smp.AttrPortInfo && !r.denied[0].judged {
		denied := &r.denied[0]
		denied.judged = true
		n := t.FindNode(r.net.Nodes[denied.node].GUID)
		if n == topo.None || int(denied.port) > int(t.Nodes[n].NumPorts) {
			return
		}
		at := net.End{Node: denied.node, Port: denied.port}
		if is, believed := r.Fabric.PortInfo(at),
			t.Ports[t.Port(n, denied.port)].Info; is.PortState() == smp.PortInit ||
			is.PortState() < believed.PortState() || is.LID() != believed.LID() {
			r.Errorf("%v, which refused a Set, is %v with LID %d, and not %v with %d", at, is.PortState(), is.LID(),
				believed.PortState(), believed.LID())
		}
	}
	for _, n := range t.Switches {
		if node, _ := r.Fabric.Find(t.Ports[t.Nodes[n].First].GUID); r.applied == 0 && t.Nodes[n].AR == topo.AROn &&
			!r.Fabric.AdaptiveRoutes(node.Node) {
			r.Errorf("%q is taken for one that routes adaptively", t.Nodes[n].Desc.String())
		}
	}
}

// run is pass, in which replies come that were kept back.
func (r *replies) run(d time.Duration) {
	before := r.Steps
	defer func() {
		if r.Steps-before > mostSteps {
			r.Fatalf("more than %d steps in %v", mostSteps, d)
		}
	}()
	r.Run(r.Fabric.Now()+d, func() bool {
		for i := 0; i < len(r.keptBack); i++ {
			if l := r.keptBack[i]; l.due <= r.Fabric.Now() {
				r.keptBack = slices.Delete(r.keptBack, i, i+1)
				r.Deliver(l.to, l.Datagram)
			}
		}
		return r.Steps-before > mostSteps
	})
}

// mostSteps ends a run in which no time passes.
const mostSteps = lifeAtMost * (1 + maxSpoiled)

// askSA has a host ask the SA.
func (b *harness) askSA(st *fabric.Station, attr mad.AttrID, fill func(p *mad.Packet)) {
	pi := b.Fabric.PortInfo(st.At())
	d := mad.Datagram{Addr: mad.Addr{LID: pi.MasterSMLID(), QPN: 1}}
	d.Packet.SetHeader(mad.ClassSA, mad.MethodSet, attr, 0)
	d.Packet.SetTID(mad.TID(attr))
	fill(&d.Packet)
	st.Send([]mad.Datagram{d})
}

// joinBroadcast has a host join the broadcast group.
func (b *harness) joinBroadcast(st *fabric.Station) {
	b.askSA(st, sarec.AttrMCMemberRecord, func(p *mad.Packet) {
		p.SetComponentMask(sarec.MCMemberMGID | sarec.MCMemberPortGID | sarec.MCMemberJoinState)
		rec := (*sarec.MCMemberRecord)(p.SAData()[:])
		rec.SetMGID(clientGroup(0))
		rec.SetPortGID(mad.MakeGID(mad.DefaultPrefix, b.Fabric.PortGUID(st.At())))
		rec.SetJoinState(uint8(registry.FullMember))
	})
}

// join has a host join it, and waits for the reply.
func (r *replies) join(st *fabric.Station) {
	r.joinBroadcast(st)
	r.run(replyTime)
}

// answered judges what the SA says to the host: it has the alias GUID when the SA says so.
func (r *replies) answered(d mad.Datagram) {
	p := &d.Packet
	if r.applied < 2 && p.AttrID() == sarec.AttrGUIDInfoRecord && p.Status() == mad.StatusOK &&
		r.Fabric.GUIDs(r.hidden)[aliasIndex] != aliasGUID {
		r.Error("the SA says that a port has an alias GUID which it has not")
	}
}

// replyTime is how long the SA may take for a reply.
const replyTime = 300 * time.Millisecond

// live lets happen what managers send requests for: they come up, two hosts join a group, one of which gets another
// description and an alias GUID, a switch reboots, sweeps are asked for and, where leaves is set, the master hands over
// and ends.
func (r *replies) live(leaves bool) {
	r.first = r.manage(host(r.net, 0), 9)
	r.run(2 * time.Second)
	r.second = r.manage(host(r.net, 1), 3)
	r.run(2 * time.Second)
	st, err := r.Fabric.Attach(r.hidden)
	if err != nil {
		r.Fatal(err)
	}
	st.OnReceive(r.answered)
	r.join(st)
	r.askSA(st, sarec.AttrGUIDInfoRecord, func(p *mad.Packet) {
		p.SetComponentMask(sarec.GUIDInfoLID | sarec.GUIDInfoBlockNum | sarec.GUIDInfoGUID0<<aliasIndex)
		rec, pi := (*sarec.GUIDInfoRecord)(p.SAData()[:]), r.Fabric.PortInfo(r.hidden)
		rec.SetLID(pi.LID())
		rec.GUIDInfo().SetGUID(aliasIndex, aliasGUID)
	})
	r.run(replyTime)
	r.Fabric.SetNodeDescription(r.hidden.Node, repliesName)
	r.run(500 * time.Millisecond)
	r.Ask(r.first.Manager, manager.Light)
	r.run(time.Second)
	r.Fabric.Reboot(r.rebooted)
	r.run(2 * time.Second)
	r.Ask(r.first.Manager, manager.Heavy)
	r.run(2 * time.Second)
	r.join(st) // again: its port was down
	r.join(r.second.Station)
	if leaves {
		r.Leave(r.first.Manager)
		r.run(5 * time.Second)
	}
}

// heal ends the spoiling, and lets the managers sweep twice: once to find what false replies said, and once more where
// what they found was in the way of it. A sweep does not read descriptions that are known: where one of these was
// false, they are read by an order.
func (r *replies) heal() {
	r.end()
	r.run(r.patience())
	for range 2 {
		for _, m := range []*watched{r.first, r.second} {
			if !m.Exited {
				r.Ask(m.Manager, manager.Heavy)
			}
			if r.renamed && !m.Exited {
				r.Ask(m.Manager, manager.Describe)
			}
		}
		r.run(r.patience())
	}
}

// patience is how long all time-outs take, and the polls after which a manager is given up.
func (r *replies) patience() time.Duration { return 15 * time.Second }

// gid is that of a port.
func (r *replies) gid(at net.End) mad.GID {
	return mad.MakeGID(mad.DefaultPrefix, r.Fabric.PortGUID(at))
}

// judge fails the test unless one manager is master, the other stands by or has left, no request waits, and the fabric
// holds all that the master should set. A master that got false replies may have refused what hosts asked its SA for:
// then they have it not.
func (r *replies) judge(leaves bool) {
	master := r.first
	if leaves {
		master = r.second
	}
	if leaves && !r.first.Exited || !leaves && r.second.last() != smp.Standby || master.last() != smp.Master {
		r.Errorf("the managers are %v, exited %t, and %v", r.first.last(), r.first.Exited, r.second.last())
		return
	}
	for _, m := range []*watched{r.first, r.second} {
		if stats := m.Core.Stats().Txn; !m.Exited && (stats.Parked > 0 || stats.Overdue > 0) {
			r.Errorf("%d requests wait for their device, %d wait for longer than patience", stats.Parked, stats.Overdue)
		}
	}
	r.mustBeWhole(master)
	if !r.believed(-1, smp.AttrPortInfo, smp.AttrSLtoVLMappingTable, smp.AttrVLArbitrationTable) {
		for _, wrong := range r.lanesWrong(highLimit) {
			r.Error(wrong)
		}
	}
	for at := range r.Fabric.Ports() {
		if r.Fabric.NodeType(at.Node) == mad.Switch && at.Port == 0 && r.Fabric.AdaptiveRoutes(at.Node) {
			r.Errorf("adaptive routing of %v is on", at)
		}
		if r.Fabric.HasLink(at) && !r.Fabric.FDR10Enabled(at) && !r.believed(at.Node, smp.AttrExtendedPortInfo) {
			r.Errorf("FDR10 of %v is off", at)
		}
	}
	for _, at := range r.endPorts() {
		pi, keys := r.Fabric.PortInfo(at), r.Fabric.PKeys(at)
		keyed := pi.MKey() == repliesKey && pi.MKeyProtectBits() == 2 || r.believed(at.Node, smp.AttrPortInfo)
		member := slices.Contains(keys, mad.DefaultPKey) && slices.Contains(keys, tenantKey|mad.FullMember) ||
			r.believed(at.Node, smp.AttrPKeyTable)
		if !keyed || !member {
			r.Errorf("%v has M_Key %v/%d, P_Keys %v", at, pi.MKey(), pi.MKeyProtectBits(), keys)
		}
	}
	r.judgeReported()
	r.judgeRegistered(master)
}

// judgeReported fails the test where the one thing that was spoiled is a Set that an agent refused, and no sweep
// reports a failure: the operator has to know. What a light sweep was refused, the sweep that follows sets; other
// attributes are set in another way.
func (r *replies) judgeReported() {
	failed := func(u manager.Up) bool { return u.Failures > 0 }
	if r.applied == 0 && (slices.ContainsFunc(r.first.ups, failed) || slices.ContainsFunc(r.second.ups, failed)) {
		r.Errorf("a sweep with true replies has failed: %+v, %+v", r.first.ups, r.second.ups)
	}
	if r.applied != 1 || len(r.denied) != 1 || r.denied[0].again == repeated {
		return
	}
	switch r.denied[0].attr {
	case smp.AttrMulticastForwardingTable:
		if r.first.says(multicastFails)+r.second.says(multicastFails) == 0 {
			r.Error("a Set of a multicast table was refused, and nobody says so")
		}
	case smp.AttrSwitchInfo, smp.AttrPKeyTable, smp.AttrARInfo:
		if !slices.ContainsFunc(r.first.ups, failed) && !slices.ContainsFunc(r.second.ups, failed) {
			r.Errorf("a Set of %s was refused, and no sweep names a failure: %+v", smp.AttrName(r.denied[0].attr),
				r.first.ups)
		}
	}
}

// multicastFails is logged where a switch does not take a block.
const multicastFails = "multicast forwarding tables are incomplete"

// judgeRegistered holds what hosts have registered against the fabric.
func (r *replies) judgeRegistered(master *watched) {
	master.mustKnowName(r.hidden.Node, repliesName)
	s := master.Registrar().State()
	_, one := s.Member(clientGroup(0), r.gid(r.hidden))
	_, other := s.Member(clientGroup(0), r.gid(r.second.Station.At()))
	if g, is := s.Group(clientGroup(0)); is && one && other {
		if spread := r.Fabric.ProbeMulticast(r.second.Station.At(), g.MLID, mad.DefaultPKey, 0); !slices.Equal(
			spread.Delivered, []net.End{r.hidden}) {
			r.Errorf("a packet to MLID %v: %+v", g.MLID, spread)
		}
	} else if r.applied == 0 {
		r.Error("hosts have not joined")
	}
	_, is := s.Alias(aliasGUID)
	if has := r.Fabric.GUIDs(r.hidden)[aliasIndex] == aliasGUID; is && !has || !has && r.applied == 0 {
		r.Errorf("the alias GUID is registered %t, and the port has it %t", is, has)
	}
}

// lifeAtMost bounds the packets that live has managers send, and the steps that they make, when no reply is spoiled.
// One that is makes them do no more than all that again: live has nine heavy sweeps, and no reply is reason for so
// many.
const lifeAtMost = 1000

// farAtMost bounds the requests that isFar. All ports have their LIDs in the first block of an LFT, but a reply may say
// that one has any unicast LID, which it may keep: the tables of all three switches are as long as that LID wants, and
// are read and written as often as others are, which is when a manager begins, after a reboot, and at the other
// manager. A switch that is said to have 65535 P_Keys for each port is asked for 2048 blocks of the port of its host,
// and one that is said to have 254 ports for each of these, which is less.
const farAtMost = 3 * int(mad.MinMulticastLID/64) * 4

// runReplies lets managers live on replies that are spoiled as a script says, and judges what they send and what is
// left in the end. The first byte is odd where the master leaves.
func runReplies(t testing.TB, script []byte) *replies {
	leaves := len(script) > 0 && script[0]&1 == 1
	r := newReplies(t, script[min(1, len(script)):])
	r.live(leaves)
	sent, steps := r.first.Core.Stats().Txn.Sent+r.second.Core.Stats().Txn.Sent, r.Steps
	if most := lifeAtMost*(1+r.applied) + r.far; sent > uint64(most) || steps > most ||
		r.far > farAtMost*(1+r.applied) {
		t.Errorf("%d packets sent, %d of them for far blocks, %d steps, after %d replies were spoiled", sent, r.far,
			steps, r.applied)
	}
	r.heal()
	r.judge(leaves)
	return r
}

// TestReplyKinds: every kind of reply that FuzzReplies spoils comes.
func TestReplyKinds(t *testing.T) {
	r := runReplies(t, []byte{1})
	for _, k := range replyKinds {
		if r.seen[k] == 0 {
			t.Errorf("no reply to %v of attribute %#04x", k.Method, uint16(k.Attr))
		}
	}
}

// FuzzReplies: whatever comes in place of replies to a manager's requests, and whatever agents refuse, at any time, it
// keeps within bounds, and with true replies after that the subnet becomes whole.
func FuzzReplies(f *testing.F) {
	for i, k := range replyKinds {
		status := []byte{0x80, 0x1c} // the bit is that of a directed-route SMP that returns
		for _, x := range []spoiling{
			{how: overlaid, at: dataAt, bytes: []byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}},
			{how: overlaid, at: statusAt, bytes: status},
			{how: timedOut}, {how: emptied}, {how: refused, bytes: status}, {how: twice}, {how: delayed, at: 90},
			{how: busy},
		} {
			x.kind = uint8(i)
			script := []byte{uint8(i) & 1}
			if k.Method == mad.MethodSet && k.Attr == smp.AttrSMInfo {
				script[0] = 1
			}
			f.Add(x.encode(script))
		}
	}
	// Sets that come later, and those that the agent does not hear of, however often they are repeated
	for i, k := range replyKinds {
		for pass := uint8(0); k.Method == mad.MethodSet && pass < laterSets; pass++ {
			x := spoiling{kind: uint8(i), pass: pass, how: refused, bytes: []byte{0x80, 0x1c}}
			// A port that refuses a Set of PortInfo once keeps only what it needs, until there is another master.
			leaves := pass & 1
			if k.Attr == smp.AttrPortInfo {
				leaves = 1
			}
			f.Add(x.encode([]byte{leaves}))
			x = spoiling{kind: uint8(i), pass: pass, how: ignored}
			script := x.encode([]byte{pass & 1})
			for x.pass = 0; len(script) < maxSpoiled*5; {
				script = x.encode(script)
			}
			f.Add(script)
		}
	}
	f.Add([]byte{0})
	f.Fuzz(func(t *testing.T, script []byte) { runReplies(t, script) })
}

// laterSets is how many Sets of a kind are refused or ignored, one in each seed: there are six of
// MulticastForwardingTable.
const laterSets = 6

// Offsets in an SMP.
const (
	statusAt = 4
	dataAt   = 64
)
