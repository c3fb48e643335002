package manager

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"slices"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"ibsm/congestioncontrol"
	"ibsm/mad"
	"ibsm/mad/gsi"
	"ibsm/mad/rmpp"
	"ibsm/mad/sarec"
	"ibsm/mad/smp"
	"ibsm/perf"
	"ibsm/registry"
	"ibsm/routing/mcast"
	"ibsm/sa"
	"ibsm/sa/mirror"
	"ibsm/sweep/device"
	"ibsm/topo"
	"ibsm/view"
)

// The fuzzer's bytes begin with the situation, and then have up to maxActs acts of these kinds, each of which begins
// with four bytes: kind, whom it concerns, how long it takes to come, and flags.
const (
	// actPacket is a packet of a port, byPort; 256 bytes follow.
	actPacket = iota
	// actAnswer answers requests of the manager that have no answer yet. An offset and a number of bytes follow, and
	// the bytes, which are written over the answer.
	actAnswer
	// actOther is the turn of the other manager, which is honest; what is written over its last packet follows, as
	// for actAnswer.
	actOther
	// actEvent is something that happens to the manager, by flags; 64 bytes follow, which are those of a trap.
	actEvent
	numActs
)

const (
	maxActs  = 24
	actHead  = 4
	trapSize = 64
)

// Bits of the first byte, and in its lowest two what the manager is at first.
const (
	asMaster     = 0
	amongTenants = 1 // master, and believes its clients little
	asStandby    = 2 // of an ibsm
	ofForeign    = 3 // standby of another master
	withAgents   = 4 // counters are read, and settings of congestion control written
	unmirrored   = 8 // with unkeyed, there is no mirror
	unkeyed      = 16
)

// Flags of actPacket.
const (
	withGRH   = 1 << iota
	ofAnother // the GRH has the GID of another port
	bounced   // the port gave it up
	otherQPN  // the sender is no QP1
	otherPKey // it came in the second partition
	withSAKey // the SA_Key is put in
)

// Flags of actAnswer; the upper 4 bits say how many requests, less one, are answered alike.
const (
	asTable   = 1 << iota // in RMPP, whole
	notFromIt             // by another port than was asked
	givenUp               // not at all: the port gives the request up
)

// Flags of actOther; the upper 4 bits say how many turns, less one, it has.
const (
	signed = 1 << iota // what was written over is authentic
)

// Events of actEvent.
const (
	eventTrap = iota
	eventReset
	eventStandby
	eventMaster
	eventHandover
	eventConfigured
	eventSwept
	numEvents
)

const abusedSAKey = 0x1234

// abused is a subnet: self is the manager, other the other one.
type abused struct {
	view        *view.View
	without     *view.View // the host that is the second of hosts
	self, other view.SM
	hosts       []topo.PortIdx // of clients
	lids        []mad.LID      // by a byte of the fuzzer
}

// abusedSubnet is one in which as much as possible can be asked for.
var abusedSubnet = sync.OnceValue(func() *abused {
	a := &abused{view: fatTree(nil, 0)}
	t, lids := a.view.Topo, a.view.LIDs
	for _, p := range t.EndPorts {
		if t.Nodes[t.Ports[p].Node].Type != mad.Switch {
			a.hosts = append(a.hosts, p)
		}
	}
	sm := func(p topo.PortIdx, state uint8) view.SM {
		return view.SM{GUID: t.Ports[p].GUID, LID: lids.Base[p], Priority: 14, State: state, ActCount: 7}
	}
	n := len(a.hosts)
	a.self, a.other = sm(a.hosts[n-1], 3), sm(a.hosts[n-2], 2)
	a.hosts = a.hosts[:n-2]
	a.without = fatTree(a.view, t.Ports[a.hosts[1]].GUID)
	a.furnish(a.view)
	a.furnish(a.without)
	for _, p := range a.hosts[:4] {
		a.lids = append(a.lids, lids.Base[p])
	}
	a.lids = append(a.lids, a.self.LID, a.other.LID, lids.Base[t.EndPort(t.Port(t.Switches[0], 0))], 0, lids.Top+1,
		0x3000, 0xbfff, 0xc001, mad.PermissiveLID)
	return a
})

