package partitions

import (
	"testing"

	"ibsm/mad"
)

// What OpenSM does without a file, and what it lays under a file.
func TestBasePolicies(t *testing.T) {
	open := Default()
	if len(open.Partitions) != 1 || len(open.Partitions[0].Members) != 1 ||
		open.Partitions[0].Members[0].String() != "ALL=full" {
		t.Errorf("without a file: %+v", open)
	}
	g := open.Partitions[0].Groups
	if len(g) != 1 || g[0].MGID.String() != "ff12:401b:ffff:0000:0000:0000:ffff:ffff" || g[0].MTU != 4 ||
		g[0].Rate != 3 || g[0].QKey != 0x0b1b {
		t.Errorf("groups without a file: %+v", g)
	}
	closed := Closed()
	if len(closed.Partitions) != 1 || len(closed.Partitions[0].Groups) != 0 {
		t.Errorf("under a file: %+v", closed)
	}
	if m := closed.Partitions[0].Members; len(m) != 2 || m[0].String() != "ALL=limited" ||
		m[1].String() != "SELF=full" {
		t.Errorf("members under a file: %v", m)
	}
}

// TestConfines: a file confines nobody only if every port is a full member of the default partition by it, and nothing
// else is said.
func TestConfines(t *testing.T) {
	l := newLab(t)
	for text, want := range map[string]bool{
		"Default=0x7fff: ALL=full;":                                  false,
		"Default=0x7fff, ipoib: ALL=full, SELF=full;":                false,
		"Default=0x7fff: ALL=limited, SELF=full; Default: ALL=full;": false,
		"Default=0x7fff: ALL=both;":                                  false,
		"Default=0x7fff: ALL=full, 0x100003=limited;":                true,
		"Default=0x7fff: ALL=limited, SELF=full;":                    true,
		"Default=0x7fff: ALL_CAS=full;":                              true, // switches and routers are limited members
		"Default=0x7fff: ALL=full; S=0x10: 0x100003=full;":           true,
		"S=0x10: ALL=full;":                                          true,
	} {
		if got := l.parse(text).Confines(); got != want {
			t.Errorf("%s confines %v, want %v", text, got, want)
		}
	}
	if Default().Confines() || !Closed().Confines() {
		t.Error("the policies without a file")
	}
}

// TestEqual: policies are equal by what files mean, not by how they are written.
func TestEqual(t *testing.T) {
	of := func(text string) *Policy {
		policy, errors, _ := Parse("partitions.conf", []byte(text)).Policy()
		if policy == nil {
			t.Fatal(errors)
		}
		return policy
	}
	const text = "Default=0x7fff, ipoib: ALL=limited, SELF=full;\nstorage=0x0001: 0x11, 0x12=full;\n"
	for other, want := range map[string]bool{
		text: true,
		"# a comment\nDefault=0x7fff , ipoib : ALL=limited, SELF=full;\n\nother=0x0001: 0x11, 0x12=full;\n":     true,
		"Default=0x7fff, ipoib: ALL=limited, SELF=full;\nstorage=0x0001: 0x11, 0x13=full;\n":                    false,
		"Default=0x7fff, ipoib: ALL=limited, SELF=full;\nstorage=0x0001: 0x12=full, 0x11;\n":                    false,
		"Default=0x7fff: ALL=limited, SELF=full;\nstorage=0x0001: 0x11, 0x12=full;\n":                           false,
		"Default=0x7fff, ipoib, mtu=5: ALL=limited, SELF=full;\nstorage=0x0001: 0x11, 0x12=full;\n":             false,
		"Default=0x7fff, ipoib: ALL=limited, SELF=full;\nstorage=0x0001: 0x11, 0x12=full;\nlast=0x0002:SELF;\n": false,
	} {
		if of(text).Equal(of(other)) != want {
			t.Errorf("equal to\n%s: %t", other, !want)
		}
	}
	if none := (*Policy)(nil); none.Equal(of(text)) || of(text).Equal(none) || !none.Equal(nil) {
		t.Error("no policy is equal to one")
	}
}

// TestFind: each partition is found by its key with any membership, also one that was added to those of a file.
func TestFind(t *testing.T) {
	of, errors, _ := Parse("p", []byte("a=1: ALL;\nb=2: ALL;\n")).Policy()
	if of == nil {
		t.Fatal(errors)
	}
	more := of.WithPartitions([]Partition{{Name: "c", Key: 3}}, 1, nil)
	for key, want := range map[mad.PKey]string{1: "a", 0x8001: "a", 0x8002: "b", 0x7fff: "Default", 0xffff: "Default",
		3: "c", 4: ""} {
		if got := more.Find(key); (got == nil) != (want == "") || got != nil && got.Name != want {
			t.Errorf("%s is of %+v, want %q", key, got, want)
		}
	}
	if of.Find(3) != nil || Default().Find(mad.DefaultPKey) == nil || Default().Find(1) != nil {
		t.Error("a partition is found elsewhere")
	}
}

// TestOfHosts: what a partition gives hosts that it does not name.
func TestOfHosts(t *testing.T) {
	l := newLab(t)
	for text, want := range map[string]Membership{
		"Default=0x7fff: ALL=full;":                                     Full,
		"Default=0x7fff: ALL=both;":                                     Both,
		"Default=0x7fff: ALL=limited, SELF=full, 0x100003=full;":        Limited,
		"Default=0x7fff: ALL=full, ALL_CAS=limited, ALL_SWITCHES=full;": Limited,
		"S=0x10: ALL=full;":                                             Limited, // by the default partition under each file
	} {
		if got := l.parse(text).Find(DefaultKey).OfHosts(); got != want {
			t.Errorf("%s gives hosts %v, want %v", text, got, want)
		}
	}
	if got := l.parse("S=0x10: 0x100003=full, ALL_SWITCHES;").Find(0x10).OfHosts(); got != 0 {
		t.Errorf("a partition that names no host gives hosts %v", got)
	}
}
