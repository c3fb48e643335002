package sim_test

import (
	"maps"
	"slices"
	"testing"
	"time"

	"ibsm/mad"
	"ibsm/mad/sarec"
	"ibsm/mad/smp"
	"ibsm/registry"
	"ibsm/sa"
	"ibsm/sim/fabric"
	"ibsm/topo/net"
	"ibsm/topo/net/nettest"
)

// ipoibHost joins as IPoIB of Linux does: the broadcast group as it is, then a group with the
// values that the broadcast group was answered with. When it is asked to register again it
// forgets what it knows and joins both anew.
type ipoibHost struct {
	*fabric.Station
	harness *harness
	lid     mad.LID // of the manager
	tid     mad.TID
	again   time.Duration // when it joins again what it lacks
	held    map[mad.GID]sarec.MCMemberRecord
	asked   int // how often it was asked to register again
}

var ipoibGroups = []mad.GID{sa.DefaultGroups()[0].MGID, {0xff, 0x12, 0x40, 0x1b, 0xff, 0xff, 12: 0xe0, 15: 1}}

func newIPoIBHost(b *harness, m *watched, at net.End) *ipoibHost {
	s, err := b.Fabric.Attach(at)
	if err != nil {
		b.Fatal(err)
	}
	self := b.Fabric.PortInfo(m.Station.At())
	h := &ipoibHost{Station: s, harness: b, lid: self.LID(), held: map[mad.GID]sarec.MCMemberRecord{}}
	s.OnReceive(h.receive)
	return h
}

// act joins what the host lacks, a second after it asked last.
func (h *ipoibHost) act() {
	if h.TakeReregister() {
		h.asked++
		clear(h.held)
		h.again = 0
	}
	broadcast, in := h.held[ipoibGroups[0]]
	if h.harness.Fabric.Now() < h.again || len(h.held) == len(ipoibGroups) {
		return
	}
	h.again = h.harness.Fabric.Now() + time.Second
	d := mad.Datagram{Addr: mad.Addr{LID: h.lid, QPN: 1}}
	d.Packet.SetHeader(mad.ClassSA, mad.MethodSet, sarec.AttrMCMemberRecord, 0)
	h.tid++
	d.Packet.SetTID(h.tid)
	rec := (*sarec.MCMemberRecord)(d.Packet.SAData()[:56])
	comps := sarec.MCMemberMGID | sarec.MCMemberPortGID | sarec.MCMemberPKey | sarec.MCMemberJoinState
	if *rec = broadcast; in {
		comps |= sarec.MCMemberQKey | sarec.MCMemberMTUSelector | sarec.MCMemberMTU | sarec.MCMemberTClass |
			sarec.MCMemberRateSelector |
			sarec.MCMemberRate | sarec.MCMemberSL | sarec.MCMemberFlowLabel | sarec.MCMemberHopLimit
	}
	rec.SetMGID(ipoibGroups[len(h.held)])
	rec.SetPortGID(mad.MakeGID(mad.DefaultPrefix, h.harness.Fabric.PortGUID(h.At())))
	rec.SetPKey(mad.DefaultPKey)
	rec.SetJoinState(1)
	d.Packet.SetComponentMask(comps)
	h.Send([]mad.Datagram{d})
}

func (h *ipoibHost) receive(d mad.Datagram) {
	if p := &d.Packet; p.TID() == h.tid && p.AttrID() == sarec.AttrMCMemberRecord && p.Status() == mad.StatusOK {
		rec := sarec.MCMemberRecord(p.SAData()[:56])
		h.held[rec.MGID()] = rec
		h.again = 0
	}
}

// When the configuration gives the broadcast group another MLID, Q_Key, rate or SL, exactly
// its members are asked to register again, once, and then what one sends by the values it was given
// reaches the others. So they are when multicast is switched off, which ends all groups.
func TestMembersFollowTheirGroup(t *testing.T) {
	n := nettest.Generate(t, "fattree:k=4")
	b := newHarness(t, n, fabric.Config{Seed: 1})
	cfg := registrarConfig()
	m := b.comeUp(cfg)
	t.Cleanup(m.dump)
	var hosts []*ipoibHost
	for i := range 6 { // of which the last two join nothing
		hosts = append(hosts, newIPoIBHost(b, m, host(n, 2*i+3)))
	}
	in := hosts[:4]
	live := func() {
		b.Run(b.Fabric.Now()+settling, func() bool {
			for _, h := range in {
				h.act()
			}
			return false
		})
		for i, h := range hosts {
			if i >= len(in) && h.TakeReregister() {
				t.Errorf("%v, which is in no group, was asked to register again", h.At())
			}
		}
	}
	for _, h := range hosts {
		h.TakeReregister()
	}
	live()
	judgeIPoIB(t, b, in, cfg.Registrar.Groups[0])
	for i, change := range []func(g *registry.Group){
		func(g *registry.Group) { g.MLID = 0xc0a5 },
		func(g *registry.Group) { g.QKey = 0x1234 },
		func(g *registry.Group) { g.Rate = 16 },
		func(g *registry.Group) { g.SL = 2 },
		func(g *registry.Group) {},
	} {
		cfg.Registrar.Groups = slices.Clone(cfg.Registrar.Groups)
		was := cfg.Registrar.Groups[0]
		change(&cfg.Registrar.Groups[0])
		b.Configure(m.Manager, cfg)
		live()
		for _, h := range in {
			want := 1
			if cfg.Registrar.Groups[0] == was {
				want = 0
			}
			if h.asked != want {
				t.Errorf("change %d: %v was asked %d times to register again, want %d", i, h.At(), h.asked, want)
			}
			h.asked = 0
		}
		judgeIPoIB(t, b, in, cfg.Registrar.Groups[0])
	}
	last := in[0].held[ipoibGroups[0]]
	cfg.NoMulticast = true
	b.Configure(m.Manager, cfg)
	live()
	for _, h := range in {
		if h.asked != 1 || len(h.held) > 0 {
			t.Errorf("without multicast %v was asked %d times to register again, and is in %d groups", h.At(), h.asked,
				len(h.held))
		}
	}
	if spread := b.Fabric.ProbeMulticast(in[0].At(), last.MLID(), mad.DefaultPKey, last.SL()); len(
		spread.Delivered) > 0 {
		t.Errorf("without multicast a packet reaches %v", spread.Delivered)
	}
	cfg.NoMulticast = false
	b.Configure(m.Manager, cfg)
	live()
	judgeIPoIB(t, b, in, cfg.Registrar.Groups[0])
}

