package perf

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"ibsm/mad/pma"
)

// TestHealthPage: docs/health.md has the meaning of each counter, in the same order, and each word for a
// reading.
func TestHealthPage(t *testing.T) {
	text, err := os.ReadFile("../docs/health.md")
	if err != nil {
		t.Fatal(err)
	}
	page, last := string(text), 0
	for _, m := range Meanings() {
		row := fmt.Sprintf("\n| `%v` | %s | %s |\n", m.Counter, m.Means, m.Do)
		if at := strings.Index(page, row); at < last {
			t.Errorf("no row, or not in its place:%s", row)
		} else {
			last = at
		}
	}
	for _, name := range noteNames {
		if !strings.Contains(page, name) {
			t.Errorf("the page does not say what %q means", name)
		}
	}
	for c := range pma.AllCounters.All {
		if _, has := MeaningOf(c); has != (pma.ErrorCounters | pma.Of(pma.PortXmitWait, pma.QP1Dropped)).Has(c) {
			t.Errorf("%v: it means something: %t", c, has)
		}
	}
}
