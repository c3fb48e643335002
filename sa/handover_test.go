package sa

import (
	"slices"
	"testing"
	"time"

	"ibsm/mad"
	"ibsm/mad/sarec"
	"ibsm/registry"
	"ibsm/sa/mirror"
	"ibsm/view"
)

// succession is a master's harness, and the standby at h2, its handover target.
type succession struct {
	*harness
	follower     *mirror.Follower
	unresponsive bool // nothing comes from the standby
	complete     int  // how often Complete named the standby
}

func newSuccession(t *testing.T) *succession {
	h := newHarness(t)
	v := *h.view
	v.SMs = append(slices.Clone(v.SMs), view.SM{GUID: h2, LID: lidsOfOpenSM[h2]})
	h.view = &v
	h.Registrar = NewRegistrar(RegistrarConfig{Groups: h.cfg.Groups, Began: 1_000_000,
		Mirror: mirror.Config{DefaultKeys: true}}, registry.New(), new(Stats))
	h.step(ViewPublished{h.view})
	s := &succession{harness: h, follower: mirror.NewFollower(mirror.Config{DefaultKeys: true}, 0, mirror.Salt{1})}
	s.follower.Follow(0, mirror.Master{GUID: s.view.SMs[0].GUID, LID: s.view.SMs[0].LID, Self: h2})
	return s
}

// do takes an event, and keeps what it does for others.
func (s *succession) do(ev Event) {
	s.Helper()
	e := s.Step(s.at, ev)
	if e.Complete != 0 {
		s.complete++
		if e.Complete != h2 {
			s.Errorf("%v has everything", e.Complete)
		}
	}
	s.sent = append(s.sent, e.Send...)
}

// pass lets time pass and the exchange go on.
func (s *succession) pass(t time.Duration) {
	s.Helper()
	for end := s.at + t; s.at < end; s.at += time.Millisecond {
		sent := s.sent
		s.sent = nil
		for i := range sent {
			if sent[i].Packet.MgmtClass() == mad.ClassMirror {
				sent[i].LID = s.view.SMs[0].LID
				s.follower.Receive(s.at, &sent[i])
			}
		}
		for _, d := range s.follower.Output(s.at, nil) {
			if d.LID = lidsOfOpenSM[h2]; !s.unresponsive {
				s.do(Received{Datagrams: []mad.Datagram{d}})
			}
		}
		s.do(TimePassed{})
	}
}

// joins has a port join a group of its own, and reports whether that is answered.
func (s *succession) joins(group byte) bool {
	s.Helper()
	before := s.reg.Seq()
	j := newJoining(h1, mad.GID{0xff, 0x12, 0x40, 0x1b, 0xff, 0xff, 15: group}, 1)
	s.do(Received{
		Datagrams: []mad.Datagram{s.request(j.from, mad.MethodSet, sarec.AttrMCMemberRecord, j.comps, j.rec[:])},
	})
	return s.reg.Seq() > before
}

// prepare names the handover target; 0 for none.
func (s *succession) prepare(to mad.GUID) { s.do(PrepareHandover{to}) }

// The handover target has everything when it has acknowledged the last change; from then on clients
// are not listened to, unless it does not come to a handover.
func TestHandOver(t *testing.T) {
	s := newSuccession(t)
	s.prepare(h2)
	if s.complete > 0 || !s.joins(1) {
		t.Error("a standby that was never heard of has everything")
	}
	s.pass(100 * time.Millisecond)
	if s.complete != 1 || s.follower.Stats().Whole != 1 {
		t.Fatalf("complete %d times, %+v", s.complete, s.follower.Stats())
	}
	dropped := s.stats.drops[DropHandingOver].Load()
	if s.joins(2) || s.stats.drops[DropHandingOver].Load() != dropped+1 {
		t.Error("a client is listened to while the mastership is handed over")
	}
	s.prepare(0)
	if !s.joins(2) {
		t.Error("no client is listened to although there is no handover target any more")
	}
}

