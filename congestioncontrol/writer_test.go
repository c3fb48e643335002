package congestioncontrol

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"ibsm/mad"
	"ibsm/mad/cc"
	"ibsm/mad/txn"
	"ibsm/view/viewtest"
)

// wire answers what a Writer sends, a millisecond later.
type wire struct {
	testing.TB
	mu     sync.Mutex
	writer *Writer
	sent   map[mad.LID]int
	total  int
	// fails, when set, is the status with which a device answers; ok is false for no answer
	fails func(d *mad.Datagram) (status mad.Status, ok bool)
}

func newWire(t testing.TB) *wire { return &wire{TB: t, sent: map[mad.LID]int{}} }

func (w *wire) send(ds []mad.Datagram) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, d := range ds {
		p := &d.Packet
		if w.total++; p.MgmtClass() != mad.ClassCongestion || p.ClassVersion() != 2 || p.Method() != mad.MethodSet ||
			!slices.Contains(written, p.AttrID()) {
			w.Errorf("%v %v of class %v, version %d, is sent", p.Method(), p.AttrID(), p.MgmtClass(), p.ClassVersion())
		}
		w.sent[d.LID]++
		if w.fails != nil {
			status, ok := w.fails(&d)
			if !ok {
				continue
			}
			p.SetStatus(status)
		}
		p.SetMethod(mad.MethodGetResp)
		time.AfterFunc(time.Millisecond, func() { w.writer.Take([]mad.Datagram{d}) })
	}
	return len(ds), nil
}

// written are the attributes that are sent, with Set and without a ClassPortInfo before them: as OpenSM does.
var written = []mad.AttrID{cc.AttrSwitchCongestionSetting, cc.AttrCACongestionSetting, cc.AttrCongestionControlTable}

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
		w := newWire(t)
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
		w.fails = func(d *mad.Datagram) (mad.Status, bool) { return 0, d.LID != lastAdapter(ports).To.LID }
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

// TestFeature: what a device makes of an attribute is remembered as docs/devices.md says. Three errors say that it has
// no such agent, others that it does not take this attribute; after three rounds without an answer it is left alone.
func TestFeature(t *testing.T) {
	for _, attr := range written {
		for _, status := range []mad.Status{mad.StatusBadVersion, mad.StatusBadMethod, mad.StatusBadMethodAttr,
			mad.StatusBadField, 0x7f00, unanswered} {
			t.Run(fmt.Sprintf("%s,%#x", cc.AttrName(attr), uint16(status)), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) { failsAttribute(t, attr, status) })
			})
		}
	}
}

// unanswered stands for no answer.
const unanswered mad.Status = 0xffff

func failsAttribute(t *testing.T, attr mad.AttrID, status mad.Status) {
	v := viewtest.New(t, "fattree:k=4", 0)
	ports := PortsOf(v)
	device, all, before := lastAdapter(ports), 3, 0 // a setting and two blocks of the table
	switch attr {
	case cc.AttrSwitchCongestionSetting:
		device, all = ports[slices.IndexFunc(ports, func(p Port) bool { return p.Type == mad.Switch })], 1
	case cc.AttrCongestionControlTable:
		before = 1
	}
	s := Settings{Enabled: true, Window: 500, Table: make([]cc.Entry, cc.EntriesPerBlock+1)}
	w := newWire(t)
	w.writer = NewWriter(WriterConfig{Settings: s, Transactions: txn.Config{Retries: -1}})
	w.fails = func(d *mad.Datagram) (mad.Status, bool) {
		if d.LID != device.To.LID || d.Packet.AttrID() != attr {
			return 0, true
		}
		return status, status != unanswered
	}
	go w.writer.Run(t.Context(), w.send)
	passes := func(what string, want int, event func()) {
		t.Helper()
		clear(w.sent)
		event()
		w.writer.Finish(t.Context())
		if got := w.sent[device.To.LID]; got != want {
			t.Errorf("%s: %d requests, want %d", what, got, want)
		}
	}
	follow := func() { w.writer.Follow(v) }
	values, key := 0, all // requests after other values, and after another key
	switch status {
	case mad.StatusBadField, 0x7f00:
		passes("first round", all, follow)
		values, key = min(all, 2), 0
	case unanswered:
		passes("first round", before+1, follow)
		passes("second round", 1, follow)
		passes("third round", 1, follow)
	default:
		passes("first round", before+1, follow)
	}
	passes("a round later", 0, follow)
	s.Switch.SetThreshold(1)
	s.Adapter.SetPortControl(1)
	s.Table = slices.Clone(s.Table)
	s.Table[0] = 1
	passes("other values", values, func() { w.writer.Configure(s) })
	w.fails = nil
	s.Key = 1
	passes("another key", key, func() { w.writer.Configure(s) })
	passes("after a restart", all, func() {
		w.writer.Restarted([]mad.GUID{device.GUID})
		w.writer.Follow(v)
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
