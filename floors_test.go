package ibsm_test

import (
	"encoding/json"
	"errors"
	"io"
	"maps"
	"os/exec"
	"path"
	"slices"
	"strings"
	"testing"
)

const module = "ibsm/"

// floor is a row of the house. A package imports only packages of the floors below its
// own, never of the same one. "a/*" stands for every folder below a.
type floor struct {
	packages string
	modules  string // modules of others that these packages may import
}

// floors are the rows of the house, the lowest first. A package without a row is an
// error, and so is a row that names no package. Test files may import anything.
var floors = []floor{
	{packages: "atomicfile connlimit mad conf/diag conf/manual disjoint plural priority regularfile routing/acyclic"},
	{packages: "finding keys mad/smp mad/rmpp mad/umad mad/madtest mad/smi mad/txn conf/policyfile"},
	{packages: "keys/keystest mad/gsi mad/sarec mad/txn/txntest"},
	{packages: "mad/cc mad/pma mad/vports"},
	{packages: "mad/capture"},
	{packages: "conf", modules: "github.com/BurntSushi/toml"},
	{packages: "rights topo topo/net registry"},
	{packages: "topo/cabling topo/netwalk topo/net/nettest routing partitions partitions/partitionstest"},
	{packages: "routing/heap routing/mcast routing/rails routing/shape routing/spread routing/portgroups partitions/callers"},
	{packages: "routing/creditloop routing/detour routing/quality"},
	{packages: "routing/*"},
	{packages: "sweep/device sweep/proof"},
	{packages: "view sweep/plan"},
	{packages: "view/viewtest store opensm/log opensm/names opensm/guidfile opensm/perfdb",
		modules: "go.etcd.io/bbolt"},
	{packages: "sweep/discover sweep/engines sweep/program"},
	{packages: "sweep/*"},
	{packages: "sweep"},
	{packages: "sa/path sa/client perf congestioncontrol"},
	{packages: "perf/congestion perf/sick"},
	{packages: "sa/mirror"},
	{packages: "sa"},
	{packages: "manager"},
	{packages: "opensm/cache opensm/console opensm/instances opensm/prefixroutes opensm/sadb"},
	{packages: "opensm/dump opensm/migrate"},
	{packages: "ctl"},
	{packages: "ctl/history ctl/ctltest ctl/shape"},
	{packages: "ctl/slurm ctl/draw ctl/page"},
	{packages: "ctl/kube"},
	{packages: "ctl/profile", modules: "github.com/BurntSushi/toml"},
	{packages: "ctl/server"},
	{packages: "ctl/metrics",
		modules: "github.com/klauspost/compress github.com/prometheus/client_golang github.com/prometheus/client_model github.com/prometheus/common"},
	{packages: "api/users", modules: "github.com/BurntSushi/toml golang.org/x/crypto golang.org/x/time"},
	{packages: "api/audit api/openapi api/openapi/openapitest api/users/userstest"},
	{packages: "api", modules: "golang.org/x/time"},
	{packages: "api/ufm"},
	{packages: "api/ufm/ufmtest"},
	{packages: "daemon", modules: "github.com/coreos/go-systemd/v22"},
	{packages: "sim/fabric sim/fluid"},
	{packages: "sim sim/hosts sim/ibsim sim/playback sim/fabric/fabrictest"},
	{packages: "sim/baddays sim/ibsim/ibsimtest"},
	{packages: "cmd/cli", modules: "github.com/spf13/cobra github.com/spf13/pflag"},
	{packages: "cmd/ibsm cmd/ibsmctl cmd/ibfabric", modules: "github.com/spf13/cobra golang.org/x/term"},
}

