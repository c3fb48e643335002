package discover

import (
	"fmt"

	"ibsm/mad"
)

// Finding is something about the subnet that an operator should know.
type Finding struct {
	Kind   FindingKind
	GUID   mad.GUID // of the node
	Port   uint8    // of that node, where the kind speaks of one
	Far    uint8    // the other port of that node, where it speaks of two
	Route  mad.Route
	Other  mad.Route // of the second node, where the kind speaks of one
	Status mad.Status
	Block  uint16 // the first that did not come, of a partition table
}

// FindingKind is the kind of a Finding.
type FindingKind uint8

// Kinds of findings.
const (
	Unresponsive      FindingKind = iota + 1 // link up, no answer
	BadNodeInfo                              // an answer that no node can give
	DuplicateNodeGUID                        // two nodes with one GUID
	DuplicatePortGUID                        // two ports with one GUID; the later node is left out
	Loopback                                 // a cable from a node to itself: a plug when Far is Port
	TooFar                                   // beyond 63 hops
	TooMany                                  // more nodes or ports than a subnet can have
	Refused                                  // a Get that was answered with an error
	RefusedPKeys                             // the same, of a partition table: it is left alone
	UnreadPKeys                              // a partition table of which a part did not come
	Incomplete                               // a node that answered, but not enough of it; left out
	OwnPorts                                 // a cable between two ports of one adapter, which then are the whole subnet
	OneSided                                 // a cable found from one end, while the port at the other says it has no link
)

// String is the message for the log.
func (f Finding) String() string {
	switch f.Kind {
	case Unresponsive:
		return fmt.Sprintf("no answer behind port %d of node %v (directed route %v), though the link is up", f.Port, f.GUID, f.Route)
	case BadNodeInfo:
		return fmt.Sprintf("impossible NodeInfo behind port %d of node %v (directed route %v): ignored", f.Port, f.GUID, f.Route)
	case DuplicateNodeGUID:
		return fmt.Sprintf("Found duplicated node GUID %v: at directed routes %v and %v; the second is left out", f.GUID, f.Route, f.Other)
	case DuplicatePortGUID:
		return fmt.Sprintf("Found duplicated port GUID %v: at directed routes %v and %v; the second is left out", f.GUID, f.Route, f.Other)
	case Loopback:
		if f.Far != f.Port {
			return fmt.Sprintf("ports %d and %d of node %v are connected to each other: no route uses them", f.Port, f.Far, f.GUID)
		}
		return fmt.Sprintf("loopback plug: port %d of node %v is connected to itself", f.Port, f.GUID)
	case OwnPorts:
		return fmt.Sprintf("ports %d and %d of adapter %v are connected to each other: they are the whole subnet", f.Port, f.Far, f.GUID)
	case TooFar:
		return fmt.Sprintf("more than %d hops: nodes behind port %d of node %v are left out", mad.MaxHops, f.Port, f.GUID)
	case TooMany:
		return fmt.Sprintf("more nodes or ports than a subnet can have: nodes behind port %d of node %v (directed route %v) are left out", f.Port, f.GUID, f.Route)
	case Refused:
		return fmt.Sprintf("port %d of node %v (directed route %v) refuses to answer: %v", f.Port, f.GUID, f.Route, f.Status)
	case RefusedPKeys:
		return fmt.Sprintf("port %d of node %v (directed route %v) refuses to show its P_Key table: %v; it is left alone", f.Port, f.GUID, f.Route, f.Status)
	case UnreadPKeys:
		return fmt.Sprintf("port %d of node %v (directed route %v) did not show its whole P_Key table", f.Port, f.GUID, f.Route)
	case Incomplete:
		return fmt.Sprintf("node %v (directed route %v) left out: it stopped answering during discovery", f.GUID, f.Route)
	case OneSided:
		return fmt.Sprintf("Found duplicated node GUID %v: at directed routes %v, where port %d has no link, and %v, where it has one; the link is left out",
			f.GUID, f.Route, f.Port, f.Other)
	}
	return fmt.Sprintf("finding %d at node %v", f.Kind, f.GUID)
}
