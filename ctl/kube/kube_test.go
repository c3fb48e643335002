package kube_test

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"ibsm/ctl/ctltest"
	"ibsm/ctl/kube"
	"ibsm/ctl/shape"
	"ibsm/ctl/slurm"
)

// of is the topology of a generated fabric.
func of(t *testing.T, spec string) *slurm.Topology {
	t.Helper()
	return slurm.Of(shape.New(ctltest.Rows(t, spec)), nil)
}

// written is what write writes, without the first line of comments.
func written(t *testing.T, write func(*bytes.Buffer) error) string {
	t.Helper()
	var b bytes.Buffer
	if err := write(&b); err != nil {
		t.Fatal(err)
	}
	text := b.String()
	if strings.HasPrefix(text, "#") {
		_, text, _ = strings.Cut(text, "\n")
	}
	return text
}

func TestForms(t *testing.T) {
	for _, c := range []struct {
		spec string
		form kube.Form
		want string
	}{
		{"fattree:k=4,pods=2", kube.Labels, `host-01 p/0=leaf-01 p/1=level2-1 p/2=fabric
host-02 p/0=leaf-01 p/1=level2-1 p/2=fabric
host-03 p/0=leaf-02 p/1=level2-1 p/2=fabric
host-04 p/0=leaf-02 p/1=level2-1 p/2=fabric
host-05 p/0=leaf-03 p/1=level2-2 p/2=fabric
host-06 p/0=leaf-03 p/1=level2-2 p/2=fabric
host-07 p/0=leaf-04 p/1=level2-2 p/2=fabric
host-08 p/0=leaf-04 p/1=level2-2 p/2=fabric
`},
		{"torus:dims=2x1", kube.Labels, "host-01 p/0=switch-0-0 p/1=fabric\nhost-02 p/0=switch-1-0 p/1=fabric\n"},
		{"fattree:k=4,pods=2", kube.Kueue, `apiVersion: kueue.x-k8s.io/v1beta2
kind: Topology
metadata:
  name: infiniband
spec:
  levels:
  - nodeLabel: "p/2"
  - nodeLabel: "p/1"
  - nodeLabel: "p/0"
  - nodeLabel: "kubernetes.io/hostname"
`},
		{"torus:dims=2x1", kube.HyperNode, `---
apiVersion: topology.volcano.sh/v1alpha1
kind: HyperNode
metadata:
  name: "switch-0-0"
spec:
  tier: 1
  tierName: "p/0"
  members:
  - type: Node
    selector:
      exactMatch:
        name: "host-01"
---
apiVersion: topology.volcano.sh/v1alpha1
kind: HyperNode
metadata:
  name: "switch-1-0"
spec:
  tier: 1
  tierName: "p/0"
  members:
  - type: Node
    selector:
      exactMatch:
        name: "host-02"
---
apiVersion: topology.volcano.sh/v1alpha1
kind: HyperNode
metadata:
  name: "fabric"
spec:
  tier: 2
  tierName: "p/1"
  members:
  - type: HyperNode
    selector:
      exactMatch:
        name: "switch-0-0"
  - type: HyperNode
    selector:
      exactMatch:
        name: "switch-1-0"
`},
	} {
		got := written(t, func(b *bytes.Buffer) error { return kube.Of(of(t, c.spec)).Write(b, c.form, "p/") })
		if got != c.want {
			t.Errorf("%s as %s:\n%swant\n%s", c.spec, c.form, got, c.want)
		}
	}
}

func TestModel(t *testing.T) {
	for spec, want := range map[string]string{
		"fattree:k=4,pods=2": `switches:
  "fabric":
    switches:
    - "level2-1"
    - "level2-2"
  "level2-2":
    switches:
    - "leaf-03"
    - "leaf-04"
  "level2-1":
    switches:
    - "leaf-01"
    - "leaf-02"
blocks:
- switch: "leaf-01"
  nodes:
  - "host-[01-02]"
- switch: "leaf-02"
  nodes:
  - "host-[03-04]"
- switch: "leaf-03"
  nodes:
  - "host-[05-06]"
- switch: "leaf-04"
  nodes:
  - "host-[07-08]"
`,
		"torus:dims=1x1": "switches:\n  \"switch-0-0\": {}\nblocks:\n- switch: \"switch-0-0\"\n  nodes:\n  - \"host-01\"\n",
	} {
		if got := written(t, func(b *bytes.Buffer) error { return kube.WriteModel(b, of(t, spec)) }); got != want {
			t.Errorf("%s:\n%swant\n%s", spec, got, want)
		}
	}
	if got := written(t, func(b *bytes.Buffer) error { return kube.WriteModel(b, &slurm.Topology{}) }); got != "" {
		t.Errorf("without hosts: %s", got)
	}
}

// names that Kubernetes takes: values of labels, names of objects, and names of nodes.
var (
	labelForm  = regexp.MustCompile(`^[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$`)
	objectForm = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$`)
	nodeForm   = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`)
)

