package torus

import (
	"errors"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"ibsm/routing"
	"ibsm/routing/creditloop"
	"ibsm/routing/routingtest"
	"ibsm/routing/verify"
)

// fabrics are whole and damaged ones.
var fabrics = []fabric{
	{dims: [3]int{4, 4, 1}, cables: 1, hosts: 1},
	{dims: [3]int{6, 6, 1}, cables: 1, hosts: 2, gone: [][3]int{{2, 3, 0}}, lmc: 2},
	{dims: [3]int{1, 4, 5}, cables: 3, hosts: 2, shift: 2},
	{dims: [3]int{4, 1, 4}, cables: 1, hosts: 1, lost: 3, seed: 5},
	{dims: [3]int{5, 5, 5}, cables: 1, hosts: 1, lmc: 1},
	{dims: [3]int{3, 4, 5}, cables: 2, hosts: 3, less: 20, seed: 2},
	{dims: [3]int{4, 4, 4}, cables: 1, hosts: 1, gone: [][3]int{{2, 2, 2}}, lost: 2},
	{dims: [3]int{4, 4, 4}, open: [3]bool{true, true, true}, cables: 1, hosts: 1},
	{dims: [3]int{2, 3, 4}, cables: 2, hosts: 2},
	{dims: [3]int{2, 2, 2}, cables: 1, hosts: 1},
	{dims: [3]int{3, 3, 3}, cables: 1, hosts: 2, gone: [][3]int{{1, 1, 1}, {1, 1, 2}}},
	{dims: [3]int{5, 4, 3}, open: [3]bool{false, true, false}, cables: 1, hosts: 1, lost: 1, shift: 1},
	{dims: [3]int{5, 5, 5}, cables: 1, hosts: 1, gone: [][3]int{{1, 0, 0}}, seeds: 3, lost: 4},
	{dims: [3]int{4, 4, 4}, cables: 1, hosts: 1, extra: 6, seed: 4},
	{dims: [3]int{3, 3, 1}, cables: 1, hosts: 4, options: "port_order 7 3 3 9 1"},
	{dims: [3]int{5, 5, 1}, cables: 1, hosts: 1, gone: [][3]int{{2, 2, 0}, {3, 2, 0}}},
	{dims: [3]int{5, 5, 1}, cables: 1, hosts: 1, lost: 8},
	{dims: [3]int{4, 4, 1}, cables: 2, hosts: 5, options: "portgroup_max_ports 5"},
	{dims: [3]int{4, 4, 1}, cables: 4, hosts: 2, options: "portgroup_max_ports 3"},
}

// contradicting are fabrics that are cabled otherwise than their file says.
var contradicting = []fabric{
	{dims: [3]int{6, 1, 1}, cables: 1, hosts: 1, settings: "torus 5 1 1"},
	{dims: [3]int{5, 3, 1}, cables: 1, hosts: 1, settings: "torus 3 5 1"},
	{dims: [3]int{5, 5, 1}, cables: 1, hosts: 1, settings: "torus 4 5 1"},
	{dims: [3]int{4, 4, 1}, cables: 1, hosts: 1, settings: "torus 5 4 1"},
	{dims: [3]int{4, 4, 1}, cables: 1, hosts: 1, settings: "mesh 4 4 1"},
	{dims: [3]int{4, 4, 4}, cables: 1, hosts: 1, settings: "torus 4 4 3"},
	{dims: [3]int{4, 4, 4}, cables: 1, hosts: 1, settings: "torus 2 8 4"},
	{dims: [3]int{3, 3, 3}, cables: 1, hosts: 1, settings: "torus 3 3 6"},
	{dims: [3]int{3, 3, 3}, cables: 1, hosts: 1, settings: "torus 3 3 1"},
	{dims: [3]int{2, 2, 2}, cables: 1, hosts: 1, settings: "torus 99 99 5"},
}

// TestContradicts: with a file that does not say how switches are cabled, ibsm refuses the subnet where OpenSM does,
// and otherwise has its tables.
func TestContradicts(t *testing.T) {
	some := contradicting
	if os.Getenv("IBSM_PROOF") == "" {
		some = contradicting[:small]
	}
	for _, f := range some {
		t.Run(f.String(), func(t *testing.T) { compareWithOpenSM(t, f) })
	}
}

// small is how many fabrics the small size tests.
const small = 4

var refused = regexp.MustCompile(`ERR 4E([0-9A-F]{2}): (.*)`)

// TestOpenSM routes what OpenSM has routed, and wants each entry of each table to be its; what it
// refuses must be refused.
func TestOpenSM(t *testing.T) {
	some := fabrics
	if os.Getenv("IBSM_PROOF") == "" {
		some = fabrics[:small]
	}
	for _, f := range some {
		t.Run(f.String(), func(t *testing.T) { compareWithOpenSM(t, f) })
	}
}

// wordsOf are OpenSM's words for why it refuses a subnet. It does not look for missing switches where rings are
// broken.
func wordsOf(err error) (words []string) {
	var other *routing.Refused
	var damage *Unroutable
	switch {
	case errors.As(err, &damage):
		for i, f := range damage.Faults {
			if text, _, _ := strings.Cut(f.Text, " Switches are missing"); i == 0 || text == f.Text {
				words = append(words, fmt.Sprintf("ERR %X: %s", f.Number, text))
			}
		}
	case errors.As(err, &other):
		_, text, _ := strings.Cut(other.OpenSM, ": ")
		words = append(words, text)
	}
	return words
}

func compareWithOpenSM(t *testing.T, f fabric) {
	b := f.build(t)
	run := routingtest.OpenSM(t, b.net, "torus-2QoS", "-Q", "--torus_config", b.conf, "-l", strconv.Itoa(f.lmc))
	s, wrong := settingsOf(t, b.conf)
	failure := refused.FindStringSubmatch(run.Log)
	fell := strings.Contains(run.Log, "torus-2QoS tables configured on all switches")
	if wrong != nil {
		t.Fatal(wrong)
	}
	tables, err := New(s)(t.Context(), routing.In{Topo: run.Topo, LIDs: run.LIDs})
	if (err != nil) != !fell {
		t.Fatalf("we say %v, OpenSM %q", err, failure)
	}
	if err != nil {
		// A file that names wrong cables can be refused for one thing or another: OpenSM fills a switch's ports first.
		for _, words := range wordsOf(err) {
			if !strings.Contains(run.Log, words) && failure[1] != "17" {
				t.Errorf("OpenSM does not say %q, but %q", words, failure)
			}
		}
		t.Logf("refused: %v; OpenSM: %q", err, failure[2])
		return
	}
	run.Filled = true
	run.Compare(t, tables)
	run.CompareMaps(t, tables.SLs.Maps)
	if routes, err := verify.Check(t.Context(), 0, run.Topo, run.LIDs, tables, nil); err != nil || routes.Bad() > 0 {
		t.Errorf("routes: %v, %v", routes.Count, err)
	}
	report, err := creditloop.Find(t.Context(),
		creditloop.In{Topo: run.Topo, LIDs: run.LIDs, Forwarding: routing.NewForwarding(run.Topo, run.LIDs, tables),
			SLs: tables.SLs, Maps: tables.SLs.Maps, Traffic: creditloop.All})
	if err != nil || report.Loop != nil || len(report.Findings) > 0 {
		t.Errorf("credit loop %v, findings %v, %v", report.Loop, report.Findings, err)
	}
}
