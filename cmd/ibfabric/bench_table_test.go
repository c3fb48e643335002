package main

import (
	"slices"
	"testing"
)

// TestCompare: each pair gives a ratio, the table shows the median of them, and runs on
// ibsim, which counts no SMPs, show none. Of a lost link there are SMPs, but no phases.
func TestCompare(t *testing.T) {
	var all []measurement
	for run, cpu := range []float64{1, 4, 2} { // ibsm's; OpenSM's is always 10
		for _, kind := range []string{"cold start", lostLink, onIbsim} {
			all = append(all,
				measurement{Spec: "a", Run: run, Kind: kind, Manager: openSM, User: 8, System: 2,
					SMPs: map[string]uint64{"Get NodeInfo": 5}},
				measurement{Spec: "a", Run: run, Kind: kind, Manager: ibsm, User: cpu,
					SMPs: map[string]uint64{"Get NodeInfo": 4}})
		}
	}
	list := compare(all, "a")
	find := func(kind, figure string) int {
		return slices.IndexFunc(list, func(c comparison) bool { return c.Kind == kind && c.Figure == figure })
	}
	for _, kind := range []string{"cold start", onIbsim} {
		i := find(kind, "user+system CPU, s")
		if i < 0 || list[i].Base != 10 || list[i].IBSM != 2 || list[i].Ratio != 0.2 {
			t.Errorf("%s: CPU at %d of %v: want 10, 2 and 0.2", kind, i, list)
		}
	}
	if i := find("cold start", "SMPs"); i < 0 || list[i].Ratio != 0.8 {
		t.Errorf("cold start: SMPs at %d of %v: expected a ratio of 0.8", i, list)
	}
	if i := find(lostLink, "SMPs"); i < 0 || list[i].Ratio != 0.8 ||
		find(lostLink, "peak memory, MB") >= 0 || find(lostLink, "to the first Set") >= 0 {
		t.Errorf("a lost link: SMPs at %d of %v", i, list)
	}
	if find(onIbsim, "SMPs") >= 0 || find(onIbsim, "Get NodeInfo") >= 0 || find(onIbsim, "to the first Set") >= 0 {
		t.Errorf("runs on ibsim show figures that only our server counts: %v", list)
	}
}
