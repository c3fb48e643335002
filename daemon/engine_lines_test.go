package daemon

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"ibsm/conf"
	"ibsm/conf/diag"
	"ibsm/mad"
	"ibsm/opensm/dump"
	"ibsm/opensm/names"
	"ibsm/routing"
	"ibsm/routing/minhop"
	"ibsm/routing/routingtest"
	"ibsm/sweep/engines"
	"ibsm/topo"
	"ibsm/view"
)

// guidFiles are the files of GUIDs: an engine that reads the file, what follows a GUID on a line, what OpenSM says of a
// file that it cannot read, and whether the GUIDs are those of ports of hosts.
var guidFiles = []struct {
	key, engine, rest, words string
	ports                    bool
}{
	{"root_guid_file", "updn", "", "updn_lid_matrices: ERR AA02: cannot parse root guids file", false},
	{"root_guid_file", "ftree", "", "fabric_load_roots: ERR AB2A: cannot parse root guids file", false},
	{"ids_guid_file", "updn", " 7", "updn_lid_matrices: ERR AA03: cannot parse node ids file", false},
	{"cn_guid_file", "ftree", "", "fabric_read_guid_files: ERR AB23: Problem parsing CN guid file", true},
	{"io_guid_file", "ftree", "", "fabric_read_guid_files: ERR AB28: Problem parsing I/O guid file", true},
	{"cn_guid_file", "dfsssp", "", "dfsssp_do_dijkstra_routing: ERR AD33: Problem parsing compute node guid file",
		true},
	{"io_guid_file", "sssp", "", "dfsssp_do_dijkstra_routing: ERR AD35: Problem parsing I/O guid file", true},
	{"guid_routing_order_file", "minhop", "", "ucast_mgr_build_lfts: ERR 3A0D: cannot parse guid routing order file",
		true},
	{"port_prof_ignore_file", "minhop", " 1", "ucast_mgr_build_lfts: ERR 3A0E: cannot parse port prof ignore file",
		false},
	{"hop_weights_file", "dor", " 1 3", "osm_ucast_mgr_build_lid_matrices: ERR 3A05: cannot parse hop_weights_file",
		false},
	{"port_search_ordering_file", "dnup", " 3 2",
		"ucast_mgr_setup_all_switches: ERR 3A0F: cannot parse port_search_ordering_file", false},
}

// TestGUIDFileLines: whatever else is in a file of GUIDs, and however lines end, the tables are those of the right
// lines, and an operator learns which line is wrong. A file with a line that is none changes nothing.
func TestGUIDFileLines(t *testing.T) {
	in := routingtest.Problem(t, "fattree:k=4,devices=ideal")
	in.Lanes = slices.Repeat([]uint8{8}, len(in.Topo.Ports))
	spines, adapters, ports := guidsOf(&in)
	for _, f := range guidFiles {
		good, wrong := spines, ports[0]
		if f.ports {
			good, wrong = ports[3:6], adapters[0]
		}
		var lines []string
		for _, guid := range good {
			lines = append(lines, fmt.Sprintf("%#x%s", uint64(guid), f.rest))
		}
		also := func(guid string) string { return strings.Join(append(slices.Clone(lines), guid+f.rest), "\n") + "\n" }
		last := len(lines) + 1
		plain := strings.Join(lines, "\n") + "\n"
		for _, c := range []struct {
			name, text string
			warning    string // after the name of the file
			unknown    int
		}{
			{"Windows line ends", strings.Join(lines, "\r\n") + "\r\n", "", 0},
			{"no final newline", strings.Join(lines, "\n"), "", 0},
			{"comments", "# roots\n\n" + strings.Join(lines, " # this\n\t# old\n\n"), "", 0},
			{"unknown", also("0x999"), "", 1},
			{"zero", also("0"), fmt.Sprintf(":%d:1: GUID 0 belongs to no node", last), 1},
			{"repeated", plain + lines[0], fmt.Sprintf(":%d:1: ", last), 0},
			{"of another kind", also(wrong.String()), "", 1},
		} {
			t.Run(f.key+" "+f.engine+" "+c.name, func(t *testing.T) {
				want, _, _ := routeWith(t, f.engine, f.key, plain, in)
				got, e, warnings := routeWith(t, f.engine, f.key, c.text, in)
				if !slices.EqualFunc(got.LFT, want.LFT, bytes.Equal) {
					t.Error("other tables")
				}
				if said := strings.Join(warnings, "\n"); !strings.Contains(said, c.warning) ||
					(said != "") != (c.warning != "") || strings.Contains(said, "\n") {
					t.Errorf("warnings %q, want %q", said, c.warning)
				}
				if u := e.Unknown(in.Topo); len(u.Switches)+len(u.Ports) != c.unknown {
					t.Errorf("unknown are %v, want %d", u, c.unknown)
				}
			})
		}
		t.Run(f.key+" "+f.engine+" binary", func(t *testing.T) {
			c := loadWith(t, f.engine, f.key, plain+"\x00\x01\xff\xfe\n")
			r := readEngineFiles(c)
			if where := fmt.Sprintf("%s:%d:1: expected a GUID", f.key, last); len(r.errors) != 1 ||
				!strings.Contains(r.errors.Error(), where) {
				t.Errorf("errors %v, want %q", r.errors, where)
			}
			if said := strings.Join(r.unreadable, "\n"); !strings.HasPrefix(said, f.words) {
				t.Errorf("OpenSM's words %q, want %q", said, f.words)
			}
		})
	}
}

