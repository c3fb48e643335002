package sa

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"ibsm/mad"
	"ibsm/mad/rmpp"
	"ibsm/mad/sarec"
	"ibsm/registry"
	"ibsm/sa/mirror"
)

// readers is the harness of a master that is taken for another kind, at H1, and a standby that
// reads its tables.
type readers struct {
	*harness
	from         mad.GUID // the standby's port
	standby      *Registrar
	tables       *rmpp.Machine
	rng          *rand.Rand
	loss         float64
	slow         time.Duration // that the SA takes for a table
	plain        bool          // it cannot send tables, as on ibsim
	unresponsive bool          // it does not answer
	late         []lateTable
	heard        Heard // last
	heardAt      time.Duration
	asked        map[mad.AttrID]int
}

type lateTable struct {
	at time.Duration
	in mad.Datagram
}

func newReaders(t testing.TB, from mad.GUID, cfg mirror.Config) *readers {
	r := &readers{
		harness: newHarness(t), from: from, tables: rmpp.New(rmpp.Config{}), rng: rand.New(rand.NewPCG(1, 2)),
		asked: map[mad.AttrID]int{},
		standby: NewRegistrar(RegistrarConfig{Groups: DefaultGroups(), Began: 1_000_000, Mirror: cfg}, registry.New(),
			new(Stats)),
	}
	r.step2(Follow{mirror.Master{GUID: h1, LID: 1, Self: from, Foreign: true}})
	return r
}

// step2 has the standby take an event.
func (r *readers) step2(ev Event) {
	r.Helper()
	e := r.standby.Step(r.at, ev)
	if e.Heard.Master != 0 {
		r.heard, r.heardAt = e.Heard, r.at
	}
	for _, d := range slices.Clone(e.Send) {
		if d.LID != 1 {
			r.Fatalf("the standby sends to LID %d", d.LID)
		}
		if r.rng.Float64() >= r.loss && !r.unresponsive {
			d.Addr = mad.Addr{LID: lidsOfOpenSM[r.from], QPN: 1}
			r.ask2(d)
		}
	}
}

// ask2 has the master's SA take a packet.
func (r *readers) ask2(d mad.Datagram) {
	r.Helper()
	r.asked[d.Packet.AttrID()]++
	switch p := &d.Packet; {
	case p.IsRMPP():
		r.tables.Receive(r.at, &d)
	case IsTable(p):
		r.late = append(r.late, lateTable{r.at + r.slow, d})
	case IsWrite(p):
		r.step(Received{Datagrams: []mad.Datagram{d}})
	default:
		var out mad.Datagram
		if r.responder().Answer(&d, &out, new(Stats)) {
			r.sent = append(r.sent, out)
		}
	}
}

func (r *readers) responder() *Responder {
	return (*Responder)(nil).WithView(r.view).WithRegistry(r.State())
}

// pass lets time pass and packets with it.
func (r *readers) pass(t time.Duration) {
	r.Helper()
	for end := r.at + t; r.at < end; r.at += time.Millisecond {
		for len(r.late) > 0 && r.late[0].at <= r.at {
			in := r.late[0].in
			r.late = r.late[1:]
			var out mad.Datagram
			switch records, ok := r.responder().Table(context.Background(), &in, &out, new(Stats)); {
			case !ok:
			case r.plain:
				out.Packet[24], out.Packet[26] = rmpp.Version, 1
				r.sent = append(r.sent, out)
			case out.Packet.Status() != mad.StatusOK:
				r.sent = append(r.sent, out)
			default:
				if err := r.tables.Send(r.at, &out, records); err != nil {
					r.Fatal(err)
				}
			}
		}
		r.tables.Expire(r.at, nil)
		down := r.tables.Drain(r.at, r.sent)
		r.sent = nil
		for _, d := range down {
			if d.LID != lidsOfOpenSM[r.from] || r.rng.Float64() < r.loss {
				continue
			}
			d.Addr = mad.Addr{LID: 1, QPN: 1}
			r.step2(Received{Datagrams: []mad.Datagram{d}})
		}
		r.step2(TimePassed{})
		r.step(TimePassed{})
	}
}

