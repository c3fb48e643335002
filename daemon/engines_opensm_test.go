package daemon

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"ibsm/conf"
	"ibsm/mad"
	"ibsm/opensm/dump"
	osmlog "ibsm/opensm/log"
	"ibsm/opensm/names"
	"ibsm/routing"
	"ibsm/routing/routingtest"
	"ibsm/sim/ibsim/ibsimtest"
	"ibsm/sweep/engines"
	"ibsm/topo"
	"ibsm/view"
)

// TestEnginesAsOpenSM routes random fabrics with random configurations, which OpenSM reads from the same files, and
// wants what engines make to be OpenSM's: forwarding tables, the SLs of paths, SL to VL mapping tables and multicast
// trees. What docs/opensm.md says of routing engines is permitted, and nothing else. IBSM_SEED=N tries one seed,
// IBSM_SEED=N-M those from N to M-1.
func TestEnginesAsOpenSM(t *testing.T) {
	from, to := uint64(0), uint64(60)
	if os.Getenv("IBSM_PROOF") != "" {
		to = 2000
	}
	some := os.Getenv("IBSM_SEED")
	if some != "" {
		first, last, several := strings.Cut(some, "-")
		from, _ = strconv.ParseUint(first, 10, 64)
		if to = from + 1; several {
			to, _ = strconv.ParseUint(last, 10, 64)
		}
	}
	total := tally{entries: map[string]int{}, by: map[string]int{}}
	for number := from; number < to; number++ {
		t.Run(fmt.Sprint(number), func(t *testing.T) { total.compare(t, routingtest.NewSeed(t, number)) })
	}
	if some == "" && to <= 1025 { // have found what others had not: leaves of ftree above others, and beside others
		for _, number := range []uint64{1025, 1235} {
			t.Run(fmt.Sprint(number), func(t *testing.T) { total.compare(t, routingtest.NewSeed(t, number)) })
		}
	}
	t.Log("entries compared, by engine:")
	for _, key := range slices.Sorted(maps.Keys(total.entries)) {
		t.Logf("%9d %s", total.entries[key], key)
	}
	t.Log("seeds, by engine, LMC and setting that steers the engine:")
	for _, key := range slices.Sorted(maps.Keys(total.by)) {
		t.Logf("%9d %s", total.by[key], key)
	}
	if total.crashes > int(to-from)/50 {
		t.Errorf("OpenSM ended by a fault of its own with %d seeds", total.crashes)
	}
	if to-from < 2000 {
		return
	}
	for _, key := range slices.Concat(engines.OpenSM(), slices.Collect(maps.Keys(steers))) {
		if total.by[key] < 50 {
			t.Errorf("%d seeds of %s", total.by[key], key)
		}
	}
}

// tally is what was compared.
type tally struct {
	entries map[string]int // by engine, and what they are entries of
	by      map[string]int // seeds, by engine, LMC and setting that steers the engine
	crashes int            // seeds with which OpenSM ended by a fault of its own
}

var configured = regexp.MustCompile(`osm_ucast_mgr_process: (\S+) tables configured on all switches`)

func (c *tally) compare(t *testing.T, s *routingtest.Seed) {
	run, err := routingtest.Try(t, s.Fabric, s.Engine, "-F", s.Conf)
	if err != nil {
		c.crashes++
		t.Skip(err)
	}
	loaded := conf.Load([]string{"-F", s.Conf}, Environment)
	files, _, err := selectedFiles(loaded)
	if err != nil {
		t.Fatal(err)
	}
	in := routing.In{Topo: run.Topo, LIDs: run.LIDs, Lanes: slices.Repeat([]uint8{8}, len(run.Topo.Ports))}
	engine, tables, refused := first(t, chain(loaded.Config, files), in)
	defer func() {
		if t.Failed() {
			t.Logf("%s; %v\n%s", s.Spec, refused, strings.Join(s.Lines, "\n"))
		}
	}()
	m := configured.FindStringSubmatch(run.Log)
	if m == nil {
		t.Fatal("OpenSM routed nothing")
	}
	if m[1] != engine {
		t.Fatalf("routed by %s, with OpenSM by %s", engine, m[1])
	}
	run.Filled = engine == "torus-2QoS" || engine == "ftree" && leavesMeet(run.Topo)
	compareRefusals(t, run, refused)
	// after which OpenSM's min-hop goes on from where dfsssp stopped
	if !slices.ContainsFunc(refused, func(r engines.Refusal) bool { return r.Engine == "dfsssp" }) {
		c.entries[engine+" forwarding tables"] += run.Compare(t, tables)
		compareFindings(t, run, engine, tables)
	}
	c.compareServed(t, run, engine, tables)
	c.by[engine]++
	for _, line := range s.Lines {
		switch key, value, _ := strings.Cut(line, " "); {
		case key == "lmc":
			c.by[key+" "+value]++
		case slices.Contains(steers[key], engine):
			c.by[key]++
		}
	}
}

