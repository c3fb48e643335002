// Package history computes the changes from one published view to the next, and
// remembers the last of it: changes in short, not views, so that a long history of a
// large subnet takes little. It has no clock; the caller gives the time.
package history

import (
	"fmt"
	"time"

	"ibsm/mad"
)

// Change is one thing that is not as it was.
type Change struct {
	Kind Kind
	Node mad.GUID // 0 where it is not about a node
	Port uint8    // where it is about a port
	// Name is the node's description; of a group its MGID, of a setting its name, of a
	// subnet manager its GUID.
	Name     string
	From, To string // "" for what was not there, or is not any more
	// FromPeer and ToPeer are the ports with which From and To end; nil where they end with none.
	FromPeer, ToPeer *Peer
	Count            int // Routes: entries of the forwarding table
}

// Peer is a port at the other end of a link.
type Peer struct {
	Node mad.GUID
	Name string // as in texts
	Port uint8
}

// String is the port in texts.
func (p *Peer) String() string { return fmt.Sprintf("%s port %d", p.Name, p.Port) }

// Kind is what a Change is about.
type Kind uint8

// Kinds, in the order of the output.
const (
	Nodes    Kind = 0  // a node came or went
	Links    Kind = 1  // what a port leads to
	Answers  Kind = 2  // a node answers, or does not
	States   Kind = 3  // a port's state
	Speeds   Kind = 4  // width and speed of a link
	Avoided  Kind = 5  // routes avoid a link
	LIDs     Kind = 6  // of a port
	PKeys    Kind = 7  // of a port
	Managers Kind = 8  // subnet managers
	Settings Kind = 9  // what the operator chooses
	Groups   Kind = 10 // multicast groups
	Names    Kind = 11 // NodeDescriptions
	Routes   Kind = 12 // entries of a switch's forwarding table
	SLs      Kind = 13 // of paths, as the routing engine or the takeover gives them
	Lanes    Kind = 14 // a port's SLtoVLMappingTables or VL arbitration, where they are known
	NumKinds      = 15
)

var kindNames = [NumKinds]string{"node", "link", "answers", "state", "speed", "avoided", "lid", "pkeys", "manager",
	"setting", "group", "name", "routes", "sls", "lanes"}

// String is a word for it.
func (k Kind) String() string {
	if k < NumKinds {
		return kindNames[k]
	}
	return fmt.Sprintf("kind %d", uint8(k))
}

// Step is what changed from one generation to the next, or to a later one where views
// followed each other quickly.
type Step struct {
	From    uint64    // the generation before; 0 where the manager had no view
	Gen     uint64    // the one that brought the changes
	Last    uint64    // the last one that is like it
	At      time.Time // when Gen was published
	Counts  [NumKinds]int
	Entries int      // of forwarding tables
	Changes []Change // by kind; MaxChanges of them at most
}

// MaxChanges is how many Changes of one Step are kept. The others are counted.
const MaxChanges = 2000

// Total is the number of changes, kept or not.
func (s *Step) Total() (n int) {
	for _, count := range s.Counts {
		n += count
	}
	return n
}

// Missing is how many changes are not in Changes.
func (s *Step) Missing() int { return s.Total() - len(s.Changes) }
