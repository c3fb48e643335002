package file

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"ibsm/routing"
	"ibsm/routing/routingtest"
	"ibsm/topo"
	"ibsm/topo/net"
	"ibsm/topo/netwalk"
)

// TestAnotherSubnet: a dump of another subnet is refused with its place. OpenSM takes it, and leaves the subnet without
// routes.
func TestAnotherSubnet(t *testing.T) {
	first := routingtest.OpenSM(t, routingtest.File(t, "fattree:k=4"), "minhop")
	var ring strings.Builder
	for s := range 3 {
		fmt.Fprintf(&ring, "switchguid=%#x\nSwitch 8 \"s%d\"\n[1] \"h%d\"[1]\n[2] \"s%d\"[3]\n[3] \"s%d\"[2]\n\n",
			0x201+s, s, s, (s+1)%3, (s+2)%3)
		fmt.Fprintf(&ring, "caguid=%#x\nHca 1 \"h%d\"\n[1] \"s%d\"[1]\n\n", 0x1000+s*16, s, s)
	}
	n, err := net.Parse("ring", []byte(ring.String()))
	if err != nil {
		t.Fatal(err)
	}
	subnet, err := netwalk.Topo(n, net.NoEnd)
	if err != nil {
		t.Fatal(err)
	}
	in := routing.In{Topo: subnet, LIDs: topo.SequentialLIDs(subnet, 0)}
	for name, engine := range map[string]routing.Engine{
		"opensm-lfts.dump": readLFTs(t, filepath.Join(first.Dir, "opensm-lfts.dump")).Route,
		"opensm-lid-matrix.dump": readHops(t, filepath.Join(first.Dir, "opensm-lid-matrix.dump")).Engine(
			routing.Balancing{}),
	} {
		tables, err := engine(t.Context(), in)
		if tables != nil || err == nil || !strings.Contains(err.Error(), name+":") ||
			!strings.HasSuffix(err.Error(), ": no switch of the file is in this subnet: the file describes another one") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
