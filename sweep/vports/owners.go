package vports

import (
	"cmp"
	"slices"
	"time"

	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/topo"
)

// A GUID that is seen at two vPorts is mostly a function that moves from one host to another: the end that has come up
// last has the GUID then, and the other one is left alone until it goes down. If both are still there after
// migrationTime, two functions have one GUID. Both stay as they are. A vPort never has the GUID of a port, but for
// vPort 0, which has that of its own.
//
// With Settings.FirstKeeps the one that has it keeps it until it is gone: it shows another GUID, its adapter has left,
// or it has been down for goneAfter, so that nobody takes its place while it restarts.

// migrationTime is for how long two vPorts may have a GUID without a finding.
const migrationTime = time.Minute

// goneAfter is for how long a vPort that is down keeps its GUID with Settings.FirstKeeps.
const goneAfter = time.Minute

// owners are the vPorts that have GUIDs.
type owners struct {
	of      map[mad.GUID]*vPort
	others  map[mad.GUID][]*vPort // that are up and show the GUID, too
	since   map[mad.GUID]time.Duration
	ofPorts []mad.GUID    // of vPorts that ports of the subnet have, too
	judgeAt time.Duration // when some GUID has been at two vPorts for migrationTime; 0 for never
	// kept are the GUIDs that vPorts keep which are down, while others wait for them, and until when.
	kept   map[mad.GUID]time.Duration
	passAt time.Duration // the first of these times; 0 for never
}

// claim notes that a vPort shows its GUID.
func (m *Machine) claim(now time.Duration, v *vPort) {
	guid := v.guid()
	if v.claims != guid {
		m.unclaim(now, v)
	}
	if guid == 0 || v.isPhysical() {
		return
	}
	v.claims = guid
	was := m.of[guid]
	switch {
	case was == v:
		if v.isUp() {
			v.downAt = 0
			delete(m.kept, guid)
		}
		return
	case was == nil:
		m.of[guid] = v
		return
	case slices.Contains(m.others[guid], v):
		m.remove(guid, v)
	}
	if keeps := m.keeps(now, was); !v.isUp() || keeps || was.isUp() && !m.takesFrom(v, was) {
		m.others[guid] = append(m.others[guid], v)
		if keeps && v.isUp() {
			m.keepUntil(guid, was.downAt+goneAfter)
		}
	} else {
		m.of[guid] = v
		m.others[guid] = append(m.others[guid], was)
		was.p.shown, v.p.shown, m.changed = nil, nil, true
	}
	m.overlap(now, guid)
}

// remove takes a vPort off the others with a GUID.
func (m *Machine) remove(guid mad.GUID, v *vPort) {
	if i := slices.Index(m.others[guid], v); i >= 0 {
		m.others[guid] = slices.Delete(m.others[guid], i, i+1)
	}
	if len(m.others[guid]) == 0 {
		delete(m.others, guid)
	}
}

// newerThan reports whether a vPort has come up after another one with its GUID. Of two that were up when they were
// read first, the one that is ACTIVE has it, and else that of the lower port GUID.
func (v *vPort) newerThan(o *vPort) bool {
	rank := func(v *vPort) int {
		if v.state == smp.PortActive {
			return 1
		}
		return 0
	}
	return cmp.Or(cmp.Compare(v.came, o.came), cmp.Compare(rank(v), rank(o)), cmp.Compare(o.p.guid, v.p.guid),
		cmp.Compare(o.index, v.index)) > 0
}

// takesFrom reports whether a vPort that is up takes a GUID from one that is up.
func (m *Machine) takesFrom(v, was *vPort) bool {
	if m.settings.FirstKeeps { // which one was the first is not known of those that were up when they were read first
		return v.came == 0 && was.came == 0 && v.newerThan(was)
	}
	return v.newerThan(was)
}

// keeps reports whether a vPort that is down keeps its GUID, because it may come up again.
func (m *Machine) keeps(now time.Duration, v *vPort) bool {
	return m.settings.FirstKeeps && !v.isUp() && v.downAt != 0 && now < v.downAt+goneAfter
}

// keepUntil notes until when others wait for a GUID.
func (m *Machine) keepUntil(guid mad.GUID, at time.Duration) {
	if m.kept == nil {
		m.kept = map[mad.GUID]time.Duration{}
	}
	m.kept[guid] = at
	m.passAt = min(cmp.Or(m.passAt, at), at)
}

