package mirror_test

import (
	"fmt"
	"testing"
	"time"

	"ibsm/mad"
	"ibsm/registry"
	"ibsm/sa/mirror"
)

// capture are the packets of an exchange in both directions.
type capture struct{ up, down []mad.Datagram }

// listen keeps what is sent from now on.
func (p *pair) listen() *capture {
	c := &capture{}
	p.tamperUp = func(d *mad.Datagram) { c.up = append(c.up, *d) }
	p.tamperDown = func(d *mad.Datagram) { c.down = append(c.down, *d) }
	return c
}

func (p *pair) deafen() { p.tamperUp, p.tamperDown = nil, nil }

// replay sends all packets of a capture again, also with another upper half of the transaction ID, and
// returns what the master sends by it.
func (p *pair) replay(c *capture) (sent []mad.Datagram) {
	p.Helper()
	for _, high := range []mad.TID{0, 0xff << 32} {
		for _, d := range c.up {
			d.Addr = mad.Addr{LID: standbyLID, QPN: 1}
			d.Packet.SetTID(d.Packet.TID() ^ high)
			p.source.Receive(p.now, &d, standbyGUID)
			sent = p.source.Output(p.now, sent)
		}
		for _, d := range c.down {
			d.Addr = mad.Addr{LID: masterLID, QPN: 1}
			d.Packet.SetTID(d.Packet.TID() ^ high)
			if u, ok := p.follower.Receive(p.now, &d); ok {
				p.Errorf("the standby took %+v", u)
			}
		}
	}
	return sent
}

// unchanged holds that a replay has changed nothing: neither what both have nor whom the master
// answers, and no registration is sent.
func (p *pair) unchanged(what string, replayed *capture) {
	p.Helper()
	p.put(1000) // the standby lacks something
	before, asked, updates := p.source.Stats(), p.follower.Stats(), len(p.updates)
	standbys := fmt.Sprint(p.source.Standbys())
	for _, d := range p.replay(replayed) {
		if d.Packet.AttrID() != mirror.AttrOpening && standbys == "[]" {
			p.Errorf("%s: the master sends %v", what, d.Packet.AttrID())
		}
	}
	s, f := p.source.Stats(), p.follower.Stats()
	if s.Questions != before.Questions || s.Whole != before.Whole || s.Opened != before.Opened || standbys == "[]" && fmt.Sprint(p.source.Standbys()) != standbys {
		p.Errorf("%s: the master: %+v, before %+v", what, s, before)
	}
	if f.Answers != asked.Answers || f.Opened != asked.Opened || len(p.updates) != updates {
		p.Errorf("%s: the standby: %+v, before %+v", what, f, asked)
	}
}

// TestReplayedLater: what was recorded does nothing after a minute, nor after a restart of either end,
// nor of both, also with clocks that were set back to where they were; nor when the standby has gone.
func TestReplayedLater(t *testing.T) {
	restart := map[string]func(p *pair, salt byte){
		"nothing": func(p *pair, salt byte) {},
		"the master": func(p *pair, salt byte) {
			p.source = mirror.NewSource(keys, mirror.Salt{salt})
			p.rule(1)
		},
		"a mastership term": func(p *pair, salt byte) { p.rule(2) },
		"the standby": func(p *pair, salt byte) {
			p.follower = mirror.NewFollower(keys, -1, mirror.Salt{1, salt}) // its clock was set back
			p.follower.Follow(p.now, mirror.Master{GUID: masterGUID, LID: masterLID, Self: standbyGUID})
			p.copy = registry.New()
		},
	}
	restart["both"] = func(p *pair, salt byte) { restart["the master"](p, salt); restart["the standby"](p, salt) }
	for name, again := range restart {
		for _, lives := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s restarts, the standby is there %t", name, lives), func(t *testing.T) {
				p := newPair(t, 1)
				c := p.listen()
				p.pass(3 * time.Second)
				p.deafen()
				if lives {
					p.pass(time.Minute)
				} else {
					for end := p.now + time.Minute; p.now < end; p.now += 10 * time.Millisecond {
						p.source.Output(p.now, nil)
					}
				}
				again(p, 77)
				p.unchanged("at once", c)
				if !lives {
					return
				}
				p.pass(3 * time.Second)
				p.mustAgree()
				p.unchanged("later", c)
				p.pass(3 * time.Second)
				p.mustAgree()
				if st := p.source.Stats(); st.Whole > 2 {
					t.Errorf("everything was sent %d times", st.Whole)
				}
			})
		}
	}
}

