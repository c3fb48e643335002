package sweep

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
	"ibsm/topo"
)

// Multicast programs the multicast forwarding tables of all switches for the groups in the
// registry. It works beside the Sweeper, so that a join does not wait for a sweep: SetSubnet
// gives it the subnet of each heavy sweep, and SetRegistry the registrar's States.
//
// It works in rounds. A round takes all changes so far, computes the trees that they affect
// in a MulticastTask, and writes the blocks that differ from what switches hold. Where a tree
// loses links and gains others, all switches first remove the links that go, and then add
// the new ones: no packet meets a loop, in whatever order switches are written. A switch
// whose table is unknown is read, or written completely if it has just been powered up.
//
// A Multicast is pure and owned by one goroutine. A MulticastTask gets a snapshot.
type Multicast struct {
	settings Settings // of which the M_Key counts
	epoch    uint16   // incremented by Abdicate: outcomes of requests of earlier epochs are dropped

	subnet   *subnet         // nil while this manager is not master
	next     *subnet         // that the next round uses
	state    *registry.State // nil: not known, and tables are left alone
	devices  *device.Record  // of the Sweeper; nil before the first sweep
	mfts     *mcast.MFTs     // target tables, by the switches of subnet
	computed *registry.State // that mfts were computed from; nil: the next task checks every tree
	graph    *mcast.Graph    // nil: the next task makes it
	missed   map[mad.LID]int // members that trees do not reach

	multicastRound
	unread  bool       // another manager may have written some table
	left    []mftBlock // that the last round left different from their targets
	backoff time.Duration
	retryAt time.Duration // 0: no need
	checkAt time.Duration // when they are read; 0 never
	report  *Forwarding   // that Settle returns next
}

// multicastRound is where a round is.
type multicastRound struct {
	phase      multicastPhase
	task       *MulticastTask
	round      *MulticastResult
	blocks     []mftBlock // that this phase reads or writes
	at, open   int
	notRemoved blockEntries                      // transition entries of which some switch did not remove the old links
	failed     map[topo.SwitchIdx]int            // requests that failed in this round
	verdicts   map[topo.SwitchIdx]device.Verdict // the worst of them
	failures   []finding.Finding
}

// subnet is the outcome of a sweep.
type subnet struct {
	topo  *topo.Topo
	held  []*device.MFT  // by SwitchIdx
	trunk *routing.Trunk // Tables.Trunk
	ranks []int32        // Tables.Ranks
	top   mad.LID        // the MulticastFDBTop that the sweep wrote, or a lower one that the next writes; 0 none
}

// snapshot is the tables as they are now.
func (s *subnet) snapshot() []*device.MFT {
	held := make([]*device.MFT, len(s.held))
	for i, t := range s.held {
		held[i] = t.Snapshot()
	}
	return held
}

type multicastPhase uint8

const (
	multicastRests multicastPhase = iota
	multicastReads
	multicastComputes
	multicastRemoves
	multicastAdds
)

// Forwarding reports the state of the switches' tables after a round.
type Forwarding struct {
	Seq      uint64            // Changes of the registry up to this one are in force
	Failures []finding.Finding // except on these switches
	Missed   int               // members that no tree reaches
	Err      error             // the proof of a tree failed; it is not written
}

// Rounds that try again what failed come after 1, 2, 4 and 8 s. What has failed in all of them will do so again, as with a Set of a sweep
// that rests.
const (
	maxMulticastBackoff = 8 * time.Second
	multicastRest       = 160 * time.Second
)

// NewMulticast knows nothing. The M_Key is for switches that do not show theirs.
func NewMulticast(s *Settings) *Multicast {
	m := &Multicast{settings: *s}
	m.Abdicate()
	return m
}

// Configure takes other settings, of which the M_Key counts.
func (m *Multicast) Configure(s *Settings) { m.settings = *s }

// SendAgain has what failed sent again at once, though it rests.
func (m *Multicast) SendAgain() {
	if m.backoff = 0; m.retryAt != 0 {
		m.retryAt = 1
	}
	if m.subnet != nil && m.forgive() {
		m.graph, m.computed = nil, nil
	}
}

// forgive has trees use switches again that they avoid because these answered with other values.
func (m *Multicast) forgive() (forgiven bool) {
	for _, t := range m.subnet.held {
		forgiven = t.Forgive() || forgiven
	}
	return forgiven
}

