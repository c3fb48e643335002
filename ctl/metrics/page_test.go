package metrics

import (
	"bytes"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	dto "github.com/prometheus/client_model/go"

	"ibsm/view/viewtest"
)

var rewrite = flag.Bool("rewrite", false, "write the tables of docs/metrics.md")

// madeFrom is the line behind which the page is made from the families.
const madeFrom = "<!-- What follows is made by go test ./ctl/metrics -run TestPage -rewrite. -->\n"

// TestPage: docs/metrics.md lists each family with its type, labels and help.
func TestPage(t *testing.T) {
	const file = "../../docs/metrics.md"
	page, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	head, _, found := bytes.Cut(page, []byte(madeFrom))
	if !found {
		t.Fatalf("%s has no line %s", file, madeFrom)
	}
	e := newExporter(viewtest.New(t, "fattree:k=4", 1))
	var b strings.Builder
	b.Write(head)
	b.WriteString(madeFrom)
	for _, part := range []struct{ name, title string }{{countersPart, "Counters"}, {portsPart, "Ports"},
		{managerPart, "Manager"}} {
		contentType, body := scrape(t, e, "?collect[]="+part.name)
		fmt.Fprintf(&b, "\n## %s: `collect[]=%s`\n\n| metric | type | labels | meaning |\n| --- | --- | --- | --- |\n",
			part.title, part.name)
		for _, f := range families(t, contentType, body) {
			if name := f.GetName(); !strings.HasPrefix(name, "go_") && !strings.HasPrefix(name, "process_") {
				fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", name, strings.ToLower(f.GetType().String()), labelsOf(f),
					strings.ReplaceAll(f.GetHelp(), "|", "\\|"))
			}
		}
	}
	if text := b.String(); text != string(page) {
		if *rewrite {
			err = os.WriteFile(file, []byte(text), 0o644)
		}
		t.Errorf("%s is not made from the families (%v); go test ./ctl/metrics -run TestPage -rewrite does it", file,
			err)
	}
}

// TestPageHasAll: each family that the sources name is in docs/metrics.md, also those that few managers have.
func TestPageHasAll(t *testing.T) {
	page, err := os.ReadFile("../../docs/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	family, found := regexp.MustCompile(`(?:gauge|counter|histogram|gauges|counters)\("(\w*[a-z])"`), 0
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		for _, m := range family.FindAllSubmatch(text, -1) {
			if found++; !bytes.Contains(page, []byte("\n| `"+string(m[1])+"` |")) {
				t.Errorf("%s: the page lacks %s", file, m[1])
			}
		}
	}
	if found < 100 {
		t.Errorf("the sources name %d families", found)
	}
}

// labelsOf are the names of a family's labels.
func labelsOf(f *dto.MetricFamily) string {
	names := map[string]bool{}
	for _, m := range f.Metric {
		for _, l := range m.Label {
			names["`"+l.GetName()+"`"] = true
		}
	}
	return strings.Join(slices.Sorted(maps.Keys(names)), " ")
}
