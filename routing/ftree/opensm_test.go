package ftree

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"ibsm/mad"
	"ibsm/routing"
	"ibsm/routing/routingtest"
	"ibsm/routing/verify"
	"ibsm/topo"
	"ibsm/topo/net"
	"ibsm/topo/netwalk"
)

// setup is how the engine is configured, and a fabric.
type setup struct {
	spec    string
	roots   bool // named: the switches without hosts that are farthest from them
	cn, io  int  // every so many host is a compute or I/O node; 0: no file
	reverse int
	quasi   bool
	connect bool
}

// TestOpenSM routes what OpenSM has routed, and wants no entry to differ.
func TestOpenSM(t *testing.T) {
	for _, c := range []setup{
		{spec: "fattree:k=4"},
		{spec: "fattree:k=8"},
		{spec: "fattree:k=8,levels=2"},
		{spec: "fattree:k=8,hosts=3"},
		{spec: "fattree:k=8", roots: true},
		{spec: "fattree:k=8", quasi: true},
		{spec: "fattree:k=8", connect: true},
		{spec: "fattree:k=8,levels=2", roots: true, connect: true, quasi: true},
		{spec: "fattree:k=8,missing-links=3%", roots: true},
		{spec: "fattree:k=8,missing-links=5%,seed=3", roots: true, connect: true},
		{spec: "fattree:k=6,missing-links=10%", roots: true, quasi: true},
		{spec: "fattree:k=6", cn: 2},
		{spec: "fattree:k=6", cn: 2, io: 3, reverse: 2},
		{spec: "fattree:k=6,missing-links=5%", roots: true, io: 3, reverse: 1},
		{spec: "fattree:k=8", io: 4},
	} {
		t.Run(fmt.Sprintf("%+v", c), func(t *testing.T) {
			file := routingtest.File(t, c.spec)
			s, options := c.settings(t, file)
			run := routingtest.OpenSM(t, file, "ftree", options...)
			tables, err := New(s)(t.Context(), routing.In{Topo: run.Topo, LIDs: run.LIDs})
			if configured := strings.Contains(run.Log, "ftree tables configured"); configured != (err == nil) {
				t.Fatalf("OpenSM routed: %v; error %v", configured, err)
			}
			if err != nil {
				t.Log(err)
				return
			}
			run.Compare(t, tables)
			mustForbid(t, run, tables)
		})
	}
}

// read is the fabric of a file.
func read(t *testing.T, file string) *topo.Topo {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	fabric, err := net.Parse(file, text)
	if err != nil {
		t.Fatal(err)
	}
	top, err := netwalk.Topo(fabric, net.NoEnd)
	if err != nil {
		t.Fatal(err)
	}
	return top
}

// settings are those of a fabric, with the options and files that say the same to OpenSM.
func (c *setup) settings(t *testing.T, file string) (s Settings, options []string) {
	t.Helper()
	top := read(t, file)
	s = Settings{QuasiIndexing: c.quasi, ConnectRoots: c.connect, ReverseHops: c.reverse}
	dir := t.TempDir()
	write := func(option, name string, guids []mad.GUID) {
		var text strings.Builder
		for _, g := range guids {
			fmt.Fprintf(&text, "0x%016x\n", uint64(g))
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		options = append(options, option, filepath.Join(dir, name))
	}
	if c.roots {
		for _, n := range top.Switches {
			if strings.HasPrefix(top.Nodes[n].Desc.String(), "spine") {
				s.Roots = append(s.Roots, top.Nodes[n].GUID)
			}
		}
		write("-a", "roots", s.Roots)
	}
	list := func(every int) (guids []mad.GUID, set map[mad.GUID]bool) {
		set = map[mad.GUID]bool{}
		for i, p := range top.EndPorts {
			if top.Nodes[top.Ports[p].Node].Switch == topo.None && i%every == 0 {
				guids = append(guids, top.Ports[p].GUID)
				set[top.Ports[p].GUID] = true
			}
		}
		return guids, set
	}
	if c.cn > 0 {
		guids, set := list(c.cn)
		s.Compute = set
		write("-u", "cn", guids)
	}
	if c.io > 0 {
		guids, set := list(c.io)
		s.IO = set
		write("-G", "io", guids)
	}
	if c.reverse > 0 {
		options = append(options, "-H", strconv.Itoa(c.reverse))
	}
	if c.quasi {
		conf := filepath.Join(dir, "conf")
		if err := os.WriteFile(conf, []byte("quasi_ftree_indexing TRUE\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		options = append(options, "-F", conf)
	}
	if c.connect {
		options = append(options, "-z")
	}
	return s, options
}

// mustForbid checks the proof of tables that are OpenSM's: the entries that OpenSM leaves empty are lost where hosts or
// the manager need them, and in no other place: the rules forbid all others.
func mustForbid(t *testing.T, run *routingtest.Run, tables *routing.Tables) {
	t.Helper()
	report, err := verify.Check(t.Context(), 0, run.Topo, run.LIDs, tables, nil)
	if err != nil {
		t.Fatal(err)
	}
	needed, others := run.Empty(tables)
	if report.Bad() != needed || report.Unreached() != needed || report.Count[verify.Forbidden] != others {
		t.Errorf("%d entries that hosts or the manager need are empty, and %d others; the proof says %v, such as %+v",
			needed, others, report.Count, report.Examples)
	}
}
