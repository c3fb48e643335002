package sick

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// mutants are rules, each broken in one place.
var mutants = []struct{ name, file, old, new string }{
	{"errors of other links count", "rules.go", "const Receiver = pma.ErrorCounters &^ (1<<pma.PortRcvRemotePhysicalErrors | 1<<pma.PortXmitDiscards", "const Receiver = pma.ErrorCounters &^ (1<<pma.QP1Dropped"},
	{"one or two errors are a rate", "rules.go", "const leastPerBit = 3", "const leastPerBit = 1"},
	{"a link-down counts though the other end rebooted", "watch.go", "\t\tif answers[d.peer] {\n\t\t\tw.events", "\t\tif true {\n\t\t\tw.events"},
	{"a link-down counts though the other end had rebooted when it was counted", "watch.go", "if h := sure[k]; !h.lost {", "if h := sure[k]; true {"},
	{"readings that are doubted count", "watch.go", "if d.Note&(restarted|doubted) != 0 || w.nothing(d) {", "if w.nothing(d) {"},
	{"the rest of a window counts for ever", "watch.go", "return e.at <= end-r.Window", "return false"},
	{"a port that nobody reads becomes clean", "watch.go", "f.clean += read[at.port]", "f.clean += 5 * time.Minute"},
	{"relapses cost no patience", "watch.go", "return clean<<min(f.Relapses, maxRelapses) - f.clean", "return clean - f.clean"},
	{"the other end is blamed", "watch.go", "f = &Finding{Port: at.port,", "f = &Finding{Port: w.peers[at.port],"},
	{"a silent fabric is that of sick agents", "watch.go", "if 2*s.silent > s.all {", "if false {"},
	{"a dry run changes links", "exclude.go", "to.Does = min(to.Would, d.Limits.Most)", "to.Does = to.Would"},
	{"there is no limit", "exclude.go", "case !d.out[p] && d.taken >= d.Limits.links(d.all), ", "case "},
	{"the only way is taken", "exclude.go", "more := d.pieces() > d.parts", "more := d.pieces() > d.parts+1"},
	{"what is out of use already does not count as missing", "exclude.go", "|| d.out[p] || t.Ports[p].Unhealthy", "|| t.Ports[p].Unhealthy"},
	{"links of hosts are taken", "exclude.go", "case !d.Topo.BetweenSwitches(p):", "case false:"},
	{"a link that is clean stays out of use", "exclude.go", "case d.ends(&e):", "case false:"},
	{"a port stays disabled", "exclude.go", "if d.disabled(e) {", "if false {"},
	{"a port stays disabled while routes only avoid its link", "exclude.go", "if wanted < e.Action {", "if wanted == Report {"},
	{"what is disabled is not counted", "exclude.go", "(d.mark(e.Port) || d.disabled(&e)) && !e.ByHand", "d.mark(e.Port) && !e.ByHand"},
	{"a restart forgets relapses", "keep.go", "w.relapses[at] = max(w.relapses[at], r.Times)", "_ = at"},
}

// TestMutants: each rule that is broken is found by the tests. The small size only sees that the rules are there.
func TestMutants(t *testing.T) {
	if os.Getenv("IBSM_MUTANT") != "" {
		t.Skip("within a mutant")
	}
	for _, m := range mutants {
		t.Run(m.name, func(t *testing.T) {
			file, err := filepath.Abs(m.file)
			if err != nil {
				t.Fatal(err)
			}
			src, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if strings.Count(string(src), m.old) != 1 {
				t.Fatalf("%s does not have %q once", m.file, m.old)
			}
			if os.Getenv("IBSM_PROOF") == "" {
				return
			}
			dir := t.TempDir()
			broken, overlay := filepath.Join(dir, "broken.go"), filepath.Join(dir, "overlay.json")
			list, err := json.Marshal(map[string]any{"Replace": map[string]string{file: broken}})
			if err != nil {
				t.Fatal(err)
			}
			for name, text := range map[string]string{broken: strings.Replace(string(src), m.old, m.new, 1), overlay: string(list)} {
				if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
					t.Fatal(err)
				}
			}
			cmd := exec.CommandContext(t.Context(), "go", "test", "-overlay", overlay, "-failfast", ".")
			cmd.Env = append(os.Environ(), "IBSM_MUTANT=1", "IBSM_PROOF=")
			out, err := cmd.CombinedOutput()
			if err == nil || !strings.Contains(string(out), "--- FAIL") {
				t.Errorf("no test finds it: %v\n%s", err, out)
			}
		})
	}
}
