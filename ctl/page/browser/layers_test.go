package browser

import (
	"os"
	"path/filepath"
	"testing"
)

// TestLayers: members of a partition with their states, what it spans, traffic and errors from counters, differences
// from the cabling plan and between two generations are on the map.
func TestLayers(t *testing.T) {
	dir := t.TempDir()
	partitions, plan := filepath.Join(dir, "partitions.conf"), filepath.Join(dir, "plan.topo")
	for file, text := range map[string]string{
		partitions: "Default=0x7fff : ALL=full;\nred=0x2 : 0xb83fd20300a00000=full, 0xb83fd20300a00010=limited, 0x123=full;\n",
		plan:       outputOf(t, "ibfabric", "gen", "fattree:k=4"),
	} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	conf := filepath.Join(dir, "opensm.conf")
	if err := os.WriteFile(conf, []byte("topo_config_file "+plan+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := serve(t, "fattree:k=4", "-P", partitions, "-F", conf, "--perfmgr", "--perfmgr_sweep_time_s", "1")
	link := s.pageLink()
	b := browser(t, 1400, 900)
	b.open(link)
	b.until(`/nothing|weakened|wrong/.test(document.getElementById("state").textContent)`)
	b.open("#/partitions")
	b.has("red", "0x0002", "2 applied")
	b.open("#/partitions/red")
	b.has("2 applied", "limited", "host-01 mlx5_0")
	b.open("#/map?layer=partition&partition=red")
	b.has("full member of red", "limited member")
	b.open("#/tables/counters?sort=-errors")
	b.until(`document.querySelector("tbody tr")`)
	b.open("#/map?layer=errors")
	b.has("errors at both ends")
	b.open("#/map?layer=load&from=host-01&to=host-16")
	b.has("traffic: share of what the link can carry", "arrived", "share")
	s.order(`recable "leaf-01" 3 "agg-02" 1`)
	b.open("#/problems")
	b.has("ibsmctl topology check")
	b.open("#/map?plan=1")
	b.has("differs from the plan")
	b.open("#/generations")
	b.until(`document.querySelectorAll('a[href*="from_generation"]').length > 0`)
	b.run(click(`a[href*="from_generation"]`))
	b.has("changed between generation")
	b.picture("diff")
}
