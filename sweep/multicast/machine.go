// Package multicast programs the multicast forwarding tables of switches, and proves the trees in them. It works beside
// the sweeps, whose subnet, record of devices and forwarding tables it gets as values.
package multicast

import (
	"cmp"
	"slices"
	"time"

	"ibsm/finding"
	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/registry"
	"ibsm/routing"
	"ibsm/routing/mcast"
	"ibsm/sweep/device"
	"ibsm/sweep/plan"
	"ibsm/topo"
)

// Machine programs the multicast forwarding tables of all switches for the groups in the
// registry. It works beside the sweeps, so that a join does not wait for one: SetSubnet
// gives it the subnet of each heavy sweep, and SetRegistry the registrar's States.
//
// It works in rounds. A round takes all changes so far, computes the trees that they affect
// in a Task, and writes the blocks that differ from what switches hold. Where a tree
// loses links and gains others, all switches first remove the links that go, and then add
// the new ones: no packet meets a loop, in whatever order switches are written. A switch
// whose table is unknown is read, as far as packets can get into it, or written completely if it
// has just been powered up. When a switch has acknowledged its first block with entries, that is read once, to see
// whether it is kept.
//
// A Machine is pure and owned by one goroutine. A Task gets a snapshot.
type Machine struct {
	keys  plan.MKeys
	epoch uint16 // incremented by Abdicate: outcomes of requests of earlier epochs are dropped

	subnet   *subnet         // nil while this manager is not master
	next     *subnet         // that the next round uses
	state    *registry.State // nil: not known, and tables are left alone
	mfts     *mcast.MFTs     // target tables, by the switches of subnet
	computed *registry.State // that mfts were computed from; nil: the next task checks every tree
	placed   *topo.VPorts    // likewise
	graph    *mcast.Graph    // nil: the next task makes it
	missed   map[mad.LID]int // members that trees do not reach

	round
	unread  bool         // another manager may have written a block that packets get into
	left    []tableBlock // that the last round left different from their targets, or that were read since
	wasRead bool         // some were
	backoff time.Duration
	retryAt time.Duration // 0: no need
	checkAt time.Duration // when they are read; 0 never
	report  *Forwarding   // that Settle returns next
}

// round is where a round is.
type round struct {
	phase      phase
	task       *Task
	result     *Result
	blocks     []tableBlock // that this phase reads or writes
	at, open   int
	notRemoved blockEntries                      // transition entries of which some switch did not remove the old links
	failed     map[topo.SwitchIdx]int            // requests that failed in this round
	verdicts   map[topo.SwitchIdx]device.Verdict // the worst of them
	failures   []finding.Finding
}

// Subnet is a subnet as a heavy sweep has left it.
type Subnet struct {
	Topo    *topo.Topo
	Trunk   *routing.Trunk // Tables.Trunk
	Ranks   []int32        // Tables.Ranks
	Top     mad.LID        // the MulticastFDBTop that the sweep wrote, or a lower one that the next writes; 0 none
	Devices *device.Record // of the sweeps, with the switches of Topo
}

// subnet is one with its tables.
type subnet struct {
	Subnet
	held []*device.MFT // by SwitchIdx
}

// node is that of a switch.
func (s *subnet) node(i topo.SwitchIdx) *topo.Node { return &s.Topo.Nodes[s.Topo.Switches[i]] }

// snapshot is the tables as they are now.
func (s *subnet) snapshot() []*device.MFT {
	held := make([]*device.MFT, len(s.held))
	for i, t := range s.held {
		held[i] = t.Snapshot()
	}
	return held
}

type phase uint8

const (
	rests phase = iota
	reads
	computes
	removes
	adds
	confirms
)

// Forwarding reports the state of the switches' tables after a round.
type Forwarding struct {
	Seq      uint64            // Changes of the registry up to this one are in force
	Failures []finding.Finding // except on these switches
	Missed   int               // members that no tree reaches
	Err      error             // the proof of a tree failed; it is not written
}