// furnish puts into a view what there can be, beside nodes and routes.
func (a *abused) furnish(v *view.View) {
	t := v.Topo
	t.Self = t.FindPort(a.self.GUID)
	v.Ports = new(device.Ports)
	var members mcast.Members
	for _, p := range t.EndPorts {
		port := &t.Ports[p]
		node := &t.Nodes[port.Node]
		port.PKeys = topo.NewPKeyTable([]mad.PKey{0xffff, 0x8001})
		port.Info.SetGUIDCap(16)
		port.Info.SetLID(v.LIDs.Base[p])
		if node.Type == mad.Switch {
			node.SwitchInfo.SetMulticastFDBCap(1024)
			continue
		}
		members.Receivers = append(members.Receivers, p)
		v.Ports.Read(device.Place{Attr: smp.AttrSLtoVLMappingTable, Node: node.GUID, Port: port.Num}, make([]byte, 8),
			nil)
		v.Ports.Read(device.Place{Attr: smp.AttrVLArbitrationTable, Node: node.GUID, Port: port.Num},
			make([]byte, 4*64), nil)
	}
	// a limited member, of one partition
	t.Ports[t.FindPort(a.view.Topo.Ports[a.hosts[3]].GUID)].PKeys = topo.NewPKeyTable([]mad.PKey{0x7fff})
	tree, _ := mcast.NewGrower(mcast.NewGraph(t, nil, func(topo.PortIdx) mcast.Use {
		return mcast.Extend
	})).Grow(mad.MinMulticastLID, members, nil)
	v.MFTs = v.MFTs.With(tree)
	v.SMs = []view.SM{a.self, a.other}
	v.Subnet.SAKey, v.Subnet.RespTimeValue = abusedSAKey, 16
}

// Who sends a packet: these are indices of abused.lids.
const (
	bySelf = 4 + iota
	byOther
	bySwitch
	byLID0
	byNobody
)

// gid is that of a host.
func (a *abused) gid(host int) mad.GID {
	return mad.MakeGID(mad.DefaultPrefix, a.view.Topo.Ports[a.hosts[host]].GUID)
}

// abuse is one run of FuzzSA.
type abuse struct {
	*clients
	*abused
	first     byte                // the situation
	isMaster  bool                // now
	ever      [ofForeign + 1]bool // what the manager has been
	received  int                 // packets
	keyed     bool                // one of them has the SA_Key
	asked     map[mad.Addr]map[mad.TID]*due
	at        time.Time        // of taken
	taken     map[mad.LID]int  // answers that clients without the SA_Key have had at one time
	askedFor  map[mad.LID]bool // Reports
	answers   int              // packets that were sent to clients
	open      []mad.Datagram   // requests of the manager that have no answer yet
	manager   *otherManager
	redirects bool // an agent has been answered for, and may have redirected
}

// FuzzSA: whatever packets come to QP1, of whomever, while the manager is what it may be: nobody else is sent anything,
// no plain request has two replies, other clients are served, what a packet brings about is bounded, a standby that is
// left alone catches up with its master, and in the end nothing is left that waits.
func FuzzSA(f *testing.F) {
	for _, s := range abuses() {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) == 0 {
			return
		}
		defer watch(b)()
		abuseSA(t, b[0], b[1:])
	})
}

// mostWork is how much processor time one input may take, by far; all seeds together take less than one second.
const mostWork = 20 * time.Second

// watch ends the program where an input keeps it busy while no virtual time passes, which nothing else would end.
func watch(input []byte) (end func()) {
	began, ended := worked(), make(chan struct{})
	go func() {
		for {
			select {
			case <-ended:
				return
			case <-time.After(time.Second):
				if worked()-began > mostWork {
					panic(fmt.Sprintf("it has no rest after %x", input))
				}
			}
		}
	}()
	return func() { close(ended) }
}

// worked is the processor time of this program.
func worked() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return time.Duration(u.Utime.Nano())
}

