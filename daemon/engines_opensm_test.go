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
	"ibsm/opensm/dump"
	osmlog "ibsm/opensm/log"
	"ibsm/opensm/names"
	"ibsm/routing"
	"ibsm/routing/routingtest"
	"ibsm/sweep/engines"
	"ibsm/view"
)

// TestEnginesAsOpenSM routes random fabrics with random configurations, which OpenSM reads from the same
// files, and wants each entry to be OpenSM's: no difference is permitted. Aggregation nodes, because of which ibsm differs, are
// not among these fabrics. IBSM_SEED=N tries one seed, IBSM_SEED=N-M those from N to M-1.
func TestEnginesAsOpenSM(t *testing.T) {
	from, to := uint64(0), uint64(60)
	if os.Getenv("IBSM_PROOF") != "" {
		to = 2000
	}
	if text := os.Getenv("IBSM_SEED"); text != "" {
		first, last, several := strings.Cut(text, "-")
		from, _ = strconv.ParseUint(first, 10, 64)
		if to = from + 1; several {
			to, _ = strconv.ParseUint(last, 10, 64)
		}
	}
	total := tally{by: map[string]int{}}
	for number := from; number < to; number++ {
		t.Run(fmt.Sprint(number), func(t *testing.T) { total.compare(t, routingtest.NewSeed(t, number)) })
	}
	t.Logf("compared %d entries; seeds by engine, LMC and setting that steers the engine:", total.entries)
	for _, key := range slices.Sorted(maps.Keys(total.by)) {
		t.Logf("%6d %s", total.by[key], key)
	}
}

// tally is what was compared.
type tally struct {
	entries int
	by      map[string]int // seeds, by engine, LMC and setting that steers the engine
}

var configured = regexp.MustCompile(`osm_ucast_mgr_process: (\S+) tables configured on all switches`)

func (c *tally) compare(t *testing.T, s *routingtest.Seed) {
	run := routingtest.OpenSM(t, s.Fabric, s.Engine, "-F", s.Conf)
	loaded := conf.Load([]string{"-F", s.Conf}, Environment)
	files, _, err := selectEngineFiles(loaded)
	if err != nil {
		t.Fatal(err)
	}
	in := routing.In{Topo: run.Topo, LIDs: run.LIDs, Lanes: slices.Repeat([]uint8{8}, len(run.Topo.Ports))}
	engine, tables, refused := first(t, chain(loaded.Config, files), in)
	defer func() {
		if t.Failed() {
			t.Logf("%s; %s\n%s", s.Spec, refused, strings.Join(s.Lines, "\n"))
		}
	}()
	m := configured.FindStringSubmatch(run.Log)
	if m == nil {
		t.Fatal("OpenSM routed nothing")
	}
	if m[1] != engine {
		t.Fatalf("routed by %s, with OpenSM by %s", engine, m[1])
	}
	c.entries += run.Compare(t, tables)
	compareFindings(t, run, engine, tables)
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

var finds = regexp.MustCompile(`-> ((?:lash_core|discover_network_properties|dfsssp_remove_deadlocks|fabric_dump_general_info): .*)`)

// compareFindings compares what is logged and dumped of what an engine found.
func compareFindings(t *testing.T, run *routingtest.Run, engine string, tables *routing.Tables) {
	ours := osmlog.EngineFindings(engine, tables.Findings)
	theirs := finds.FindAllStringSubmatch(run.Log, -1)
	for i, line := range ours {
		if i >= len(theirs) || theirs[i][1] != line {
			t.Errorf("line %q, OpenSM's lines %q", line, theirs)
			break
		}
	}
	v := &view.View{Topo: run.Topo, LIDs: run.LIDs, Tables: tables}
	for name, write := range map[string]func(context.Context, io.Writer, *view.View, names.Map) error{"opensm-updn-roots.dump": dump.Roots, "opensm-ftree-ca-order.dump": dump.ComputeOrder} {
		if f := tables.Findings; f == nil || name == "opensm-updn-roots.dump" && f.Roots == nil || name == "opensm-ftree-ca-order.dump" && f.Computes == nil {
			continue
		}
		var text bytes.Buffer
		if err := write(t.Context(), &text, v, names.Map{}); err != nil {
			t.Error(err)
		}
		theirs, err := os.ReadFile(filepath.Join(run.Dir, name))
		if err != nil || text.String() != string(theirs) {
			t.Errorf("%s:\n%s\nOpenSM's:\n%s\n%v", name, text.String(), theirs, err)
		}
	}
}

// steers are the engines that each setting has an effect on.
var steers = map[string][]string{
	"avoid_throttled_links": {"sssp", "dfsssp", "nue"}, "cn_guid_file": {"ftree", "sssp", "dfsssp"}, "connect_roots": {"updn", "dnup", "ftree"},
	"do_mesh_analysis": {"lash"}, "guid_routing_order_file": balancing, "guid_routing_order_no_scatter": balancing,
	"hop_weights_file": {"minhop", "dor", "file", "updn"}, "ids_guid_file": {"updn"}, "io_guid_file": {"ftree", "sssp", "dfsssp"}, "lash_start_vl": {"lash"},
	"max_reverse_hops": {"ftree"}, "port_prof_ignore_file": balancing, "port_profile_switch_nodes": balancing, "port_search_ordering_file": balancing,
	"port_shifting": balancing, "quasi_ftree_indexing": {"ftree"}, "root_guid_file": {"updn", "ftree"}, "scatter_ports": balancing,
}

// first are the tables of the first engine that routes.
func first(t *testing.T, c engines.Chain, in routing.In) (engine string, tables *routing.Tables, refused string) {
	for i := range c {
		tables, err := c[i].Route(t.Context(), in)
		if err == nil {
			return c[i].Name, tables, refused
		}
		refused += c[i].Name + ": " + err.Error() + "; "
	}
	return "", nil, refused
}
