package sa

import (
	"encoding/binary"
	"log/slog"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"ibsm/mad"
	"ibsm/mad/sarec"
	"ibsm/registry"
)

// Whatever a request holds, it gets one reply with a status that is known, or none and
// is counted; and the registry takes every change that comes of it.
func FuzzRegistrar(f *testing.F) {
	seed := func(attr mad.AttrID, m mad.Method, comps mad.ComponentMask, rec []byte) {
		f.Add(uint16(attr), uint8(m), uint64(comps), false, rec)
		f.Add(uint16(attr), uint8(m), ^uint64(0), true, rec)
	}
	for _, m := range []mad.Method{mad.MethodSet, mad.MethodDelete} {
		for _, mgid := range []mad.GID{broadcast, ipv4Group, ownGroup, {}} {
			j := newJoining(h3, mgid, 1)
			seed(sarec.AttrMCMemberRecord, m, fullJoin, j.rec[:])
		}
		rec := service(1, mad.MakeGID(mad.DefaultPrefix, h3))
		seed(sarec.AttrServiceRecord, m, serviceComps, rec[:])
		guids := sarec.GUIDInfoRecord{1: 5, 16: 1}
		seed(sarec.AttrGUIDInfoRecord, m, sarec.GUIDInfoLID|sarec.GUIDInfoBlockNum|sarec.GUIDInfoGUID0<<1, guids[:])
		info := everything(1)
		seed(sarec.AttrInformInfo, m, 0, info[:])
	}
	f.Fuzz(func(t *testing.T, attr uint16, method uint8, comps uint64, trusted bool, rec []byte) {
		d := newHarness(t)
		d.joined(h3, broadcast)
		in := d.request(h3, mad.Method(method), mad.AttrID(attr), mad.ComponentMask(comps), rec)
		if trusted {
			in.Packet.SetSMKey(saKey)
		}
		d.sent = nil
		d.step(Received{Datagrams: []mad.Datagram{in}})
		replies := 0
		for i := range d.sent {
			if p := &d.sent[i].Packet; p.Method().IsResponse() {
				replies++
				if p.TID() != in.Packet.TID() || p.SMKey() != 0 {
					t.Errorf("reply with TID %x, SM_Key %x", p.TID(), p.SMKey())
				}
			}
		}
		if wants := responseTo(in.Packet.Method()) != 0; (replies == 1) != wants || replies > 1 {
			t.Errorf("%d replies to method 0x%02x", replies, method)
		}
		if st := d.Stats(); st.Refused > 0 || st.Pending > 0 {
			t.Errorf("%+v", st)
		}
		for g := range d.State().Groups() {
			if !g.WellKnown && d.State().FullMembers(g.MGID) == 0 {
				t.Errorf("group %v is there for nobody", g.MGID)
			}
		}
	})
}

// A flood of subscriptions, a million in the full size, does not get beyond the limits,
// and others still can subscribe.
func TestSubscriptionFlood(t *testing.T) {
	n := 20 * maxPortSubs
	if os.Getenv("IBSM_PROOF") != "" {
		n = 1_000_000
	}
	d := newHarness(t)
	info := everything(1)
	refused := 0
	for i := range n {
		info.SetTrapNumber(uint16(i))
		info.SetType(uint16(i >> 16))
		if p := d.inform(h3, info, true); p.Status() == mad.StatusNoResources {
			refused++
		} else if p.Status() != mad.StatusOK {
			t.Fatal(p.Status())
		}
	}
	if c := d.State().Counts().Subscriptions; c != maxPortSubs || refused != n-maxPortSubs ||
		d.Stats().Full != uint64(refused) {
		t.Errorf("%d subscriptions, %d refused, %+v", c, refused, d.Stats())
	}
	d.subscribe(h2)
}

