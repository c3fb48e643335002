package routingtest

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"ibsm/mad"
	"ibsm/topo"
	"ibsm/topo/net"
	"ibsm/topo/netwalk"
)

// Seed is a random fabric, and a configuration for it as OpenSM reads it.
type Seed struct {
	Spec   string // of what the fabric was made of
	Fabric string // file for ibsim
	Engine string
	LMC    int
	Conf   string   // file
	Lines  []string // of Conf
	Files  []string // keys of the files that Conf names
}

// seedEngines are the engines that seeds draw from, in turn: more often those that refuse most subnets, and some that
// spread destinations over ports.
var seedEngines = []string{"minhop", "ftree", "updn", "lash", "dor", "ftree", "sssp", "dnup", "dfsssp", "file", "nue",
	"updn", "torus-2QoS", "minhop", "ftree"}

// NewSeed draws a fabric and a configuration. The same number gives the same ones.
func NewSeed(t testing.TB, number uint64) *Seed {
	t.Helper()
	d := &draw{Rand: rand.New(rand.NewPCG(number, 0x5eed)), t: t, dir: t.TempDir()}
	s := &Seed{Engine: seedEngines[number%uint64(len(seedEngines))]}
	s.Spec = d.spec(s.Engine)
	n, err := net.Generate(s.Spec)
	if err != nil { // too little of it would be left
		s.Spec = missing.ReplaceAllString(s.Spec, "")
		n, err = net.Generate(s.Spec)
	}
	if err != nil {
		t.Fatal(err)
	}
	d.change(n)
	d.rename(n)
	var text bytes.Buffer
	if err := net.Write(&text, n); err != nil {
		t.Fatalf("%s: %v", s.Spec, err)
	}
	s.Fabric = d.write("fabric.net", text.String())
	if d.topo, err = netwalk.Topo(n, net.NoEnd); err != nil {
		t.Fatal(err)
	}
	d.configure(s)
	s.Conf = d.write("opensm.conf", strings.Join(s.Lines, "\n")+"\n")
	return s
}

var missing = regexp.MustCompile(`,missing-[^,]*`)

// draw draws.
type draw struct {
	*rand.Rand
	t    testing.TB
	dir  string
	topo *topo.Topo
}

func (d *draw) write(name, text string) (file string) {
	file = filepath.Join(d.dir, name)
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		d.t.Fatal(err)
	}
	return file
}

// one in so many times is true.
func (d *draw) one(in int) bool { return d.IntN(in) == 0 }

