package sim_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"testing"
	"time"

	"ibsm/mad"
	"ibsm/manager"
	"ibsm/sim/fabric"
)

// garbler spoils what a manager receives.
type garbler struct {
	rng  *rand.Rand
	rate float64
}

func (g *garbler) spoil(received []mad.Datagram) {
	for i := range received {
		if g.rng.Float64() < g.rate {
			g.garble(&received[i])
		}
	}
}

// garble replaces bytes of a packet: all of them, the attribute, the attribute and the
// status, a few anywhere, or a few of the attribute.
func (g *garbler) garble(d *mad.Datagram) {
	p := &d.Packet
	from, to, count := 0, len(p), len(p)
	switch g.rng.IntN(6) {
	case 0:
	case 1:
		from, to, count = 64, 128, 64
	case 2:
		from, to, count = 64, 128, 64
		p.SetStatus(mad.StatusOK)
	case 3:
		count = 1 + g.rng.IntN(8)
	case 4:
		from, to, count = 64, 128, 1+g.rng.IntN(4)
	case 5:
		from, to, count = 1, 64, 1+g.rng.IntN(3)
	}
	for i := range count {
		at := from + i
		if count < to-from {
			at = from + g.rng.IntN(to-from)
		}
		p[at] = byte(g.rng.Uint32())
	}
	if g.rng.IntN(20) == 0 {
		d.TimedOut = true
	}
}

// Whatever comes in place of a reply, the manager does not panic, goes on, answers,
// and keeps within bounds.
func TestGarbage(t *testing.T) {
	count, length := 4, time.Minute
	if os.Getenv("IBSM_PROOF") != "" {
		count, length = 50, 5*time.Minute
	}
	for seed := range uint64(count) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			rng := rand.New(rand.NewPCG(seed, 0x6a5b))
			b := newHarness(t, randomNet(t, rng),
				fabric.Config{Seed: seed, Latency: 20 * time.Microsecond, Caps: randomCaps(rng)})
			m := b.add(firstHost(b.net), minhopConfig())
			g := &garbler{rng: rng, rate: pick(rng, 0.01, 0.1, 0.5)}
			m.Heard = g.spoil
			for end := b.Fabric.Now() + length; b.Fabric.Now() < end; {
				b.Fabric.Reboot(int32(1 + rng.IntN(b.Fabric.NumNodes()-1)))
				b.Ask(m.Manager, pick(rng, manager.Light, manager.Heavy))
				b.pass(5 * time.Second)
				m.log, m.ups, m.states = nil, nil, nil
			}
			g.rate = 0
			sent := m.Core.Stats().Txn.Sent
			if b.pass(2 * time.Minute); m.Core.Stats().Txn.Sent == sent {
				t.Error("the manager has come to a standstill")
			}
			var stats runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&stats)
			t.Logf("%d steps, heap %d KiB, sent %d", b.Steps, stats.HeapAlloc>>10, m.Core.Stats().Txn.Sent)
			if stats.HeapAlloc > 64<<20 {
				t.Errorf("the heap has grown to %d MiB", stats.HeapAlloc>>20)
			}
		})
	}
}
