package plan

import (
	"fmt"
	"strings"

	"ibsm/routing"
	"ibsm/sweep/device"
	"ibsm/topo"
)

// tables lists the switches with a block that differs from its target.
func (p *Plan) tables() (switches []topo.SwitchIdx) {
	if p.in.Tables == nil {
		return nil
	}
	p.targets = make([]*device.Blocks, len(p.in.Topo.Switches))
	for s, n := range p.in.Topo.Switches {
		if !p.answers(n) || p.in.Topo.Nodes[n].UsesPrivateLFT() {
			continue
		}
		p.targets[s] = p.in.Known[s].Target(p.in.Tables.LFT[s])
		if !p.targets[s].Complete() {
			switches = append(switches, topo.SwitchIdx(s))
		}
	}
	return switches
}

// describeBlock is the change of a block of a forwarding table as text.
func describeBlock(held *device.Blocks, row []uint8, block int) string {
	from := block * routing.BlockSize
	if held.State(block) != device.Known {
		return fmt.Sprintf(" forwarding table block %d (LIDs %d to %d), whatever it holds", block, from,
			from+routing.BlockSize-1)
	}
	var b strings.Builder
	fmt.Fprintf(&b, " forwarding table block %d:", block)
	for i, is := range held.Block(block) {
		if want := row[from+i]; is != want {
			fmt.Fprintf(&b, " LID %d %s -> %s", from+i, portText(is), portText(want))
		}
	}
	return b.String()
}

func portText(p uint8) string {
	if p == routing.NoPath {
		return "none"
	}
	return fmt.Sprint(p)
}