// abuseSA runs the acts of a fuzzer in a situation.
func abuseSA(t *testing.T, first byte, b []byte) {
	a := &abuse{abused: abusedSubnet(), first: first, asked: map[mad.Addr]map[mad.TID]*due{},
		askedFor: map[mad.LID]bool{}}
	v := *a.view
	cfg := Config{SAKey: abusedSAKey}
	cfg.Registrar = sa.RegistrarConfig{Groups: sa.DefaultGroups(),
		Mirror: mirror.Config{SMKey: 7, MKey: 8, SAKey: abusedSAKey, Policy: []byte("policy")}}
	if first&unkeyed != 0 {
		cfg.Registrar.Mirror.SMKey, cfg.Registrar.Mirror.MKey, cfg.Registrar.Mirror.DefaultKeys = 0, 0,
			first&unmirrored == 0
	}
	if first&withAgents != 0 {
		cfg.Counters = perf.Settings{Interval: 2 * time.Second, Window: 8, QueryInfo: true, Redirect: true,
			Keep: time.Hour, Memory: 1 << 20}
		cfg.Congestion = congestioncontrol.Settings{Enabled: true, Key: 7, Window: 8}
	}
	if first&3 == amongTenants {
		v.Subnet.Trust = view.Trust{Enhanced: true, GUIDs: true, Groups: 2, Services: 2, Subscriptions: 2,
			CheckSGID: true, Rate: tenantRate}
	}
	serveIn(t, cfg, &v, func(c *clients) {
		a.clients, a.isMaster = c, true
		a.ever[first&3] = true
		if first&2 != 0 {
			a.become(false)
		}
		a.manager = newOtherManager(a)
		for n := 0; len(b) > 0 && n < maxActs; n++ {
			var head [actHead]byte
			b = b[copy(head[:], b):]
			time.Sleep(time.Duration(head[2]) << 24)
			a.look(a.ask()) // what is sent as time passes, by what the manager still is
			switch head[0] % numActs {
			case actPacket:
				d := a.packet(&head)
				b = b[copy(d.Packet[:], b):]
				if head[3]&withSAKey != 0 {
					d.Packet.SetSMKey(abusedSAKey)
				}
				a.give(d)
			case actAnswer:
				var over overlay
				b = over.read(b)
				a.answer(&head, over)
			case actOther:
				var over overlay
				b = over.read(b)
				for turns := head[3] >> 4; ; turns-- {
					if turns == 0 {
						a.give(a.manager.turn(over, head[3]&signed != 0)...)
						break
					}
					a.give(a.manager.turn(overlay{}, false)...)
				}
			case actEvent:
				var trap [trapSize]byte
				b = b[copy(trap[:], b):]
				a.happens(&head, &trap)
			}
		}
		a.finish()
	})
}

// packet is one that comes as the fuzzer's bytes say, without its content.
func (a *abuse) packet(head *[actHead]byte) mad.Datagram {
	d := mad.Datagram{Addr: mad.Addr{LID: a.lids[int(head[1])%len(a.lids)], QPN: 1}}
	flags := head[3]
	if flags&withGRH != 0 {
		gid := a.gid(2)
		if p := a.view.LIDs.PortOf(d.LID); p != topo.None && flags&ofAnother == 0 {
			gid = mad.MakeGID(mad.DefaultPrefix, a.view.Topo.Ports[p].GUID)
		}
		d.GRH = mad.GRH{GID: gid, HopLimit: 9, Present: true}
	}
	if flags&otherQPN != 0 {
		d.QPN = 0x123
	}
	if flags&otherPKey != 0 {
		d.PKeyIndex = 1
	}
	d.TimedOut = flags&bounced != 0
	return d
}

// mostAtOnce is how many packets for clients one that is received can bring about before time passes: a window of a
// table, and few more.
const mostAtOnce = rmpp.Window + 8

