package shape

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

func TestIrregular(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for i := range 400 {
		switches := 12 + rng.IntN(60)
		if i%10 == 0 {
			switches *= 10
		}
		degree := 3 + rng.IntN(10)
		if degree >= switches {
			degree = 5
		}
		switches += switches * degree % 2
		spec := fmt.Sprintf("random:switches=%d,degree=%d,seed=%d", switches, degree, i)
		s := Find(shuffled(t, generate(t, spec), uint64(i)))
		if s.Kind != KindIrregular {
			t.Errorf("%s: %s", spec, s.Seen)
		}
		if i < 10 {
			t.Log(spec, s.Seen)
		}
	}
}

func BenchmarkFind(b *testing.B) {
	for _, spec := range []string{"fattree:k=54", "torus:dims=10x10x10", "torus:dims=10x10x10,missing-links=3%", "dragonfly:a=12,h=6", "random:switches=3600,degree=30", "hypercube:dim=10", "torus:dims=40x40,missing-links=3%", "hyperx:dims=16x16x12", "random:switches=3000,degree=3"} {
		b.Run(spec, func(b *testing.B) {
			in := shuffled(b, generate(b, spec), 1)
			for b.Loop() {
				Find(in)
			}
		})
	}
}
