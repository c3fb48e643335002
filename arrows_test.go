package ibsm_test

import (
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"path"
	"slices"
	"strings"
	"testing"
)

const module = "ibsm/"

// arrow says what packages of the module may import of it and from elsewhere. Names
// are folders; "a/*" stands for every folder below a, "*" for all. A package may do
// what any arrow of its own allows. Test files are free.
type arrow struct {
	from    string
	to      string
	but     string // what to does not mean
	modules string // of others
}

// arrows is the table of the design. A package without an arrow is an error: where a
// package belongs is decided before it is written.
var arrows = []arrow{
	{from: "mad"},
	{from: "priority"},
	{from: "mad/smp mad/rmpp mad/umad", to: "mad"},
	{from: "mad/umad", modules: "golang.org/x/sys"},
	{from: "mad/sarec mad/pma", to: "mad mad/smp"},
	{from: "mad/madtest", to: "mad"},
	{from: "mad/txn", to: "mad mad/rmpp"},
	{from: "mad/fabric/net", to: "mad conf/diag"},
	{from: "mad/fabric", to: "mad mad/smp mad/sarec mad/pma mad/rmpp mad/fabric/net"},
	{from: "mad/fabric/hosts", to: "mad mad/smp mad/sarec mad/fabric mad/fabric/net"}, // clients of the SA, as Linux hosts are: for tests and benchmarks
	{from: "mad/ibsim", to: "mad mad/fabric mad/rmpp"},
	{from: "conf/diag"},
	{from: "conf/manual"},
	{from: "conf", to: "conf/diag conf/manual", modules: "github.com/BurntSushi/toml"},
	{from: "sweep/topo", to: "mad mad/smp mad/fabric/net"},
	{from: "routing routing/*", to: "mad routing sweep/topo priority"},
	{from: "routing/qos", to: "conf/diag"},
	{from: "partitions", to: "mad sweep/topo conf/diag sa/registry"},
	{from: "sa/registry", to: "mad mad/sarec"},
	{from: "sweep/view", to: "mad sweep/topo sa/registry routing routing/mcast routing/qos partitions"},
	{from: "sweep/view/viewtest", to: "mad/fabric/net routing routing/minhop sweep/topo sweep/view"}, // for tests
	{from: "sweep/discover sweep/elect", to: "mad mad/smp mad/txn sweep/topo"},
	{from: "sweep/plan", to: "mad mad/smp sweep/topo sweep/view routing partitions"},
	{from: "sweep/store", to: "mad sa/registry", modules: "go.etcd.io/bbolt"},
	{from: "sweep", to: "mad mad/smp mad/txn sweep/* routing routing/verify routing/mcast routing/qos partitions sa/registry", but: "sweep/store"},
	{from: "sa sa/path sa/client sa/mirror", to: "mad mad/smp mad/sarec mad/txn sweep/topo sweep/view sa/registry routing/qos"},
	{from: "sa/mirror sa/client", to: "mad/rmpp"},  // their messages are longer than a packet
	{from: "sa/mirror", to: "sa/client"},           // of a master of another kind everything is asked for
	{from: "sa", to: "sa/* routing routing/mcast"}, // how long the rows of LFT and MFT records are
	{from: "opensm opensm/*", to: "mad mad/smp sweep/topo sweep/view sa/registry routing routing/mcast partitions conf/diag priority"},
	{from: "opensm/dump", to: "opensm/names opensm/sadb"},
	{from: "opensm/console", to: "opensm/names"},
	{from: "ctl", to: "mad conf/diag"},
	{from: "ctl/shape", to: "ctl"},
	{from: "ctl/ctltest", to: "ctl mad mad/fabric/net"}, // rows of generated fabrics, for tests
	{from: "ctl/draw ctl/slurm", to: "mad ctl ctl/shape"},
	{from: "manager", to: "*", but: "cmd/* mad/fabric mad/umad mad/ibsim"},
	{from: "manager/history", to: "mad mad/smp priority routing sa/registry sweep/topo sweep/view"}, // pure but for its Keeper; knows views, not managers
	{from: "manager/control", to: "manager manager/history ctl conf/diag partitions mad mad/smp mad/sarec mad/rmpp routing routing/quality sa sa/registry sweep/topo sweep/view opensm/dump opensm/names"},
	{from: "manager/control", to: "opensm/console"}, // the status that it shows
	{from: "manager/sim", to: "manager sa mad mad/rmpp mad/fabric mad/fabric/net sa/registry sweep sweep/store sweep/view"},
	{from: "cmd/*", to: "*", but: "cmd/*", modules: "github.com/spf13/pflag"},
	{from: "cmd/ibsmctl", modules: "golang.org/x/term"},
}