// give has the port receive packets, and checks what is sent then.
func (a *abuse) give(ds ...mad.Datagram) {
	a.look(a.ask()) // what was sent as time passed
	for i := range ds {
		d := &ds[i]
		p := &d.Packet
		if a.asked[d.Addr] == nil {
			a.asked[d.Addr] = map[mad.TID]*due{}
		}
		if a.asked[d.Addr][p.TID()] == nil {
			a.asked[d.Addr][p.TID()] = new(due)
		}
		x := a.asked[d.Addr][p.TID()]
		x.any++
		if a.mayHaveAnswer(d) {
			x.answers++
		}
		if p.MgmtClass() == mad.ClassSA && p.Method() == mad.MethodSet && p.AttrID() == sarec.AttrInformInfo {
			a.askedFor[d.LID] = true
		}
		a.received++
		a.keyed = a.keyed || p.SMKey() == abusedSAKey
		before := a.answers
		a.look(a.ask(*d))
		if n := a.answers - before; n > mostAtOnce+a.received {
			a.t.Errorf("%d packets are sent to clients for one, %v of %s", n, p.Method(), sarec.AttrName(p.AttrID()))
		}
	}
	a.look(a.ask())
}

// look checks what the manager has sent, and gives it to the other manager if that is meant.
func (a *abuse) look(sent []mad.Datagram) {
	for i := range sent {
		out := &sent[i]
		p := &out.Packet
		if out.LID == a.other.LID {
			a.manager.in = append(a.manager.in, *out)
		}
		if !a.asks(out) {
			a.answers++
			a.expected(out)
		} else if !p.IsRMPP() && len(a.open) < 1<<10 {
			a.open = append(a.open, *out)
		}
	}
}

// asks reports whether a packet is one that the manager sends of its own accord, and checks that it may.
func (a *abuse) asks(out *mad.Datagram) bool {
	p := &out.Packet
	class, m := p.MgmtClass(), p.Method()
	wrong := func(why string) {
		a.t.Fatalf("to %+v: %v of %v, attribute 0x%x: %s", out.Addr, m, class, uint16(p.AttrID()), why)
	}
	switch {
	case class == mad.ClassMirror: // also its answers, to questions that may be a while ago
		if out.LID != a.other.LID || out.QPN != 1 {
			wrong("there is no other manager")
		}
	case (class == mad.ClassPerf || class == mad.ClassCongestion) && !p.IsResponse():
		if a.first&withAgents == 0 || !out.LID.IsUnicast() || !a.redirects && a.view.LIDs.PortOf(out.LID) == topo.None {
			wrong("there is no agent")
		}
	case class == mad.ClassSA && m == mad.MethodReport:
		// An InformInfo of a port may be for another one, where the subnet knows it by an alias; a Report goes to the
		// port itself when the LID is not its own any more.
		if !a.isMaster || !a.askedFor[out.LID] && !a.ever[asStandby] && !a.ever[ofForeign] {
			wrong("it has not subscribed")
		}
	case class == mad.ClassSA && a.ever[ofForeign] && out.LID == a.other.LID && out.QPN == 1 &&
		(!p.IsResponse() && m != mad.MethodReport || p.IsRMPP()):
	default:
		return false
	}
	return true
}

// due is what a transaction of a client may still have.
type due struct {
	any     int // replies of any kind; one without RMPP ends one
	answers int // replies that are no control packets of RMPP, which come before anything is decided
}

// tenantRate is how many requests of one client among tenants are taken at a time.
const tenantRate = 8

// mayHaveAnswer reports whether a packet may have a reply, by its sender, as what the manager is now.
func (a *abuse) mayHaveAnswer(d *mad.Datagram) bool {
	p := &d.Packet
	from := a.v.LIDs.PortOf(d.LID)
	switch gsi.Classify(d) {
	case gsi.Unserved:
		return true
	case gsi.SAClient: // a Report
		return !a.isMaster && a.ever[ofForeign] && d.LID == a.other.LID
	case gsi.SARequest:
		if !a.isMaster || from == topo.None || p.SMKey() != 0 && p.SMKey() != abusedSAKey {
			return false
		}
	default:
		return false
	}
	if a.first&3 != amongTenants {
		return true
	}
	if gid := mad.MakeGID(mad.DefaultPrefix, a.v.Topo.Ports[from].GUID); d.GRH.Present && d.GRH.GID != gid {
		return false
	}
	return p.SMKey() != 0 || slices.ContainsFunc(sa.Needs[:], func(n sa.Need) bool {
		return n.Attr == p.AttrID() && n.Method == p.Method()
	})
}