// spec is that of a fabric of some kind, whole or with up to a tenth of its cables or switches missing. ftree
// gets trees more often than others, and torus-2QoS a torus or mesh nearly always.
func (d *draw) spec(engine string) string {
	if engine == torus2QoS && !d.one(20) {
		return d.torus()
	}
	n := func(from, to int) int { return from + d.IntN(to-from+1) }
	kinds := []func() string{
		func() string { return fmt.Sprintf("fattree:k=%d", []int{4, 4, 6}[d.IntN(3)]) },
		func() string {
			return fmt.Sprintf("fattree:k=%d,levels=2,taper=%d", 2*n(2, 6), []int{1, 1, 3}[d.IntN(3)])
		},
		func() string { return fmt.Sprintf("tree:depth=%d,fanout=%d", n(2, 3), n(2, 4)) },
		func() string { return fmt.Sprintf("torus:dims=%dx%d,hosts=%d", n(2, 6), n(2, 5), n(1, 2)) },
		func() string { return fmt.Sprintf("torus:dims=%dx%dx%d,hosts=1", n(2, 3), n(2, 4), n(2, 3)) },
		func() string { return fmt.Sprintf("mesh:dims=%dx%d,hosts=%d", n(1, 5), n(2, 6), n(1, 2)) },
		func() string { return fmt.Sprintf("hypercube:dim=%d", n(1, 5)) },
		func() string { return fmt.Sprintf("dragonfly:a=%d,p=1,h=%d", n(2, 4), n(1, 2)) },
		func() string { return fmt.Sprintf("hyperx:dims=%dx%d", n(2, 5), n(2, 4)) },
		func() string {
			switches := 2 * n(3, 15)
			return fmt.Sprintf("random:switches=%d,degree=%d,hosts=%d", switches, min(n(2, 5), switches-1), n(1, 3))
		},
	}
	kind := d.IntN(len(kinds))
	if engine == "ftree" && !d.one(4) {
		kind = d.IntN(3)
	}
	spec := kinds[kind]()
	switch {
	case engine == "dragonfly" && !d.one(4):
		kind, spec = 7, fmt.Sprintf("dragonfly:a=%d,p=%d,h=%d", n(4, 6), n(1, 2), n(1, 3))
	case (engine == "tree" || engine == "auto") && d.one(2):
		kind, spec = 0, fmt.Sprintf("pods:pods=%d,leaves=%d,spines=%d,cores=%d,hosts=%d,corners=%d,odd=%d", n(2, 4),
			n(2, 4), n(2, 4), n(1, 2), n(1, 4), n(1, 2), n(0, 1))
	case engine == "hyperx" && !d.one(4):
		kind, spec = 8, fmt.Sprintf("hyperx:dims=%dx%d,hosts=%d", n(3, 6), n(3, 5), n(1, 2))
	}
	damage := d.IntN(4)
	if engine == "ftree" && d.one(2) {
		damage = 3
	}
	switch damage {
	case 0:
		spec += fmt.Sprintf(",missing-links=%d%%", n(1, 10))
	case 1:
		if kind < 2 || kind > 2 && !strings.HasPrefix(spec, "tree") {
			spec += fmt.Sprintf(",missing-switches=%d%%", n(1, 10))
		}
	}
	return spec + fmt.Sprintf(",devices=ideal,sharp=none,seed=%d", n(1, 1<<20))
}

// change adds what generators do not make.
func (d *draw) change(n *net.Net) {
	var switches []int32
	for i := range n.Nodes {
		if n.Nodes[i].Type == mad.Switch {
			switches = append(switches, int32(i))
		}
	}
	some := func() int32 { return switches[d.IntN(len(switches))] }
	if d.one(3) { // parallel cables
		for range 1 + d.IntN(4) {
			s := some()
			if peer := n.Nodes[s].Ports[1+d.IntN(n.Nodes[s].NumPorts())].Peer; peer.Node >= 0 && peer.Node != s &&
				n.Nodes[peer.Node].Type == mad.Switch {
				connect(n, newPort(n, s), newPort(n, peer.Node))
			}
		}
	}
	if d.one(4) { // a switch cabled to itself
		s := some()
		a := newPort(n, s)
		connect(n, a, newPort(n, s))
	}
	if d.one(4) { // switches without hosts
		for range 1 + d.IntN(2) {
			s := addNode(n, mad.Switch, 4)
			connect(n, newPort(n, s), newPort(n, some()))
			if d.one(2) {
				connect(n, newPort(n, s), newPort(n, some()))
			}
		}
	}
	if d.one(3) { // hosts anywhere, some with two ports
		for range 1 + d.IntN(4) {
			ports := 1 + d.IntN(2)
			h := addNode(n, mad.CA, ports)
			for num := 1; num <= ports; num++ {
				connect(n, net.End{Node: h, Port: uint8(num)}, newPort(n, some()))
			}
		}
	}
	if d.one(3) { // switches of one system
		for range 1 + d.IntN(4) {
			n.Nodes[some()].SystemImageGUID = n.Nodes[some()].GUID
		}
	}
	if d.one(6) { // links that are slower or narrower than they could be
		for range 1 + d.IntN(4) {
			s := some()
			p := &n.Nodes[s].Ports[1+d.IntN(n.Nodes[s].NumPorts())]
			if p.Peer.Node >= 0 {
				far := &n.Nodes[p.Peer.Node].Ports[p.Peer.Port]
				p.Speed, far.Speed = mad.QDR, mad.QDR
			}
		}
	}
}

