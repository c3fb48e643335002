package ctl

import (
	"context"
	"io"
	"iter"
	"strings"
	"time"

	"ibsm/mad"
	"ibsm/opensm/names"
)

// Subnet is a published, immutable subnet; it is safe for concurrent reads. A row is only
// valid until the next one.
type Subnet interface {
	// Rows returns the rows of a list that match the filter, as pointers to the type of
	// the list.
	Rows(l List, f Filter) (iter.Seq[any], error)
	// Path follows the forwarding tables between two ports or vPorts, each given by LID, GUID, GID
	// or NodeDescription.
	Path(from, to string) (*Path, error)
	// Why returns the line of the partition file that decides whether a port or vPort, given as for
	// Path, is in a partition.
	Why(port, partition string) (*Why, error)
	// Diagnose explains why a port, or each port of a node, is not Active; for two ports why
	// the first does not reach the other; without ports all that are not Active. A port is
	// given as for Path, or as NODE:PORT, and may be without LID.
	Diagnose(port, other string) (iter.Seq[*Diagnosis], error)
	// QoS is the QoS policy in force, and PathRecord what the SA answers to the host at a port,
	// given as for Path, that asks for the path to another.
	QoS() (*QoS, error)
	PathRecord(from, to string, ask *PathRequest) (*PathAnswer, error)
	Quality(ctx context.Context) (*Quality, error)
	// Security is how well the subnet is protected from its own hosts.
	Security() *Security
	Rails() *Rails
	// Cabling is how the cables that the last heavy sweep found differ from topo_config_file.
	Cabling() *Cabling
	// Named is the subnet with other names of nodes in sentences and dumps.
	Named(given names.Map) Subnet
	// Dumps are the kinds of dump.
	Dumps() []string
	Dump(ctx context.Context, w io.Writer, kind string) error
	// Generation increases with each change of the subnet.
	Generation() uint64
}

// List is a list of a subnet. Its value is its name in paths and replies.
type List string

// Lists.
const (
	Nodes List = "nodes" // of Node, by GUID
	Ports List = "ports" // of Port, by node GUID and port number
	Links List = "links" // of Link, by node GUID and port number of the first end
	// DrainedPorts is of Drained, in the order of drain_file. It takes no Filter.
	DrainedPorts List = "drained"
	// Cables is of Cable: all that the last heavy sweep found, also those held back and those between devices that are
	// cut off. It is empty without a plan and with nothing to hold back, and takes no Filter.
	Cables List = "cables"
)

// Drained is a switch, or a port of one, that routes avoid because the operator wants so.
type Drained struct {
	GUID  string   `json:"guid"`
	Desc  string   `json:"desc"`           // "" if the switch is absent
	Port  uint8    `json:"port"`           // 0: the whole switch
	State string   `json:"state"`          // "drained", "still needed" or "absent"
	Hosts []string `json:"hosts"`          // that lose a link when it is unplugged, the first 64
	More  int      `json:"more,omitempty"` // that found no room in Hosts
}

// Filter selects rows of a list. Empty fields match all rows.
type Filter struct {
	Type  string // node type
	Node  string // node GUID or NodeDescription
	State string // port state
	Group string // MGID, of Members; name, of PortGroups
	Name  string // name or pattern, of Hosts and VPorts; or a GUID
	// Rails and Devices select ports of Hosts: those of one of the rails, and of an adapter whose name is one of
	// Devices or matches one. Both are at most MaxChosen long.
	Rails   []int
	Devices []string
	// Routes requests Link.Routes, which takes a second in a large subnet.
	Routes bool
	// Absent also selects the nodes and links that have gone since the manager started.
	Absent bool
}

// MaxChosen is the greatest length of Filter.Rails and Filter.Devices.
const MaxChosen = 64

// Absent is the state of a link that is gone.
const Absent = "absent"

