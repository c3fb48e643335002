// Package discover walks a subnet by directed route. The machine is pure: it
// hands out requests one at a time, takes their outcomes in any order, and is
// finished when nothing is left to ask. It writes nothing, but for clearing
// PortStateChange where Config.Clear allows it.
//
// The order of a walk is breadth first, so that routes stay short. A node costs
// a NodeInfo for each of its cables (one, when the cable's other end was asked
// first), a NodeDescription when it is new, and for each port a PortInfo; a
// switch also a SwitchInfo, and its forwarding table where Config.Devices does not
// know it and traffic may be flowing through it. Partition tables cost one SMP for 32
// P_Keys, of ports that have come up since the previous walk.
package discover

import (
	"ibsm/finding"
	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/mad/txn"
	"ibsm/sweep/device"
	"ibsm/sweep/proof"
	"ibsm/topo"
)

// Config says what the walk can leave out.
type Config struct {
	// Prev is the subnet that the previous walk found, or nil.
	Prev *topo.Topo
	// Before is the subnet as it was known until the manager was paused, where Prev is nil because
	// of that. What is not answered is taken from it, and all else is read again.
	Before *topo.Topo
	// Known is the subnet as another master may have changed it since, where Prev and Before are nil; nil for none.
	Known *topo.Topo
	// Homes are the ports at which agents were that are not in these subnets, by the GUID of the agent's port. Nobody
	// writes to it.
	Homes map[mad.GUID][]Place
	// Former are the nodes that were last behind ports of switches behind which none was in the previous walk. Nobody
	// writes to it.
	Former map[Place]Resident
	// Features is what devices make of what OpenSM does not send. The machine adds to it; it outlives the walk. Nil for
	// one that does not.
	Features *device.Features
	// Devices is what is known to be in the tables of switches, and which places may be
	// other than Prev says. Nil for nothing.
	Devices *device.Record
	// Quick believes Prev about every switch that reports no change.
	Quick bool
	// Retry has a Quick walk ask again about what did not answer the previous one, or refused to, and about Failed.
	Retry bool
	// Failed are the nodes at which, or next to which, Sets have failed since the previous walk. Nobody writes to it.
	Failed map[mad.GUID]bool
	// Answered are the ports of Prev, by index, that have answered a Set since PortStateChange
	// was cleared: they are not read where it is still clear. Nil for none.
	Answered []bool
	// IsLate reports whether a node has answered requests of this walk or the one before, but too late. Nil for none.
	IsLate func(node mad.GUID) bool
	// Findings are those of the walk that Prev is from. A quick walk repeats those about nodes
	// that it does not ask.
	Findings []Finding
	// Clear lets the walk clear PortStateChange before it reads the ports of a
	// switch: a change that comes later sets it again, so that none is lost. Only
	// the master may, and of switches that Prev lacks only where they have no table.
	Clear bool
	// Uncleared are switches of which it does not try to: they keep PortStateChange set.
	Uncleared map[mad.GUID]bool
	// MKey is the M_Key of requests to agents for which Keys has no other one.
	MKey mad.MKey
	Keys Keys
	// IgnoreOtherSM leaves other managers unasked.
	IgnoreOtherSM bool
	// Nonce is that of the Questions to other managers: see sweep/proof. Zero is none.
	Nonce proof.Nonce
	// AllowedSMs are the ports whose managers are shown an M_Key; all when it is empty. A manager
	// is a program: it can read what it is sent, where an agent keeps it to itself.
	AllowedSMs []mad.GUID
	// FDR10 asks NVIDIA devices for their ports' ExtendedPortInfo.
	FDR10 bool
	device.Conditions
}