// TestNames: whatever switches and hosts are named, Kubernetes takes the names, and different switches keep different
// ones. A host whose name cannot be that of a node is left out, and so are two that differ in the case of letters.
func TestNames(t *testing.T) {
	long := strings.Repeat("x", 58)
	top := &slurm.Topology{
		Leafs: []slurm.Switch{{Name: "S_1", Nodes: []string{"Node1", "a_b", "c.d"}}, {Name: "_S_1", Nodes: []string{"n2"}},
			{Name: "s-1", Nodes: []string{"n3", "N3"}}, {Name: "___", Nodes: []string{"n4"}},
			{Name: long + "1", Nodes: []string{"n5"}}, {Name: long + "2", Nodes: []string{"n-.6", "-n7", "n8"}}},
		Uppers: []slurm.Switch{{Name: "pod", Children: []string{"s-1", "S_1"}},
			{Name: "fabric", Children: []string{"pod", "_S_1", "___", long + "1", long + "2"}}},
		LeftOut: []string{"1 adapter"},
	}
	got := kube.Of(top)
	wantOut := []string{"1 adapter", `host "a_b": no name of a node in Kubernetes`,
		`host "n3": n3 and N3 differ in the case of letters alone`, `host "N3": n3 and N3 differ in the case of letters alone`,
		`host "n-.6": no name of a node in Kubernetes`, `host "-n7": no name of a node in Kubernetes`}
	if !slices.Equal(got.LeftOut, wantOut) {
		t.Errorf("left out: %q, want %q", got.LeftOut, wantOut)
	}
	var nodes []string
	leaf := map[string]string{}
	for _, n := range got.Nodes {
		nodes = append(nodes, n.Name)
		if len(n.Labels) != 3 || n.Labels[2] != "fabric" || !nodeForm.MatchString(n.Name) {
			t.Errorf("%+v", n)
		}
		for _, v := range n.Labels {
			if !labelForm.MatchString(v) {
				t.Errorf("%s: Kubernetes does not take the label %q", n.Name, v)
			}
		}
		leaf[n.Labels[0]] += n.Name + " "
	}
	if want := []string{"node1", "c.d", "n2", "n4", "n5", "n8"}; !slices.Equal(nodes, want) || len(leaf) != 5 ||
		leaf["S_1"] != "node1 c.d " {
		t.Errorf("nodes %q, want %q, on %q", nodes, want, leaf)
	}
	// s-1 has no node left, and is not among the members of the pod
	objects := map[string]bool{}
	for _, g := range got.Groups {
		if !objectForm.MatchString(g.Name) || objects[g.Name] || len(g.Members) == 0 {
			t.Errorf("%+v", g)
		}
		objects[g.Name] = true
		for _, m := range g.Members {
			if g.Tier > 0 && !objects[m] {
				t.Errorf("%s has the member %s, which does not come before it", g.Name, m)
			}
		}
	}
	if len(objects) != 7 || got.Groups[5].Name != "pod" || !slices.Equal(got.Groups[5].Members, []string{"s-1"}) {
		t.Errorf("groups %+v", got.Groups)
	}
	if tier := got.Nodes[0].Labels[1] + " " + got.Nodes[2].Labels[1]; tier != "pod S_1-2" {
		t.Errorf("on tier 1 %q: a leaf without a switch there has its own name", tier)
	}
}

func TestCheckPrefix(t *testing.T) {
	for prefix, ok := range map[string]bool{kube.Prefix: true, "topology.example.com/level": true, "example.com/": true,
		"tier-": true, "": false, "/x": false, "a b/x": false, "A.com/x": false, "a..b/x": false, "a/b/c": false,
		"x/-": false, "x/" + strings.Repeat("y", 62): false, "x\n/y": false, "x/y\n": false,
		strings.Repeat("y", 254) + "/x": false} {
		if err := kube.CheckPrefix(prefix); (err == nil) != ok {
			t.Errorf("%q: %v", prefix, err)
		}
	}
}

// TestRealCluster: each host of the real cluster has a leaf, and all are in one fabric.
func TestRealCluster(t *testing.T) {
	nodes, links := ctltest.RealCluster(t)
	top := slurm.Of(shape.New(nodes, links), nil)
	want := 0
	for i := range top.Leafs {
		want += len(top.Leafs[i].Nodes)
	}
	got := kube.Of(top)
	leafs := map[string]bool{}
	for _, n := range got.Nodes {
		leafs[n.Labels[0]] = true
	}
	if len(got.Nodes) != want || got.Tiers != 2 || len(leafs) != 8 || len(got.Groups) != 9 {
		t.Errorf("%d of %d nodes, %d tiers, leafs %v, left out %q", len(got.Nodes), want, got.Tiers, leafs, got.LeftOut)
	}
	again := kube.Of(top)
	if fmt.Sprint(got) != fmt.Sprint(again) {
		t.Error("the same topology gives another result")
	}
}
