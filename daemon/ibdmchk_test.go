package daemon

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ibsm/mad"
	"ibsm/mad/madtest"
	"ibsm/opensm/dump"
	"ibsm/routing"
	"ibsm/routing/creditloop"
	"ibsm/routing/minhop"
	"ibsm/routing/routingtest"
	"ibsm/topo"
	"ibsm/view"
)

// TestIbdmchk: ibdmchk finds a credit loop in random routes, SLs and mapping tables where we find one, and nowhere
// else.
func TestIbdmchk(t *testing.T) {
	count := uint64(12)
	if os.Getenv("IBSM_PROOF") != "" {
		count = 300
	}
	specs := []string{"torus:dims=4x3,hosts=1", "torus:dims=6,hosts=1", "mesh:dims=3x3,hosts=2",
		"random:switches=10,degree=3,hosts=1", "torus:dims=3x3,hosts=1", "fattree:k=4"}
	loops := 0
	for seed := range count {
		spec := specs[seed%uint64(len(specs))]
		t.Run(fmt.Sprintf("%d %s", seed, spec), func(t *testing.T) {
			rng := rand.New(rand.NewPCG(seed, 7))
			in := routingtest.Problem(t, spec)
			tables, err := minhop.New(routing.Balancing{Seed: uint32(1 + seed)})(t.Context(), in)
			if err != nil {
				t.Fatal(err)
			}
			of := *tables
			of.SLs = someSLs(rng, in, 1+rng.IntN(4))
			if compareWithIbdmchk(t, in, &of) {
				loops++
			}
		})
	}
	if t.Logf("%d of %d have a credit loop", loops, count); uint64(loops)*10 < count || uint64(loops)*10 > 9*count {
		t.Errorf("%d of %d have a credit loop: this shows little", loops, count)
	}
}

// someSLs are random SLs by the switches of both ends, all less than most, and random mapping tables to fewer lanes.
func someSLs(rng *rand.Rand, in routing.In, most int) *routing.SLs {
	rows := make([][]uint8, len(in.Topo.Switches))
	for s := range rows {
		for range in.Topo.Switches {
			rows[s] = append(rows[s], uint8(rng.IntN(most)))
		}
	}
	sls := routing.SLsBySwitch(in.Topo, in.LIDs, rows)
	if rng.IntN(3) == 0 {
		return sls
	}
	sls.Maps = &routing.Maps{Of: make([][]*routing.SLToVL, len(in.Topo.Ports))}
	byInput := rng.IntN(2) == 0
	for p := range sls.Maps.Of {
		tables := 1
		if node := &in.Topo.Nodes[in.Topo.Ports[p].Node]; byInput && node.Type == mad.Switch {
			tables = 1 + int(node.NumPorts)
		}
		for range tables {
			table := &routing.SLToVL{}
			for sl := range table {
				table[sl] = uint8(rng.IntN(most))
			}
			sls.Maps.Of[p] = append(sls.Maps.Of[p], table)
		}
	}
	return sls
}

// readable reports whether ibdmchk understands a subnet: it holds several LIDs of a port for wrong unless they are
// OpenSM's, and looks at one port of each host.
func readable(in routing.In) bool {
	several := func(n topo.Node) bool { return n.Type != mad.Switch && n.NumPorts > 1 }
	return slices.Max(in.LIDs.LMC) == 0 && !slices.ContainsFunc(in.Topo.Nodes, several)
}

// compareWithIbdmchk has ibdmchk look at routes between hosts, by the SLs and lanes that they have, and wants it to
// find what we do: routes that are missing, and whether there is a credit loop.
func compareWithIbdmchk(t *testing.T, in routing.In, tables *routing.Tables) (loop bool) {
	madtest.Need(t, "ibdmchk")
	v := &view.View{Topo: in.Topo, LIDs: in.LIDs, Tables: tables}
	d := dump.Dir{Path: t.TempDir(), Routing: true}
	if err := d.Write(t.Context(), v); err != nil {
		t.Fatal(err)
	}
	args := []string{"-s", "opensm-subnet.lst", "-f", "opensm.fdbs", "-m", "opensm.mcfdbs"}
	if tables.SLs != nil {
		args = append(args, "-c", "opensm-path-sl.dump")
	}
	if maps := tables.SLs.Lanes(); maps != nil {
		args = append(args, "-d", "lanes")
		if err := os.WriteFile(filepath.Join(d.Path, "lanes"), slVLs(in.Topo, maps), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.CommandContext(t.Context(), "ibdmchk", args...)
	cmd.Dir = d.Path
	said, _ := cmd.CombinedOutput() // its words count, not its exit status
	found, err := creditloop.Find(t.Context(),
		creditloop.In{Topo: in.Topo, LIDs: in.LIDs, Forwarding: routing.NewForwarding(in.Topo, in.LIDs, tables),
			SLs: tables.SLs, Maps: tables.SLs.Lanes()})
	if err != nil {
		t.Fatal(err)
	}
	lost := lostPairs(in, tables)
	switch text := string(said); {
	case lost > 0:
		if want := fmt.Sprintf("-E- Found %d missing paths", lost); !strings.Contains(text, want) {
			t.Errorf("want %q: %s", want, text)
		}
	case strings.Contains(text, "missing paths"):
		t.Errorf("no route is lost: %s", text)
	case found.Loop == nil && !strings.Contains(text, "-I- no credit loops found"), found.Loop != nil &&
		!strings.Contains(text, "-E- credit loops in routing"):
		t.Errorf("a credit loop: %v; %s", found.Loop != nil, text)
	}
	return found.Loop != nil
}

// slVLs are mapping tables of switches as ibdmchk reads them: the GUID of a switch, the ports by which packets come in
// and leave, and two lanes in each number.
func slVLs(t *topo.Topo, maps *routing.Maps) (text []byte) {
	for _, n := range t.Switches {
		for out := 1; out <= int(t.Nodes[n].NumPorts); out++ {
			for in := 0; in <= int(t.Nodes[n].NumPorts); in++ {
				table := maps.Table(uint8(in), t.Port(n, uint8(out)))
				text = fmt.Appendf(text, "%#016x %d %d", uint64(t.Nodes[n].GUID), in, out)
				for sl := uint8(0); sl < 16; sl += 2 {
					text = fmt.Appendf(text, " 0x%x%x", table.VL(sl), table.VL(sl+1))
				}
				text = append(text, '\n')
			}
		}
	}
	return text
}
