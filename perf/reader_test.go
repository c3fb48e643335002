package perf

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"ibsm/mad"
	"ibsm/mad/pma"
	"ibsm/mad/txn"
	"ibsm/routing"
	"ibsm/view/viewtest"
)

// wire answers what a Reader sends, a millisecond later, with the devices of the tests.
type wire struct {
	mu      sync.Mutex
	reader  *Reader
	devices map[mad.LID]*device
	sent    int
	most    int    // packets in one call of send
	sls     uint16 // of requests
	infos   int    // requests for ClassPortInfo
	broken  error
}

func (w *wire) send(ds []mad.Datagram) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.broken != nil {
		return 0, w.broken
	}
	w.sent += len(ds)
	w.most = max(w.most, len(ds))
	for i := range ds {
		w.sls |= 1 << ds[i].SL
		if ds[i].Packet.AttrID() == pma.AttrClassPortInfo {
			w.infos++
		}
		answer := ds[i]
		p := w.devices[ds[i].LID].serve(&ds[i].Packet)
		if p == nil {
			continue
		}
		answer.Packet = *p
		time.AfterFunc(time.Millisecond, func() { w.reader.Take([]mad.Datagram{answer}) })
	}
	return len(ds), nil
}

// TestReader: sweeps at their times over a port, with requests again where a response is lost.
func TestReader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &wire{devices: map[mad.LID]*device{}}
		ports := testPorts(30, 4)
		for _, p := range ports {
			if w.devices[p.To.LID] == nil {
				w.devices[p.To.LID] = &device{mask: 0x5300, mask2: 2, counts: map[uint8]*[pma.NumCounters]uint64{}}
			}
			w.devices[p.To.LID].counts[p.Port] = &[pma.NumCounters]uint64{pma.PortXmitData: uint64(p.To.LID)}
		}
		var images []*Image
		var found []Finding
		w.reader = NewReader(
			ReaderConfig{Settings: minutely, Transactions: txn.Config{Timeout: 100 * time.Millisecond, Retries: 2},
				Listener: Listener{Image: func(im *Image) {
					images = append(images, im)
				}, Found: func(f Finding) { found = append(found, f) }}})
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- w.reader.Run(ctx, w.send) }()
		w.reader.Event(ctx, &Ports{ports})
		time.Sleep(90 * time.Second)
		synctest.Wait()
		if len(images) != 2 || images[1].Answered != 120 || len(found) != 0 {
			t.Fatalf("%d images, %d findings", len(images), len(found))
		}
		if want := 30 + 120 + 120; w.sent != want || w.most > minutely.Window {
			t.Errorf("%d requests, want %d; %d at a time", w.sent, want, w.most)
		}
		w.mu.Lock()
		w.devices[5].unresponsive = 2 // of three attempts
		w.devices[6].unresponsive = -1
		w.sent = 0
		w.mu.Unlock()
		time.Sleep(time.Minute)
		synctest.Wait()
		last := images[len(images)-1]
		if five, _ := last.Port(Key{5, 1}); five.Note != 0 {
			t.Errorf("an answer to the third attempt: %v", five.Note)
		}
		if six, _ := last.Port(Key{6, 4}); six.Note != NoAnswer || last.Answered != 116 || len(found) != 4 {
			t.Errorf("no answer: %v, %d ports, %d findings", six.Note, last.Answered, len(found))
		}
		if want := 116 + 2 + 3; w.sent != want {
			t.Errorf("%d requests, want %d", w.sent, want)
		}
		if !w.reader.Do(ctx, func(m *Machine) {
			if n, _, _, ok := m.Values(Key{9, 2}); !ok || n[pma.PortXmitData] != 9 {
				t.Errorf("values %v", n[pma.PortXmitData])
			}
		}) {
			t.Error("Do")
		}
		if !w.reader.Event(ctx, &Clear{}) || !w.reader.Do(ctx, func(m *Machine) {
			if total, _ := m.Total(Key{9, 2}); total.N[pma.PortXmitData] != 0 {
				t.Errorf("total %v after Clear", total.N[pma.PortXmitData])
			}
		}) {
			t.Error("Clear")
		}
		late, over := context.WithCancel(ctx)
		over()
		for range 100 {
			synctest.Wait() // Run could take it at once
			if w.reader.Event(late, &Clear{}) {
				t.Fatal("an event is taken for a caller that has gone")
			}
		}
		slower := minutely
		slower.Interval, slower.Window = time.Hour, 1
		w.reader.Event(ctx, &Changed{slower})
		had := len(images)
		time.Sleep(30 * time.Minute)
		synctest.Wait()
		if len(images) != had {
			t.Errorf("%d sweeps in half an interval", len(images)-had)
		}
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		if w.reader.Do(ctx, func(*Machine) { t.Error("called after the end") }) {
			t.Error("Do after the end")
		}
		if w.reader.Event(ctx, &Clear{}) {
			t.Error("an event after the end is taken")
		}
	})
}

