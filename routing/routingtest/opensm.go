// Package routingtest compares routing engines with OpenSM's.
package routingtest

import (
	"bytes"
	"fmt"
	"math/bits"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
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

// Problem is the routing of a generated fabric, as its first host finds it, with one LID for each
// port.
func Problem(t testing.TB, spec string) routing.In {
	t.Helper()
	fabric, err := net.Generate(spec)
	if err != nil {
		t.Fatal(err)
	}
	host := int32(slices.IndexFunc(fabric.Nodes, func(n net.Node) bool { return n.Type != mad.Switch }))
	found, err := netwalk.Topo(fabric, net.End{Node: host, Port: 1})
	if err != nil {
		t.Fatal(err)
	}
	return routing.In{Topo: found, LIDs: topo.SequentialLIDs(found, 0)}
}

// File writes a generated fabric to a file that ibsim reads, which numbers ports by itself, as
// ideal devices do.
func File(t testing.TB, spec string) (file string) {
	t.Helper()
	separator := ","
	if !strings.Contains(spec, ":") {
		separator = ":"
	}
	fabric, err := net.Generate(spec + separator + "devices=ideal")
	if err != nil {
		t.Fatal(err)
	}
	var text bytes.Buffer
	if err := net.Write(&text, fabric); err != nil {
		t.Fatal(err)
	}
	return write(t, text.String())
}

// Files are the fabrics that come with ibsim, and one of what generators do not make.
func Files(t testing.TB) []string {
	t.Helper()
	files, err := filepath.Glob("/usr/share/doc/ibsim-utils/net-examples/net*")
	if err != nil || len(files) == 0 {
		t.Fatal("no net-examples of Debian's package ibsim-utils", err)
	}
	return append(files, write(t, oddities))
}

func write(t testing.TB, text string) (file string) {
	t.Helper()
	file = filepath.Join(t.TempDir(), "fabric.net")
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return file
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

// Run is a fabric as OpenSM has brought it up.
type Run struct {
	Topo *topo.Topo
	LIDs *topo.LIDs // that OpenSM gave
	Log  string
	Dir  string // of the dump files that it wrote
	// Filled allows routes where OpenSM has none.
	Filled bool
	dump   *dump

	file, engine string
	options      []string
}

// OpenSM lets OpenSM bring up the fabric of a file on ibsim once, with an engine and
// further options. The test is passed over without OpenSM.
func OpenSM(t testing.TB, file, engine string, options ...string) *Run {
	t.Helper()
	run, err := Try(t, file, engine, options...)
	if err != nil {
		t.Fatal(err)
	}
	return run
}

// Try is OpenSM for a subnet with which OpenSM may end by a fault of its own: that is the error.
func Try(t testing.TB, file, engine string, options ...string) (*Run, error) {
	t.Helper()
	madtest.Need(t, "opensm")
	dir := t.TempDir()
	log := filepath.Join(dir, "opensm.log")
	cmd := command(t, dir, madtest.StartIbsim(t, file), engine,
		append([]string{"-o", "-D", "0x43", "-f", log}, options...))
	if out, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("opensm: %w\n%s", err, out)
	}
	read := func(file string) []byte {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	fabric, err := net.Parse(file, read(file))
	if err != nil {
		t.Fatal(err)
	}
	r := &Run{dump: readDump(t, read(filepath.Join(dir, "opensm-lfts.dump"))), Log: string(read(log)), Dir: dir,
		file: file, engine: engine, options: options}
	if r.Topo, err = netwalk.Topo(fabric, net.NoEnd); err != nil {
		t.Fatal(err)
	}
	r.dump.readLIDs(t, read(filepath.Join(dir, "guid2lid")))
	r.LIDs = r.dump.lids(t, r.Topo)
	return r, nil
}

// command is OpenSM with an engine and options, an empty configuration and no partitions.
func command(t testing.TB, dir, sock, engine string, options []string) *exec.Cmd {
	t.Helper()
	conf := filepath.Join(dir, "opensm.conf")
	if err := os.WriteFile(conf, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	args := []string{"opensm", "-F", conf, "-P", filepath.Join(dir, "none"), "-R", engine}
	return madtest.Peer(t, dir, sock, "", append(args, options...)...)
}

// Compare fails the test for each entry of tables that is not OpenSM's, and returns how many there are.
func (r *Run) Compare(t testing.TB, tables *routing.Tables) (compared int) {
	t.Helper()
	differ := 0
	for s, n := range r.Topo.Switches {
		theirs := r.dump.tables[r.Topo.Nodes[n].GUID]
		for lid, owner := range r.LIDs.Owner {
			if owner == topo.None {
				continue
			}
			want, ok := theirs[mad.LID(lid)]
			if !ok {
				want = routing.NoPath
			}
			compared++
			if got := tables.LFT[s][lid]; got != want && !(r.Filled && want == routing.NoPath) {
				if differ++; differ < 10 {
					t.Errorf("switch %v LID %d: port %d, OpenSM %d", r.Topo.Nodes[n].GUID, lid, got, want)
				}
			}
		}
	}
	if compared < len(r.Topo.Switches)*len(r.Topo.EndPorts) {
		t.Errorf("compared %d entries of %d switches and %d end ports", compared, len(r.Topo.Switches),
			len(r.Topo.EndPorts))
	}
	t.Logf("compared %d entries, %d differ", compared, differ)
	return compared
}

// arrives reports whether packets from a port of a host get to a LID by OpenSM's tables.
func (r *Run) arrives(from topo.PortIdx, lid mad.LID) bool {
	s, _ := routing.Home(r.Topo, from)
	for range r.Topo.Switches {
		n := r.Topo.Switches[s]
		egress, ok := r.dump.tables[r.Topo.Nodes[n].GUID][lid]
		if !ok || egress > r.Topo.Nodes[n].NumPorts {
			return false
		}
		to := r.Topo.Port(n, egress)
		if egress != 0 {
			to = r.Topo.Ports[to].Peer
		}
		if to == topo.None || r.LIDs.Owner[lid] == to {
			return to != topo.None
		}
		if s = r.Topo.Nodes[r.Topo.Ports[to].Node].Switch; s == topo.None {
			return false
		}
	}
	return false
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

func readDump(t testing.TB, text []byte) *dump {
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

// readLIDs adds the LIDs of ports to which OpenSM has no routes: a line of guid2lid is the GUID of a port, and
// its lowest and highest LID.
func (d *dump) readLIDs(t testing.TB, text []byte) {
	t.Helper()
	for line := range strings.SplitSeq(string(text), "\n") {
		if strings.TrimSpace(line) == "" {
			continue
		}
		var guid mad.GUID
		var low, high mad.LID
		if _, err := fmt.Sscanf(line, "0x%x 0x%x 0x%x", &guid, &low, &high); err != nil {
			t.Fatalf("line in guid2lid: %q: %v", line, err)
		}
		for lid := low; lid <= high; lid++ {
			d.owner[lid] = guid
		}
	}
}

// lids are the LIDs that OpenSM gave.
func (d *dump) lids(t testing.TB, top *topo.Topo) *topo.LIDs {
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
