package sim_test

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"
	"time"

	"ibsm/mad"
	"ibsm/mad/sarec"
	"ibsm/mad/smp"
	"ibsm/manager"
	"ibsm/sa/mirror"
	"ibsm/sim/fabric"
	"ibsm/sweep"
	"ibsm/topo/net"
	"ibsm/topo/net/nettest"
)

// attack is a run of one seed: a master, a standby, honest hosts with registrations, and an
// intruder that sends what docs/security.md lists.
type attack struct {
	*harness
	*intruder
	rng     *rand.Rand
	master  *watched
	standby *watched
	witness *fabric.Station // at an honest host
	tid     int
}

// attackLines are the lines of the table in docs/security.md. keys says that the line changes
// something where the subnet has default keys.
var attackLines = []struct {
	name string
	keys bool
	send func(a *attack)
}{
	{"Get(SMInfo) in any name", false, func(a *attack) {
		q := a.anySMInfo()
		if a.rng.IntN(2) == 0 {
			copy(q[56:], "ibsm-ask")
		}
		a.smInfo(a.target(), a.rng.IntN(2) == 0, mad.MethodGet, 0, q, a.tid)
	}},
	{"Set(SMInfo)", false, func(a *attack) {
		info := a.anySMInfo()
		info.SetSMState(smp.Master)
		to := a.target()
		if to == a.master.Station.At() && info.GUID() == a.guid() {
			return // HANDOVER in its own name: the master looks again
		}
		a.smInfo(to, a.rng.IntN(2) == 0, mad.MethodSet, uint32(a.rng.IntN(7)), info, a.tid)
	}},
	{"Set(SMInfo), SLID of the master", false, func(a *attack) {
		own := a.Fabric.PortInfo(a.master.Station.At())
		var d mad.Datagram
		d.LID = own.LID()
		d.Packet.SetHeader(mad.ClassLIDRouted, mad.MethodSet, smp.AttrSMInfo, uint32(1+a.rng.IntN(5)))
		info := otherSM(a.Fabric.PortGUID(a.master.Station.At()), 15, smp.Master)
		info.SetSMKey(1)
		*d.Packet.Data() = info
		a.Deliver(a.standby.Manager, d)
	}},
	{"another master", true, func(a *attack) {
		a.impersonate(15, pick(a.rng, smp.Master, smp.Standby, smp.Discovering), pick(a.rng, 0, 1, a.rng.Uint64()))
	}},
	{"traps about others", false, func(a *attack) {
		link := uplink(a.net, a.Fabric.Peer(a.station.At()).Node)
		sw, victim := a.Fabric.PortInfo(net.End{Node: link.Node}), a.Fabric.PortInfo(host(a.net, 1))
		number := pick(a.rng, smp.TrapLinkState, smp.TrapLinkIntegrity, smp.TrapBufferOverrun, smp.TrapFlowControl,
			smp.TrapLocalChange, smp.TrapSystemImageGUID, smp.TrapBadMKey,
			smp.TrapSwitchBadPKey, smp.TrapGIDInService, smp.TrapGIDOutOfService, smp.TrapGroupCreated,
			smp.TrapGroupDeleted)
		a.trap(a.master.Station.At(), number, a.tid, func(n *smp.Notice) {
			lid := pick(a.rng, sw.LID(), victim.LID())
			switch number {
			case smp.TrapLinkState:
				n.LinkState().SetLID(lid)
			case smp.TrapSwitchBadPKey:
				n.SwitchBadPKey().SetSwitchLID(lid)
			default:
				n.PortError().SetLID(lid) // where traps 144, 145 and 256 have it, too
				n.PortError().SetPortNum(link.Port)
			}
		})
	}},
	{"replies that nobody asked for", false, func(a *attack) {
		a.raw(func(p *mad.Packet) {
			p.SetMethod(pick(a.rng, mad.MethodGetResp, mad.MethodTrapRepress, mad.MethodGetResp))
			p.SetTID(mad.TID(pick(a.rng, uint64(a.rng.Uint32()), 1<<28|uint64(a.rng.IntN(1<<16)))))
			if a.rng.IntN(2) == 0 {
				p.SetStatus(mad.Status(a.rng.Uint32()))
			}
		})
	}},
	{"replies with other tables", false, func(a *attack) { a.sendUnasked(a.master, a.rng.IntN(1<<16)) }},
	{"malformed SMPs", false, func(a *attack) { a.raw(func(p *mad.Packet) {}) }},
	{"SA requests in other names", false, func(a *attack) {
		a.saRequest(a.Fabric.PortGUID(host(a.net, 1+a.rng.IntN(3))))
	}},
	{"services and alias GUIDs of others", false, func(a *attack) { a.takeOver(false, 0) }},
	{"services and alias GUIDs of others, default sa_key", true, func(a *attack) { a.takeOver(false, 1) }},
	{"the same, with a GRH in another's name", false, func(a *attack) { a.takeOver(true, 0) }},
	{"SA requests of LIDs that nobody has", false, func(a *attack) {
		a.takeOverFrom(pick(a.rng, 0, 0x300, 0xbfff, 0xc000, 0xfffe, mad.PermissiveLID))
	}},
	{"malformed SA requests", false, func(a *attack) {
		a.gsi(mad.ClassSA, func(p *mad.Packet) {
			for i := 24; i < len(p); i++ {
				p[i] = byte(a.rng.Uint32())
			}
			p.SetComponentMask(mad.ComponentMask(a.rng.Uint64() & 0x10ff)) // names no port of others by chance
		}, mad.MethodGet, mad.MethodGetTable, mad.Method(0x14), mad.MethodReportResp)
	}},
	{"half-open RMPP", false, func(a *attack) {
		a.gsi(mad.ClassSA, func(p *mad.Packet) {
			p[24], p[25], p[26] = 1, byte(1+a.rng.IntN(4)), byte(a.rng.Uint32()) // version, type, flags
			for i := 28; i < 36; i++ {
				p[i] = byte(a.rng.Uint32())
			}
		}, mad.MethodGetTable, mad.Method(0x14), mad.MethodGetTableResp, mad.MethodGet)
	}},
	{"mirror packets", false, func(a *attack) {
		a.gsi(mad.ClassMirror, func(p *mad.Packet) {
			for i := 24; i < len(p); i++ {
				p[i] = byte(a.rng.Uint32())
			}
			binary.BigEndian.PutUint32(p[36:], mad.MirrorOUI)
			p[24] = byte(a.rng.IntN(2))
		}, mad.MethodGetTable, mad.MethodGetTableResp)
	}},
	{"Set to agents", true, func(a *attack) {
		route := a.routeTo(pick(a.rng, firstHost(a.net), host(a.net, 1)))
		var d mad.Datagram
		d.LID = mad.PermissiveLID
		d.Packet.SetDirected(&route, mad.MethodSet, pick(a.rng, smp.AttrPortInfo, smp.AttrPKeyTable, smp.AttrGUIDInfo),
			0)
		d.Packet.SetTID(mad.TID(a.tid))
		d.Packet.SetMKey(mad.MKey(pick(a.rng, 0, 1, a.rng.Uint64())))
		a.station.Send([]mad.Datagram{d})
	}},
}