// A change of the master's that does not fit what is registered here is refused, and what was
// copied is not known to be the master's any more.
func TestRemoteChangeRefused(t *testing.T) {
	r := NewRegistrar(RegistrarConfig{Groups: DefaultGroups()}, registry.New(), new(Stats))
	group := registry.PutGroup{
		Group: registry.Group{MGID: ownGroup, MLID: 0xc000, PKey: 0xffff, MTU: mad.MTU2048, Rate: 3},
	}
	stray := registry.PutMember{
		Member: registry.Member{MGID: ipv4Group, Port: mad.MakeGID(mad.DefaultPrefix, h1),
			JoinState: registry.FullMember},
	}
	for _, c := range []struct {
		changes []registry.Change
		refused uint64
	}{{[]registry.Change{group}, 0}, {[]registry.Change{stray}, 1}} {
		r.effects.Heard = Heard{}
		r.mirrored.subscribers = make([]registry.SubscriptionKey, 1) // read from a master that sends no updates
		r.update(&mirror.Update{Master: 5, Changes: c.changes})
		if left := len(r.mirrored.subscribers); left != int(c.refused) {
			t.Errorf("%v: %d subscribers left that were read", c.changes, left)
		}
		if known := r.effects.Heard.Master != 0; known != (c.refused == 0) || r.Stats().Refused != c.refused {
			t.Errorf("%v: known %t, %d refused", c.changes, known, r.Stats().Refused)
		}
	}
}

// Changes that are under way have to get there; no others come behind them.
func TestHandOverLacksLittle(t *testing.T) {
	s := newSuccession(t)
	s.pass(100 * time.Millisecond)
	s.unresponsive = true
	if !s.joins(1) {
		t.Fatal("no join")
	}
	s.prepare(h2)
	if s.complete > 0 || s.joins(2) {
		t.Error("a change is under way, and the handover target has everything, or clients are listened to")
	}
	s.unresponsive = false
	s.pass(100 * time.Millisecond)
	if s.complete != 1 {
		t.Errorf("complete %d times", s.complete)
	}
}

// A handover target that does not acknowledge keeps clients from being heard for a second, not
// longer.
func TestHandOverUnacknowledged(t *testing.T) {
	s := newSuccession(t)
	s.pass(100 * time.Millisecond)
	s.unresponsive = true
	s.joins(1)
	s.prepare(h2)
	s.pass(900 * time.Millisecond)
	if s.joins(2) {
		t.Error("a client is listened to")
	}
	s.pass(200 * time.Millisecond)
	if !s.joins(2) || s.complete > 0 {
		t.Errorf("no client is listened to any more; complete %d times", s.complete)
	}
}

// Only managers of the view are answered, each at its own port: neither a host with the keys, nor
// one in the name of a manager.
func TestMirrorAnswersManagers(t *testing.T) {
	for _, c := range []struct {
		from, claims mad.GUID
		answered     bool
	}{{h2, h2, true}, {h3, h3, false}, {h3, h2, false}, {h2, h3, false}} {
		s := newSuccession(t)
		s.follower.Follow(0, mirror.Master{GUID: s.view.SMs[0].GUID, LID: s.view.SMs[0].LID, Self: c.claims})
		for range 2 { // an opening, and a question where that was answered
			for i := range s.sent {
				s.sent[i].LID = s.view.SMs[0].LID
				s.follower.Receive(s.at, &s.sent[i])
			}
			s.sent = nil
			for _, d := range s.follower.Output(s.at, nil) {
				d.LID = lidsOfOpenSM[c.from]
				s.do(Received{Datagrams: []mad.Datagram{d}})
			}
		}
		if st := s.MirrorStats().Source; (st.Answers == 1) != c.answered || (st.Untrusted == 1) == c.answered ||
			len(s.sent) > 0 != c.answered {
			t.Errorf("%v from %v: %+v", c.claims, c.from, st)
		}
	}
}
