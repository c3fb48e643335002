package vports

import (
	"fmt"
	"slices"
	"time"

	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/mad/txn"
	"ibsm/sweep/device"
	"ibsm/topo"
)

// What one port may claim, and how much it is asked.
const (
	// maxVPorts is how many vPorts of a port are looked after: eight times as many as adapters have.
	maxVPorts = 1024
	// maxOpen is how many requests to a port have no outcome; one until it has answered in the visit.
	maxOpen = 4
	// maxUnanswered requests end a visit.
	maxUnanswered = 2
	// maxTries is how often what a port does not take is sent, in visits of their own.
	maxTries = 6
)

// Pace of visits.
const (
	trapWindow   = 5 * time.Second        // of the visits that traps cause
	calmVisits   = 6                      // of them are no storm yet
	minHoldOff   = 50 * time.Millisecond  // between them
	maxHoldOff   = 10 * time.Second       // likewise in a storm: it doubles
	firstRetry   = 100 * time.Millisecond // of what a port has not taken; it doubles
	firstLook    = time.Second            // for a change that a trap has reported, where states lag; it doubles
	maxLooks     = 3                      // of them
	firstUnheard = time.Second            // after a visit without answers; it doubles
	maxUnheard   = 160 * time.Second
)

// port is one that may have vPorts.
type port struct {
	guid   mad.GUID
	at     topo.PortIdx  // in the present subnet
	index  int           // in the queue, -1 where it is not
	due    time.Duration // likewise, the time of the visit
	wish   wish          // what the next visit does
	info   smp.VirtualizationInfo
	has    bool     // info has been read
	vPorts []*vPort // ascending index
	// wasRead says that a visit has ended in this term.
	wasRead   bool
	registers bool // clients of ACTIVE vPorts have to register again
	unheard   int  // visits in a row in which it did not answer
	tries     int  // visits in a row in which it did not take what it was sent
	left      string
	lasts     bool // left until it is reset, or an operator asks for a heavy sweep
	older     bool // it says in GeneralInfo that it has vPorts
	none      bool // it does not say so there, either
	layout    proof
	traps     trapPace
	lags      bool       // VPortState has shown another state than VPortInfo
	looks     int        // visits left in which a change is looked for that a trap has reported
	shown     *hostShown // nil: to be made anew
	visit
}

// visit is one under way.
type visit struct {
	stage      stage
	reads      bool // VirtualizationInfo and the states are read
	open       int
	heard      bool // it has answered
	unanswered int
	moved      bool // some vPort has another state than it had
	enabled    bool // virtualization has been enabled
	block      int  // of states, the next one
	ready      []*vPort
	awaits     bool          // some vPort waits for its P_Keys to be computed
	again      time.Duration // when it is visited again; 0: it need not be
	retry      time.Duration // how long something that it has not taken waits; 0 for nothing
}

// wish is what a visit does.
type wish uint8

const (
	reads  wish = 1 << iota // reads what the port says, and then writes
	writes                  // writes what vPorts lack
)

// stage is how far a visit is.
type stage uint8

const (
	rests stage = iota
	asksGeneral
	asksInfo
	enables
	readsStates
	works
	ends // nothing more is asked
)

// op is what a request does.
type op uint8

const (
	getGeneral op = iota + 1
	getVirtualization
	setVirtualization
	getStates
	getInfo
	getNode
	getGUIDs
	getKeys
	getDesc
	setLID
	setKeys
	setState
	reregister
	checkKeys    // a block of the P_Key table that was written before
	readPortKeys // the port's own P_Key table, to see whether a Set has gone there
	undoPortKeys
)

// trapPace is how often traps have caused visits.
type trapPace struct {
	last    time.Duration
	count   int
	holdOff time.Duration
}

// holdOff is how long a visit because of a trap waits.
func (p *port) holdOff(now time.Duration) time.Duration {
	t := &p.traps
	since := now - t.last
	if t.count == 0 || since > trapWindow {
		*t = trapPace{last: now, count: 1}
		return 0
	}
	if t.count++; since >= t.holdOff {
		t.last = now
		if t.holdOff = max(t.holdOff, minHoldOff); t.count > calmVisits {
			t.holdOff = min(2*t.holdOff, maxHoldOff)
		}
		return t.holdOff
	}
	return t.holdOff - since
}

// storms reports whether traps come so often that visits are put off for long.
func (t *trapPace) storms() bool { return t.holdOff >= maxHoldOff/2 }

