package txn

import (
	"testing"
	"time"

	"ibsm/mad"
)

// lossy runs a table with requests to many devices for 30 s, of which so many lose every first attempt.
func lossy(t *testing.T, devices, lose int) Stats {
	tab := New(Config{MinWindow: 64, Chosen: true})
	for now := time.Duration(0); now < 30*time.Second; now += 300 * ms {
		for port := range devices {
			if !tab.Submit(to(2, uint8(1+port))) {
				t.Fatal("no room")
			}
		}
		answerBut := func(at time.Duration, lost func(*mad.Datagram) bool) {
			tab.Expire(at, nil)
			for out := tab.Output(at, nil); len(out) > 0; out = tab.Output(at, nil) {
				for _, d := range out {
					if r := reply(d); !lost(&d) {
						tab.Match(at+ms, &r)
					}
				}
			}
		}
		answerBut(now, func(d *mad.Datagram) bool { return int(d.Packet.InitialPath()[2]) <= lose })
		answerBut(now+200*ms, func(*mad.Datagram) bool { return false })
	}
	return tab.Stats()
}

// TestLosses: the losses of a few devices count once in ten seconds each; those of many count all.
func TestLosses(t *testing.T) {
	const devices = 40
	for _, c := range []struct {
		lose        int
		least, most uint64
	}{{0, 0, 0}, {1, 1, 4}, {4, 1, 4}, {devices / 2, 50, 110}} {
		if s := lossy(t, devices, c.lose); s.Cuts < c.least || s.Cuts > c.most || s.TimedOut > 0 {
			t.Errorf("%d devices of %d lose packets: the window was halved %d times", c.lose, devices, s.Cuts)
		}
	}
}

// TestEndLate: what an owner has asked a late device is taken back, sent or not, and what others have asked it goes on.
func TestEndLate(t *testing.T) {
	tab := New(Config{})
	const mine, others = 1, 2
	for range 20 {
		r := to(2, 1)
		r.Owner = mine
		tab.Submit(r)
	}
	r := to(2, 1)
	r.Owner = others
	tab.Submit(r)
	quick := to(2, 2)
	quick.Owner = mine
	tab.Submit(quick)
	out := tab.Output(0, nil)
	if tab.WaitsForLate(mine) || len(tab.EndLate(mine, nil)) > 0 {
		t.Fatal("requests are late before patience is over")
	}
	var late []mad.Datagram
	for _, d := range out {
		if d.Packet.InitialPath()[2] == 2 {
			r := reply(d)
			tab.Match(ms, &r)
		} else {
			late = append(late, d)
		}
	}
	tab.Expire(leastPatience, nil)
	if len(late) != perDevice || !tab.WaitsForLate(mine) || tab.WaitsForLate(0) {
		t.Fatalf("%d sent to the late device; late: %v", len(late), tab.WaitsForLate(mine))
	}
	ended, unsent := tab.EndLate(mine, nil), 0
	for _, o := range ended {
		if o.Result != OutOfTime || o.Owner != mine {
			t.Errorf("%+v", o)
		}
		if o.Attempts == 0 {
			unsent++
		}
	}
	if len(ended) != 20 || unsent != 20-perDevice || tab.WaitsForLate(mine) {
		t.Errorf("%d ended, %d of them not sent", len(ended), unsent)
	}
	if out := tab.Output(leastPatience, nil); len(out) != 1 || tab.Outstanding() != 1 {
		t.Errorf("%d sent for the other owner, %d outstanding", len(out), tab.Outstanding())
	}
	answer(tab, 300*ms, late)
	if s := tab.Stats(); s.Late != perDevice || s.TimedOut != 20 {
		t.Errorf("%+v", s)
	}
	if out := submit(t, tab, 300*ms, to(2, 1), to(2, 1)); len(out) > 0 {
		t.Errorf("%d sent to a device that is known to be slow, and has one to answer", len(out))
	}
}

// TestSlowAttempts: a request to a slow device has fewer attempts, each with more time, and takes no longer than four
// times as long as one to another device.
func TestSlowAttempts(t *testing.T) {
	tab := New(Config{})
	answer(tab, 700*ms, submit(t, tab, 0, to(2, 1)))
	from := 700 * ms
	sent := len(submit(t, tab, from, to(2, 1)))
	for tab.Outstanding() > 0 {
		at, _ := tab.Deadline()
		if ended := tab.Expire(at, nil); len(ended) > 0 && at != from+tab.slowest() {
			t.Errorf("ended after %v", at-from)
		}
		sent += len(tab.Output(at, nil))
	}
	if sent != 3 {
		t.Errorf("sent %d times", sent)
	}
}
