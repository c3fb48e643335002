package sim_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/registry"
	"ibsm/sa"
	"ibsm/sim"
	"ibsm/sim/fabric"
	"ibsm/topo/net/nettest"
)

// mirrorLag is how far a standby may be behind.
const mirrorLag = 100 * time.Millisecond

// When the master is killed, at any moment and while packets are lost, the standby goes on
// with all that was acknowledged 100 ms before, on the same MLIDs, and asks nobody to
// register again.
func TestStandbyTakesOverWhatIsRegistered(t *testing.T) {
	for _, seed := range seeds(t) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			defer repeat(t, seed)
			standbyTakesOver(t, seed)
		})
	}
}

func standbyTakesOver(t *testing.T, seed uint64) {
	rng := rand.New(rand.NewPCG(seed, 0x5a5b))
	n := nettest.Generate(t, "fattree:k=4")
	b := newHarness(t, n, fabric.Config{Seed: rng.Uint64()})
	high, low := registrarConfig(), registrarConfig()
	high.Elect.Priority, low.Elect.Priority = 9, 3
	disk := sim.NewDisk(pick(rng, 0, time.Millisecond, 50*time.Millisecond))
	first := b.addKept(host(n, 0), high, sim.NewDisk(time.Millisecond))
	second := b.addKept(host(n, 6), low, disk)
	t.Cleanup(second.dump)
	t.Cleanup(first.dump)
	b.pass(settling)
	if first.last() != smp.Master || second.last() != smp.Standby {
		t.Fatalf("the higher is %v, the lower %v", first.last(), second.last())
	}
	clients := b.clients(rng, 1, 2, 3, 4, 5, 7)
	b.Fabric.SetFaults(fabric.Faults{Loss: pick(rng, 0, 0.01, 0.05), Duplicate: pick(rng, 0, 0.05), Reorder: 0.05,
		ReorderBy: time.Millisecond})
	b.ask(clients, b.Fabric.Now()+10*time.Second+time.Duration(rng.Int64N(int64(5*time.Second))), true)
	b.Run(b.Fabric.Now()+time.Duration(rng.Int64N(int64(20*time.Millisecond))), nil)
	for _, c := range clients {
		c.TakeReregister()
	}
	killed, before := b.Fabric.Now(), first.Registrar().State()
	b.Kill(first.Manager)
	if !b.Run(killed+settling, func() bool { return second.View != nil }) {
		t.Fatal("the second manager does not take over")
	}
	b.mustHaveInherited(second.Registrar().State(), before, killed, clients)
	b.ask(clients, b.Fabric.Now()+10*time.Second, true)
	b.Fabric.SetFaults(fabric.Faults{})
	b.ask(clients, b.Fabric.Now()+time.Minute, false)
	b.mustHold(second, clients)
	b.mustAskNobody(clients)
	state := second.Registrar().State()
	b.pass(time.Second)
	b.Kill(second.Manager)
	if kept := disk.Contents().Registry.Freeze(); kept.Seq() != state.Seq() ||
		!slices.Equal(slices.Collect(kept.Changes()), slices.Collect(state.Changes())) {
		t.Errorf("the second manager's disk has change %d and %+v, it had %d and %+v", kept.Seq(), kept.Counts(),
			state.Seq(), state.Counts())
	}
}

// mustHaveInherited compares what a new master begins with to what was acknowledged to clients by
// the old one, and its MLIDs against the old one's.
func (b *harness) mustHaveInherited(s, before *registry.State, killed time.Duration, clients []*client) {
	b.Helper()
	b.mustHaveInheritedSince(mirrorLag, s, before, killed, clients)
}