// passOn gives GUIDs to others that vPorts have kept which did not come up again.
func (m *Machine) passOn(now time.Duration) {
	if m.passAt == 0 || now < m.passAt {
		return
	}
	m.passAt = 0
	var due []mad.GUID
	for guid, at := range m.kept {
		if at <= now {
			due = append(due, guid)
		} else {
			m.passAt = min(cmp.Or(m.passAt, at), at)
		}
	}
	slices.Sort(due)
	for _, guid := range due {
		delete(m.kept, guid)
		if v := m.of[guid]; v != nil && !v.isUp() {
			m.release(now, v)
		}
	}
}

// release notes that a vPort has gone down. Another one that shows its GUID and is up has it then, or when the vPort
// is gone.
func (m *Machine) release(now time.Duration, v *vPort) {
	guid := v.claims
	if m.of[guid] != v {
		m.overlap(now, guid)
		return
	}
	v.downAt = cmp.Or(v.downAt, now)
	if m.keeps(now, v) {
		if slices.ContainsFunc(m.others[guid], (*vPort).isUp) {
			m.keepUntil(guid, v.downAt+goneAfter)
		}
		return
	}
	var next *vPort
	for _, o := range m.others[guid] {
		if o.isUp() && (next == nil || o.newerThan(next)) {
			next = o
		}
	}
	if next == nil {
		return
	}
	m.remove(guid, next)
	m.of[guid], m.others[guid] = next, append(m.others[guid], v)
	v.p.shown, next.p.shown, m.changed = nil, nil, true
	m.want(next.p, now, writes)
	m.overlap(now, guid)
}

// unclaim takes back that a vPort shows a GUID.
func (m *Machine) unclaim(now time.Duration, v *vPort) {
	guid := v.claims
	if guid == 0 {
		return
	}
	v.claims, v.downAt = 0, 0
	if m.of[guid] != v {
		m.remove(guid, v)
		m.overlap(now, guid)
		return
	}
	delete(m.of, guid)
	delete(m.kept, guid)
	others := m.others[guid]
	delete(m.others, guid)
	for _, o := range others {
		o.claims = 0
		m.claim(now, o)
	}
	if next := m.of[guid]; next != nil {
		next.p.shown, m.changed = nil, true
		m.want(next.p, now, writes)
	}
	m.overlap(now, guid)
}

// gone notes that a vPort is not there any more.
func (m *Machine) gone(now time.Duration, v *vPort) {
	v.goneFrom = true
	m.notWritten(v)
	if v.p.layout.of == v {
		v.p.layout = proof{}
	}
	m.unclaim(now, v)
}

// overlap notes since when a GUID is at two vPorts that are up.
func (m *Machine) overlap(now time.Duration, guid mad.GUID) {
	two := slices.ContainsFunc(m.others[guid], (*vPort).isUp)
	_, had := m.since[guid]
	switch {
	case two && !had:
		if m.since == nil {
			m.since = map[mad.GUID]time.Duration{}
		}
		m.since[guid] = now
		m.judgeAt = min(cmp.Or(m.judgeAt, now+migrationTime), now+migrationTime)
	case !two && had:
		delete(m.since, guid)
		m.changed = true
	}
}

// isElsewhere reports whether the GUID of a vPort is that of another vPort now, or of a port.
func (m *Machine) isElsewhere(v *vPort) bool {
	guid := v.guid()
	return guid != 0 && !v.isPhysical() && (m.of[guid] != v || m.subnet.Topo.FindPort(guid) != topo.None)
}

// areOfPorts takes the GUIDs of vPorts that ports of the subnet have, too.
func (m *Machine) areOfPorts(guids []mad.GUID) {
	for _, list := range [][]mad.GUID{m.ofPorts, guids} {
		for _, guid := range list {
			if v := m.of[guid]; v != nil {
				v.p.shown = nil
			}
			for _, v := range m.others[guid] {
				v.p.shown = nil
			}
		}
	}
	m.ofPorts = guids
}

// duplicates are the GUIDs that have been at two vPorts for too long, ascending.
func (m *Machine) duplicates(now time.Duration) (guids []mad.GUID) {
	m.judgeAt = 0
	for guid, since := range m.since {
		if at := since + migrationTime; at <= now {
			guids = append(guids, guid)
		} else {
			m.judgeAt = min(cmp.Or(m.judgeAt, at), at)
		}
	}
	slices.Sort(guids)
	return guids
}
