package sim_test

import (
	"context"
	"os"
	"testing"
	"time"

	"ibsm/mad"
	"ibsm/manager"
	"ibsm/sim/fabric"
	"ibsm/topo/net"
	"ibsm/topo/net/nettest"
)

// meter is a manager on a fabric that answers at once, and where the time goes.
type meter struct {
	core    *manager.Core
	at      *fabric.Station
	fabric  *fabric.Fabric
	smps    int
	mind    time.Duration // in Core.Step
	compute time.Duration // in Job.Run
	world   time.Duration // in the simulated fabric
	exited  bool
	err     error
}

func newMeter(b *testing.B, n *net.Net) *meter {
	f := fabric.New(n, fabric.Config{})
	at, err := f.Attach(host(n, 0))
	if err != nil {
		b.Fatal(err)
	}
	cfg := minhopConfig()
	cfg.Once = true
	return &meter{core: manager.NewCore(cfg), at: at, fabric: f}
}

func (m *meter) step(ev manager.Event) {
	begin := time.Now()
	actions := m.core.Step(m.fabric.Now(), ev)
	m.mind += time.Since(begin)
	var done manager.Event
	for _, a := range actions {
		begin := time.Now()
		switch a := a.(type) {
		case manager.Send:
			m.smps += len(a.Datagrams)
			m.at.Send(a.Datagrams)
			m.world += time.Since(begin)
		case manager.Task:
			done = manager.TaskDone{Purpose: a.Purpose, Result: a.Run(context.Background())}
			m.compute += time.Since(begin)
		case manager.Exit:
			m.exited, m.err = true, a.Err
		}
	}
	if done != nil {
		m.step(done)
	}
}

// run brings the fabric up, as -o does.
func (m *meter) run(b *testing.B) {
	buf := make([]mad.Datagram, 256)
	m.step(manager.TimePassed{})
	for !m.exited {
		if m.at.Pending() > 0 {
			m.step(manager.Received{Datagrams: buf[:m.at.Recv(buf)]})
			continue
		}
		at, ok := m.core.Deadline()
		if !ok {
			b.Fatal("nothing happens any more")
		}
		m.fabric.Advance(at)
		m.step(manager.TimePassed{})
	}
	if m.err != nil {
		b.Fatal(m.err)
	}
}

// BenchmarkColdSweep brings up a cold three-level fat tree of 3,456 hosts and 720
// switches, with IBSM_PROOF=1 of 11,664 and 1,620. It reports the time of the
// manager's core, of its computing and of the simulated fabric apart.
func BenchmarkColdSweep(b *testing.B) {
	spec := "fattree:k=24"
	if os.Getenv("IBSM_PROOF") == "1" {
		spec = "fattree:k=36"
	}
	n := nettest.Generate(b, spec)
	var sum meter
	b.ReportAllocs()
	for b.Loop() {
		b.StopTimer()
		m := newMeter(b, n)
		b.StartTimer()
		m.run(b)
		sum.smps += m.smps
		sum.mind += m.mind
		sum.compute += m.compute
		sum.world += m.world
	}
	per := func(v float64, unit string) { b.ReportMetric(v/float64(b.N), unit) }
	per(float64(sum.smps), "SMPs/op")
	per(sum.mind.Seconds()*1e3, "core-ms/op")
	per(sum.compute.Seconds()*1e3, "compute-ms/op")
	per(sum.world.Seconds()*1e3, "fabric-ms/op")
}