// MLIDs are all given back, however groups end; and when there are none, a create is
// refused and leaves nothing behind.
func TestMLIDsComeBack(t *testing.T) {
	d := newHarness(t)
	switches := int(d.last-mad.MinMulticastLID) + 1
	if switches != 1024 {
		t.Fatalf("%d MLIDs", switches)
	}
	for round := range 3 {
		made, refused := 0, 0
		for i := range 1100 {
			mgid := ownGroup
			binary.BigEndian.PutUint32(mgid[12:], uint32(i))
			j := newJoining(h3, mgid, 9)
			j.rec.SetSL(uint8(i % 16)) // so that none shares an MLID before all are taken
			switch _, st := d.member(mad.MethodSet, j); st {
			case mad.StatusOK:
				made++
			case mad.StatusNoResources:
				refused++
			default:
				t.Fatal(st)
			}
		}
		if made != 1100 {
			t.Errorf("round %d: %d groups made, %d refused: the others can share", round, made, refused)
		}
		if round == 1 {
			d.step(PortsReset{Ports: []mad.GUID{h3}})
		} else {
			for i := range 1100 {
				mgid := ownGroup
				binary.BigEndian.PutUint32(mgid[12:], uint32(i))
				for _, state := range []uint8{1, 8} {
					if _, st := d.member(mad.MethodDelete, newJoining(h3, mgid, state)); st != mad.StatusOK {
						t.Fatal(st)
					}
				}
			}
		}
		if c := d.State().Counts(); c.Groups != 2 || c.Members != 0 {
			t.Fatalf("round %d: %+v", round, c)
		}
	}
	if rec := d.joined(h3, ownGroup); rec.MLID() != 0xc002 {
		t.Errorf("MLID 0x%x, want the lowest", uint16(rec.MLID()))
	}
}

// create creates one of many groups.
func (d *harness) create(port mad.GUID, i int, sl uint8) (mad.LID, mad.Status) {
	mgid := ownGroup
	binary.BigEndian.PutUint32(mgid[12:], uint32(i))
	j := newJoining(port, mgid, 1)
	j.rec.SetSL(sl)
	rec, st := d.member(mad.MethodSet, j)
	return rec.MLID(), st
}

// One port does not take all MLIDs: when it has as many as are free, its further groups share
// or are refused, and others go on to get their own. What it deletes it may create again.
func TestMLIDShare(t *testing.T) {
	d := newHarness(t)
	taken := map[mad.LID]bool{}
	for i := range 2000 {
		mlid, st := d.create(h3, i, 1)
		if st != mad.StatusOK {
			t.Fatalf("group %d: %v", i, st)
		}
		taken[mlid] = true
	}
	if len(taken) != 511 { // of 1022, as 2 are of the configuration's groups
		t.Errorf("one port has %d MLIDs", len(taken))
	}
	if _, st := d.create(h3, 5000, 2); st != mad.StatusNoResources { // nobody to share with
		t.Errorf("a group that cannot share: %v", st)
	}
	if st := d.Stats(); st.MLIDShare != 2000-511+1 || st.Full != 1 || len(d.crowds) != 1 || d.crowds[0] != h3 {
		t.Errorf("%+v, reported %v", st, d.crowds)
	}
	for i := range 200 {
		if mlid, st := d.create(h2, 3000+i, 1); st != mad.StatusOK || taken[mlid] {
			t.Fatalf("another port's group %d: MLID 0x%x, %v", i, uint16(mlid), st)
		}
	}
	for i := range 2000 {
		mgid := ownGroup
		binary.BigEndian.PutUint32(mgid[12:], uint32(i))
		if _, st := d.member(mad.MethodDelete, newJoining(h3, mgid, 1)); st != mad.StatusOK {
			t.Fatal(st)
		}
	}
	if mlid, st := d.create(h3, 6000, 2); st != mad.StatusOK {
		t.Errorf("after all were deleted: MLID 0x%x, %v", uint16(mlid), st)
	}
}

// TestMLIDShareAfterRestart: what a port has created counts for it in the next term, whoever was master before.
func TestMLIDShareAfterRestart(t *testing.T) {
	d := newHarness(t)
	taken := map[mad.LID]bool{}
	for i := range 600 {
		if i == 400 {
			reg := registry.New()
			for _, c := range reg.Freeze().ChangesTo(d.State()) {
				if err := reg.Apply(c); err != nil {
					t.Fatal(err)
				}
			}
			d.Registrar = NewRegistrar(d.cfg, reg, new(Stats))
			d.step(ViewPublished{d.view})
		}
		mlid, st := d.create(h3, i, 1)
		if st != mad.StatusOK {
			t.Fatalf("group %d: %v", i, st)
		}
		taken[mlid] = true
	}
	if len(taken) != 511 { // of 1022, as 2 are of the configuration's groups
		t.Errorf("one port has %d MLIDs", len(taken))
	}
}

