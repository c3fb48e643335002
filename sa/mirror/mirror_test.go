package mirror_test

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	ibsmkeys "ibsm/keys"
	"ibsm/mad"
	"ibsm/registry"
	"ibsm/sa/mirror"
)

const (
	masterGUID, masterLID   = mad.GUID(0xa), mad.LID(1)
	standbyGUID, standbyLID = mad.GUID(0xb), mad.LID(2)
)

var keys = mirror.Config{SMKey: 0x5117, MKey: 0x3347, Policy: []byte("storage=0x8001: ALL;\n")}

// pair is a master and a standby with a wire between them.
type pair struct {
	testing.TB
	now      time.Duration
	step     time.Duration // that a packet takes
	rng      *rand.Rand
	loss     float64
	source   *mirror.Source
	follower *mirror.Follower
	master   *registry.Registry
	copy     *registry.Registry
	updates  []mirror.Update
	policy   []byte // that the standby received last
	reported int    // how often it received one
	packets  int
	// Changes what each packet to the standby and to the master says; nil for nothing.
	tamperDown, tamperUp func(d *mad.Datagram)
}

func newPair(t testing.TB, seed uint64) *pair {
	p := &pair{
		TB: t, step: time.Millisecond, rng: rand.New(rand.NewPCG(seed, 1)),
		source: mirror.NewSource(keys, mirror.Salt{1}), follower: mirror.NewFollower(keys, 0, mirror.Salt{2}),
		master: registry.New(), copy: registry.New(),
	}
	p.put(1)
	p.rule(1)
	p.follower.Follow(0, mirror.Master{GUID: masterGUID, LID: masterLID, Self: standbyGUID})
	return p
}

func (p *pair) rule(began uint64) {
	p.source.Begin(mirror.Term{Manager: masterGUID, Began: began << 20}, p.master.Freeze())
}

// put makes a group with a member at the master.
func (p *pair) put(i int) {
	p.Helper()
	mgid := mad.GID{0xff, 0x12, 0x40, 0x1b, 0xff, 0xff, 12: byte(i >> 24), byte(i >> 16), byte(i >> 8), byte(i)}
	changes := []registry.Change{
		registry.PutGroup{Group: registry.Group{MGID: mgid, MLID: mad.MinMulticastLID + mad.LID(i%1000), PKey: 0xffff,
			QKey: 0xb1b, MTU: 4, Rate: 3}},
		registry.PutMember{Member: registry.Member{MGID: mgid, Port: mad.MakeGID(mad.DefaultPrefix, mad.GUID(i)),
			JoinState: registry.FullMember}},
	}
	for _, c := range changes {
		if err := p.master.Apply(c); err != nil {
			p.Fatal(err)
		}
	}
	p.source.Changed(changes, p.master.Freeze())
}

// pass lets time pass, a step at a time.
func (p *pair) pass(d time.Duration) {
	p.Helper()
	for end := p.now + d; p.now < end; p.now += p.step {
		down, up := p.source.Output(p.now, nil), p.follower.Output(p.now, nil)
		p.packets += len(down) + len(up)
		for i := range down {
			if down[i].LID != standbyLID {
				p.Fatalf("the master sends to LID %d", down[i].LID)
			}
			if down[i].Addr = (mad.Addr{LID: masterLID, QPN: 1}); p.rng.Float64() < p.loss {
				continue
			}
			if p.tamperDown != nil {
				p.tamperDown(&down[i])
			}
			if u, ok := p.follower.Receive(p.now, &down[i]); ok {
				p.take(u)
			}
		}
		for i := range up {
			if p.tamperUp != nil {
				p.tamperUp(&up[i])
			}
			if up[i].Addr = (mad.Addr{LID: standbyLID, QPN: 1}); p.rng.Float64() >= p.loss {
				p.source.Receive(p.now, &up[i], standbyGUID)
			}
		}
	}
}

func (p *pair) take(u mirror.Update) {
	p.Helper()
	p.updates = append(p.updates, u)
	if u.Whole != nil {
		p.copy = u.Whole
	}
	for _, c := range u.Changes {
		if err := p.copy.Apply(c); err != nil {
			p.Fatal(err)
		}
	}
	if u.Policy != nil {
		p.policy = u.Policy
		p.reported++
	}
}

