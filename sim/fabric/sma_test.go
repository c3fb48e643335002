package fabric

import (
	"testing"
	"time"

	"ibsm/mad"
	"ibsm/mad/smp"
)

// TestSMA: an agent handles one SMP at a time, what its buffer does not hold is dropped, and
// with Transit a switch handles those that pass, there and back.
func TestSMA(t *testing.T) {
	for _, c := range []struct {
		transit  bool
		path     []uint8
		sent     int
		answered int
		first    time.Duration // of the answers
		last     time.Duration
	}{
		{false, []uint8{1}, 3, 3, 22, 62},
		{false, []uint8{1}, 9, 5, 22, 102},
		{false, []uint8{1, 7}, 9, 5, 22, 102},
		// The first answer comes back to the switch while that handles the second and third request.
		{true, []uint8{1, 7}, 3, 3, 82, 122},
		{true, []uint8{1, 7}, 9, 5, 122, 202},
		{false, nil, 2, 2, 22, 42}, // our own agent
	} {
		f := New(twoSwitches(),
			Config{Latency: time.Microsecond, SMA: SMA{Time: 20 * time.Microsecond, Buffer: 4, Transit: c.transit}})
		s := attach(t, f, h1, 1)
		batch := make([]mad.Datagram, c.sent)
		route := mad.MakeRoute(c.path...)
		for i := range batch {
			batch[i].LID = mad.PermissiveLID
			batch[i].Packet.SetDirected(&route, mad.MethodGet, smp.AttrNodeInfo, 0)
		}
		var times []time.Duration
		s.OnReceive(func(mad.Datagram) { times = append(times, f.Now()) })
		s.Send(batch)
		f.Advance(time.Second)
		if len(times) != c.answered || f.Stats().Drops[DropVL15] != uint64(c.sent-c.answered) {
			t.Fatalf("%+v: answers at %v, %d dropped", c, times, f.Stats().Drops[DropVL15])
		}
		if times[0] != c.first*time.Microsecond || times[len(times)-1] != c.last*time.Microsecond {
			t.Errorf("%+v: answers at %v", c, times)
		}
	}
}