// begin begins a visit.
func (p *port) begin() {
	p.visit = visit{stage: works, reads: p.wish&reads != 0 || !p.has}
	if p.wish = 0; p.reads {
		p.stage = asksInfo
		return
	}
	p.ready = slices.Clone(p.vPorts)
}

// end ends it. again is what the next one does at due, 0 for none.
func (p *port) end(now time.Duration) (again wish, due time.Duration) {
	failed := p.unanswered >= maxUnanswered
	if p.stage = rests; failed {
		p.unheard++
	} else {
		p.unheard = 0
	}
	again = p.wish
	if due = max(p.again, now); failed {
		wait := min(firstUnheard<<min(p.unheard-1, 10), maxUnheard)
		return again | reads, max(due, now+wait)
	}
	if p.looks > 0 && p.reads {
		if p.looks--; p.moved || !p.lags {
			p.looks = 0
		} else {
			p.retry = max(p.retry, firstLook<<(maxLooks-1-p.looks))
		}
	}
	if p.enabled && !slices.ContainsFunc(p.vPorts, func(v *vPort) bool { return v.isUp() && !v.isPhysical() }) {
		p.retry = max(p.retry, firstLook) // its functions come up only now, and the trap that says so may be lost
	}
	if p.retry > 0 {
		if again == 0 || now+p.retry < due {
			due = now + p.retry
		}
		again |= reads
	}
	p.ready = nil
	return again, due
}

// forgive has what the port has not taken sent again.
func (p *port) forgive() {
	p.left, p.lasts, p.tries, p.older, p.none, p.layout, p.unheard = "", false, 0, false, false, proof{}, 0
	for _, v := range p.vPorts {
		v.forgive()
	}
}

// registerAgain has the clients of all vPorts register again.
func (p *port) registerAgain() {
	p.registers = true
	for _, v := range p.vPorts {
		v.registers = true
	}
}

// forgetWanted has the P_Keys of all vPorts computed again.
func (p *port) forgetWanted() {
	for _, v := range p.vPorts {
		v.wanted, v.tries, v.left = false, 0, ""
	}
}

// waitsForSweep reports whether some vPort could not go on before a sweep.
func (p *port) waitsForSweep() bool {
	return slices.ContainsFunc(p.vPorts, func(v *vPort) bool { return v.waitsForSweep() })
}

// find is a vPort by its index, nil if it is not known.
func (p *port) find(index uint16) *vPort {
	i, ok := slices.BinarySearchFunc(p.vPorts, index, func(v *vPort, i uint16) int { return int(v.index) - int(i) })
	if !ok {
		return nil
	}
	return p.vPorts[i]
}

// leave has the port left as it was found.
func (p *port) leave(format string, args ...any) {
	p.left, p.stage, p.ready, p.awaits, p.shown = fmt.Sprintf(format, args...), ends, nil, false, nil
}

// top is the highest index of a vPort that is looked after.
func (p *port) top() int { return min(int(p.info.VPortIndexTop()), maxVPorts-1) }

// ask is the next request of a visit; ok is false when there is none now.
func (m *Machine) ask(now time.Duration, p *port) (req txn.Request, ok bool) {
	if p.open >= maxOpen || p.open > 0 && !p.heard {
		return req, false
	}
	if p.stage == asksInfo && !p.older && !announces(&m.subnet.Topo.Ports[p.at].Info) {
		p.stage = asksGeneral
	}
	switch p.stage {
	case asksGeneral:
		if p.open == 0 {
			return m.send(&request{p: p, op: getGeneral})
		}
	case asksInfo:
		if p.open == 0 {
			return m.send(&request{p: p, op: getVirtualization})
		}
	case enables:
		if p.open == 0 {
			set := p.info
			set.SetVirtualizationEnable(m.settings.Mode == Enable)
			set.SetClientReregister(false)
			return m.send(&request{p: p, op: setVirtualization, sent: set})
		}
	case readsStates:
		if p.block <= p.top()/smp.VPortsPerBlock {
			p.block++
			return m.send(&request{p: p, op: getStates, block: uint16(p.block - 1)})
		}
	case works:
		return m.work(now, p)
	}
	return req, false
}

// work is the next request about a vPort.
func (m *Machine) work(now time.Duration, p *port) (req txn.Request, ok bool) {
	for len(p.ready) > 0 {
		v := p.ready[0]
		p.ready = p.ready[1:]
		if r, ok := m.todo(now, v); ok {
			v.open = true
			return m.send(r)
		}
	}
	return req, false
}