// mustHaveInheritedSince is mustHaveInherited for a mirror that may be farther behind.
func (b *harness) mustHaveInheritedSince(lag time.Duration, s, before *registry.State, killed time.Duration,
	clients []*client) {
	b.Helper()
	checked := 0
	for i, c := range clients {
		last := map[any]acknowledgement{}
		for _, a := range c.history {
			last[a.what] = a
		}
		for what, a := range last {
			if a.at > killed-lag || c.lastAsked[what] > a.at || c.unsure[what] {
				continue
			}
			checked++
			mgid, isGroup := what.(mad.GID)
			if !isGroup {
				b.mustBeSubscribed(s, c, what.(uint16), a.subscribed)
				continue
			}
			m, is := s.Member(mgid, c.gid)
			if was, _ := before.Member(mgid, c.gid); was.JoinState != a.joined {
				continue // the group went with its last full member
			}
			if m.JoinState != a.joined || is != (a.joined != 0) {
				b.Errorf("client %d in group %v: JoinState %x, %x was acknowledged %v before the end", i, mgid,
					m.JoinState, a.joined, killed-a.at)
			}
			now, _ := s.Group(mgid)
			if was, _ := before.Group(mgid); a.joined != 0 && now.MLID != was.MLID {
				b.Errorf("group %v had MLID %#x and has %#x", mgid, uint16(was.MLID), uint16(now.MLID))
			}
		}
	}
	if checked < len(clients) {
		b.Errorf("only %d acknowledgements were checked", checked)
	}
}

func (b *harness) mustBeSubscribed(s *registry.State, c *client, trap uint16, want bool) {
	b.Helper()
	is := false
	for sub := range s.SubscriptionsOf(c.gid) {
		is = is || sub.Trap == trap
	}
	if is != want {
		b.Errorf("%v, trap %d: subscribed %t, acknowledged %t", c.gid, trap, is, want)
	}
}

// After a mirror that failed before the master did, clients are asked to register again.
func TestMirrorFailed(t *testing.T) {
	n := nettest.Generate(t, "fattree:k=4")
	b := newHarness(t, n, fabric.Config{Seed: 1})
	high, low := registrarConfig(), registrarConfig()
	high.Elect.Priority, low.Elect.Priority = 9, 3
	first := b.add(host(n, 0), high)
	second := b.add(host(n, 6), low)
	t.Cleanup(second.dump)
	b.pass(settling)
	clients := b.clients(rand.New(rand.NewPCG(1, 1)), 1, 2)
	for _, c := range clients {
		c.TakeReregister()
	}
	changed := high
	changed.Registrar.Mirror.SMKey = 99 // of the mirror alone
	first.Registrar().Step(b.Fabric.Now(), sa.ConfigChanged{Config: changed.Registrar})
	b.pass(10 * time.Second)
	b.Kill(first.Manager)
	b.pass(settling)
	for i, c := range clients {
		if !c.TakeReregister() {
			t.Errorf("client %d was not asked to register again", i)
		}
	}
}

// A manager that comes later and ranks higher is handed the mastership when it has mirrored
// everything. The one that has handed over then mirrors it. Neither asks clients to
// register again.
func TestMirrorAfterHandover(t *testing.T) {
	n := nettest.Generate(t, "fattree:k=4")
	b := newHarness(t, n, fabric.Config{Seed: 1})
	high, low := registrarConfig(), registrarConfig()
	high.Elect.Priority, low.Elect.Priority = 9, 3
	first := b.add(host(n, 0), low)
	t.Cleanup(first.dump)
	b.pass(settling)
	clients := b.clients(rand.New(rand.NewPCG(1, 1)), 1, 2, 3, 4)
	b.ask(clients, b.Fabric.Now()+10*time.Second, true)
	b.ask(clients, b.Fabric.Now()+5*time.Second, false)
	for _, c := range clients {
		c.TakeReregister()
	}
	second := b.add(host(n, 6), high)
	t.Cleanup(second.dump)
	b.pass(2 * time.Minute)
	if first.last() != smp.Standby || second.last() != smp.Master {
		t.Fatalf("the lower is %v, the higher %v", first.last(), second.last())
	}
	b.mustAskNobody(clients)
	b.ask(clients, b.Fabric.Now()+10*time.Second, true)
	b.ask(clients, b.Fabric.Now()+5*time.Second, false)
	b.mustHold(second, clients)
	before := second.Registrar().State()
	b.Kill(second.Manager)
	b.pass(2 * time.Minute)
	if first.last() != smp.Master {
		t.Fatalf("the lower is %v", first.last())
	}
	b.mustHaveInherited(first.Registrar().State(), before, b.Fabric.Now(), clients)
	b.mustAskNobody(clients)
}

// mustAskNobody holds that no client has been asked to register again.
func (b *harness) mustAskNobody(clients []*client) {
	b.Helper()
	for i, c := range clients {
		if c.TakeReregister() {
			b.Errorf("client %d was asked to register again", i)
		}
	}
}
