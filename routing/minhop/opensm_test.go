package minhop

import (
	"bytes"
	"fmt"
	"math/bits"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"ibsm/mad"
	"ibsm/mad/madtest"
	"ibsm/routing"
	"ibsm/topo"
	"ibsm/topo/net"
	"ibsm/topo/netwalk"
)

// TestOpenSM routes what OpenSM has routed, with the LIDs it gave, and wants no
// entry to differ.
func TestOpenSM(t *testing.T) {
	for _, c := range []struct {
		spec  string
		lmc   int
		proof bool
	}{
		{"fattree:k=4", 0, false},
		{"fattree:k=4", 2, false},
		{"fattree:k=8,levels=2", 0, false},
		{"fattree:k=8", 0, false},
		{"fattree:k=8,taper=3,levels=2", 1, false},
		{"torus:dims=3x4,hosts=2", 0, false},
		{"torus:dims=3x4,hosts=2", 2, false},
		{"random:seed=3", 0, false},
		{"random:seed=3", 2, false},
		{"fattree:k=8", 2, true},
		{"fattree:k=8,missing-links=5%", 0, true},
		{"fattree:k=8,missing-links=5%", 2, true},
		{"fattree:k=16", 0, true},
		{"fattree:k=16,missing-switches=3", 0, true},
		{"torus:dims=4x4x4", 0, true},
		{"mesh:dims=5x5", 3, true},
		{"hypercube", 0, true},
		{"hypercube", 2, true},
		{"dragonfly", 0, true},
		{"dragonfly", 2, true},
		{"hyperx", 0, true},
		{"hyperx", 2, true},
		{"tree", 2, true},
		{"random:seed=9,missing-links=10%", 7, true},
	} {
		t.Run(fmt.Sprintf("%s lmc %d", c.spec, c.lmc), func(t *testing.T) {
			if c.proof && !proof() {
				t.Skip("runs when IBSM_PROOF is set")
			}
			madtest.Need(t, "opensm")
			fabric, err := net.Generate(c.spec)
			if err != nil {
				t.Fatal(err)
			}
			var text bytes.Buffer
			if err := net.Write(&text, fabric); err != nil {
				t.Fatal(err)
			}
			file := filepath.Join(t.TempDir(), "fabric.net")
			if err := os.WriteFile(file, text.Bytes(), 0o644); err != nil {
				t.Fatal(err)
			}
			compareWithOpenSM(t, file, c.lmc)
		})
	}
}

// oddities are what generators do not make: parallel cables, a cable from a switch to
// itself, an adapter on two switches, GUIDs whose order depends on how they are read.
const oddities = `
switchguid=0x0000000000000201
Switch 8 "a"
[1] "b"[1]
[2] "b"[2]
[3] "h1"[1]
[4] "c"[4]
[5] "a"[6]
[6] "a"[5]
[7] "h2"[1]

switchguid=0x0000000000000102
Switch 8 "b"
[1] "a"[1]
[2] "a"[2]
[3] "c"[1]
[4] "c"[2]
[5] "h2"[2]
[6] "h3"[1]

switchguid=0x0000000000000301
Switch 8 "c"
[1] "b"[3]
[2] "b"[4]
[4] "a"[4]
[5] "h4"[1]
[6] "h5"[1]

caguid=0x0000000000001000
Hca 1 "h1"
[1] "a"[3]

caguid=0x0000000000000900
Hca 2 "h2"
[1] "a"[7]
[2] "b"[5]

caguid=0x0000000000003000
Hca 1 "h3"
[1] "b"[6]

caguid=0x0000000000002000
Hca 1 "h4"
[1] "c"[5]

caguid=0x0000000000004000
Hca 1 "h5"
[1] "c"[6]
`