// registerAll has hosts register something of every kind.
func (r *readers) registerAll() {
	r.Helper()
	for i, from := range []mad.GUID{h1, h2, h3, h4} {
		j := newJoining(from, broadcast, 1)
		j.comps = minimalJoin
		if _, st := r.member(mad.MethodSet, j); st != mad.StatusOK {
			r.Fatal(st)
		}
		for n := range byte(20) {
			mgid := ownGroup
			mgid[12], mgid[13] = byte(i), n
			r.joined(from, mgid)
		}
	}
	j := newJoining(h3, registry.BroadcastMGID(1, 2), 1)
	j.comps = memberComps
	if _, st := r.member(mad.MethodSet, j); st != mad.StatusOK {
		r.Fatal(st)
	}
	var service sarec.ServiceRecord
	var inform sarec.InformInfo
	inform.SetLIDRangeBegin(0xffff)
	inform.SetIsGeneric(1)
	inform.SetSubscribe(1)
	inform.SetType(0xffff)
	inform.SetProducerType(4)
	for i := range uint64(10) {
		service.SetServiceID(i)
		service.SetServiceGID(mad.MakeGID(mad.DefaultPrefix, h2))
		service.SetServicePKey(0x8001)
		service.SetServiceLease([]uint32{registry.InfiniteLease, 60, 3600}[i%3])
		service.SetServiceKey([16]byte{byte(i)})
		service.SetServiceData([64]byte{63: byte(i)})
		r.ask(r.request(h2, mad.MethodSet, sarec.AttrServiceRecord, sarec.ServiceServiceID|sarec.ServiceServiceGID|
			sarec.ServiceServicePKey|
			sarec.ServiceServiceLease|sarec.ServiceServiceKey|sarec.ServiceAllServiceData, service[:]))
		inform.SetTrapNumber(64 + uint16(i%4))
		r.ask(r.request([]mad.GUID{h1, h2, h4}[i%3], mad.MethodSet, sarec.AttrInformInfo, 0, inform[:]))
	}
	var guids sarec.GUIDInfoRecord
	guids.SetLID(lidsOfOpenSM[h4])
	guids.SetBlockNum(1)
	guids.GUIDInfo().SetGUID(2, 0x77)
	p := r.ask(r.request(h4, mad.MethodSet, sarec.AttrGUIDInfoRecord, sarec.GUIDInfoLID|sarec.GUIDInfoBlockNum|
		sarec.GUIDInfoGUID0<<2, guids[:]))
	if p.Status() != mad.StatusOK {
		r.Fatal(p.Status())
	}
}

// known is what is registered, but for subscriptions of the standby itself, when leases
// end, and what only the other one's configuration says.
func (r *readers) known(s *registry.State, addresses bool) (all []registry.Change) {
	for c := range s.Changes() {
		switch v := c.(type) {
		case registry.PutGroup:
			v.WellKnown = false
			c = v
		case registry.PutService:
			if v.Expires != 0 {
				v.Expires = 1
			}
			c = v
		case registry.PutSubscription:
			if !addresses || v.Subscriber.GUID() == r.from {
				continue
			}
		}
		all = append(all, c)
	}
	return all
}

func (r *readers) mustAgree(addresses bool) {
	r.Helper()
	want, got := r.known(r.State(), addresses), r.known(r.standby.State(), addresses)
	if !slices.Equal(got, want) {
		r.Fatalf("the standby has\n%v\nthe master\n%v", got, want)
	}
}

// TestRead: what hosts have registered with a master of another kind is at its standby, and
// in force when that becomes master, whether packets are lost or not.
func TestRead(t *testing.T) {
	for _, loss := range []float64{0, 0.03} {
		t.Run(fmt.Sprint(loss), func(t *testing.T) {
			r := newReaders(t, h3, mirror.Config{SAKey: saKey, Keys: []mad.PKey{0xffff, 0x0001}})
			r.loss = loss
			r.registerAll()
			r.pass(20 * time.Second)
			if n := r.State().Counts(); n.Groups != 82 || n.Members != 85 || n.Services != 10 || n.Subscriptions < 10 ||
				n.Aliases != 1 {
				t.Fatalf("%+v", n)
			}
			r.mustAgree(false)
			st := r.standby.MirrorStats().Reader
			if r.heard.Known == 0 || r.heard.Master != h1 || st.Complete < 5 {
				t.Errorf("%+v, %+v", r.heard, st)
			}
			if loss == 0 && (r.at-r.heard.Known > mirror.ReadInterval+50*time.Millisecond || st.Readings < 18 ||
				st.Readings > 21) {
				t.Errorf("%v: %+v, %+v", r.at, r.heard, st)
			}
			for v := range r.standby.State().Services() {
				was, _ := r.State().Service(v.ServiceKey)
				if v.Expires < was.Expires || v.Expires > was.Expires+int64(was.Lease)/2+1 {
					t.Errorf("service %d ends at %d, with the master at %d", v.ID, v.Expires, was.Expires)
				}
			}
			r.loss = 0
			r.standby.Step(r.at, ViewPublished{r.view})
			r.mustAgree(true)
			if g, _ := r.standby.State().Group(broadcast); !g.WellKnown || r.standby.MirrorStats().Reader.Master != 0 {
				t.Errorf("%+v as master", g)
			}
		})
	}
}