// compareServed compares what the SA says of paths, and tables besides forwarding tables, where the engine makes them.
func (c *tally) compareServed(t *testing.T, run *routingtest.Run, engine string, tables *routing.Tables) {
	if tables.SLs == nil {
		return
	}
	if maps := tables.SLs.Maps; maps != nil {
		c.entries[engine+" SL to VL mapping tables"] += run.CompareMaps(t, maps)
	}
	served := run.Serve(t, ibsimtest.Dial)
	lids := run.HostLIDs()
	theirs := served.SLs(lids[:min(len(lids), 50)])
	c.entries[engine+" SLs"] += len(theirs)
	if engine == "dfsssp" {
		compareLayers(t, tables, theirs)
	} else {
		for path, want := range theirs {
			if got := tables.SLs.For(path[0], path[1], 0); got != want {
				t.Fatalf("from LID %v to LID %v: SL %d, OpenSM %d", path[0], path[1], got, want)
			}
		}
	}
	if tables.Trunk != nil {
		c.entries[engine+" multicast forwarding tables"] += served.CompareTrees(4, tables.Trunk)
	}
}

// compareLayers compares the layers of paths with dfsssp. Each layer has some of eight SLs, of which OpenSM draws one
// for each path. SLs that a path has with one program or the other are of one layer; where all paths have the right
// ones, no fewer layers are left apart than there are.
func compareLayers(t *testing.T, tables *routing.Tables, theirs map[[2]mad.LID]uint8) {
	layer := [8]uint8{0, 1, 2, 3, 4, 5, 6, 7}
	for path, sl := range theirs {
		a, b := layer[tables.SLs.Of(path[0], path[1])], layer[sl]
		for i := range layer {
			if layer[i] == b {
				layer[i] = a
			}
		}
	}
	apart := map[uint8]bool{}
	for _, l := range layer {
		apart[l] = true
	}
	if want := len(tables.Findings.Lanes.Paths); len(apart) < want {
		t.Errorf("SLs of paths are of %d layers, want %d", len(apart), want)
	}
}

// finds are the lines in which engines of OpenSM say what they have found. Those of an engine that then refuses are not
// in ibsm's log, which has the reason alone.
var finds = map[string]*regexp.Regexp{
	"lash":   regexp.MustCompile(`-> ((?:lash_core|osm_do_mesh_analysis|discover_network_properties): .*)`),
	"dfsssp": regexp.MustCompile(`-> (dfsssp_remove_deadlocks: .*)`),
	"ftree":  regexp.MustCompile(`-> (fabric_dump_general_info: .*)`),
}

// compareFindings compares what is logged and dumped of what an engine found.
func compareFindings(t *testing.T, run *routingtest.Run, engine string, tables *routing.Tables) {
	ours := osmlog.EngineFindings(engine, tables.Findings)
	var theirs [][]string
	if lines := finds[engine]; lines != nil {
		theirs = lines.FindAllStringSubmatch(run.Log, -1)
	}
	for i, line := range ours {
		if i >= len(theirs) || theirs[i][1] != line {
			t.Errorf("line %q, OpenSM's lines %q", line, theirs)
			break
		}
	}
	if len(ours) == 0 && len(theirs) > 0 || len(ours) > 0 && len(theirs)%len(ours) > 0 {
		t.Errorf("lines %q, OpenSM's lines %q", ours, theirs)
	}
	v := &view.View{Topo: run.Topo, LIDs: run.LIDs, Tables: tables}
	dumps := map[string]func(context.Context, io.Writer, *view.View, names.Map) error{}
	switch f := tables.Findings; {
	case engine == "minhop", engine == "dor":
		dumps["opensm-lid-matrix.dump"], dumps["opensm.fdbs"] = dump.LIDMatrix, dump.Routes
	case engine == "torus-2QoS":
		dumps["opensm-torus.dump"] = dump.Torus
	case engine == "updn":
		dumps["opensm-updn-roots.dump"] = dump.Roots
	case engine == "ftree" && f.Computes != nil:
		dumps["opensm-ftree-ca-order.dump"] = dump.ComputeOrder
	}
	for name, write := range dumps {
		var text bytes.Buffer
		if err := write(t.Context(), &text, v, names.Map{}); err != nil {
			t.Error(err)
		}
		theirs, err := os.ReadFile(filepath.Join(run.Dir, name))
		same := text.String() == string(theirs)
		if engine == "ftree" && leavesMeet(run.Topo) {
			same = slices.Equal(sortedLines(text.String()), sortedLines(string(theirs)))
		}
		if engine == "minhop" || engine == "dor" { // for OpenSM, switches are in the order of GUIDs
			same = slices.Equal(switchTables(text.String()), switchTables(string(theirs)))
		}
		if err != nil || !same {
			t.Errorf("%s:\n%s\nOpenSM's:\n%s\n%v", name, text.String(), theirs, err)
		}
	}
}