// Rounds that try again what failed come after 1, 2, 4 and 8 s, and then every 8 s. Where trees avoid all switches that
// still fail, they rest, as a Set of a sweep does.
const (
	maxBackoff = 8 * time.Second
	rest       = 160 * time.Second
)

// New knows nothing. The M_Keys are for switches that do not show theirs.
func New(keys plan.MKeys) *Machine {
	m := &Machine{keys: keys}
	m.Abdicate()
	return m
}

// Configure takes other M_Keys.
func (m *Machine) Configure(keys plan.MKeys) { m.keys = keys }

// SendAgain has what failed sent again at once, though it rests.
func (m *Machine) SendAgain() {
	if m.backoff = 0; m.retryAt != 0 {
		m.retryAt = 1
	}
	if m.subnet != nil && m.forgive() {
		m.graph, m.computed = nil, nil
	}
}

// forgive has trees use switches again that they avoid because these answered with other values.
func (m *Machine) forgive() (forgiven bool) {
	for _, t := range m.subnet.held {
		forgiven = t.Forgive() || forgiven
	}
	return forgiven
}

// SetRegistry sets the registry that the next round uses.
func (m *Machine) SetRegistry(s *registry.State) { m.state = s }

// SetSubnet sets the subnet. The next round uses it and its indexes.
func (m *Machine) SetSubnet(s Subnet) {
	next := &subnet{Subnet: s}
	for i, n := range s.Topo.Switches {
		sw, node := &s.Devices.Switches[i], &s.Topo.Nodes[n]
		if sw.MFT == nil || sw.MFT.Positions != mcast.Positions(node.NumPorts) {
			sw.MFT, sw.Multicast = device.NewMFT(node, sw.Multicast), device.Anything
		}
		next.held = append(next.held, sw.MFT)
	}
	if last := m.latest(); last == nil || !last.equal(next) {
		m.next = next
	}
}

// SetVPorts replaces the subnet by one that differs in its vPorts only.
func (m *Machine) SetVPorts(t *topo.Topo) {
	if s := m.latest(); s != nil {
		s.Topo = t
	}
}

// equal reports whether two subnets have the same trees and tables.
func (s *subnet) equal(o *subnet) bool {
	return s.Topo == o.Topo && s.Top == o.Top && s.Trunk.Equal(o.Trunk) && slices.Equal(s.Ranks, o.Ranks) &&
		slices.Equal(s.held, o.held)
}

// latest is the subnet as the last sweep left it, nil before the first.
func (m *Machine) latest() *subnet { return cmp.Or(m.next, m.subnet) }

// Lower announces a sweep that writes the present Top as MulticastFDBTop. If that is lower
// than the previous one, Short uses it from now on, because switches get it during the sweep.
func (m *Machine) Lower() {
	if s := m.latest(); s != nil {
		s.Top = min(s.Top, m.Top())
	}
}

// Abdicate forgets all that another manager may change, and abandons the round. The results
// of a Task that is out and of requests that are open are dropped.
func (m *Machine) Abdicate() {
	if s := m.latest(); s != nil {
		s.Devices.ForgetMulticast()
	}
	*m = Machine{keys: m.keys, epoch: m.epoch + 1, state: m.state, missed: map[mad.LID]int{}}
}

// MFTs are the target tables, by the switches of a Topo that SetSubnet was given.
func (m *Machine) MFTs(t *topo.Topo) *mcast.MFTs {
	if m.subnet == nil {
		return nil
	}
	return m.mfts.Remap(m.subnet.Topo, t)
}

// Top is the MulticastFDBTop that switches need for the groups there are. It covers 1, 2, 3, 4, 6, 8, 12, 16, 24, ...
// blocks: so it seldom changes, and a takeover reads at most half as many again as hold groups. 0 while no registry is
// known.
func (m *Machine) Top() mad.LID {
	if m.state == nil {
		return 0
	}
	blocks, step := usedBlocks(m.state), 1
	for 4*step < blocks {
		step *= 2
	}
	blocks = (blocks + step - 1) / step * step
	return min(mad.MinMulticastLID+mad.LID(blocks*mcast.BlockSize-1), mad.PermissiveLID-1)
}

