package net

import (
	"fmt"

	"ibsm/conf/diag"
)

// leaveOut has the parser leave out a node that cannot be part of a fabric, as one of real adapters may be: the rest
// of the file counts. Its record is read like any other, so that cables to it are known.
func (p *parser) leaveOut(node int32, line int, format string, args ...any) {
	p.out[node] = true
	p.warn(line, 1, format+": it is left out", args...)
}

func (p *parser) warn(line, col int, format string, args ...any) {
	if w := &p.net.Warnings; len(*w) < maxErrors {
		w.Add(diag.Position{File: p.file, Line: line, Col: col}, format, args...)
	}
}

// discovered reports whether a node has the name that ibnetdiscover gives it, by its GUID. Of two nodes with one
// GUID it prints one, and both cables.
func (p *parser) discovered(node int32) bool {
	n := &p.net.Nodes[node]
	return len(n.ID) > 1 && n.ID[1:] == fmt.Sprintf("-%016x", uint64(n.GUID))
}

// cut takes the nodes that are left out away, with their cables.
func (p *parser) cut() {
	inOrder(p.net.Warnings)
	if len(p.out) == 0 {
		return
	}
	gone := make([]bool, len(p.net.Nodes))
	for i := range p.out {
		gone[i] = true
	}
	if remove(p.net, gone); len(p.net.Nodes) == 0 {
		p.errs = p.net.Warnings
	}
}
