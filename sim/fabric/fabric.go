package fabric

import (
	"fmt"
	"math/rand/v2"
	"time"

	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/topo/net"
)

// Config says how a Fabric behaves. The zero value is a fault-free fabric that
// answers at once.
type Config struct {
	Seed      uint64        // of everything random
	Latency   time.Duration // from one end of a path to the other
	TrainTime time.Duration // from a cable being in order to the port's Initialize
	Faults    Faults        // random ones; SetFaults changes them
	SMA       SMA           // how fast agents are
	KeepLIDs  bool          // ports start with the LID and LMC that the Net gives them

	// Caps may change what the node with that index is able to do.
	Caps func(node int32, n *net.Node, c *Caps)
	// OnSet is called for each Set that an agent answered, with whatever status; those
	// that the M_Key kept out were never taken.
	OnSet func(Set)
}

// Set is one Set as the agent of a node took it.
type Set struct {
	At     time.Duration
	Node   int32
	In     uint8 // port it came in by, 0 from a station at switch port 0
	Attr   mad.AttrID
	Mod    uint32
	Data   [mad.DataSize]byte // as asked for
	Status mad.Status
	TID    mad.TID
	// Changed says that the agent answers a Get otherwise than before; that of a recording always does.
	Changed bool
}

// Fabric is a simulated subnet. Its methods must not be called concurrently.
type Fabric struct {
	cfg  Config
	real bool // devices
	// agentsTakeTime says that some agent does.
	agentsTakeTime bool
	now            time.Duration
	random         *rand.Rand
	queue          queue
	nodes          []node
	ports          []port          // of all nodes, port 0 of each first
	mads           []madCount      // by port
	counts         []*counts       // by port
	sick           map[int32]*sick // by port
	traffic        map[int32]*flowing
	congested      map[int32]*congestion // by port
	virtual        map[int32]*virtual    // by end port that has vPorts
	byGUID         map[mad.GUID]int32
	stats          Stats
	serial         uint64 // of traps and trainings
	onDrop         func(d *mad.Datagram, why Drop)
}

// node is what belongs to a node as a whole.
type node struct {
	id           string
	sw           *switchState // nil for end nodes
	first        int32        // index of its port 0
	typ          mad.NodeType
	numPorts     uint8
	speed        mad.LinkSpeed // the fastest it supports
	width        mad.LinkWidth // all it supports
	gone         bool          // without power
	unresponsive bool          // its agent does not answer
	liar         *liar         // answers in place of its agent; nil for none
	info         smp.NodeInfo
	desc         smp.NodeDescription
	caps         Caps
	traps        []trap
	nextTrap     time.Duration // no trap before
	busy         time.Duration // its agent handles SMPs until then
}

// port is one port. Switch port 0 has no cable; port 0 of an end node is unused. Its size is
// that of two cache lines, the second of which is all that a packet needs that passes: a
// large fabric is carried by what the cache holds of it.
type port struct {
	guid     mad.GUID
	training uint64        // serial of the training under way, 0 for none
	leaseEnd time.Duration // when protection by M_Key falls, 0: not running
	station  *Station
	width    mad.LinkWidth // that the cable allows
	speed    mad.LinkSpeed
	cut      bool // the cable is there and passes nothing
	// runsFDR10 says that the link has trained to FDR10, which PortInfo calls QDR.
	runsFDR10 bool
	needsGRH  bool // it drops packets of general services that have none
	sick      bool // it receives bad bits
	_         [2]byte
	info      smp.PortInfo // of which the last 40 bytes are in the second line
	tables    *portTables  // nil as long as none was written
	node      int32
	peer      int32 // across the cable, -1 without one
	num       uint8
	_         [7]byte
}

// New builds the fabric that n describes, all nodes freshly powered up and all good links trained. What they hold at
// power-up follows from n's profile. It panics when n is inconsistent: a peer that does not exist or does not lead
// back, more than 254 ports.
func New(n *net.Net, cfg Config) *Fabric {
	f := &Fabric{
		cfg:    cfg,
		real:   n.Profile == net.RealDevices,
		random: rand.New(rand.NewPCG(cfg.Seed, 0x1b5a)),
		nodes:  make([]node, len(n.Nodes)),
		byGUID: make(map[mad.GUID]int32, len(n.Nodes)),
	}
	f.ResetStats()
	total := 0
	for i := range n.Nodes {
		f.nodes[i].first = int32(total)
		total += len(n.Nodes[i].Ports)
	}
	f.ports = make([]port, total)
	f.mads, f.counts = make([]madCount, total), make([]*counts, total)
	for i := range n.Nodes {
		f.addNode(int32(i), n)
	}
	for i := range n.Nodes {
		f.cable(int32(i), n)
	}
	for i := range f.nodes {
		f.powerUp(int32(i))
	}
	if cfg.KeepLIDs {
		f.keepLIDs(n)
	}
	for i := range f.ports {
		if f.canTrain(int32(i)) && !f.linkUp(int32(i)) {
			f.rise(int32(i))
		}
	}
	return f
}