// SetRegistry sets the registry that the next round uses.
func (m *Multicast) SetRegistry(s *registry.State) { m.state = s }

// SetSubnet sets the subnet as a heavy sweep has left it. The next round uses it and its
// indexes.
func (m *Multicast) SetSubnet(out *Outcome) {
	next := &subnet{topo: out.Topo, top: out.MulticastTop}
	if out.Tables != nil {
		next.trunk, next.ranks = out.Tables.Trunk, out.Tables.Ranks
	}
	m.devices = out.devices
	for s, n := range out.Topo.Switches {
		sw, node := &m.devices.Switches[s], &out.Topo.Nodes[n]
		if sw.MFT == nil || sw.MFT.Positions != mcast.Positions(node.NumPorts) {
			sw.MFT, sw.Foreign = device.NewMFT(node, sw.Foreign), false
		}
		next.held = append(next.held, sw.MFT)
	}
	if last := m.latest(); last == nil || last.topo != next.topo || last.top != next.top || !last.trunk.Equal(next.trunk) || !slices.Equal(last.ranks, next.ranks) || !slices.Equal(last.held, next.held) {
		m.next = next
	}
}

// latest is the subnet as the last sweep left it, nil before the first.
func (m *Multicast) latest() *subnet { return cmp.Or(m.next, m.subnet) }

// Lower announces a sweep that writes the present Top as MulticastFDBTop. If that is lower
// than the previous one, Short uses it from now on, because switches get it during the sweep.
func (m *Multicast) Lower() {
	if s := m.latest(); s != nil {
		s.top = min(s.top, m.Top())
	}
}

// Abdicate forgets all that another manager may change, and abandons the round. The results
// of a MulticastTask that is out and of requests that are open are dropped.
func (m *Multicast) Abdicate() {
	if m.devices != nil {
		m.devices.ForgetMulticast()
	}
	*m = Multicast{settings: m.settings, epoch: m.epoch + 1, state: m.state, missed: map[mad.LID]int{}}
}

// MFTs are the target tables, by the switches of a Topo that SetSubnet was given.
func (m *Multicast) MFTs(t *topo.Topo) *mcast.MFTs {
	if m.subnet == nil {
		return nil
	}
	return m.mfts.Remap(m.subnet.topo, t)
}

// Top is the MulticastFDBTop that switches need for the groups there are. It covers a power
// of two of blocks, so that it seldom changes. 0 while no registry is known.
func (m *Multicast) Top() mad.LID {
	if m.state == nil {
		return 0
	}
	blocks := 1
	for top := m.state.TopMLID(); top != 0 && blocks <= int(mcast.BlockOf(top)); {
		blocks *= 2
	}
	return min(mad.MinMulticastLID+mad.LID(blocks*mcast.BlockSize-1), mad.PermissiveLID-1)
}