// send makes a request.
func (m *Machine) send(r *request) (req txn.Request, ok bool) {
	t := m.subnet.Topo
	route, ok := t.RouteTo(r.p.at)
	if !ok {
		r.p.stage = ends
		if r.v != nil {
			r.v.open = false
		}
		return req, false
	}
	index := uint16(0)
	if r.v != nil {
		index = r.v.index
	}
	row := operations[r.op]
	m.last++
	m.asked[m.last] = r
	r.p.open++
	req = txn.Request{Class: mad.ClassDirected, Route: route, Method: row.method, Attr: row.attr,
		Mod: m.settings.Layout.Mod(row.attr, index, r.block), MKey: m.keys.For(t, r.p.at), Data: r.sent, Tag: m.last}
	switch r.op {
	case getGeneral:
		req.Mod = smp.GeneralInfoCapabilities
	case readPortKeys, undoPortKeys:
		req.Mod = smp.PKeyTableMod(0, r.block)
	}
	return req, true
}

// operation is the attribute and method of an op.
type operation struct {
	method mad.Method
	attr   mad.AttrID
}

var operations = map[op]operation{
	getGeneral:        {mad.MethodGet, smp.AttrGeneralInfo},
	getVirtualization: {mad.MethodGet, smp.AttrVirtualizationInfo},
	setVirtualization: {mad.MethodSet, smp.AttrVirtualizationInfo},
	getStates:         {mad.MethodGet, smp.AttrVPortState},
	getInfo:           {mad.MethodGet, smp.AttrVPortInfo},
	getNode:           {mad.MethodGet, smp.AttrVNodeInfo},
	getGUIDs:          {mad.MethodGet, smp.AttrVPortGUIDInfo},
	getKeys:           {mad.MethodGet, smp.AttrVPortPKeyTable},
	getDesc:           {mad.MethodGet, smp.AttrVNodeDescription},
	setLID:            {mad.MethodSet, smp.AttrVPortInfo},
	setKeys:           {mad.MethodSet, smp.AttrVPortPKeyTable},
	setState:          {mad.MethodSet, smp.AttrVPortInfo},
	reregister:        {mad.MethodSet, smp.AttrVPortInfo},
	checkKeys:         {mad.MethodGet, smp.AttrVPortPKeyTable},
	readPortKeys:      {mad.MethodGet, smp.AttrPKeyTable},
	undoPortKeys:      {mad.MethodSet, smp.AttrPKeyTable},
}

// name is the op for a message.
func (o op) name() string {
	row := operations[o]
	return fmt.Sprintf("%v(%s)", row.method, smp.AttrName(row.attr))
}

// Done takes the outcome of a request.
func (m *Machine) Done(now time.Duration, o *txn.Outcome) {
	r := m.asked[o.Tag]
	if r == nil {
		return
	}
	delete(m.asked, o.Tag)
	p := r.p
	if p.open--; r.v != nil {
		if r.v.open = false; r.v.goneFrom {
			return
		}
	}
	if o.Result != txn.Replied {
		m.unanswered(r)
		return
	}
	p.heard, p.unanswered = true, 0
	if o.Status != mad.StatusOK {
		m.refused(r, o.Status)
		return
	}
	if r.v != nil && operations[r.op].method == mad.MethodSet && o.Attempts > 1 {
		r.v.recheck, p.retry = true, max(p.retry, recheckAfter) // a copy of an earlier Set may come late
	}
	data := device.Data(o.Data)
	m.answered(now, r, &data)
}

// unanswered takes it that a request was not answered.
func (m *Machine) unanswered(r *request) {
	p := r.p
	if p.unanswered++; p.unanswered >= maxUnanswered {
		p.stage, p.ready, p.awaits = ends, nil, false
		return
	}
	switch {
	case r.op == getGeneral:
		m.features.LearnNoAnswer(device.GeneralInfo, &m.nodeOf(p).Info)
	case r.op == getStates:
		p.block = int(r.block)
	case r.v != nil:
		p.ready = append(p.ready, r.v)
	}
}

// nodeOf is the node of a port.
func (m *Machine) nodeOf(p *port) *topo.Node {
	return &m.subnet.Topo.Nodes[m.subnet.Topo.Ports[p.at].Node]
}