func addNode(n *net.Net, kind mad.NodeType, ports int) int32 {
	guid := mad.GUID(0x2c90300000000 + len(n.Nodes)*16)
	node := net.Node{ID: fmt.Sprintf("N-%016x", uint64(guid)), Desc: fmt.Sprintf("node %d", len(n.Nodes)), Type: kind,
		GUID: guid, SystemImageGUID: guid, Ports: make([]net.Port, ports+1)}
	for i := range node.Ports {
		node.Ports[i].Peer = net.NoEnd
	}
	node.EnhancedPort0 = kind == mad.Switch
	n.Nodes = append(n.Nodes, node)
	return int32(len(n.Nodes) - 1)
}

// newPort is one more port of a switch.
func newPort(n *net.Net, s int32) net.End {
	n.Nodes[s].Ports = append(n.Nodes[s].Ports, net.Port{Peer: net.NoEnd})
	return net.End{Node: s, Port: uint8(n.Nodes[s].NumPorts())}
}

func connect(n *net.Net, a, b net.End) {
	n.Nodes[a.Node].Ports[a.Port].Peer, n.Nodes[b.Node].Ports[b.Port].Peer = b, a
}

// rename gives all nodes GUIDs that say nothing of where they are; half of the time high bytes
// differ, too. Ports have those that ibsim gives.
func (d *draw) rename(n *net.Net) {
	taken := map[mad.GUID]bool{}
	high := d.one(2)
	names := map[mad.GUID]mad.GUID{}
	for i := range n.Nodes {
		node := &n.Nodes[i]
		guid := mad.GUID(0)
		for guid == 0 || taken[guid] {
			guid = 0x2c9030000000000 | mad.GUID(d.Uint32N(1<<24))<<8
			if high {
				guid = mad.GUID(d.Uint64()) &^ 0xff & (1<<62 - 1)
			}
		}
		taken[guid] = true
		names[node.GUID] = guid
		node.GUID = guid
		node.ID = fmt.Sprintf("%c-%016x", " HSR"[node.Type], uint64(guid))
		for p := range node.Ports {
			if node.Type != mad.Switch && p > 0 {
				node.Ports[p].GUID = guid + mad.GUID(p)
			}
		}
		if node.Type == mad.Switch {
			node.Ports[0].GUID = guid
		}
	}
	for i := range n.Nodes {
		n.Nodes[i].SystemImageGUID = names[n.Nodes[i].SystemImageGUID]
	}
}

// configure draws the settings.
func (d *draw) configure(s *Seed) {
	hosts := len(d.topo.EndPorts)
	for s.LMC = []int{0, 0, 0, 1, 2, 3, 4, 5, 6, 7}[d.IntN(10)]; hosts<<s.LMC > 4000; {
		s.LMC--
	}
	// which refuses LMC, and most trees that are not whole without named roots
	ftree := s.Engine == "ftree" && !d.one(10)
	if ftree {
		s.LMC = 0
	}
	s.set("routing_engine", s.Engine)
	s.set("lmc", s.LMC)
	if !d.one(8) {
		s.set("quasi_ftree_indexing", "TRUE")
	}
	if !d.one(4) {
		s.set("do_mesh_analysis", "TRUE")
	}
	for _, key := range []string{"lmc_esp0", "port_profile_switch_nodes", "port_shifting",
		"guid_routing_order_no_scatter", "connect_roots", "avoid_throttled_links", "use_ucast_cache"} {
		if d.one(3) && !(s.Engine == "nue" && key == "lmc_esp0") { // with which OpenSM crashes
			s.set(key, "TRUE")
		}
	}
	if d.one(3) {
		s.set("scatter_ports", 1+d.Uint32N(1<<31-1))
	}
	if !d.one(4) {
		s.set("max_reverse_hops", d.IntN(4))
	}
	if d.one(2) {
		s.set("lash_start_vl", d.IntN(4))
	}
	switch s.Engine {
	case torus2QoS:
		s.set("qos", "TRUE") // without, OpenSM does not route
		d.file(s, "torus_config", d.torusFile(s.Spec))
	case "nue":
		s.set("qos", []string{"TRUE", "FALSE"}[d.IntN(2)])
		s.set("nue_max_num_vls", d.IntN(9))
		s.set("nue_include_switches", []string{"TRUE", "FALSE"}[d.IntN(2)])
	}
	d.configureFiles(s, ftree)
}

