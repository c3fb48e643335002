package device

import (
	"maps"

	"ibsm/mad"
)

// Ports is what ports hold of the attributes that have no other place in the record or the
// Topo. Ports whose blocks are equal share them. Its maker writes it; then nobody does.
// Nil holds nothing.
type Ports struct {
	held map[Place]*Blocks
	same map[string]*Blocks // complete ones, by value
	seen map[*Blocks]bool   // those in same
}

// Read stores the blocks that were read of a port, except those that did not arrive. It may keep row.
func (p *Ports) Read(at Place, row []byte, missing []int) {
	b := p.same[string(row)]
	if b == nil || missing != nil {
		b = Read(row, missing)
	}
	p.Keep(at, b)
}

// Keep puts in what a port is known to hold still. It may be shared with another Ports.
func (p *Ports) Keep(at Place, b *Blocks) {
	if p.held == nil {
		p.held, p.same, p.seen = map[Place]*Blocks{}, map[string]*Blocks{}, map[*Blocks]bool{}
	}
	if b.Complete() && !p.seen[b] {
		if same := p.same[string(b.row)]; same != nil {
			b = same
		} else {
			p.seen[b], p.same[string(b.row)] = true, b
		}
	}
	p.held[at] = b
}

// With is p with other blocks at some places. p stays as it is.
func (p *Ports) With(targets map[Place]*Blocks) *Ports {
	w := &Ports{held: make(map[Place]*Blocks, len(targets)), same: map[string]*Blocks{}, seen: map[*Blocks]bool{}}
	if p != nil {
		maps.Copy(w.held, p.held)
	}
	maps.Copy(w.held, targets)
	return w
}

// Blocks is what a port holds, to be read only; nil where nothing was read.
func (p *Ports) Blocks(at Place) *Blocks {
	if p == nil {
		return nil
	}
	return p.held[at]
}

// Holds reports whether anything is known of an attribute.
func (p *Ports) Holds(attr mad.AttrID) bool {
	if p != nil {
		for at := range p.held {
			if at.Attr == attr {
				return true
			}
		}
	}
	return false
}

// KeepMissing stores the previous values of nodes that did not answer, according to missing.
func (p *Ports) KeepMissing(was *Ports, missing func(mad.GUID) bool) {
	if was == nil {
		return
	}
	for at, b := range was.held {
		if missing(at.Node) {
			p.Keep(at, b)
		}
	}
}