// narrow packages import less of the module than what is below them: what is listed, and nothing else.
var narrow = map[string]string{
	// The simulated fabric does not import what it judges.
	"sim/fabric":   "mad mad/* topo/net",
	"sim/hosts":    "mad mad/* topo/net sim/fabric",
	"sim/baddays":  "mad mad/* topo/net sim/fabric sim/hosts",
	"sim/ibsim":    "mad mad/* sim/fabric",
	"sim/playback": "mad mad/* plural sim/fabric topo/net",
	// Only tests and programs import simulations.
	"sim":               "mad mad/* manager registry sa sim/fabric store sweep topo/net view",
	"routing":           "mad mad/smp topo priority",
	"perf":              "mad mad/gsi mad/pma mad/txn topo view",
	"congestioncontrol": "mad mad/cc mad/gsi mad/txn view",
	// What a policy means depends on the ports and their partitions alone.
	"routing/qos": "mad conf/diag conf/policyfile partitions registry routing/portgroups topo",
	// Likewise of groups.
	"routing/portgroups": "mad conf/diag conf/policyfile partitions topo",
}

// unsafePackages may pass memory to the kernel themselves: mad/umad knows the layout of its structures, and
// sim/ibsim makes system calls that the Go scheduler need not know of.
const unsafePackages = "mad/umad sim/ibsim"

// matches reports whether a package is among patterns.
func matches(pkg, patterns string) bool {
	return slices.ContainsFunc(strings.Fields(patterns), func(p string) bool {
		below, all := strings.CutSuffix(p, "*")
		return p == pkg || all && strings.HasPrefix(pkg, below)
	})
}

// floorOf is the index of a package's floor, -1 if it has none.
func floorOf(pkg string) int {
	return slices.IndexFunc(floors, func(f floor) bool { return matches(pkg, f.packages) })
}

// judge says what is wrong with pkg importing imported, "" if nothing.
func judge(pkg, imported string) string {
	switch {
	case imported == "C":
		return "is cgo, which the module does without"
	case imported == "unsafe" && !matches(pkg, unsafePackages):
		return "is for " + unsafePackages + " alone"
	case path.Dir(imported) == "golang.org/x/sys" && pkg != "mad/umad":
		return "is for mad/umad alone"
	case imported == "unsafe", path.Dir(imported) == "golang.org/x/sys":
		return ""
	case !strings.Contains(imported, ".") && !strings.HasPrefix(imported, module):
		return "" // the standard library
	}
	at := floorOf(pkg)
	if at < 0 {
		return "comes from a package that has no floor"
	}
	inside, ours := strings.CutPrefix(imported, module)
	if !ours {
		if slices.ContainsFunc(strings.Fields(floors[at].modules), func(m string) bool {
			return imported == m || strings.HasPrefix(imported, m+"/")
		}) {
			return ""
		}
		return "is a module that this floor does not use"
	}
	below := floorOf(inside)
	if below < 0 || below >= at {
		return "is not on a floor below"
	}
	if only, is := narrow[pkg]; is && !matches(inside, only) {
		return "is not among the few that this package may import"
	}
	if strings.HasPrefix(inside, "sim") && !strings.HasPrefix(pkg, "sim") && !strings.HasPrefix(pkg, "cmd/") {
		return "is a simulation, which only tests and programs import"
	}
	return ""
}

func TestFloors(t *testing.T) {
	cmd := exec.Command("go", "list", "-json=ImportPath,Imports,GoFiles", "./...")
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	seen := map[string]bool{}
	for d := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p struct {
			ImportPath string
			Imports    []string
			GoFiles    []string
		}
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatalf("go list: %v", err)
		}
		pkg := strings.TrimSuffix(strings.TrimPrefix(p.ImportPath+"/", module), "/")
		if len(p.GoFiles) == 0 {
			continue
		}
		seen[pkg] = true
		if floorOf(pkg) < 0 {
			t.Errorf("%s has no floor", pkg)
			continue
		}
		for _, imported := range p.Imports {
			if wrong := judge(pkg, imported); wrong != "" {
				t.Errorf("%s -> %s: %s", pkg, imported, wrong)
			}
		}
	}
	for _, f := range floors {
		for _, pattern := range strings.Fields(f.packages) {
			if !slices.ContainsFunc(slices.Collect(maps.Keys(seen)), func(pkg string) bool {
				return matches(pkg, pattern)
			}) {
				t.Errorf("a floor names %s, which does not exist", pattern)
			}
		}
	}
	for pkg := range narrow {
		if !seen[pkg] {
			t.Errorf("narrow names %s, which does not exist", pkg)
		}
	}
}

