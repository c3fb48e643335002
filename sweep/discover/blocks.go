package discover

import (
	"encoding/binary"

	"ibsm/finding"
	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/mad/txn"
	"ibsm/sweep/device"
	"ibsm/topo"
)

// Tables are read block by block, as device.Attributes says: of which ports and when, and
// what is still known from the previous walk.

// reading is the blocks of an attribute of a port on their way in.
type reading struct {
	of      *device.Attribute
	at      topo.End
	row     []byte // whole blocks; those that were not read are 0xFF
	missing []int
	left    int // blocks not answered yet
}

// readKey names a reading.
type readKey struct {
	attr mad.AttrID
	at   topo.End
}

// readSwitch asks for the blocks of a switch of which all ports have been read.
func (m *Machine) readSwitch(n int32) {
	m.at(n).sw.complete = true
	for num := range int(m.b.Node(n).NumPorts) + 1 {
		m.read(topo.End{Node: n, Port: uint8(num)})
	}
}

// read asks for the blocks of a port that are wanted and not known. It is called whenever
// something becomes known on which that depends.
func (m *Machine) read(e topo.End) {
	p := &m.reads // not a variable: it would be allocated for each port
	*p = m.walking(e)
	for i := range device.Attributes {
		a := &device.Attributes[i]
		unused := a.OfLanes && !m.cfg.Lanes
		if unused && !m.lanes {
			continue
		}
		key, blocks := readKey{a.ID, e}, a.Blocks(p.Node, e.Port)
		if blocks == 0 || !a.Wanted(&m.cfg.Conditions, p) || m.asked[key] || m.recallBlocks(a, p, e) ||
			unused {
			continue
		}
		m.asked[key] = true
		r := reading{of: a, at: e, row: make([]byte, blocks*device.BlockSize), left: blocks}
		for i := range r.row {
			r.row[i] = 0xff
		}
		m.askBlocks(p.Info, m.readings.add(r))
	}
}

// askBlocks asks for the blocks of a reading that the port has.
func (m *Machine) askBlocks(info *smp.PortInfo, reading int32) {
	r := m.readings.at(reading)
	node := m.b.Node(r.at.Node)
	for block := range r.left {
		var none device.Data
		if cut, present := r.of.Cut(node, r.at.Port, info, uint16(block), &none); !present {
			copy(r.row[block*device.BlockSize:], cut[:])
			r.left--
			continue
		}
		m.queue.push(item{kind: kindBlock, num: uint16(block), node: reading})
	}
}

// walking is a port as far as it is known.
func (m *Machine) walking(e topo.End) device.Walking {
	p := device.Walking{Node: m.b.Node(e.Node), Num: e.Port, Info: m.b.Port(e)}
	if peer := m.b.Peer(e); peer != topo.NoEnd {
		p.Peer = m.b.Node(peer.Node)
	}
	if sw := m.at(e.Node).sw; sw != nil && sw.complete {
		p.Up, p.Port0 = sw.up, m.b.Port(topo.End{Node: e.Node})
	}
	return p
}

// recallBlocks takes over what the previous walk has found at a port, if it is known still, and reports whether the
// port is not asked.
func (m *Machine) recallBlocks(a *device.Attribute, p *device.Walking, e topo.End) bool {
	at := m.place(a.ID, e)
	return !m.replaced[e.Node] && (m.keepsBlocks(a, p, e, at) || m.cfg.Devices.Optional.Unreadable(at)) ||
		m.agentAt(e.Node).slow != inTime && m.takeBlocks(a, e, at)
}

// takeBlocks takes the blocks of a port of a node that is not asked any more as they were known.
func (m *Machine) takeBlocks(a *device.Attribute, e topo.End, at device.Place) bool {
	if a.ID == smp.AttrPKeyTable {
		was := m.previous(e)
		if was != nil && was.PKeys != nil {
			m.b.SetPKeys(e, m.tables.Same(was.PKeys))
		}
		return was != nil
	}
	if known := m.cfg.Devices.Ports.Blocks(at); a.ID != smp.AttrLinearForwardingTable && known.Complete() {
		m.res.Ports.Keep(at, known)
		return true
	}
	return m.agentAt(e.Node).slow == answersNothing
}