// TestOpenSMFiles does the same for the fabrics that come with ibsim, and an odd one.
func TestOpenSMFiles(t *testing.T) {
	madtest.Need(t, "opensm")
	files, err := filepath.Glob("/usr/share/doc/ibsim-utils/net-examples/net*")
	if err != nil || len(files) == 0 {
		t.Fatal("no net-examples of Debian's package ibsim-utils", err)
	}
	odd := filepath.Join(t.TempDir(), "odd.net")
	if err := os.WriteFile(odd, []byte(oddities), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, file := range append(files, odd) {
		for _, lmc := range []int{0, 2} {
			t.Run(fmt.Sprintf("%s lmc %d", filepath.Base(file), lmc), func(t *testing.T) {
				compareWithOpenSM(t, file, lmc)
			})
		}
	}
}

func compareWithOpenSM(t *testing.T, file string, lmc int) {
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	fabric, err := net.Parse(file, text)
	if err != nil {
		t.Fatal(err)
	}
	dump := readDump(t, runOpenSM(t, file, lmc))
	top, err := netwalk.Topo(fabric, net.NoEnd)
	if err != nil {
		t.Fatal(err)
	}
	lids := dump.lids(t, top)
	tables := mustRoute(t, routing.In{Topo: top, LIDs: lids})
	compared, differ := 0, 0
	for s, n := range top.Switches {
		theirs := dump.tables[top.Nodes[n].GUID]
		for lid, owner := range lids.Owner {
			if owner == topo.None {
				continue
			}
			want, ok := theirs[mad.LID(lid)]
			if !ok {
				want = routing.NoPath
			}
			compared++
			if got := tables.LFT[s][lid]; got != want {
				if differ++; differ < 10 {
					t.Errorf("switch %v LID %d: port %d, OpenSM %d", top.Nodes[n].GUID, lid, got, want)
				}
			}
		}
	}
	if compared < len(top.Switches)*len(top.EndPorts) {
		t.Errorf("compared %d entries of %d switches and %d end ports", compared, len(top.Switches), len(top.EndPorts))
	}
	t.Logf("compared %d entries, %d differ", compared, differ)
}

// runOpenSM lets OpenSM bring up the fabric of a file on ibsim and returns the dump
// of its forwarding tables.
func runOpenSM(t *testing.T, file string, lmc int) []byte {
	t.Helper()
	dir := t.TempDir()
	conf := filepath.Join(dir, "opensm.conf")
	if err := os.WriteFile(conf, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	cmd := madtest.Peer(t, dir, madtest.StartIbsim(t, file), "", "opensm", "-o", "-D", "0x43", "-F", conf, "-P", filepath.Join(dir, "none"),
		"-f", filepath.Join(dir, "opensm.log"), "-R", "minhop", "-l", strconv.Itoa(lmc))
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("opensm: %v\n%s", err, out)
	}
	dump, err := os.ReadFile(filepath.Join(dir, "opensm-lfts.dump"))
	if err != nil {
		t.Fatal(err)
	}
	return dump
}

// dump is what OpenSM says in opensm-lfts.dump.
type dump struct {
	tables map[mad.GUID]map[mad.LID]uint8 // by node GUID of the switch
	owner  map[mad.LID]mad.GUID           // port GUIDs
}

var (
	dumpHead  = regexp.MustCompile(`^Unicast lids \[.*\] of switch (?:Lid|LID) \d+ guid (0x[0-9a-f]+) `)
	dumpEntry = regexp.MustCompile(`^(0x[0-9a-f]+) (\d+) # .* portguid (0x[0-9a-f]+)`)
)

func readDump(t *testing.T, text []byte) *dump {
	t.Helper()
	d := &dump{tables: map[mad.GUID]map[mad.LID]uint8{}, owner: map[mad.LID]mad.GUID{}}
	guid := func(text string) mad.GUID {
		g, err := mad.ParseGUID(text)
		if err != nil {
			t.Fatal(err)
		}
		return g
	}
	var table map[mad.LID]uint8
	for line := range strings.SplitSeq(string(text), "\n") {
		if m := dumpHead.FindStringSubmatch(line); m != nil {
			table = map[mad.LID]uint8{}
			d.tables[guid(m[1])] = table
		} else if m := dumpEntry.FindStringSubmatch(line); m != nil {
			lid, err := strconv.ParseUint(m[1], 0, 16)
			if err != nil {
				t.Fatal(err)
			}
			port, err := strconv.ParseUint(m[2], 10, 8)
			if err != nil {
				t.Fatal(err)
			}
			table[mad.LID(lid)] = uint8(port)
			d.owner[mad.LID(lid)] = guid(m[3])
		} else if line != "" && !strings.HasSuffix(line, "lids dumped") {
			t.Fatalf("line in dump: %q", line)
		}
	}
	return d
}

// lids are the LIDs that OpenSM gave.
func (d *dump) lids(t *testing.T, top *topo.Topo) *topo.LIDs {
	t.Helper()
	base, lmc := make([]mad.LID, len(top.Ports)), make([]uint8, len(top.Ports))
	count := map[topo.PortIdx]uint{}
	for lid, guid := range d.owner {
		p := top.FindPort(guid)
		if p == topo.None {
			t.Fatalf("OpenSM has a port %v that we have not", guid)
		}
		if base[p] == 0 || lid < base[p] {
			base[p] = lid
		}
		count[p]++
	}
	for p, n := range count {
		lmc[p] = uint8(bits.TrailingZeros(n))
	}
	for _, p := range top.EndPorts {
		if base[p] == 0 {
			t.Fatalf("OpenSM gave port %v no LID", top.Ports[p].GUID)
		}
	}
	return topo.NewLIDs(base, lmc)
}
