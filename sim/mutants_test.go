package sim_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// mutants are rules of the election, each broken in one place.
var mutants = []struct{ name, file, old, new string }{
	{"a higher master is not handed to", "sweep/elect/elect.go", "case above != nil:\n\t\tm.standBy(now, above.GUID())\n\t\tm.watch.isSM = true\n\t\tif", "case above != nil && false:\n\t\tm.standBy(now, above.GUID())\n\t\tm.watch.isSM = true\n\t\tif"},
	{"a master that was found is not stood by", "sweep/elect/elect.go", "case master != nil:\n\t\tm.standBy(now, master.GUID())", "case master != nil && false:\n\t\tm.standBy(now, master.GUID())"},
	{"the higher GUID wins", "sweep/elect/elect.go", "return o.GUID() < m.cfg.GUID", "return o.GUID() > m.cfg.GUID"},
	{"polls are never given up", "sweep/elect/poll.go", "if m.misses > max(m.cfg.PollRetries, 0) {", "if false {"},
	{"a target is waited for for ever", "sweep/elect/target.go", "preparing, now+targetTimeout", "preparing, now+1000*targetTimeout"},
	{"a target that is overdue is waited for again", "sweep/elect/elect.go", " && above.GUID() != m.Overdue():", ":"},
	{"HANDOVER is not taken", "sweep/elect/control.go", "case mod == smp.ControlHandover && m.state != smp.NotActive:", "case mod == smp.ControlHandover && false:"},
	{"a manager that was paused asks nobody", "manager/core.go", "if paused > c.elect.stall() && paused < now {", "if false {"},
	{"PortStateChange is cleared for other masters, too", "sweep/discover/walk.go", "return was != topo.None && m.cfg.Prev.Nodes[was].Missed == 0", "return was != topo.None || true"},
	{"nobody is asked", "sweep/discover/walk.go", "Has(smp.IsSM) && !m.cfg.IgnoreOtherSM {", "Has(smp.IsSM) && false {"},
	{"the way to the master is forgotten", "manager/election.go", "e.route, e.lid = found.SMs[i].Route,", "_, e.lid = found.SMs[i].Route,"},
	{"requests outlive the mastership term", "manager/decisions.go", "c.ended = c.fx.table.Cancel(c.ended[:0])", "c.ended = c.ended[:0]"},
}

// TestMutants: every rule that is broken is found by the elections, or where a manager that
// ranks higher comes to a master.
func TestMutants(t *testing.T) {
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range mutants {
		t.Run(m.name, func(t *testing.T) {
			file := filepath.Join(root, m.file)
			src, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if strings.Count(string(src), m.old) != 1 {
				t.Fatalf("%s does not have %q once", m.file, m.old)
			}
			if os.Getenv("IBSM_PROOF") == "" {
				return // the small size only sees that the rule is still there
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
			cmd := exec.CommandContext(t.Context(), "go", "test", "-overlay", overlay, "-run", "^(TestElections|TestHandoverWithoutMirror)$", "-failfast", ".")
			out, err := cmd.CombinedOutput()
			if err == nil || !strings.Contains(string(out), "--- FAIL: Test") {
				t.Errorf("not found: %v\n%s", err, out)
			}
		})
	}
}