func (p *pair) mustAgree() {
	p.Helper()
	a, b := p.master.Freeze(), p.copy.Freeze()
	if a.Seq() != b.Seq() || !slices.Equal(slices.Collect(a.Changes()), slices.Collect(b.Changes())) {
		p.Fatalf("the master has %d %+v, the standby %d %+v", a.Seq(), a.Counts(), b.Seq(), b.Counts())
	}
}

// A standby is sent everything once, then what changes, and in the end nothing but one
// word a second.
func TestFollow(t *testing.T) {
	p := newPair(t, 1)
	p.pass(10 * time.Millisecond)
	p.mustAgree()
	if st := p.follower.Stats(); st.Whole != 1 || st.Answers != 1 || p.updates[0].Master != masterGUID {
		t.Errorf("%+v, %+v", st, p.updates)
	}
	for i := range 200 {
		p.put(2 + i)
		p.pass(3 * time.Millisecond)
	}
	p.pass(20 * time.Millisecond)
	p.mustAgree()
	st := p.follower.Stats()
	if st.Whole != 1 || st.Changes != 400 || st.Answers > 1+62+1 {
		t.Errorf("400 changes in 600 ms: %+v", st)
	}
	if st := p.source.Stats(); st.Whole != 1 || st.Answers > 1+62+1 || st.Answers <= st.Whole {
		t.Errorf("the master: %+v", st)
	}
	if all := p.source.Standbys(); len(all) != 1 || all[0].GUID != standbyGUID || all[0].Lacks {
		t.Errorf("standbys: %+v", all)
	}
	p.packets = 0
	p.pass(time.Minute)
	if p.packets < 3*59 || p.packets > 3*61 {
		t.Errorf("%d packets in a quiet minute, want 3 a second", p.packets)
	}
	if st := p.follower.Stats(); p.now-st.Heard > mirror.AskInterval+time.Millisecond || st.Whole != 1 {
		t.Errorf("%v: %+v", p.now, st)
	}
}

// With packets lost, a standby is 100 ms behind at most.
func TestLag(t *testing.T) {
	worst := time.Duration(0)
	for seed := range uint64(20) {
		p := newPair(t, seed)
		p.loss = 0.05
		p.pass(2 * time.Second)
		for i := range 100 {
			p.put(2 + i)
			seq, began := p.master.Seq(), p.now
			for p.copy.Seq() < seq {
				p.pass(time.Millisecond)
				if p.now-began > time.Second {
					t.Fatalf("change %d of seed %d does not come", i, seed)
				}
			}
			worst = max(worst, p.now-began)
		}
		p.mustAgree()
		if st := p.source.Stats(); st.Whole > 1 || st.Failed > 0 {
			t.Errorf("seed %d: %+v", seed, st)
		}
	}
	if worst > 100*time.Millisecond {
		t.Errorf("%v behind", worst)
	}
}

// Everything is sent again when a term begins, and to one that is too far behind.
func TestWhole(t *testing.T) {
	p := newPair(t, 1)
	p.pass(10 * time.Millisecond)
	other, err := registry.Restore(3, func(yield func(registry.Change, error) bool) {})
	if err != nil {
		t.Fatal(err)
	}
	p.master = other
	p.rule(2)
	p.pass(2 * time.Second)
	p.mustAgree()
	if st := p.follower.Stats(); st.Whole != 2 {
		t.Errorf("another term: %+v", st)
	}

	p.loss = 1
	p.put(9)
	cut := p.now
	p.pass(50 * time.Millisecond)
	if all := p.source.Standbys(); len(all) != 1 || !all[0].Lacks || all[0].Since != cut {
		t.Errorf("%v without word of a change: %+v", p.now-cut, all)
	}
	for i := range 20_000 { // more than is remembered
		p.put(10 + i)
	}
	p.pass(10 * time.Second)
	p.loss = 0
	if st := p.source.Stats(); st.Standbys != 0 {
		t.Errorf("a standby that asks no more is not forgotten: %+v", st)
	}
	p.pass(5 * time.Second)
	p.mustAgree()
	if st := p.follower.Stats(); st.Whole != 3 {
		t.Errorf("far behind: %+v", st)
	}

	p.follower.Forget()
	p.pass(2 * time.Second)
	p.mustAgree()
	if st := p.follower.Stats(); st.Whole != 4 {
		t.Errorf("forgotten: %+v", st)
	}
}

