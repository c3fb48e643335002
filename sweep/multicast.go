package sweep

import (
	"cmp"
	"slices"
	"time"

	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/registry"
	"ibsm/routing/mcast"
	"ibsm/sweep/device"
	"ibsm/topo"
)

// Multicast brings the multicast forwarding tables of all switches to what the registry
// asks for. It works beside the Sweeper, so that a join does not wait for a sweep: the
// Sweeper's outcomes tell it of the subnet, and the registrar's States of the groups.
//
// It goes round by round. A round takes everything that has changed, grows the trees it
// touches in a MulticastTask, and writes the blocks that differ from what switches hold. Where
// links of a tree go while others come, all that go are taken away first, on all
// switches, and the others added then: so no packet ever meets a circle, in whatever
// order switches are told. A switch of whose table nothing is known is read, or written
// whole where it has just been powered up.
//
// A Multicast is pure and owned by one goroutine. While a MulticastTask is out it is not
// changed but for what is to be taken up when the job has returned.
type Multicast struct {
	settings Settings // of which the M_Key counts
	life     uint16   // raised with each Abdicate: requests of another life are forgotten

	subnet  *subnet         // nil while this manager is not master
	next    *subnet         // to be taken up when the round is over
	state   *registry.State // nil: not known, and tables are left alone
	devices *device.Record  // of the Sweeper; nil before the first sweep
	mfts    *mcast.MFTs     // in force, or to be; by the switches of subnet
	grown   *registry.State // that mfts were grown from; nil: every tree is to be looked at
	graph   *mcast.Graph    // nil: to be made
	missed  map[mad.LID]int // members that trees do not reach

	phase    multicastPhase
	job      *MulticastTask
	round    *MulticastResult
	cells    []mftBlock // to be read or written
	at, open int
	stuck    blockEntries // transition entries that some switch did not let go
	trouble  map[topo.SwitchIdx]int
	failures []Failure
	unread   bool       // some table may be foreign
	left     []mftBlock // that the last round did not bring to what they are to hold
	backoff  time.Duration
	retryAt  time.Duration // 0: no need
	suspects map[suspect]bool
	checkAt  time.Duration // when they are read; 0 never
	told     *Forwarding   // to be handed out
}

// subnet is the outcome of a sweep.
type subnet struct {
	topo *topo.Topo
	held []*device.MFT // by SwitchIdx
	top  mad.LID       // the MulticastFDBTop that the sweep wrote, or a lower one that the next writes; 0 none
}

type multicastPhase uint8

const (
	multicastRests multicastPhase = iota
	multicastReads
	multicastGrows
	multicastRemoves
	multicastAdds
)

// Forwarding says how far the tables of the switches have come.
type Forwarding struct {
	Seq      uint64    // Changes of the registry up to this one are in force
	Failures []Failure // but for these switches
	Missed   int       // members that no tree reaches
	Err      error     // a tree could not be proved, and is not written
}

// maxMulticastBackoff bounds the time between rounds that try again what failed.
const maxMulticastBackoff = 10 * time.Second

// NewMulticast knows nothing. The M_Key is for switches that do not show theirs.
func NewMulticast(s *Settings) *Multicast {
	m := &Multicast{settings: *s}
	m.Abdicate()
	return m
}

// Configure takes other settings, of which the M_Key counts.
func (m *Multicast) Configure(s *Settings) { m.settings = *s }

// SetRegistry says what is registered now.
func (m *Multicast) SetRegistry(s *registry.State) { m.state = s }

// SetSubnet says what a heavy sweep has left. Its indexes are the ones that count when
// the round under way is over.
func (m *Multicast) SetSubnet(out *Outcome) {
	next := &subnet{topo: out.Topo, top: out.MulticastTop}
	m.devices = out.devices
	for s, n := range out.Topo.Switches {
		sw, node := &m.devices.Switches[s], &out.Topo.Nodes[n]
		if sw.MFT == nil || sw.MFT.Positions != mcast.Positions(node.NumPorts) {
			sw.MFT, sw.Foreign = device.NewMFT(node, sw.Foreign), false
		}
		next.held = append(next.held, sw.MFT)
	}
	if last := m.latest(); last == nil || last.topo != next.topo || last.top != next.top || !slices.Equal(last.held, next.held) {
		m.next = next
	}
}

// latest is the subnet as the last sweep has left it, nil before there was one.
func (m *Multicast) latest() *subnet { return cmp.Or(m.next, m.subnet) }

// Lower says that a sweep is to give switches the MulticastFDBTop of now: where it is lower
// than the last one's it counts already, as it is written before the sweep is over.
func (m *Multicast) Lower() {
	if s := m.latest(); s != nil {
		s.top = min(s.top, m.Top())
	}
}

// Abdicate forgets all that another manager may change, and what is under way. A
// MulticastTask that is out is not waited for, nor is any request.
func (m *Multicast) Abdicate() {
	if m.devices != nil {
		m.devices.ForgetMulticast()
	}
	*m = Multicast{settings: m.settings, life: m.life + 1, state: m.state, missed: map[mad.LID]int{}, suspects: map[suspect]bool{}}
}