// configureFiles draws the files that settings name.
func (d *draw) configureFiles(s *Seed, ftree bool) {
	hosts := len(d.topo.EndPorts)
	if d.one(3) {
		d.file(s, "guid_routing_order_file", d.guids(d.topo.EndPorts, 1+d.IntN(hosts)))
	}
	for _, key := range []string{"cn_guid_file", "io_guid_file"} {
		if d.one(4) {
			d.file(s, key, d.guids(d.topo.EndPorts, 1+d.IntN(hosts)))
		}
	}
	if d.one(3) || ftree && !d.one(4) {
		d.file(s, "root_guid_file", d.roots())
	}
	if d.one(2) {
		d.file(s, "ids_guid_file", d.switchLines(func(int) string { return fmt.Sprint(d.IntN(20)) }))
	}
	if d.one(4) {
		d.file(s, "port_prof_ignore_file", d.switchLines(func(ports int) string {
			return fmt.Sprint(1 + d.IntN(ports))
		}))
	}
	if d.one(4) {
		d.file(s, "hop_weights_file", d.switchLines(func(ports int) string {
			return fmt.Sprintf("%d %d", 1+d.IntN(ports), []int{1, 2, 3, 7, 60, 255, 0, 256}[d.IntN(8)])
		}))
	}
	if d.one(4) {
		d.file(s, "port_search_ordering_file", d.switchLines(func(ports int) string {
			order := d.Perm(ports + d.IntN(2))[:1+d.IntN(ports)]
			if !d.one(8) {
				order = slices.DeleteFunc(order, func(p int) bool { return p >= ports })
			}
			text := ""
			for _, p := range order {
				text += fmt.Sprintf(" %d", p+1)
			}
			return text
		}))
	}
}

func (s *Seed) set(key string, value any) {
	s.Lines = append(s.Lines, fmt.Sprintf("%s %v", key, value))
}

// file writes a file that a setting names.
func (d *draw) file(s *Seed, key string, lines []string) {
	s.Files = append(s.Files, key)
	s.set(key, d.write(key, d.layout(lines)))
}

// guids are those of some end ports in any order, a few twice, with some that nobody has.
func (d *draw) guids(of []topo.PortIdx, count int) (lines []string) {
	for range count {
		lines = append(lines, fmt.Sprintf("%#x", uint64(d.topo.Ports[of[d.IntN(len(of))]].GUID)))
	}
	if d.one(2) {
		lines = append(lines, "0x77", "0", "0x77 twice")
	}
	d.Shuffle(len(lines), func(i, j int) { lines[i], lines[j] = lines[j], lines[i] })
	return lines
}

// roots are the switches that have no hosts, or some at random.
func (d *draw) roots() (lines []string) {
	for s, n := range d.topo.Switches {
		spine := strings.HasPrefix(d.topo.Nodes[n].Desc.String(), "spine")
		if spine || len(lines) == 0 && s == len(d.topo.Switches)-1 || d.one(10) && d.one(2) {
			lines = append(lines, fmt.Sprintf("%#x", uint64(d.topo.Nodes[n].GUID)))
		}
	}
	return append(lines, "0x99")
}

// switchLines are lines with what value says of a switch with so many ports.
func (d *draw) switchLines(value func(ports int) string) (lines []string) {
	for range 1 + d.IntN(3*len(d.topo.Switches)) {
		n := &d.topo.Nodes[d.topo.Switches[d.IntN(len(d.topo.Switches))]]
		lines = append(lines, fmt.Sprintf("%#016x %s", uint64(n.GUID), value(int(n.NumPorts))))
	}
	return append(lines, "0x99 1 1")
}

// layout writes lines as people do: with comments and empty lines, with the ends of Windows, without the last end.
func (d *draw) layout(lines []string) string {
	end := []string{"\n", "\n", "\n# a comment\n\n", "\r\n"}[d.IntN(4)]
	text := strings.Join(lines, end)
	if !d.one(3) {
		text += end
	}
	return text
}