// The policy comes with the first answer, and when it is another one; one that is too long
// does not, and is counted.
func TestPolicy(t *testing.T) {
	p := newPair(t, 1)
	must := func(when string, want []byte, reported int) {
		t.Helper()
		if string(p.policy) != string(want) || p.reported != reported {
			t.Errorf("%s: the standby received a policy %d times, last %.30q; want %d, %.30q", when, p.reported,
				p.policy, reported, want)
		}
		if all, _ := p.source.Progress(standbyGUID); !all {
			t.Errorf("%s: the standby does not have everything", when)
		}
		p.mustAgree()
	}
	p.pass(10 * time.Millisecond)
	must("at first", keys.Policy, 1)
	p.put(2)
	p.pass(3 * time.Second)
	must("later", keys.Policy, 1)

	p.loss = 0.05
	other := keys
	other.Policy = bytes.Repeat([]byte("another=0x8002: ALL;\n"), 5000)
	p.source.Configure(other)
	if all, nearly := p.source.Progress(standbyGUID); all || nearly {
		t.Error("the standby is said to have the new policy")
	}
	p.put(3)
	p.pass(time.Second)
	must("another", other.Policy, 2)
	p.loss = 0

	p.follower.Follow(p.now, mirror.Master{})
	p.follower.Forget()
	p.follower.Follow(p.now, mirror.Master{GUID: masterGUID, LID: masterLID, Self: standbyGUID})
	p.pass(2 * time.Second)
	must("forgotten", other.Policy, 3)

	other.Policy = make([]byte, mirror.MaxPolicy+1)
	p.source.Configure(other)
	p.pass(time.Second)
	must("too long", nil, 4)
	if st := p.source.Stats(); st.TooLong != 1 {
		t.Errorf("%+v", st)
	}
	p.rule(2)
	p.pass(2 * time.Second)
	must("none from the start", nil, 5)
}

// A sender that does not show the keys, and a packet from elsewhere, is not listened to.
func TestKeys(t *testing.T) {
	for name, change := range map[string]func(*mirror.Config){
		"none":   func(*mirror.Config) {},
		"SM_Key": func(c *mirror.Config) { c.SMKey++ },
		"M_Key":  func(c *mirror.Config) { c.MKey++ },
	} {
		t.Run(name, func(t *testing.T) {
			p := newPair(t, 1)
			other := keys
			change(&other)
			p.follower.Configure(other)
			p.pass(time.Second)
			s := p.source.Stats()
			if wrong := name != "none"; (s.Untrusted > 0) != wrong || (s.Answers == 0) != wrong {
				t.Errorf("the master: %+v", s)
			}
			p = newPair(t, 1)
			p.pass(time.Second)
			p.source.Configure(other)
			p.updates = nil
			p.put(2)
			p.pass(20 * time.Millisecond)
			f := p.follower.Stats()
			if wrong := name != "none"; (f.Untrusted > 0) != wrong || (len(p.updates) == 0) != wrong {
				t.Errorf("the standby: %+v", f)
			}
			p.pass(10 * time.Second)
			if unresponsive := p.follower.Unresponsive(p.now); unresponsive != (name != "none") {
				t.Errorf("after ten seconds the master counts as unresponsive: %v", unresponsive)
			}
		})
	}
	p := newPair(t, 1)
	p.follower.Follow(0, mirror.Master{GUID: masterGUID, LID: masterLID + 5, Self: standbyGUID})
	p.pass(time.Second)
	if st := p.follower.Stats(); st.Answers > 0 || st.Untrusted == 0 {
		t.Errorf("what another LID says: %+v", st)
	}
	p = newPair(t, 1)
	p.follower.Follow(0, mirror.Master{GUID: masterGUID + 1, LID: masterLID, Self: standbyGUID})
	p.pass(time.Second)
	if st := p.source.Stats(); st.Answers > 0 || st.Untrusted == 0 {
		t.Errorf("what was for another manager: %+v", st)
	}
	p = newPair(t, 1)
	p.follower.Follow(0, mirror.Master{GUID: masterGUID, LID: masterLID, Self: standbyGUID + 1})
	p.pass(time.Second)
	if st := p.source.Stats(); st.Answers > 0 || st.Untrusted == 0 {
		t.Errorf("a question in the name of another standby: %+v", st)
	}
}

