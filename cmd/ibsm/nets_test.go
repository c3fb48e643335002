package main_test

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// netFile is what a topology file says must be found on the fabric. It is read here
// by a few regular expressions, so that it does not depend on what is tested.
type netFile struct {
	path   string
	nodes  []node
	cables []cable // one for each end
}

// node is a node of a netFile.
type node struct {
	kind string // "Switch", "Ca" or "Rt", as ibnetdiscover writes it
	id   string
	desc string
}

// cable is one end of a cable.
type cable struct {
	node     string
	port     int
	peer     string
	peerPort int
}

// String names the port at this end as ibsim's console does.
func (c cable) String() string { return fmt.Sprintf("%q[%d]", c.node, c.port) }

var (
	nodeLine = regexp.MustCompile(`^(Switch|Hca|Ca|Rt)\s+\d+\s+"([^"]+)"(?:\s*#\s*"([^"]*)")?`)
	portLine = regexp.MustCompile(`^\[(\d+)\][^"]*"([^"]+)"\[(\d+)\]`)
)

func readNet(t *testing.T, path string) *netFile {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	n := &netFile{path: path}
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		if m := nodeLine.FindStringSubmatch(lines.Text()); m != nil {
			n.nodes = append(n.nodes, node{strings.Replace(m[1], "Hca", "Ca", 1), m[2], m[3]})
			if m[3] == "" {
				n.nodes[len(n.nodes)-1].desc = m[2] // as ibsim does
			}
		} else if m := portLine.FindStringSubmatch(lines.Text()); m != nil {
			n.cables = append(n.cables, cable{n.nodes[len(n.nodes)-1].id, number(m[1]), m[2], number(m[3])})
		}
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	if len(n.nodes) == 0 {
		t.Fatalf("%s has no nodes", path)
	}
	return n
}

// hosts are the ids of the channel adapters, in the order of the file.
func (n *netFile) hosts() []string {
	var ids []string
	for _, node := range n.nodes {
		if node.kind == "Ca" {
			ids = append(ids, node.id)
		}
	}
	return ids
}

// description is that of a node; named is the id of the one with a description.
func (n *netFile) description(id string) string {
	return n.nodes[slices.IndexFunc(n.nodes, func(node node) bool { return node.id == id })].desc
}

func (n *netFile) named(desc string) (id string) {
	return n.nodes[slices.IndexFunc(n.nodes, func(node node) bool { return node.desc == desc })].id
}

// between are the ends of cables between switches.
func (n *netFile) between() []cable {
	hosts := n.hosts()
	var found []cable
	for _, c := range n.cables {
		if !slices.Contains(hosts, c.node) && !slices.Contains(hosts, c.peer) {
			found = append(found, c)
		}
	}
	return found
}

// cut takes a cable away.
func (n *netFile) cut(gone cable) {
	back := cable{gone.peer, gone.peerPort, gone.node, gone.port}
	n.cables = slices.DeleteFunc(n.cables, func(c cable) bool { return c == gone || c == back })
}

// spine is the id of a switch without hosts where there is one.
func (n *netFile) spine() string {
	var leaves, switches []string
	for _, c := range n.cables {
		if slices.Contains(n.hosts(), c.peer) {
			leaves = append(leaves, c.node)
		}
	}
	for _, node := range n.nodes {
		if node.kind == "Switch" {
			switches = append(switches, node.id)
		}
	}
	if i := slices.IndexFunc(switches, func(id string) bool { return !slices.Contains(leaves, id) }); i >= 0 {
		return switches[i]
	}
	return switches[len(switches)-1]
}

// managerHost is where the manager attaches and witnessHost where the diags do: as
// far apart as the file allows.
func (n *netFile) managerHost() string { return n.attachable()[0] }
func (n *netFile) witnessHost() string { all := n.attachable(); return all[len(all)-1] }

// attachable are the hosts whose port 1 has a cable: ibsim attaches clients there.
func (n *netFile) attachable() []string {
	return slices.DeleteFunc(n.hosts(), func(id string) bool {
		return !slices.ContainsFunc(n.cables, func(c cable) bool { return c.node == id && c.port == 1 })
	})
}

// source is where a net file comes from.
type source struct {
	name string
	file func(t *testing.T) string
}

// example is one of the nets that come with ibsim.
func example(name string) source {
	return source{name, func(t *testing.T) string {
		path := filepath.Join("/usr/share/doc/ibsim-utils/net-examples", name)
		if _, err := os.Stat(path); err != nil {
			t.Skipf("%v: the package ibsim-utils has it, unless it was installed without documentation", err)
		}
		return path
	}}
}

// realCluster is the ibnetdiscover output of an NDR cluster in use.
var realCluster = source{"ndr-582", func(t *testing.T) string {
	path, err := filepath.Abs("../../../shared/data/ndr-582.topo")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); err != nil {
		t.Skip("../shared/data/ndr-582.topo is not there, seen from the checkout")
	}
	return path
}}

// generated is a fabric from ibfabric gen.
func generated(spec string) source {
	return source{spec, func(t *testing.T) string {
		path := filepath.Join(t.TempDir(), "net")
		if r := run(t, "", nil, program(t, "ibfabric"), "gen", spec, "-o", path); r.status != 0 {
			t.Fatalf("ibfabric gen %s: %s", spec, r.stderr)
		}
		return path
	}}
}

var examples = []source{
	example("net"), example("net.1"), example("net.2sw2path"), example("net.2sw2path4hca"),
	example("net.2sw2path4hca2port"),
}

// fabrics are the nets that a manager must bring up: each kind of fabric, large
// ones only when the tests run in their full size.
func fabrics() []source {
	all := append(examples[:len(examples):len(examples)], realCluster)
	small := []string{
		"fattree:k=4", "fattree:k=6,levels=2,taper=2", "fattree:k=4,missing-links=3,seed=2",
		"torus:dims=3x3", "torus:dims=3x3x3", "mesh:dims=4x3", "mesh:dims=3x2x2", "hypercube:dim=3",
		"dragonfly:a=3,p=1,h=1", "hyperx:dims=3x3", "random:switches=10,degree=3,hosts=2", "tree:depth=3,fanout=2",
	}
	full := []string{
		"fattree:k=8", "fattree:k=16", "fattree:k=36,levels=2,taper=2", "fattree:k=16,missing-links=5%,seed=7",
		"fattree:k=16,missing-switches=3,seed=7",
		"torus:dims=8x8", "torus:dims=6x6x6,hosts=2", "mesh:dims=8x8", "mesh:dims=5x5x5", "hypercube:dim=7",
		"dragonfly", "hyperx:dims=6x6,hosts=4", "random:switches=120,degree=8,hosts=6", "tree:depth=4,fanout=5",
	}
	if proof() {
		small = append(small, full...)
	}
	for _, spec := range small {
		all = append(all, generated(spec))
	}
	return all
}
