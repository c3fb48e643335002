package txn

import (
	"testing"
	"time"

	"ibsm/mad"
)

// to is a request over so many hops that end in port.
func to(hops int, port uint8) *Request {
	r := request(port)
	ports := make([]uint8, hops)
	for i := range ports {
		ports[i] = 1
	}
	ports[hops-1] = port
	r.Route = mad.MakeRoute(ports...)
	return r
}

// answer has all datagrams answered.
func answer(tab *Table, now time.Duration, out []mad.Datagram) {
	for _, d := range out {
		r := reply(d)
		tab.Match(now, &r)
	}
}

// Requests to unknown devices have one limit together, in which each counts until it is answered
// or has waited for longer than patience.
func TestUnknownDevices(t *testing.T) {
	tab := New(Config{})
	var all []*Request
	for port := range uint8(5) {
		r := to(1, 1+port)
		r.Unknown = true
		all = append(all, r)
	}
	if !tab.RoomForUnknown() {
		t.Fatal("no room in an empty table")
	}
	out := submit(t, tab, 0, all...)
	if len(out) != perDevice || tab.RoomForUnknown() {
		t.Fatalf("%d sent", len(out))
	}
	if known := submit(t, tab, 0, to(1, 1)); len(known) != 1 {
		t.Error("a known device waits for unknown ones")
	}
	answer(tab, ms, out[:1])
	if out := tab.Output(ms, nil); len(out) != 1 {
		t.Errorf("%d sent after an answer", len(out))
	}
	tab.Expire(leastPatience-1, nil)
	if out := tab.Output(leastPatience-1, nil); len(out) != 0 {
		t.Errorf("%d sent before patience is over", len(out))
	}
	tab.Expire(leastPatience, nil)
	if out := tab.Output(leastPatience, nil); len(out) != 1 {
		t.Errorf("%d sent when patience was over for one", len(out))
	}
	answer(tab, leastPatience, out[1:])
	if tab.Outstanding() != 4 { // of the six, the two that were answered are over
		t.Errorf("%d outstanding: an answer after patience counts as any other", tab.Outstanding())
	}
}

// Unresponsive devices are in the window no longer than patience, and their retries use half of it.
func TestUnresponsiveDevices(t *testing.T) {
	const window = 8
	tab := New(Config{MaxWindow: window})
	for port := range uint8(3 * window) {
		tab.Submit(to(1, 1+port))
	}
	for i := range 3 {
		now := time.Duration(i) * leastPatience
		tab.Expire(now, nil)
		if out := tab.Output(now, nil); len(out) != window {
			t.Fatalf("%d sent at %v", len(out), now)
		}
	}
	tab.Expire(200*ms, nil)
	others := submit(t, tab, 200*ms, to(1, 101), to(1, 102), to(1, 103), to(1, 104), to(1, 105))
	if len(others) != window || tab.Stats().Retries != window/2 {
		t.Errorf("%d sent, %d retries: want half of the window each", len(others), tab.Stats().Retries)
	}
}

// A device that has left a request unanswered in all attempts does not keep what else is for it
// for a time-out each.
func TestUnresponsiveDevice(t *testing.T) {
	tab := New(Config{Retries: -1})
	for range 20 {
		tab.Submit(request(1))
	}
	out := tab.Output(0, nil)
	tab.Expire(200*ms, nil)
	if again := tab.Output(200*ms, nil); len(out) != perDevice || len(again) != startWindow {
		t.Fatalf("%d sent, then %d", len(out), len(again))
	} else {
		answer(tab, 201*ms, again)
	}
	for range 10 {
		tab.Submit(request(1))
	}
	if out := tab.Output(202*ms, nil); len(out) != perDevice {
		t.Errorf("%d sent to a device that answers again", len(out))
	}
}

// A device that answers late gets one request at a time, which is sent again only when twice the
// time has passed that it takes; also by a request that does not know it. When it answers quickly
// again, it is like others; when it is unresponsive, requests to it wait no longer than others do.
func TestSlowDevice(t *testing.T) {
	tab := New(Config{})
	first := submit(t, tab, 0, to(2, 1), to(2, 1))
	tab.Expire(200*ms, nil)
	if again := tab.Output(200*ms, nil); len(again) != 2 {
		t.Fatalf("%d sent again after a time-out", len(again))
	}
	answer(tab, 300*ms, first)
	unknown := to(2, 1)
	unknown.Unknown = true
	now := 300 * ms
	for range 3 {
		out := submit(t, tab, now, to(2, 1), unknown)
		if len(out) != 1 {
			t.Fatalf("%d sent to a slow device", len(out))
		}
		tab.Expire(now+599*ms, nil)
		if again := tab.Output(now+599*ms, nil); len(again) != 0 {
			t.Fatalf("sent again before twice the time has passed")
		}
		tab.Expire(now+600*ms, nil)
		if again := tab.Output(now+600*ms, nil); len(again) != 1 {
			t.Fatalf("%d sent again when twice the time has passed", len(again))
		}
		now += 700 * ms
		tab.Cancel(nil)
	}
	for range 30 {
		answer(tab, now+ms, submit(t, tab, now, to(2, 1)))
		now += 2 * ms
	}
	if out := submit(t, tab, now, to(2, 1), to(2, 1), to(2, 1)); len(out) != perDevice {
		t.Fatalf("%d sent to a device that has become quick", len(out))
	}
	tab.Cancel(nil)

	answer(tab, now+300*ms, submit(t, tab, now, to(2, 1)))
	now += 301 * ms
	submit(t, tab, now, to(2, 1))
	for tab.Outstanding() > 0 {
		at, _ := tab.Deadline()
		tab.Expire(at, nil)
		tab.Output(at, nil)
		now = at
	}
	submit(t, tab, now, to(2, 1))
	tab.Expire(now+200*ms, nil)
	if again := tab.Output(now+200*ms, nil); len(again) != 1 {
		t.Errorf("%d sent again to an unresponsive device", len(again))
	}
}

