package main_test

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// witness is a program that others wrote, which looks at a fabric and says whether
// a manager did its work there.
type witness struct {
	name  string
	judge func(s *simulator) error
}

var witnesses = []witness{
	{"sminfo", judgeMaster},
	{"ibnetdiscover", judgeNodes},
	{"iblinkinfo", judgeLinks},
	{"ibtracert", judgeRoutes},
	{"fabcheck", judgeFabric},
}

// examine lets every witness look at the fabric.
func examine(t *testing.T, s *simulator) {
	t.Helper()
	for _, w := range witnesses {
		if w.name == "fabcheck" && fabcheckPath() == "" {
			t.Run(w.name, func(t *testing.T) { t.Skip(noFabcheck) })
			continue
		}
		if err := w.judge(s); err != nil {
			t.Errorf("%s: %v", w.name, err)
		}
	}
}

// judgeMaster asks sminfo: the manager's port says MASTER.
func judgeMaster(s *simulator) error {
	r := s.run(s.net.witnessHost(), "sminfo")
	if r.status != 0 || !strings.Contains(r.stdout, "SMINFO_MASTER") {
		return fmt.Errorf("no master: status %d, %s%s", r.status, r.stdout, r.stderr)
	}
	return nil
}

var (
	switchFound = regexp.MustCompile(`(?m)^Switch\t\d+ "[^"]+"\t+# "([^"]*)" \w+ port 0 lid (\d+) lmc`)
	otherFound  = regexp.MustCompile(`(?m)^(Ca|Rt)\t\d+ "[^"]+"\t+# "([^"]*)"`)
	portFound   = regexp.MustCompile(`(?m)^\[\d+\]\([0-9a-f]+\)[^#]*# lid (\d+) lmc`)
)

// topology is the fabric as ibnetdiscover sees it.
func (s *simulator) topology() (string, error) {
	s.t.Helper()
	r := s.run(s.net.witnessHost(), "ibnetdiscover")
	if r.status != 0 {
		return "", fmt.Errorf("ibnetdiscover: status %d, %s", r.status, tail(r.stderr))
	}
	return r.stdout, nil
}

// discover asks ibnetdiscover which nodes there are, by kind and description, and
// which LIDs the end ports hold.
func discover(s *simulator) (nodes map[node]int, lids []int, err error) {
	text, err := s.topology()
	if err != nil {
		return nil, nil, err
	}
	nodes = map[node]int{}
	for _, m := range switchFound.FindAllStringSubmatch(text, -1) {
		nodes[node{kind: "Switch", desc: m[1]}]++
		lids = append(lids, number(m[2]))
	}
	for _, m := range otherFound.FindAllStringSubmatch(text, -1) {
		nodes[node{kind: m[1], desc: m[2]}]++
	}
	for _, m := range portFound.FindAllStringSubmatch(text, -1) {
		lids = append(lids, number(m[1]))
	}
	return nodes, lids, nil
}

// judgeNodes asks ibnetdiscover: every node of the file is there, no other, and each
// end port has a LID of its own.
func judgeNodes(s *simulator) error {
	found, lids, err := discover(s)
	if err != nil {
		return err
	}
	wanted := map[node]int{}
	for _, n := range s.net.nodes {
		wanted[node{kind: n.kind, desc: n.desc}]++
	}
	if !maps.Equal(found, wanted) {
		return fmt.Errorf("found %v, the file has %v", found, wanted)
	}
	slices.Sort(lids)
	if len(lids) < len(s.net.nodes) || lids[0] == 0 {
		return fmt.Errorf("%d LIDs for %d nodes, the lowest %d", len(lids), len(s.net.nodes), lids[0])
	}
	if distinct := len(slices.Compact(slices.Clone(lids))); distinct != len(lids) {
		return fmt.Errorf("%d end ports share %d LIDs", len(lids), distinct)
	}
	return nil
}