// TestReplayedSegments: segments of earlier answers, also with other transaction IDs, of which the code
// covers only half, take no room from the answer that comes.
func TestReplayedSegments(t *testing.T) {
	p := newPair(t, 1)
	c := p.listen()
	for i := range 100 { // answers of some segments each
		for j := range 10 {
			p.put(1000 + 10*i + j)
		}
		p.pass(15 * time.Millisecond)
	}
	p.pass(100 * time.Millisecond)
	p.deafen()
	for i := range 50 {
		for high := mad.TID(0); high < 8; high++ {
			for _, d := range c.down {
				d.Addr = mad.Addr{LID: masterLID, QPN: 1}
				d.Packet.SetTID(d.Packet.TID() ^ high<<40)
				p.follower.Receive(p.now, &d)
			}
		}
		for j := range 10 {
			p.put(5000 + 10*i + j)
		}
		p.tamperDown = func(*mad.Datagram) { // beside the segments that come
			d := c.down[p.rng.IntN(len(c.down))]
			d.Addr = mad.Addr{LID: masterLID, QPN: 1}
			p.follower.Receive(p.now, &d)
		}
		p.pass(50 * time.Millisecond)
		p.mustAgree()
	}
	if st := p.source.Stats(); st.Failed > 0 {
		t.Errorf("%+v", st)
	}
}

// TestOldPeer: managers of which one speaks only the version without encryption mirror as they did, and
// the newer one says so once; but not if it must not.
func TestOldPeer(t *testing.T) {
	for _, sealed := range []bool{false, true} {
		t.Run(fmt.Sprint("sealed ", sealed), func(t *testing.T) {
			p := newPair(t, 1)
			p.tamperUp = older
			cfg := keys
			cfg.Sealed = sealed
			p.source.Configure(cfg)
			reports := 0
			for range 20 {
				p.pass(time.Second)
				if guid, ok := p.source.Old(); ok && guid == standbyGUID {
					reports++
				}
			}
			st := p.source.Stats()
			if sealed {
				if reports != 1 || st.Answers != 0 || st.Plain < 5 {
					t.Errorf("%d reports, %+v", reports, st)
				}
				return
			}
			p.mustAgree()
			cfg.Sealed = true
			p.source.Configure(cfg)
			p.pass(2 * time.Second)
			if guid, ok := p.source.Old(); !ok || guid != standbyGUID {
				t.Errorf("that it is refused from now on is not reported: %v, %v", guid, ok)
			}
			p.source.Configure(keys)
			p.pass(10 * time.Second)
			p.source.Old()
			if reports != 1 || st.Whole != 1 || !p.updates[0].Old || !p.follower.Stats().Old {
				t.Errorf("%d reports, %+v, %+v", reports, st, p.updates[0])
			}
			p.tamperUp = nil // both are new
			p.pass(2 * time.Second)
			p.put(2)
			p.pass(time.Second)
			p.mustAgree()
			if p.updates[len(p.updates)-1].Old || p.follower.Stats().Old || p.follower.Stats().Opened != 1 {
				t.Errorf("they do not encrypt: %+v", p.follower.Stats())
			}
			p.tamperUp = older // as if both were replaced by the older version
			p.now += 10 * time.Second
			p.pass(20 * time.Second)
			p.put(3)
			p.pass(20 * time.Second)
			p.mustAgree()
		})
	}
	p := newPair(t, 1)
	p.tamperUp = func(d *mad.Datagram) {
		if d.Packet.AttrID() != mirror.AttrOpening {
			t.Errorf("attribute %v, which older managers know", d.Packet.AttrID())
		}
	}
	cfg := keys
	cfg.Sealed = true
	p.follower.Configure(cfg)
	for range 10 {
		p.follower.Output(p.now, nil)
		p.now += time.Second
	}
	p.tamperUp = nil
	p.pass(time.Second)
	p.mustAgree()
	if st := p.follower.Stats(); st.Opened != 1 {
		t.Errorf("%+v", st)
	}
}

// TestDowngrade: two managers that can encrypt are not made to do without: neither by what they sent
// while one of them was of the older version, nor by a changed opening.
func TestDowngrade(t *testing.T) {
	p := newPair(t, 1)
	c := p.listen()
	keep := p.tamperUp
	p.tamperUp = func(d *mad.Datagram) { older(d); keep(d) }
	p.pass(10 * time.Second)
	p.mustAgree()
	p.deafen()
	p.pass(10 * time.Second) // both are new now

	plain := func(when string) {
		t.Helper()
		before := p.source.Stats()
		for range 40 {
			for _, d := range p.replay(c) {
				if d.Packet.AttrID() == mirror.AttrPlain {
					t.Fatalf("%s: the master answers in the clear", when)
				}
			}
			p.pass(100 * time.Millisecond)
		}
		p.put(9)
		p.pass(time.Second)
		p.mustAgree()
		if st := p.source.Stats(); st.Whole > before.Whole+1 || p.follower.Stats().Old {
			t.Errorf("%s: %+v", when, st)
		}
	}
	plain("later")
	p.source = mirror.NewSource(keys, mirror.Salt{55})
	p.rule(7)
	plain("after a restart of the master")
	p.follower = mirror.NewFollower(keys, 0, mirror.Salt{66})
	p.follower.Follow(p.now, mirror.Master{GUID: masterGUID, LID: masterLID, Self: standbyGUID})
	p.copy = registry.New()
	plain("after a restart of the standby")

	p = newPair(t, 1)
	p.tamperUp = func(d *mad.Datagram) {
		if d.Packet.AttrID() == mirror.AttrPlain {
			clear(d.Packet[56+4 : 56+8]) // without the keys
		}
	}
	p.pass(20 * time.Second)
	if st := p.source.Stats(); st.Answers > 0 || st.Untrusted == 0 {
		t.Errorf("an opening that was changed: %+v", st)
	}
}