// TestHostileHost: whatever a host sends, nothing changes at the managers, in the fabric and in
// what honest hosts have registered; there is no storm of sweeps; memory stays bounded.
func TestHostileHost(t *testing.T) {
	for _, seed := range seedsOf(t, 8, 500) {
		for _, keys := range []bool{false, true} {
			t.Run(fmt.Sprintf("%d/keys=%t", seed, keys), func(t *testing.T) {
				defer repeat(t, seed)
				newAttack(t, seed, keys).run(keys)
			})
		}
	}
}

func newAttack(t *testing.T, seed uint64, keys bool) *attack {
	rng := rand.New(rand.NewPCG(seed, 0x7e57))
	b := newHarness(t, nettest.Generate(t, "fattree:k=4"), fabric.Config{Seed: rng.Uint64()})
	high, low := registrarConfig(), registrarConfig()
	for _, cfg := range []*manager.Config{&high, &low} {
		cfg.Elect.SMKey, cfg.SAKey = 1, 1
		cfg.Sweep.Settings.DisableBabblers = true
		cfg.Registrar.Mirror = mirror.Config{SMKey: 1}
		if keys {
			cfg.Elect.SMKey, cfg.SAKey = 0x5ec, 0x5a
			cfg.Sweep.Settings.MKey, cfg.Sweep.Settings.MKeyProtect = sweep.Given(mad.MKey(0x3347)),
				sweep.Given(uint8(1))
			cfg.Registrar.Mirror = mirror.Config{SMKey: 0x5ec, MKey: 0x3347}
		}
		cfg.Elect.Unmirrored = !keys
	}
	high.Elect.Priority = 5
	a := &attack{harness: b, rng: rng}
	a.master, a.standby = b.comeUp(high), b.add(host(b.net, 6), low)
	t.Cleanup(a.standby.dump)
	b.pass(settling)
	a.intruder = b.intrude(host(b.net, pick(rng, 5, 7, 9, 12)))
	var err error
	if a.witness, err = b.Fabric.Attach(host(b.net, 4)); err != nil {
		b.Fatal(err)
	}
	return a
}

