package sim_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/manager"
	"ibsm/sim"
	"ibsm/sim/fabric"
	"ibsm/sweep"
	"ibsm/topo/net"
	"ibsm/topo/net/nettest"
)

// wild is a fabric whose M_Keys change while packets are lost, managers die and take over, and ports boot.
type wild struct {
	*harness
	rng      *rand.Rand
	number   uint32 // of M_Keys
	perPort  bool
	managers [2]*watched // at hosts 0 and 5; nil for one that is dead
	disks    [2]*sim.Disk
	older    sweep.Restored // files of an earlier time
	split    bool           // both managers were masters at once
	did      []string
}

func (w *wild) note(format string, args ...any) {
	w.did = append(w.did, fmt.Sprintf("%v ", w.Fabric.Now())+fmt.Sprintf(format, args...))
}

func (w *wild) config(i int) (cfg manager.Config) {
	cfg = portMKeys(w.number)
	cfg.Sweep.Settings.MKeyPerPort = w.perPort
	cfg.Elect.Priority = uint8(5 - i)
	return cfg
}

// start starts a dead manager, with files of now, of an earlier time, or with none.
func (w *wild) start(i int) {
	at := w.at(i)
	now := w.kept(at)
	cfg := w.config(i)
	switch w.rng.IntN(5) {
	case 0:
		cfg.Sweep.Restored = w.older
		if w.number > 1 && w.managers[1-i] == nil { // and an older store
			w.number--
			cfg.Sweep.Settings.PortMKeys = subnetSecret.Ports(w.number)
		}
		w.note("manager %d starts with number %d and old files", i, w.number)
	case 1:
		cfg.Sweep.Restored = sweep.Restored{Behind: now.Behind}
		w.note("manager %d starts with number %d, without M_Keys", i, w.number)
	case 2:
		w.note("manager %d starts with number %d, without files", i, w.number)
	default:
		cfg.Sweep.Restored = now
		w.note("manager %d starts with number %d", i, w.number)
	}
	cfg.Sweep.Restored.Port = now.Port
	w.put(i, at, cfg)
}

// put puts a manager at its port.
func (w *wild) put(i int, at net.End, cfg manager.Config) {
	w.managers[i] = w.addKept(at, cfg, w.disks[i])
}

// rotate has ports get their next M_Keys.
func (w *wild) rotate() {
	w.number++
	w.note("number %d", w.number)
	w.configure()
}

// configure has all managers that run take other M_Keys, one after the other.
func (w *wild) configure() {
	for i, m := range w.managers {
		if m != nil {
			w.Configure(m.Manager, w.config(i))
			w.pass(time.Duration(w.rng.IntN(20)) * time.Millisecond)
		}
	}
}

func (w *wild) kill(i int) {
	if w.look(); w.managers[i] != nil {
		w.note("manager %d dies", i)
		w.Kill(w.managers[i].Manager)
		w.managers[i] = nil
	}
}

func (w *wild) step() {
	switch what := w.rng.IntN(10); what {
	case 0, 1:
		w.rotate()
	case 2:
		w.perPort = !w.perPort
		w.note("for each port: %v", w.perPort)
		w.configure()
	case 3, 4:
		w.kill(w.rng.IntN(2))
	case 5:
		loss := float64(w.rng.IntN(3)) / 10
		w.note("%v of all packets are lost", loss)
		w.Fabric.SetFaults(fabric.Faults{Loss: loss})
	case 6:
		node := int32(w.rng.IntN(len(w.net.Nodes)))
		w.note("node %d boots", node)
		w.Fabric.Reboot(node)
	case 7:
		w.note("files are copied")
		w.older = w.kept(host(w.net, 0))
	default:
		if i := w.rng.IntN(2); w.managers[i] == nil {
			w.start(i)
		}
	}
	// Mostly in the middle of what was begun.
	pause := time.Duration(w.rng.IntN(15)) * time.Millisecond
	if w.rng.IntN(3) == 0 {
		pause = time.Duration(w.rng.IntN(90)) * time.Second
	}
	w.pass(pause)
	w.look()
}

// look notes whether both managers are masters.
func (w *wild) look() {
	w.split = w.split || w.managers[0] != nil && w.managers[1] != nil && w.managers[0].last() == smp.Master &&
		w.managers[1].last() == smp.Master
}

// Whatever comes in the way while M_Keys change, each port holds a key of its manager in the end, or was open after its
// lease and was taken then.
func TestPortMKeysWild(t *testing.T) {
	for _, seed := range seedsOf(t, 50, 1000) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			defer repeat(t, seed)
			runWild(t, seed)
		})
	}
}

// mustHold returns the master, and fails the test where there is none, or ports do not hold its M_Keys.
func (w *wild) mustHold() (master *watched) {
	w.Helper()
	for _, m := range w.managers {
		if m != nil && m.last() == smp.Master {
			master = m
		}
	}
	switch {
	case master == nil:
		w.Errorf("nobody is master")
	case !w.perPort:
		w.mustHoldMKey(mad.MKey(subnetSecret.MKey()), 2, 60)
	default:
		w.mustHoldPortMKeys(w.number)
	}
	return master
}

func runWild(t *testing.T, seed uint64) {
	n := nettest.Generate(t, "fattree:k=4")
	w := &wild{harness: newHarness(t, n, fabric.Config{Seed: seed}), rng: rand.New(rand.NewPCG(seed, 20)), number: 1,
		perPort: true}
	w.disks = [2]*sim.Disk{sim.NewDisk(10 * time.Millisecond), sim.NewDisk(10 * time.Millisecond)}
	w.put(0, w.at(0), w.config(0))
	w.pass(time.Second)
	w.older = w.kept(host(n, 0))
	for range 12 {
		w.step()
	}
	w.Fabric.SetFaults(fabric.Faults{})
	w.note("all is quiet")
	if w.managers[0] == nil {
		w.start(0)
	}
	w.configure()
	w.pass(15 * time.Minute)
	master := w.mustHold()
	if a, b := w.managers[0], w.managers[1]; a != nil && b != nil {
		w.split = w.split || slices.Contains(a.states, smp.Master) && slices.Contains(b.states, smp.Master)
	}
	if w.split { // one may have died before the other learnt what it had written
		w.kill(0)
		w.kill(1)
		w.start(0)
		w.pass(15 * time.Minute)
		master = w.managers[0]
	}
	if master != nil {
		w.mustBeWhole(master)
	}
	if t.Failed() {
		for i, m := range w.managers {
			if m != nil {
				t.Logf("manager %d is %v, and logged\n%s", i, m.last(),
					strings.Join(m.log[max(0, len(m.log)-20):], "\n"))
			}
		}
		t.Fatal(strings.Join(w.did, "\n"))
	}
}

// at is the port of a manager.
func (w *wild) at(i int) net.End { return host(w.net, 5*i) }
