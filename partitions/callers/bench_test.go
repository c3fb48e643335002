package callers

import (
	"fmt"
	"runtime"
	"testing"

	"ibsm/mad"
	"ibsm/partitions"
	"ibsm/registry"
)

// Sizes of a large site.
const (
	benchPartitions = 5_000
	benchMembers    = 100_000
)

// benchState is the registry of a large site, with 20 members a partition.
func benchState(b *testing.B) *registry.Registry {
	reg, r := registry.New(), Rules{Now: 1}
	for i := range benchPartitions {
		w := Wanted{Name: fmt.Sprintf("tenant-%d", i), Key: mad.PKey(1 + i), IPoIB: true}
		for j := range benchMembers / benchPartitions {
			w.Members = append(w.Members, Member{Port: 0xb83fd20300a00000 + mad.GUID(16*(i*7+j))})
		}
		done, err := r.Put(&reg.State, &w, Match{})
		if err != nil {
			b.Fatal(err)
		}
		for _, c := range done.Changes {
			if err := reg.Apply(c); err != nil {
				b.Fatal(err)
			}
		}
	}
	return reg
}

// BenchmarkPut: one member more in a partition of a large site, up to the policy that has it.
func BenchmarkPut(b *testing.B) {
	reg, r := benchState(b), Rules{Now: 2}
	set := Of(reg.Freeze(), nil)
	file := partitions.Closed()
	b.ResetTimer()
	for i := range b.N {
		done, err := r.Edit(&reg.State, fmt.Sprintf("tenant-%d", i%benchPartitions),
			&Edit{Add: ports(mad.GUID(1 + i))}, Match{})
		if err != nil {
			b.Fatal(err)
		}
		for _, c := range done.Changes {
			if err := reg.Apply(c); err != nil {
				b.Fatal(err)
			}
		}
		set = Of(reg.Freeze(), set)
		if set.Beside(file) == nil {
			b.Fatal("no policy")
		}
	}
}

// BenchmarkMemory: the memory of a large site, for a member: of the registry, and of the policy that is made of it.
func BenchmarkMemory(b *testing.B) {
	used := func() uint64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	for b.Loop() {
		start := used()
		reg := benchState(b)
		registered := used()
		policy := Of(reg.Freeze(), nil).Beside(nil)
		b.ReportMetric(float64(registered-start)/benchMembers, "registry-B/member")
		b.ReportMetric(float64(used()-registered)/benchMembers, "policy-B/member")
		runtime.KeepAlive(reg)
		runtime.KeepAlive(policy)
	}
}