// Machine is one walk. It is owned by one goroutine.
type Machine struct {
	cfg       Config
	b         *topo.Builder
	queue     fifo    // of requests to nodes that are known
	probes    fifo    // of kindNode, each to whatever is behind a port
	open      int     // requests handed out and not answered
	visits    []visit // by the Builder's index of nodes
	conflicts []conflict
	claims    []claim           // that wait
	claimed   map[topo.End]bool // ports behind which one was made
	fresh     []item            // probes out of ports that are INIT, which wait: see remembersNothing
	refused   bool              // nobody has answered behind a link that is ARMED or ACTIVE
	limit     limit             // what is left of it
	branches  branches
	reported  map[finding.Kind]int // how many findings there were
	// routes to where a GUID of our own node was found again, the first MaxFindings: another manager may be there
	duplicates []mad.Route
	questions  map[uint64]proof.Question // to other managers, by the tag of the request
	earlier    map[findingAt]bool        // the findings of the previous walk

	keyTrials

	agents     []agent           // by the Builder's index of their nodes
	answers    int               // of other nodes, so far
	late       int               // of them: to a second attempt or a later one
	repeated   map[item]uint8    // requests made again
	early      []txn.Outcome     // of requests without an answer, while there were few answers: see keepEarly
	anySlow    bool              // the previous walk has not waited for some node
	unanswered []item            // of ports behind which a node was that may be there although nobody has answered
	again      map[mad.GUID]bool // nodes that a walk with Retry asks although they report no change
	retried    []item            // of ports behind which no node was, which a walk with Retry asks last
	unprobed   []item            // of ports behind which a node was that is asked over another cable
	probed     map[mad.GUID]bool // nodes that were slow, over whose other cables nothing is asked before all else
	res        Result
	unasked    map[topo.End]bool // ports that a quick walk has left alone, as they were unresponsive before
	recalled   int               // nodes that the previous walk had found, too
	replaced   map[int32]bool    // nodes that are where another one was that is not found any more
	stage      stage
	hiding     map[int32][]uint8 // ports that hide their extended speeds and wait for what their device makes of bit 31

	portReads
}

// keyTrials are the M_Keys that a walk tries.
type keyTrials struct {
	tries    map[topo.End]int          // of agents that answered to another key than the first to try: its number
	keyed    bool                      // some agent has an M_Key
	unproved map[topo.End]smp.PortInfo // of agents that have hidden their M_Key and are asked with another

	left       []item           // requests to whoever is behind ports, which have had no answer to the first key
	candidates []mad.GUID       // the agents whose keys tryKeys shows
	trials     map[topo.End]int // how many of its requests behind a port have no outcome
	tried      int              // how many of all were made with keys of candidates
}

// portReads are the tables of ports that a walk reads.
type portReads struct {
	readings readings
	asked    map[readKey]bool
	tables   topo.PKeyTables
	reads    device.Walking // the port that read looks at
	keys     []mad.PKey     // of the table that has been read last
	unread   map[device.Place]Finding
	lanes    bool // something is known of tables of lanes
}

// limit limits the size of the subnet that a walk accepts, whatever the replies contain.
type limit struct{ nodes, ports int }

// maxWalk is beyond every subnet: each node has a LID, and the largest has a third as
// many ports.
var maxWalk = limit{nodes: int(mad.MaxUnicastLID), ports: 1 << 20}

// Result is what a walk found. Builder is complete but not frozen.
type Result struct {
	Builder  *topo.Builder
	Quick    bool                        // switches that report no change were believed
	Retry    bool                        // likewise, and what was unresponsive before has been asked again
	Stirred  bool                        // something may have come to life there all the same
	Own      OwnPort                     // the manager's own port
	Tables   map[mad.GUID]*device.Blocks // of switches that were read, by node GUID
	Ports    *device.Ports               // what ports hold that is not in the Builder
	Read     []device.Block              // of which the Builder has the value, and that were not Known before
	Optional map[device.Place]bool       // of device.OptionalAttributes that were read: whether all blocks came
	SMs      []SM                        // other managers
	// Duplicates are managers that answer elsewhere with a GUID of our own node; Port is that of our own.
	Duplicates   []SM
	Findings     []Finding
	FindingsMore int                // that found no room: see MaxFindings
	Changed      bool               // a switch had PortStateChange set, not cleared before its ports were read
	Former       map[Place]Resident // see Config.Former
	Cleared      []mad.GUID         // switches whose PortStateChange was cleared
	Replaced     []mad.GUID         // nodes that are where another one was which is not found any more
	Unread       []mad.GUID         // nodes whose ports the next walk reads: some were not read, or changed
	Moved        bool               // links changed while the walk went on
	Contested    bool               // likewise, and two cables claimed one port, or some ports were not asked
	TimedOut     int                // requests that got no answer
	Managers     int                // of them: to other managers
	Unanswered   map[mad.GUID]bool  // nodes that answered, but not to all that every node answers
	Heard        Heard              // how much of what was asked was heard
	// Unproved are the links behind which nobody has answered, of nodes of which nothing was known, in a subnet whose
	// ports have M_Keys of their own: whoever is there may have refused to.
	Unproved int
	Refusing int     // likewise links behind which somebody is known
	Tried    []Place // ports behind which the keys of Keys.Candidates were shown
}