func (m *Machine) keepsBlocks(a *device.Attribute, p *device.Walking, e topo.End, at device.Place) bool {
	was := m.was(e)
	var info *smp.PortInfo
	if was != nil {
		info = &was.Info
	}
	if !m.cfg.Devices.Survive(a, p, info) {
		return false
	}
	switch a.ID {
	case smp.AttrLinearForwardingTable:
	case smp.AttrPKeyTable:
		if was.PKeys == nil {
			return m.recallUnread(e)
		}
		m.b.SetPKeys(e, m.tables.Same(was.PKeys))
	default:
		known := m.cfg.Devices.Ports.Blocks(at)
		if !known.Complete() {
			return false
		}
		m.res.Ports.Keep(at, known)
	}
	return true
}

// recallUnread has a quick walk leave alone a P_Key table of which the previous walk did not get a part. It is asked
// for between walks. It reports whether there is one.
func (m *Machine) recallUnread(e topo.End) bool {
	f, unread := m.unread[m.place(smp.AttrPKeyTable, e)]
	if unread {
		m.asked[readKey{smp.AttrPKeyTable, e}] = true
		m.report(f)
	}
	return unread
}

// unreadBefore are the findings of the previous walk about P_Key tables, for a quick walk.
func unreadBefore(cfg *Config) map[device.Place]Finding {
	if !cfg.Quick || cfg.Retry {
		return nil
	}
	unread := map[device.Place]Finding{}
	for _, f := range cfg.Findings {
		if f.Kind == finding.PKeysRefused || f.Kind == finding.PKeysUnread {
			unread[device.Place{Attr: smp.AttrPKeyTable, Node: f.GUID, Port: f.Port}] = f
		}
	}
	return unread
}

// was is a port in the previous walk, nil where there was none or its node did not answer.
func (m *Machine) was(e topo.End) *topo.Port {
	old := m.inPrev(e.Node)
	if old == topo.None || e.Port > m.cfg.Prev.Nodes[old].NumPorts || m.cfg.Prev.Nodes[old].Missed > 0 {
		return nil
	}
	return &m.cfg.Prev.Ports[m.cfg.Prev.Port(old, e.Port)]
}

// block takes a block.
func (m *Machine) block(it item, o *txn.Outcome, ok bool) {
	r := m.readings.at(it.node)
	if ok {
		cut, _ := r.of.Cut(m.b.Node(r.at.Node), r.at.Port, m.b.Port(r.at), it.num, &o.Data)
		copy(r.row[int(it.num)*device.BlockSize:], cut[:])
	} else {
		r.missing = append(r.missing, int(it.num))
		if before := m.cfg.Devices.Before(m.b.Node(r.at.Node).GUID); r.of.ID == smp.AttrLinearForwardingTable &&
			len(before) >= (int(it.num)+1)*device.BlockSize {
			copy(r.row[int(it.num)*device.BlockSize:], before[int(it.num)*device.BlockSize:][:device.BlockSize])
		}
		if r.of.ID == smp.AttrPKeyTable && len(r.missing) == 1 {
			m.unreadPKeys(r.at, it.num, o)
		}
	}
	if r.left--; r.left > 0 {
		return
	}
	m.noteRead(r)
	switch node := m.b.Node(r.at.Node); r.of.ID {
	case smp.AttrLinearForwardingTable:
		m.res.Tables[node.GUID] = device.Read(r.row, r.missing)
	case smp.AttrPKeyTable:
		if r.missing == nil {
			m.setPKeys(r)
		}
	default:
		at := m.place(r.of.ID, r.at)
		m.res.Optional[at] = r.missing == nil
		m.res.Ports.Read(at, r.row, r.missing)
	}
	r.row = nil
}

