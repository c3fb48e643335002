package routingtest

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"ibsm/mad"
	"ibsm/routing"
	"ibsm/topo"
)

var (
	mapHead = regexp.MustCompile(`^(?:Switch|Channel Adapter) 0x([0-9a-f]+), base LID`)
	mapLine = regexp.MustCompile(`^(\d+) +(\d+) +:((?: +\d+){16})`)
)

// CompareMaps fails the test for each VL of SL to VL mapping tables that is not that in opensm-sl2vl.dump, and returns
// how many there are. All ports of ibsim have eight lanes.
func (r *Run) CompareMaps(t testing.TB, maps *routing.Maps) (compared int) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(r.Dir, "opensm-sl2vl.dump"))
	if err != nil {
		t.Fatal(err)
	}
	at := topo.PortIdx(topo.None)
	differ := 0
	for line := range strings.SplitSeq(string(text), "\n") {
		if m := mapHead.FindStringSubmatch(line); m != nil {
			guid, _ := strconv.ParseUint(m[1], 16, 64)
			at = r.Topo.FindPort(mad.GUID(guid))
			if at == topo.None {
				t.Fatalf("line in dump: %q", line)
			}
			continue
		}
		m := mapLine.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		in, _ := strconv.Atoi(m[1])
		out, _ := strconv.Atoi(m[2])
		port := at
		if node := r.Topo.Ports[at].Node; r.Topo.Nodes[node].Type == mad.Switch {
			port = r.Topo.Port(node, uint8(out))
		}
		table := maps.Table(uint8(in), port)
		for sl, vl := range strings.Fields(m[3]) {
			compared++
			if got := strconv.Itoa(int(table.VL(uint8(sl)))); got != vl {
				if differ++; differ < 10 {
					t.Errorf("port %v, from %d to %d, SL %d: VL %s, OpenSM %s", r.Topo.Ports[at].GUID, in, out, sl, got,
						vl)
				}
			}
		}
	}
	if compared < 16*len(r.Topo.EndPorts) {
		t.Errorf("compared %d VLs", compared)
	}
	t.Logf("compared %d VLs, %d differ", compared, differ)
	return compared
}
