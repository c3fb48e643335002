package perf

import (
	"math/rand/v2"
	"testing"
	"time"

	"ibsm/mad"
	"ibsm/mad/pma"
)

// FuzzMachine gives a machine responses of random bytes, mutated ones, late, doubled and missing
// ones, jumps of time and other ports in the midst of sweeps. It must not panic, keeps its
// window, and nothing that it reports is more than a link can carry.
func FuzzMachine(f *testing.F) {
	f.Add(uint64(1), []byte("\x00\x01\x02\x03\x04\x05\x06\x07\x00\x00\x00\x00"))
	for seed := range uint64(20) {
		rng := rand.New(rand.NewPCG(seed, 5))
		ops := make([]byte, 200)
		for i := range ops {
			ops[i] = byte(rng.Uint32())
		}
		f.Add(seed, ops)
	}
	f.Fuzz(func(t *testing.T, seed uint64, ops []byte) {
		ops = ops[:min(len(ops), 200)]
		rng := rand.New(rand.NewPCG(seed, 6))
		s := Settings{Interval: time.Minute, Window: 3, QueryInfo: true, Redirect: true, Keep: time.Hour, Memory: 4096}
		m := New(s)
		now := time.Duration(0)
		var waiting []Ask
		step := func(e Event) {
			out := m.Step(now, e)
			waiting = append(waiting, out.Asks...)
			if len(waiting) > 3 || len(out.Findings) > maxFindings {
				t.Fatalf("%d requests on the way, %d findings", len(waiting), len(out.Findings))
			}
			if out.Image == nil {
				return
			}
			for k, d := range out.Image.All {
				if one, ok := out.Image.Port(k); !ok || one != *d {
					t.Fatalf("%v alone is %+v, among all %+v", k, one, *d)
				}
				for c := range pma.AllCounters.All {
					if most := limit(c, slow, d.Span); d.N[c] > most || d.N[c] > 0 && !d.Has.Has(c) {
						t.Fatalf("%v: %v counted %d, known %t; the link carries %d", k, c, d.N[c], d.Has.Has(c), most)
					}
				}
			}
		}
		list := testPorts(4, 3)
		for i := range list {
			list[i].Words = slow
		}
		step(&Ports{list})
		for _, op := range ops {
			now += time.Duration(rng.IntN(5000)) * time.Millisecond
			if len(waiting) == 0 || op%16 == 0 {
				now += time.Duration(rng.IntN(100)) * time.Second
				step([]Event{&Tick{}, &SweepNow{}, &Rebooted{map[mad.GUID]bool{mad.GUID(rng.IntN(5)): true}},
					&Ports{list[:rng.IntN(len(list)+1)]},
					&Answered{rng.Uint64(), &mad.Packet{}}, &Unanswered{uint64(rng.IntN(4))}}[rng.IntN(6)])
				continue
			}
			i := int(op) % len(waiting)
			a := waiting[i]
			waiting = append(waiting[:i:i], waiting[i+1:]...)
			p := a.Packet
			p.SetMethod(mad.MethodGetResp)
			for j := 68; j < len(p) && op%4 != 0; j++ {
				p[j] = byte(rng.Uint32()) >> (rng.IntN(3) * 4)
			}
			if op%8 == 1 {
				p[rng.IntN(len(p))] ^= 1 << rng.IntN(8)
			}
			if op%8 == 3 {
				step(&Unanswered{a.Tag})
			} else {
				step(&Answered{a.Tag, &p})
			}
		}
	})
}
