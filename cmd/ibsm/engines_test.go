package main_test

import (
	"os"
	"strings"
	"testing"
)

// TestMissingEngine: min-hop takes the place of an engine that there is not only where its
// routes have no credit loop, or the list has it.
func TestMissingEngine(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		fabric, engines string
		status          int
		says            string
	}{
		{"fattree:k=4", "updn", 0, "this version has no routing engine updn; minhop is used if its routes have no credit loop\n"},
		{"torus:dims=5x5", "updn", 4, "routing: this version has no routing engine updn, and the routes of min-hop have a credit loop, in which traffic can stop for good: \"switch-"},
		{"torus:dims=5x5", "updn,dnup", 4, "this version has no routing engine updn, dnup, and"},
		{"torus:dims=5x5", "updn,minhop", 0, "this version has no routing engine updn; minhop is used\n"},
		{"torus:dims=5x5", "minhop", 0, ""},
		{"fattree:k=4", "ar_updn", 2, `"ar_updn" is a routing engine of NVIDIA's subnet manager; write updn`},
	} {
		r := run(t, t.TempDir(), caches(t), program(t, "ibsm"), "--fabric", c.fabric, "-R", c.engines, "-o")
		if r.status != c.status || !strings.Contains(r.stderr, c.says) || strings.Contains(r.stdout, "SUBNET UP") != (c.status == 0) {
			t.Errorf("%s on %s: exit status %d, want %d and %q\n%s%s", c.engines, c.fabric, r.status, c.status, c.says, r.stdout, r.stderr)
		}
	}
}

// TestMissingEngineTakeover: a torus whose routes by updn are free of credit loops is taken over
// with them.
func TestMissingEngineTakeover(t *testing.T) {
	t.Parallel()
	s := startIbsim(t, generated("torus:dims=5x5").file(t))
	roots := s.path("roots")
	if err := os.WriteFile(roots, []byte("0xb83fd20300400000\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	p := opensm.bringUp(s, "-R", "updn", "-a", roots)
	p.stop()
	if said := p.text(); !strings.Contains(said, "updn tables configured on all switches") {
		t.Fatalf("OpenSM did not route by updn:\n%s", tail(said))
	}
	p = ibsm.bringUp(s, "-R", "updn")
	p.stop()
	if said := p.text(); !strings.Contains(said, "minhop tables configured on all switches kept=true") || strings.Contains(said, "LinearForwardingTable") {
		t.Errorf("it wrote routes:\n%s", tail(said))
	}
}