func sortedLines(text string) []string { return slices.Sorted(strings.Lines(text)) }

// switchTables are the tables of a dump, sorted by what they begin with: the GUID of a switch.
func switchTables(text string) []string {
	tables := beginsTable.Split(text, -1)
	slices.Sort(tables)
	return tables
}

var beginsTable = regexp.MustCompile(`(?m)^.*Switch`)

// leavesMeet reports whether two switches with hosts have a cable between them. While ftree of OpenSM goes through the
// hosts of such a switch, it sorts them by the addresses that they have in its memory.
func leavesMeet(sub *topo.Topo) bool {
	leaf := map[topo.NodeIdx]bool{}
	for _, p := range sub.EndPorts {
		if peer := sub.Ports[p].Peer; peer != topo.None && sub.Nodes[sub.Ports[p].Node].Type == mad.CA {
			leaf[sub.Ports[peer].Node] = true
		}
	}
	for _, p := range sub.Ports {
		if leaf[p.Node] && p.Peer != topo.None && sub.Ports[p.Peer].Node != p.Node && leaf[sub.Ports[p.Peer].Node] {
			return true
		}
	}
	return false
}

// steers are the engines that each setting has an effect on.
var steers = map[string][]string{
	"avoid_throttled_links": {"sssp", "dfsssp", "nue"}, "cn_guid_file": {"ftree", "sssp", "dfsssp"},
	"connect_roots":    {"updn", "dnup", "ftree"},
	"do_mesh_analysis": {"lash"}, "guid_routing_order_file": balancing, "guid_routing_order_no_scatter": balancing,
	"hop_weights_file": {"minhop", "dor", "file", "updn"}, "ids_guid_file": {"updn"},
	"io_guid_file": {"ftree", "sssp", "dfsssp"}, "lash_start_vl": {"lash"},
	"max_reverse_hops": {"ftree"}, "nue_include_switches": {"nue"}, "nue_max_num_vls": {"nue"},
	"port_prof_ignore_file": balancing, "port_profile_switch_nodes": balancing, "port_search_ordering_file": balancing,
	"port_shifting": balancing, "quasi_ftree_indexing": {"ftree"}, "root_guid_file": {"updn", "ftree"},
	"scatter_ports": balancing,
	"torus_config":  {"torus-2QoS"},
}

// first are the tables of the first engine that routes, and those that refuse before it.
func first(t *testing.T, c engines.Chain, in routing.In) (engine string, tables *routing.Tables,
	refused []engines.Refusal) {
	for i := range c {
		tables, err := c[i].Route(t.Context(), in)
		if err == nil {
			return c[i].Name, tables, refused
		}
		refused = append(refused, engines.Refusal{Engine: c[i].Name, Err: err})
	}
	return "", nil, refused
}

// compareRefusals wants OpenSM's log to have each line that ibsm takes from it, and a refusal of updn to leave an empty
// file of roots.
func compareRefusals(t *testing.T, run *routingtest.Run, refused []engines.Refusal) {
	for _, r := range refused {
		if text, err := os.ReadFile(filepath.Join(run.Dir, "opensm-updn-roots.dump")); r.Engine == "updn" &&
			(err != nil || len(text) > 0) {
			t.Errorf("OpenSM's roots without a root: %q, %v", text, err)
		}
		for _, line := range osmlog.EngineRefused(r.Engine, r.Err) {
			theirs, _, _ := strings.Cut(line, " Switches are missing at")
			if !strings.Contains(run.Log, theirs) {
				t.Errorf("OpenSM does not say %q; %v", line, r)
			}
		}
	}
}
