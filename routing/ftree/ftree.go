// Package ftree is the routing engine ftree (fat tree): switches have ranks and an index in the tree, and
// the routes to compute nodes go up to another switch for each node in turn, so that shifts among the
// nodes meet on no link. The tables are OpenSM's. Aggregation nodes, because of which OpenSM takes a
// spine for a leaf and gives up, are I/O that hangs on any switch here, and routers get routes, too.
//
// Between switches of different ranks there is no credit loop. With reverse hops, and where links connect
// switches of one rank, there may be: the proof of the tables shows it.
package ftree

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"math/bits"
	"slices"

	"ibsm/mad"
	"ibsm/routing"
	"ibsm/topo"
)

// Settings are the operator's settings of the engine.
type Settings struct {
	// Roots are the node GUIDs of root switches (root_guid_file). Without any the tree must be pure:
	// switches of one rank have equal numbers of links. Those that are not in the subnet do not
	// count.
	Roots []mad.GUID
	// Compute are the port GUIDs of compute nodes (cn_guid_file); nil for all hosts. IO are those of I/O
	// nodes that are no compute nodes (io_guid_file).
	Compute, IO map[mad.GUID]bool
	// ReverseHops is how often routes to I/O nodes may turn up again (max_reverse_hops).
	ReverseHops int
	// QuasiIndexing gives switches their index from each root down (quasi_ftree_indexing).
	QuasiIndexing bool
	// ConnectRoots gives switches that have no way to each other one over a leaf (connect_roots).
	ConnectRoots bool
}

// New is the engine. It computes everything afresh each time: In.Keep does not matter. It refuses, with
// the reason, a subnet that is no fat tree, and one whose ports have several LIDs.
func New(s Settings) routing.Engine {
	return func(ctx context.Context, in routing.In) (*routing.Tables, error) {
		t := &tree{In: in, Settings: s}
		if err := t.build(ctx); err != nil {
			return nil, err
		}
		if err := t.route(ctx); err != nil {
			return nil, err
		}
		rows, err := routing.EmptyRows(ctx, len(in.Topo.Switches), in.LIDs.Top)
		if err == nil {
			err = t.fill(ctx, rows)
		}
		if err != nil {
			return nil, err
		}
		tables := &routing.Tables{LFT: rows, Top: in.LIDs.Top}
		tables.Findings = &routing.Findings{Computes: t.computes(), Tree: t.shape()}
		tables.Rules = t.rules()
		tables.Ranks = routing.Ranks(len(t.at), func(a, b topo.SwitchIdx) int {
			return cmp.Compare(t.at[a].rank, t.at[b].rank)
		})
		return tables, nil
	}
}

// tree is the subnet as a fat tree.
type tree struct {
	routing.In
	Settings
	at       []*node // by SwitchIdx
	nodes    []*node // in the order of OpenSM
	hosts    []host  // in the order of OpenSM
	maxRank  int
	leafRank int
	leaves   []*node // of leafRank, in the order of their index, from the first to the last with compute nodes
	mostCN   int     // compute nodes of a leaf
	known    map[index]bool

	columns [][]uint8 // by LID, then by SwitchIdx: the ports; nil for a LID to which nothing has been routed
	ports   []uint8   // the column of the LID that is routed to now
	hops    []uint8   // by SwitchIdx: links to that LID
	nothing []uint8   // by SwitchIdx: NoPath, which is the same byte as Unreachable
}

// node is a switch.
type node struct {
	at             topo.SwitchIdx
	lid            mad.LID
	rank           int // 0 for roots
	index          index
	leaf           bool             // has compute nodes
	up, same, down []*group         // to switches nearer to the roots, as near, and farther
	ends           []topo.SwitchIdx // of the groups of down, in their order; none for a host
	hosts          bool             // all groups of down are hosts
	next           int              // in down: where reverse hops go next
	changed        bool             // counts of groups of down have changed since they were sorted
}

// group is all links of a switch to the same switch or port of a host.
type group struct {
	to     *node          // nil for a host
	at     topo.SwitchIdx // of that; none for a host
	host   int            // index into hosts; for a switch -1
	order  uint64         // that of byIndex
	ports  []link
	routes [2]int // by direction
}

// link is one of them.
type link struct {
	port, far uint8
	routes    [2]int // by direction
}

// direction is that of packets on a link.
type direction int

const (
	up direction = iota
	down
)

// host is a port of a host that is connected to a switch.
type host struct {
	port    topo.PortIdx
	lid     mad.LID
	at      *node
	on      uint8 // port of the switch
	compute bool
	io      bool
	extra   bool // aggregation node: part of no tree
}

// index is the place of a switch in the tree: its rank, and a digit for each rank.
type index [8]uint8

const (
	unset = 0xff
	none  = topo.SwitchIdx(topo.None)
)

var noIndex = index{unset, unset, unset, unset, unset, unset, unset, unset}