// Members that rejoin and leave in every order of JoinStates end as the states say.
func TestEveryOrderOfJoinStates(t *testing.T) {
	for first := uint8(1); first < 16; first++ {
		for second := uint8(1); second < 16; second++ {
			for leave := uint8(1); leave < 16; leave++ {
				d := newHarness(t)
				d.slow = true
				held := uint8(0)
				for _, state := range []uint8{first, second} {
					want := mad.StatusOK
					if held == 0 && state&9 == 0 {
						want = mad.StatusReqInvalid
					} else {
						held |= state
					}
					d.is(mad.MethodSet, state, want)
				}
				want := mad.StatusOK
				if leave&^held != 0 {
					want = mad.StatusReqInvalid
				} else if held &^= leave; held&9 == 0 {
					held = 0
				}
				d.is(mad.MethodDelete, leave, want)
				m, _ := d.reg.Member(ownGroup, mad.MakeGID(mad.DefaultPrefix, h3))
				_, alive := d.reg.Group(ownGroup)
				if uint8(m.JoinState) != held || alive != (held != 0) {
					t.Fatalf("%x, %x, left %x: JoinState %x, want %x; group there: %t", first, second, leave,
						m.JoinState, held, alive)
				}
			}
		}
	}
}

// is asks and lets the reply leave.
func (d *harness) is(m mad.Method, state uint8, want mad.Status) {
	d.Helper()
	j := newJoining(h3, ownGroup, state)
	in := d.request(h3, m, sarec.AttrMCMemberRecord, j.comps, j.rec[:])
	d.sent = nil
	d.step(Received{Datagrams: []mad.Datagram{in}})
	d.step(Durable{d.reg.Seq()})
	d.step(Forwarded{d.reg.Seq()})
	if len(d.sent) != 1 || d.sent[0].Packet.Status() != want {
		d.Fatalf("%v of JoinState %x: %d replies, want %v", m, state, len(d.sent), want)
	}
}

// A reply waits for the disk and the tables, or for a second; what is asked again
// meanwhile is dropped.
func TestReplyWaits(t *testing.T) {
	for _, c := range []struct {
		name string
		then []Event
		late uint64
	}{
		{"disk, then tables", []Event{Durable{100}, Forwarded{100}}, 0},
		{"tables, then disk", []Event{Forwarded{100}, Durable{100}}, 0},
		{"disk alone", []Event{Durable{100}}, 1},
		{"nothing", nil, 1},
	} {
		d := newHarness(t)
		d.slow = true
		j := newJoining(h3, broadcast, 1)
		in := d.request(h3, mad.MethodSet, sarec.AttrMCMemberRecord, j.comps, j.rec[:])
		d.step(Received{Datagrams: []mad.Datagram{in, in}})
		for i, ev := range c.then {
			if len(d.sent) != 0 {
				t.Errorf("%s: replied before event %d", c.name, i)
			}
			d.step(ev)
		}
		if c.late > 0 {
			d.wait(ReplyTimeout - 1)
			if len(d.sent) != 0 {
				t.Errorf("%s: replied too early", c.name)
			}
			d.wait(time.Nanosecond)
		}
		if len(d.sent) != 1 || d.sent[0].Packet.Status() != mad.StatusOK || d.Stats().Late != c.late {
			t.Errorf("%s: %d replies, %+v", c.name, len(d.sent), d.Stats())
		}
		if drops := d.stats.drops[DropDuplicate].Load(); drops != 1 {
			t.Errorf("%s: %d duplicates dropped", c.name, drops)
		}
	}
}

// TestReplyWaitsBySGID: a request of another host with the same LID and transaction ID, behind a router, is no
// duplicate. Each gets its own answer.
func TestReplyWaitsBySGID(t *testing.T) {
	d := newHarness(t)
	d.slow = true
	j := newJoining(h3, broadcast, 1)
	one := d.request(h3, mad.MethodSet, sarec.AttrMCMemberRecord, j.comps, j.rec[:])
	other := one
	one.GRH = mad.GRH{Present: true, GID: mad.MakeGID(5, 1)}
	other.GRH = mad.GRH{Present: true, GID: mad.MakeGID(5, 2)}
	d.step(Received{Datagrams: []mad.Datagram{one, other, one}})
	if drops := d.stats.drops[DropDuplicate].Load(); drops != 1 {
		t.Errorf("%d duplicates dropped", drops)
	}
	d.wait(ReplyTimeout)
	if len(d.sent) != 2 || d.sent[0].Addr != one.Addr || d.sent[1].Addr != other.Addr {
		t.Errorf("answers %+v", d.sent)
	}
}

