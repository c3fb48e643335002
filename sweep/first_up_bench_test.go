package sweep

import (
	"fmt"
	"syscall"
	"testing"
	"time"

	"ibsm/sweep/engines"
)

// BenchmarkFirstUp measures how long the process computes until the first SUBNET UP of a cold subnet, as a multiple of
// the time with min-hop, which is measured beside it. The simulated devices compute in both. "own" is the same until
// the routes of the engine are in force, where interim routes serve before.
func BenchmarkFirstUp(b *testing.B) {
	for _, spec := range []string{
		"fattree:k=18", "fattree:k=24,missing-links=10%", "torus:dims=8x8x8", "dragonfly:a=8,p=4,h=4",
		"random:switches=200,degree=8,hosts=8",
		"pods:pods=11,leaves=17,spines=28,cores=5,cables=3,hosts=22,corner-spines=12,inner=8,outer=5,guests=14,outer-cables=8,missing-links=1%",
	} {
		for _, name := range []string{engines.Auto, "tree", "dfsssp", "nue", "lash"} {
			e, _ := engines.Find(name, &engines.Settings{})
			b.Run(fmt.Sprintf("%.30s/%s", spec, name), func(b *testing.B) {
				var least, first, own time.Duration
				for b.Loop() {
					h, with := newHarness(b, spec, Config{Engines: engines.Chain{engines.MinHop}}),
						newHarness(b, spec, Config{Engines: engines.Chain{e, engines.MinHop}})
					before := processTime()
					h.inTime()
					between := processTime()
					out := with.inTime()
					up := processTime()
					if task := out.Awaits(); task != nil {
						with.Take(task.Run(b.Context()))
						with.inTime()
					}
					least, first, own = least+between-before, first+up-between, own+processTime()-between
				}
				b.ReportMetric(float64(first)/float64(least), "min-hops")
				b.ReportMetric(float64(own)/float64(least), "own")
			})
		}
	}
}

// processTime is the time that the process has computed.
func processTime() time.Duration {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		panic(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}
