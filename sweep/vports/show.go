package vports

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"ibsm/finding"
	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/topo"
)

// showDelay is how long changes are gathered before they are shown: the functions of a host come up together.
const showDelay = 250 * time.Millisecond

// showing is what is shown to others.
type showing struct {
	reset     []At
	changed   bool
	known     *Known
	shownAt   time.Duration // when changes are shown; 0 for never
	asksSweep bool          // some vPort may need a sweep
	sweepAt   time.Duration // when it is asked for at the latest; 0 for never
}

// Known is the vPorts of a subnet as they are known, by the GUIDs of their ports. It is immutable; nil knows of none.
type Known struct {
	ports []*hostShown // ascending GUID
	// Complete says that all ports that may have vPorts have been read in this term.
	Complete bool
}

// hostShown is a port with its vPorts, whose Port is not filled in.
type hostShown struct {
	guid    mad.GUID
	host    topo.VHost
	list    []topo.VPort
	aliases map[int][]mad.GUID // by the index in list
	wrong   []wrong
}

// wrong is what is wrong with a vPort.
type wrong struct {
	kind   finding.Kind
	detail string
}

// Read reports whether all ports of a subnet that may have vPorts have been read.
func (k *Known) Read(t *topo.Topo) bool {
	if k != nil && k.Complete {
		return true
	}
	return !slices.ContainsFunc(t.EndPorts, func(p topo.PortIdx) bool { return mayHave(t, p) })
}

// placed is a port with its vPorts at its place in a subnet.
type placed struct {
	at topo.PortIdx
	*hostShown
}

// On is the vPorts of a subnet. It takes long where there are many.
func (k *Known) On(t *topo.Topo) *topo.VPorts {
	if k == nil || len(k.ports) == 0 {
		return nil
	}
	all := make([]placed, 0, len(k.ports))
	for _, p := range k.ports {
		if at := t.FindPort(p.guid); at != topo.None {
			all = append(all, placed{at, p})
		}
	}
	slices.SortFunc(all, func(a, b placed) int { return cmp.Compare(a.at, b.at) })
	return list(all)
}

// list is the vPorts of ports in ascending order of their places.
func list(all []placed) *topo.VPorts {
	count := 0
	for _, p := range all {
		count += len(p.list)
	}
	list, hosts := make([]topo.VPort, 0, count), make([]topo.VHost, 0, len(all))
	var aliases map[topo.VPortIdx][]mad.GUID
	for _, p := range all {
		for i, guids := range p.aliases {
			if aliases == nil {
				aliases = map[topo.VPortIdx][]mad.GUID{}
			}
			aliases[topo.VPortIdx(len(list)+i)] = guids
		}
		first := len(list)
		list = append(list, p.list...)
		for i := first; i < len(list); i++ {
			list[i].Port = p.at
		}
		host := p.host
		host.Port = p.at
		hosts = append(hosts, host)
	}
	return topo.NewVPorts(list, aliases).WithHosts(hosts)
}

// Show returns what is known if it is time to show it; nil if nothing has changed, or more changes are awaited.
func (m *Machine) Show(now time.Duration) *Known {
	if m.subnet == nil && len(m.ports) > 0 {
		return nil // what was known before Pause is shown until there is a subnet
	}
	m.passOn(now)
	if m.judgeAt != 0 && m.judgeAt <= now { // Findings has something to say
		m.judgeAt, m.changed = 0, true
	}
	if !m.changed {
		m.shownAt = 0
		return nil
	}
	if m.shownAt == 0 {
		m.shownAt = now + showDelay
	}
	if now < m.shownAt && len(m.active) > 0 {
		return nil // functions of hosts that are visited now are shown together
	}
	m.shownAt = 0
	return m.Known()
}

// Known is what is known now.
func (m *Machine) Known() *Known {
	if complete := m.Complete(); m.changed || m.known == nil || m.known.Complete != complete {
		m.changed = false
		k := &Known{Complete: complete}
		for _, p := range m.ports {
			if !p.none && p.has {
				k.ports = append(k.ports, m.showPort(p))
			}
		}
		slices.SortFunc(k.ports, func(a, b *hostShown) int { return cmp.Compare(a.guid, b.guid) })
		m.known = k
	}
	return m.known
}

// showPort is a port as it is shown, the same one as long as nothing changes.
func (m *Machine) showPort(p *port) *hostShown {
	if p.shown != nil {
		return p.shown
	}
	s := &hostShown{guid: p.guid, host: topo.VHost{Cap: p.info.VPortCap(), Top: p.info.VPortIndexTop(),
		Enabled: p.info.VirtualizationEnable(), Left: p.left}}
	s.list = make([]topo.VPort, 0, len(p.vPorts))
	for _, v := range p.vPorts {
		if len(v.more) > 0 {
			if s.aliases == nil {
				s.aliases = map[int][]mad.GUID{}
			}
			s.aliases[len(s.list)] = v.more
		}
		shown := m.show(v)
		s.list = append(s.list, shown)
		switch {
		case v.left != "":
			s.wrong = append(s.wrong, wrong{finding.VPortLeft, fmt.Sprintf("vPort %d, %v: %s", v.index, v.guid(), v.left)})
		case v.short != "":
			s.wrong = append(s.wrong, wrong{finding.VPortLeft, v.short})
		}
		if shown.Elsewhere && v.isUp() && m.subnet.Topo.FindPort(v.claims) != topo.None {
			s.wrong = append(s.wrong, wrong{finding.DuplicateVPort,
				fmt.Sprintf("vPort %d has %v, which is the GUID of a port", v.index, v.claims)})
		}
	}
	p.shown = s
	return s
}