// Place is a port of a switch, by the node GUID, or our own port, by its GUID.
type Place struct {
	GUID mad.GUID
	Port uint8
}

// Resident is a node that was behind a port.
type Resident struct {
	Node, Agent mad.GUID // of the node, and of the port that its agent belongs to
	Switch      bool
}

// SM is another subnet manager.
type SM struct {
	Port  mad.GUID // of the port it was found at
	LID   mad.LID
	Route mad.Route
	Asked proof.Question // which it has answered
	Info  smp.SMInfo
	// Proved says that the answer proves that the manager knows the secret. A walk leaves it false, as it does not know
	// the secret.
	Proved bool
}

// visit is what the walk notes of a node, which the Builder has no need of.
type visit struct {
	sw       *pendingSwitch // of a switch that has answered
	believed bool           // its ports are taken over from Prev, all of them or those that have Answered
	inPrev   topo.NodeIdx   // its index in Prev, or None, once that was looked for
	looked   bool
	unread   bool // it is in Result.Unread
}

// at is the visit to a node.
func (m *Machine) at(n int32) *visit {
	for int(n) >= len(m.visits) {
		m.visits = append(m.visits, visit{})
	}
	return &m.visits[n]
}

// inPrev is a node by its index in the subnet of the previous walk, or None.
func (m *Machine) inPrev(n int32) topo.NodeIdx {
	at := m.at(n)
	if !at.looked {
		at.looked, at.inPrev = true, topo.None
		if m.cfg.Prev != nil {
			at.inPrev = m.cfg.Prev.FindNode(m.b.Node(n).GUID)
		}
	}
	return at.inPrev
}

// pendingSwitch counts the replies of a switch that have not come yet, before its forwarding
// table can be judged.
type pendingSwitch struct {
	ports    int            // PortInfos not answered yet
	up       device.PortSet // ports that are ARMED or ACTIVE
	complete bool           // all ports have been read, or taken over
}

// New starts a walk at the manager's own node.
func New(cfg Config) *Machine {
	if cfg.Features == nil {
		cfg.Features = device.NewFeatures()
	}
	if cfg.IsLate == nil {
		cfg.IsLate = func(mad.GUID) bool { return false }
	}
	if cfg.Devices == nil {
		cfg.Devices = &device.Record{}
	}
	b := topo.NewBuilder(cfg.Prev)
	m := &Machine{
		cfg: cfg, b: b, limit: maxWalk,
		reported: map[finding.Kind]int{}, claimed: map[topo.End]bool{}, unasked: map[topo.End]bool{},
		probed: map[mad.GUID]bool{}, questions: map[uint64]proof.Question{},
		hiding: map[int32][]uint8{}, replaced: map[int32]bool{}, again: askedAgain(&cfg),
		keyTrials: keyTrials{tries: map[topo.End]int{}, unproved: map[topo.End]smp.PortInfo{},
			trials: map[topo.End]int{}},
		portReads: portReads{asked: map[readKey]bool{}, unread: unreadBefore(&cfg),
			lanes: cfg.Devices.Ports.Holds(smp.AttrSLtoVLMappingTable) ||
				cfg.Devices.Ports.Holds(smp.AttrVLArbitrationTable)},
	}
	m.res = Result{Quick: cfg.Quick, Retry: cfg.Retry, Unanswered: map[mad.GUID]bool{}, Builder: b,
		Tables: map[mad.GUID]*device.Blocks{}, Ports: &device.Ports{},
		Optional: map[device.Place]bool{}}
	m.earlier = make(map[findingAt]bool, len(cfg.Findings))
	for _, f := range cfg.Findings {
		m.earlier[findingAt{f.Kind, Place{f.GUID, f.Port}}] = true
		m.anySlow = m.anySlow || f.Kind == finding.SlowAgent
	}
	m.queue.push(item{kind: kindSelf})
	return m
}

// Nodes is the number of nodes found so far, for a progress display.
func (m *Machine) Nodes() int { return m.b.Len() }

// Self is the GUID of the manager's own port, 0 until it is known.
func (m *Machine) Self() mad.GUID {
	if self := m.b.Self(); self != topo.NoEnd {
		return m.b.PortGUID(self)
	}
	return 0
}

// Cleared are the switches so far whose PortStateChange was, or is being, cleared. Who gives
// up the walk must remember that they have changed.
func (m *Machine) Cleared() []mad.GUID { return m.res.Cleared }