// Due is when the next retry or check is due; 0 for never.
func (m *Machine) Due() time.Duration {
	if m.phase != rests || m.subnet == nil {
		return 0
	}
	if m.checkAt != 0 && (m.retryAt == 0 || m.checkAt < m.retryAt) {
		return m.checkAt
	}
	return m.retryAt
}

// Settle goes on as far as it can without an outcome; the caller calls it when Next has no
// request. It returns a task for the caller to run, whose result TaskDone takes, and the
// report of a finished round. More says that Next may have a request again.
func (m *Machine) Settle(now time.Duration) (task *Task, report *Forwarding, more bool) {
	if m.open > 0 || m.phase == computes || m.pending() {
		return nil, nil, false
	}
	switch m.phase {
	case reads:
		m.readEnds()
	case removes:
		m.phase, m.blocks, m.at = adds, m.result.adds, 0
		if m.next == nil {
			return nil, nil, true
		}
		m.finish(now)
	case adds:
		if m.confirm() {
			return nil, nil, true
		}
		m.finish(now)
	case confirms:
		m.finish(now)
	}
	report, m.report = m.report, nil
	task, more = m.begin(now)
	return task, report, more
}

// pending reports whether blocks are left to read or write in this phase. A new subnet ends
// the round early.
func (m *Machine) pending() bool {
	return m.phase != rests && m.next == nil && m.at < len(m.blocks)
}

// begin starts a round if there is anything to do.
func (m *Machine) begin(now time.Duration) (task *Task, more bool) {
	if m.next != nil {
		m.mfts = m.MFTs(m.next.Topo)
		m.subnet, m.next = m.next, nil
		m.computed, m.graph, m.left, m.unread, m.backoff, m.retryAt = nil, nil, nil, true, 0, 0
		m.forgive()
	}
	if m.subnet == nil || m.state == nil {
		return nil, false
	}
	if m.read(now) {
		return nil, true
	}
	retry := m.retryAt != 0 && m.retryAt <= now
	if retry && m.backoff == rest && m.forgive() {
		m.graph, m.computed, m.backoff = nil, nil, 0
	}
	if m.computed == m.state && m.placed == m.subnet.Topo.VPorts && !retry && !m.wasRead {
		return nil, false
	}
	if m.wasRead = false; retry {
		m.retryAt = 0
	}
	m.task = &Task{
		topo: m.subnet.Topo, trunk: m.subnet.Trunk, ranks: m.subnet.Ranks, graph: m.graph, state: m.state,
		old: m.computed, placed: m.placed,
		mfts: m.mfts, held: m.subnet.snapshot(), numBlocks: m.numBlocks(), left: m.left,
	}
	m.phase = computes
	return m.task, false
}

// numBlocks is the number of blocks below MulticastFDBTop. Where another manager may have written some, this one
// programs all of them that packets get into, those that have groups where the table was empty, and elsewhere those up
// to the last that has groups.
func (m *Machine) numBlocks() int { return int(mcast.BlockOf(m.Top())) + 1 }

// TaskDone takes the result of a Task. It drops the result of an abandoned task.
func (m *Machine) TaskDone(g *Result) {
	if g == nil || g.task != m.task || m.phase != computes {
		return
	}
	m.graph, m.task = g.graph, nil
	m.phase, m.blocks, m.at = removes, g.removes, 0
	m.result, m.notRemoved, m.failures, m.left = g, blockEntries{}, nil, nil
	m.failed, m.verdicts = map[topo.SwitchIdx]int{}, map[topo.SwitchIdx]device.Verdict{}
	if m.next == nil {
		m.mfts, m.computed, m.placed = g.mfts, g.task.state, g.task.topo.VPorts
		for mlid, n := range g.unreached {
			if m.missed[mlid] = n; n == 0 {
				delete(m.missed, mlid)
			}
		}
	}
}

