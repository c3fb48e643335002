package device

import (
	"bytes"
	"slices"

	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/routing/lanes"
	"ibsm/topo"
)

// Attribute describes an attribute whose blocks devices hold.
type Attribute struct {
	ID   mad.AttrID
	Name string // of what the blocks make up
	// PerSwitch says that a switch has one for all its ports, under port 0.
	PerSwitch bool
	Survives  Survival
	// OfLanes says that they are read only with Conditions.Lanes. What is known of them stays known without.
	OfLanes bool
	// Blocks is the number of blocks of a port, 0 where it has none.
	Blocks func(n *topo.Node, num uint8) int
	// Size is how many bytes of a block a port with this PortInfo has, 0 for a block that it
	// does not have. Nil is BlockSize for all.
	Size func(n *topo.Node, num uint8, info *smp.PortInfo, block uint16) int
	// Wanted reports whether a walk reads the blocks of a port.
	Wanted func(c *Conditions, p *Walking) bool
	// Modifier is the AttributeModifier by which the agent of a port knows a block.
	Modifier func(n *topo.Node, num uint8, block uint16) uint32
	// Named is the port and the block of a modifier. Arrival is the port at which the packet
	// comes in.
	Named func(n *topo.Node, arrival uint8, mod uint32) (num uint8, block uint16)
	// value is what a block is recorded to hold, nil for nothing. Where it is nil itself, the blocks are in
	// Record.Ports.
	value func(r *Record, t *topo.Topo, p topo.PortIdx, block uint16) []byte
	// contradicted notes that a block is not Known any more. Where it is nil, Record.State has the state of the block,
	// and the next walk reads all of the port.
	contradicted func(r *Record, at Place, block uint16)
}

// Survival says when blocks stay valid from one walk to the next, as far as a walk can see. None survives a reboot, or
// the mastership of another manager.
type Survival uint8

// Kinds of survival.
const (
	// WhileUp: as long as the port is ARMED or ACTIVE in every walk; at port 0 of a switch, as
	// long as the switch is in use.
	WhileUp Survival = iota
	// WhileInUse: the same, but at all ports of a switch as long as the switch is in use.
	WhileInUse
	// WhileTop: as long as LinearFDBTop is what was written.
	WhileTop
)

// Conditions are the settings on which it depends what a walk reads.
type Conditions struct {
	Enforced bool // switches enforce partitions
	Lanes    bool // traffic is on more lanes than VL 0
}

// Walking is a port as far as a walk has read it.
type Walking struct {
	Node *topo.Node
	Num  uint8
	Info *smp.PortInfo // nil: not read
	Peer *topo.Node    // at the other end of its cable; nil: none is known
	// Of its switch, when all ports of that have been read:
	Port0 *smp.PortInfo // nil: not yet, or not read
	Up    PortSet       // external ports that are ARMED or ACTIVE
}

// size is how many bytes of a block a port has.
func (a *Attribute) size(n *topo.Node, num uint8, info *smp.PortInfo, block uint16) int {
	if a.Size == nil {
		return BlockSize
	}
	return a.Size(n, num, info, block)
}

// inUse reports whether traffic may pass a port: of a switch, whether it may pass any.
func (p *Walking) inUse() bool {
	if p.Node.Type == mad.Switch {
		return p.Port0 != nil && !p.Up.Empty()
	}
	return p.Info != nil && p.Info.PortState() >= smp.PortArmed
}

// linkless reports whether the port of a switch has no link.
func (p *Walking) linkless() bool {
	return p.external() && (p.Info == nil || p.Info.PortState() == smp.PortDown)
}

func (p *Walking) external() bool { return p.Node.Type == mad.Switch && p.Num != 0 }