// No packet shows a key, and none is taken twice: a replayed question does not count, nor does a
// replayed answer, though it says that everything was different before.
func TestReplays(t *testing.T) {
	p := newPair(t, 1)
	var questions, answers []mad.Datagram
	keep := func(all *[]mad.Datagram) func(d *mad.Datagram) {
		return func(d *mad.Datagram) {
			for _, key := range []uint64{keys.SMKey, uint64(keys.MKey)} {
				if bytes.Contains(d.Packet[:], binary.BigEndian.AppendUint64(nil, key)) {
					t.Fatal("a packet shows a key")
				}
			}
			*all = append(*all, *d)
		}
	}
	p.tamperUp, p.tamperDown = keep(&questions), keep(&answers)
	p.pass(2 * time.Second)
	p.tamperUp, p.tamperDown = nil, nil
	p.put(2)
	p.pass(2 * time.Second)
	p.mustAgree()
	before, asked, updates := p.source.Stats(), p.follower.Stats(), len(p.updates)
	untrusted := before.Untrusted
	for i := range questions {
		d := questions[i]
		// no opening and no acknowledgement of an answer
		if !d.Packet.IsRMPP() && d.Packet.AttrID() == mirror.AttrSealed {
			untrusted++
		}
		d.Addr = mad.Addr{LID: standbyLID, QPN: 1}
		p.source.Receive(p.now, &d, standbyGUID)
	}
	for i := range answers {
		d := answers[i]
		d.Packet.SetTID(d.Packet.TID() ^ 0xff<<32) // the code does not cover it
		d.Addr = mad.Addr{LID: masterLID, QPN: 1}
		if u, ok := p.follower.Receive(p.now, &d); ok {
			t.Errorf("took %+v", u)
		}
	}
	if s := p.source.Stats(); s.Questions != before.Questions || s.Untrusted != untrusted {
		t.Errorf("the master: %+v, before %+v", s, before)
	}
	if f := p.follower.Stats(); f.Answers != asked.Answers || len(p.updates) != updates {
		t.Errorf("the standby: %+v, before %+v", f, asked)
	}
	p.pass(2 * time.Second)
	p.mustAgree()
	if s := p.source.Stats(); s.Whole != before.Whole {
		t.Errorf("everything was sent again: %+v", s)
	}
}

// Managers whose keys everybody knows do not mirror each other unless they are asked to.
func TestDefaultKeys(t *testing.T) {
	secret, err := ibsmkeys.New(bytes.NewReader(bytes.Repeat([]byte{7}, 32)))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		cfg mirror.Config
		on  bool
	}{
		{mirror.Config{}, false}, {mirror.Config{SMKey: 1}, false}, {mirror.Config{SMKey: 2}, true},
		{mirror.Config{SMKey: 1, MKey: 1}, true}, {mirror.Config{SMKey: 1, Secret: secret}, true},
		{mirror.Config{SMKey: 1, DefaultKeys: true}, true},
	} {
		p := newPair(t, 1)
		p.source.Configure(c.cfg)
		p.follower.Configure(c.cfg)
		if p.pass(time.Second); c.cfg.On() != c.on || (p.source.Stats().Answers > 0) != c.on {
			t.Errorf("%+v: on %t, %+v", c.cfg, c.cfg.On(), p.source.Stats())
		}
	}
}

// A standby that opens another session, as after a restart, is not kept waiting by the answer that is on its way in the
// old one, of which it can open nothing.
func TestRestartedStandby(t *testing.T) {
	p := newPair(t, 1)
	for i := range 2000 {
		p.put(2 + i)
	}
	for p.source.Stats().Answers == 0 {
		p.pass(p.step)
	}
	p.pass(20 * p.step)
	if len(p.updates) > 0 {
		t.Fatal("no test: the answer is there already")
	}
	p.follower = mirror.NewFollower(keys, 1, mirror.Salt{7})
	p.follower.Follow(p.now, mirror.Master{GUID: masterGUID, LID: masterLID, Self: standbyGUID})
	began := p.now
	for len(p.updates) == 0 && p.now-began < 10*time.Second {
		p.pass(p.step)
	}
	if p.mustAgree(); p.now-began > 500*time.Millisecond {
		t.Errorf("it has everything after %v", p.now-began)
	}
	if st := p.source.Stats(); st.Answers != 2 || st.Failed != 1 {
		t.Errorf("%+v", st)
	}
}

