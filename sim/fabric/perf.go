package fabric

import "ibsm/mad"

// Attributes of performance management (IBA 16.1.3) that every node answers.
const (
	attrClassPortInfo        mad.AttrID = 0x0001
	attrPortCounters         mad.AttrID = 0x0012
	attrPortCountersExtended mad.AttrID = 0x001d
)

// The PortSelect of PortCounters that means all ports of a switch.
const allPorts = 255

// atPerf has the node's performance agent answer a request that came in by port at,
// sent to dlid, and sends the answer. Nothing is counted: all counters read zero.
func (f *Fabric) atPerf(at int32, dlid mad.LID, d *mad.Datagram) {
	n := f.nodeOf(at)
	if n.mute {
		f.drop(DropMute, d)
		return
	}
	p := &d.Packet
	status := n.perf(p.Method() == mad.MethodSet, p.AttrID(), p.Data())
	if p.Method() != mad.MethodGet && p.Method() != mad.MethodSet {
		status = mad.StatusBadMethod
	}
	p.SetMethod(mad.MethodGetResp)
	p.SetStatus(status)
	from := f.mgmt(at)
	asker := d.LID
	d.LID = f.sourceLID(from, uint8(dlid))
	to, why := f.carry(from, asker, d)
	if why != Delivered {
		f.drop(why, d)
		return
	}
	f.onWire(evDeliver, to, d)
}

// perf fills d with the attribute; a Set resets counters that are zero anyway.
func (n *node) perf(set bool, attr mad.AttrID, d *[mad.DataSize]byte) mad.Status {
	switch attr {
	case attrClassPortInfo:
		if set {
			return mad.StatusBadMethodAttr
		}
		clear(d[:])
		d[0], d[1] = 1, 1 // BaseVersion, ClassVersion
		d[2] = 0x02       // CapabilityMask: PortCountersExtended
		if n.sw != nil {
			d[2] |= 0x01 // AllPortSelect
		}
		d[7] = n.caps.RespTimeValue
		return mad.StatusOK
	case attrPortCounters, attrPortCountersExtended:
		port := d[1]
		if port > n.numPorts && (n.sw == nil || port != allPorts) || port == 0 && n.sw == nil {
			return mad.StatusBadField
		}
		clear(d[4:]) // PortSelect and CounterSelect stay
		return mad.StatusOK
	}
	return mad.StatusBadMethodAttr
}
