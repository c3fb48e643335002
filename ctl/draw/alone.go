package draw

import "fmt"

// layAlone makes room for adapters without a switch: a line for each.
func (p *picture) layAlone() {
	p.w = 640
	for _, h := range p.fabric.Hosts {
		p.w = max(p.w, 2*margin+cellPitch+textWidth(h.Desc))
	}
	p.h = headHeight + float64(len(p.fabric.Hosts))*lineHeight + margin
}

// writeAlone draws the adapters of a subnet without switches, with their links.
func (p *picture) writeAlone(w *svg) {
	if len(p.fabric.Switches) > 0 {
		return
	}
	for i, h := range p.fabric.Hosts {
		y, class, title := headHeight+float64(i)*lineHeight, "k",
			fmt.Sprintf("%s\nGUID %s, LID %d", h.Desc, h.GUID, h.LID)
		for _, l := range p.fabric.Direct {
			if l.From.Node == h.GUID || l.To.Node == h.GUID {
				class = p.paint.host(l)
				title += "\n" + p.linkTitle(l)
			}
		}
		w.cell(margin, y, cellSize, class, "", title)
		w.text(margin+cellPitch+1, y+cellSize, "t", h.Desc)
	}
}
