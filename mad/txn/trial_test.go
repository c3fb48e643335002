package txn

import (
	"slices"
	"testing"
	"time"

	"ibsm/mad"
)

// line is a subnet of one switch after the other, with adapters at the last one, as a table sees it: the agents of
// adapters take longer than that of the first switch, and the cables behind the latter are long.
type line struct {
	pass  time.Duration // that the first switch takes for an SMP that passes, one at a time
	agent time.Duration // that an adapter takes for a request
	cable time.Duration // there and back

	tab   *Table
	now   time.Duration
	free  time.Duration          // when the first switch is
	busy  [64]time.Duration      // until when adapters are
	wire  []flight               // in order
	most  int                    // that were on the wire at once
	asked int                    // requests
	ended map[uint64]int         // outcomes by tag
	lost  func(sent uint64) bool // of packets to adapters
	stop  trialState             // at which ask ends
}

func (l *line) put(at time.Duration, d mad.Datagram) {
	i := len(l.wire)
	for i > 0 && l.wire[i-1].at > at {
		i--
	}
	l.wire = slices.Insert(l.wire, i, flight{at, d})
	l.most = max(l.most, len(l.wire))
}

// ask has the table ask until a time, as long as there is room: the first switch once, then adapters.
func (l *line) ask(until time.Duration) {
	for l.now < until {
		for l.tab.Room() > 0 {
			r := to(3, uint8(2+l.asked%60))
			if l.asked < nearSamples {
				r = to(1, 1)
			}
			l.asked++
			r.Tag = uint64(l.asked)
			l.tab.Submit(r)
		}
		for _, d := range l.tab.Output(l.now, nil) {
			switch {
			case d.Packet.HopCount() == 1:
				l.put(l.now+20*us, reply(d))
			case l.lost == nil || !l.lost(l.tab.stats.Sent):
				l.free = max(l.free, l.now) + l.pass
				host := d.Packet.InitialPath()[3]
				l.busy[host] = max(l.busy[host], l.free+l.cable/2) + l.agent
				l.put(l.busy[host]+l.cable/2+l.pass, reply(d))
			}
		}
		if l.stop != trialNone && l.tab.window.trial.state == l.stop {
			return
		}
		next, waits := l.tab.Deadline()
		if len(l.wire) > 0 && (!waits || l.wire[0].at <= next) {
			l.now = l.wire[0].at
			if o, ok := l.tab.Match(l.now, &l.wire[0].d); ok {
				l.ended[o.Tag]++
			}
			if l.wire = slices.Delete(l.wire, 0, 1); l.stop != trialNone && l.tab.window.trial.state == l.stop {
				return
			}
			continue
		}
		l.now = next
		for _, o := range l.tab.Expire(l.now, nil) {
			l.ended[o.Tag]++
		}
	}
}

// rest has the answers come, and time pass.
func (l *line) rest(d time.Duration) {
	for _, f := range l.wire {
		l.now = f.at
		if o, ok := l.tab.Match(l.now, &f.d); ok {
			l.ended[o.Tag]++
		}
	}
	l.wire, l.now = nil, l.now+d
}

func newLine(pass, agent, cable time.Duration, cfg Config) *line {
	return &line{pass: pass, agent: agent, cable: cable, tab: New(cfg), ended: map[uint64]int{}}
}

// TestTrial: a device that is asked alone and behind others shows whether agents pass SMPs on, however long it takes
// and however long the cables are. Where agents do, no more than 4 SMPs are on the wire, also during trials.
func TestTrial(t *testing.T) {
	for _, c := range []struct {
		name               string
		pass, agent, cable time.Duration
		cfg                Config
		limited            bool
	}{
		{"slow adapters", 0, 150 * us, us, Config{}, false},
		{"slow adapters, a quick switch that passes", 2 * us, 150 * us, us, Config{}, false},
		{"ten kilometres", 0, 20 * us, 100 * us, Config{}, false},
		{"agents", 20 * us, 20 * us, us, Config{}, true},
		{"agents, slow adapters", 10 * us, 150 * us, us, Config{}, true},
		{"agents, ten kilometres", 10 * us, 20 * us, 100 * us, Config{}, true},
		{"agents, with a choice", 20 * us, 20 * us, us, Config{MaxWindow: 64, Chosen: true}, false},
	} {
		l := newLine(c.pass, c.agent, c.cable, c.cfg)
		l.ask(20 * ms)
		if s := l.tab.Stats(); s.PathLimited != c.limited || !c.limited && s.Window < startWindow || c.limited &&
			l.most > pathWindow {
			t.Errorf("%s: a window of %d, limited %v, %d on the wire at once", c.name, s.Window, s.PathLimited, l.most)
		}
		l.ask(30 * ms)
		for tag, n := range l.ended {
			if n != 1 || tag == 0 {
				t.Fatalf("%s: request %d ended %d times", c.name, tag, n)
			}
		}
	}
}

// TestTrialAgain: what a trial shows is not believed for good. Where agents passed SMPs on, the next trial may show
// hardware; where one has shown hardware, and a packet is lost, 4 are on the wire until a trial later than ten seconds
// shows it again.
func TestTrialAgain(t *testing.T) {
	l := newLine(20*us, 150*us, us, Config{})
	l.ask(10 * ms)
	if !l.tab.Stats().PathLimited {
		t.Fatal("agents are not seen")
	}
	l.pass = 0
	l.rest(trialPause)
	l.ask(l.now + 10*ms)
	if l.tab.Stats().PathLimited {
		t.Fatal("hardware is not seen in the second trial")
	}
	lost := false
	l.lost = func(uint64) (loses bool) { loses, lost = !lost, true; return loses }
	l.ask(l.now + 250*ms)
	if s := l.tab.Stats(); s.Cuts != 1 || !s.PathLimited || s.Window != pathWindow {
		t.Fatalf("a window of %d after %d losses, limited %v", s.Window, s.Cuts, s.PathLimited)
	}
	l.rest(lossPause - time.Second)
	l.ask(l.now + 10*ms)
	if !l.tab.Stats().PathLimited {
		t.Error("a trial within ten seconds after a loss")
	}
	l.rest(time.Second)
	l.ask(l.now + 10*ms)
	if l.tab.Stats().PathLimited {
		t.Error("no trial later")
	}
}

// TestTrialEnds: a trial ends when its request is not answered or all are cancelled, and nobody hears of it.
func TestTrialEnds(t *testing.T) {
	for _, end := range []string{"unanswered", "cancelled"} {
		for state := trialEmpties; state <= trialAgain; state++ {
			l := newLine(0, 150*us, us, Config{})
			l.stop = state
			if l.ask(20 * ms); l.tab.window.trial.state != state {
				t.Fatalf("no trial comes to state %d", state)
			}
			l.stop = trialNone
			if l.wire = nil; end == "cancelled" {
				for _, o := range l.tab.Cancel(nil) {
					l.ended[o.Tag]++
				}
				if n := l.tab.Outstanding(); n > 0 {
					t.Errorf("%d requests after all are cancelled", n)
				}
			}
			asked := l.asked
			if l.ask(l.now + 250*ms); l.asked-asked < 1000 {
				t.Errorf("%s in state %d: %d requests asked in 250 ms", end, state, l.asked-asked)
			}
			for tag, n := range l.ended {
				if n != 1 || tag == 0 {
					t.Fatalf("%s in state %d: request %d ended %d times", end, state, tag, n)
				}
			}
		}
	}
}
