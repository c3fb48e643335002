package main_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"ibsm/mad"
	"ibsm/mad/sarec"
	"ibsm/mad/smp"
	"ibsm/rights"
	"ibsm/sim/fabric"
)

// Bounds of what an attack takes from others.
const (
	victimWaits = 8 * time.Second // clients of UFM's calls give up after ten
	mostPeak    = 250e6           // bytes more than before the attack
)

// TestAPIAttacks: while the API is attacked from several addresses, the requests of other users and of hosts are
// answered, and the memory of the manager is bounded. After it the manager has no more goroutines, files and memory
// than before. What makes no progress is ended. In full size there are 10,000 connections, each attack lasts ten
// seconds, and the 99th percentile of the times in which hosts are answered is shown.
func TestAPIAttacks(t *testing.T) {
	t.Parallel()
	s := newAPISubnet(t, "fattree:k=4", 1)
	order := attackOrder{Conns: 1200, Admin: s.token}
	for _, name := range []string{"mallory", "malloc"} {
		order.Tokens = append(order.Tokens, s.addUser(name, operatorPassword+name, rights.Reader))
	}
	victim := s.addUser("victim", operatorPassword+"victim", rights.Reader)
	m := s.run(0, 5)
	m.await("SUBNET UP")
	order.Addr = m.addr
	lasts := time.Second
	if proof() {
		order.Conns, lasts = 10_000, 10*time.Second
	}
	v := &attackVictim{apiSubnet: s, m: m, token: victim}
	warm := order // so that tables, stacks and buffers have their sizes
	warm.Name = "requests without a credential"
	v.attack(&warm, time.Second, nil)
	other := ""
	if proof() {
		p := start(t, nil, "", []string{listenerEnv + "=" + s.users}, os.Args[0])
		p.await("listening at ")
		other = strings.TrimSuffix(p.await(";"), ";")
	}
	for _, a := range attacks {
		if only := os.Getenv("IBSM_CASE"); a.held || only != "" && only != a.name {
			continue
		}
		o := order
		o.Name = a.name
		before := m.settledFigures(nil)
		m.resetPeak()
		during := ""
		v.attack(&o, lasts, func() {
			p := request(mad.MethodGet, sarec.AttrClassPortInfo, 0)
			v.mark(func(f *fabric.Fabric) mad.TID { return v.post(f, 0, &p) })
			if proof() {
				during = v.latencies()
			}
		})
		peak := m.peak()
		after := m.settledFigures(before)
		idle := ""
		if proof() {
			idle = "\n  p99 " + during + ", idle " + v.latencies()
			o.Addr = other
			v.attack(&o, 0, func() { idle += ", while another process is attacked " + v.latencies() })
		}
		t.Logf("%s: goroutines %v, then %v; resident %.0f MB, at most %.0f, then %.0f; the slowest of %d other requests %v%s",
			a.name, before[goroutines], after[goroutines], before[resident]/1e6, peak/1e6, after[resident]/1e6,
			v.requests, v.slowest.Round(time.Millisecond), idle)
		if peak > before[resident]+mostPeak {
			t.Errorf("%s: the manager has %.0f MB, before %.0f", a.name, peak/1e6, before[resident]/1e6)
		}
	}
	v.holds(&order)
}

// holds has all attacks at once that the server must end.
func (v *attackVictim) holds(order *attackOrder) {
	before := v.m.settledFigures(nil)
	stop := v.watch()
	var all []*process
	for _, a := range attacks {
		only := os.Getenv("IBSM_CASE")
		if a.held && (only == "" && (proof() || !a.long) || only == a.name) {
			o := *order
			o.Name = a.name
			p, _ := v.begin(&o)
			all = append(all, p)
		}
	}
	began := time.Now()
	for _, p := range all {
		if text := p.await("ended after"); strings.Contains(text, "not ended") {
			v.t.Errorf("%s: %s", p.name, text)
		}
		v.t.Logf("%s: all were ended by %v", p.name, time.Since(began).Round(time.Second))
	}
	stop()
	after := v.m.settledFigures(before)
	v.t.Logf("held: goroutines %v, then %v; the slowest of %d other requests %v", before[goroutines], after[goroutines],
		v.requests, v.slowest.Round(time.Millisecond))
}

// attackVictim is another user of an API that is attacked.
type attackVictim struct {
	*apiSubnet
	m     *apiManager
	token string

	requests int           // during the last attack
	slowest  time.Duration // of them
}

// begin starts the process of an attack; end ends it.
func (v *attackVictim) begin(o *attackOrder) (p *process, end func()) {
	v.t.Helper()
	text, err := json.Marshal(o)
	if err != nil {
		v.t.Fatal(err)
	}
	in, out, err := os.Pipe()
	if err != nil {
		v.t.Fatal(err)
	}
	p = start(v.t, in, "", []string{attackEnv + "=" + string(text)}, os.Args[0])
	in.Close()
	p.name = o.Name
	end = sync.OnceFunc(func() { out.Close() })
	v.t.Cleanup(end)
	p.await("attacking")
	return p, end
}

