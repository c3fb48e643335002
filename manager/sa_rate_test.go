package manager

import (
	"math/rand/v2"
	"testing"
	"time"

	"ibsm/mad"
)

// TestClientRates compares the buckets with a count by hand: of the requests of a LID at most as many as a
// bucket has, and what flows into it since, are taken; what a sender that keeps to the limit sends always is.
func TestClientRates(t *testing.T) {
	const perSecond = 100
	for seed := range uint64(20) {
		rates, rng := new(clientRates), rand.New(rand.NewPCG(seed, 1))
		level, last := float64(perSecond), time.Duration(0) // of the bucket of LID 7
		now := time.Duration(0)
		for i := range 20_000 {
			if now += time.Duration(rng.ExpFloat64() * float64(time.Second) / perSecond / 3); rng.IntN(500) == 0 {
				now += 2 * time.Second
			}
			level = min(level+float64(now-last)*perSecond/float64(time.Second), perSecond)
			last = now
			want := level >= 1
			if taken := rates.take(7, now, perSecond); taken != want && level > 1e-6 &&
				(level < 1-1e-6 || level > 1+1e-6) {
				t.Fatalf("seed %d: request %d at %v with %.3f in the bucket: taken %v", seed, i, now, level, taken)
			} else if taken {
				level--
			}
			if i%100 == 0 && !rates.take(mad.LID(1000+i/100), now, perSecond) {
				t.Fatalf("seed %d: the first request of another LID is dropped", seed)
			}
		}
		for i := range 3 * perSecond {
			if !rates.take(8, time.Duration(i)*time.Second/perSecond, perSecond) {
				t.Fatalf("request %d of a sender that keeps to the limit is dropped", i)
			}
		}
	}
}

// A LID beyond those that ports have shares a bucket, and nothing is allocated for any.
func TestClientRatesAreBounded(t *testing.T) {
	rates := new(clientRates)
	lid := mad.LID(0)
	if n := testing.AllocsPerRun(1<<16, func() { rates.take(lid, time.Second, 10); lid++ }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkClientRates(b *testing.B) {
	rates := new(clientRates)
	for i := range b.N {
		rates.take(mad.LID(i&0x3fff), time.Duration(i)*time.Microsecond, 1000)
	}
}
