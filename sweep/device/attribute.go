package device

import (
	"bytes"

	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/topo"
)

// Attribute describes an attribute of which devices hold blocks, by functions of a port
// and a block's number.
type Attribute struct {
	ID   mad.AttrID
	Name string // of what the blocks make up
	// PerSwitch says that a switch has one for all its ports.
	PerSwitch bool
	// Modifier names a block in a request to the agent of the port.
	Modifier func(t *topo.Topo, p topo.PortIdx, block uint16) uint32
	// Named is the port and the block of a modifier. Arrival is the port at which the packet
	// comes in.
	Named func(t *topo.Topo, arrival topo.PortIdx, mod uint32) (num uint8, block uint16)
	// value is a block that is known, nil for one that is not. It is as long as the part of
	// the block that the device has.
	value func(r *Record, t *topo.Topo, p topo.PortIdx, block uint16) []byte
	// contradicted notes that a block is not Known any more.
	contradicted func(r *Record, at Place, block uint16)
}

// Checked are the attributes whose blocks are checked when their Set took more than one
// attempt, in the order in which that is done.
var Checked = []Attribute{
	{
		ID: smp.AttrLinearForwardingTable, Name: "forwarding table", PerSwitch: true,
		Modifier: func(_ *topo.Topo, _ topo.PortIdx, block uint16) uint32 { return uint32(block) },
		Named:    func(_ *topo.Topo, _ topo.PortIdx, mod uint32) (uint8, uint16) { return 0, uint16(min(mod, 1<<16-1)) },
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
		Modifier: func(t *topo.Topo, p topo.PortIdx, block uint16) uint32 {
			if t.Nodes[t.Ports[p].Node].Type == mad.Switch {
				return smp.PKeyTableMod(t.Ports[p].Num, block)
			}
			return smp.PKeyTableMod(0, block)
		},
		Named: func(t *topo.Topo, arrival topo.PortIdx, mod uint32) (uint8, uint16) {
			if t.Nodes[t.Ports[arrival].Node].Type == mad.Switch {
				return uint8(mod >> 16), uint16(mod)
			}
			return t.Ports[arrival].Num, uint16(mod)
		},
		value: func(_ *Record, t *topo.Topo, p topo.PortIdx, block uint16) []byte {
			port := &t.Ports[p]
			size := t.Nodes[port.Node].PKeyTableSize(port.Num) - int(block)*smp.PKeysPerBlock
			if port.PKeys == nil || size <= 0 {
				return nil
			}
			b := port.PKeys.Block(int(block))
			return b[:min(size, smp.PKeysPerBlock)*2]
		},
		contradicted: func(r *Record, at Place, _ uint16) { r.Doubt(at) },
	},
}

// Of is the attribute with an ID, nil for one that is not checked.
func Of(id mad.AttrID) *Attribute {
	for i := range Checked {
		if Checked[i].ID == id {
			return &Checked[i]
		}
	}
	return nil
}

// Contradicts reports whether a port that was believed to hold a block shows that it holds
// something else. The block is not Known any more then.
func (r *Record) Contradicts(a *Attribute, t *topo.Topo, p topo.PortIdx, block uint16, data *[mad.DataSize]byte) bool {
	known := a.value(r, t, p, block)
	if known == nil || bytes.Equal(known, data[:len(known)]) {
		return false
	}
	a.contradicted(r, Place{a.ID, t.Nodes[t.Ports[p].Node].GUID, t.Ports[p].Num}, block)
	return true
}
