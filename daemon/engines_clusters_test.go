package daemon

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ibsm/conf"
	"ibsm/mad"
	"ibsm/routing"
	"ibsm/routing/creditloop"
	"ibsm/routing/routingtest"
	"ibsm/routing/verify"
	"ibsm/sweep/engines"
	"ibsm/topo/net"
)

// TestClustersAsOpenSM routes two clusters as OpenSM does with each engine, whole and with 3 % of the cables between
// switches missing: one that is in use, and one with rails. Aggregation nodes count for the balance of OpenSM alone
// (docs/fields.md), and for its ftree make leaves of spines: they are compared as hosts first, and ftree then has to
// route with what they are. The small size tries two engines on the first cluster, whole.
func TestClustersAsOpenSM(t *testing.T) {
	for _, c := range []struct {
		name string
		make func(*testing.T) *net.Net
	}{{"ndr-582", cluster582}, {"rails", func(*testing.T) *net.Net { return routingtest.RailFabric(4) }}} {
		for _, damaged := range []bool{false, true} {
			if os.Getenv("IBSM_PROOF") == "" && (damaged || c.name != "ndr-582") {
				continue
			}
			n, name := c.make(t), c.name
			if damaged {
				name += " damaged"
				routingtest.LoseCables(n, 3, 3)
			}
			var text bytes.Buffer
			if err := net.Write(&text, n); err != nil {
				t.Fatal(err)
			}
			file := filepath.Join(t.TempDir(), "fabric.net")
			// which ibsim knows
			if err := os.WriteFile(file, bytes.ReplaceAll(text.Bytes(), []byte("NDR"), []byte("HDR")),
				0o644); err != nil {
				t.Fatal(err)
			}
			for _, engine := range engines.OpenSM() {
				if os.Getenv("IBSM_PROOF") == "" && engine != "ftree" && engine != "dfsssp" {
					continue
				}
				t.Run(name+"/"+engine, func(t *testing.T) { compareCluster(t, file, engine, spines(n)) })
			}
		}
	}
}

func compareCluster(t *testing.T, file, engine string, roots []mad.GUID) {
	lines := []string{"routing_engine " + engine, "qos TRUE", "nue_max_num_vls 0"}
	if engine == "updn" || engine == "ftree" {
		var text string
		for _, guid := range roots {
			text += fmt.Sprintf("%#x\n", uint64(guid))
		}
		lines = append(lines, "root_guid_file "+file+".roots")
		if err := os.WriteFile(file+".roots", []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	config := filepath.Join(t.TempDir(), "opensm.conf")
	if err := os.WriteFile(config, []byte(strings.Join(lines, "\n")+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	run := routingtest.OpenSM(t, file, engine, "-F", config)
	loaded := conf.Load([]string{"-F", config}, Environment)
	files, _, err := selectedFiles(loaded)
	if err != nil {
		t.Fatal(err)
	}
	found := *run.Topo
	found.Nodes = slices.Clone(found.Nodes)
	aggregation := 0
	for i := range found.Nodes {
		if n := &found.Nodes[i]; n.Aggregation {
			n.Aggregation = false
			aggregation++
		}
	}
	in := routing.In{Topo: &found, LIDs: run.LIDs, Lanes: slices.Repeat([]uint8{8}, len(found.Ports))}
	routed, tables, refused := first(t, chain(loaded.Config, files), in)
	if m := configured.FindStringSubmatch(run.Log); m == nil || m[1] != routed {
		t.Fatalf("routed by %s (%s), with OpenSM by %q", routed, refused, m)
	}
	t.Logf("%s, %d aggregation nodes; %s", routed, aggregation, refused)
	run.Compare(t, tables)
	in.Topo = run.Topo
	e := &chain(loaded.Config, files)[0]
	if tables, err = e.Route(t.Context(), in); err != nil {
		if engine != "torus-2QoS" {
			t.Errorf("refused: %v", err)
		}
		return
	}
	report, err := verify.Check(t.Context(), 0, in.Topo, in.LIDs, tables, nil)
	if err != nil || report.Bad() != report.Count[verify.DeadEnd] || lostPairs(in, tables) > 0 {
		t.Errorf("%+v, %d pairs of hosts lost, %v", report.Count, lostPairs(in, tables), err)
	}
	credit, err := creditloop.Find(t.Context(),
		creditloop.In{Topo: in.Topo, LIDs: in.LIDs, Forwarding: report.Forwarding(), SLs: tables.SLs})
	if err != nil || credit.Loop != nil && e.NoCreditLoop {
		t.Errorf("%+v, %v", credit, err)
	}
}

// cluster582 is a cluster in use.
func cluster582(t *testing.T) *net.Net {
	const file = "../../shared/data/ndr-582.topo"
	text, err := os.ReadFile(file)
	if err != nil {
		t.Skip(err)
	}
	n, err := net.Parse(file, text)
	if err != nil {
		t.Fatal(err)
	}
	for i := range n.Nodes {
		node := &n.Nodes[i]
		for p := range node.Ports {
			if node.Ports[p].GUID = 0; node.Type != mad.Switch && p > 0 || node.Type == mad.Switch && p == 0 {
				node.Ports[p].GUID = node.GUID + mad.GUID(p) // as ibsim gives them
			}
		}
	}
	return n
}

// spines are the switches that are called so.
func spines(n *net.Net) (guids []mad.GUID) {
	for i := range n.Nodes {
		if node := &n.Nodes[i]; node.Type == mad.Switch && strings.Contains(strings.ToLower(node.Desc), "spine") {
			guids = append(guids, node.GUID)
		}
	}
	return guids
}
