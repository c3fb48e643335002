package sim_test

import (
	"fmt"
	"os"
	"runtime"
	"sort"
	"strings"
	"testing"
	"time"

	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/manager"
	osmlog "ibsm/opensm/log"
	"ibsm/sim/fabric"
	"ibsm/topo/net/nettest"
)

// Over an unchanged fabric no sweep sets anything, a light one asks little, and a view
// shares the fabric with the one before, so that nobody looks for changes.
func TestUnchanged(t *testing.T) {
	for _, spec := range []string{"fattree:k=8", "torus:dims=4x4", "fattree:k=8,levels=2"} {
		t.Run(spec, func(t *testing.T) {
			b := newHarness(t, nettest.Generate(t, spec), fabric.Config{Seed: 1})
			m := b.comeUp(minhopConfig())
			switches := 0
			for i := range b.net.Nodes {
				if b.net.Nodes[i].Type == mad.Switch {
					switches++
				}
			}
			b.Fabric.ResetStats()
			m.sweep(manager.Light)
			t.Log("light sweep:", asked(b.Fabric))
			if got := total(b.Fabric); got > switches+1 {
				t.Errorf("a light sweep of %d switches sends %d SMPs", switches, got)
			}
			for _, kind := range []manager.Sweep{manager.Heavy, manager.Reroute} {
				b.Fabric.ResetStats()
				before := m.View
				m.sweep(kind)
				t.Log("heavy sweep:", asked(b.Fabric))
				if n := b.sets(); n > 0 {
					t.Errorf("sweep %d sends %d Sets", kind, n)
				}
				if v := m.View; v.Gen == before.Gen || v.Topo != before.Topo || v.LIDs != before.LIDs ||
					v.Tables != before.Tables || v.MFTs != before.MFTs {
					t.Errorf("sweep %d leaves generation %d for %d; Topo, LIDs, Tables, MFTs the same: %v, %v, %v, %v",
						kind, v.Gen, before.Gen,
						v.Topo == before.Topo, v.LIDs == before.LIDs, v.Tables == before.Tables, v.MFTs == before.MFTs)
				}
			}
			b.Fabric.ResetStats()
			b.pass(time.Minute)
			if n := b.sets(); n > 0 {
				t.Errorf("%d Sets in a minute of quiet", n)
			}
		})
	}
}

// asked is what agents have been asked, in words.
func asked(f *fabric.Fabric) string {
	var parts []string
	for k, n := range f.Stats().SMPs {
		if !k.Method.IsResponse() {
			parts = append(parts, fmt.Sprintf("%v(%s) %d", k.Method, smp.AttrName(k.Attr), n))
		}
	}
	sort.Strings(parts)
	return fmt.Sprintf("%d SMPs: %s", total(f), strings.Join(parts, ", "))
}

func total(f *fabric.Fabric) (count int) {
	for k, n := range f.Stats().SMPs {
		if !k.Method.IsResponse() {
			count += int(n)
		}
	}
	return count
}

// However often links fall and come back, the manager keeps no more than it needs.
func TestMemory(t *testing.T) {
	b := newHarness(t, nettest.Generate(t, "fattree:k=8,levels=2"), fabric.Config{Seed: 1})
	m := b.comeUp(minhopConfig())
	flaps := func(count int) uint64 {
		for i := range count {
			at := host(b.net, 1+i%20)
			b.Fabric.LinkDown(at)
			b.pass(500 * time.Millisecond)
			b.Fabric.LinkUp(at)
			b.pass(500 * time.Millisecond)
			m.log, m.ups = nil, nil
		}
		var stats runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&stats)
		return stats.HeapAlloc
	}
	before := flaps(40)
	after := flaps(200)
	t.Logf("heap in use: %d KiB, later %d KiB", before>>10, after>>10)
	if after > before+256<<10 {
		t.Errorf("the heap grows from %d to %d bytes", before, after)
	}
	b.pass(settling)
	b.mustBeWhole(m)
}

// TestQuietDay: in a day of an unchanged subnet no Set is sent and no line of the log written but the debug lines of
// light sweeps, each of which costs a request to each switch and one to our own port, and the heap does not grow.
func TestQuietDay(t *testing.T) {
	spec, switches := "fattree:k=4", uint64(20)
	if os.Getenv("IBSM_PROOF") != "" {
		spec, switches = "fattree:k=8", 80
	}
	b := newHarness(t, nettest.Generate(t, spec), fabric.Config{Seed: 1})
	m := b.comeUp(registrarConfig())
	b.pass(settling) // a model's first switch is asked for the states of its ports
	lines, sweeps := 0, uint64(0)
	m.OnAction = func(_ time.Duration, a manager.Action) {
		switch a := a.(type) {
		case manager.Log:
			if lines++; a.Msg == osmlog.LightSweep || a.Msg == osmlog.LightSweepDone {
				lines--
			}
		case manager.Swept:
			sweeps++
		}
	}
	heap := func(d time.Duration) uint64 {
		for end := b.Fabric.Now() + d; b.Fabric.Now() < end; {
			b.pass(time.Hour)
		}
		var stats runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&stats)
		return stats.HeapAlloc
	}
	before := heap(time.Hour)
	b.Fabric.ResetStats()
	sweeps = 0
	after := heap(24 * time.Hour)
	t.Logf("%d light sweeps, heap %d and %d KiB: %s", sweeps, before>>10, after>>10, asked(b.Fabric))
	if n := b.sets(); n > 0 || lines > 0 {
		t.Errorf("%d Sets, %d lines in the log", n, lines)
	}
	if got, want := uint64(total(b.Fabric)), sweeps*(switches+1); sweeps < 8600 || got != want {
		t.Errorf("%d light sweeps send %d SMPs, want %d", sweeps, got, want)
	}
	if after > before+64<<10 {
		t.Errorf("the heap grows from %d to %d bytes", before, after)
	}
}

// A node without a description is asked for one in each light sweep, and no more comes of
// that while it has none.
func TestNoDescription(t *testing.T) {
	n := nettest.Generate(t, "fattree:k=4")
	nameless := host(n, 3).Node
	name := ""
	b := newHarness(t, n, fabric.Config{Seed: 1, Caps: defective(nameless, named(&name))})
	m := b.comeUp(minhopConfig())
	before := len(m.ups)
	b.pass(2 * time.Minute)
	if n := len(m.ups) - before; n > 0 {
		t.Errorf("%d heavy sweeps in two minutes of quiet", n)
	}
	name = "named"
	b.pass(settling)
	m.mustKnowName(nameless, name)
}