// TestClient: ibsmctl is a client of the manager. It is linked without what computes routes, sweeps and answers hosts.
func TestClient(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", "./cmd/ibsmctl").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	// What text files of operators mean, which verbs check; and a simulator, on which vports probe asks devices, too.
	const allowed = "routing routing/portgroups routing/qos sim/ibsim sim/fabric"
	linked := 0
	for _, line := range strings.Fields(string(out)) {
		pkg, ours := strings.CutPrefix(line, module)
		if !ours {
			continue
		}
		linked++
		if matches(pkg, "routing/* sweep sweep/* sa sa/* manager daemon ctl/server ctl/metrics view sim/*") &&
			!matches(pkg, allowed) {
			t.Errorf("ibsmctl links %s", pkg)
		}
	}
	if linked == 0 {
		t.Error("no package of this module is linked")
	}
}

// TestJudge shows that the table forbids and allows.
func TestJudge(t *testing.T) {
	for _, c := range []struct {
		pkg, imported string
		allowed       bool
	}{
		{"mad", "encoding/binary", true},
		{"mad", "ibsm/mad/smp", false},
		{"mad", "unsafe", false},
		{"mad/umad", "unsafe", true},
		{"mad/umad", "golang.org/x/sys/unix", true},
		{"mad/umad", "C", false},
		{"sim/ibsim", "golang.org/x/sys/unix", false},
		{"sim/ibsim", "unsafe", true},
		{"sim/fabric", "unsafe", false},
		{"sim/fabric", "ibsm/topo/net", true},
		{"sim/fabric", "ibsm/topo", false},
		{"sim/fabric", "ibsm/routing", false},
		{"routing/minhop", "ibsm/routing", true},
		{"routing/minhop", "ibsm/routing/verify", false},
		{"routing", "ibsm/conf/diag", false},
		{"topo", "ibsm/topo/net", false},
		{"sweep", "ibsm/sweep/plan", true},
		{"sweep/plan", "ibsm/sweep/discover", false},
		{"sweep/routes", "ibsm/sweep/engines", true},
		{"sweep/routes", "ibsm/sweep/multicast", false},
		{"sweep/mkeys", "ibsm/sweep/program", true},
		{"sweep/program", "ibsm/sweep/routes", false},
		{"sweep", "ibsm/sweep/lids", true},
		{"sweep", "ibsm/sweep/multicast", true},
		{"sweep/multicast", "ibsm/sweep/plan", true},
		{"sweep/multicast", "ibsm/sweep", false},
		{"sweep", "ibsm/store", true},
		{"store", "go.etcd.io/bbolt", true},
		{"sweep", "go.etcd.io/bbolt", false},
		{"sa", "ibsm/sa/path", true},
		{"sa/path", "ibsm/sa/client", false},
		{"manager", "ibsm/store", true},
		{"manager", "ibsm/opensm/dump", false},
		{"manager", "ibsm/ctl", false},
		{"manager", "ibsm/cmd/ibsm", false},
		{"ctl/server", "ibsm/sim", false},
		{"sim", "ibsm/sim/fabric", true},
		{"daemon", "ibsm/ctl/server", true},
		{"daemon", "ibsm/sim/ibsim", false},
		{"daemon", "github.com/coreos/go-systemd/v22/daemon", true},
		{"ctl/server", "ibsm/daemon", false},
		{"cmd/ibsm", "ibsm/sim/ibsim", true},
		{"cmd/ibsm", "github.com/spf13/cobra", true},
		{"cmd/ibsm", "github.com/prometheus/prometheus", false},
		{"cmd/ibsm", "ibsm/cmd/ibfabric", false},
		{"manager", "github.com/spf13/cobra", false},
		{"helpers", "ibsm/mad", false},
	} {
		if wrong := judge(c.pkg, c.imported); (wrong == "") != c.allowed {
			t.Errorf("%s -> %s: %q, want allowed %t", c.pkg, c.imported, wrong, c.allowed)
		}
	}
}