// TestReadChanges: what changes is read, what goes is not kept; a group that comes is
// reported and read at once.
func TestReadChanges(t *testing.T) {
	r := newReaders(t, h3, mirror.Config{SAKey: saKey})
	r.registerAll()
	r.pass(5 * time.Second)
	seq := r.standby.State().Seq()
	r.pass(10 * time.Second)
	if now := r.standby.State().Seq(); now != seq {
		t.Errorf("%d changes where nothing changes", now-seq)
	}
	for v := range slices.Values(slices.Collect(r.State().Services())) {
		r.ask(r.request(h2, mad.MethodDelete, sarec.AttrServiceRecord, sarec.ServiceServiceID|sarec.ServiceServiceGID|
			sarec.ServiceServicePKey, serviceOf(v)))
	}
	j := newJoining(h2, broadcast, 1)
	j.comps = memberComps
	r.member(mad.MethodDelete, j)
	r.pass(2 * time.Second)
	r.mustAgree(false)
	if n := r.standby.State().Counts().Services; n != 0 {
		t.Errorf("%d services", n)
	}
	for r.standby.MirrorStats().Reader.Took != 0 && r.standby.mirrored.reader.Stats().Readings%2 == 0 {
		r.pass(100 * time.Millisecond)
	}
	r.pass(300 * time.Millisecond) // between two readings
	mgid := ownGroup
	mgid[12] = 99
	r.joined(h2, mgid)
	r.pass(20 * time.Millisecond)
	if r.heard.Known != 0 {
		t.Errorf("a group has come, and the mirror is complete: %+v", r.heard)
	}
	r.pass(200 * time.Millisecond)
	if _, is := r.standby.State().Group(mgid); !is || r.heard.Known == 0 {
		t.Errorf("a group is read 220 ms after it came: %t, %+v", is, r.heard)
	}
	r.mustAgree(false)
}

func serviceOf(v *registry.Service) []byte {
	var rec sarec.ServiceRecord
	fillService(&rec, v, true)
	return rec[:]
}

// TestReadIncomplete: why a mirror may be incomplete is reported, and what could be read is
// there all the same.
func TestReadIncomplete(t *testing.T) {
	for _, tt := range []struct {
		name       string
		from       mad.GUID
		cfg        mirror.Config
		how        func(*readers)
		incomplete string
		groups     bool // are read
	}{
		{"none", h3, mirror.Config{SAKey: saKey}, nil, "", true},
		{"a limited member", h2, mirror.Config{SAKey: saKey}, nil, "our port is a limited member of partition 0x7fff",
			true},
		{"in no such partition", h3, mirror.Config{SAKey: saKey, Keys: []mad.PKey{0xffff, 5}}, nil,
			"our port is not in partition 0x0005", true},
		{"another key", h3, mirror.Config{SAKey: saKey + 1}, nil,
			"its SA does not return P_KeyTableRecord: no answer; is sa_key the same there?", false},
		{"not trusted", h3, mirror.Config{}, nil, "its SA does not return P_KeyTableRecord: ", false},
		{"silence", h3, mirror.Config{SAKey: saKey}, func(r *readers) {
			r.unresponsive = true
		}, "its SA has no record of our port: no answer", false},
		{"ibsim", h3, mirror.Config{SAKey: saKey}, func(r *readers) { r.plain = true }, "the response is not an RMPP transfer", false},
		{"an unknown port", 0x9999, mirror.Config{SAKey: saKey}, nil, "its SA has no record of our port: no answer",
			false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newReaders(t, tt.from, tt.cfg)
			if tt.how != nil {
				tt.how(r)
			}
			r.joined(h1, ownGroup)
			r.pass(40 * time.Second)
			st := r.standby.MirrorStats().Reader
			if !strings.Contains(st.Incomplete, tt.incomplete) || (tt.incomplete == "") != (st.Incomplete == "") ||
				(r.heard.Known != 0) != (tt.incomplete == "") || r.heard.Incomplete != st.Incomplete {
				t.Errorf("%+v, %+v", r.heard, st)
			}
			if _, is := r.standby.State().Group(ownGroup); is != tt.groups {
				t.Errorf("the group was read: %t", is)
			}
		})
	}
}

// TestReadPace: tables of 17,600 packets are read every 1.8 seconds, although that takes a
// third of a second.
func TestReadPace(t *testing.T) {
	r := newReaders(t, h3, mirror.Config{SAKey: saKey})
	for i := range uint64(20_000) {
		put := registry.PutService{
			Service: registry.Service{ServiceKey: registry.ServiceKey{ID: i, GID: mad.MakeGID(mad.DefaultPrefix, h2)},
				Lease: registry.InfiniteLease},
		}
		if err := r.reg.Apply(put); err != nil {
			t.Fatal(err)
		}
	}
	r.pass(12 * time.Second)
	if st := r.standby.MirrorStats().Reader; st.Readings < 6 || st.Readings > 7 || st.Took > 500*time.Millisecond ||
		r.standby.State().Counts().Services != 20_000 {
		t.Errorf("%+v", st)
	}
}

// TestLeave: who leaves is subscribed to nothing any more.
func TestLeave(t *testing.T) {
	r := newReaders(t, h3, mirror.Config{SAKey: saKey})
	ours := func() (n int) {
		for range r.State().SubscriptionsOf(mad.MakeGID(mad.DefaultPrefix, h3)) {
			n++
		}
		return n
	}
	r.pass(3 * time.Second)
	if n := ours(); n != 4 {
		t.Errorf("subscribed to %d traps", n)
	}
	r.step2(Leave{})
	r.pass(time.Second)
	if n := ours(); n != 0 {
		t.Errorf("subscribed to %d traps afterwards", n)
	}
	asked := len(r.asked)
	r.pass(5 * time.Second)
	if len(r.asked) != asked || r.standby.MirrorStats().Reader.Master != 0 {
		t.Error("the master is still asked")
	}
}
