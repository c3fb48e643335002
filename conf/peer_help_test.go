package conf

import (
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"ibsm/mad/madtest"
)

// peerOption is a heading of OpenSM's own help: its names, and what its argument is.
var peerOption = regexp.MustCompile(`(?m)^--(\w[\w-]*)((?:, -[\w?])*)(?: ([<\[][^\n>\]]*[>\]]))?`)

// TestPeerHelp: each option that OpenSM lists is taken here, with an argument where
// OpenSM takes one and without where it does not, by every name and in every way.
func TestPeerHelp(t *testing.T) {
	program := madtest.Need(t, "opensm")
	help, _ := exec.Command(program, "--help").Output() // its exit status is 2
	found := peerOption.FindAllStringSubmatch(string(help), -1)
	if len(found) < 60 {
		t.Fatalf("only %d options found in OpenSM's help:\n%s", len(found), help)
	}
	for _, m := range found {
		long, arg := m[1], m[3]
		ways := [][]string{{"--" + long}, {"-" + long}}
		for _, short := range strings.Fields(strings.ReplaceAll(m[2], ",", "")) {
			ways = append(ways, []string{short})
		}
		if arg != "" {
			for i := range ways {
				ways[i] = append(ways[i], "X")
			}
			ways = append(ways, []string{"--" + long + "=X"}, []string{"-" + long + "=X"})
		}
		for _, way := range ways {
			given, stray, report := ParseArgs(append(way, "-o"))
			if report != nil || stray != nil || len(given) != 2 || given[0].Long != long &&
				!sameShort(given[0], way[0]) || given[1].Long != "once" {
				t.Errorf("%q: read as %v, stray %q, report %v", way, given, stray, report)
			} else if arg != "" && given[0].Value != "X" {
				t.Errorf("%q: its argument is %q", way, given[0].Value)
			}
		}
	}
}

// sameShort reports whether an option was given by a letter that two long names share:
// -O is also that of --dimn_ports_file.
func sameShort(g Given, written string) bool { return len(written) == 2 && written[1] == g.Short }
