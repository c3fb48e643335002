package main_test

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"ibsm/mad/madtest"
)

// dumpFiles are the dump files of both managers, with the line that begins what is
// said of a switch; "" where each line is by itself.
var dumpFiles = map[string]string{
	"opensm-subnet.lst":      "",
	"opensm-lfts.dump":       "Unicast lids ",
	"opensm-lid-matrix.dump": "Switch: ",
	"opensm.fdbs":            "dump_ucast_routes: ",
	"opensm-sl2vl.dump":      "\n",
	portTable:                "",
}

// portTable is where the table of ports is kept that a manager prints.
const portTable = "printed"

// tableLine is a line of that.
var tableLine = regexp.MustCompile(`(?m)^(\w+ +: \w\w : .*|[=-]{100,})$`)

// TestDumps: on a fresh fabric with the LIDs that OpenSM gives, ibsm's dump files are
// OpenSM's to the byte, but for the order of nodes. The programs that read OpenSM's
// say the same of ours.
func TestDumps(t *testing.T) {
	t.Parallel()
	fabrics := append(examples[:len(examples):len(examples)], generated("fattree:k=4,devices=ideal"),
		generated("torus:dims=3x3,devices=ideal"), oddities)
	if proof() {
		fabrics = append(fabrics, realCluster, generated("fattree:k=8"), generated("dragonfly"),
			generated("random:switches=30,degree=4,hosts=4"))
	}
	for _, f := range fabrics {
		for _, lmc := range []string{"0", "2"} {
			if lmc == "0" || f.name == oddities.name || proof() && f.name != realCluster.name {
				t.Run(f.name+" lmc "+lmc, func(t *testing.T) {
					compareDumps(t, f, lmc)
				})
			}
		}
	}
}

// conf is what managers of a net are configured with: those of oddities have names for
// nodes, one of them longer than a description can be.
func (f source) conf(t *testing.T) string {
	if f.name != oddities.name {
		return ""
	}
	file := filepath.Join(t.TempDir(), "names")
	text := "# switches\n0x201 \"spine (1)\" # the first\n0x0000000000001000 host 1\n0x3000 \"" +
		strings.Repeat("long ", 20) + "\"\n0x201 \"again\"\n"
	if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	return "node_name_map_name " + file + "\n"
}

// oddities is a net with what others have not: devices of several makers, a name that
// looks like the format around it, a cable from a switch to itself, one host on two
// switches.
var oddities = source{"oddities", func(t *testing.T) string {
	const text = `
vendid=0x2c9
devid=0xc738
switchguid=0x0000000000000201
Switch 8 "a" # "Switch (a); 'q' LID:0001"
[1] "b"[1]
[2] "b"[2]
[3] "h1"[1]
[5] "a"[6]
[6] "a"[5]
[7] "h2"[1]

vendid=0x8f105
devid=0x5a06
switchguid=0x0000000000000102
Switch 36 "b"
[1] "a"[1]
[2] "a"[2]
[5] "h2"[2]
[36] "h3"[1]

vendid=0x2c9
devid=0x1003
caguid=0x0000000000001000
Hca 1 "h1"
[1] "a"[3]

caguid=0xf000000000000900
Hca 2 "h2"
[1] "a"[7]
[2] "b"[5]

caguid=0x0000000000003000
Hca 1 "h3"
[1] "b"[36]
`
	path := filepath.Join(t.TempDir(), "odd.net")
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	return path
}}

func compareDumps(t *testing.T, f source, lmc string) {
	theirs := startIbsim(t, f.file(t))
	theirs.conf = f.conf(t) + "qos TRUE\nrouting_engine minhop\n"
	host := theirs.net.managerHost()
	want := dumpsOf(t, theirs, host, &opensm, lmc)
	withLIDs, err := theirs.topology()
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "net")
	if err := os.WriteFile(file, []byte(withLIDs), 0o666); err != nil {
		t.Fatal(err)
	}
	ours := startIbsim(t, file)
	ours.conf = theirs.conf
	got := dumpsOf(t, ours, ours.net.named(theirs.net.description(host)), &ibsm, lmc)
	for name, heading := range dumpFiles {
		if f.name == realCluster.name && (name == "opensm-lfts.dump" || name == "opensm.fdbs") {
			continue // it has aggregation nodes: we take them for no load, OpenSM for hosts
		}
		compareBlocks(t, name, blocks(t, got, name, heading), blocks(t, want, name, heading))
	}
	for _, r := range dumpReaders(lmc) {
		said, expected := r.says(t, got), r.says(t, want)
		if by, byTheirs := byGUID(t, got, said), byGUID(t, want, expected); by != byTheirs &&
			f.name != realCluster.name {
			t.Errorf("%s of ours:\n%s\nof OpenSM's:\n%s", r.argv[0], by, byTheirs)
		}
		for _, words := range r.accepts {
			if !regexp.MustCompile(words).MatchString(said) {
				t.Errorf("%s does not say %s of ours:\n%s", r.argv[0], words, said)
			}
		}
	}
}

