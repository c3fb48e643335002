package sim_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"ibsm/mad"
	"ibsm/mad/sarec"
	"ibsm/manager"
	"ibsm/registry"
	"ibsm/sa"
	"ibsm/sim"
	"ibsm/sim/fabric"
	"ibsm/topo/net/nettest"
)

// registrarConfig is a manager with an SA.
func registrarConfig() manager.Config {
	cfg := minhopConfig()
	cfg.Registrar.Groups = sa.DefaultGroups()
	cfg.Registrar.Mirror.DefaultKeys = true
	return cfg
}

// What a client asks for is tried again as long as there is no reply.
const (
	clientRetry = 700 * time.Millisecond
	clientTries = 20
)

// client is a host that joins and leaves groups and subscribes, and remembers what was
// acknowledged.
type client struct {
	*fabric.Station
	now        func() time.Duration
	lid        mad.LID // of the manager
	gid        mad.GID
	rng        *rand.Rand
	tid        mad.TID
	asked      mad.Datagram // under way; void with tries 0
	tries      int
	due        time.Duration
	joined     map[mad.GID]registry.JoinState // as acknowledged
	subscribed map[uint16]bool                // traps subscribed to, as acknowledged
	// What was asked for last and never answered may be so or not.
	unsure map[any]bool
	asks   int

	lastAsked map[any]time.Duration
	history   []acknowledgement
}

// acknowledgement is what was acknowledged to a client, and when: the JoinState in a group, or
// whether it is subscribed to a trap.
type acknowledgement struct {
	at         time.Duration
	what       any
	joined     registry.JoinState
	subscribed bool
}

// clientGroups are those that clients join besides the broadcast group.
const clientGroups = 6

func clientGroup(i int) mad.GID {
	if i == 0 {
		return sa.DefaultGroups()[0].MGID
	}
	return mad.GID{0xff, 0x12, 0x40, 0x1b, 0xff, 0xff, 15: byte(i)}
}

// act asks for something, or asks again.
func (c *client) act(now time.Duration) {
	switch {
	case c.tries == 0:
		c.choose()
		c.asks++
	case c.tries >= clientTries:
		c.tries, c.due = 0, now
		c.unsure[c.what()] = true
		return
	}
	c.tries++
	c.due = now + clientRetry
	c.asked.LID = c.lid
	c.lastAsked[c.what()] = now
	c.Send([]mad.Datagram{c.asked})
}

// choose makes the next request.
func (c *client) choose() {
	c.tid++
	c.asked = mad.Datagram{Addr: mad.Addr{LID: c.lid, QPN: 1}}
	p := &c.asked.Packet
	if trap := uint16(64 + c.rng.IntN(4)); c.rng.IntN(4) == 0 {
		p.SetHeader(mad.ClassSA, mad.MethodSet, sarec.AttrInformInfo, 0)
		info := (*sarec.InformInfo)(p.SAData()[:])
		info.SetLIDRangeBegin(registry.AnyLID)
		info.SetIsGeneric(1)
		info.SetType(registry.AnyType)
		info.SetTrapNumber(trap)
		info.SetProducerType(registry.AnyProducer)
		info.SetQPN(1)
		if !c.subscribed[trap] {
			info.SetSubscribe(1)
		}
	} else {
		c.chooseGroup(p)
	}
	p.SetTID(c.tid)
}

func (c *client) chooseGroup(p *mad.Packet) {
	mgid := clientGroup(c.rng.IntN(clientGroups))
	state := pick(c.rng, registry.FullMember, registry.FullMember, registry.FullMember|registry.NonMember,
		registry.SendOnlyFullMember)
	method := mad.MethodSet
	if held := c.joined[mgid]; held != 0 && c.rng.IntN(3) > 0 {
		method, state = mad.MethodDelete, held
		if c.rng.IntN(2) == 0 {
			state = held & -held // one of several
		}
	}
	p.SetHeader(mad.ClassSA, method, sarec.AttrMCMemberRecord, 0)
	p.SetComponentMask(sarec.MCMemberMGID | sarec.MCMemberPortGID | sarec.MCMemberJoinState | sarec.MCMemberQKey |
		sarec.MCMemberPKey | sarec.MCMemberTClass | sarec.MCMemberSL | sarec.MCMemberFlowLabel)
	rec := (*sarec.MCMemberRecord)(p.SAData()[:])
	rec.SetMGID(mgid)
	rec.SetPortGID(c.gid)
	rec.SetQKey(0x0b1b)
	rec.SetPKey(0xffff)
	rec.SetJoinState(uint8(state))
}

// what names the thing that a request is about.
func (c *client) what() any {
	if c.asked.Packet.AttrID() == sarec.AttrInformInfo {
		return (*sarec.InformInfo)(c.asked.Packet.SAData()[:]).TrapNumber()
	}
	return (*sarec.MCMemberRecord)(c.asked.Packet.SAData()[:]).MGID()
}

// receive takes a reply, or answers a Report.
func (c *client) receive(d mad.Datagram) {
	p := &d.Packet
	switch {
	case p.MgmtClass() != mad.ClassSA:
	case p.Method() == mad.MethodReport:
		p.SetMethod(mad.MethodReportResp)
		c.Send([]mad.Datagram{d})
	case c.tries > 0 && p.TID() == c.tid:
		c.tries = 0
		c.acknowledged(p)
	}
}

