package mcast

import (
	"fmt"
	"slices"

	"ibsm/mad"
	"ibsm/topo"
)

// Check proves that a tree delivers: all its switches can forward the multicast LID and
// are joined to each other, in one way only, by links that both ends forward over; every
// member but those given as unreached hangs on it; and it leads to no port that is not
// a member. It knows nothing of how trees are grown. The error says what is not so.
func Check(t *topo.Topo, tree *Tree, m Members, unreached []topo.PortIdx) error {
	c := checker{t: t, tree: tree, root: make([]int, len(tree.Branches))}
	for i := range c.root {
		c.root[i] = i
	}
	receivers := make(map[topo.PortIdx]bool, len(m.Receivers))
	for _, p := range m.Receivers {
		receivers[p] = true
	}
	for i, b := range tree.Branches {
		if i > 0 && b.Switch <= tree.Branches[i-1].Switch || int(b.Switch) >= len(t.Switches) || b.Switch < 0 {
			return fmt.Errorf("tree of MLID %v: switch %d is out of order", tree.MLID, b.Switch)
		}
		if err := c.branch(i, receivers); err != nil {
			return fmt.Errorf("tree of MLID %v: switch %v: %w", tree.MLID, t.Nodes[t.Switches[b.Switch]].GUID, err)
		}
	}
	if n := len(tree.Branches); n > 0 && c.links != 2*(n-1) {
		return fmt.Errorf("tree of MLID %v: %d switches forward over %d links", tree.MLID, n, c.links/2)
	}
	for i := range tree.Branches {
		if c.find(i) != c.find(0) {
			return fmt.Errorf("tree of MLID %v: it is split", tree.MLID)
		}
	}
	return c.members(m, unreached)
}

type checker struct {
	t     *topo.Topo
	tree  *Tree
	links int   // each counted from both ends
	root  []int // by branch: another one that it is joined to
}

// find is the branch that stands for all that are joined to one.
func (c *checker) find(i int) int {
	for c.root[i] != i {
		c.root[i] = c.root[c.root[i]]
		i = c.root[i]
	}
	return i
}

// branch follows all ports of one switch.
func (c *checker) branch(i int, receivers map[topo.PortIdx]bool) error {
	b := &c.tree.Branches[i]
	n := c.t.Switches[b.Switch]
	node := &c.t.Nodes[n]
	if int(c.tree.MLID)-int(mad.MinMulticastLID) >= int(node.SwitchInfo.MulticastFDBCap()) {
		return fmt.Errorf("its table has only %d multicast LIDs", node.SwitchInfo.MulticastFDBCap())
	}
	if b.Ports.Empty() {
		return fmt.Errorf("it forwards nowhere")
	}
	for num := range b.Ports.Ports() {
		if num > node.NumPorts {
			return fmt.Errorf("it has no port %d", num)
		}
		to := c.t.Port(n, num)
		if num > 0 {
			if to = c.t.Ports[to].Peer; to == topo.None {
				return fmt.Errorf("port %d leads nowhere", num)
			}
		}
		if !c.t.IsSwitchPort(to) {
			if !receivers[to] {
				return fmt.Errorf("port %d leads to %v, which does not receive", num, c.t.Ports[to].GUID)
			}
			continue
		}
		far := c.t.SwitchOf(to)
		j, found := slices.BinarySearchFunc(c.tree.Branches, far, func(b Branch, s topo.SwitchIdx) int {
			return int(b.Switch - s)
		})
		if !found || !c.tree.Branches[j].Ports.Has(c.t.Ports[to].Num) {
			return fmt.Errorf("port %d leads to a switch that does not forward back", num)
		}
		c.links++
		c.root[c.find(i)] = c.find(j)
	}
	return nil
}

// members makes sure that all members are reached where there is a tree.
func (c *checker) members(m Members, unreached []topo.PortIdx) error {
	missed := make(map[topo.PortIdx]bool, len(unreached))
	for _, p := range unreached {
		missed[p] = true
	}
	ports := map[topo.PortIdx]bool{}
	for _, p := range m.Receivers {
		s, num := At(c.t, p)
		if s == topo.None {
			continue // its cable leads to the only other port of the subnet: no table is needed
		}
		ports[p] = true
		if c.tree.Ports(s).Has(num) == missed[p] && len(c.tree.Branches) > 0 {
			return fmt.Errorf("tree of MLID %v: port %v is a receiver that the tree does not reach, or is reached without being a receiver", c.tree.MLID,
				c.t.Ports[p].GUID)
		}
	}
	for _, p := range m.Senders {
		s, _ := At(c.t, p)
		if s == topo.None {
			continue
		}
		ports[p] = true
		if !missed[p] && len(c.tree.Branches) > 0 && c.tree.Ports(s).Empty() {
			return fmt.Errorf("tree of MLID %v: port %v is a sender without a path into the tree", c.tree.MLID, c.t.Ports[p].GUID)
		}
	}
	if len(c.tree.Branches) == 0 && len(m.Receivers) > 0 && len(ports) > 1 && len(unreached) == 0 {
		return fmt.Errorf("tree of MLID %v: it is missing", c.tree.MLID)
	}
	return nil
}