// Of one client only so many replies may wait; others are served meanwhile, and so is this
// one when they have left.
func TestRepliesToOneClientAreBounded(t *testing.T) {
	d := newHarness(t)
	d.slow = true
	request := func(from mad.GUID, i int) Received {
		mgid := ownGroup
		binary.BigEndian.PutUint32(mgid[12:], uint32(i))
		j := newJoining(from, mgid, 1)
		return Received{
			Datagrams: []mad.Datagram{d.request(from, mad.MethodSet, sarec.AttrMCMemberRecord, j.comps, j.rec[:])},
		}
	}
	drops := func() uint64 { return d.stats.drops[DropClientFull].Load() }
	for i := range maxClientPending {
		d.step(request(h3, i))
	}
	if n := d.Stats().Pending; n != maxClientPending || drops() != 0 {
		t.Errorf("%d replies wait, %d requests are dropped", n, drops())
	}
	d.step(request(h3, maxClientPending))
	d.step(request(h1, maxClientPending))
	if n := d.Stats().Pending; n != maxClientPending+1 || drops() != 1 {
		t.Errorf("%d replies wait, those of another client included; %d requests are dropped, want 1", n, drops())
	}
	d.wait(ReplyTimeout)
	d.step(request(h3, 0))
	if n := d.Stats().Pending; n != 1 || drops() != 1 || len(d.sent) != maxClientPending+1 {
		t.Errorf("%d replies, then %d wait; %d requests are dropped", len(d.sent), n, drops())
	}
}

// Where no switch forwards multicast no group can be made, and that is said.
func TestNoMulticast(t *testing.T) {
	v := newView(t)
	for _, n := range v.Topo.Switches {
		v.Topo.Nodes[n].SwitchInfo.SetMulticastFDBCap(0)
	}
	d := &harness{TB: t, view: v, Registrar: NewRegistrar(RegistrarConfig{Groups: DefaultGroups()}, registry.New(),
		new(Stats))}
	d.step(ViewPublished{v})
	if _, st := d.member(mad.MethodSet, newJoining(h3, ownGroup, 1)); st != mad.StatusNoResources {
		t.Errorf("a group where nothing forwards: %v", st)
	}
}

// TestNoMLIDLeft: a group of the configuration for which no MLID is free is logged once as long as that lasts, and
// exists when one is free.
func TestNoMLIDLeft(t *testing.T) {
	d := newHarness(t)
	var lines []string
	d.stats.Refusals.Log = func(_ slog.Level, text string) { lines = append(lines, text) }
	all := d.last
	d.last = mad.MinMulticastLID + mad.LID(d.State().Counts().Groups) - 1
	cfg := d.cfg
	wanted := DefaultGroups()[0]
	wanted.MGID, wanted.PKey, wanted.MLID = registry.BroadcastMGID(0x8005, linkLocalScope), 0x8005, 0
	cfg.Groups = append(slices.Clone(cfg.Groups), wanted)
	for range 2 {
		d.step(ConfigChanged{Config: cfg})
	}
	if _, exists := d.State().Group(wanted.MGID); exists || len(lines) != 1 ||
		!strings.Contains(lines[0], wanted.MGID.String()) {
		t.Errorf("exists %v, lines %q", exists, lines)
	}
	d.last = all
	d.step(ConfigChanged{Config: cfg})
	if _, exists := d.State().Group(wanted.MGID); !exists || len(d.withoutMLID) > 0 {
		t.Errorf("an MLID is free: exists %v, without MLID %v", exists, d.withoutMLID)
	}
}

// TestReservedFlags: the log says which reserved flags an MGID has, without the bit of transient ones, which is none of
// them.
func TestReservedFlags(t *testing.T) {
	d := newHarness(t)
	var lines []string
	d.stats.Refusals.Log = func(_ slog.Level, text string) { lines = append(lines, text) }
	for flags, want := range map[byte]string{0xf0: "flags=0xE", 0x30: "flags=0x2"} {
		mgid := ownGroup
		mgid[1], lines = flags|mgid[1]&0xf, nil
		if _, st := d.member(mad.MethodSet, newJoining(h3, mgid, 1)); st != mad.StatusReqInvalid ||
			!slices.ContainsFunc(lines, func(l string) bool {
				return strings.Contains(l, want)
			}) {
			t.Errorf("flags %#x: %v, %q", flags, st, lines)
		}
	}
}
