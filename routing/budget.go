package routing

import (
	"context"
	"errors"
	"sync/atomic"

	"ibsm/topo"
)

// Budget bounds the work of engines in a context. Work is counted, not timed, so that the same problem goes over it on
// every machine, and in every run. A unit is about what min-hop does for one link and one destination switch: 10 to 20
// ns, in each engine (BenchmarkEngines measures it).
type Budget struct {
	left   atomic.Int64
	cancel context.CancelCauseFunc
}

// ErrBudget is the cause with which a context ends whose Budget is spent.
var ErrBudget = errors.New("the engines need more work than their budget")

type budgetKey struct{}

// WithBudget is a context that ends with ErrBudget once engines have spent more units of work. The caller calls end
// when it does not need the context any more.
func WithBudget(ctx context.Context, units int64) (bounded context.Context, b *Budget, end func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	b = &Budget{cancel: cancel}
	b.left.Store(units)
	return context.WithValue(ctx, budgetKey{}, b), b, func() { cancel(nil) }
}

// Spent reports whether engines needed more. It depends on the problem alone, not on what happened to be done when the
// context ended.
func (b *Budget) Spent() bool { return b.Left() < 0 }

// Spend counts work of an engine against the Budget of its context, if it has one. Engines whose work can be many times
// that of min-hop call it as they go. Any goroutine may.
func Spend(ctx context.Context, units int) {
	if b, _ := ctx.Value(budgetKey{}).(*Budget); b != nil && b.left.Add(-int64(units)) < 0 {
		b.cancel(ErrBudget)
	}
}

// MinHopWork is about the work of min-hop for a subnet: for each switch as a destination it looks at each link, and
// each switch places each LID.
func MinHopWork(t *topo.Topo, l *topo.LIDs) int64 {
	links := 0
	for p := range t.Ports { // without a look at the port behind each
		switch peer := t.Ports[p].Peer; {
		case peer == topo.None:
		case t.IsSwitchPort(topo.PortIdx(p)):
			links++
		case t.IsSwitchPort(peer): // which is among the links, too
			links--
		}
	}
	return int64(len(t.Switches)) * (int64(links) + int64(l.Top))
}

// Left is how many units are left; negative once it is spent.
func (b *Budget) Left() int64 { return b.left.Load() }
