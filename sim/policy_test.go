package sim_test

import (
	"fmt"
	"testing"
	"time"

	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/manager"
	"ibsm/partitions"
	"ibsm/sim/fabric"
	"ibsm/sweep"
	"ibsm/topo/net/nettest"
)

// withPolicy is a manager whose policy is a partition file, as it reads it and sends it.
func withPolicy(t *testing.T, priority uint8, file string) manager.Config {
	t.Helper()
	cfg := registrarConfig()
	cfg.Elect.Priority = priority
	cfg.Registrar.Mirror.Policy = []byte(file)
	cfg.Sweep.Partitions.Policy = parsePolicy(t, file)
	return cfg
}

func parsePolicy(t *testing.T, file string) *partitions.Policy {
	t.Helper()
	p, errors, _ := partitions.Parse("partitions.conf", []byte(file)).Policy()
	if len(errors) > 0 {
		t.Fatal(errors)
	}
	return p
}

// A manager that has different partitions than the master takes over with the master's, whether
// the master dies or it is handed the mastership at once: no port gets other P_Keys at any
// time.
func TestMastersPolicyStays(t *testing.T) {
	const theirs, own = "Default=0x7fff: ALL=full;\na=0x0001: ALL_CAS=full;\n",
		"Default=0x7fff: ALL=full;\nb=0x0002: ALL_CAS=full;\n"
	for _, priority := range []uint8{1, 9} {
		t.Run(fmt.Sprint("priority ", priority), func(t *testing.T) {
			n := nettest.Generate(t, "fattree:k=4")
			b := newHarness(t, n, fabric.Config{Seed: 1})
			first := b.add(host(n, 0), withPolicy(t, 5, theirs))
			t.Cleanup(first.dump)
			b.pass(settling)
			before := b.snapshot()
			b.Fabric.ResetStats()
			cfg := withPolicy(t, priority, own)
			second := b.add(host(n, 6), cfg)
			t.Cleanup(second.dump)
			count := 0
			second.Mirrored = func(policy []byte) {
				count++
				cfg.Sweep.Partitions = sweep.Partitions{Policy: parsePolicy(t, string(policy))}
				b.Configure(second.Manager, cfg)
			}
			b.pass(30 * time.Second)
			if count != 1 {
				t.Errorf("it received the policy of the master %d times", count)
			}
			if priority < 5 {
				b.Kill(first.Manager)
				b.pass(settling)
			}
			if second.last() != smp.Master {
				t.Fatalf("the second is %v", second.last())
			}
			b.mustBeAsBefore(before)
			for kind, count := range b.Fabric.Stats().SMPs {
				if kind.Attr == smp.AttrPKeyTable && kind.Method == mad.MethodSet {
					t.Errorf("%d Sets of P_KeyTable", count)
				}
			}
		})
	}
}

// A standby reports once that the master that it follows is not ibsm, and never
// of one of our own.
func TestForeignMaster(t *testing.T) {
	for _, plain := range []bool{false, true} {
		n := nettest.Generate(t, "fattree:k=4")
		b := newHarness(t, n, fabric.Config{Seed: 1})
		first := rival{plain: plain, m: b.add(host(n, 0), registrarConfig())}
		first.m.OnAction = func(now time.Duration, a manager.Action) {
			if s, ok := a.(manager.Send); ok {
				for i := range s.Datagrams {
					first.blind(&s.Datagrams[i].Packet)
				}
			}
		}
		b.pass(settling)
		second := b.add(host(n, 6), registrarConfig())
		reports := 0
		second.OnAction = func(now time.Duration, a manager.Action) {
			second.took(now, a)
			if _, is := a.(manager.ForeignMaster); is {
				reports++
			}
		}
		b.pass(settling)
		if want := map[bool]int{false: 0, true: 1}[plain]; reports != want || second.last() != smp.Standby {
			t.Errorf("plain %t: logged %d times, the second is %v", plain, reports, second.last())
		}
	}
}