// attack attacks for some time, while the victim sends requests.
func (v *attackVictim) attack(o *attackOrder, lasts time.Duration, during func()) {
	v.t.Helper()
	p, end := v.begin(o)
	stop := v.watch()
	if strings.HasPrefix(o.Name, "connections") {
		for range attackers {
			p.await("open")
		}
	}
	over := time.After(lasts)
	if during != nil {
		during()
	}
	<-over
	stop()
	end()
	v.t.Logf("%s: %s", o.Name, strings.TrimSpace(p.await("ended after")+p.rest()))
	p.kill()
}

// rest is what the process prints until its end.
func (p *process) rest() string {
	<-p.done
	p.mu.Lock()
	defer p.mu.Unlock()
	return string(p.output[p.read:])
}

// watch has the victim send requests until stop: on a connection that is kept, and on new ones. Each must be answered.
func (v *attackVictim) watch() (stop func()) {
	v.requests, v.slowest = 0, 0
	ctx, cancel := context.WithCancel(v.t.Context())
	var all sync.WaitGroup
	var mu sync.Mutex
	for i := range 2 {
		all.Go(func() {
			kept := v.m.client("127.0.0.9", i == 0)
			for first := true; first || ctx.Err() == nil; first = false {
				client := kept
				if i == 1 {
					client = v.m.client("127.0.0.9", false)
				}
				took, err := v.one(client)
				client.CloseIdleConnections()
				mu.Lock()
				v.requests++
				v.slowest = max(v.slowest, took)
				mu.Unlock()
				if err != nil {
					v.t.Errorf("another user: %v after %v", err, took)
					return
				}
				select {
				case <-ctx.Done():
				case <-time.After(50 * time.Millisecond):
				}
			}
		})
	}
	return func() { cancel(); all.Wait() }
}

// one sends a request of the victim.
func (v *attackVictim) one(client *http.Client) (time.Duration, error) {
	began := time.Now()
	ctx, cancel := context.WithTimeout(v.t.Context(), victimWaits)
	defer cancel()
	status, text, err := v.m.call(ctx, client, "Bearer "+v.token, "GET", "/v1/log-level", "")
	if err == nil && status != 200 {
		err = fmt.Errorf("status %d: %.200s", status, text)
	}
	return time.Since(began), err
}

// latencies are the 99th percentiles of path queries and of SMInfo.
func (v *attackVictim) latencies() string {
	_, gids := v.addresses()
	path := request(mad.MethodGet, sarec.AttrPathRecord, sarec.PathDGID|sarec.PathSGID|sarec.PathNumbPath)
	rec := (*sarec.PathRecord)(path.SAData()[:])
	rec.SetSGID(gids[len(gids)-1])
	rec.SetNumbPath(1)
	var info mad.Packet
	info.SetHeader(mad.ClassLIDRouted, mad.MethodGet, smp.AttrSMInfo, 0)
	paths := v.p99(func(f *fabric.Fabric, i int) mad.TID {
		rec.SetDGID(gids[i%len(gids)])
		return v.post(f, 0, &path)
	})
	infos := v.p99(func(f *fabric.Fabric, i int) mad.TID {
		of := f.PortInfo(v.ends[0])
		d := mad.Datagram{Addr: mad.Addr{LID: of.MasterSMLID()}, Packet: info}
		v.tid++
		d.Packet.SetTID(v.tid)
		v.clients[0].Send([]mad.Datagram{d})
		return v.tid
	})
	return fmt.Sprintf("of paths %v, of SMInfo %v", paths, infos)
}

// p99 is the median of the 99th percentiles of rounds of 500 packets, which are answered one after the other.
func (v *attackVictim) p99(send func(f *fabric.Fabric, i int) mad.TID) time.Duration {
	var rounds []time.Duration
	for began := time.Now(); len(rounds) < 20 && (len(rounds) == 0 || time.Since(began) < 4*time.Second); {
		var took []time.Duration
		for i := range 500 {
			sent := time.Now()
			v.mark(func(f *fabric.Fabric) mad.TID { return send(f, i) })
			took = append(took, time.Since(sent))
		}
		slices.Sort(took)
		rounds = append(rounds, took[len(took)*99/100])
	}
	slices.Sort(rounds)
	return rounds[len(rounds)/2].Round(10 * time.Microsecond)
}

// settledFigures waits until the manager has little more than before, and returns its figures. before is nil for the
// first time.
func (m *apiManager) settledFigures(before map[string]float64) (now map[string]float64) {
	m.t.Helper()
	eventually(m.t, "the manager has given back what the attack has taken", func() bool {
		now = m.figures()
		return before == nil || now[goroutines] <= before[goroutines]+4 && now[files] <= before[files]+2 &&
			now[heap] < before[heap]+16e6 && now[resident] < before[resident]+64e6
	})
	return now
}

// resetPeak and peak are about the largest memory of the process, in bytes.
func (m *apiManager) resetPeak() {
	if err := os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", m.cmd.Process.Pid), []byte("5"), 0); err != nil {
		m.t.Fatal(err)
	}
}

func (m *apiManager) peak() float64 {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", m.cmd.Process.Pid))
	found := regexp.MustCompile(`VmHWM:\s+(\d+) kB`).FindSubmatch(text)
	if err != nil || found == nil {
		m.t.Fatalf("the largest memory of the manager is not known: %v", err)
	}
	n, _ := strconv.ParseFloat(string(found[1]), 64)
	return n * 1024
}