// dumpsOf lets a manager bring the fabric up once, and returns where it left its files.
func dumpsOf(t *testing.T, s *simulator, host string, m *manager, lmc string) string {
	t.Helper()
	dir := t.TempDir()
	p := m.start(s, host, "-o", "-s", "1", "-l", lmc, "-D", "0x47", "--dump_files_dir", dir)
	p.await("SUBNET UP")
	select {
	case <-p.done:
	case <-time.After(patience()):
		t.Fatalf("%s does not end", m.name)
	}
	text := p.text()
	table := tableLine.FindAllString(text[max(0, strings.LastIndex(text, "\nVendor ")):], -1)
	if err := os.WriteFile(filepath.Join(dir, portTable), []byte(strings.Join(table, "\n")), 0o666); err != nil {
		t.Fatal(err)
	}
	return dir
}

// blocks are the parts of a file that begin with a heading, in order of their text.
func blocks(t *testing.T, dir, name, heading string) []string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for line := range strings.Lines(string(text)) {
		if len(all) == 0 || strings.HasPrefix(line, heading) {
			all = append(all, line)
		} else {
			all[len(all)-1] += line
		}
	}
	for i := range all { // a blank line may also end what is said of a switch
		all[i] = strings.TrimLeft(all[i], "\n")
	}
	slices.Sort(all)
	return all
}

func compareBlocks(t *testing.T, name string, got, want []string) {
	t.Helper()
	if len(want) == 0 {
		t.Fatalf("%s of OpenSM's is empty", name)
	}
	for i := range max(len(got), len(want)) {
		switch {
		case i >= len(got) || i >= len(want):
			t.Fatalf("%s has %d parts, OpenSM's %d", name, len(got), len(want))
		case got[i] != want[i]:
			t.Errorf("%s differs; ours:\n%sOpenSM's:\n%s", name, tail(got[i]), tail(want[i]))
			return
		}
	}
}

// dumpReader is a program that reads OpenSM's dump files, run where they are. Debian's
// crash on OpenSM's files too, once they have printed all that is of interest here, or
// never end.
type dumpReader struct {
	argv    []string
	accepts []string // regular expressions of what it says of files that it can read
	end     string   // where what it says ceases to matter
}

func dumpReaders(lmc string) []dumpReader {
	checks := []string{`Defined [1-9]\d*/\d+ systems/nodes`, `Defined [1-9]\d* fdb entries for:[1-9]\d* switches`}
	if lmc == "0" { // with others ibdmchk holds OpenSM's LIDs for wrong, whoever writes them down
		checks = append(checks, `Scanned:[1-9]\d* CA to CA paths`)
	}
	return []dumpReader{
		{[]string{"ibdmchk", "-s", "opensm-subnet.lst", "-f", "opensm.fdbs", "-m", "opensm.mcfdbs", "-l", lmc}, checks,
			""},
		{
			[]string{"ibtopodiff", "-e", "-t", "cables.topo", "-d", "opensm-subnet.lst"},
			[]string{`Parsing Subnet file:opensm-subnet.lst\n-I- Defined [1-9]\d*/\d+ systems/nodes`},
			"systems/nodes",
		},
	}
}

// subnetNode is an end of a link in opensm-subnet.lst; numberedNode is what ibdmchk calls a
// node: the GUID of its system, and its number among the nodes of this system.
var (
	subnetNode   = regexp.MustCompile(`SystemGUID:(\w+) NodeGUID:(\w+)`)
	numberedNode = regexp.MustCompile(`S(\w{16})(?:/| Plug:)U\d+`)
)

// byGUID is what a program says of a folder, with the GUIDs of nodes in the place of the names that
// ibdmchk makes up, and its lines sorted: the numbers in these names follow the order of nodes in
// the file, and what it says follows the names.
func byGUID(t *testing.T, dir, said string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, "opensm-subnet.lst"))
	if err != nil {
		t.Fatal(err)
	}
	systems, names := map[string]int{}, map[string]string{}
	for _, m := range subnetNode.FindAllStringSubmatch(string(text), -1) {
		system, node := m[1], m[2]
		if names[node] == "" {
			systems[system]++
			names[node] = fmt.Sprintf("S%s/U%d", system, systems[system])
			names[names[node]] = node
		}
	}
	said = numberedNode.ReplaceAllStringFunc(said, func(name string) string {
		return cmp.Or(names[strings.Replace(name, " Plug:", "/", 1)], name)
	})
	lines := strings.Split(said, "\n")
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

// says is what the program says of the files in a folder.
func (r *dumpReader) says(t *testing.T, dir string) string {
	t.Helper()
	madtest.Need(t, r.argv[0])
	for name, text := range map[string]string{
		"cables.topo": "SW2 s1\n P1 -> CA1 h1 P1\n",
		"SW2.ibnl":    "TOPSYSTEM SW2\nNODE SW 2 SW2 U1\n1 -> P1\n2 -> P2\n",
		"CA1.ibnl":    "TOPSYSTEM CA1\nNODE CA 1 CA1 U1\n1 -> P1\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	cmd := command(ctx, dir, []string{"IBDM_IBNL_PATH=."}, r.argv...)
	out, _ := cmd.CombinedOutput()
	said := string(out)
	if r.end != "" {
		if at := strings.LastIndex(said, r.end); at >= 0 {
			said = said[:at+len(r.end)]
		}
	}
	return said
}
