package ctl

import (
	"context"
	"io"
	"iter"

	"ibsm/mad"
)

// Subnet is the subnet as it was published: it does not change, and may be read by any
// number of goroutines. Rows are only valid until the next one.
type Subnet interface {
	// Rows are those of a list, pointers to the type that belongs to it, without those that
	// the filter leaves out.
	Rows(l List, f Filter) (iter.Seq[any], error)
	// Path follows the forwarding tables between two ports, each named by LID, GUID, GID
	// or NodeDescription.
	Path(from, to string) (*Path, error)
	// Why tells which line of the partition file decides whether a port, named as for Path,
	// is in the partition of a key.
	Why(port, partition string) (*Why, error)
	// Diagnose tells why a port, or each of a node, is not Active; of two, why the first does
	// not reach the other; of none, all ports that are not Active. A port is named as for
	// Path, or as NODE:PORT, and need not have a LID.
	Diagnose(port, other string) (iter.Seq[*Diagnosis], error)
	// Dumps are the kinds of file that Dump writes.
	Dumps() []string
	Dump(ctx context.Context, w io.Writer, kind string) error
	// Generation is raised with each change of the subnet.
	Generation() uint64
}

// List is one of the lists of a subnet. Its value is its name in paths and replies.
type List string

// Lists.
const (
	Nodes List = "nodes" // of Node, by GUID
	Ports List = "ports" // of Port, by node GUID and port number
	Links List = "links" // of Link, by node GUID and port number of the first end
)

// Filter leaves rows out of a list. Empty fields leave none out.
type Filter struct {
	Type  string // node type
	Node  string // node GUID or NodeDescription
	State string // port state
	Group string // MGID, of Members
	// Routes asks for Link.Routes, which take a second in a large subnet.
	Routes bool
}

// Node is a switch, channel adapter or router.
type Node struct {
	GUID       string  `json:"guid"`
	Type       string  `json:"type"` // CA, switch or router
	Desc       string  `json:"desc"`
	LID        mad.LID `json:"lid"` // base LID of a switch, or of the first port that has one
	Ports      int     `json:"ports"`
	Up         int     `json:"up"` // ports that are ACTIVE
	SystemGUID string  `json:"system_guid"`
	VendorID   uint32  `json:"vendor_id"`
	DeviceID   uint16  `json:"device_id"`
	Revision   uint32  `json:"revision"`
	Missed     int     `json:"missed"` // sweeps in a row without an answer
	// Aggregation says that it is a switch's own node for SHARP, and no host.
	Aggregation bool `json:"aggregation,omitempty"`
}

// Port is a physical port, or port 0 of a switch.
type Port struct {
	GUID      string  `json:"guid"` // of an external switch port the switch's
	Node      string  `json:"node"` // GUID
	Desc      string  `json:"desc"`
	Type      string  `json:"type"` // the node's
	Num       uint8   `json:"port"`
	LID       mad.LID `json:"lid,omitempty"` // base LID; 0 none
	LMC       uint8   `json:"lmc,omitempty"`
	State     string  `json:"state"`
	Physical  string  `json:"physical"`
	Width     string  `json:"width,omitempty"` // of a link that is up
	Speed     string  `json:"speed,omitempty"`
	MTU       int     `json:"mtu,omitempty"` // bytes that the link carries
	Unhealthy bool    `json:"unhealthy,omitempty"`
	Peer      *End    `json:"peer,omitempty"`
}

// End is one end of a link.
type End struct {
	Node string  `json:"node"` // GUID
	Desc string  `json:"desc"`
	Type string  `json:"type"`
	Port uint8   `json:"port"`
	LID  mad.LID `json:"lid"` // of the port, or of its switch
}

// Link is a cable, given once.
type Link struct {
	From      End    `json:"from"`
	To        End    `json:"to"`
	State     string `json:"state"` // of the end that is less far
	Width     string `json:"width,omitempty"`
	Speed     string `json:"speed,omitempty"`
	Unhealthy bool   `json:"unhealthy,omitempty"`
	// Routes is there if the filter asked for it.
	Routes *Routes `json:"routes,omitempty"`
}

// Routes is how many routes lead through a link: one from each port of a host to each LID
// of another.
type Routes struct {
	Out uint32 `json:"out"` // from From to To
	In  uint32 `json:"in"`  // and back
}

// Path is the way of a packet from one port to another by the forwarding tables.
type Path struct {
	From    End     `json:"from"`
	To      End     `json:"to"`
	DLID    mad.LID `json:"dlid"`
	Arrived bool    `json:"arrived"`
	Fate    string  `json:"fate"` // "arrived", or why it does not
	Links   int     `json:"links"`
	Gbps    float64 `json:"gbps"` // nominal rate of the slowest link; 0 without one
	MTU     int     `json:"mtu"`  // bytes; the least on the way
	Hops    []Hop   `json:"hops"` // from the first port's node to the last
}

// Hop is a node that a packet passes. In is 0 at the first node, Out at the last one;
// for a switch that is itself the end, 0 is its own port.
type Hop struct {
	Node  string  `json:"node"`
	Desc  string  `json:"desc"`
	Type  string  `json:"type"`
	LID   mad.LID `json:"lid"`
	In    uint8   `json:"in"`
	Out   uint8   `json:"out"`
	Width string  `json:"width,omitempty"` // of the link at Out
	Speed string  `json:"speed,omitempty"`
}
