package sim_test

import (
	"os"
	"runtime"
	"syscall"
	"testing"
	"time"

	"ibsm/mad"
	"ibsm/manager"
	"ibsm/sim/fabric"
	"ibsm/sweep/routes"
	"ibsm/topo/net"
	"ibsm/topo/net/nettest"
)

// BenchmarkLongestStep reports how long the core computes for one event at most, in milliseconds of CPU time to within
// 4: while a subnet comes up, in a full and a light sweep, when hosts, links and switches fail and come back, when a
// host lies without end, when a standby stands by, and when it takes over. The second subnet has M_Keys of ports,
// partitions and lanes. With IBSM_PROOF=1 both have 49,042 LIDs, else 1,344.
func BenchmarkLongestStep(b *testing.B) {
	spec := "fattree:k=16"
	if os.Getenv("IBSM_PROOF") != "" {
		spec = "fattree:k=62,pods=47"
	}
	n := nettest.Generate(b, spec)
	b.Run("plain", func(b *testing.B) {
		for b.Loop() {
			l := &longestStep{harness: newHarness(b, n, fabric.Config{Seed: 1, TrainTime: 20 * time.Millisecond})}
			l.measure(b, n, minhopConfig())
		}
	})
	b.Run("all", func(b *testing.B) {
		for b.Loop() {
			l := &longestStep{harness: newHarness(b, n, fabric.Config{Seed: 1, TrainTime: 20 * time.Millisecond,
				Caps: func(_ int32, node *net.Node, c *fabric.Caps) {
					if c.NVIDIA, c.OneVL, c.VLCap = true, true, 4; node.Type == mad.Switch {
						c.AR = fabric.AROn
					}
				}})}
			cfg := portMKeys(1)
			s := &cfg.Sweep.Settings
			s.AR, s.QoS, s.Lanes = routes.DisableAR, true, useOf(highLimit)
			cfg.Sweep.Partitions.Policy = tenantPolicy()
			l.measure(b, n, cfg)
		}
	})
}

// longestStep is the longest step of a core since it was read last.
type longestStep struct {
	*harness
	longest time.Duration
}

func (l *longestStep) measure(b *testing.B, n *net.Net, cfg manager.Config) {
	runtime.LockOSThread() // its CPU time is what is measured
	defer runtime.UnlockOSThread()
	runtime.GC()
	l.Clock, l.StepTook = threadTime(b), func(_ manager.Event, took time.Duration) { l.longest = max(l.longest, took) }
	report := func(what string, lasts time.Duration) {
		l.pass(lasts)
		b.ReportMetric(l.longest.Seconds()*1e3, what+"-ms")
		l.longest = 0
	}
	m := l.comeUp(cfg)
	report("up", 0)
	l.Ask(m.Manager, manager.Heavy)
	report("full", time.Minute)
	report("light", 10*time.Second)
	other, liar := host(n, 100), host(n, 300)
	leaf := l.Fabric.Peer(other).Node
	l.Fabric.Reboot(other.Node)
	report("host", 20*time.Second)
	l.Fabric.LinkDown(uplink(n, leaf))
	report("link", 20*time.Second)
	l.Fabric.Reboot(leaf)
	report("switch", 20*time.Second)
	second := l.standby(host(n, 200), cfg)
	report("standby", 20*time.Second)
	l.Kill(m.Manager)
	if !l.Run(l.Fabric.Now()+10*time.Minute, func() bool { return len(second.ups) > 0 }) {
		b.Error("the standby has not taken over")
	}
	report("takeover", 20*time.Second)
	l.Fabric.SetLie(liar.Node, &fabric.Lie{Self: fabric.SwitchClaim(liarGUID, 254), Endless: true})
	peer := l.Fabric.Peer(liar)
	l.Fabric.LinkDown(peer)
	l.pass(time.Second)
	l.Fabric.LinkUp(peer)
	report("liar", 20*time.Second)
}

// standby adds a manager beside a master, with what that has in its store.
func (l *longestStep) standby(at net.End, cfg manager.Config) *watched {
	if cfg.Sweep.Settings.PortMKeys.On() {
		cfg.Sweep.Restored = l.kept(at)
	}
	return l.add(at, cfg)
}

// threadTime is the CPU time of the thread that it is called in.
func threadTime(b *testing.B) func() time.Duration {
	const thread = 1 // RUSAGE_THREAD of Linux
	return func() time.Duration {
		var u syscall.Rusage
		if err := syscall.Getrusage(thread, &u); err != nil {
			b.Fatal(err)
		}
		return time.Duration(u.Utime.Nano() + u.Stime.Nano())
	}
}
