package sim_test

import (
	"context"
	"runtime"
	"runtime/debug"
	"testing"
	"time"

	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/manager"
	"ibsm/sim/fabric"
	"ibsm/topo/net/nettest"
)

// Bounds of TestCounts. Each has a tenth to spare over what is counted today; who makes one larger says why.
const (
	mostAllocations = 0.85 // of the core, for each SMP of a cold start
	mostPortBytes   = 425  // that a manager holds for each port, forwarding tables aside
)

// TestCounts: what a cold start of 128 hosts costs in counts that do not depend on the machine. Each block of a
// forwarding table that has a LID is written once; the core allocates little for each SMP; and a manager of 1,024
// hosts holds so many bytes a port, after SUBNET UP and after links, hosts and switches have failed and come back.
func TestCounts(t *testing.T) {
	small := nettest.Generate(t, "fattree:k=8")
	blocks := 0
	f := fabric.New(small, fabric.Config{OnSet: func(s fabric.Set) {
		if s.Attr == smp.AttrLinearForwardingTable {
			blocks++
		}
	}})
	at, err := f.Attach(host(small, 0))
	if err != nil {
		t.Fatal(err)
	}
	cfg := minhopConfig()
	cfg.Once = true
	smps, allocated := countAllocations(t, manager.NewCore(cfg), f, at)
	switches, lids := 80, 128+80
	if want := switches * (lids/64 + 1); blocks != want {
		t.Errorf("%d blocks of forwarding tables were written, expected %d: each once", blocks, want)
	}
	t.Logf("%d SMPs, %.2f allocations each", smps, float64(allocated)/float64(smps))
	if each := float64(allocated) / float64(smps); each > mostAllocations {
		t.Errorf("the core allocates %.2f times for each SMP, at most %.2f are allowed", each, mostAllocations)
	}
	n := nettest.Generate(t, "fattree:k=16")
	h := newHarness(t, n, fabric.Config{Seed: 1})
	m := h.comeUp(minhopConfig())
	for _, when := range []string{"after SUBNET UP", "after failures"} {
		ports := len(m.View.Topo.Ports)
		tables := float64(len(m.View.Topo.Switches) * len(m.View.Tables.LFT[0]))
		bytes := (follow(m.Core).total() - tables) / float64(ports)
		t.Logf("%s: %.0f bytes a port, of %d ports", when, bytes, ports)
		if bytes > mostPortBytes {
			t.Errorf("%s: %.0f bytes a port, at most %d are allowed", when, bytes, mostPortBytes)
		}
		h.anHour(n, 0)
	}
}

// countAllocations brings a fabric up, as -o does, and counts the SMPs and what the core allocates.
func countAllocations(t *testing.T, core *manager.Core, f *fabric.Fabric, at *fabric.Station) (smps, allocated uint64) {
	t.Helper()
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // a collection allocates, too
	now := func() uint64 {
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.Mallocs
	}
	exited := false
	var step func(ev manager.Event)
	step = func(ev manager.Event) {
		before := now()
		actions := core.Step(f.Now(), ev)
		allocated += now() - before
		var done manager.Event
		for _, a := range actions {
			switch a := a.(type) {
			case manager.Send:
				smps += uint64(len(a.Datagrams))
				at.Send(a.Datagrams)
			case manager.Task:
				done = manager.TaskDone{Purpose: a.Purpose, Result: a.Run(context.Background())}
			case manager.Exit:
				exited = true
				if a.Err != nil {
					t.Fatal(a.Err)
				}
			}
		}
		if done != nil {
			step(done)
		}
	}
	step(manager.TimePassed{})
	for buf := make([]mad.Datagram, 256); !exited; {
		if at.Pending() > 0 {
			step(manager.Received{Datagrams: buf[:at.Recv(buf)]})
			continue
		}
		deadline, ok := core.Deadline()
		if !ok || deadline > time.Hour {
			t.Fatal("nothing happens any more")
		}
		f.Advance(deadline)
		step(manager.TimePassed{})
	}
	return smps, allocated
}