// Next is the next request; ok is false if there is none now. Done must be called with the answer of each.
func (m *Machine) Next() (req txn.Request, ok bool) {
	for {
		if req, ok = m.next(&m.probes); ok {
			return req, ok
		}
		if req, ok = m.next(&m.queue); ok || m.probes.empty() {
			return req, ok
		}
	}
}

// NextKnown is Next for nodes that are known. A request to an unknown one that cannot be sent yet
// is better made later: it may become needless.
func (m *Machine) NextKnown() (req txn.Request, ok bool) { return m.next(&m.queue) }

func (m *Machine) next(q *fifo) (req txn.Request, ok bool) {
	for {
		it, ok := q.pop()
		if !ok && m.stage == followsCables && m.idle() {
			if m.judgeEarly() || m.release() {
				continue
			}
			if len(m.claims) > 0 {
				m.judgeClaims()
				continue
			}
			if len(m.left) > 0 {
				m.tryKeys()
				continue
			}
			if m.askRetried() || m.takeUnanswered() {
				continue
			}
			if m.askFresh() {
				continue
			}
			m.stage = readsReplaced
			m.readReplaced()
			continue
		}
		if !ok {
			return req, false
		}
		if m.waitsForAgent(it) {
			continue
		}
		if req, ok = m.request(it); ok {
			m.open++
			return req, true
		}
		m.notMade(it)
	}
}

// Finished reports whether nothing is left to ask or to be answered, but for requests whose answers do not matter: the
// caller cancels these.
func (m *Machine) Finished() bool { return m.stage == readsReplaced && m.idle() }

// Open is how many requests have no outcome. Of a walk that is Finished their answers do not matter: the caller cancels
// them.
func (m *Machine) Open() int { return m.open }

// Result is what was found, once Finished. The machine must not be used any more.
func (m *Machine) Result() *Result {
	m.finish()
	res := m.res // apart from the Machine, which the Result does not hold on to
	return &res
}

// stage is how far a walk is.
type stage uint8

const (
	followsCables stage = iota
	readsReplaced       // of nodes that are where others were
)

// Kinds of request.
const (
	kindSelf    = iota // NodeInfo of our own node
	kindNode           // NodeInfo out of a port
	kindRecheck        // NodeInfo once more, over a cable that two nodes claim
	kindDesc
	kindSwitch
	kindClear
	kindPort
	kindSpeeds // PortInfo once more, with the modifier's bit 31
	kindPlain  // likewise without it
	kindSM
	kindGeneral
	kindAR
	kindPrivateLFT
	kindExtended
	kindBlock     // of a reading
	kindDuplicate // SMInfo where a GUID of our own node was found again
)

// item is a request to make, small because a switch queues one for each port.
type item struct {
	kind uint8
	num  uint16 // port number or block
	// by the Builder's index; of kindRecheck the conflict, of kindBlock the reading, of kindDuplicate the number of the
	// duplicate
	node int32
}

func (it item) tag() uint64 {
	return uint64(it.kind)<<48 | uint64(it.num)<<32 | uint64(uint32(it.node))
}

func itemOf(tag uint64) item { return item{uint8(tag >> 48), uint16(tag >> 32), int32(uint32(tag))} }

func (it item) end() topo.End { return topo.End{Node: it.node, Port: uint8(it.num)} }