// Node is a switch, channel adapter or router.
type Node struct {
	GUID       string  `json:"guid"`
	Type       string  `json:"type"` // CA, switch or router
	Desc       string  `json:"desc"`
	LID        mad.LID `json:"lid"` // base LID of a switch, or of the first port with a LID
	Ports      int     `json:"ports"`
	Up         int     `json:"up"` // ports that are ACTIVE
	SystemGUID string  `json:"system_guid"`
	VendorID   uint32  `json:"vendor_id"`
	DeviceID   uint16  `json:"device_id"`
	Revision   uint32  `json:"revision"`
	Missed     int     `json:"missed"` // consecutive sweeps without a response
	// Aggregation is set for a SHARP aggregation node of a switch, which is not a host.
	Aggregation bool `json:"aggregation,omitempty"`
	// Absent is when the node was lost, nil if it is there.
	Absent *time.Time `json:"absent,omitempty"`
}

// HostName is the first word of an adapter's NodeDescription, which is the name of its
// host. Blanks at the beginning do not count.
func HostName(desc string) string {
	name, _, _ := strings.Cut(strings.TrimSpace(desc), " ")
	return name
}

// BasePort0 is the state of the base port 0 of a switch, which has no link.
const BasePort0 = "base port 0"

// Port is a physical port, or port 0 of a switch.
type Port struct {
	GUID      string  `json:"guid"` // for an external switch port that of the switch
	Node      string  `json:"node"` // GUID
	Desc      string  `json:"desc"`
	Type      string  `json:"type"` // the node's
	Num       uint8   `json:"port"`
	LID       mad.LID `json:"lid,omitempty"` // base LID; 0 none
	LMC       uint8   `json:"lmc,omitempty"`
	State     string  `json:"state"`
	Physical  string  `json:"physical"`
	Width     string  `json:"width,omitempty"` // if the link is up
	Speed     string  `json:"speed,omitempty"`
	MTU       int     `json:"mtu,omitempty"` // of the link, in bytes
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
	// VPort is the GUID of the vPort behind the port that is meant, whose LID is LID; "" for the port itself.
	VPort string `json:"vport,omitempty"`
}

// Link is a link; each is listed once.
type Link struct {
	From      End    `json:"from"`
	To        End    `json:"to"`
	State     string `json:"state"` // the lower state of the two ends, or Absent
	Width     string `json:"width,omitempty"`
	Speed     string `json:"speed,omitempty"`
	Unhealthy bool   `json:"unhealthy,omitempty"`
	// Routes is set if the filter requested it.
	Routes *Routes `json:"routes,omitempty"`
}

// Routes is the number of routes over a link: one route from each port of a host to each
// LID of another host.
type Routes struct {
	Out uint32 `json:"out"` // from From to To
	In  uint32 `json:"in"`  // and back
}

// Path is the route of a packet from one port to another by the forwarding tables.
type Path struct {
	From    End     `json:"from"`
	To      End     `json:"to"`
	DLID    mad.LID `json:"dlid"`
	SL      uint8   `json:"sl"` // service level that the subnet administrator gives to the path
	Arrived bool    `json:"arrived"`
	Result  string  `json:"result"` // "arrived", or what happens instead
	Links   int     `json:"links"`
	Gbps    float64 `json:"gbps"` // nominal rate of the slowest link; 0 without one
	MTU     int     `json:"mtu"`  // bytes; the smallest on the route
	// GRH says that packets need one to arrive at the vPort.
	GRH  bool  `json:"grh,omitempty"`
	Hops []Hop `json:"hops"` // from the first port's node to the last
}

// Hop is a node on a route. In is 0 at the first node, Out is 0 at the last one; for a
// switch that is itself the end, 0 is its own port.
type Hop struct {
	Node  string  `json:"node"`
	Desc  string  `json:"desc"`
	Type  string  `json:"type"`
	LID   mad.LID `json:"lid"`
	In    uint8   `json:"in"`
	Out   uint8   `json:"out"`
	Width string  `json:"width,omitempty"` // of the link at Out
	Speed string  `json:"speed,omitempty"`
	VL    *uint8  `json:"vl,omitempty"` // virtual lane of the SL there; nil where it is not known
}