// judgeLinks asks iblinkinfo: every end of a cable is Active and LinkUp.
func judgeLinks(s *simulator) error {
	r := s.run(s.net.witnessHost(), "iblinkinfo")
	if r.status != 0 {
		return fmt.Errorf("status %d, %s", r.status, tail(r.stderr))
	}
	if active := strings.Count(r.stdout, "Active/  LinkUp)"); active != len(s.net.cables) {
		return fmt.Errorf("%d ports are active, %d have a cable:\n%s", active, len(s.net.cables), tail(r.stdout))
	}
	return nil
}

// judgeRoutes asks ibtracert for the way between random end ports.
func judgeRoutes(s *simulator) error {
	_, lids, err := discover(s)
	if err != nil {
		return err
	}
	if len(lids) == 0 {
		return errors.New("there are no LIDs to go to")
	}
	pairs := 10
	if proof() {
		pairs = 100
	}
	seed := uint64(time.Now().UnixNano())
	s.t.Logf("ibtracert: %d pairs, seed %d", pairs, seed)
	random := rand.New(rand.NewPCG(seed, 0))
	for range pairs {
		from, to := lids[random.IntN(len(lids))], lids[random.IntN(len(lids))]
		r := s.run(s.net.witnessHost(), "ibtracert", strconv.Itoa(from), strconv.Itoa(to))
		if r.status != 0 || !regexp.MustCompile(fmt.Sprintf(`(?m)^To .* lid %d-`, to)).MatchString(r.stdout) {
			return fmt.Errorf("from LID %d to %d (seed %d): status %d, %s%s", from, to, seed, r.status, r.stdout,
				r.stderr)
		}
	}
	return nil
}

const noFabcheck = "bin/fabcheck is not there: make fabcheck builds it where ../shared/check is beside the checkout"

// fabcheckPath is where make fabcheck left the program, "" if it did not.
func fabcheckPath() string {
	path, err := filepath.Abs("../../bin/fabcheck")
	if err != nil {
		return ""
	}
	if _, err := os.Stat(path); err != nil {
		return ""
	}
	return path
}

// needFabcheck is for tests that are nothing without it.
func needFabcheck(t *testing.T) {
	t.Helper()
	if fabcheckPath() == "" {
		t.Skip(noFabcheck)
	}
}

// judgeFabric asks fabcheck: it finds nothing, and did reach the SA, which it only notes.
func judgeFabric(s *simulator) error {
	r := s.run(s.net.witnessHost(), fabcheckPath(), "--ibsim")
	if r.status > 1 {
		return fmt.Errorf("status %d, %s", r.status, r.stderr)
	}
	if !strings.Contains(r.stderr, "SA answers") {
		return fmt.Errorf("the SA does not answer: %s%s", r.stdout, r.stderr)
	}
	if r.status == 1 {
		return fmt.Errorf("findings:\n%s", r.stdout)
	}
	return nil
}

// snapshot has fabcheck write down all that it reads from the fabric.
func (s *simulator) snapshot(name string) {
	s.t.Helper()
	r := s.run(s.net.witnessHost(), fabcheckPath(), "--no-check", "--snapshot", name)
	if r.status != 0 {
		s.t.Fatalf("fabcheck --snapshot: status %d, %s", r.status, r.stderr)
	}
}

// changes are fabcheck's words on what is different from a snapshot, of the classes
// given; of all of them where none is.
func (s *simulator) changes(snapshot string, classes ...string) []string {
	s.t.Helper()
	r := s.run(s.net.witnessHost(), fabcheckPath(), "--no-check", "--compare", snapshot)
	if r.status > 1 {
		s.t.Fatalf("fabcheck --compare: status %d, %s", r.status, r.stderr)
	}
	var found []string
	for line := range strings.Lines(r.stdout) {
		words := strings.Fields(line)
		if len(words) > 1 && words[0] == "DIFF" && (len(classes) == 0 || slices.Contains(classes, words[1])) {
			found = append(found, strings.TrimSpace(line))
		}
	}
	return found
}

// number is the value of digits that a regular expression found.
func number(digits string) int {
	n, err := strconv.Atoi(digits)
	if err != nil {
		panic(err)
	}
	return n
}