func (a *attack) run(keys bool) {
	clients := a.clients(a.rng, 1, 2, 3)
	a.ask(clients, a.Fabric.Now()+3*time.Second, true)
	a.ask(clients, a.Fabric.Now()+5*time.Second, false)
	a.pass(settling)
	a.own()
	registered := a.registered()
	if strings.Count(registered, "service {") != 3 || strings.Count(registered, "alias {") != 3 ||
		strings.Count(registered, "HopLimit 0") != 3 {
		a.Fatalf("not all is registered:\n%s", registered)
	}
	before, masterStates, standbyStates, stats := a.harness.snapshot(), len(a.master.states), len(a.standby.states),
		a.master.Core.Stats()
	began := a.Fabric.Now()
	for range 12 {
		line := attackLines[a.rng.IntN(len(attackLines))]
		if line.keys && !keys {
			continue
		}
		for range 1 + a.rng.IntN(60) {
			a.tid++
			line.send(a)
			a.Run(a.Fabric.Now()+pick(a.rng, 0, time.Millisecond, 20*time.Millisecond), nil)
		}
		a.pass(pick(a.rng, 0, time.Second, 12*time.Second))
		if len(a.master.states) != masterStates || len(a.standby.states) != standbyStates {
			a.Fatalf("%s: the master is %v, the standby %v", line.name, a.master.states, a.standby.states)
		}
	}
	took := a.Fabric.Now() - began
	a.says = nil
	a.station.SetIsSM(false)
	a.pass(settling)
	a.harness.mustBeAsBefore(before)
	now := a.master.Core.Stats()
	heavy := now.Sweeps[manager.HeavySweep] + now.Sweeps[manager.QuickSweep]
	heavy -= stats.Sweeps[manager.HeavySweep] + stats.Sweeps[manager.QuickSweep]
	if heavy > uint64(took/time.Second)+30 {
		a.Errorf("%d heavy sweeps in %v", heavy, took)
	}
	if len(now.Alarms()) > 32 || len(now.Rivals) > 18 {
		a.Errorf("%d alarms, %d rivals are remembered", len(now.Alarms()), len(now.Rivals))
	}
	if now := a.registered(); now != registered {
		a.Errorf("of other ports was registered:\n%s\nis:\n%s", registered, now)
	}
	a.mustHold(a.master, clients)
	a.mustBeWhole(a.master)
	var mem runtime.MemStats
	runtime.GC()
	if runtime.ReadMemStats(&mem); mem.HeapAlloc > 128<<20 {
		a.Errorf("the heap has grown to %d MiB", mem.HeapAlloc>>20)
	}
	killed := a.Fabric.Now()
	a.Kill(a.master.Manager)
	if !a.Run(killed+2*time.Minute, func() bool { return a.standby.last() == smp.Master && a.standby.View != nil }) {
		a.Fatalf("the standby does not take over: %v", a.standby.states)
	}
}

// target is the port of a manager.
func (a *attack) target() net.End {
	return pick(a.rng, a.master.Station.At(), a.standby.Station.At())
}

