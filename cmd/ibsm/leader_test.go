package main_test

import (
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

// TestLeaderAddr: of two processes exactly one answers GET /leader with 200, but for the time that a takeover takes,
// while the master is killed again and again, and started again.
func TestLeaderAddr(t *testing.T) {
	kills := 3
	if proof() {
		kills = 100
	}
	s := newSuccession(t)
	s.manager.kill()
	conf := filepath.Join(s.dir, "opensm.conf")
	if err := os.WriteFile(conf, []byte("master_sm_priority 14\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	addrs := [2]string{"127.0.0.1:" + freePort(t), "127.0.0.1:" + freePort(t)}
	manage := func(i int) *process { return s.manage(i, 3, "--leader_addr", addrs[i], "-F", conf) }
	w := &leaderPolls{t: t, addrs: addrs, client: http.Client{Timeout: time.Second}}
	managers := [2]*process{manage(0)}
	w.until("the first leads", func() bool { return w.words[0] == "master" })
	managers[1] = manage(1)
	w.until("the second stands by", func() bool { return w.words[1] == "standby" })
	var all []time.Duration // longest time without a 200, by kill
	for killed := range kills {
		w.longest = 0
		master := 0
		if w.words[1] == "master" {
			master = 1
		}
		managers[1-master].await("mirroring the client registrations of the master")
		w.poll(time.Duration(killed%7) * 50 * time.Millisecond) // at any moment of the standby's looks
		managers[master].kill()
		w.until("the standby leads", func() bool { return w.words[1-master] == "master" })
		managers[master] = manage(master)
		w.until("the other one stands by", func() bool { return w.words[master] == "standby" })
		all = append(all, w.longest.Round(time.Millisecond))
	}
	slices.Sort(all)
	if w.both > 0 {
		t.Errorf("both have led in %d polls", w.both)
	}
	t.Logf("%d kills: no manager leads for %v at most, the median is %v", kills, all[kills-1], all[kills/2])
}

// leaderPolls asks two managers who leads.
type leaderPolls struct {
	t      *testing.T
	addrs  [2]string
	client http.Client

	words   [2]string // as they were answered last; "" for no answer
	led     time.Time // when one led last
	longest time.Duration
	both    int // polls in which both led
}

// ask asks one of them. A word with the wrong status fails the test.
func (w *leaderPolls) ask(i int) (leads bool) {
	w.words[i] = ""
	resp, err := w.client.Get("http://" + w.addrs[i] + "/leader")
	if err != nil {
		return false
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(resp.Body, 100))
	if err != nil || len(text) < 2 {
		return false
	}
	w.words[i] = string(text[:len(text)-1])
	leads = resp.StatusCode == http.StatusOK
	if leads != (w.words[i] == "master") {
		w.t.Errorf("status %d: %q", resp.StatusCode, text)
	}
	return leads
}

// round asks both, and a first one that leads again, so that two that lead at a time are no change of the mastership.
func (w *leaderPolls) round() {
	now := time.Now()
	first, second := w.ask(0), w.ask(1)
	if first && second && w.ask(0) {
		w.both++
	}
	if first || second {
		if !w.led.IsZero() {
			w.longest = max(w.longest, now.Sub(w.led))
		}
		w.led = time.Now()
	}
}

// poll asks for some time.
func (w *leaderPolls) poll(d time.Duration) {
	for end := time.Now().Add(d); time.Now().Before(end); {
		w.round()
	}
}

// until asks until something holds.
func (w *leaderPolls) until(what string, holds func() bool) {
	w.t.Helper()
	eventually(w.t, what, func() bool {
		w.round()
		return holds()
	})
}