// finish ends a round that wrote.
func (m *Machine) finish(now time.Duration) {
	m.phase = rests
	if m.next != nil {
		return // the next round checks every tree
	}
	m.scheduleChecks(now)
	for _, c := range append(m.result.removes, m.result.adds...) {
		if (m.failed[c.s] > 0 || m.notRemoved[c.block] != 0) && m.answers(c.s) &&
			!m.holds(c, m.mfts.Block(c.s, c.position, c.block)) {
			m.left = append(m.left, c)
		}
	}
	seq := m.computed.Seq()
	m.countFailures()
	m.retry(now)
	if !m.Short() {
		m.report = &Forwarding{Seq: seq, Failures: m.failures, Err: m.result.err}
		for _, n := range m.missed {
			m.report.Missed += n
		}
	}
	m.result, m.blocks = nil, nil
}

// retry decides when what failed is tried again. A rest that has begun does not get longer.
func (m *Machine) retry(now time.Duration) {
	needed, mayPass := false, false
	for _, c := range m.left {
		held := m.subnet.held[c.s]
		needed, mayPass = needed || !held.Avoided(), mayPass || !held.Ignored()
	}
	switch {
	case len(m.left) == 0 && !slices.ContainsFunc(m.subnet.held, (*device.MFT).Ignored):
		m.backoff, m.retryAt = 0, 0
		return
	case needed || mayPass && m.backoff < maxBackoff:
		m.backoff = min(max(2*m.backoff, time.Second), maxBackoff)
	case m.backoff == rest && m.retryAt != 0:
		return
	default:
		m.backoff = rest // trees do without these switches
	}
	m.retryAt = now + m.backoff
}

// countFailures counts the rounds in which switches failed. When trees have to avoid one, or
// need not avoid one any more, the next task checks every tree.
func (m *Machine) countFailures() {
	wrong := map[topo.SwitchIdx]bool{}
	for _, c := range m.left {
		wrong[c.s] = true
	}
	for i, t := range m.subnet.held {
		s := topo.SwitchIdx(i)
		verdict := m.verdicts[s]
		if verdict == device.Obeyed && (!m.answers(s) || wrong[s]) {
			continue
		}
		if m.subnet.Devices.Judge(t, verdict) {
			m.graph, m.computed = nil, nil
		}
	}
}

// NeedsWalk reports whether some switch did not answer to its multicast table: a walk that begins
// now will show whose fault that is.
func (m *Machine) NeedsWalk() bool {
	s := m.latest()
	return s != nil && s.Devices.AwaitsWalk()
}

// Avoided are the switches that trees avoid because they do not take their tables, each with the reason.
func (m *Machine) Avoided() (all []finding.Finding) {
	if m.subnet == nil {
		return nil
	}
	for i, t := range m.subnet.held {
		if t.Avoided() {
			all = append(all, finding.Finding{Kind: finding.MFTAvoided, Node: m.subnet.node(topo.SwitchIdx(i)).GUID,
				Detail: t.Fault().String()})
		}
	}
	return all
}

// Short reports whether the MulticastFDBTop of some switch is too low: a sweep has to raise
// it.
func (m *Machine) Short() bool {
	s := m.latest()
	if s == nil || s.Top >= m.Top() {
		return false
	}
	for _, n := range s.Topo.Switches {
		if hasTop(s.Topo, n) {
			return true
		}
	}
	return false
}

// hasTop reports whether a switch has a MulticastFDBTop, above which it does not
// forward.
func hasTop(t *topo.Topo, n topo.NodeIdx) bool {
	return t.Ports[t.Nodes[n].First].Info.CapabilityMask().Has(smp.IsMulticastFDBTopSupported)
}