// unsafeRoom is the one package that may know the kernel's memory layout.
const unsafeRoom = "mad/umad"

// matches tells whether a package is among patterns.
func matches(pkg, patterns string) bool {
	return slices.ContainsFunc(strings.Fields(patterns), func(p string) bool {
		below, all := strings.CutSuffix(p, "*")
		return p == pkg || all && strings.HasPrefix(pkg, below)
	})
}

// judge says what is wrong with pkg importing imported, "" if nothing.
func judge(pkg, imported string) string {
	switch {
	case imported == "unsafe", imported == "C", path.Dir(imported) == "golang.org/x/sys":
		if pkg != unsafeRoom {
			return "is for " + unsafeRoom + " alone"
		}
		if imported == "C" {
			return "is cgo, which the module does without"
		}
		return ""
	case !strings.Contains(imported, ".") && !strings.HasPrefix(imported, module):
		return "" // the standard library
	}
	inside, ours := strings.CutPrefix(imported, module)
	known := false
	for _, a := range arrows {
		if !matches(pkg, a.from) {
			continue
		}
		known = true
		if ours && matches(inside, a.to) && !matches(inside, a.but) {
			return ""
		}
		for _, m := range strings.Fields(a.modules) {
			if imported == m || strings.HasPrefix(imported, m+"/") {
				return ""
			}
		}
	}
	if !known {
		return "comes from a package that the table does not know"
	}
	return "is an arrow that the table does not have"
}

func TestArrows(t *testing.T) {
	cmd := exec.Command("go", "list", "-json=ImportPath,Imports,GoFiles", "./...")
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	packages := 0
	for d := json.NewDecoder(strings.NewReader(string(out))); ; packages++ {
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
		pkg := strings.TrimPrefix(p.ImportPath+"/", module)
		pkg = strings.TrimSuffix(pkg, "/")
		if len(p.GoFiles) > 0 && !slices.ContainsFunc(arrows, func(a arrow) bool { return matches(pkg, a.from) }) {
			t.Errorf("%s: the table has no room for it", p.ImportPath)
			continue
		}
		for _, imported := range p.Imports {
			if wrong := judge(pkg, imported); wrong != "" {
				t.Errorf("%s -> %s: %s", pkg, imported, wrong)
			}
		}
	}
	if packages < 2 {
		t.Errorf("go list shows %d packages", packages)
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
		{"mad/ibsim", "golang.org/x/sys/unix", false},
		{"mad/fabric", "ibsm/mad/fabric/net", true},
		{"mad/fabric", "ibsm/sweep/topo", false},
		{"mad/fabric", "ibsm/routing", false},
		{"routing/minhop", "ibsm/routing", true},
		{"routing/minhop", "ibsm/routing/verify", false},
		{"routing/minhop", "ibsm/conf/diag", false},
		{"routing/qos", "ibsm/conf/diag", true},
		{"sweep", "ibsm/sweep/plan", true},
		{"sweep", "ibsm/sweep/store", false},
		{"sweep/store", "go.etcd.io/bbolt", true},
		{"sa", "ibsm/sa/path", true},
		{"sa/path", "ibsm/sa/client", false},
		{"manager", "ibsm/sweep/store", true},
		{"manager", "ibsm/mad/umad", false},
		{"manager", "ibsm/cmd/ibsm", false},
		{"manager/sim", "ibsm/mad/fabric", true},
		{"cmd/ibsm", "ibsm/mad/ibsim", true},
		{"cmd/ibsm", "github.com/spf13/pflag", true},
		{"cmd/ibsm", "github.com/spf13/cobra", false},
		{"cmd/ibsm", "ibsm/cmd/ibfabric", false},
		{"manager", "github.com/spf13/pflag", false},
		{"helpers", "ibsm/mad", false},
	} {
		if wrong := judge(c.pkg, c.imported); (wrong == "") != c.allowed {
			t.Errorf("%s -> %s: %q, want allowed %t", c.pkg, c.imported, wrong, c.allowed)
		}
	}
}
