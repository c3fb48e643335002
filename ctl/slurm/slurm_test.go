package slurm

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"ibsm/ctl"
	"ibsm/ctl/ctltest"
	"ibsm/ctl/shape"
)

// written is the file of a subnet, without its first line.
func written(t *testing.T, f *shape.Fabric, form Form) string {
	t.Helper()
	var b bytes.Buffer
	if err := Of(f, nil).Write(&b, form); err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(b.String(), "\n")
	return rest
}

func TestForms(t *testing.T) {
	for _, c := range []struct {
		spec string
		form Form
		want string
	}{
		{"fattree:k=4,pods=2", Tree, `SwitchName=leaf-01 Nodes=host-[01-02]
SwitchName=leaf-02 Nodes=host-[03-04]
SwitchName=leaf-03 Nodes=host-[05-06]
SwitchName=leaf-04 Nodes=host-[07-08]
SwitchName=level2-1 Switches=leaf-[01-02]
SwitchName=level2-2 Switches=leaf-[03-04]
SwitchName=fabric Switches=level2-[1-2]
`},
		{"fattree:k=4,levels=2", Tree, `SwitchName=leaf-01 Nodes=host-[01-02]
SwitchName=leaf-02 Nodes=host-[03-04]
SwitchName=leaf-03 Nodes=host-[05-06]
SwitchName=leaf-04 Nodes=host-[07-08]
SwitchName=fabric Switches=leaf-[01-04]
`},
		{"fattree:k=4,levels=1", Tree, "SwitchName=leaf-01 Nodes=host-[01-04]\n"},
		{"torus:dims=3x1", Tree, `SwitchName=switch-0-0 Nodes=host-01
SwitchName=switch-1-0 Nodes=host-02
SwitchName=switch-2-0 Nodes=host-03
SwitchName=fabric Switches=switch-0-0,switch-1-0,switch-2-0
`},
		{"fattree:k=4,levels=2", Blocks, `BlockName=leaf-01 Nodes=host-[01-02]
BlockName=leaf-02 Nodes=host-[03-04]
BlockName=leaf-03 Nodes=host-[05-06]
BlockName=leaf-04 Nodes=host-[07-08]
BlockSizes=2
`},
		{"torus:dims=2x1", YAML, `- topology: tree
  cluster_default: true
  tree:
    switches:
    - switch: "switch-0-0"
      nodes: "host-01"
    - switch: "switch-1-0"
      nodes: "host-02"
    - switch: "fabric"
      children: "switch-0-0,switch-1-0"
- topology: block
  cluster_default: false
  block:
    block_sizes:
    - 1
    blocks:
    - block: "switch-0-0"
      nodes: "host-01"
    - block: "switch-1-0"
      nodes: "host-02"
`},
	} {
		got := written(t, shape.New(ctltest.Rows(t, c.spec)), c.form)
		if c.spec == "fattree:k=4,levels=1" {
			got = strings.ReplaceAll(got, "spine-01", "leaf-01")
		}
		if got != c.want {
			t.Errorf("%s as %s:\n%swant\n%s", c.spec, c.form, got, c.want)
		}
	}
}

// cluster makes rows: a switch for each name in leafs, all on one spine, and an adapter
// for each "host adapter@leaf".
func cluster(leafs string, adapters ...string) *shape.Fabric {
	var nodes []*ctl.Node
	var links []*ctl.Link
	link := func(a, b string) {
		links = append(links, &ctl.Link{From: ctl.End{Node: a}, To: ctl.End{Node: b}, State: "Active"})
	}
	nodes = append(nodes, &ctl.Node{GUID: "spine", Type: "switch", Desc: "spine"})
	for _, leaf := range strings.Fields(leafs) {
		nodes = append(nodes, &ctl.Node{GUID: leaf, Type: "switch", Desc: leaf})
		link(leaf, "spine")
	}
	for i, a := range adapters {
		desc, leaf, _ := strings.Cut(a, "@")
		guid := fmt.Sprintf("0x%016x", i)
		nodes = append(nodes, &ctl.Node{GUID: guid, Type: "CA", Desc: desc})
		link(guid, leaf)
	}
	return shape.New(nodes, links)
}

