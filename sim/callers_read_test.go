package sim_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"testing"
	"time"

	"ibsm/partitions/callers"
	"ibsm/registry"
	"ibsm/sa"
)

// TestCallersRead: what was answered can be read at once, at the master and at its standby; also when the master is
// killed at any moment around the answer. An order that was not answered is carried out or not.
func TestCallersRead(t *testing.T) {
	runs, seed := 200, uint64(0)
	if os.Getenv("IBSM_PROOF") != "" {
		runs = 10_000
	}
	w := newWildCallers(t, seed)
	w.rng = rand.New(rand.NewPCG(seed, 56))
	kills := 0
	for i := range runs {
		w.mustFollow()
		m := w.master()
		name := string(rune('a' + w.rng.IntN(3)))
		before := content(w.managers[m].Registrar().State(), name)
		at, kind := w.hosts[w.rng.IntN(len(w.hosts))], w.rng.IntN(4)
		o := w.order(m, name, func(r *callers.Rules, s *registry.State) (*callers.Done, error) {
			if kind == 0 {
				return r.Delete(s, name, callers.Match{})
			}
			r.Now += int64(i) * callers.Reuse // so that P_Keys do not run out
			return r.Put(s, &callers.Wanted{Name: name, Note: fmt.Sprint(i), Members: []callers.Member{w.memberAt(at)}},
				callers.Match{})
		})
		after := before
		if o.number > 0 {
			after = o.after
		}
		kill := time.Hour
		if w.rng.IntN(10) == 0 {
			kill = time.Duration(w.rng.IntN(60_000)) * time.Microsecond
		}
		end := w.Fabric.Now() + min(kill, 5*time.Second)
		w.Run(end, func() bool { return o.answered })
		handedOver := errors.Is(o.Err, sa.ErrNotMaster) // to the one that was restarted, which has the higher priority
		if o.answered && (o.Err != nil && !handedOver || o.Unmirrored) {
			t.Fatalf("order %d: %v, unmirrored %t", i, o.Err, o.Unmirrored)
		}
		if o.answered && !handedOver {
			for j, m := range w.managers {
				if got := content(m.Registrar().State(), name); got != after {
					t.Fatalf("order %d: manager %d has %q, answered was %q", i, j, got, after)
				}
			}
		}
		if kill == time.Hour {
			continue
		}
		w.Run(end, nil)
		if m != w.master() {
			continue
		}
		kills++
		w.kill(m)
		if !w.Run(w.Fabric.Now()+settling, func() bool { return w.managers[1-m].View != nil }) {
			t.Fatalf("order %d: the standby does not take over", i)
		}
		got := content(w.managers[1-m].Registrar().State(), name)
		if got != after && (o.answered && !handedOver || got != before) {
			t.Fatalf("order %d: the new master has %q; before it was %q, ordered %q, answered %t", i, got, before, after,
				o.answered)
		}
		w.start(m)
	}
	t.Logf("%d orders, %d masters killed", runs, kills)
}

// mustFollow waits until there is a master and a standby that has everything.
func (w *wildCallers) mustFollow() {
	w.Helper()
	ready := func() bool {
		w.follow()
		return w.follows != nil
	}
	if !w.Run(w.Fabric.Now()+convergence, ready) {
		w.Fatalf("the managers are %v and %v", w.managers[0].last(), w.managers[1].last())
	}
}