// anySMInfo is an SMInfo in the name of a manager, of an honest host, of nobody, or its own.
func (a *attack) anySMInfo() smp.SMInfo {
	name := pick(a.rng, a.guid(), mad.GUID(a.rng.Uint64()), a.Fabric.PortGUID(host(a.net, 1)),
		a.Fabric.PortGUID(a.master.Station.At()), a.Fabric.PortGUID(a.standby.Station.At()))
	info := otherSM(name, uint8(a.rng.IntN(16)), smp.SMState(a.rng.IntN(5)))
	info.SetSMKey(pick(a.rng, 0, 1, a.rng.Uint64()))
	return info
}

// raw sends an SMP of random content to a manager's port.
func (a *attack) raw(edit func(p *mad.Packet)) {
	to := a.target()
	var d mad.Datagram
	if a.rng.IntN(2) == 0 {
		pi := a.Fabric.PortInfo(to)
		d.LID = pi.LID()
		d.Packet.SetHeader(mad.ClassLIDRouted, mad.Method(a.rng.Uint32()), mad.AttrID(0x10+a.rng.IntN(0x30)),
			uint32(a.rng.IntN(4)))
	} else {
		route := a.routeTo(to)
		d.LID = mad.PermissiveLID
		d.Packet.SetDirected(&route, mad.Method(a.rng.Uint32()), mad.AttrID(0x10+a.rng.IntN(0x30)),
			uint32(a.rng.IntN(4)))
	}
	if d.Packet.Method() == mad.MethodSet || d.Packet.Method() == mad.MethodTrap {
		d.Packet.SetMethod(mad.MethodGet) // of other lines
	}
	for i := range d.Packet.Data() {
		d.Packet.Data()[i] = byte(a.rng.Uint32())
	}
	edit(&d.Packet)
	a.station.Send([]mad.Datagram{d})
}

// gsi sends a packet of a management class to the general services of a manager's port.
func (a *attack) gsi(class mad.Class, edit func(p *mad.Packet), methods ...mad.Method) {
	pi := a.Fabric.PortInfo(a.target())
	d := mad.Datagram{Addr: mad.Addr{LID: pi.LID(), QPN: 1}}
	d.Packet.SetHeader(class, pick(a.rng, methods...),
		mad.AttrID(pick(a.rng, 0x10, 0x11, 0x35, 0x38, 0x31, 0x36, 0x30)), 0)
	edit(&d.Packet)
	d.Packet.SetTID(mad.TID(a.tid))
	a.station.Send([]mad.Datagram{d})
}

// saRequest asks the SA to change what another port has registered.
func (a *attack) saRequest(victim mad.GUID) {
	gid := mad.MakeGID(mad.DefaultPrefix, victim)
	pi := a.Fabric.PortInfo(a.master.Station.At())
	d := mad.Datagram{Addr: mad.Addr{LID: pi.LID(), QPN: 1}}
	p := &d.Packet
	switch a.rng.IntN(3) {
	case 0:
		p.SetHeader(mad.ClassSA, mad.MethodDelete, sarec.AttrMCMemberRecord, 0)
		p.SetComponentMask(sarec.MCMemberMGID | sarec.MCMemberPortGID | sarec.MCMemberJoinState)
		rec := (*sarec.MCMemberRecord)(p.SAData()[:])
		rec.SetMGID(clientGroup(a.rng.IntN(clientGroups)))
		rec.SetPortGID(gid)
		rec.SetJoinState(uint8(1 + a.rng.IntN(15)))
	case 1:
		p.SetHeader(mad.ClassSA, mad.MethodSet, sarec.AttrInformInfo, 0)
		info := (*sarec.InformInfo)(p.SAData()[:])
		info.SetGID(gid)
		info.SetIsGeneric(1)
		info.SetTrapNumber(uint16(64 + a.rng.IntN(4)))
		info.SetQPN(1)
	case 2:
		p.SetHeader(mad.ClassSA, pick(a.rng, mad.MethodSet, mad.MethodDelete), sarec.AttrGUIDInfoRecord, 0)
		p.SetComponentMask(^mad.ComponentMask(0))
		for i := range p.SAData() {
			p.SAData()[i] = byte(a.rng.Uint32())
		}
	}
	p.SetTID(mad.TID(a.tid))
	a.station.Send([]mad.Datagram{d})
}