func (f *Fabric) addNode(i int32, all *net.Net) {
	n := &all.Nodes[i]
	if len(n.Ports) < 2 || len(n.Ports) > 255 {
		panic(fmt.Sprintf("fabric: node %s has %d ports, expected 1 to 254", n.ID, len(n.Ports)-1))
	}
	d := &f.nodes[i]
	d.id = n.ID
	d.typ, d.numPorts, d.caps = n.Type, uint8(n.NumPorts()), defaultCaps(n, all.Profile, all.Functions)
	d.caps.SMATime, d.caps.SMABuffer = f.cfg.SMA.Time, f.cfg.SMA.Buffer
	if f.cfg.Caps != nil {
		f.cfg.Caps(i, n, &d.caps)
	}
	f.agentsTakeTime = f.agentsTakeTime || d.caps.SMATime > 0
	d.speed, d.width = supported(n)
	d.desc.Set(n.Desc)
	d.info.SetBaseVersion(1)
	d.info.SetClassVersion(1)
	d.info.SetNodeType(n.Type)
	d.info.SetNumPorts(d.numPorts)
	d.info.SetSystemImageGUID(n.SystemImageGUID)
	d.info.SetNodeGUID(n.GUID)
	d.info.SetPartitionCap(d.caps.PartitionCap)
	d.info.SetDeviceID(n.DeviceID)
	d.info.SetVendorID(n.VendorID)
	if n.Type == mad.Switch {
		d.sw = &switchState{enhanced: n.EnhancedPort0}
	}
	for num := range n.Ports {
		p := &f.ports[d.first+int32(num)]
		p.node, p.num, p.peer = i, uint8(num), -1
		p.guid = n.Ports[num].GUID
		if d.sw != nil && num == 0 && p.guid == 0 {
			p.guid = n.GUID
		}
		if _, taken := f.byGUID[p.guid]; !taken && p.guid != 0 && (d.sw == nil) == (num > 0) {
			f.byGUID[p.guid] = d.first + int32(num)
		}
	}
	f.addVPorts(i)
}

func (f *Fabric) cable(i int32, n *net.Net) {
	for num := 1; num < len(n.Nodes[i].Ports); num++ {
		np := &n.Nodes[i].Ports[num]
		p := &f.ports[f.nodes[i].first+int32(num)]
		p.width, p.speed = np.Width, np.Speed
		if p.width == 0 {
			p.width = mad.Width4x
		}
		if p.speed == 0 {
			p.speed = mad.QDR
		}
		if np.Peer.Node < 0 {
			continue
		}
		peer, ok := f.index(np.Peer)
		if !ok || np.Peer.Port == 0 ||
			n.Nodes[np.Peer.Node].Ports[np.Peer.Port].Peer != (net.End{Node: i, Port: uint8(num)}) {
			panic(fmt.Sprintf("fabric: node %s port %d: its cable's other end does not lead back", n.Nodes[i].ID, num))
		}
		p.peer = peer
	}
}

func (f *Fabric) keepLIDs(n *net.Net) {
	for i := range n.Nodes {
		for num := range n.Nodes[i].Ports {
			if at := f.nodes[i].first + int32(num); at == f.mgmt(at) && n.Nodes[i].Ports[num].LID != 0 {
				f.ports[at].info.SetLID(n.Nodes[i].Ports[num].LID)
				f.ports[at].info.SetLMC(n.Nodes[i].Ports[num].LMC)
			}
		}
	}
}

// Now is the virtual time.
func (f *Fabric) Now() time.Duration { return f.now }

// Next is the time of the next thing to happen by itself; ok is false when nothing
// will.
func (f *Fabric) Next() (at time.Duration, ok bool) { return f.queue.next() }

// Advance moves the virtual time on to now and lets everything happen that is due
// by then. Time never goes back: an earlier now counts as the present.
func (f *Fabric) Advance(now time.Duration) {
	var e event
	for {
		at, ok := f.queue.next()
		if !ok || at > now {
			break
		}
		f.now = max(f.now, f.queue.pop(&e))
		f.happen(e.kind, e.port, e.serial, &e.d)
	}
	f.now = max(f.now, now)
}

func (f *Fabric) happen(kind eventKind, port int32, serial uint64, d *mad.Datagram) {
	switch kind {
	case evArrive:
		f.arrive(port, uint16(serial), d)
	case evDeliver:
		f.deliver(port, uint16(serial), d)
	case evTrap:
		f.sendTrap(port, serial)
	case evTrain:
		f.trained(port, serial)
	case evPass:
		f.toAgent(port, decodePass(serial), d)
	case evSick:
		f.recoveryFailed(port, serial)
	}
}

// index finds a port; ok is false when there is none such.
func (f *Fabric) index(at net.End) (int32, bool) {
	if at.Node < 0 || int(at.Node) >= len(f.nodes) || at.Port > f.nodes[at.Node].numPorts {
		return 0, false
	}
	return f.nodes[at.Node].first + int32(at.Port), true
}

func (f *Fabric) end(i int32) net.End { return net.End{Node: f.ports[i].node, Port: f.ports[i].num} }

func (f *Fabric) nodeOf(i int32) *node { return &f.nodes[f.ports[i].node] }

// mgmt is the port that holds LID and keys for port i: port 0 of a switch, the
// port itself otherwise. Port 0 of an end node has none and gives port 1.
func (f *Fabric) mgmt(i int32) int32 {
	n := f.nodeOf(i)
	if n.sw != nil {
		return n.first
	}
	return max(i, n.first+1)
}