// Attributes are the attributes whose blocks are read, in reading order.
var Attributes = []Attribute{
	{
		ID: smp.AttrLinearForwardingTable, Name: "forwarding table", PerSwitch: true, Survives: WhileTop,
		Blocks: func(n *topo.Node, num uint8) int {
			if top := n.SwitchInfo.LinearFDBTop(); n.Type == mad.Switch && num == 0 && top <= mad.MaxUnicastLID {
				return int(top)/smp.LFTBlockSize + 1
			}
			return 0
		},
		Wanted:   func(_ *Conditions, p *Walking) bool { return !p.Up.Empty() }, // traffic may pass
		Modifier: func(_ *topo.Node, _ uint8, block uint16) uint32 { return uint32(block) },
		Named:    func(_ *topo.Node, _ uint8, mod uint32) (uint8, uint16) { return 0, uint16(min(mod, 1<<16-1)) },
		value: func(r *Record, t *topo.Topo, p topo.PortIdx, block uint16) []byte {
			if sw := r.Find(t.Nodes[t.Ports[p].Node].GUID); sw != nil && sw.LFT.State(int(block)) == Known {
				return sw.LFT.Block(int(block))
			}
			return nil
		},
		contradicted: func(r *Record, at Place, block uint16) { r.Find(at.Node).LFT.Take(int(block), Contradicted) },
	},
	{
		ID: smp.AttrPKeyTable, Name: "P_Key table",
		Blocks: func(n *topo.Node, num uint8) int { return topo.PKeyBlocks(n.PKeyTableSize(num)) },
		// An entry that is not known is a member that nobody invited, so all end ports are
		// read. Where switches enforce partitions, their ports towards adapters and routers
		// matter, too.
		Wanted: func(c *Conditions, p *Walking) bool {
			if p.external() {
				return c.Enforced && p.Info != nil && p.Peer != nil && p.Peer.Type != mad.Switch
			}
			return p.Num == 0 || p.Info != nil
		},
		Modifier: func(n *topo.Node, num uint8, block uint16) uint32 {
			if n.Type != mad.Switch {
				num = 0
			}
			return smp.PKeyTableMod(num, block)
		},
		Named: func(n *topo.Node, arrival uint8, mod uint32) (uint8, uint16) {
			if n.Type == mad.Switch {
				arrival = uint8(mod >> 16)
			}
			return arrival, uint16(mod)
		},
		value: func(_ *Record, t *topo.Topo, p topo.PortIdx, block uint16) []byte {
			keys := t.Ports[p].PKeys
			if keys == nil {
				return nil
			}
			b := keys.Block(int(block))
			return b[:]
		},
		Size: func(n *topo.Node, num uint8, _ *smp.PortInfo, block uint16) int {
			return 2 * min(max(n.PKeyTableSize(num)-int(block)*smp.PKeysPerBlock, 0), smp.PKeysPerBlock)
		},
	},
	{ // of a switch's port, a block for each port that packets to it come in by
		ID: smp.AttrSLtoVLMappingTable, Name: "SLtoVLMappingTable", Survives: WhileInUse, OfLanes: true,
		Blocks: func(n *topo.Node, num uint8) int {
			switch {
			case n.Type != mad.Switch:
				return 1
			case num == 0 && !n.SwitchInfo.EnhancedPort0():
				return 0
			}
			return int(n.NumPorts) + 1
		},
		Wanted: func(_ *Conditions, p *Walking) bool {
			end := p.Port0
			if p.Node.Type != mad.Switch {
				end = p.Info
			}
			return p.inUse() && !p.linkless() && end.CapabilityMask().Has(smp.IsSLMappingSupported)
		},
		Size: func(*topo.Node, uint8, *smp.PortInfo, uint16) int { return lanes.SLs / 2 },
		Modifier: func(n *topo.Node, num uint8, block uint16) uint32 {
			if n.Type != mad.Switch {
				return 0
			}
			return smp.SLtoVLMod(uint8(block), num)
		},
		Named: func(n *topo.Node, arrival uint8, mod uint32) (uint8, uint16) {
			if n.Type != mad.Switch {
				return arrival, 0
			}
			return uint8(mod), uint16(mod >> 8 & 0xff)
		},
	},
	{ // two blocks of low priority, two of high
		ID: smp.AttrVLArbitrationTable, Name: "VLArbitrationTable", Survives: WhileInUse, OfLanes: true,
		Blocks: func(n *topo.Node, num uint8) int {
			if n.Type == mad.Switch && num == 0 && !n.SwitchInfo.EnhancedPort0() {
				return 0
			}
			return lanes.Blocks
		},
		Size: func(_ *topo.Node, _ uint8, info *smp.PortInfo, block uint16) int {
			port := lanes.Of(info, info.OperationalVLs())
			return 2 * port.Turns(int(block))
		},
		Wanted: func(_ *Conditions, p *Walking) bool {
			if !p.inUse() || p.linkless() {
				return false
			}
			port := lanes.Of(p.Info, p.Info.OperationalVLs())
			return port.Turns(0)+port.Turns(lanes.Blocks/2) > 0
		},
		Modifier: func(n *topo.Node, num uint8, block uint16) uint32 {
			if n.Type != mad.Switch {
				num = 0
			}
			return smp.VLArbMod(uint8(block)+smp.VLArbLow0, num)
		},
		Named: func(n *topo.Node, arrival uint8, mod uint32) (uint8, uint16) {
			if n.Type == mad.Switch {
				arrival = uint8(mod)
			}
			return arrival, uint16(mod>>16) - uint16(smp.VLArbLow0)
		},
	},
}

