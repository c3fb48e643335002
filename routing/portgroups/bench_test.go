package portgroups

import (
	"testing"

	"ibsm/topo/net"
	"ibsm/topo/netwalk"
)

// BenchmarkMembers finds the members of groups among 11,664 hosts and 1,620 switches, as each sweep does: roots by a
// pattern, and compute nodes by another one without storage.
func BenchmarkMembers(b *testing.B) {
	fabric, err := net.Generate("fattree:k=36")
	if err != nil {
		b.Fatal(err)
	}
	sub, err := netwalk.Topo(fabric, net.NoEnd)
	if err != nil {
		b.Fatal(err)
	}
	groups, errors, _ := Parse("p",
		[]byte(group("roots", "port-regexp: ^spine-[0-9]+$")+group("storage", "port-regexp: ^host-.*00 ")+
			group("compute", "subtract-rule: ALL_CAS, storage")))
	if errors != nil {
		b.Fatal(errors)
	}
	for b.Loop() {
		v := NewResolver(sub, nil)
		for _, g := range groups {
			if len(v.Members(g)) == 0 {
				b.Fatal(g.Name)
			}
			v.Unmatched(g)
		}
	}
}