// TestReaderBroken: a broken port ends the Reader.
func TestReaderBroken(t *testing.T) {
	r := NewReader(ReaderConfig{Settings: minutely})
	w := &wire{reader: r, devices: map[mad.LID]*device{}, broken: errors.New("broken")}
	ended := make(chan error, 1)
	go func() { ended <- r.Run(t.Context(), w.send) }()
	r.Event(t.Context(), &Ports{testPorts(1, 1)})
	if err := <-ended; err != w.broken {
		t.Error(err)
	}
}

// TestReaderFollows: the ports of a view are read while there are sweeps, and settings apply at once.
func TestReaderFollows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := viewtest.New(t, "fattree:k=4", 0)
		w := &wire{devices: map[mad.LID]*device{}}
		for _, p := range PortsOf(v, false) {
			if w.devices[p.To.LID] == nil {
				w.devices[p.To.LID] = &device{mask: 0x5300, mask2: 2, counts: map[uint8]*[pma.NumCounters]uint64{}}
			}
			w.devices[p.To.LID].counts[p.Port] = &[pma.NumCounters]uint64{}
		}
		var images []*Image
		var gone []mad.GUID
		v.Topo.Self = v.Topo.EndPorts[0]
		off := minutely
		off.Interval = 0
		w.reader = NewReader(ReaderConfig{Settings: off, Listener: Listener{Image: func(im *Image) {
			images = append(images, im)
		}, Gone: func(g mad.GUID) { gone = append(gone, g) }}})
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- w.reader.Run(ctx, w.send) }()
		w.reader.Follow(v)
		time.Sleep(time.Hour)
		if synctest.Wait(); w.sent != 0 {
			t.Errorf("%d requests while it is off", w.sent)
		}
		w.reader.Configure(minutely)
		time.Sleep(time.Second)
		if synctest.Wait(); len(images) != 1 || images[0].Answered != 104 {
			t.Fatalf("%d images", len(images))
		}
		same := *v
		w.reader.Follow(&same)
		w.reader.Follow(nil)
		lanes, tables := same, *same.Tables
		lanes.Tables, tables.SLs = &tables,
			routing.SLsBySwitch(v.Topo, v.LIDs,
				slices.Repeat([][]uint8{slices.Repeat([]uint8{2}, len(v.Topo.Switches))}, len(v.Topo.Switches)))
		w.reader.Follow(&lanes)
		w.reader.Rebooted([]mad.GUID{v.Topo.Nodes[v.Topo.Switches[0]].GUID})
		time.Sleep(2 * time.Minute)
		if synctest.Wait(); w.sls != 1<<0|1<<2 {
			t.Errorf("SLs of requests: %b", w.sls)
		}
		if w.infos != 36+1 {
			t.Errorf("%d requests for ClassPortInfo, want one of each agent and one after the reboot", w.infos)
		}
		switches := minutely
		switches.SwitchesOnly = true
		w.reader.Configure(switches)
		time.Sleep(2 * time.Minute)
		if synctest.Wait(); images[len(images)-1].Len() != 88 || len(gone) != 16 {
			t.Errorf("%d ports, %d nodes gone", images[len(images)-1].Len(), len(gone))
		}
		had := len(images)
		w.reader.Configure(off)
		time.Sleep(time.Hour)
		if synctest.Wait(); len(images) != had {
			t.Errorf("%d sweeps while it is off", len(images)-had)
		}
		cancel()
		<-ended
	})
}