// TestSealedRefusesPlain: a standby that must not do without encryption does not, also where it did.
func TestSealedRefusesPlain(t *testing.T) {
	p := newPair(t, 1)
	p.tamperUp = older
	p.pass(4 * time.Second)
	p.mustAgree()
	cfg, updates := keys, len(p.updates)
	cfg.Sealed = true
	p.follower.Configure(cfg)
	p.put(2)
	p.pass(500 * time.Millisecond)
	if len(p.updates) != updates || p.follower.Stats().Untrusted == 0 {
		t.Errorf("it took %+v", p.updates[updates:])
	}
}

// TestReplayedToOlder: a standby that was replaced by an older version is mirrored, whatever is replayed of
// its sessions and openings; and when it has gone, its questions do nothing either.
func TestReplayedToOlder(t *testing.T) {
	p := newPair(t, 1)
	c := p.listen()
	p.pass(3 * time.Second)
	plain := &capture{}
	p.tamperDown = nil
	p.tamperUp = func(d *mad.Datagram) {
		older(d)
		plain.up = append(plain.up, *d)
	}
	p.follower = mirror.NewFollower(keys, 1, mirror.Salt{4})
	p.follower.Follow(p.now, mirror.Master{GUID: masterGUID, LID: masterLID, Self: standbyGUID})
	p.copy = registry.New()
	opened := p.source.Stats().Opened
	for i := range 60 {
		p.put(2 + i)
		p.pass(100 * time.Millisecond)
		p.replay(c)
	}
	p.pass(20 * time.Millisecond)
	p.mustAgree()
	if st := p.source.Stats(); st.Opened != opened+1 { // to none
		t.Errorf("%d sessions, before %d", st.Opened, opened)
	}
	for end := p.now + time.Minute; p.now < end; p.now += 10 * time.Millisecond {
		p.source.Output(p.now, nil)
	}
	before := p.source.Stats()
	for range 100 {
		if sent := p.replay(plain); len(sent) > 0 {
			t.Fatalf("it is sent %d packets", len(sent))
		}
		p.now += 100 * time.Millisecond
	}
	if st := p.source.Stats(); st.Questions != before.Questions || st.Standbys != 0 {
		t.Errorf("%+v, before %+v", st, before)
	}
}

// TestClockSetBack: a standby whose clock was set back to when its older version ran takes no answer of
// that time, and the master none of its questions, which have greater numbers than those of now.
func TestClockSetBack(t *testing.T) {
	p := newPair(t, 1)
	c := p.listen()
	keep := p.tamperUp
	p.tamperUp = func(d *mad.Datagram) { older(d); keep(d) }
	p.pass(10 * time.Second)
	p.deafen()

	again := mirror.NewFollower(keys, 0, mirror.Salt{3})
	again.Follow(500*time.Microsecond, mirror.Master{GUID: masterGUID, LID: masterLID, Self: standbyGUID})
	for now := 500 * time.Microsecond; now < 10*time.Second; now += 10 * time.Millisecond {
		again.Output(now, nil)
		for _, d := range c.down {
			d.Addr = mad.Addr{LID: masterLID, QPN: 1}
			d.Packet.SetTID(d.Packet.TID() ^ mad.TID(now)<<32)
			if u, ok := again.Receive(now, &d); ok {
				t.Fatalf("it took %+v", u)
			}
		}
	}

	began := p.now
	p.source = mirror.NewSource(keys, mirror.Salt{5})
	p.rule(3)
	p.follower = mirror.NewFollower(keys, -1<<20, mirror.Salt{6}) // its clock was ahead
	p.follower.Follow(p.now, mirror.Master{GUID: masterGUID, LID: masterLID, Self: standbyGUID})
	future := p.listen()
	keep = p.tamperUp
	p.tamperUp = func(d *mad.Datagram) { older(d); keep(d) }
	for p.now < began+10*time.Second {
		p.pass(time.Second)
	}
	p.deafen()
	p.source = mirror.NewSource(keys, mirror.Salt{7})
	p.rule(4)
	p.follower = mirror.NewFollower(keys, 5, mirror.Salt{8})
	p.follower.Follow(p.now, mirror.Master{GUID: masterGUID, LID: masterLID, Self: standbyGUID})
	p.copy = registry.New()
	p.pass(time.Second)
	for i := range future.up {
		for _, d := range p.replay(&capture{up: future.up[i : i+1]}) {
			if d.Packet.AttrID() == mirror.AttrPlain {
				t.Fatal("the master answers in the clear")
			}
		}
		p.pass(300 * time.Millisecond)
	}
	p.mustAgree()
}