// Due is when the next retry or check is due; 0 for never.
func (m *Multicast) Due() time.Duration {
	if m.phase != multicastRests || m.subnet == nil {
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
func (m *Multicast) Settle(now time.Duration) (task *MulticastTask, report *Forwarding, more bool) {
	if m.open > 0 || m.phase == multicastComputes || m.pending() {
		return nil, nil, false
	}
	switch m.phase {
	case multicastReads:
		m.phase, m.retryAt = multicastRests, now
	case multicastRemoves:
		m.phase, m.blocks, m.at = multicastAdds, m.round.adds, 0
		if m.next == nil {
			return nil, nil, true
		}
		m.finish(now)
	case multicastAdds:
		m.finish(now)
	}
	report, m.report = m.report, nil
	task, more = m.begin(now)
	return task, report, more
}

// pending reports whether blocks are left to read or write in this phase. A new subnet ends
// the round early.
func (m *Multicast) pending() bool {
	return m.phase != multicastRests && m.next == nil && m.at < len(m.blocks)
}

// begin starts a round if there is anything to do.
func (m *Multicast) begin(now time.Duration) (task *MulticastTask, more bool) {
	if m.next != nil {
		m.mfts = m.MFTs(m.next.topo)
		m.subnet, m.next = m.next, nil
		m.computed, m.graph, m.left, m.unread, m.backoff = nil, nil, nil, true, 0
		m.forgive()
	}
	if m.subnet == nil || m.state == nil {
		return nil, false
	}
	if m.read(now) {
		return nil, true
	}
	retry := m.retryAt != 0 && m.retryAt <= now
	if retry && m.backoff == multicastRest && m.forgive() {
		m.graph, m.computed, m.backoff = nil, nil, 0
	}
	if m.computed == m.state && !retry {
		return nil, false
	}
	m.retryAt = 0
	m.task = &MulticastTask{topo: m.subnet.topo, graph: m.graph, state: m.state, trunk: m.subnet.trunk, ranks: m.subnet.ranks, old: m.computed, mfts: m.mfts,
		held: m.subnet.snapshot(), numBlocks: m.numBlocks(), left: m.left}
	m.phase = multicastComputes
	return m.task, false
}

// numBlocks is the number of blocks that this manager programs on every switch.
func (m *Multicast) numBlocks() int { return int(mcast.BlockOf(m.Top())) + 1 }

// TaskDone takes the result of a MulticastTask. It drops the result of an abandoned task.
func (m *Multicast) TaskDone(g *MulticastResult) {
	if g == nil || g.task != m.task || m.phase != multicastComputes {
		return
	}
	m.graph, m.task = g.graph, nil
	m.phase, m.blocks, m.at = multicastRemoves, g.removes, 0
	m.round, m.notRemoved, m.failures = g, blockEntries{}, nil
	m.failed, m.verdicts = map[topo.SwitchIdx]int{}, map[topo.SwitchIdx]device.Verdict{}
	if m.next == nil {
		m.mfts, m.computed = g.mfts, g.task.state
		for mlid, n := range g.unreached {
			if m.missed[mlid] = n; n == 0 {
				delete(m.missed, mlid)
			}
		}
	}
}

// finish ends a round that wrote.
func (m *Multicast) finish(now time.Duration) {
	m.phase = multicastRests
	if m.next != nil {
		return // the next round checks every tree
	}
	m.left = nil
	m.scheduleChecks(now)
	for _, c := range append(m.round.removes, m.round.adds...) {
		if (m.failed[c.s] > 0 || m.notRemoved[c.block] != 0) && m.answers(c.s) &&
			!m.holds(c, m.mfts.Block(c.s, c.position, c.block)) {
			m.left = append(m.left, c)
		}
	}
	seq := m.computed.Seq()
	m.countFailures()
	if len(m.left) > 0 {
		if m.backoff = max(2*m.backoff, time.Second); m.backoff > maxMulticastBackoff {
			m.backoff = maxMulticastBackoff
			if !slices.ContainsFunc(m.left, func(c mftBlock) bool { return !m.subnet.held[c.s].Avoided() }) {
				m.backoff = multicastRest // trees do without these switches
			}
		}
		m.retryAt = now + m.backoff
	} else if m.backoff = 0; slices.ContainsFunc(m.subnet.held, (*device.MFT).Ignored) {
		m.backoff = multicastRest
		m.retryAt = now + m.backoff
	}
	if !m.Short() {
		m.report = &Forwarding{Seq: seq, Failures: m.failures, Err: m.round.err}
		for _, n := range m.missed {
			m.report.Missed += n
		}
	}
	m.round, m.blocks = nil, nil
}

// countFailures counts the rounds in which switches failed. When trees have to avoid one, or
// need not avoid one any more, the next task checks every tree.
func (m *Multicast) countFailures() {
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
		if m.devices.Judge(t, verdict) {
			m.graph, m.computed = nil, nil
		}
	}
}

// NeedsWalk reports whether some switch did not answer to its multicast table: a walk that begins
// now will show whose fault that is.
func (m *Multicast) NeedsWalk() bool { return m.devices != nil && m.devices.AwaitsWalk() }

// Avoided counts the switches that trees avoid because they do not take their tables.
func (m *Multicast) Avoided() (count int) {
	if m.subnet == nil {
		return 0
	}
	for _, t := range m.subnet.held {
		if t.Avoided() {
			count++
		}
	}
	return count
}

// Short reports whether the MulticastFDBTop of some switch is too low: a sweep has to raise
// it.
func (m *Multicast) Short() bool {
	s := m.latest()
	if s == nil || s.top >= m.Top() {
		return false
	}
	for _, n := range s.topo.Switches {
		if hasMulticastTop(s.topo, n) {
			return true
		}
	}
	return false
}

// hasMulticastTop reports whether a switch has a MulticastFDBTop, above which it does not
// forward.
func hasMulticastTop(t *topo.Topo, n topo.NodeIdx) bool {
	return t.Ports[t.Nodes[n].First].Info.CapabilityMask().Has(smp.IsMulticastFDBTopSupported)
}