// show is a vPort as it is shown, without Port.
func (m *Machine) show(v *vPort) topo.VPort {
	s := topo.VPort{GUID: v.guid(), Node: v.node, PKeys: v.keys, Desc: v.desc, Index: v.index,
		Shares: v.info.LIDByVPortIndex(), PartitionCap: v.slots, Caps: v.info.CapabilityMask(), State: v.state,
		LIDRequired: v.info.LIDRequired(), Elsewhere: v.claims != 0 && m.isElsewhere(v), Waits: v.waits}
	if lid := v.info.VPortLID(); s.LIDRequired && lid.IsUnicast() {
		s.LID = lid
	}
	if v.p.left != "" {
		s.Waits = topo.LeftAsFound
	}
	return s
}

// At is a vPort by its GUID, and the port that it is behind.
type At struct{ VPort, Port mad.GUID }

// noteReset notes a vPort whose VPortInfo has just been read, if it is in INIT and has the GUID that it shows. That of
// a physical function is as its port is.
func (m *Machine) noteReset(v *vPort) {
	if v.state == smp.PortInit && !v.saidReset && !v.isPhysical() && v.guid() != 0 && !m.isElsewhere(v) {
		v.saidReset = true
		m.reset = append(m.reset, At{v.guid(), v.p.guid})
	}
}

// Reset are the vPorts that were found in INIT since the call before: their clients have forgotten what they
// registered. Each comes before it is made ACTIVE, and once until it changes its state.
func (m *Machine) Reset() (reset []At) {
	reset, m.reset = m.reset, nil
	return reset
}

// sweepDelay is how long vPorts are gathered that need a sweep.
const sweepDelay = 500 * time.Millisecond

// WantsSweep is why a sweep is needed, "" where it is not: some vPort waits for a LID, or for its switch. It is asked
// for once; only another wait asks for another one.
func (m *Machine) WantsSweep(now time.Duration) (reason string) {
	if m.subnet == nil || !m.asksSweep {
		return ""
	}
	if m.sweepAt == 0 {
		m.sweepAt = now + sweepDelay
	}
	if now < m.sweepAt && len(m.active) > 0 {
		return "" // one sweep is for all that are found together
	}
	m.asksSweep, m.sweepAt = false, 0
	lids, fronts := 0, 0
	for _, p := range m.ports {
		for _, v := range p.vPorts {
			if v.sweepAsked || v.left != "" {
				continue
			}
			switch v.waits {
			case topo.WaitsForLID:
				lids++
			case topo.WaitsForSwitch:
				fronts++
			default:
				continue
			}
			v.sweepAsked = true
		}
	}
	switch {
	case lids > 0:
		return "vPorts ask for LIDs of their own"
	case fronts > 0:
		return "switches must let P_Keys of vPorts pass"
	}
	return ""
}

// maxFindings is how many findings of one kind are listed.
const maxFindings = 256

// Findings are what is wrong.
func (m *Machine) Findings(now time.Duration) finding.Set {
	if m.subnet == nil {
		return finding.Set{}
	}
	var all []finding.Finding
	add := func(p *port, kind finding.Kind, format string, args ...any) {
		t := m.subnet.Topo
		if len(all) < maxFindings {
			all = append(all, finding.Finding{Kind: kind, Node: m.nodeOf(p).GUID, Port: t.Ports[p.at].Num,
				Detail: fmt.Sprintf(format, args...)})
		}
	}
	for _, p := range m.sorted() {
		switch {
		case p.left != "":
			add(p, finding.VPortsLeft, "%s", p.left)
		case p.unheard > 1:
			add(p, finding.VPortsLeft, "it does not answer")
		case p.traps.storms():
			add(p, finding.VPortsStorm, "")
		}
		if p.has && !p.none {
			for _, w := range m.showPort(p).wrong {
				add(p, w.kind, "%s", w.detail)
			}
		}
	}
	for _, guid := range m.duplicates(now) {
		has := m.of[guid]
		for _, v := range m.others[guid] {
			if v.isUp() {
				add(v.p, finding.DuplicateVPort, "vPort %d has %v, which vPort %d of port %v has, too", v.index, guid,
					has.index, has.p.guid)
			}
		}
	}
	for _, guid := range m.subnet.Exhausted {
		if v := m.of[guid]; v != nil {
			add(v.p, finding.VPortLeft, "vPort %d, %v: no LID is left for it", v.index, guid)
		}
	}
	return finding.Of(all)
}