// unranked is the rank of switches to which no way leads from the others.
const unranked = 1 << 30

func (t *tree) name(n *node) string {
	sw := &t.Topo.Nodes[t.Topo.Switches[n.at]]
	return fmt.Sprintf("switch %v %q", sw.GUID, sw.Desc.String())
}

// build makes the tree.
func (t *tree) build(ctx context.Context) error {
	for _, p := range t.Topo.EndPorts {
		if t.LIDs.LMC[p] > 0 {
			return &routing.Refused{Reason: "ports have several LIDs (lmc), which ftree does not support",
				OpenSM: "LMC > 0 is not supported by fat-tree routing."}
		}
	}
	if len(t.Topo.Switches) < 2 {
		return &routing.Refused{
			Reason: fmt.Sprintf("a fat tree has at least two switches, and there is %d", len(t.Topo.Switches)),
			OpenSM: fmt.Sprintf("Fabric has %d switches - topology is not fat-tree.", len(t.Topo.Switches)),
		}
	}
	t.addSwitches()
	if err := t.addHosts(); err != nil {
		return err
	}
	if err := t.rank(); err != nil {
		return err
	}
	if err := t.connect(ctx); err != nil {
		return err
	}
	if err := t.findLeaves(); err != nil {
		return err
	}
	t.giveIndexes()
	for _, n := range t.nodes {
		n.hosts = true
		for _, g := range slices.Concat(n.up, n.same, n.down) {
			switch {
			case g.to == nil:
				g.order = math.MaxUint64
			case g.to.index == noIndex:
				g.order = math.MaxUint64 - 1
			default:
				g.order = binary.BigEndian.Uint64(g.to.index[:])
			}
		}
		for _, g := range n.down {
			n.hosts = n.hosts && g.to == nil
		}
	}
	if err := t.sortLeaves(); err != nil {
		return err
	}
	if t.Roots == nil {
		return t.validate()
	}
	return nil
}

func (t *tree) addSwitches() {
	t.at = make([]*node, len(t.Topo.Switches))
	t.columns, t.hops = make([][]uint8, int(t.LIDs.Top)+1), make([]uint8, len(t.at))
	t.nothing = bytes.Repeat([]byte{routing.NoPath}, len(t.at))
	for _, s := range routing.SwitchesByGUID(t.Topo) {
		n := &node{at: s, lid: t.LIDs.Base[t.Topo.Nodes[t.Topo.Switches[s]].First], rank: unranked, index: noIndex}
		t.at[s] = n
		t.nodes = append(t.nodes, n)
	}
}

// addHosts lists the ports of hosts, by the GUIDs of their nodes.
func (t *tree) addHosts() error {
	var nodes []topo.NodeIdx
	for i := range t.Topo.Nodes {
		if t.Topo.Nodes[i].Type == mad.CA {
			nodes = append(nodes, topo.NodeIdx(i))
		}
	}
	if len(nodes) < 2 {
		return &routing.Refused{
			Reason: fmt.Sprintf("a fat tree has at least two hosts, and there is %d", len(nodes)),
			OpenSM: fmt.Sprintf("Fabric has %d nodes (%d switches) - topology is not fat-tree.", len(t.Topo.Nodes),
				len(t.Topo.Switches)),
		}
	}
	guid := func(n topo.NodeIdx) uint64 { return bits.ReverseBytes64(uint64(t.Topo.Nodes[n].GUID)) }
	slices.SortFunc(nodes, func(a, b topo.NodeIdx) int { return cmp.Compare(guid(a), guid(b)) })
	for _, n := range nodes {
		for num := 1; num <= int(t.Topo.Nodes[n].NumPorts); num++ {
			p := t.Topo.Port(n, uint8(num))
			peer := t.Topo.Ports[p].Peer
			if peer == topo.None {
				continue
			}
			if t.Topo.Nodes[t.Topo.Ports[peer].Node].Type == mad.CA {
				return fmt.Errorf("host %q is cabled to another host instead of a switch", t.Topo.Nodes[n].Desc.String())
			}
			if s := t.Topo.Nodes[t.Topo.Ports[peer].Node].Switch; s != topo.None {
				t.hosts = append(t.hosts, t.newHost(p, t.at[s], t.Topo.Ports[peer].Num))
			}
		}
	}
	return nil
}

func (t *tree) newHost(p topo.PortIdx, at *node, on uint8) host {
	guid := t.Topo.Ports[p].GUID
	h := host{port: p, lid: t.LIDs.Base[p], at: at, on: on, compute: t.Compute == nil || t.Compute[guid]}
	if t.IO[guid] && !(t.Compute != nil && h.compute) {
		h.io, h.compute = true, false
	}
	if t.Topo.Nodes[t.Topo.Ports[p].Node].Aggregation {
		h.extra, h.compute = true, false
	}
	return h
}