// request makes the request of an item; ok is false when it has become needless
// or cannot be sent.
func (m *Machine) request(it item) (req txn.Request, ok bool) {
	req = txn.Request{Class: mad.ClassDirected, Method: mad.MethodGet, MKey: m.mkey(it), Tag: it.tag()}
	switch it.kind {
	case kindSelf:
		req.Attr = smp.AttrNodeInfo
		return req, true
	case kindNode:
		if m.isNeedless(it) || m.waits(it) {
			return req, false
		}
		req.Attr, req.Unknown = smp.AttrNodeInfo, true // we ask which node answers
		req.Route, ok = m.routeOut(it.end())
		if !ok {
			m.report(Finding{Kind: finding.TooFar, GUID: m.b.Node(it.node).GUID, Port: uint8(it.num)})
		}
		return req, ok
	case kindRecheck:
		return m.recheck(it, req)
	case kindDesc:
		req.Attr = smp.AttrNodeDescription
	case kindSwitch:
		req.Attr = smp.AttrSwitchInfo
	case kindClear:
		req.Method, req.Attr = mad.MethodSet, smp.AttrSwitchInfo
		req.Data = m.b.Node(it.node).SwitchInfo
	case kindPort:
		req.Attr, req.Mod = smp.AttrPortInfo,
			smp.PortInfoMod(uint8(it.num),
				m.cfg.Features.Of(device.ExtendedGets, &m.b.Node(it.node).Info) == device.Works)
	case kindSpeeds:
		req.Attr, req.Mod = smp.AttrPortInfo, smp.PortInfoMod(uint8(it.num), true)
	case kindPlain:
		req.Attr, req.Mod = smp.AttrPortInfo, smp.PortInfoMod(uint8(it.num), false)
	case kindDuplicate:
		req.Attr, req.Unknown, req.Route = smp.AttrSMInfo, true, m.duplicates[it.node]
		m.question(&req)
		return req, true
	case kindSM:
		req.Attr = smp.AttrSMInfo
	case kindGeneral:
		req.Attr, req.Mod = smp.AttrGeneralInfo, smp.GeneralInfoCapabilities
	case kindAR:
		req.Attr = smp.AttrARInfo
	case kindPrivateLFT:
		req.Attr = smp.AttrPrivateLFTInfo
	case kindExtended:
		req.Attr, req.Mod = smp.AttrExtendedPortInfo, uint32(it.num)
		req.Route, ok = m.routeTo(it.end())
		return req, ok
	case kindBlock:
		r := m.readings.at(it.node)
		req.Attr, req.Mod = r.of.ID, r.of.Modifier(m.b.Node(r.at.Node), r.at.Port, it.num)
		req.Route, ok = m.routeTo(r.at)
		return req, ok
	}
	if it.kind == kindPort || it.kind == kindSpeeds || it.kind == kindPlain || it.kind == kindSM {
		req.Route, ok = m.routeTo(it.end())
		if it.kind == kindSM {
			m.question(&req)
		}
		return req, ok
	}
	req.Route = m.b.Node(it.node).Route
	return req, true
}

// isNeedless reports whether a request to the node behind a port need not be made: the other end was asked meanwhile,
// or has answered to another key.
func (m *Machine) isNeedless(it item) bool {
	if m.b.Peer(it.end()) == topo.NoEnd {
		return false
	}
	if m.keyNumber(it) > 0 {
		m.endTrial(it.end())
	}
	return true
}

// waits reports whether a request to the node behind a port waits for the other branches.
func (m *Machine) waits(it item) bool {
	branch := m.branches.holder(it.node)
	if branch < 0 || m.keyNumber(it) > 0 {
		return false
	}
	m.branches.hold(branch, it)
	return true
}

// routeOut is the route to the node behind a port.
func (m *Machine) routeOut(e topo.End) (mad.Route, bool) {
	return m.b.Node(e.Node).Route.Then(e.Port)
}

// routeTo is the route to the agent of a port. The further ports of a CA answer
// only for themselves, through their own cables.
func (m *Machine) routeTo(e topo.End) (mad.Route, bool) {
	node := m.b.Node(e.Node)
	if node.Type == mad.Switch || e.Port == node.Info.LocalPortNum() {
		return node.Route, true
	}
	peer := m.b.Peer(e)
	if peer == topo.NoEnd {
		return mad.Route{}, false
	}
	return m.routeOut(peer)
}

// MaxFindings is how many findings of a kind a walk keeps: one agent can give cause for as many as it likes.
const MaxFindings = 1024

// report adds a finding. A GUID of our own node that was found again may be that of another
// manager, which is asked.
func (m *Machine) report(f Finding) {
	if self := m.b.Self(); self != topo.NoEnd && len(m.duplicates) < MaxFindings &&
		(f.Kind == finding.DuplicateNodeGUID && f.GUID == m.b.Node(self.Node).GUID ||
			f.Kind == finding.DuplicatePortGUID && f.GUID == m.b.PortGUID(self)) {
		m.queue.push(item{kind: kindDuplicate, node: int32(len(m.duplicates))})
		m.duplicates = append(m.duplicates, f.Other)
	}
	if m.reported[f.Kind]++; m.reported[f.Kind] > MaxFindings {
		m.res.FindingsMore++
		return
	}
	m.res.Findings = append(m.res.Findings, f)
}

// findingAt is a kind of finding at a port of a node.
type findingAt struct {
	kind finding.Kind
	at   Place
}

// had reports whether the previous walk had a kind of finding at a port of a node.
func (m *Machine) had(kind finding.Kind, node mad.GUID, port uint8) bool {
	return m.earlier[findingAt{kind, Place{node, port}}]
}
