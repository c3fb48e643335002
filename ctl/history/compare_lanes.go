package history

import (
	"fmt"
	"strings"

	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/routing"
	"ibsm/sweep/device"
	"ibsm/topo"
)

// sls compares the SLs of the paths between the first LIDs of all end ports that were there.
func (c *comparer) sls() {
	was, is := c.old.Tables.SLs, c.now.Tables.SLs
	if was.Equal(is) {
		return
	}
	// End ports whose paths have the same SLs, both before and now: one of them, and how many they are.
	type class struct{ oldFrom, newFrom, oldTo, newTo int32 }
	type ports struct {
		was, is mad.LID
		count   int
	}
	classes := map[class]*ports{}
	for _, p := range c.now.Topo.EndPorts {
		o := c.old.Topo.FindPort(c.now.Topo.Ports[p].GUID)
		if o == topo.None {
			continue
		}
		old, now := c.old.LIDs.Base[o], c.now.LIDs.Base[p]
		var k class
		k.oldFrom, k.oldTo = placeOf(was, old)
		k.newFrom, k.newTo = placeOf(is, now)
		if classes[k] == nil {
			classes[k] = &ports{was: old, is: now}
		}
		classes[k].count++
	}
	changed := 0
	for _, from := range classes {
		for _, to := range classes {
			if was.Of(from.was, to.was) != is.Of(from.is, to.is) {
				changed += from.count * to.count
			}
		}
	}
	if changed > 0 {
		c.add(Change{Kind: SLs, Name: "paths", From: slsText(was),
			To: fmt.Sprintf("%s: %d paths have another one", slsText(is), changed), Count: changed})
	}
}

// placeOf is the row and the column of a LID; negative for none.
func placeOf(s *routing.SLs, lid mad.LID) (row, column int32) {
	if s == nil || int(lid) >= len(s.From) || int(lid) >= len(s.To) {
		return -1, -1
	}
	return s.From[lid], s.To[lid]
}

// slsText is which SLs paths have.
func slsText(s *routing.SLs) string {
	if s == nil || s.Count == 1 {
		return "SL 0"
	}
	return fmt.Sprintf("SL 0 to %d", s.Count-1)
}

// lanes compares the tables of lanes of ports that were there, as far as both are known.
func (c *comparer) lanes() {
	is := c.now.Topo
	if c.oldOf == nil {
		c.oldOf = c.old.Topo.Remap(is)
	}
	for i := range is.Nodes {
		if c.oldOf[i] == topo.None {
			continue
		}
		node := &is.Nodes[i]
		for num := range int(node.NumPorts) + 1 {
			for _, attr := range []mad.AttrID{smp.AttrSLtoVLMappingTable, smp.AttrVLArbitrationTable} {
				at := device.Place{Attr: attr, Node: node.GUID, Port: uint8(num)}
				if a, b := c.old.Ports.Blocks(at), c.now.Ports.Blocks(at); a != b {
					c.blocks(node, uint8(num), attr, a, b)
				}
			}
		}
	}
}

// blocks compares the first block of a table that differs.
func (c *comparer) blocks(node *topo.Node, port uint8, attr mad.AttrID, a, b *device.Blocks) {
	for i := range min(len(a.Row()), len(b.Row())) / device.BlockSize {
		if a.State(i) != device.Known || b.State(i) != device.Known || string(a.Block(i)) == string(b.Block(i)) {
			continue
		}
		x, y := a.Known(i), b.Known(i)
		if attr == smp.AttrSLtoVLMappingTable {
			c.about(Lanes, node, port, vlsText(node, i, &x), vlsText(node, i, &y))
		} else {
			c.about(Lanes, node, port, turnsText(&x), turnsText(&y))
		}
		return
	}
}

// vlsText is an SLtoVLMappingTable for packets from a port.
func vlsText(node *topo.Node, in int, data *device.Data) string {
	var b strings.Builder
	if node.Type == mad.Switch {
		fmt.Fprintf(&b, "from port %d: ", in)
	}
	b.WriteString("VLs")
	for sl := range uint8(16) {
		fmt.Fprintf(&b, " %d", (*smp.SLtoVLMappingTable)(data).VL(sl))
	}
	return b.String()
}

// turnsText is a block of VL arbitration, without its entries at the end that have no weight.
func turnsText(data *device.Data) string {
	text, all := "VL:weight", "VL:weight"
	for i := range smp.VLArbBlockSize {
		vl, weight := (*smp.VLArbitrationTable)(data).Entry(i)
		if all += fmt.Sprintf(" %d:%d", vl, weight); weight > 0 {
			text = all
		}
	}
	return text
}
