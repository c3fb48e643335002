package routing

import (
	"context"
	"errors"
	"testing"
)

// TestBudget: a context ends when more is spent than its budget, not when just that is; work outside a budget is not
// counted.
func TestBudget(t *testing.T) {
	Spend(t.Context(), 1<<40)
	ctx, b, end := WithBudget(t.Context(), 100)
	defer end()
	Spend(ctx, 60)
	below, stop := context.WithCancel(ctx)
	defer stop()
	if Spend(below, 40); b.Spent() || ctx.Err() != nil {
		t.Error("the budget itself is too much")
	}
	if Spend(below, 1); !b.Spent() || below.Err() == nil || !errors.Is(context.Cause(ctx), ErrBudget) {
		t.Errorf("%t, %v, %v", b.Spent(), below.Err(), context.Cause(ctx))
	}
	ctx, b, end = WithBudget(t.Context(), 100)
	if end(); b.Spent() || errors.Is(context.Cause(ctx), ErrBudget) {
		t.Error("the end is no spending")
	}
}
