package kube

import (
	"bufio"
	"fmt"
	"io"
	"regexp"
	"strings"

	"ibsm/ctl/slurm"
)

// Prefix is what the keys of labels begin with, followed by the number of the tier: topograph's.
const Prefix = "fabric.topograph.run/tier-"

// prefixForm is the form of a label's key without the number that it ends with: a domain and a name, either may be
// missing.
var prefixForm = regexp.MustCompile(`^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?` +
	`([A-Za-z0-9][-A-Za-z0-9_.]{0,60})?$`)

// CheckPrefix reports a prefix of keys that Kubernetes does not take.
func CheckPrefix(prefix string) error {
	if domain, _, _ := strings.Cut(prefix, "/"); prefix == "" || len(domain) > 253 || !prefixForm.MatchString(prefix) {
		return fmt.Errorf("%q is not the beginning of a label's key, such as %s", prefix, Prefix)
	}
	return nil
}

// Form is a form of file.
type Form string

// Forms.
const (
	Labels    Form = "labels"  // arguments of kubectl label node, a node in each line
	Kueue     Form = "kueue"   // Topology of kueue.x-k8s.io/v1beta2
	HyperNode Form = "volcano" // HyperNode of topology.volcano.sh/v1alpha1
)

// Write writes a topology in one form. The error is that of w.
func (t *Topology) Write(w io.Writer, form Form, prefix string) error {
	out := bufio.NewWriter(w)
	switch form {
	case Labels:
		t.writeLabels(out, prefix)
	case Kueue:
		t.writeKueue(out, prefix)
	default:
		t.writeVolcano(out, prefix)
	}
	return out.Flush()
}

func (t *Topology) writeLabels(w *bufio.Writer, prefix string) {
	for i := range t.Nodes {
		w.WriteString(t.Nodes[i].Name)
		for tier, value := range t.Nodes[i].Labels {
			fmt.Fprintf(w, " %s%d=%s", prefix, tier, value)
		}
		w.WriteByte('\n')
	}
}

// head is the comments at the beginning of a file.
func (t *Topology) head(w *bufio.Writer, form string) {
	fmt.Fprintf(w, "# %d nodes. Made by ibsmctl dump %s\n", len(t.Nodes), form)
	writeLeftOut(w, t.LeftOut)
}

func writeLeftOut(w *bufio.Writer, leftOut []string) {
	for _, why := range leftOut {
		fmt.Fprintf(w, "# left out: %s\n", strings.Map(slurm.Printable, why))
	}
}

func (t *Topology) writeKueue(w *bufio.Writer, prefix string) {
	t.head(w, string(Kueue))
	w.WriteString("apiVersion: kueue.x-k8s.io/v1beta2\nkind: Topology\nmetadata:\n  name: infiniband\nspec:\n  levels:\n")
	for tier := t.Tiers - 1; tier >= 0; tier-- {
		fmt.Fprintf(w, "  - nodeLabel: %q\n", fmt.Sprint(prefix, tier))
	}
	w.WriteString("  - nodeLabel: \"kubernetes.io/hostname\"\n")
}

func (t *Topology) writeVolcano(w *bufio.Writer, prefix string) {
	t.head(w, string(HyperNode))
	for i := range t.Groups {
		g := &t.Groups[i]
		fmt.Fprintf(w, "---\napiVersion: topology.volcano.sh/v1alpha1\nkind: HyperNode\nmetadata:\n  name: %q\nspec:\n"+
			"  tier: %d\n  tierName: %q\n  members:\n", g.Name, g.Tier+1, fmt.Sprint(prefix, g.Tier))
		kind := "HyperNode"
		if g.Tier == 0 {
			kind = "Node"
		}
		for _, m := range g.Members {
			fmt.Fprintf(w, "  - type: %s\n    selector:\n      exactMatch:\n        name: %q\n", kind, m)
		}
	}
}

// WriteModel writes a model of topograph's, with the names of hosts as they are. The error is that of w.
func WriteModel(w io.Writer, t *slurm.Topology) error {
	out := bufio.NewWriter(w)
	hosts, below := 0, map[string]bool{}
	for i := range t.Leafs {
		hosts += len(t.Leafs[i].Nodes)
	}
	for i := range t.Uppers {
		for _, child := range t.Uppers[i].Children {
			below[child] = true
		}
	}
	fmt.Fprintf(out, "# %d hosts. Made by ibsmctl dump topograph\n", hosts)
	writeLeftOut(out, t.LeftOut)
	if hosts == 0 {
		return out.Flush()
	}
	out.WriteString("switches:\n")
	for i := len(t.Uppers) - 1; i >= 0; i-- {
		fmt.Fprintf(out, "  %q:\n    switches:\n", t.Uppers[i].Name)
		for _, child := range t.Uppers[i].Children {
			fmt.Fprintf(out, "    - %q\n", child)
		}
	}
	for i := range t.Leafs {
		if name := t.Leafs[i].Name; !below[name] {
			fmt.Fprintf(out, "  %q: {}\n", name)
		}
	}
	out.WriteString("blocks:\n")
	for i := range t.Leafs {
		fmt.Fprintf(out, "- switch: %q\n  nodes:\n", t.Leafs[i].Name)
		for _, part := range slurm.Hostlist(t.Leafs[i].Nodes) {
			fmt.Fprintf(out, "  - %q\n", part)
		}
	}
	return out.Flush()
}
