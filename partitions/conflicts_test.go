package partitions

import (
	"fmt"
	"strings"
	"testing"

	"ibsm/mad"
	"ibsm/topo"
	"ibsm/topo/net"
	"ibsm/topo/netwalk"
)

// witnessTopo is the witness fabric, whose manager is at H1.
func witnessTopo(t testing.TB) *topo.Topo {
	t.Helper()
	n, err := net.Parse("witness", []byte(witnessNet))
	if err != nil {
		t.Fatal(err)
	}
	subnet, err := netwalk.Topo(n, net.NoEnd)
	if err != nil {
		t.Fatal(err)
	}
	return subnet
}

// TestConflicts: what a subnet cannot do is reported with the place and the first port's name.
func TestConflicts(t *testing.T) {
	subnet := witnessTopo(t)
	rate := subnet.Ports[subnet.FindPort(0x100003)].Info
	has := rate.Rate(rate.CapabilityMask(), rate.CapabilityMask2()).Gbps()
	for _, c := range []struct {
		file string
		says []string
	}{
		{"Default=0x7fff, ipoib : ALL=full;", nil},
		{"Default=0x7fff : ALL=full;\nA=1, ipoib, rate=21 : 0x100003=full, 0x100005;", []string{
			fmt.Sprintf(
				`f:2:1: the rate of a group of "A", 400 Gb/s, exceeds that of port 0x0000000000100003 of "H2" (and 1 more), %g Gb/s: the port cannot join`, has),
		}},
		{"Default=0x7fff : ALL=full;\nA=1 : ALL=full, 0xdead=full;",
			[]string{"f:2:17: no port of the subnet has GUID 0x000000000000dead"}},
		{"Default=0x7fff : ALL=full;\nA=1 : ALL=full, 0x100002=full;",
			[]string{
				`f:2:17: no port of the subnet has GUID 0x0000000000100002; it is the GUID of node "H2", whose port 1 has GUID 0x0000000000100003`,
			}},
		{"A=1 : 0x100001=full, 0x100003=full, 0x300001=full;",
			[]string{`port 0x0000000000100005 of "H3" (and 1 more) can reach only the manager`}},
		{"Default=0x7fff : ALL, 0x100003=full, SELF=limited; A=1 : ALL=full;",
			[]string{
				`the manager's own port 0x0000000000100001 of "H1" is not a full member of the default partition`,
			}},
		{"Default=0x7fff : ALL, 0x100003=full, 0x100001=both; A=1 : ALL=full;", nil},
	} {
		policy, errors, _ := Parse("f", []byte(c.file)).Policy()
		if len(errors) > 0 {
			t.Fatal(errors)
		}
		warnings := policy.Conflicts(subnet)
		if len(warnings) != len(c.says) {
			t.Errorf("%s\n%v", c.file, warnings)
			continue
		}
		for i, says := range c.says {
			if got := warnings[i].Error(); !strings.Contains(got, says) {
				t.Errorf("%s\nsays %s\nwant %s", c.file, got, says)
			}
		}
	}
}

// TestWhy: the member that decides is the one by which Compile gives the key.
func TestWhy(t *testing.T) {
	subnet := witnessTopo(t)
	for seed := range uint64(300) {
		policy, _, _ := Parse("f", []byte(generateFile(seed, false))).Policy()
		if policy == nil {
			continue
		}
		tables := Compile(policy, Settings{}, subnet, Indexes{})
		for _, p := range subnet.EndPorts {
			for i := range policy.Partitions {
				key := policy.Partitions[i].Key
				want := mad.PKey(0)
				if m := policy.Why(subnet, p, key); m != nil {
					if want = key; m.Membership != Limited {
						want |= mad.FullMember
					}
				}
				if got, _ := tables.Want[p].Find(key); got != want {
					t.Fatalf("seed %d, port %v: %v by its line, %v by Compile", seed, subnet.Ports[p].GUID, want, got)
				}
			}
		}
	}
	if m := Default().Why(subnet, subnet.Self, 0x10); m != nil {
		t.Errorf("a key of no partition: %v", m)
	}
}