// expected checks a packet for a client: it answers, or is a part of an answer to, what its receiver asked, which may
// ask.
func (a *abuse) expected(out *mad.Datagram) {
	p := &out.Packet
	// A control packet of RMPP has the header of the packet that it is about.
	control := p.IsRMPP() && rmpp.TypeOf(p) != rmpp.TypeData
	left := a.asked[out.Addr][p.TID()]
	if left == nil || left.any == 0 || !control && left.answers == 0 {
		a.t.Fatalf("to %+v, which has not asked, may not, or has had an answer: %v of %s, TID %x", out.Addr, p.Method(),
			sarec.AttrName(p.AttrID()), uint64(p.TID()))
	}
	if p.MgmtClass() == mad.ClassSA && p.Method() != mad.MethodReportResp && p.SMKey() != 0 && !control {
		a.t.Errorf("%v of %s shows the SA_Key", p.Method(), sarec.AttrName(p.AttrID()))
	}
	if p.IsRMPP() {
		return
	}
	left.any--
	left.answers--
	if a.first&3 != amongTenants || a.keyed || p.MgmtClass() != mad.ClassSA || out.LID == a.self.LID {
		return
	}
	if now := time.Now(); now != a.at {
		a.at, a.taken = now, map[mad.LID]int{}
	}
	if a.taken[out.LID]++; a.taken[out.LID] > tenantRate {
		a.t.Errorf("%d answers to LID %d at a time", a.taken[out.LID], out.LID)
	}
}

// overlay are bytes that are written over a packet.
type overlay struct {
	at    int
	bytes []byte
}

func (o *overlay) read(b []byte) (rest []byte) {
	var head [2]byte
	b = b[copy(head[:], b):]
	o.at = int(head[0])
	n := min(int(head[1]), len(b), mad.PacketSize-o.at)
	o.bytes = b[:n]
	return b[n:]
}

func (o *overlay) write(p *mad.Packet) { copy(p[o.at:], o.bytes) }

// answer answers requests of the manager.
func (a *abuse) answer(head *[actHead]byte, over overlay) {
	for n := int(head[3]>>4) + 1; n > 0 && len(a.open) > 0; n-- {
		i := int(head[1]) % len(a.open)
		d := a.open[i]
		a.open = slices.Delete(a.open, i, i+1)
		p := &d.Packet
		class := p.MgmtClass()
		switch m := p.Method(); {
		case head[3]&givenUp != 0:
			d.TimedOut = true
		case m == mad.MethodSet:
			p.SetMethod(mad.MethodGetResp)
		default:
			p.SetMethod(m | 0x80)
		}
		if head[3]&notFromIt != 0 {
			d.LID = a.lids[2]
		}
		if head[3]&asTable != 0 && class == mad.ClassSA {
			rmpp.SetSize(p, mad.PacketSize-mad.SADataSize+min(len(over.bytes), mad.SADataSize))
		}
		over.write(p)
		a.redirects = a.redirects || class == mad.ClassPerf
		a.give(d)
	}
}

// happens has something happen to the manager.
func (a *abuse) happens(head *[actHead]byte, trap *[trapSize]byte) {
	switch head[3] % numEvents {
	case eventTrap:
		a.registrar.notify(sa.TrapReceived{Notice: smp.Notice(*trap)})
	case eventReset:
		port := a.view.Topo.Ports[a.hosts[int(head[1])%len(a.hosts)]].GUID
		a.registrar.notify(sa.PortsReset{Ports: []mad.GUID{port}})
		a.congested.Restarted([]mad.GUID{port})
	case eventStandby:
		a.become(false)
	case eventMaster:
		a.become(true)
	case eventHandover:
		if a.isMaster {
			a.registrar.notify(sa.PrepareHandover{To: a.other.GUID})
		}
	case eventConfigured:
		cfg := a.shell.Config.Registrar
		cfg.AnyJoin, cfg.AnyIPoIB = head[1]&1 != 0, head[1]&1 != 0
		if head[1]&4 != 0 {
			cfg.Groups = nil
		}
		a.registrar.notify(sa.ConfigChanged{Config: cfg})
	case eventSwept:
		if a.isMaster {
			v := *a.view
			if head[1]&1 != 0 {
				v = *a.without
			}
			v.Gen, v.Subnet = a.v.Gen+1, a.v.Subnet
			a.v = &v
			a.master(a.v)
		}
	}
	a.give()
}

