package keys

import (
	"encoding/hex"
	"fmt"
	"strings"
	"testing"
)

// TestPorts: a key is as Python's hmac computes it. The keys of two ports, of two numbers and of two secrets differ.
func TestPorts(t *testing.T) {
	s := made(t)
	p := s.Ports(1)
	if got := fmt.Sprintf("%#x", p.Of(0x2c9030000001)); got != "0xfe09e1f3b552e3a2" {
		t.Errorf("the M_Key is %s: managers of different versions would not agree", got)
	}
	var other Secret
	other.value[0] = 1
	seen := map[uint64]bool{}
	of := other.Ports(1)
	for _, key := range []uint64{p.Of(1), p.Of(2), p.With(2, 1), p.With(3, 1), of.Of(1), s.MKey(), s.SMKey(),
		s.SAKey()} {
		if seen[key] || key <= 1 {
			t.Errorf("the M_Key %#x is of two ports, or no key", key)
		}
		seen[key] = true
	}
	if next := s.Ports(2); next.Of(1) != p.With(2, 1) {
		t.Error("a number gives two keys")
	}
	if none := (Ports{}); none.On() || !p.On() {
		t.Error("whether there are keys is not as it should be")
	}
}

// TestFirst: what everybody knows is no key.
func TestFirst(t *testing.T) {
	for hash, want := range map[string]uint64{
		"0000000000000000" + "0000000000000001" + "0000000000000007": 7,
		"0000000000000002" + "0000000000000001":                      2,
		"0000000000000000" + "0000000000000000":                      2,
	} {
		b, _ := hex.DecodeString(hash)
		if got := first(b); got != want {
			t.Errorf("of %s the key is %d, want %d", hash, got, want)
		}
	}
}

// TestMade: a key of the subnet is recognized with its number, one that the managers have set on all ports as such,
// others not.
func TestMade(t *testing.T) {
	s := made(t)
	p := s.Ports(100)
	p = p.Beside(0x77, 0)
	for _, c := range []struct {
		name   string
		key    uint64
		number uint32
		ok     bool
	}{
		{"none", 0, 0, false},
		{"of the present number", p.Of(5), 100, true},
		{"of the next", p.With(101, 5), 101, true},
		{"of an earlier one", p.With(60, 5), 60, true},
		{"of one that is long gone", p.With(30, 5), 0, false},
		{"of all ports", s.MKey(), 0, true},
		{"m_key", 0x77, 0, true},
		{"of another port", p.Of(6), 0, false},
		{"of somebody else", 0x78, 0, false},
	} {
		if number, ok := p.Made(5, c.key); number != c.number || ok != c.ok {
			t.Errorf("%s: %d, %v", c.name, number, ok)
		}
	}
}

// TestPortsHidden: no verb shows the seed.
func TestPortsHidden(t *testing.T) {
	s := made(t)
	p := s.Ports(1)
	for _, verb := range []string{"%v", "%+v", "%#v", "%x", "%s", "%d"} {
		if text := fmt.Sprintf(verb, p) + fmt.Sprintf(verb, &p); strings.ReplaceAll(text, "hidden", "") != "" {
			t.Errorf("%s shows %s", verb, text)
		}
	}
}

// BenchmarkPorts derives the M_Keys of 39,366 hosts and 3,645 switches.
func BenchmarkPorts(b *testing.B) {
	s := made(b)
	p := s.Ports(1)
	for b.Loop() {
		for port := range uint64(39366 + 3645) {
			p.Of(port)
		}
	}
}