// MFTs are the tables in force, by the switches of a Topo that SetSubnet was told of.
func (m *Multicast) MFTs(t *topo.Topo) *mcast.MFTs {
	if m.subnet == nil {
		return nil
	}
	return m.mfts.Remap(m.subnet.topo, t)
}

// Top is the MulticastFDBTop that switches need for the groups there are: the end of
// twice as many blocks each time it grows, so that it seldom does. 0 while no registry is
// known.
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

// Due is when a round is to be tried again; 0 for never.
func (m *Multicast) Due() time.Duration {
	if m.phase != multicastRests || m.subnet == nil {
		return 0
	}
	if m.checkAt != 0 && (m.retryAt == 0 || m.checkAt < m.retryAt) {
		return m.checkAt
	}
	return m.retryAt
}

// Settle goes on as far as it can without an answer; it is to be called when Next has
// nothing. It returns a job that is to be run, whose result MulticastResult takes, and what has
// come of a round that is over. More reports that Next may have something again.
func (m *Multicast) Settle(now time.Duration) (job *MulticastTask, told *Forwarding, more bool) {
	if m.open > 0 || m.phase == multicastGrows || m.pending() {
		return nil, nil, false
	}
	switch m.phase {
	case multicastReads:
		m.phase, m.retryAt = multicastRests, now
	case multicastRemoves:
		m.phase, m.cells, m.at = multicastAdds, m.round.adds, 0
		if m.next == nil {
			return nil, nil, true
		}
		m.finish(now)
	case multicastAdds:
		m.finish(now)
	}
	told, m.told = m.told, nil
	job, more = m.begin(now)
	return job, told, more
}

// pending reports whether cells are still to be asked or told about. A round ends early
// when the subnet has changed under it.
func (m *Multicast) pending() bool {
	return m.phase != multicastRests && m.next == nil && m.at < len(m.cells)
}

// begin starts a round if there is anything to be done.
func (m *Multicast) begin(now time.Duration) (job *MulticastTask, more bool) {
	if m.next != nil {
		m.mfts = m.MFTs(m.next.topo)
		m.subnet, m.next = m.next, nil
		m.grown, m.graph, m.left, m.unread = nil, nil, nil, true
	}
	if m.subnet == nil || m.state == nil {
		return nil, false
	}
	if m.read(now) {
		return nil, true
	}
	retry := m.retryAt != 0 && m.retryAt <= now
	if m.grown == m.state && !retry {
		return nil, false
	}
	m.retryAt = 0
	m.job = &MulticastTask{topo: m.subnet.topo, graph: m.graph, state: m.state, old: m.grown, mfts: m.mfts,
		held: m.subnet.held, blocks: m.blocks(), left: m.left}
	m.phase = multicastGrows
	return m.job, false
}

// blocks is the number of blocks that are kept in order on every switch.
func (m *Multicast) blocks() int { return int(mcast.BlockOf(m.Top())) + 1 }

// MulticastResult takes the result of a MulticastTask. That of a job which is not waited for any more is
// of no account.
func (m *Multicast) Grown(g *MulticastResult) {
	if g == nil || g.job != m.job || m.phase != multicastGrows {
		return
	}
	m.graph, m.job = g.job.graph, nil
	m.phase, m.cells, m.at = multicastRemoves, g.removes, 0
	m.round, m.stuck, m.trouble, m.failures = g, blockEntries{}, map[topo.SwitchIdx]int{}, nil
	if m.next == nil {
		m.mfts, m.grown = g.mfts, g.job.state
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
		return // all is looked at again
	}
	m.left = nil
	m.checkSuspects(now)
	for _, c := range append(m.round.removes, m.round.adds...) {
		if (m.trouble[c.s] > 0 || m.stuck[c.block] != 0) && m.answers(c.s) &&
			!m.holds(c, m.mfts.Block(c.s, c.position, c.block)) {
			m.left = append(m.left, c)
		}
	}
	seq := m.grown.Seq()
	m.judge()
	if len(m.left) > 0 {
		m.backoff = min(max(2*m.backoff, time.Second), maxMulticastBackoff)
		m.retryAt = now + m.backoff
	} else {
		m.backoff = 0
	}
	if !m.Short() {
		m.told = &Forwarding{Seq: seq, Failures: m.failures, Err: m.round.err}
		for _, n := range m.missed {
			m.told.Missed += n
		}
	}
	m.round, m.cells = nil, nil
}

// judge counts the rounds in which switches failed. When trees are to be grown around
// one, or need not be any more, every tree is looked at again.
func (m *Multicast) judge() {
	wrong := map[topo.SwitchIdx]bool{}
	for _, c := range m.left {
		wrong[c.s] = true
	}
	for i, t := range m.subnet.held {
		s := topo.SwitchIdx(i)
		if failed := m.trouble[s] > 0; (failed || m.answers(s) && !wrong[s]) && t.Judge(failed) {
			m.graph, m.grown = nil, nil
		}
	}
}

// Short reports whether a sweep has yet to raise the MulticastFDBTop of some switch.
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

// hasMulticastTop reports whether a switch forwards only up to its MulticastFDBTop.
func hasMulticastTop(t *topo.Topo, n topo.NodeIdx) bool {
	return t.Ports[t.Nodes[n].First].Info.CapabilityMask().Has(smp.IsMulticastFDBTopSupported)
}