// An answer that comes after the last attempt shows that a device is slow, and not gone.
func TestAnswerAfterTheEnd(t *testing.T) {
	tab := New(Config{Retries: -1})
	out := submit(t, tab, 0, to(2, 1))
	tab.Expire(200*ms, nil)
	answer(tab, 250*ms, out)
	if out := submit(t, tab, 250*ms, to(2, 1), to(2, 1), to(2, 1)); len(out) != 1 {
		t.Errorf("%d sent", len(out))
	}
}

// What is exempt leaves at once, also again.
func TestExempt(t *testing.T) {
	tab := New(Config{MaxWindow: 1})
	r := to(3, 1)
	r.Exempt = true
	out := submit(t, tab, 0, to(3, 1), to(3, 2), r, r, r)
	if len(out) != 3 || tab.Room() != 0 {
		t.Fatalf("%d sent, room for %d", len(out), tab.Room())
	}
	for now := leastPatience; now <= 200*ms; now += leastPatience {
		tab.Expire(now, nil)
		out = tab.Output(now, nil)
	}
	if len(out) < 3 {
		t.Errorf("%d sent again", len(out))
	}
}

// With as many routes as a subnet can have had, the table forgets.
func TestDevicesAreBounded(t *testing.T) {
	tab := New(Config{Retries: -1})
	for i := range 2 * maxDevices {
		r := request(1)
		r.Route = mad.MakeRoute(uint8(i), uint8(i>>8), uint8(i>>16))
		answer(tab, 0, submit(t, tab, 0, r))
	}
	if len(tab.devices) > maxDevices+1 || len(tab.byRoute.short)+len(tab.byRoute.long) >= len(tab.devices) {
		t.Errorf("%d devices, %d routes", len(tab.devices), len(tab.byRoute.short)+len(tab.byRoute.long))
	}
}

// Round trips show whether switches handle what passes in their agents: then no more than OpenSM's
// four are on the wire. hop is what a further hop adds there and back.
func TestPassing(t *testing.T) {
	const direct = 30 * us
	for _, c := range []struct {
		name    string
		hop     time.Duration
		longest int
		window  int
	}{
		{"only the next switch", 0, 1, startWindow},
		{"in hardware", us, 2, startWindow},
		{"in hardware, far", us, 6, startWindow},
		{"in agents", 40 * us, 2, pathWindow},
		{"in agents, far", 40 * us, 6, pathWindow},
		{"in fast agents", 18 * us, 4, pathWindow},
	} {
		tab := New(Config{})
		now := time.Duration(0)
		ask := func(hops int, wait time.Duration) {
			out := submit(t, tab, now, to(hops, 9))
			now += direct + c.hop*time.Duration(hops-1) + wait
			answer(tab, now, out)
		}
		for i := range nearSamples {
			ask(1, time.Duration(i)*20*us)
		}
		for hops := 2; hops <= c.longest; hops++ {
			if hops == 2 {
				for port := range uint8(20) {
					tab.Submit(to(2, 10+port))
				}
				if out := tab.Output(now, nil); len(out) != pathWindow {
					t.Errorf("%s: %d sent before it is known", c.name, len(out))
				}
				tab.Cancel(nil)
			}
			ask(hops, 0)
			ask(hops, 100*us)
		}
		if s := tab.Stats(); s.Window != c.window || s.PathLimited != (c.window == pathWindow) {
			t.Errorf("%s: a window of %d, limited by the path: %v", c.name, s.Window, s.PathLimited)
		}
	}
}

// One inflated round trip to the next switch does not make those beyond appear to be near.
func TestPassingNeedsSamples(t *testing.T) {
	var p passing
	p.answered(1, 300*us)
	p.answered(2, 80*us)
	if p.inHardware {
		t.Error("decided by one round trip")
	}
	for range nearSamples {
		p.answered(1, 30*us)
	}
	if p.inHardware {
		t.Error("80 us over two hops, and 30 us over one")
	}
	p.answered(5, 33*us)
	if !p.inHardware {
		t.Error("33 us over five hops")
	}
}

// Where the switch next to the manager passes SMPs on in hardware and those beyond do not, the latter decide, once
// enough round trips show it.
func TestPassingFarther(t *testing.T) {
	var p passing
	for range nearSamples {
		p.answered(1, 100*us)
	}
	p.answered(2, 102*us)
	for i := range farSamples {
		if !p.inHardware {
			t.Errorf("agents are seen by %d round trips", i)
		}
		p.answered(3, 150*us)
	}
	if p.inHardware {
		t.Error("150 us over three hops, and 102 us over two")
	}
}
