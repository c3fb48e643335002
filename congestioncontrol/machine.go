package congestioncontrol

import (
	"bytes"
	"cmp"
	"slices"

	"ibsm/mad"
	"ibsm/mad/cc"
)

// Machine writes the settings. Its zero value is not usable; see New.
type Machine struct {
	settings Settings
	wanted   [2][]attribute // of switches, of adapters
	devices  []device       // by port GUID
	ready    []mad.GUID     // devices with something to send, the next first
	slots    map[uint64]slot
	tag      uint64 // of the last request
	sent     int    // requests of this round
	found    int    // findings of this round
	out      Output
}

// standing is how far a device is in a round.
type standing uint8

const (
	complete     standing = iota // it has what it accepts
	writing                      // it is in ready, or a request is on the way
	unresponsive                 // it did not answer in this round
	left                         // it is left alone: it has no agent
)

// maxUnresponsive is after how many rounds without an answer a device is left alone.
const maxUnresponsive = 3

// maxFindings bounds the findings of a round: ten thousand hosts can be without an agent.
const maxFindings = 256

// device is what is known of one.
type device struct {
	port     Port
	standing standing
	rounds   int    // in a row without an answer
	found    bool   // a Finding was made of it
	holds    []held // by the index of wanted; shorter when nothing is known
}

// held is what is known of an attribute.
type held struct {
	data    []byte // that the device has accepted or refused; nil for nothing
	refused bool
}

// slot is a request on the way.
type slot struct {
	device mad.GUID // 0: nobody waits for it
	index  int
	attr   attribute
	stale  bool // the device has restarted since
}

// New returns a machine without devices.
func New(s Settings) *Machine {
	m := &Machine{slots: map[uint64]slot{}}
	m.configure(s)
	return m
}

// Idle reports whether nothing is on the way or left to send.
func (m *Machine) Idle() bool { return len(m.ready) == 0 && len(m.slots) == 0 }

// Step takes an event.
func (m *Machine) Step(e Event) *Output {
	m.out.Asks, m.out.Findings, m.out.Done = m.out.Asks[:0], m.out.Findings[:0], nil
	switch e := e.(type) {
	case *Ports:
		if m.settings.Enabled {
			m.replace(e.List)
			m.begin()
		}
	case *Restarted:
		m.restarted(e.Ports)
	case *Forget:
		m.forget()
	case *Changed:
		if !m.settings.equal(&e.Settings) {
			m.configure(e.Settings)
		}
	case *Answered:
		m.outcome(e.Tag, e.Status, true)
	case *Unanswered:
		m.outcome(e.Tag, 0, false)
	}
	m.fill()
	return &m.out
}

// forget forgets all devices. Answers to what is on the way are not wanted; until they come, or the
// requests end without, these are still in the window.
func (m *Machine) forget() {
	m.devices, m.ready, m.sent, m.found = nil, nil, 0, 0
	for tag, x := range m.slots {
		x.device = 0
		m.slots[tag] = x
	}
}

// restarted forgets what devices hold.
func (m *Machine) restarted(ports map[mad.GUID]bool) {
	for i := range m.devices {
		if d := &m.devices[i]; ports[d.port.GUID] {
			d.holds = nil
			d.tryAgain()
		}
	}
	for tag, x := range m.slots {
		if ports[x.device] {
			x.stale = true
			m.slots[tag] = x
		}
	}
}

// tryAgain gives a device that was left alone another chance.
func (d *device) tryAgain() {
	d.rounds, d.found = 0, false
	if d.standing != writing {
		d.standing = complete
	}
}

// configure takes settings. With another key, devices may answer that did not. When congestion control is
// off, the devices are forgotten: nobody would say which of them restart.
func (m *Machine) configure(s Settings) {
	otherKey := s.Key != m.settings.Key
	m.settings = s
	m.wanted = [2][]attribute{s.wanted(mad.Switch), s.wanted(mad.CA)}
	if !s.Enabled {
		m.forget()
	}
	for i := range m.devices {
		if otherKey {
			m.devices[i].tryAgain()
		}
	}
	m.begin()
}

// replace takes the devices that there are. What is known of those that were there stays.
func (m *Machine) replace(list []Port) {
	devices := make([]device, len(list))
	for i := range list {
		if was := m.find(list[i].GUID); was != nil {
			devices[i] = *was
		}
		devices[i].port = list[i]
	}
	m.devices = devices
}

