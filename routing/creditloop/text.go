package creditloop

import (
	"fmt"
	"strings"

	"ibsm/topo"
)

// maxNamed is the number of channels of a loop that Text names.
const maxNamed = 6

// Text names the ports of a loop in the order in which packets wait for them. name is what nodes
// are called.
func Text(t *topo.Topo, loop []Channel, name func(*topo.Node) string) string {
	var ports []string
	for _, c := range loop[:min(len(loop), maxNamed)] {
		ports = append(ports, fmt.Sprintf("%q port %d", name(&t.Nodes[t.Switches[c.Switch]]), c.Port))
	}
	if len(loop) > maxNamed {
		ports = append(ports, "...")
	}
	return strings.Join(ports, " to ") + " and back"
}

// Text says which packets take the channel and then the next one of its loop.
func (c *Channel) Text(t *topo.Topo, name func(*topo.Node) string) string {
	node := func(s topo.SwitchIdx) *topo.Node { return &t.Nodes[t.Switches[s]] }
	return fmt.Sprintf("%q port %d, lane %d: packets from %q to LID %v", name(node(c.Switch)), c.Port, c.Lane,
		name(node(c.Source)), c.Dest)
}

// Description is what a node calls itself, for Text.
func Description(n *topo.Node) string { return n.Desc.String() }