// judgeIPoIB holds what hosts know of their groups against the group as it is configured, and
// sends by it.
func judgeIPoIB(t *testing.T, b *harness, in []*ipoibHost, want registry.Group) {
	t.Helper()
	var ends []net.End
	for _, h := range in {
		ends = append(ends, h.At())
	}
	for _, h := range in {
		if len(h.held) != len(ipoibGroups) {
			t.Errorf("%v is in %v", h.At(), slices.Collect(maps.Keys(h.held)))
		}
		for mgid, rec := range h.held {
			if _, rate := rec.Rate(); rec.QKey() != want.QKey || rate != want.Rate || rec.SL() != want.SL ||
				want.MLID != 0 && mgid == want.MGID && rec.MLID() != want.MLID {
				t.Errorf("%v was given for group %v: MLID %v, Q_Key %#x, rate %d, SL %d; want %+v", h.At(), mgid,
					rec.MLID(), rec.QKey(), rate, rec.SL(), want)
			}
			spread := b.Fabric.ProbeMulticast(h.At(), rec.MLID(), mad.DefaultPKey, rec.SL())
			for _, to := range ends {
				if to != h.At() && !slices.Contains(spread.Delivered, to) {
					t.Errorf("what %v sends to %v by MLID %v does not reach %v", h.At(), mgid, rec.MLID(), to)
				}
			}
			if len(spread.Delivered) > len(ends) || spread.Duplicates > 0 {
				t.Errorf("what %v sends to %v reaches %v, and %d copies", h.At(), mgid, spread.Delivered,
					spread.Duplicates)
			}
		}
	}
}

// A member that does not register again is asked again until it does; one that cannot be asked
// is left alone.
func TestMembersAreAskedUntilTheyKnow(t *testing.T) {
	n := nettest.Generate(t, "fattree:k=4")
	dropping, asked := false, 0
	old := host(n, 5).Node
	b := newHarness(t, n, fabric.Config{Seed: 1, Caps: func(node int32, _ *net.Node, c *fabric.Caps) {
		if node == old {
			c.CapabilityMask &^= smp.IsClientReregistrationSupported
		}
		c.Defect = func(p *mad.Packet, obey func() mad.Status) (mad.Status, bool) {
			if p.Method() == mad.MethodSet && p.AttrID() == smp.AttrPortInfo &&
				(*smp.PortInfo)(p.Data()[:]).ClientReregister() {
				if asked++; dropping {
					return 0, false
				}
			}
			return obey(), true
		}
	}})
	cfg := registrarConfig()
	m := b.comeUp(cfg)
	t.Cleanup(m.dump)
	in := []*ipoibHost{newIPoIBHost(b, m, host(n, 3)), newIPoIBHost(b, m, host(n, 5))}
	live := func(d time.Duration) {
		b.Run(b.Fabric.Now()+d, func() bool {
			for _, h := range in {
				h.act()
			}
			return false
		})
	}
	live(settling)
	in[0].asked, asked, dropping = 0, 0, true
	cfg.Registrar.Groups = slices.Clone(cfg.Registrar.Groups)
	cfg.Registrar.Groups[0].QKey = 0x1234
	b.Configure(m.Manager, cfg)
	live(settling)
	if asked < 5 || in[0].asked != 0 {
		t.Errorf("a dropping member was asked %d times, and heard it %d times", asked, in[0].asked)
	}
	dropping = false
	live(settling)
	if in[0].asked != 1 || in[1].asked != 0 {
		t.Errorf(
			"asked to register again: the member that was dropping %d times, the one that cannot be asked %d times",
			in[0].asked, in[1].asked)
	}
	judgeIPoIB(t, b, in[:1], cfg.Registrar.Groups[0])
	sweeps, before := len(m.ups), asked
	live(settling)
	if len(m.ups) != sweeps || asked != before {
		t.Errorf("%d sweeps and %d packets about it when all is done", len(m.ups)-sweeps, asked-before)
	}
}
