package gsi

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"ibsm/mad"
	"ibsm/mad/txn"
)

// TestAsker: requests get their answers, late ones and lost ones too, and what is due is done.
func TestAsker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var said []string
		var a *Asker
		due := time.Minute
		attempts := map[mad.LID]int{}
		a = NewAsker(txn.Config{Timeout: time.Second, Retries: 1, MaxWindow: 2}, Asking{
			Answered: func(tag uint64, p *mad.Packet) { said = append(said, fmt.Sprintf("%d %t", tag, p != nil)) },
			OnWake:   func() { said = append(said, "wake") },
			Due:      func() (time.Duration, bool) { return due, due > 0 },
			Tick:     func() { said, due = append(said, fmt.Sprint("tick ", a.Now().Truncate(time.Second))), 0 },
		})
		send := func(ds []mad.Datagram) (int, error) {
			for _, d := range ds {
				attempts[d.LID]++
				if d.LID == 3 || d.LID == 2 && attempts[2] == 1 { // never, or not at first
					continue
				}
				d.Packet.SetMethod(mad.MethodGetResp)
				time.AfterFunc(time.Millisecond, func() { a.Take([]mad.Datagram{d}) })
			}
			return len(ds), nil
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- a.Run(ctx, send) }()
		var p mad.Packet
		p.SetHeader(mad.ClassCongestion, mad.MethodSet, 0x14, 0)
		a.Do(ctx, func() {
			for i := range 5 {
				a.Ask(mad.Addr{LID: mad.LID(1 + i), QPN: 1}, &p, uint64(1+i))
			}
		})
		a.Take([]mad.Datagram{packet(mad.ClassCongestion, mad.MethodGetResp, 0x7777)}) // to nothing
		time.Sleep(10 * time.Second)
		synctest.Wait()
		slices.Sort(said)
		if got := strings.Join(said, ", "); got != "1 true, 2 true, 3 false, 4 true, 5 true" || attempts[3] != 2 ||
			attempts[2] != 2 {
			t.Errorf("%s; attempts %v", got, attempts)
		}
		said = nil
		a.Do(ctx, func() {
			for range 3 {
				a.Wake()
			}
		})
		time.Sleep(time.Hour)
		synctest.Wait()
		if got := strings.Join(said, ", "); got != "wake, tick 1m0s" {
			t.Error(got)
		}
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		if a.Do(ctx, func() { t.Error("called after the end") }) {
			t.Error("Do after the end")
		}
	})
}

// TestAskerLimits: responses and requests that have no room, and a broken port.
func TestAskerLimits(t *testing.T) {
	ended := map[uint64]int{}
	a := NewAsker(txn.Config{}, Asking{Answered: func(tag uint64, p *mad.Packet) { ended[tag]++ }})
	if dropped := a.Take(make([]mad.Datagram, maxReceived+7)); dropped != 7 {
		t.Errorf("%d dropped", dropped)
	}
	var p mad.Packet
	p.SetHeader(mad.ClassPerf, mad.MethodGet, 0x12, 0)
	const many = 1 << 13
	for i := range uint64(many) {
		a.Ask(mad.Addr{LID: 1, QPN: 1}, &p, i)
	}
	broken := errors.New("broken")
	if err := a.Run(t.Context(), func([]mad.Datagram) (int, error) { return 0, broken }); err != broken {
		t.Error(err)
	}
	if n := len(ended); n < many/2 || n == many || ended[many-1] != 1 || ended[0] != 0 {
		t.Errorf("%d of %d requests had no room", n, many)
	}
}
