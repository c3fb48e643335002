package main_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestWitnesses shows that the witnesses distinguish a fabric that is up from one that is
// not: none may be content before OpenSM has come, all must be afterwards.
func TestWitnesses(t *testing.T) {
	t.Parallel()
	s := startIbsim(t, example("net.2sw2path4hca").file(t))
	for _, w := range witnesses {
		if w.name == "fabcheck" && fabcheckPath() == "" {
			continue // examine says so
		}
		if w.judge(s) == nil {
			t.Errorf("%s is content with a fabric that has no manager", w.name)
		}
	}
	opensm.bringUp(s)
	examine(t, s)
}

// TestSnapshots shows that a snapshot distinguishes a changed fabric from one that is the
// same.
func TestSnapshots(t *testing.T) {
	needFabcheck(t)
	t.Parallel()
	s := startIbsim(t, example("net.2sw2path4hca").file(t))
	s.snapshot("cold")
	if changed := s.changes("cold"); changed != nil {
		t.Errorf("nobody touched the fabric: %q", changed)
	}
	opensm.bringUp(s)
	for _, class := range []string{"lid", "lft", "portinfo"} {
		if s.changes("cold", class) == nil {
			t.Errorf("OpenSM came and no %s is different", class)
		}
	}
}

// TestBringUp: ibsm brings up every kind of fabric, and every witness is content.
func TestBringUp(t *testing.T) {
	t.Parallel()
	for _, f := range fabrics() {
		t.Run(f.name, func(t *testing.T) {
			s := startIbsim(t, f.file(t))
			p := ibsm.bringUp(s)
			examine(t, s)
			p.stop()
			if p.err != nil {
				t.Errorf("ibsm ended on SIGTERM with %v", p.err)
			}
		})
	}
}

// TestSameTables: on a fresh fabric ibsm routes as OpenSM does, entry for entry, when
// the ports hold the LIDs that OpenSM would give.
func TestSameTables(t *testing.T) {
	needFabcheck(t)
	t.Parallel()
	fresh := append(examples[:len(examples):len(examples)],
		generated("fattree:k=4"), generated("fattree:k=6"), generated("fattree:k=8,levels=2"),
		generated("fattree:k=8,levels=2,taper=2"))
	if proof() {
		fresh = append(fresh, generated("fattree:k=16"), generated("fattree:k=36,levels=2"))
	}
	for _, f := range fresh {
		t.Run(f.name, func(t *testing.T) {
			theirs := startIbsim(t, f.file(t))
			opensm.bringUp(theirs)
			theirs.snapshot("opensm")
			withLIDs, err := theirs.topology()
			if err != nil {
				t.Fatal(err)
			}
			file := filepath.Join(t.TempDir(), "net")
			if err := os.WriteFile(file, []byte(withLIDs), 0o666); err != nil {
				t.Fatal(err)
			}
			ours := startIbsim(t, file)
			ibsm.bringUp(ours, "-R", "minhop")
			if changes := ours.changes(theirs.path("opensm"), "lid", "lft"); changes != nil {
				t.Errorf("ibsm differs from OpenSM:\n%s", strings.Join(changes, "\n"))
			}
		})
	}
}

// TestDryRun: a dry run shows a plan and changes nothing, on a cold fabric and beside
// an OpenSM on the same port.
func TestDryRun(t *testing.T) {
	needFabcheck(t)
	t.Parallel()
	s := startIbsim(t, example("net.2sw2path4hca").file(t))
	dryRun := func(t *testing.T) {
		t.Helper()
		s.snapshot("before")
		r := run(t, s.dir, s.env(s.net.managerHost()), program(t, "ibsm"), "--ibsim", "--dry-run")
		if head, steps, _ := strings.Cut(r.stdout, "\n\n"); r.status != 0 || steps == "" ||
			!strings.Contains(head, " nodes (2 switches); ") || strings.Contains(head, "switch 0x") {
			t.Errorf("status %d, it wrote %q and %q", r.status, r.stdout, r.stderr)
		}
		if changes := s.changes("before"); changes != nil {
			t.Errorf("the dry run changed the fabric:\n%s", strings.Join(changes, "\n"))
		}
	}
	dryRun(t)
	opensm.bringUp(s)
	dryRun(t)
	examine(t, s)
}
