package device

import (
	"os"
	"strings"
	"testing"

	"ibsm/mad/smp"
)

// TestFeatureTable: docs/devices.md has the rows of FeatureTable, and no others.
func TestFeatureTable(t *testing.T) {
	page, err := os.ReadFile("../../docs/devices.md")
	if err != nil {
		t.Fatal(err)
	}
	var rows []string
	requests, _, _ := strings.Cut(string(page), "\n## Sets that fail")
	for line := range strings.Lines(requests) {
		if strings.HasPrefix(line, "| ") && !strings.HasPrefix(line, "| ---") &&
			!strings.HasPrefix(line, "| request |") {
			rows = append(rows, strings.TrimSpace(line))
		}
	}
	if len(rows) != len(FeatureTable) {
		t.Fatalf("%d rows on the page, %d in the table", len(rows), len(FeatureTable))
	}
	for i, row := range FeatureTable {
		if want := "| " + strings.Join([]string{row.What, row.Asked, row.Failure, row.Remembered}, " | ") +
			" |"; rows[i] != want {
			t.Errorf("row %d is\n%s\nand not\n%s", i, rows[i], want)
		}
	}
}

// TestFeatures: a device that has not answered twice is not asked again, nor are others of its model, unless the
// feature works for one of them.
func TestFeatures(t *testing.T) {
	info := func(guid byte) *smp.NodeInfo {
		var n smp.NodeInfo
		n[19] = guid // of NodeGUID
		return &n
	}
	f := NewFeatures()
	for i, want := range []Answer{Untried, Unanswered, Fails} {
		if got := f.Of(GeneralInfo, info(1)); got != want {
			t.Errorf("after %d requests without an answer: %d", i, got)
		}
		if got := f.Of(GeneralInfo, info(2)); i < 2 && got != Untried {
			t.Errorf("another device of the model after %d: %d", i, got)
		}
		f.LearnNoAnswer(GeneralInfo, info(1))
	}
	if f.Of(GeneralInfo, info(2)) != Fails || f.Of(Wildcards, info(2)) != Untried {
		t.Error("another device of the model is asked, or another feature is not")
	}
	f.Learn(GeneralInfo, info(3), Works)
	if f.Of(GeneralInfo, info(2)) != Untried || f.Of(GeneralInfo, info(1)) != Fails {
		t.Error("a device of the model has answered")
	}
}
