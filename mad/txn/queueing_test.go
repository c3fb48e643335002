package txn

import (
	"cmp"
	"slices"
	"testing"
	"time"

	"ibsm/mad"
)

const us = time.Microsecond

// site is a fabric as a table sees it: what is sent passes one server, in order, crosses
// wires, and is answered by the agent of its node, which does one thing after the other.
type site struct {
	server time.Duration                   // that a packet takes there
	wires  func(request int) time.Duration // there and back
	agent  func(node int32) time.Duration  // that a request takes there
}

// ask asks requests of 500 nodes in turn. It returns how long that took, the last window,
// and the mean of what somebody else's packet would have waited in the server.
func (s *site) ask(requests int) (took time.Duration, window int, waits time.Duration) {
	const nodes = 500
	var (
		now, free time.Duration
		agents    [nodes]time.Duration // busy until then
		wire      []flight             // the next first
		asked     int
		tab       = New(Config{})
	)
	tab.SetYields(true)
	for steps := time.Duration(1); ; steps++ {
		for ; asked < requests && tab.Room() > 0; asked++ {
			r := request(1)
			r.Class, r.Addr.LID, r.Tag = mad.ClassLIDRouted, mad.LID(1+asked*7%nodes), uint64(asked)
			tab.Submit(r)
		}
		for _, d := range tab.Output(now, nil) {
			_, _, i := splitTID(d.Packet.TID())
			node, wires := int32(d.LID-1), s.wires(int(tab.slots[i].tag))
			free = max(free, now) + s.server
			agents[node] = max(agents[node], free+wires/2) + s.agent(node)
			f := flight{agents[node] + wires/2, reply(d)}
			at, _ := slices.BinarySearchFunc(wire, f, func(a, b flight) int { return cmp.Compare(a.at, b.at) })
			wire = slices.Insert(wire, at, f)
		}
		if len(wire) == 0 {
			return now, tab.Stats().Window, waits / steps
		}
		now = wire[0].at
		tab.Match(now, &wire[0].d)
		wire = wire[1:]
		waits += max(free-now, 0)
	}
}

// wires of some length, whatever is asked.
func wires(d time.Duration) func(int) time.Duration { return func(int) time.Duration { return d } }

// agents of which one of so many is slow.
func agents(every int32, slow, others time.Duration) func(int32) time.Duration {
	return func(node int32) time.Duration {
		if node%every == 0 {
			return slow
		}
		return others
	}
}

// Where all passes one server, the window grows no larger than keeps that at work, and
// others need not wait for long. Elsewhere it grows as it would if it minded no round trips:
// the least time is that of 128 requests under way throughout.
func TestQueueing(t *testing.T) {
	const requests = 50_000
	idle := agents(1, 0, 0)
	near := func(i int) time.Duration { return time.Duration(2+i%7*20) * us }
	farther := func(i int) time.Duration { return 20*us + time.Duration(i)*40 }
	for _, c := range []struct {
		name  string
		site  site
		least time.Duration
		took  float64 // times least, at most
		last  [2]int  // window
		waits time.Duration
	}{
		{"one server", site{9 * us, wires(40 * us), idle}, 450 * ms, 1.01, [2]int{8, 20}, 120 * us},
		{"a slow server", site{30 * us, wires(40 * us), idle}, 1500 * ms, 1.01, [2]int{8, 16}, 450 * us},
		{"a quick server", site{3 * us, wires(40 * us), idle}, 150 * ms, 1.05, [2]int{16, 40}, 80 * us},
		{"a server and a slow node", site{9 * us, wires(40 * us), agents(500, 3*ms, 0)}, 450 * ms, 1.01, [2]int{8, 30},
			150 * us},
		{"a server far away", site{9 * us, wires(2 * ms), idle}, 789 * ms, 1.05, [2]int{128, 128}, 10 * us},
		{"many hops and few", site{us / 2, near, agents(1, 20*us, 0)}, 32 * ms, 1.1, [2]int{128, 128}, 10 * us},
		{"more and more hops", site{us / 2, farther, agents(1, 20*us, 0)}, 406 * ms, 1.15, [2]int{100, 128}, 10 * us},
		{"slow agents", site{us / 2, wires(20 * us), agents(1, ms, 0)}, 398 * ms, 1.05, [2]int{128, 128}, 10 * us},
		{"a third of them slow", site{us / 2, wires(20 * us), agents(3, 800*us, 20*us)}, 117 * ms, 1.1,
			[2]int{100, 128}, 10 * us},
		{"one of them very slow", site{us / 2, wires(20 * us), agents(500, 10*ms, 20*us)}, 1000 * ms, 1.01,
			[2]int{100, 128}, 30 * us},
	} {
		took, last, waits := c.site.ask(requests)
		if took < c.least || float64(took) > c.took*float64(c.least) || last < c.last[0] || last > c.last[1] ||
			waits > c.waits {
			t.Errorf("%s: took %v, least %v; window %d, want %v; waits %v, at most %v", c.name, took, c.least, last,
				c.last, waits, c.waits)
		}
	}
}

