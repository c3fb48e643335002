package portgroups

import (
	"crypto/sha256"
	"fmt"
	"io"
	"strings"

	"ibsm/conf/policyfile"
	"ibsm/mad"
)

// guidFormat is how GUIDs are written.
const guidFormat = "0x%016x"

// Lists is what a group lists, in words.
func (g *Group) Lists() string {
	var all []string
	for i := range g.Rules {
		g.Rules[i].each(func(text func() string, _ find) bool {
			all = append(all, text())
			return len(all) <= mostTexts
		})
	}
	return policyfile.Some(all, len(all), ", ")
}

// mostTexts is how many texts Lists makes at most.
const mostTexts = 200

// digest is a checksum of what a group lists, which does not depend on how it is written. The groups that it names have
// theirs.
func (g *Group) digest() (sum [sha256.Size]byte) {
	h := sha256.New()
	for i := range g.Rules {
		r := &g.Rules[i]
		fmt.Fprintln(h, "rule", r.GUIDs, r.OrNodes && len(r.GUIDs) > 0, r.Ports, r.PKeys, r.Types, r.Self, r.Hosts)
		for _, n := range r.Names {
			fmt.Fprintf(h, "name %q %d\n", n.Node, n.Port)
		}
		for _, w := range r.Partitions {
			fmt.Fprintf(h, "partition %q\n", w.Text)
		}
		if r.Pattern != nil {
			fmt.Fprintf(h, "pattern %q %d\n", r.Pattern.Text, r.Pattern.Port)
		}
		r.writeGroups(h)
	}
	return [sha256.Size]byte(h.Sum(nil))
}

// writeGroups writes the checksums of the groups that a rule names.
func (r *Rule) writeGroups(w io.Writer) {
	for _, u := range r.Union {
		fmt.Fprintf(w, "group %x\n", u.sum)
	}
	if r.Subtract != nil {
		fmt.Fprintf(w, "without %x\n", r.Subtract.sum)
	}
}

// typeNames are the words of node-type for the types of nodes.
var typeNames = []struct {
	typ  mad.NodeType
	name string
}{{mad.CA, "CA"}, {mad.Switch, "SWITCH"}, {mad.Router, "ROUTER"}}

// adapter is the second word of the descriptions of an adapter.
func (h HostPort) adapter() string { return fmt.Sprintf("HCA-%d", h.Adapter) }

// String is the host with what else is asked for.
func (h HostPort) String() string {
	text := "host " + h.Host
	if h.Adapter != 0 {
		text += " " + h.adapter()
	}
	if h.Port != 0 {
		text += fmt.Sprintf(" port %d", h.Port)
	}
	return text
}

// String is the pattern with its port.
func (p *Pattern) String() string {
	text := "description " + p.Text
	if p.Port != 0 {
		text += fmt.Sprintf(" port %d", p.Port)
	}
	return text
}

// groupsText is what a rule says of other groups.
func (r *Rule) groupsText() string {
	var names []string
	for _, g := range r.Union[:min(len(r.Union), mostTexts)] {
		names = append(names, g.Name)
	}
	text := "group " + policyfile.Some(names, len(r.Union), " or ")
	if r.Subtract != nil {
		text += " without group " + r.Subtract.Name
	}
	return strings.TrimSpace(text)
}