// place names an attribute of a port.
func (m *Machine) place(attr mad.AttrID, e topo.End) device.Place {
	return device.Place{Attr: attr, Node: m.b.Node(e.Node).GUID, Port: e.Port}
}

// holds reports whether a port is known to hold still what the previous walk or a Set since has found, as far as that
// depends on Sets.
func (m *Machine) holds(attr mad.AttrID, e topo.End) bool {
	return m.cfg.Devices.Holds(m.place(attr, e))
}

// noteValue notes that an attribute of one block has been read, if it was not Known before.
func (m *Machine) noteValue(attr mad.AttrID, e topo.End) {
	if !m.holds(attr, e) {
		m.res.Read = append(m.res.Read, device.Block{Place: m.place(attr, e)})
	}
}

// noteRead notes the blocks of a reading that were not Known before. Of a P_Key table of which a part did not come,
// none is known.
func (m *Machine) noteRead(r *reading) {
	at := m.place(r.of.ID, r.at)
	if m.cfg.Devices.Holds(at) || r.missing != nil {
		return
	}
	for block := range r.of.Blocks(m.b.Node(r.at.Node), r.at.Port) {
		if b := (device.Block{Place: at, Index: uint16(block)}); m.cfg.Devices.State(b) != device.Known {
			m.res.Read = append(m.res.Read, b)
		}
	}
}

// unreadPKeys reports a P_Key table of which a part did not arrive: none of it is known.
func (m *Machine) unreadPKeys(e topo.End, block uint16, o *txn.Outcome) {
	node := m.b.Node(e.Node)
	f := Finding{Kind: finding.PKeysUnread, GUID: node.GUID, Port: e.Port, Route: node.Route, Block: block}
	if o.Result == txn.Replied {
		f.Kind, f.Status = finding.PKeysRefused, o.Status
	}
	m.report(f)
}

// setPKeys takes a P_Key table that has been read. Equal tables share memory.
func (m *Machine) setPKeys(r *reading) {
	m.keys = m.keys[:0]
	for i := range m.b.Node(r.at.Node).PKeyTableSize(r.at.Port) {
		m.keys = append(m.keys, mad.PKey(binary.BigEndian.Uint16(r.row[2*i:])))
	}
	var before *topo.PKeyTable
	if was := m.was(r.at); was != nil {
		before = was.PKeys
	}
	m.b.SetPKeys(r.at, m.tables.Of(m.keys, before))
}

// readReplaced reads the tables of nodes that are where the previous walk has found another one which is not found any
// more. It may have been the same node with a false GUID: its tables were then written under that, and are not what its
// record says.
func (m *Machine) readReplaced() {
	if m.cfg.Prev == nil || m.recalled == len(m.cfg.Prev.Nodes) {
		return
	}
	for i := range m.cfg.Prev.Nodes {
		was := &m.cfg.Prev.Nodes[i]
		if _, found := m.b.Find(was.GUID); found {
			continue
		}
		at, ok := m.along(&was.Route)
		if !ok || m.replaced[at.Node] {
			continue
		}
		m.replaced[at.Node] = true
		m.res.Replaced = append(m.res.Replaced, m.b.Node(at.Node).GUID)
		if sw := m.at(at.Node).sw; sw != nil && sw.complete {
			m.readSwitch(at.Node)
		} else if m.b.Port(at) != nil {
			m.read(at)
		}
	}
}

// along is where a directed route leads by the cables that were found.
func (m *Machine) along(route *mad.Route) (at topo.End, ok bool) {
	at = m.b.Self()
	for _, num := range route.Ports() {
		if at == topo.NoEnd || num > m.b.Node(at.Node).NumPorts {
			return at, false
		}
		at = m.b.Peer(topo.End{Node: at.Node, Port: num})
	}
	return at, at != topo.NoEnd
}