// Of is the attribute with an ID, nil for one without an entry.
func Of(id mad.AttrID) *Attribute {
	if i := slices.IndexFunc(Attributes, func(a Attribute) bool { return a.ID == id }); i >= 0 {
		return &Attributes[i]
	}
	return nil
}

// Survive reports whether the blocks of a port that were known after the walk before are so
// still. was is the PortInfo of that walk.
func (r *Record) Survive(a *Attribute, p *Walking, was *smp.PortInfo) bool {
	guid, top := p.Node.GUID, p.Node.SwitchInfo.LinearFDBTop()
	switch {
	case a.Survives == WhileTop:
		known, ok := r.Top(guid)
		return ok && known == top
	case was == nil || p.Info == nil || !r.Holds(Place{a.ID, guid, p.Num}):
		return false
	case p.Node.Type == mad.Switch && (p.Num == 0 || a.Survives == WhileInUse):
		return r.InUse(guid, top, p.Up)
	}
	return p.Info.PortState() >= smp.PortArmed && was.PortState() >= smp.PortArmed
}

// Cut is data as far as a port has the block, with zeroes beyond. present reports whether it
// has any of it.
func (a *Attribute) Cut(n *topo.Node, num uint8, info *smp.PortInfo, block uint16, data *Data) (cut Data,
	present bool) {
	size := a.size(n, num, info, block)
	copy(cut[:size], data[:size])
	return cut, size > 0
}

// Arrival is the port at which a packet comes in at the end of its directed route, or None.
func Arrival(t *topo.Topo, p *mad.Packet) topo.PortIdx {
	return t.Along(p.InitialPath()[1 : min(p.HopCount(), mad.MaxHops)+1])
}

// Contradicts reports whether a port that was believed to hold a block shows that it holds
// something else. The block is not Known any more then. One that is InFlight may be shown as it was before.
func (r *Record) Contradicts(a *Attribute, t *topo.Topo, p topo.PortIdx, block uint16, data *Data) bool {
	port := &t.Ports[p]
	node := &t.Nodes[port.Node]
	at := Block{Place{a.ID, node.GUID, port.Num}, block}
	var recorded []byte
	if a.value != nil {
		recorded = a.value(r, t, p, block)
	} else if b := r.Ports.Blocks(at.Place); b.State(int(block)) == Known {
		recorded = b.Block(int(block))
	}
	if recorded == nil || r.State(at) == InFlight {
		return false
	}
	if size := a.size(node, port.Num, &port.Info, block); bytes.Equal(recorded[:size], data[:size]) {
		return false
	}
	if a.contradicted != nil {
		a.contradicted(r, at.Place, block)
	} else {
		r.Take(at, Contradicted)
	}
	return true
}
