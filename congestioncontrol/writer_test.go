package congestioncontrol

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"ibsm/mad"
	"ibsm/view/viewtest"
)

// wire answers what a Writer sends, a millisecond later, but for one device.
type wire struct {
	mu           sync.Mutex
	writer       *Writer
	unresponsive mad.LID
	sent         map[mad.LID]int
	total        int
}

func (w *wire) send(ds []mad.Datagram) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, d := range ds {
		w.total++
		w.sent[d.LID]++
		if d.LID == w.unresponsive {
			continue
		}
		d.Packet.SetMethod(mad.MethodGetResp)
		time.AfterFunc(time.Millisecond, func() { w.writer.Take([]mad.Datagram{d}) })
	}
	return len(ds), nil
}

// TestWriter: a Writer follows views, settings, restarts and the end of the mastership.
func TestWriter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := viewtest.New(t, "fattree:k=4", 0)
		ports := PortsOf(v)
		if len(ports) != 36 { // 20 switches and 16 hosts
			t.Fatalf("%d ports", len(ports))
		}
		var reports []Report
		var found []Finding
		s := Settings{Enabled: true, Window: 500}
		off := s
		off.Enabled = false
		w := &wire{sent: map[mad.LID]int{}}
		w.writer = NewWriter(WriterConfig{Settings: off, Listener: Listener{Done: func(r Report) {
			reports = append(reports, r)
		}, Found: func(f Finding) { found = append(found, f) }}})
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- w.writer.Run(ctx, w.send) }()
		passes := func(what string, want int, event func()) {
			t.Helper()
			before := w.total
			event()
			w.writer.Finish(ctx)
			time.Sleep(time.Minute)
			if got := w.total - before; got != want {
				t.Errorf("%s: %d requests, want %d", what, got, want)
			}
		}
		const all = 20 + 2*16
		passes("off", 0, func() { w.writer.Follow(v) })
		passes("on, before a sweep", 0, func() { w.writer.Configure(s) })
		passes("a sweep", all, func() { w.writer.Follow(v) })
		passes("another", 0, func() { w.writer.Follow(v) })
		s.Adapter.SetPortControl(1)
		passes("settings", 16, func() { w.writer.Configure(s) })
		passes("restarts", 1+2, func() {
			w.writer.Restarted([]mad.GUID{ports[0].GUID})
			w.writer.Restarted([]mad.GUID{lastAdapter(ports).GUID, 0x77})
			w.writer.Follow(v)
		})
		passes("another master", 0, func() {
			w.writer.Follow(v)
			w.writer.Restarted([]mad.GUID{ports[0].GUID})
			w.writer.Forget()
		})
		s.Adapter.SetPortControl(0)
		passes("settings of a standby", 0, func() { w.writer.Configure(s) })
		passes("master again", all, func() { w.writer.Follow(v) })
		if len(found) != 0 || len(reports) != 4 {
			t.Errorf("found %v, reports %v", found, reports)
		}
		w.unresponsive = lastAdapter(ports).To.LID
		s.Adapter.SetPortControl(1)
		passes("a device is unresponsive", 16+3, func() { w.writer.Configure(s) }) // three more attempts
		if len(found) != 1 || found[0].Trouble != Unresponsive || found[0].Port != lastAdapter(ports) {
			t.Errorf("found %v", found)
		}
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		w.writer.Finish(ctx) // does not wait for ever
	})
}

// TestPortsOf: routers, and nodes that did not answer the last sweep, get nothing.
func TestPortsOf(t *testing.T) {
	v := viewtest.New(t, "fattree:k=4", 0)
	all := PortsOf(v)
	router, missed := v.Topo.FindNode(lastAdapter(all).Node), v.Topo.FindNode(all[0].Node)
	v.Topo.Nodes[router].Type = mad.Router
	v.Topo.Nodes[missed].Missed = 1
	left := PortsOf(v)
	if len(left) != len(all)-2 || !slices.IsSortedFunc(left, func(a, b Port) int {
		return cmp.Compare(a.GUID, b.GUID)
	}) {
		t.Errorf("%d of %d ports", len(left), len(all))
	}
	for _, p := range left {
		if p.Node == all[0].Node || p.GUID == lastAdapter(all).GUID || !p.To.LID.IsUnicast() || p.To.QPN != 1 ||
			(p.Type == mad.Switch) != (p.Num == 0) {
			t.Errorf("%+v", p)
		}
	}
}

func lastAdapter(ports []Port) (last Port) {
	for _, p := range ports {
		if p.Type == mad.CA {
			last = p
		}
	}
	return last
}
