package main_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// takeOver lets OpenSM bring a fabric up and lead it through a rough time, then puts
// m in its place. It returns what fabcheck saw change of what traffic depends on.
func takeOver(t *testing.T, m *manager, from source) (changes []string) {
	needFabcheck(t)
	s := startIbsim(t, from.file(t))
	old := opensm.bringUp(s)
	age(s, old)
	if err := judgeFabric(s); err != nil {
		t.Fatalf("OpenSM leaves an aged fabric that is not clean: %v", err)
	}
	old.stop()

	s.snapshot("aged")
	m.bringUp(s)
	changes = s.changes("aged", "node", "link", "lid", "lft", "pkey")
	examine(t, s)
	return changes
}

// age loses and returns 20 links, three hosts and a switch, one after the other, and
// lets the manager sweep after each loss and each return. OpenSM computes all routes
// anew after a return but keeps what it can after a loss, so in the end four links
// more are lost for good: its tables are then no longer those of a fresh start.
func age(s *simulator, manager *process) {
	s.t.Helper()
	random := rand.New(rand.NewPCG(20, 3))
	links := s.net.between()
	random.Shuffle(len(links), func(i, j int) { links[i], links[j] = links[j], links[i] })

	var lost []string
	for _, c := range links[:20] {
		lost = append(lost, c.String())
	}
	for _, host := range s.net.hosts()[1:4] {
		lost = append(lost, fmt.Sprintf("%q", host))
	}
	lost = append(lost, fmt.Sprintf("%q", s.net.spine()))
	for _, what := range lost {
		s.console("Unlink %s", what)
		resweep(manager)
		s.console("ReLink %s", what)
		resweep(manager)
	}
	for _, c := range links[20:24] {
		if !slices.Contains(s.net.cables, c) {
			continue // the other end of one before it
		}
		s.console("Unlink %s", c)
		s.net.cut(c)
		resweep(manager)
	}
	resweep(manager)
}

// resweep asks OpenSM for a heavy sweep and waits for the end of one. A sweep that
// was under way ends first: the second call in a row has seen all before the first.
func resweep(manager *process) {
	manager.t.Helper()
	manager.skip()
	manager.signal(syscall.SIGHUP)
	manager.await("SUBNET UP")
}

// TestAgedFabric shows that the fabric which a takeover starts from is one where it
// matters to adopt what is there: a fresh OpenSM, which does not, changes routes.
func TestAgedFabric(t *testing.T) {
	t.Parallel()
	changes := takeOver(t, &opensm, generated("fattree:k=6"))
	routes := func(line string) bool { return strings.HasPrefix(line, "DIFF lft ") }
	if !slices.ContainsFunc(changes, routes) {
		t.Error("a fresh OpenSM has no other routes than the one that the fabric aged under")
	}
	if others := slices.DeleteFunc(changes, routes); len(others) > 0 {
		t.Errorf("but it has other LIDs or P_Keys: %q", others)
	}
}

// TestTakeover: where OpenSM led a fabric, ibsm changes no LID, route or P_Key.
func TestTakeover(t *testing.T) {
	t.Parallel()
	fabrics := []source{generated("fattree:k=6")}
	if proof() {
		fabrics = append(fabrics, realCluster, generated("fattree:k=16"), generated("torus:dims=6x6,hosts=2"),
			generated("dragonfly"))
	}
	for _, f := range fabrics {
		t.Run(f.name, func(t *testing.T) {
			if changes := takeOver(t, &ibsm, f); changes != nil {
				t.Errorf("the takeover changed the fabric:\n%s", strings.Join(changes, "\n"))
			}
		})
	}
}