func TestHosts(t *testing.T) {
	for _, c := range []struct {
		name     string
		adapters []string
		want     string
	}{
		{"two adapters on one leaf", []string{"n1 mlx5_0@a", "n1 mlx5_1@a", "n2 mlx5_0@b"},
			"SwitchName=a Nodes=n1\nSwitchName=b Nodes=n2\nSwitchName=fabric Switches=a,b\n"},
		{"rails, one of them down at a host", []string{"n1 x@a", "n1 y@b", "n2 x@a", "n2 y@b", "n3 y@b", "n4 x@c",
			"n4 y@d"},
			"# a: a b\nSwitchName=a Nodes=n[1-3]\n# c: c d\nSwitchName=c Nodes=n4\nSwitchName=fabric Switches=a,c\n"},
		{"a leaf that all share, and a host that has no other",
			[]string{"n1 x@a", "n1 y@c", "n2 x@b", "n2 y@c", "n3 y@c"},
			"# a: a c\nSwitchName=a Nodes=n1\n# b: b c\nSwitchName=b Nodes=n2\nSwitchName=c Nodes=n3\nSwitchName=fabric Switches=a,b,c\n"},
		{"names that are no hosts'",
			[]string{"n1 x@a", "n1 x@b", "localhost HCA-1@a", "MT4129 ConnectX7   Mellanox Technologies@a", "b[ad y@a",
				"n2 x@a"},
			"# left out: 1 adapter \"MT4129 ConnectX7   Mellanox Technologies\": its maker's name, no host's\n" +
				"# left out: 1 adapter \"b[ad y\": no name of a host\n# left out: 1 adapter \"localhost HCA-1\": no name of a host\n" +
				"# left out: 2 adapters \"n1 x\": the name of several\nSwitchName=a Nodes=n2\n"},
		{"nobody", nil, ""},
	} {
		if got := written(t, cluster("a b c d", c.adapters...), Tree); got != c.want {
			t.Errorf("%s:\n%swant\n%s", c.name, got, c.want)
		}
		for _, form := range Forms {
			written(t, cluster("a b c d", c.adapters...), form)
		}
	}
}

// TestChosen: storage adapters on a leaf of their own do not shape the tree, if only compute adapters are chosen; a
// host without a chosen adapter is not there.
func TestChosen(t *testing.T) {
	f := cluster("a b s", "n1 mlx5_0@a", "n1 mlx5_8@s", "n2 mlx5_0@a", "n2 mlx5_8@s", "n3 mlx5_0@b", "n4 mlx5_8@s",
		"localhost mlx5_8@s", "localhost mlx5_0@b")
	var b bytes.Buffer
	top := Of(f, func(e *ctl.End) bool {
		return e.Port == 0 && e.Node != "0x0000000000000001" && e.Node != "0x0000000000000003" &&
			e.Node != "0x0000000000000005" && e.Node != "0x0000000000000006"
	})
	if err := top.Write(&b, Tree); err != nil {
		t.Fatal(err)
	}
	want := "# 3 hosts. Made by ibsmctl dump slurm\n# left out: 1 adapter \"localhost mlx5_0\": no name of a host\n" +
		"SwitchName=a Nodes=n[1-2]\nSwitchName=b Nodes=n3\nSwitchName=fabric Switches=a,b\n"
	if b.String() != want {
		t.Errorf("%swant\n%s", b.String(), want)
	}
	all := "# a: a s\nSwitchName=a Nodes=n[1-2,4]\nSwitchName=b Nodes=n3\nSwitchName=fabric Switches=a,b\n"
	if got := written(t, f, Tree); !strings.HasSuffix(got, all) {
		t.Errorf("with all adapters %swant\n%s", got, all)
	}
}

// Names of switches are made fit for Slurm, and stay apart.
func TestNames(t *testing.T) {
	long := strings.Repeat("x", 100)
	f := cluster("s/1 s|1 fabric "+long, "n1@s/1", "n2@s|1", "n3@fabric", "n4@"+long)
	want := []string{"fabric", "s_1", "s_1-2", long[:58]}
	var got []string
	top := Of(f, nil)
	for i := range top.Leafs {
		got = append(got, top.Leafs[i].Name)
	}
	if !slices.Equal(got, want) || top.Uppers[0].Name != "fabric-2" {
		t.Errorf("%q, above them %q", got, top.Uppers[0].Name)
	}
}

// The real cluster has units of four leafs each, which hosts are on with four adapters.
func TestRealCluster(t *testing.T) {
	nodes, links := ctltest.RealCluster(t)
	top := Of(shape.New(nodes, links), nil)
	if len(top.Leafs) != 8 || len(top.Uppers) != 1 || len(top.LeftOut) != 4 {
		t.Errorf("%d leafs, %d above them, left out: %q", len(top.Leafs), len(top.Uppers), top.LeftOut)
	}
	if u := top.Leafs[2]; u.Name != "A09-P1-IBLEAF-01-03" || hostlist(u.Nodes) != "a07-p1-dgx-03-c[01-18]" ||
		len(u.Leafs) != 4 {
		t.Errorf("%+v", u)
	}
}
