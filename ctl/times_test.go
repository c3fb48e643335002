package ctl

import (
	"math"
	"testing"
)

func TestQuantile(t *testing.T) {
	some := []TimeBucket{{0, 1, 10}, {1, 2, 0}, {2, 4, 80}, {4, 8, 9}, {10, 0, 1}}
	for _, c := range []struct {
		buckets []TimeBucket
		q, want float64
	}{
		{nil, 0.5, 0},
		{[]TimeBucket{{1, 2, 0}}, 0.5, 0},
		{[]TimeBucket{{1, 2, 1}}, 0.5, 1.5},
		{[]TimeBucket{{1, 2, 1}}, 1, 2},
		{some, 0.05, 0.5},
		{some, 0.10, 1},
		{some, 0.50, 3},
		{some, 0.99, 8},
		{some, 1, 10},
	} {
		if got := Quantile(c.buckets, c.q); math.Abs(got-c.want) > 1e-9 {
			t.Errorf("quantile %v of %v: %v, want %v", c.q, c.buckets, got, c.want)
		}
	}
}
