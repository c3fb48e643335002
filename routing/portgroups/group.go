package portgroups

import (
	"crypto/sha256"
	"regexp"

	"ibsm/conf/diag"
	"ibsm/conf/policyfile"
	"ibsm/mad"
)

// Group is a set of end ports: those that any of its rules names. It is immutable once it is linked.
type Group struct {
	Name     string
	Use      string // a description
	Rules    []Rule
	Position diag.Position

	sum [sha256.Size]byte // of what it lists
}

// Rule is a line of a group. A port of a switch stands for the switch.
type Rule struct {
	GUIDs   policyfile.Ranges // of end ports
	OrNodes bool              // a GUID that no end port has may be that of a node, which stands for all its ports
	Ports   []NodePorts
	Names   []PortName
	Hosts   []HostPort
	Pattern *Pattern

	PKeys      policyfile.Ranges // members of these partitions, without the membership bit
	Partitions []policyfile.Word // members of these partitions, by name

	Types NodeTypes
	Self  bool // the port that the manager runs at

	Union    []*Group // the members of these groups
	Subtract *Group   // without those of this one; nil for none

	Position diag.Position

	named []policyfile.Word // the groups of Union, and at last that of Subtract, before they are linked
	less  bool              // there is a Subtract
}

// NodeTypes is a set of types of node, by bit.
type NodeTypes uint8

// Has reports whether a type is in the set.
func (s NodeTypes) Has(t mad.NodeType) bool { return s>>t&1 != 0 }

// allTypes are those of all nodes.
const allTypes NodeTypes = 1<<mad.CA | 1<<mad.Switch | 1<<mad.Router

// NodePorts are ports of the node that has a GUID, or the port with it.
type NodePorts struct {
	GUID  mad.GUID
	Ports policyfile.Ranges
}

// PortName names a port by the NodeDescription and the port number, 1 to 254.
type PortName struct {
	Node     string
	Port     uint8
	Position diag.Position
}

// HostPort names ports of a channel adapter by its host.
type HostPort struct {
	Host    string // the first word of the NodeDescription
	Adapter uint64 // the n of HCA-n, its second word; 0 for any
	Port    uint8  // 0 for all
}

// Pattern names ports by what their node's description has.
type Pattern struct {
	Text string
	Port uint8 // 0 for all

	expr *regexp.Regexp
}

// predefined are groups that need no file, by folded name.
var predefined = map[string]*Group{}

// Predefined are the names of groups that need no file.
var Predefined = []string{"ALL", "ALL_SWITCHES", "ALL_CAS", "ALL_ROUTERS"}

func init() {
	for i, types := range []NodeTypes{allTypes, 1 << mad.Switch, 1 << mad.CA, 1 << mad.Router} {
		g := &Group{Name: Predefined[i], Rules: []Rule{{Types: types}}}
		g.sum = g.digest()
		predefined[policyfile.Fold(g.Name)] = g
	}
}

// IsPredefined reports whether a group needs no file.
func IsPredefined(g *Group) bool { return g != nil && predefined[policyfile.Fold(g.Name)] == g }

// Set is groups that are known by name. Nil has those that need no file.
type Set struct {
	Groups []*Group // each that can be found
	byName map[string]*Group
}

// NewSet is a set of linked groups. Of two with a name the first is found.
func NewSet(lists ...[]*Group) *Set {
	s := &Set{byName: map[string]*Group{}}
	for _, list := range lists {
		for _, g := range list {
			if name := policyfile.Fold(g.Name); s.byName[name] == nil {
				s.byName[name] = g
				s.Groups = append(s.Groups, g)
			}
		}
	}
	return s
}

// Find is the group of a name; nil if there is none. Names are compared without blanks and case.
func (s *Set) Find(name string) *Group {
	name = policyfile.Fold(name)
	if s != nil && s.byName[name] != nil {
		return s.byName[name]
	}
	return predefined[name]
}

// Meant suggests a name for one that was not found: text for the end of a message, or "".
func (s *Set) Meant(name string) string {
	var known []string
	if s != nil {
		for _, g := range s.Groups[:min(len(s.Groups), enough)] {
			known = append(known, g.Name)
		}
	}
	return diag.Meant(name, append(known, Predefined...))
}

// enough is how many names are compared for a suggestion.
const enough = 200

// Equal reports whether two sets have the same groups, which list the same, in the same order.
func (s *Set) Equal(o *Set) bool {
	if s == nil || o == nil {
		return (s == nil || len(s.Groups) == 0) && (o == nil || len(o.Groups) == 0)
	}
	if len(s.Groups) != len(o.Groups) {
		return false
	}
	for i, g := range s.Groups {
		if g.Name != o.Groups[i].Name || g.sum != o.Groups[i].sum {
			return false
		}
	}
	return true
}
