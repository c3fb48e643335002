package daemon

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ibsm/conf"
	"ibsm/mad"
	"ibsm/routing"
	"ibsm/routing/routingtest"
	"ibsm/sweep/engines"
	"ibsm/topo"
	"ibsm/topo/net"
	"ibsm/topo/netwalk"
)

// Fabrics with which engines have little to do, or much.
const (
	oneSwitch = "switchguid=0x201\nSwitch 8 \"a\"\n[1] \"h1\"[1]\n[8] \"h2\"[1]\n\n" + hostH1 + "[1] \"a\"[1]\n\n" +
		hostH2 + "[1] \"a\"[8]\n"
	noSwitch = hostH1 + "[1] \"h2\"[1]\n\n" + hostH2 + "[1] \"h1\"[1]\n"
	noCable  = hostH1
	twoParts = "switchguid=0x201\nSwitch 8 \"a\"\n[1] \"h1\"[1]\n\nswitchguid=0x202\nSwitch 8 \"b\"\n[1] \"h2\"[1]\n\n" + hostH1 + "[1] \"a\"[1]\n\n" + hostH2 + "[1] \"b\"[1]\n"
	hostH1   = "caguid=0x1000\nHca 1 \"h1\"\n"
	hostH2   = "caguid=0x2000\nHca 1 \"h2\"\n"
)

// manyPorts are four switches of 254 ports in a ring, which is a tree of two roots and two leaves, too, and a torus of
// 2x2.
func manyPorts() string {
	var b strings.Builder
	for s, peers := range [4][2]int{{2, 3}, {2, 3}, {0, 1}, {0, 1}} {
		fmt.Fprintf(&b, "switchguid=%#x\nSwitch 254 \"s%d\"\n", 0x201+s, s)
		if s < 2 {
			fmt.Fprintf(&b, "[1] \"h%d1\"[1]\n[128] \"h%d2\"[1]\n", s, s)
		}
		for i, peer := range peers {
			fmt.Fprintf(&b, "[%d] \"s%d\"[%d]\n", 253+i, peer, 253+s%2)
		}
		b.WriteByte('\n')
	}
	for s := range 2 {
		fmt.Fprintf(
			&b, "caguid=0x%d100\nHca 1 \"h%d1\"\n[1] \"s%d\"[1]\n\ncaguid=0x%d200\nHca 1 \"h%d2\"\n[1] \"s%d\"[128]\n\n", s+1, s, s, s+1, s, s)
	}
	return b.String()
}

// oddFabrics are fabrics as files for ibsim. OpenSM routes those that have a switch, and finds one part of a subnet.
var oddFabrics = []struct {
	name, text, roots string
	lids              []mad.LID // of end ports in their order; nil for 1, 2, 3 and so on
	compared          bool      // with OpenSM
}{
	{"one switch", oneSwitch, "0x201\n" + wrongRoots, nil, true},
	{"none", noSwitch, "0x201\n", nil, false},
	{"no cable", noCable, "0x1000\n", nil, false},
	{"two parts", twoParts, "0x201\n0x202\n", nil, false},
	{"254 ports, more roots than switches", manyPorts(), "0x203\n0x204\n" + wrongRoots +
		strings.Repeat("0x203\r\n0x204\n", 20), nil, true},
	{"no root", manyPorts(), wrongRoots, nil, true},
	{"LID holes", manyPorts(), "0x203\n0x204\n", []mad.LID{mad.MaxUnicastLID, 63, 1, 4096, 64, 20000, 40000, 49000},
		false},
	{"LID holes of one switch", oneSwitch, "0x201\n", []mad.LID{mad.MaxUnicastLID, 1, 64}, false},
}

// wrongRoots are GUIDs of an adapter, its port, and nobody.
const wrongRoots = "0x1000\n0x1001\n0x999\n0\n"

// oddSettings give an engine roots, and other files of which half is wrong.
func oddSettings(t *testing.T, engine, roots string) (file string, lines []string) {
	t.Helper()
	dir := t.TempDir()
	lines = []string{"routing_engine " + engine, "connect_roots TRUE", "max_reverse_hops 2", "do_mesh_analysis TRUE",
		"qos TRUE", "port_shifting TRUE"}
	write := func(name, text string) string {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return filepath.Join(dir, name)
	}
	files := map[string]string{
		"root_guid_file": roots, "ids_guid_file": "0x201 7\n0x999 5\n0x1001 6\n",
		"hop_weights_file":        "0x201 253 3\n0x201 254 200\n0x202 253 0\n0x202 254 256\n0x999 1 2\n0x204 253 60\n0x204 254 5\n",
		"guid_routing_order_file": "0x1101\n0x1000\n0x999\n", "port_prof_ignore_file": "0x203 254\n0x203 255\n",
		"port_search_ordering_file": "0x201 254 253\n0x202 255\n",
		"torus_config":              "torus 2 2 1\nxp_link 0x201 0x203\nyp_link 0x201 0x204\n",
	}
	for name, text := range files {
		lines = append(lines, name+" "+write(name, text))
	}
	slices.Sort(lines[6:])
	return write("opensm.conf", strings.Join(lines, "\n")+"\n"), lines
}

// TestEnginesOddFabrics: with one switch, none, two parts, switches of 254 ports, and LIDs far from each other every
// engine routes or says why not, in OpenSM's words where that refuses, too; the tables are OpenSM's.
func TestEnginesOddFabrics(t *testing.T) {
	for _, f := range oddFabrics {
		t.Run(f.name, func(t *testing.T) {
			n, err := net.Parse(f.name, []byte(f.text))
			if err != nil {
				t.Fatal(err)
			}
			found, err := netwalk.Topo(n, net.NoEnd)
			if err != nil {
				t.Fatal(err)
			}
			lids := topo.SequentialLIDs(found, 0)
			if f.lids != nil {
				base := make([]mad.LID, len(found.Ports))
				for i, p := range found.EndPorts {
					base[p] = f.lids[i]
				}
				lids = topo.NewLIDs(base, make([]uint8, len(found.Ports)))
			}
			in := routing.In{Topo: found, LIDs: lids, Lanes: slices.Repeat([]uint8{8}, len(found.Ports))}
			for _, name := range engines.Names() {
				t.Run(name, func(t *testing.T) {
					file, lines := oddSettings(t, name, f.roots)
					loaded := conf.Load([]string{"-F", file}, Environment)
					files, _, err := selectedFiles(loaded)
					if err != nil {
						t.Fatal(err)
					}
					p := promised{refused: map[string]int{}}
					p.route(t, &chain(loaded.Config, files)[0], in, &files.settings(loaded.Config).Settings)
					t.Log(p.refused)
					if f.compared && slices.Contains(engines.OpenSM(), name) {
						compareOdd(t, f.text, &routingtest.Seed{Spec: f.name, Engine: name, Conf: file, Lines: lines})
					}
				})
			}
		})
	}
}

// compareOdd compares with OpenSM what an engine makes of a fabric, or says why it refuses it.
func compareOdd(t *testing.T, fabric string, s *routingtest.Seed) {
	s.Fabric = filepath.Join(t.TempDir(), "fabric.net")
	if err := os.WriteFile(s.Fabric, []byte(fabric), 0o644); err != nil {
		t.Fatal(err)
	}
	c := tally{entries: map[string]int{}, by: map[string]int{}}
	c.compare(t, s)
	t.Log(c.entries)
}
