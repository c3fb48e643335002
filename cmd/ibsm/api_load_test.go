package main_test

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/time/rate"

	"ibsm/ctl"
	"ibsm/mad"
	"ibsm/sim/fabric"
)

const (
	loadClients    = 16
	loadPartitions = 4
	loadRate       = 200 // changes a second, at least
	loadPace       = 800 // at most: a user may make 1,000 requests a second
)

// TestAPILoad: 16 clients add and remove single GUIDs by UFM's calls, some of them of ports. Each change is on disk and
// at the standby when it is answered, and ports follow. In full size there are 200 changes a second at least, and
// 100,000 of them leave memory, goroutines and files as they were.
func TestAPILoad(t *testing.T) {
	t.Parallel()
	changes := 2_000
	if proof() {
		changes = 100_000
	}
	s := newAPISubnet(t, "fattree:k=4", 2)
	master := s.run(0, 5)
	master.await("SUBNET UP")
	standby := s.run(1, 3)
	standby.await("mirroring the client registrations of the master")
	l := newAPILoad(s, master)
	l.run(changes / 10) // so that tables and buffers have their sizes
	before := l.rest(nil)
	took := l.run(changes)
	after := l.rest(before)
	reached := float64(len(l.took)) / took.Seconds()
	unmirrored := strings.Count(master.text(), "no standby has acknowledged it")
	t.Logf("%d changes, %.0f a second, p50 %v, p99 %v; later than two seconds: %d on disk, %d at the standby; "+
		"goroutines %v, then %v, resident %.0f and %.0f MB, heap %.1f and %.1f MB", len(l.took), reached, l.quantile(0.5), l.quantile(0.99), l.late, unmirrored,
		before[goroutines], after[goroutines], before[resident]/1e6, after[resident]/1e6, before[heap]/1e6,
		after[heap]/1e6)
	if proof() && reached < loadRate {
		t.Errorf("%.0f changes a second, want %d", reached, loadRate)
	}
	if l.late+unmirrored > changes/100 { // processes may wait long for a processor, or the disk
		t.Errorf("of %d changes %d were not on disk and %d not at the standby within two seconds", changes, l.late, unmirrored)
	}
	l.judge(standby)
}

// apiLoad are clients that change partitions.
type apiLoad struct {
	*apiSubnet
	master  *apiManager
	clients []*http.Client
	ports   []mad.GUID // of the first clients one each
	keys    []mad.PKey // of the partitions
	pace    *rate.Limiter

	mu     sync.Mutex // guards the following
	took   []time.Duration
	late   int    // were not on disk within two seconds
	orders uint64 // each of which is a change
}

func newAPILoad(s *apiSubnet, master *apiManager) *apiLoad {
	s.t.Helper()
	l := &apiLoad{apiSubnet: s, master: master, pace: rate.NewLimiter(loadPace, loadClients)}
	s.server.Do(func(f *fabric.Fabric) {
		for _, at := range s.ends {
			l.ports = append(l.ports, f.PortGUID(at))
		}
	})
	for i := range loadClients {
		l.clients = append(l.clients, master.client(fmt.Sprint("127.0.1.", i+1), i%2 == 1))
	}
	for i := range loadPartitions {
		l.keys = append(l.keys, mad.PKey(0x300+i))
		l.order(l.clients[0], "resources/pkeys/add", fmt.Sprintf(`{"pkey":"%v"}`, l.keys[i]))
	}
	return l
}

// order has a client change a partition. One that is in force, but not on disk within two seconds, has status 503.
func (l *apiLoad) order(c *http.Client, call, body string) {
	if err := l.pace.Wait(l.t.Context()); err != nil {
		l.t.Error(err)
		return
	}
	began := time.Now()
	status, text, err := l.master.call(l.t.Context(), c, "Bearer "+l.token, "POST", "/ufmRest/"+call, body)
	took := time.Since(began)
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case err == nil && status == 200:
	case err == nil && status == 503 && strings.Contains(text, "the change is in force"):
		l.late++
	default:
		l.t.Errorf("%s %s: %d %s %v", call, body, status, text, err)
	}
	l.took = append(l.took, took)
	l.orders++
}

// run sends so many changes, each client as many as the others. In the end each partition is as it was.
func (l *apiLoad) run(changes int) time.Duration {
	l.took = nil
	began := time.Now()
	var clients sync.WaitGroup
	for i, c := range l.clients {
		clients.Go(func() {
			for n := range changes / loadClients / 2 {
				guid := mad.GUID(0x10000*(i+1) + n%256)
				if n%8 == 0 && i < len(l.ports) {
					guid = l.ports[i]
				}
				body := fmt.Sprintf(`{"pkey":"%v","guids":["%v"]}`, l.keys[i%loadPartitions], guid)
				l.order(c, "resources/pkeys", body)
				l.order(c, "actions/remove_guids_from_pkey", body)
				if l.t.Failed() {
					return
				}
			}
		})
	}
	clients.Wait()
	return time.Since(began)
}

func (l *apiLoad) quantile(q float64) time.Duration {
	slices.Sort(l.took)
	return l.took[int(float64(len(l.took)-1)*q)].Round(100 * time.Microsecond)
}

// rest waits until the manager has no more goroutines and files than before, and little more memory, and returns its
// figures. before is nil for the first time.
func (l *apiLoad) rest(before map[string]float64) (now map[string]float64) {
	l.t.Helper()
	for _, c := range l.clients {
		c.CloseIdleConnections()
	}
	eventually(l.t, "the manager has given back what the changes have taken", func() bool {
		now = l.master.figures()
		return before == nil || now[goroutines] <= before[goroutines] && now[files] <= before[files] &&
			now[heap] < before[heap]+8e6 && now[resident] < before[resident]+30e6
	})
	return now
}

// judge checks that master and standby have all changes, and ports no P_Key of a partition without them.
func (l *apiLoad) judge(standby *apiManager) {
	l.t.Helper()
	for _, m := range []*apiManager{l.master, standby} {
		c := ctl.NewClient(m.socket)
		defer c.Close()
		var list struct{ Partitions []ctl.Partition }
		err := c.Get(l.t.Context(), "/v1/partition", url.Values{"members": {"1"}, "origin": {ctl.OfCaller}}, &list)
		last := uint64(0)
		for _, p := range list.Partitions {
			if last = max(last, p.Number); len(p.Members) > 0 {
				l.t.Errorf("%s has members in %s: %+v", m.addr, p.Name, p.Members)
			}
		}
		if err != nil || len(list.Partitions) != loadPartitions || last != l.orders {
			l.t.Errorf("%s has %d partitions, the last change is %d of %d, %v", m.addr, len(list.Partitions), last, l.orders, err)
		}
	}
	eventually(l.t, "no port has a P_Key of a partition that it has left", func() (none bool) {
		none = true
		l.server.Do(func(f *fabric.Fabric) {
			for _, at := range l.ends {
				for _, key := range f.PKeys(at) {
					none = none && !slices.Contains(l.keys, key.Base())
				}
			}
		})
		return none
	})
}