func toAnyNode() *Request {
	r := request(1)
	r.Class = mad.ClassLIDRouted
	return r
}

// A measurement ends, with whatever becomes of its requests, before it holds anything up.
func TestMeasurementEnds(t *testing.T) {
	for _, c := range []struct {
		name string
		end  func(tab *Table, now time.Duration, out []mad.Datagram)
	}{
		{"no answer", func(tab *Table, now time.Duration, _ []mad.Datagram) { tab.Expire(now+200*ms, nil) }},
		{"cancelled", func(tab *Table, _ time.Duration, _ []mad.Datagram) { tab.Cancel(nil) }},
		{"busy", func(tab *Table, now time.Duration, out []mad.Datagram) {
			for _, d := range out {
				r := reply(d)
				r.Packet.SetStatus(mad.StatusBusy)
				tab.Match(now, &r)
			}
			tab.Expire(now+200*ms, nil)
		}},
		{"given back", func(tab *Table, now time.Duration, out []mad.Datagram) {
			for _, d := range out {
				d.TimedOut = true
				tab.Match(now, &d)
			}
		}},
	} {
		tab := New(Config{})
		tab.SetYields(true)
		var now time.Duration
		var wire []mad.Datagram
		for !tab.window.queueing.measuring {
			for tab.Room() > 0 {
				tab.Submit(toAnyNode())
			}
			wire = tab.Output(now, wire)
			now += 10 * us
			r := reply(wire[0])
			tab.Match(now, &r)
			wire = wire[1:]
		}
		for i := range wire {
			r := reply(wire[i])
			tab.Match(now, &r)
		}
		if room := tab.Room(); room != fewRequests {
			t.Fatalf("room for %d while it measures", room)
		}
		window := tab.Stats().Window
		for range fewRequests {
			tab.Submit(toAnyNode())
		}
		c.end(tab, now, tab.Output(now, nil))
		if room := tab.Room(); room < window-fewRequests {
			t.Errorf("%s: room for %d after the measurement, the window is %d", c.name, room, window)
		}
	}
}

// A round ends with as many answers as the window is large, the last of them to a request
// that was sent no earlier than the round began. Only then the window gets another size.
func TestRoundTrip(t *testing.T) {
	const window = 8
	began := 10 * ms
	for _, c := range []struct {
		name string
		last time.Duration // when the request of the eighth answer was sent
		fits int
	}{
		{"sent as the round began", began, 4}, // 150 us of the 300 us that an answer took are allowed
		{"sent before", began - 1, window},
	} {
		q := queueing{base: 100 * us, last: 100 * us, began: began}
		for i := range window - 1 {
			if fits := q.answered(began+300*us, began, false, window); fits != window {
				t.Fatalf("%s: a window of %d after %d answers", c.name, fits, i+1)
			}
		}
		if fits := q.answered(c.last+300*us, c.last, false, window); fits != c.fits {
			t.Errorf("%s: a window of %d after the last answer, want %d", c.name, fits, c.fits)
		}
	}
}
