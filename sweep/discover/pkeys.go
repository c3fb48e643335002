package discover

import (
	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/mad/txn"
	"ibsm/sweep/device"
	"ibsm/topo"
)

// Partition tables are read of every port that has a LID, whole, because an entry that
// is not known is a member that nobody invited; and of the ports by which switches face
// adapters and routers where Config.Enforced says that they matter. A port that has been
// ARMED or ACTIVE all along holds what it held.

// pkeyRead is a partition table on its way in.
type pkeyRead struct {
	at     topo.End
	keys   []mad.PKey
	left   int // blocks not answered yet
	failed bool
}

// askPKeys asks for the partition table of a port that was read, unless it is known.
func (m *Machine) askPKeys(e topo.End) {
	node := m.b.Node(e.Node)
	blocks := topo.PKeyBlocks(node.PKeyTableSize(e.Port))
	if blocks == 0 || m.b.PKeys(e) != nil || m.recallPKeys(e) || m.pkeysAsked[e] {
		return
	}
	m.pkeysAsked[e] = true
	m.pkeyReads = append(m.pkeyReads, pkeyRead{at: e, keys: make([]mad.PKey, blocks*smp.PKeysPerBlock), left: blocks})
	for block := range blocks {
		m.queue.push(item{kind: kindPKeys, num: uint16(block), node: int32(len(m.pkeyReads) - 1)})
	}
}

// askEnforced asks for the table of a switch's port at e if the other end of its cable
// belongs to no switch. It is called for both ends when the cable is known, and when the
// port has been read.
func (m *Machine) askEnforced(e topo.End) {
	peer := m.b.Peer(e)
	if m.cfg.Enforced && peer != topo.NoEnd && m.b.Port(e) != nil &&
		m.b.Node(e.Node).Type == mad.Switch && m.b.Node(peer.Node).Type != mad.Switch {
		m.askPKeys(e)
	}
}

// recallPKeys takes over the table of a port that has been up all along. Port 0 of a
// switch is always up: there the switch must have been in use.
func (m *Machine) recallPKeys(e topo.End) bool {
	if m.cfg.Prev == nil {
		return false
	}
	node, info := m.b.Node(e.Node), m.b.Port(e)
	old := m.cfg.Prev.FindNode(node.GUID)
	if old == topo.None || info == nil || e.Port > m.cfg.Prev.Nodes[old].NumPorts {
		return false
	}
	was := &m.cfg.Prev.Ports[m.cfg.Prev.Port(old, e.Port)]
	if was.PKeys == nil || m.cfg.Prev.Nodes[old].Missed > 0 || m.cfg.Devices.Dirty(device.Place{Attr: smp.AttrPKeyTable, Node: node.GUID, Port: e.Port}) {
		return false
	}
	if node.Type == mad.Switch && e.Port == 0 {
		if sw := m.switches[e.Node]; sw == nil || !m.cfg.Devices.InUse(node.GUID, node.SwitchInfo.LinearFDBTop(), sw.up) {
			return false
		}
	} else if info.PortState() < smp.PortArmed || was.Info.PortState() < smp.PortArmed {
		return false
	}
	m.b.SetPKeys(e, m.tables.Same(was.PKeys))
	return true
}

// pkeys takes a block of a table. One that does not come in whole is not known.
func (m *Machine) pkeys(it item, o *txn.Outcome, ok bool) {
	r := &m.pkeyReads[it.node]
	if ok {
		block := (*smp.PKeyTable)(&o.Data)
		for i := range smp.PKeysPerBlock {
			r.keys[int(it.num)*smp.PKeysPerBlock+i] = block.PKey(i)
		}
	} else if !r.failed {
		r.failed = true
		node := m.b.Node(r.at.Node)
		f := Finding{Kind: UnreadPKeys, GUID: node.GUID, Port: r.at.Port, Route: node.Route}
		if o.Result == txn.Replied {
			f.Kind, f.Status = RefusedPKeys, o.Status
		}
		m.report(f)
	}
	if r.left--; r.left > 0 {
		return
	}
	if !r.failed {
		size := m.b.Node(r.at.Node).PKeyTableSize(r.at.Port)
		m.b.SetPKeys(r.at, m.tables.Of(r.keys[:size], m.pkeysBefore(r.at)))
	}
	r.keys = nil
}

// pkeysBefore is the table that the previous walk found at a port, nil for none: equal
// ones are to be the same one.
func (m *Machine) pkeysBefore(e topo.End) *topo.PKeyTable {
	if m.cfg.Prev == nil {
		return nil
	}
	old := m.cfg.Prev.FindNode(m.b.Node(e.Node).GUID)
	if old == topo.None || e.Port > m.cfg.Prev.Nodes[old].NumPorts {
		return nil
	}
	return m.cfg.Prev.Ports[m.cfg.Prev.Port(old, e.Port)].PKeys
}