// find is the device of a port, nil for none.
func (m *Machine) find(guid mad.GUID) *device {
	i, ok := slices.BinarySearchFunc(m.devices, guid, func(d device, g mad.GUID) int {
		return cmp.Compare(d.port.GUID, g)
	})
	if !ok {
		return nil
	}
	return &m.devices[i]
}

// wantedOf are the attributes that are wanted on a device.
func (m *Machine) wantedOf(d *device) []attribute {
	if d.port.Type == mad.Switch {
		return m.wanted[0]
	}
	return m.wanted[1]
}

// begin begins a round: every device that lacks something gets it. One that is asked goes on.
func (m *Machine) begin() {
	asked := map[mad.GUID]bool{}
	for _, x := range m.slots {
		asked[x.device] = true
	}
	m.ready = m.ready[:0]
	for i := range m.devices {
		d := &m.devices[i]
		if d.standing == left || asked[d.port.GUID] {
			continue
		}
		d.standing = complete
		if m.lacks(d) >= 0 {
			d.standing = writing
			m.ready = append(m.ready, d.port.GUID)
		}
	}
}

// lacks is the index of the first attribute that a device lacks, -1 for none.
func (m *Machine) lacks(d *device) int {
	for i, a := range m.wantedOf(d) {
		if i >= len(d.holds) || d.holds[i].data == nil || !bytes.Equal(d.holds[i].data, a.data) {
			return i
		}
	}
	return -1
}

// fill asks as much as the window allows, and ends the round when nothing is left.
func (m *Machine) fill() {
	next := 0
	for next < len(m.ready) && len(m.slots) < max(1, m.settings.Window) {
		if d := m.find(m.ready[next]); d != nil {
			m.ask(d)
		}
		next++
	}
	m.ready = m.ready[:copy(m.ready, m.ready[next:])]
	if m.sent > 0 && m.Idle() {
		m.out.Done = m.report()
		m.sent, m.found = 0, 0
	}
}

// ask sends what a device lacks first.
func (m *Machine) ask(d *device) {
	i := m.lacks(d)
	if i < 0 {
		d.standing = complete
		return
	}
	a := m.wantedOf(d)[i]
	m.tag++
	m.sent++
	m.slots[m.tag] = slot{device: d.port.GUID, index: i, attr: a}
	m.out.Asks = append(m.out.Asks, Ask{Tag: m.tag, To: d.port.To})
	p := &m.out.Asks[len(m.out.Asks)-1].Packet
	cc.SetRequest(p, mad.MethodSet, a.id, a.mod, m.settings.Key)
	copy(p.PerfData()[:], a.data)
}

// outcome takes the end of a request.
func (m *Machine) outcome(tag uint64, status mad.Status, answered bool) {
	x, ok := m.slots[tag]
	if !ok {
		return
	}
	delete(m.slots, tag)
	d := m.find(x.device)
	if d == nil {
		return
	}
	for len(d.holds) <= x.index {
		d.holds = append(d.holds, held{})
	}
	d.holds[x.index] = held{}
	if x.stale {
		d.standing = writing
		m.ready = append(m.ready, d.port.GUID)
		return
	}
	f := Finding{Port: d.port, Attr: x.attr.id, Mod: x.attr.mod, Status: status}
	switch {
	case !answered:
		d.standing, f.Trouble = unresponsive, Unresponsive
		if d.rounds++; d.rounds >= maxUnresponsive {
			d.standing = left
		}
	case status == mad.StatusBadVersion, status == mad.StatusBadMethod, status == mad.StatusBadMethodAttr:
		d.standing, d.rounds, f.Trouble = left, 0, NoAgent
	default:
		d.rounds, d.holds[x.index] = 0, held{x.attr.data, status != mad.StatusOK}
		if status != mad.StatusOK {
			f.Trouble = Refused
		}
		if d.standing = complete; m.lacks(d) >= 0 {
			d.standing = writing
			m.ready = append(m.ready, d.port.GUID)
		}
	}
	if f.Trouble == Refused || f.Trouble != 0 && !d.found {
		if m.found++; m.found <= maxFindings {
			m.out.Findings = append(m.out.Findings, f)
		}
		d.found = d.found || f.Trouble != Refused
	}
}

// report counts what devices hold.
func (m *Machine) report() *Report {
	r := &Report{Devices: len(m.devices), Sent: m.sent, More: max(0, m.found-maxFindings)}
	for i := range m.devices {
		d := &m.devices[i]
		if d.standing == unresponsive || d.standing == left {
			r.Without++
		}
		for k := range d.holds {
			if d.holds[k].refused {
				r.Refused++
			}
		}
	}
	return r
}
