package draw

import (
	"fmt"
	"time"

	"ibsm/ctl"
	"ibsm/ctl/shape"
	"ibsm/plural"
)

// hostStyle is how hosts are drawn, by how many there are.
type hostStyle uint8

const (
	hostCounts hostStyle = 0 // their number
	hostCells  hostStyle = 1 // a square each
	hostNames  hostStyle = 2 // and its name
)

// Up to so many hosts have their names, or a square, in a picture in levels.
const (
	mostNames = 160
	mostCells = 2000
)

// chooseHosts settles how hosts are drawn.
func (p *picture) chooseHosts() {
	n := 0
	for i := range p.fabric.Switches {
		n += len(p.fabric.Switches[i].Hosts)
	}
	switch {
	case n <= mostNames && p.fabric.Levels > 0:
		p.hosts = hostNames
	case n <= mostCells:
		p.hosts = hostCells
	}
}

// hostName is a host's name, without its adapter's.
func (p *picture) hostName(h int) string {
	first := ctl.HostName(p.fabric.Hosts[h].Desc)
	if len(first) > 20 {
		first = first[:19] + "~"
	}
	return first
}

// hostsHeight is the room that the hosts below a box need.
func (p *picture) hostsHeight(k *knot) float64 {
	n := p.hostsOf(k)
	switch {
	case n == 0:
		return 0
	case p.hosts == hostNames && k.shape == wide:
		return 4 + float64(n)*lineHeight
	case p.hosts == hostCells && k.shape != crate:
		columns := max(int(k.w/cellPitch), 1)
		return 4 + float64((n-1)/columns+1)*cellPitch
	case k.shape == tall:
		return 4 + textWidth(hostCount(n))
	}
	return 4 + lineHeight
}

func hostCount(n int) string {
	return plural.Of(n, "adapter")
}

// writeHosts draws the hosts below a box.
func (p *picture) writeHosts(w *svg, k *knot) {
	n := p.hostsOf(k)
	left, y := k.x-k.w/2, k.y+k.h/2+4
	switch {
	case n == 0:
	case p.hosts == hostNames && k.shape == wide:
		for i, h := range p.fabric.Switches[k.members[0]].Hosts {
			p.writeHost(w, h, left+2, y+float64(i)*lineHeight, "")
			w.text(left+2+cellPitch+1, y+float64(i)*lineHeight+cellSize, "t", p.hostName(h.Host))
		}
	case p.hosts == hostCells && k.shape != crate:
		columns := max(int(k.w/cellPitch), 1)
		indent := 0.0 // of a grid, where a link leaves downwards from the middle
		if p.fabric.Levels > 0 {
			indent = (k.w - float64(min(columns, n))*cellPitch + cellPitch - cellSize) / 2
		}
		for i, h := range p.fabric.Switches[k.members[0]].Hosts {
			p.writeHost(w, h, left+indent+float64(i%columns)*cellPitch, y+float64(i/columns)*cellPitch, "")
		}
	case k.shape == tall:
		w.turned(k.x+3, y+textWidth(hostCount(n)), -90, "t", hostCount(n))
	default:
		w.text(k.x, y+lineHeight-2, "t m", hostCount(n))
	}
}

// writeHost draws the square of a host's port.
func (p *picture) writeHost(w *svg, h shape.Attached, x, y float64, transform string) {
	node := p.fabric.Hosts[h.Host]
	title := fmt.Sprintf("%s\nGUID %s, LID %d\n%s", node.Desc, node.GUID, node.LID, p.linkTitle(h.Link))
	if node.Absent != nil {
		title += "\nabsent since " + node.Absent.Format(time.DateTime)
	}
	w.cell(x, y, cellSize, p.paint.host(h.Link), transform, title)
}