// There are as many standbys as there is room for.
func TestStandbys(t *testing.T) {
	p := newPair(t, 1)
	for lid := range mad.LID(20) {
		other := mirror.NewFollower(keys, 0, mirror.Salt{3})
		other.Follow(p.now, mirror.Master{GUID: masterGUID, LID: masterLID, Self: standbyGUID + mad.GUID(lid)})
		p.meet(p.source, other, 100+lid, standbyGUID+mad.GUID(lid))
	}
	if st := p.source.Stats(); st.Standbys != 8 || st.Full != 12 {
		t.Errorf("%+v", st)
	}
}

// A master does what is due at the time that it names, and forgets a standby that asks no more.
func TestStandbyForgotten(t *testing.T) {
	p := newPair(t, 1)
	p.pass(time.Second)
	if n := len(p.source.Standbys()); n != 1 {
		t.Fatalf("%d standbys", n)
	}
	for steps := 0; len(p.source.Standbys()) > 0; steps++ {
		at, ok := p.source.Deadline()
		if !ok || steps > 100 {
			t.Fatalf("after %d steps nothing is due, or always: %t", steps, ok)
		}
		p.now = max(p.now, at)
		p.source.Output(p.now, nil)
	}
}

// FuzzExchange feeds both ends with packets that show the right keys and are wrong in
// other ways, also sealed with the keys of the session; whatever they are, nothing breaks, and the
// truth gets through after them.
func FuzzExchange(f *testing.F) {
	p := newPair(f, 1)
	p.tamperUp = func(d *mad.Datagram) { f.Add(d.Packet[:]) }
	p.tamperDown = p.tamperUp
	p.pass(10 * time.Millisecond)
	f.Fuzz(func(t *testing.T, b []byte) {
		p := newPair(t, 1)
		p.pass(10 * time.Millisecond)
		for ; len(b) > 0; b = b[min(len(b), mad.PacketSize):] {
			var d mad.Datagram
			copy(d.Packet[:], b)
			d.Packet[1] = byte(mad.ClassMirror)
			binary.BigEndian.PutUint32(d.Packet[36:], mad.MirrorOUI)
			d.Addr = mad.Addr{LID: standbyLID, QPN: 1}
			if d.Packet[0]&1 != 0 {
				p.follower.Reseal(&d.Packet, b[min(len(b), 56+24):])
			}
			p.follower.Sign(&d.Packet, standbyGUID, masterGUID)
			p.source.Receive(p.now, &d, standbyGUID)
			p.follower.Sign(&d.Packet, masterGUID, standbyGUID)
			d.Addr = mad.Addr{LID: masterLID, QPN: 1}
			if u, ok := p.follower.Receive(p.now, &d); ok {
				if u.Whole != nil {
					p.copy = u.Whole
				}
				for _, c := range u.Changes {
					if p.copy.Apply(c) != nil {
						p.follower.Forget()
						break
					}
				}
			}
		}
		p.follower.Forget() // what was made up may have the right numbers
		p.step = 20 * time.Millisecond
		p.pass(time.Minute) // beyond the time that a message may take
		p.mustAgree()
	})
}

// BenchmarkCatchUp is a standby that knows nothing, and 100,000 members.
func BenchmarkCatchUp(b *testing.B) {
	p := newPair(b, 1)
	for i := range 50_000 {
		p.put(2 + i)
	}
	p.packets = 0
	catchUps := 0
	for b.Loop() {
		p.rule(uint64(2 + catchUps))
		catchUps++
		for whole := p.follower.Stats().Whole; p.follower.Stats().Whole == whole; {
			p.pass(time.Millisecond)
		}
	}
	b.ReportMetric(float64(p.packets)/float64(catchUps), "packets/op")
	b.ReportMetric(float64(p.now.Milliseconds())/float64(catchUps), "virtual-ms/op")
	b.Logf("%+v", p.master.Counts())
}