// become makes the manager master, or standby of the other one.
func (a *abuse) become(master bool) {
	if a.isMaster == master {
		return
	}
	time.Sleep(time.Nanosecond) // no two terms begin at one time
	a.isMaster = master
	m := mirror.Master{GUID: a.other.GUID, LID: a.other.LID, Self: a.self.GUID, Foreign: a.first&3 == ofForeign}
	if master {
		a.registrar.notify(sa.Follow{})
		a.master(a.v)
	} else {
		a.ever[asStandby+int(a.first&1)] = true
		m.Foreign = a.first&3 != asStandby // also of one that has been master
		a.ever[ofForeign] = a.ever[ofForeign] || m.Foreign
		a.master(nil)
		a.registrar.notify(sa.Follow{Master: m})
	}
	if a.manager != nil {
		a.manager.begin(!master)
	}
	synctest.Wait()
}

// finish checks what is left when all is over.
func (a *abuse) finish() {
	a.registered()
	a.mirrors()
	other := request(sarec.AttrNodeRecord, 1)
	other.LID = a.view.LIDs.Base[a.hosts[9]]
	other.Packet.SetSMKey(abusedSAKey)
	if a.isMaster {
		a.served(other)
	} else {
		a.look(a.ask(other)) // which takes an answer for one that nobody has asked for
	}
	a.counters.Configure(perf.Settings{})
	for range 20 { // no more than the port takes at a time
		time.Sleep(30 * time.Second)
		a.look(a.ask())
	}
	a.nothingWaits()
	// A window each time that a sender begins anew, to each that has asked.
	if most := (mostAtOnce + a.received) * 8 * (a.received + 1); a.answers > most {
		a.t.Errorf("%d packets were sent to clients, at most %d can be", a.answers, most)
	}
}

// Pace and patience of the exchange at the end: a question that was lost is repeated within two seconds, and a session
// that is of no use any more lasts three.
const (
	mirrorPace     = 100 * time.Millisecond
	mirrorPatience = 20 * time.Second
)

// mirrors checks that the standby comes to have what the master has, where both have the same keys and nobody else has
// them, and they were in touch before.
func (a *abuse) mirrors() {
	o := a.manager
	if !o.acted || o.forged || !o.mirrors || !a.isMaster && a.first&3 != asStandby {
		return
	}
	master, standby := func() *registry.State { return o.registry.Freeze() }, func() *registry.State {
		return a.registrar.state.Load()
	}
	if a.isMaster {
		master, standby = standby, master
	}
	for waited := time.Duration(0); !slices.Equal(contents(standby()), contents(master())); waited += mirrorPace {
		if waited > mirrorPatience {
			a.t.Errorf("the master has %+v, its standby %+v; %+v, %+v", master().Counts(), standby().Counts(),
				o.follower.Stats(), a.registrar.MirrorStats().Follower)
			return
		}
		time.Sleep(mirrorPace)
		a.give(o.turn(overlay{}, false)...)
	}
}

// contents are the changes that make a registry what it is.
func contents(s *registry.State) (all []string) {
	for c := range s.Changes() {
		all = append(all, string(c.AppendTo(nil)))
	}
	slices.Sort(all)
	return all
}