// guidsOf are switches without hosts, adapters, and their ports.
func guidsOf(in *routing.In) (spines, adapters, ports []mad.GUID) {
	for i := range in.Topo.Nodes {
		switch n := &in.Topo.Nodes[i]; {
		case n.Type == mad.CA && !n.Aggregation:
			adapters = append(adapters, n.GUID)
			ports = append(ports, in.Topo.Ports[in.Topo.Port(topo.NodeIdx(i), 1)].GUID)
		case strings.HasPrefix(n.Desc.String(), "spine"):
			spines = append(spines, n.GUID)
		}
	}
	return spines, adapters, ports
}

// loadWith is a configuration with an engine and a file.
func loadWith(t *testing.T, engine, key, text string) *conf.Config {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{
		key: text, "opensm.conf": fmt.Sprintf("routing_engine %s\n%s %s\n", engine, key, filepath.Join(dir, key)),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return conf.Load([]string{"-F", filepath.Join(dir, "opensm.conf")}, Environment).Config
}

// routeWith has an engine route with a file.
func routeWith(t *testing.T, engine, key, text string, in routing.In) (*routing.Tables, *engines.Engine, []string) {
	t.Helper()
	c := loadWith(t, engine, key, text)
	r := readEngineFiles(c)
	if len(r.errors) > 0 {
		t.Fatal(r.errors)
	}
	e := &chain(c, r.files)[0]
	tables, err := e.Route(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	var warnings []string
	for _, w := range r.warnings {
		warnings = append(warnings, w.Error())
	}
	return tables, e, warnings
}

// TestDumpsCutOff: a dump of which the end is missing, wherever it is cut, is refused with a position, or has lost
// nothing. Of a part that has nothing of the other switches either, a note says so.
func TestDumpsCutOff(t *testing.T) {
	in := routingtest.Problem(t, "mesh:dims=3,hosts=1,devices=ideal")
	v := &view.View{Topo: in.Topo, LIDs: in.LIDs}
	var err error
	if v.Tables, err = minhop.Route(t.Context(), in); err != nil {
		t.Fatal(err)
	}
	for key, write := range map[string]func(context.Context, io.Writer, *view.View, names.Map) error{
		"lfts_file": dump.LFTs, "lid_matrix_dump_file": dump.LIDMatrix,
	} {
		var text bytes.Buffer
		if err := write(t.Context(), &text, v, names.Map{}); err != nil {
			t.Fatal(err)
		}
		refused, noted := 0, 0
		for end := range text.Len() + 1 {
			file, err := parseKeptFile(key, text.Bytes()[:end], nil)
			var found diag.List
			if errors.As(err, &found) {
				refused++
				if found[0].Line == 0 {
					t.Errorf("%s cut off at byte %d: no position: %v", key, end, err)
				}
				continue
			}
			var s fileSettings
			file.apply(&s)
			e, _ := engines.Find("file", &s.Settings)
			switch tables, err := e.Route(t.Context(), in); {
			case err != nil && regexp.MustCompile(`:\d+: .*cut off|no switch of the file is in this subnet`).MatchString(
				err.Error()):
				refused++
			case err != nil:
				t.Errorf("%s cut off at byte %d: %v", key, end, err)
			case len(tables.Notes) > 0:
				noted++
			case !slices.EqualFunc(tables.LFT, v.Tables.LFT, bytes.Equal):
				t.Errorf("%s cut off at byte %d: half a table is used:\n%s", key, end, text.Bytes()[:end])
			}
		}
		t.Logf("%s: %d bytes, refused %d times, noted %d times", key, text.Len(), refused, noted)
		if refused < text.Len()*9/10 {
			t.Errorf("%s is refused %d times of %d", key, refused, text.Len())
		}
	}
}
