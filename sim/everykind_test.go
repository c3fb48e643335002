package sim_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"ibsm/mad"
	"ibsm/manager"
	"ibsm/sim"
	"ibsm/sim/fabric"
	"ibsm/sim/hosts"
	"ibsm/sweep"
	"ibsm/topo/net"
	"ibsm/topo/net/nettest"
)

// everyKind are fabrics of each generator.
var everyKind = []string{
	"fattree:k=4", "torus:dims=3x3", "mesh:dims=4x3", "hypercube:dim=3", "dragonfly:a=4,p=2,h=1",
	"hyperx:dims=3x3,hosts=2",
	"random:switches=12,degree=4,hosts=2", "tree:depth=3,fanout=3", "fattree:k=8,levels=2,missing-links=4",
	"torus:dims=3x2x2,hosts=2",
	"dragonfly+:l=3,s=2,p=1,h=2,groups=3", "pods:pods=2,leaves=3,spines=2,cores=2,hosts=2",
}

// TestSweepsOnEveryKind takes a manager on a fabric of each kind through bring-up under loss,
// light and heavy sweeps, reroutes, plans, partitions, hosts that boot and ask for paths, a
// handover, a failover, and a takeover by one that has nothing but the fabric.
func TestSweepsOnEveryKind(t *testing.T) {
	for text := range strings.Lines(net.Help()) {
		kind, _, ok := strings.Cut(text, ":")
		if ok && !strings.Contains(kind, " ") && !slices.ContainsFunc(everyKind, func(spec string) bool {
			return strings.HasPrefix(spec, kind+":")
		}) {
			t.Errorf("no fabric of kind %s", kind)
		}
	}
	for _, seed := range seedsOf(t, uint64(len(everyKind)), 300) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			defer repeat(t, seed)
			sweepOnKind(t, seed)
		})
	}
}

func sweepOnKind(t *testing.T, seed uint64) {
	rng := rand.New(rand.NewPCG(seed, 0x7ec0))
	spec := everyKind[seed%uint64(len(everyKind))]
	if nettest.Profile(t) == net.RealDevices {
		spec += []string{"", ",sharp=off", ",sharp=on"}[seed%3]
	}
	n := nettest.Generate(t, fmt.Sprintf("%s,seed=%d", spec, rng.Uint32()))
	b := newHarness(t, n,
		fabric.Config{Seed: rng.Uint64(), Latency: pick(rng, latency, 50*time.Microsecond, time.Millisecond),
			TrainTime: pick(rng, 0, 30*time.Millisecond), Caps: randomCaps(rng)})
	b.ComputeTime = pick(rng, 0, 5*time.Millisecond, 300*time.Millisecond)
	b.Fabric.SetFaults(fabric.Faults{Loss: pick(rng, 0, 0.01), Duplicate: pick(rng, 0, 0.05),
		Reorder: pick(rng, 0, 0.05), ReorderBy: time.Millisecond})
	low, high := registrarConfig(), registrarConfig()
	low.Elect.Priority, high.Elect.Priority = 3, 9
	low.Sweep.Settings.LMC = sweep.Given(pick[uint8](rng, 0, 0, 1, 2))
	m := b.addKept(host(n, 0), low, sim.NewDisk(time.Millisecond))
	b.pass(30 * time.Second)
	crowd := b.bootHosts(t, rng)
	for _, s := range []manager.Sweep{manager.Light, manager.Heavy, manager.Plan, manager.Reroute,
		manager.PlanReroute} {
		b.changeFabric(rng, m.Station.At().Node)
		b.Ask(m.Manager, s)
		b.pass(time.Duration(rng.Int64N(int64(15 * time.Second))))
	}
	for range 3 {
		b.Partition(m.Manager, sweep.Partitions{Policy: (&tenants{harness: b, rng: rng}).someone()})
		b.pass(time.Duration(rng.Int64N(int64(5 * time.Second))))
	}
	second := b.addKept(host(n, 3), high, sim.NewDisk(time.Millisecond))
	b.pass(time.Minute)
	crowd.Ask(20)
	b.changeFabric(rng, second.Station.At().Node)
	b.pass(5 * time.Second)
	b.Kill(second.Manager)
	b.pass(2 * time.Minute)
	b.Kill(m.Manager)
	b.changeFabric(rng, host(n, 1).Node)
	b.add(host(n, 1), high)
	b.pass(time.Minute)
	b.Leave(b.Managers[len(b.Managers)-1])
	b.pass(5 * time.Second)
}

// bootHosts puts hosts at all ports from the sixth on, and has them register and ask for
// paths.
func (b *harness) bootHosts(t *testing.T, rng *rand.Rand) *hosts.Crowd {
	var at []net.End
	for i := range b.net.Nodes {
		if b.net.Nodes[i].Type == mad.CA {
			at = append(at, net.End{Node: int32(i), Port: 1})
		}
	}
	crowd, err := hosts.New(b.Fabric, rng.Uint64(), at[5:])
	if err != nil {
		t.Fatal(err)
	}
	crowd.Begin(hosts.Boot{Over: 2 * time.Second, Paths: 3, Every: 500 * time.Millisecond, Own: rng.IntN(2) == 0})
	for end := b.Fabric.Now() + 10*time.Second; b.Fabric.Now() < end; {
		crowd.Step()
		b.Run(b.Fabric.Now()+5*time.Millisecond, nil)
	}
	return crowd
}

// changeFabric has a link flap or fail for a while, or a node reboot, but not own.
func (b *harness) changeFabric(rng *rand.Rand, own int32) {
	at, node := uplinkOf(b.Fabric, rng), int32(rng.IntN(b.Fabric.NumNodes()))
	b.Fabric.LinkDown(at)
	b.pass(pick(rng, 0, 100*time.Millisecond, 12*time.Second))
	b.Fabric.LinkUp(at)
	if node != own && rng.IntN(2) == 0 {
		b.Fabric.Reboot(node)
	}
}