// served checks that another client is served, whatever else is sent meanwhile.
func (a *abuse) served(d mad.Datagram) {
	m := rmpp.New(rmpp.Config{MaxMessage: 1 << 24})
	out := make([]mad.Datagram, 16)
	in := a.ask(d)
	for len(in) > 0 {
		var rest []mad.Datagram
		for i := range in {
			if in[i].LID != d.LID || in[i].Packet.MgmtClass() != mad.ClassSA {
				rest = append(rest, in[i])
			} else if e, ended := m.Receive(0, &in[i]); ended {
				if a.look(a.ask(out[:m.Output(0, out)]...)); e.Status != rmpp.StatusNormal ||
					len(e.Data) != len(a.v.Topo.Nodes)*112 {
					a.t.Errorf("another client: %q, %d bytes", e.Status, len(e.Data))
				}
				return
			}
		}
		a.look(rest)
		in = a.ask(out[:m.Output(0, out)]...)
	}
	a.t.Error("another client is not served")
}

// registered checks that what is registered is no more than was asked for, and within the limits of tenants.
func (a *abuse) registered() {
	s := a.registrar.state.Load()
	for g := range s.Groups() {
		if !g.WellKnown && s.FullMembers(g.MGID) == 0 && a.isMaster {
			a.t.Errorf("group %v is there for nobody", g.MGID)
		}
	}
	if a.ever[asStandby] || a.ever[ofForeign] {
		return // the other manager may have had any number
	}
	if c := s.Counts(); c.Groups > len(sa.DefaultGroups())+a.received || c.Members > a.received ||
		c.Services > a.received ||
		c.Subscriptions > a.received || c.Aliases > 8*a.received {
		a.t.Errorf("of %d packets are left: %+v", a.received, c)
	}
	if !a.ever[amongTenants] || a.keyed {
		return
	}
	joined, subscribed, services := map[mad.GID]int{}, map[mad.GID]int{}, map[mad.GID]int{}
	for g := range s.Groups() {
		for m := range s.Members(g.MGID) {
			joined[m.Port]++
		}
	}
	for sub := range s.Subscriptions() {
		subscribed[sub.Subscriber]++
	}
	for service := range s.Services() {
		services[service.GID]++
	}
	for what, counts := range map[string]map[mad.GID]int{"groups": joined, "subscriptions": subscribed,
		"services": services} {
		for gid, n := range counts {
			if n > 2 {
				a.t.Errorf("%v has %d %s", gid, n, what)
			}
		}
	}
}

// otherManager is the manager of another host, which does what it has to: it is a standby while ours is master; or it
// is master, of our kind or of another.
type otherManager struct {
	*abuse
	start     time.Time
	follower  *mirror.Follower
	source    *mirror.Source
	responder *sa.Responder
	transfers *rmpp.Machine
	in        []mad.Datagram     // for it
	registry  *registry.Registry // what is registered with it, or with the master that it follows
	mirrors   bool               // its keys allow it
	acted     bool               // it has had a turn
	forged    bool               // some other packet was made authentic
}

func newOtherManager(a *abuse) *otherManager {
	cfg := a.shell.Config.Registrar.Mirror
	o := &otherManager{abuse: a, start: time.Now(),
		follower: mirror.NewFollower(cfg, time.Now().Unix(), mirror.Salt{1}),
		source:   mirror.NewSource(cfg, mirror.Salt{2})}
	o.responder = sa.New(a.view, registeredElsewhere(a.abused).Freeze())
	o.transfers, o.mirrors = rmpp.New(rmpp.Config{}), cfg.On()
	o.begin(!a.isMaster)
	return o
}

// begin makes it master, or standby.
func (o *otherManager) begin(master bool) {
	now := time.Since(o.start)
	if o.source.Stop(); master {
		o.registry = registeredElsewhere(o.abused)
		o.source.Begin(mirror.Term{Manager: o.other.GUID, Began: uint64(time.Now().UnixNano())}, o.registry.Freeze())
		o.follower.Follow(now, mirror.Master{})
		o.follower.Forget()
	} else {
		o.registry = registry.New()
		o.follower.Follow(now, mirror.Master{GUID: o.self.GUID, LID: o.self.LID, Self: o.other.GUID})
	}
}

