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
	if s.Questions != before.Questions || s.Whole != before.Whole || s.Opened != before.Opened || standbys == "[]" &&
		fmt.Sprint(p.source.Standbys()) != standbys {
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
