package slurm

import (
	"bufio"
	"fmt"
	"io"
	"strings"
)

// Form is a form of file.
type Form string

// Forms.
const (
	Tree   Form = "slurm"       // topology.conf for the plug-in topology/tree
	Blocks Form = "slurm-block" // topology.conf for topology/block, Slurm 23.11 and later
	YAML   Form = "slurm-yaml"  // topology.yaml with both, Slurm 25.05 and later
)

// Forms are all of them.
var Forms = []Form{Tree, Blocks, YAML}

// Write writes a topology in one form. The error is that of w.
func (t *Topology) Write(w io.Writer, form Form) error {
	out := bufio.NewWriter(w)
	hosts := 0
	for i := range t.Leafs {
		hosts += len(t.Leafs[i].Nodes)
	}
	fmt.Fprintf(out, "# %d hosts. Made by ibsmctl dump %s\n", hosts, form)
	for _, why := range t.LeftOut {
		fmt.Fprintf(out, "# left out: %s\n", strings.Map(Printable, why))
	}
	switch form {
	case Blocks:
		t.writeBlocks(out)
	case YAML:
		t.writeYAML(out)
	default:
		t.writeTree(out)
	}
	return out.Flush()
}

// Printable keeps a comment on its line.
func Printable(r rune) rune {
	if r < ' ' || r > '~' {
		return '?'
	}
	return r
}

func (t *Topology) writeTree(w *bufio.Writer) {
	for i := range t.Leafs {
		s := &t.Leafs[i]
		s.writeLeafs(w, "")
		fmt.Fprintf(w, "SwitchName=%s Nodes=%s\n", s.Name, hostlist(s.Nodes))
	}
	for i := range t.Uppers {
		fmt.Fprintf(w, "SwitchName=%s Switches=%s\n", t.Uppers[i].Name, hostlist(t.Uppers[i].Children))
	}
}

// writeLeafs says which switches a leaf stands for, where they are several.
func (s *Switch) writeLeafs(w *bufio.Writer, indent string) {
	if s.Leafs != nil {
		fmt.Fprintf(w, "%s# %s: %s\n", indent, s.Name, strings.Map(Printable, strings.Join(s.Leafs, " ")))
	}
}

func (t *Topology) writeBlocks(w *bufio.Writer) {
	for i := range t.Leafs {
		s := &t.Leafs[i]
		s.writeLeafs(w, "")
		fmt.Fprintf(w, "BlockName=%s Nodes=%s\n", s.Name, hostlist(s.Nodes))
	}
	if t.Leafs != nil {
		fmt.Fprintf(w, "BlockSizes=%d\n", t.blockSize())
	}
}

// blockSize is the number of hosts that every block has.
func (t *Topology) blockSize() int {
	least := len(t.Leafs[0].Nodes)
	for i := range t.Leafs {
		least = min(least, len(t.Leafs[i].Nodes))
	}
	return least
}

func (t *Topology) writeYAML(w *bufio.Writer) {
	if t.Leafs == nil {
		return
	}
	w.WriteString("- topology: tree\n  cluster_default: true\n  tree:\n    switches:\n")
	for i := range t.Leafs {
		s := &t.Leafs[i]
		s.writeLeafs(w, "    ")
		fmt.Fprintf(w, "    - switch: %q\n      nodes: %q\n", s.Name, hostlist(s.Nodes))
	}
	for i := range t.Uppers {
		fmt.Fprintf(w, "    - switch: %q\n      children: %q\n", t.Uppers[i].Name, hostlist(t.Uppers[i].Children))
	}
	fmt.Fprintf(w, "- topology: block\n  cluster_default: false\n  block:\n    block_sizes:\n    - %d\n    blocks:\n",
		t.blockSize())
	for i := range t.Leafs {
		fmt.Fprintf(w, "    - block: %q\n      nodes: %q\n", t.Leafs[i].Name, hostlist(t.Leafs[i].Nodes))
	}
}