// acknowledged notes what a reply says. A refusal is right only where a request was
// made a second time, or stands on what is unsure.
func (c *client) acknowledged(p *mad.Packet) {
	what := c.what()
	if p.Status() != mad.StatusOK {
		c.unsure[what] = true
		return
	}
	delete(c.unsure, what)
	if p.AttrID() == sarec.AttrInformInfo {
		info := (*sarec.InformInfo)(p.SAData()[:])
		c.subscribed[info.TrapNumber()] = info.Subscribe() == 1
		c.history = append(c.history, acknowledgement{at: c.now(), what: what, subscribed: info.Subscribe() == 1})
		return
	}
	rec := (*sarec.MCMemberRecord)(p.SAData()[:])
	c.joined[rec.MGID()] = registry.JoinState(rec.JoinState())
	c.history = append(c.history, acknowledgement{at: c.now(), what: what, joined: c.joined[rec.MGID()]})
}

// What is acknowledged stays, whatever packets are lost and however often the manager is
// killed; and no MLID is lost on the way.
func TestRegistrationsOutliveTheManager(t *testing.T) {
	for _, seed := range seeds(t) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			defer repeat(t, seed)
			registrations(t, seed)
		})
	}
}

func registrations(t *testing.T, seed uint64) {
	rng := rand.New(rand.NewPCG(seed, 0x5a5a))
	n := nettest.Generate(t, "fattree:k=4")
	b := newHarness(t, n, fabric.Config{Seed: rng.Uint64()})
	disk := sim.NewDisk(pick(rng, 0, time.Millisecond, 50*time.Millisecond))
	m := b.addKept(host(n, 0), registrarConfig(), disk)
	t.Cleanup(m.dump)
	b.pass(settling)
	clients := b.clients(rng, 1, 2, 3, 4, 5, 6, 7)
	b.Fabric.SetFaults(fabric.Faults{Loss: pick(rng, 0, 0.02, 0.1), Duplicate: pick(rng, 0, 0.05), Reorder: 0.05,
		ReorderBy: time.Millisecond})
	for range 3 {
		b.ask(clients, b.Fabric.Now()+time.Duration(rng.Int64N(int64(5*time.Second))), true)
		m.retire()
		b.pass(time.Duration(rng.Int64N(int64(time.Second))))
		m = b.addKept(host(n, 0), registrarConfig(), disk)
	}
	b.ask(clients, b.Fabric.Now()+20*time.Second, true)
	b.Fabric.SetFaults(fabric.Faults{})
	b.ask(clients, b.Fabric.Now()+time.Minute, false)
	b.mustHold(m, clients)
}

// clients are hosts that ask the SA.
func (b *harness) clients(rng *rand.Rand, hosts ...int) (clients []*client) {
	b.Helper()
	for _, i := range hosts {
		st, err := b.Fabric.Attach(host(b.net, i))
		if err != nil {
			b.Fatal(err)
		}
		c := &client{
			Station: st, now: b.Fabric.Now, gid: mad.MakeGID(mad.DefaultPrefix, b.Fabric.PortGUID(st.At())), rng: rng,
			joined: map[mad.GID]registry.JoinState{}, subscribed: map[uint16]bool{}, unsure: map[any]bool{},
			lastAsked: map[any]time.Duration{},
		}
		st.OnReceive(c.receive)
		clients = append(clients, c)
	}
	return clients
}

// ask lets clients ask until a time; without more they only end what they have begun.
func (b *harness) ask(clients []*client, until time.Duration, more bool) {
	for b.Fabric.Now() < until {
		for _, c := range clients {
			if c.tries == 0 && !more || c.due > b.Fabric.Now() && c.tries > 0 {
				continue
			}
			pi := b.Fabric.PortInfo(c.At())
			c.lid = pi.MasterSMLID()
			c.act(b.Fabric.Now())
		}
		b.Run(b.Fabric.Now()+20*time.Millisecond, nil)
	}
}

// mustHold compares the registry to what was acknowledged to clients, and the MLIDs to the
// groups.
func (b *harness) mustHold(m *watched, clients []*client) {
	b.Helper()
	s, asked := m.Registrar().State(), 0
	for i, c := range clients {
		asked += c.asks
		if c.tries > 0 {
			b.Errorf("client %d still waits", i)
		}
		for j := range clientGroups {
			mgid := clientGroup(j)
			is, still := s.Member(mgid, c.gid)
			if !still && !c.joined[mgid].KeepsAlive() {
				continue // the group went with its last full member, whoever made it anew
			}
			if is.JoinState != c.joined[mgid] && !c.unsure[mgid] {
				b.Errorf("client %d in group %d: JoinState %x, acknowledged %x", i, j, is.JoinState, c.joined[mgid])
			}
		}
		for trap := uint16(64); trap < 68; trap++ {
			is := false
			for sub := range s.SubscriptionsOf(c.gid) {
				is = is || sub.Trap == trap
			}
			if is != c.subscribed[trap] && !c.unsure[trap] {
				b.Errorf("client %d, trap %d: subscribed %t, acknowledged %t", i, trap, is, c.subscribed[trap])
			}
		}
	}
	if asked < 20*len(clients) {
		b.Errorf("only %d requests were made", asked)
	}
	mlids, groups := map[mad.LID]bool{}, 0
	for g := range s.Groups() {
		groups++
		mlids[g.MLID] = true
		if !g.WellKnown && s.FullMembers(g.MGID) == 0 {
			b.Errorf("group %v is there for nobody", g.MGID)
		}
		if g.MLID >= mad.MinMulticastLID+clientGroups {
			b.Errorf("group %v has MLID 0x%x, of %d groups", g.MGID, uint16(g.MLID), groups)
		}
	}
	if len(mlids) != groups {
		b.Errorf("%d groups on %d MLIDs", groups, len(mlids))
	}
	if st := m.Registrar().Stats(); st.Refused > 0 || st.Pending > 0 || st.Waiting > 0 {
		b.Errorf("%+v", st)
	}
}
