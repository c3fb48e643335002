package sim_test

import (
	"os"
	"slices"
	"syscall"
	"testing"
	"time"

	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/manager"
	"ibsm/registry"
	"ibsm/sim"
	"ibsm/sim/fabric"
	"ibsm/store"
	"ibsm/topo/net"
	"ibsm/topo/net/nettest"
)

// relay is two managers that take turns: the master is killed and started again, another
// comes that knows nothing, catches up, and takes over when the master is killed for good.
type relay struct {
	*harness
	cfg             manager.Config
	master, standby *watched
	polls, mirrored int // packets that the standby was sent, and those of the mirror both were
}

// BenchmarkFailover is the largest subnet that LIDs have room for with IBSM_PROOF=1, 39,366
// hosts on 3,645 switches, with 10,000 groups and 100,000 members; else one of 1,024 hosts
// with a tenth of these. CPU is that of the manager alone.
func BenchmarkFailover(b *testing.B) {
	r := newRelay(b)
	var sum struct{ restart, caughtUp, takeover, catchUp, rules, serves time.Duration }
	var packets, mirrored, polls int
	for b.Loop() {
		r.Kill(r.master.Manager)
		r.master = r.start(r.master.Station.At(), r.master.Disk)
		r.until("serves again", func() bool { return r.master.View != nil })
		sum.restart += r.master.Busy
		r.pass(10 * time.Second)

		began, had := r.Fabric.Now(), r.mirrored
		r.standby = r.start(r.other(), sim.NewDisk(time.Millisecond))
		r.until("has caught up", func() bool {
			return r.standby.Registrar().State().Counts() == r.master.Registrar().State().Counts()
		})
		sum.catchUp += r.Fabric.Now() - began
		sum.caughtUp += r.standby.Busy
		packets += r.mirrored - had

		r.pass(10 * time.Second)
		had, hadPolls := r.mirrored, r.polls
		r.pass(time.Minute)
		mirrored, polls = mirrored+r.mirrored-had, polls+2*(r.polls-hadPolls)

		began, r.standby.Busy = r.Fabric.Now(), 0
		r.Kill(r.master.Manager)
		r.until("rules", func() bool { return r.standby.last() == smp.Master })
		sum.rules += r.Fabric.Now() - began
		r.until("serves", func() bool { return r.standby.View != nil })
		sum.serves += r.Fabric.Now() - began
		sum.takeover += r.standby.Busy
		r.pass(10 * time.Second)
		r.master, r.standby = r.standby, r.master
	}
	per := func(v float64, unit string) { b.ReportMetric(v/float64(b.N), unit) }
	per(sum.restart.Seconds()*1e3, "restart-CPU-ms")
	per(sum.caughtUp.Seconds()*1e3, "catch-up-CPU-ms")
	per(sum.catchUp.Seconds()*1e3, "catch-up-virtual-ms")
	per(float64(packets), "catch-up-packets")
	per(float64(mirrored)/60, "mirror-packets/s")
	per(float64(polls)/60, "poll-packets/s")
	per(sum.takeover.Seconds()*1e3, "takeover-CPU-ms")
	per(sum.rules.Seconds()*1e3, "master-after-virtual-ms")
	per(sum.serves.Seconds()*1e3, "serves-after-virtual-ms")
}

func newRelay(b *testing.B) *relay {
	spec, groups := "fattree:k=16", 1_000
	if os.Getenv("IBSM_PROOF") != "" {
		spec, groups = "fattree:k=54", 10_000
	}
	r := &relay{harness: newHarness(b, nettest.Generate(b, spec), fabric.Config{Seed: 1}), cfg: registrarConfig()}
	r.cfg.SweepInterval = 0
	r.Clock = func() time.Duration {
		var u syscall.Rusage
		if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
			b.Fatal(err)
		}
		return time.Duration(u.Utime.Nano() + u.Stime.Nano())
	}
	disk := sim.NewDisk(time.Millisecond)
	disk.Load(store.Batch{Registry: r.registered(groups)})
	r.master = r.start(firstHost(r.net), disk)
	r.standby = r.master
	r.until("comes up", func() bool { return r.master.View != nil })
	b.Logf("it came up in %v of CPU", r.master.Busy)
	r.pass(10 * time.Second)
	return r
}

// registered is so many groups with ten members each.
func (r *relay) registered(groups int) *registry.State {
	r.Helper()
	reg := registry.New()
	put := func(c registry.Change) {
		if err := reg.Apply(c); err != nil {
			r.Fatal(err)
		}
	}
	ends := slices.DeleteFunc(slices.Collect(r.Fabric.EndPorts()), func(at net.End) bool { return at.Port == 0 })
	for i := range groups {
		mgid := mad.GID{0xff, 0x12, 0x60, 0x1b, 0xff, 0xff, 12: byte(i >> 24), 13: byte(i >> 16), 14: byte(i >> 8),
			15: byte(i)}
		put(registry.PutGroup{
			Group: registry.Group{MGID: mgid, MLID: mad.MinMulticastLID + 1 + mad.LID(i%1000), PKey: mad.DefaultPKey,
				QKey: 0xb1b, MTU: 4, Rate: 3},
		})
		for j := range 10 {
			port := r.Fabric.PortGUID(ends[(i*10+j*37)%len(ends)])
			put(registry.PutMember{
				Member: registry.Member{MGID: mgid, Port: mad.MakeGID(mad.DefaultPrefix, port),
					JoinState: registry.FullMember},
			})
		}
	}
	return reg.Freeze()
}

// start puts a manager at a port in place of those that have ended, and counts what it hears.
func (r *relay) start(at net.End, disk *sim.Disk) *watched {
	r.Managers = slices.DeleteFunc(r.Managers, func(m *sim.Manager) bool { return m.Exited })
	m := r.addKept(at, r.cfg, disk)
	m.Heard = func(received []mad.Datagram) {
		for i := range received {
			switch {
			case received[i].Packet.MgmtClass() == mad.ClassMirror:
				r.mirrored++
			case m.last() == smp.Standby:
				r.polls++
			}
		}
	}
	return m
}

// other is a port where the master is not.
func (r *relay) other() net.End {
	if at := firstHost(r.net); at != r.master.Station.At() {
		return at
	}
	return host(r.net, 700)
}