// registeredElsewhere is what is registered with the other manager.
func registeredElsewhere(a *abused) *registry.Registry {
	r := registry.New()
	group := registry.Group{MGID: mad.GID{0xff, 0x15, 15: 1}, MLID: 0xc005, PKey: 0xffff, MTU: mad.MTU2048, Rate: 3}
	key := registry.SubscriptionKey{Subscriber: a.gid(1), QPN: 1,
		Filter: registry.Filter{LIDBegin: registry.AnyLID, Type: registry.AnyType, Trap: registry.AnyTrap,
			Generic: true, Producer: registry.AnyProducer}}
	for _, c := range []registry.Change{
		registry.PutGroup{Group: group},
		registry.PutMember{Member: registry.Member{MGID: group.MGID, Port: a.gid(1), JoinState: registry.FullMember}},
		registry.PutService{
			Service: registry.Service{ServiceKey: registry.ServiceKey{ID: 7, GID: a.gid(1), PKey: 0xffff},
				Lease: registry.InfiniteLease},
		},
		registry.PutSubscription{
			Subscription: registry.Subscription{
				SubscriptionKey: key, Destination: registry.Destination{Addr: mad.Addr{LID: a.lids[1], QPN: 1},
					PKey: mad.DefaultPKey},
			},
		},
	} {
		if err := r.Apply(c); err != nil {
			panic(err)
		}
	}
	return r
}

// turn takes what came for it, and returns what it sends, with an overlay over the last packet.
func (o *otherManager) turn(over overlay, sign bool) (out []mad.Datagram) {
	now := time.Since(o.start)
	o.acted = true
	for i := range o.in {
		d := o.in[i]
		d.LID = o.self.LID
		switch class := d.Packet.MgmtClass(); {
		case class == mad.ClassMirror && o.isMaster:
			if u, is := o.follower.Receive(now, &d); is {
				o.update(&u)
			}
		case class == mad.ClassMirror:
			o.source.Receive(now, &d, o.self.GUID)
		case class == mad.ClassSA && !o.isMaster:
			out = o.serve(now, &d, out)
		}
	}
	o.in = o.in[:0]
	out = o.follower.Output(now, out)
	out = o.source.Output(now, out)
	out = o.transfers.Drain(now, out)
	for i := range out {
		out[i].Addr = mad.Addr{LID: o.other.LID, QPN: 1}
	}
	if len(out) > 0 && len(over.bytes) > 0 {
		p := &out[len(out)-1].Packet
		over.write(p)
		if sign {
			o.forged = true
			o.sign(p)
		}
	}
	return out
}

// update has it register what its master has.
func (o *otherManager) update(u *mirror.Update) {
	if u.Whole != nil {
		o.registry = u.Whole
	}
	for _, c := range u.Changes {
		if err := o.registry.Apply(c); err != nil {
			o.t.Errorf("the standby has not applied %+v: %v", c, err)
		}
	}
}

// serve is the SA of a foreign master.
func (o *otherManager) serve(now time.Duration, d *mad.Datagram, out []mad.Datagram) []mad.Datagram {
	var reply mad.Datagram
	stats := new(sa.Stats)
	switch {
	case d.Packet.IsRMPP():
		o.transfers.Receive(now, d)
	case d.Packet.IsResponse():
	case sa.IsTable(&d.Packet):
		if records, ok := o.responder.Table(o.t.Context(), d, &reply, stats); ok {
			_ = o.transfers.Send(now, &reply, records) // which may be under way
		}
	case o.responder.Answer(d, &reply, stats):
		if reply.Packet.AttrID() == sarec.AttrInformInfo {
			reply.Packet.SetStatus(mad.StatusOK)
		}
		return append(out, reply)
	}
	return out
}

// sign writes the authentication code of a packet outside sessions, as package mirror describes it.
func (o *otherManager) sign(p *mad.Packet) {
	cfg := &o.shell.Config.Registrar.Mirror
	key := []byte("ibsm mirror")
	key = binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(key, cfg.SMKey), uint64(cfg.MKey))
	sum := sha256.Sum256(key)
	mac := hmac.New(sha256.New, sum[:])
	mac.Write(binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(nil, uint64(o.other.GUID)),
		uint64(o.self.GUID)))
	mac.Write(p[:8])
	mac.Write(p[12:40])
	mac.Write(p[56:])
	copy(p[40:56], mac.Sum(nil))
}