// refused takes an error.
func (m *Machine) refused(r *request, status mad.Status) {
	p := r.p
	if r.v != nil {
		m.vPortRefused(r, status)
		return
	}
	if p.tries++; status == mad.StatusBusy && p.tries < maxTries {
		p.retry, p.stage = firstRetry<<p.tries, ends
		return
	}
	if r.op == getGeneral {
		m.features.LearnStatus(device.GeneralInfo, &m.nodeOf(p).Info, status)
		p.none, p.stage = true, ends
		return
	}
	p.lasts = true
	p.leave("%s is answered with status %v", r.op.name(), status)
}

// answered takes a response without error.
func (m *Machine) answered(now time.Duration, r *request, data *device.Data) {
	p := r.p
	switch r.op {
	case getGeneral:
		m.features.Learn(device.GeneralInfo, &m.nodeOf(p).Info, device.Works)
		p.older = (*smp.GeneralInfo)(data).Has(smp.CapVirtualization)
		if p.none = !p.older; p.none {
			p.stage = ends
		} else {
			p.stage = asksInfo
		}
	case getVirtualization:
		m.virtualization(now, p, (*smp.VirtualizationInfo)(data))
	case setVirtualization:
		m.enabled(now, p, (*smp.VirtualizationInfo)(data))
	case getStates:
		m.states(now, p, int(r.block), (*smp.VPortState)(data))
	default:
		m.vPortAnswered(now, r, data)
	}
}

// virtualization takes what a port says of its vPorts.
func (m *Machine) virtualization(now time.Duration, p *port, info *smp.VirtualizationInfo) {
	if p.has = true; p.info != *info {
		p.info, p.shown, m.changed = *info, nil, true
	}
	top, most := int(info.VPortIndexTop()), int(info.VPortCap())
	if p.lasts {
		p.stage = ends
		return
	}
	p.left = ""
	switch {
	case info.VirtualizationRevision() != 0:
		p.leave("its VirtualizationInfo has revision %d, and revision 0 is known", info.VirtualizationRevision())
	case top > most:
		p.leave("its VirtualizationInfo has VPortIndexTop %d above VPortCap %d", top, most)
	case top >= maxVPorts:
		p.leave("its VirtualizationInfo has VPortIndexTop %d: at most %d vPorts of a port are looked after", top,
			maxVPorts)
	case info.VirtualizationEnable() != (m.settings.Mode == Enable):
		p.stage = enables
		return
	}
	if p.left == "" {
		m.readStates(now, p)
	}
}

// enabled takes the response to a Set of VirtualizationInfo.
func (m *Machine) enabled(now time.Duration, p *port, info *smp.VirtualizationInfo) {
	p.info, p.shown, m.changed = *info, nil, true
	if info.VirtualizationEnable() != (m.settings.Mode == Enable) {
		if p.tries++; p.tries >= maxTries {
			p.leave("it acknowledges Set(VirtualizationInfo) and keeps VirtualizationEnable as it was")
			return
		}
		p.retry, p.stage = firstRetry<<p.tries, ends
		return
	}
	p.tries, p.enabled = 0, m.settings.Mode == Enable
	m.readStates(now, p)
}

// readStates goes on with the states of vPorts, where virtualization is enabled.
func (m *Machine) readStates(now time.Duration, p *port) {
	if m.settings.Mode != Enable {
		p.stage = ends
		return
	}
	m.dropAbove(now, p, p.top())
	p.stage, p.block = readsStates, 0
}

// dropAbove forgets the vPorts above an index.
func (m *Machine) dropAbove(now time.Duration, p *port, top int) {
	for n := len(p.vPorts); n > 0 && int(p.vPorts[n-1].index) > top; n = len(p.vPorts) {
		v := p.vPorts[n-1]
		p.vPorts, p.shown, m.changed = p.vPorts[:n-1], nil, true
		m.gone(now, v)
	}
}

// states takes a block of states.
func (m *Machine) states(now time.Duration, p *port, block int, states *smp.VPortState) {
	first := block * smp.VPortsPerBlock
	for i := first; i < first+smp.VPortsPerBlock && i <= p.top(); i++ {
		m.state(now, p, uint16(i), states.State(uint16(i)))
	}
	if p.stage == readsStates && p.block > p.top()/smp.VPortsPerBlock && p.open == 0 {
		p.stage, p.tries = works, 0
		p.registers = false
		p.ready = slices.Clone(p.vPorts)
		slices.SortStableFunc(p.ready, func(a, b *vPort) int { return rank(a) - rank(b) })
	}
}

// rank is 0 for vPorts that are up, which are asked first.
func rank(v *vPort) int {
	if v.isUp() {
		return 0
	}
	return 1
}
