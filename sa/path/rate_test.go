package path

import (
	"testing"

	"ibsm/mad"
)

// What OpenSM makes of rates that a driver does not know.
func TestHighestKnown(t *testing.T) {
	const all = capExtended | cap2x | capHDR | capNDR | capXDR
	for _, c := range []struct {
		caps       rateCaps
		rate, want float64 // Gb/s
	}{
		{all, 28, 28}, {all, 50, 50}, {all, 400, 400}, {all, 1200, 1200}, {all, 2400, 2400},
		{all &^ cap2x, 28, 25}, {0, 28, 20},
		{cap2x, 50, 50}, {capHDR, 50, 50}, {capExtended, 50, 40}, {0, 50, 40},
		{capExtended | capHDR, 400, 400}, {capExtended | capNDR, 600, 600},
		{capExtended, 400, 300}, {capExtended, 600, 300},
		{capExtended | capHDR, 800, 600}, {capExtended | capHDR, 1200, 600},
		{capExtended, 800, 300}, {capExtended, 1200, 300},
		{all &^ capXDR, 1600, 1200}, {all &^ capXDR, 2400, 1200},
		{0, 2.5, 2.5}, {0, 10, 10}, {0, 40, 40}, {0, 120, 120}, // every driver knows the classic rates
		{0, 14, 10}, {0, 25, 20}, {0, 56, 40}, {0, 100, 80}, {0, 200, 120},
	} {
		if got := highest(known[c.caps], code(t, c.rate), false).Gbps(); got != c.want {
			t.Errorf("capabilities %05b: %v Gb/s becomes %v, want %v", c.caps, c.rate, got, c.want)
		}
	}
}

// The rate before another in the architecture's order, in name and in fact.
func TestHighestBelow(t *testing.T) {
	const all = rateCapsEnd - 1
	for _, c := range []struct{ rate, want float64 }{
		{2.5, 0}, {5, 2.5}, {10, 5}, {14, 10}, {20, 14}, {30, 20}, {25, 20}, {40, 28}, {56, 50}, {50, 40}, {100, 80},
		{400, 300},
	} {
		if got := highest(known[all], code(t, c.rate), true).Gbps(); got != c.want {
			t.Errorf("below %v Gb/s: %v, want %v", c.rate, got, c.want)
		}
	}
}

// What OpenSM's max_rate_enum makes of rates (3.3.24), and with 18
// use_original_extended_sa_rates_only (3.3.23).
func TestLimitRate(t *testing.T) {
	for _, c := range []struct {
		most mad.Rate
		want map[float64]float64 // Gb/s
	}{
		{0, map[float64]float64{2.5: 2.5, 28: 28, 2400: 2400}},
		{22, map[float64]float64{50: 50, 400: 400, 800: 600, 1200: 600}},
		{20, map[float64]float64{28: 28, 50: 50, 300: 300, 400: 50, 600: 50, 1200: 50}},
		{18, map[float64]float64{2.5: 2.5, 25: 25, 28: 25, 50: 40, 100: 100, 300: 300, 400: 300, 600: 300, 800: 300,
			1200: 300}},
		{16, map[float64]float64{100: 100, 168: 168, 200: 100, 300: 100, 28: 25, 50: 40}},
		{10, map[float64]float64{120: 120, 14: 10, 25: 20, 56: 40, 100: 80, 112: 80, 168: 120, 200: 120, 400: 120}},
		{2, map[float64]float64{2.5: 2.5, 10: 2.5, 1200: 2.5}},
	} {
		for rate, want := range c.want {
			if got := LimitRate(code(t, rate), c.most).Gbps(); got != want {
				t.Errorf("up to code %d: %v Gb/s becomes %v, want %v", c.most, rate, got, want)
			}
		}
	}
}

func code(t *testing.T, gbps float64) mad.Rate {
	for r := minRate; r <= maxRate; r++ {
		if r.Gbps() == gbps {
			return r
		}
	}
	t.Fatalf("no rate of %v Gb/s", gbps)
	return 0
}
