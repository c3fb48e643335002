package fabric

import (
	"fmt"
	"time"

	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/topo/net"
)

// VPorts is how the end ports of an adapter have virtual functions. To a manager each is a vPort behind the physical
// port (NVIDIA's attributes 0xFFB0 to 0xFFB6); vPort 0 is the physical function's and has the port's own GUID, LID and
// P_Keys, vPort K is function K. To the fabric the port is one without functions until a manager enables
// virtualization: it does so by a Set of VirtualizationInfo alone.
//
// The zero value is an adapter without functions, which can have 127. Its agent refuses with StatusBadMethodAttr (0x0c)
// a Set of VPortState, VNodeInfo and VNodeDescription, and every Set but that of VirtualizationInfo before
// virtualization is enabled; with StatusBadField (0x1c) a modifier with a meaningless bit, a vPort above VPortIndexTop,
// a block that is not there, a reserved or read-only field of a Set that differs from what is held, and a state that
// the vPort cannot be in next. A Quirk has it refuse other requests, or leave them unanswered.
type VPorts struct {
	Functions    uint16 // that each port has at power-up, with GUID 0; SetFunctions changes it
	Cap          uint16 // VPortCap, vPorts that a port can have, vPort 0 among them; 0: 128
	PartitionCap uint16 // P_Keys of a function; 0: as many as the port has
	GUIDCap      uint8  // entries of a function's VPortGUIDInfo; 0: 8
	Revision     uint8  // VirtualizationRevision
	OwnLIDs      bool   // functions want LIDs of their own at first; SetFunctionLID changes it

	// What is uncertain of real adapters, and what is strange of some.

	Layout          smp.VPortLayout // of attribute modifiers
	AnyModifier     bool            // bits of a modifier without meaning are not looked at
	NotInPortInfo   bool            // PortInfo does not announce vPorts
	NotInGeneral    bool            // GeneralInfo does not
	ClearedByOne    bool            // a Set with VPortStateChange 1 clears it, one with 0 leaves it; else the reverse
	OwnVPort0       bool            // vPort 0 has a state of its own; else that of the port, which no VPortInfo sets
	OffUntilEnabled bool            // before virtualization is enabled, only VirtualizationInfo can be read
	AnyReadOnly     bool            // a Set may have any value in read-only and reserved fields
	TopOfUp         bool            // VPortIndexTop is that of the highest vPort above Down, so that it shrinks
	Remembers       bool            // a function that restarts, or gets another GUID, keeps its LID and P_Keys
	Lag             time.Duration   // VPortState shows each state so much later than VPortInfo
}

// Limits and defaults of vPorts.
const (
	vPortGUIDCap  = 8
	vPortRequired = smp.VPortHasCM | smp.VPortIsSMDisabled // CapabilityMask of a function at first
)

// top is the highest index that a vPort may have.
func (c *VPorts) top() uint16 {
	if c.Cap == 0 {
		return net.MaxFunctions
	}
	return c.Cap - 1
}

// VPort is a vPort of an end port. Index 0 is that of the physical function.
type VPort struct {
	At    net.End
	Index uint16
}

func (v VPort) String() string {
	return fmt.Sprintf("node %d port %d vPort %d", v.At.Node, v.At.Port, v.Index)
}

// virtual is what an end port has of vPorts.
type virtual struct {
	at        int32
	enabled   bool
	changed   bool          // VPortStateChange
	state0    smp.PortState // of vPort 0, where it has one of its own
	functions []*vport      // vPort k is functions[k-1]
}

// vport is a function. Of the port that it has, tables, station and, in info, LID, state and violations are in use.
type vport struct {
	port
	index  uint16
	vnode  mad.GUID
	desc   smp.NodeDescription
	mask   smp.VPortCapMask
	shares uint16 // index of the vPort whose LID it has without one of its own
	ownLID bool

	unloaded bool // no driver has it
	heldDown bool // by the link policy of its hypervisor

	before  smp.PortState // VPortState shows it until then
	showsAt time.Duration
}

// addVPorts gives the ports of an adapter what it has of vPorts at first, and announces them.
func (f *Fabric) addVPorts(node int32) {
	n := &f.nodes[node]
	c := n.caps.VPorts
	if c == nil || n.sw != nil {
		return
	}
	if c.Functions > c.top() {
		panic(fmt.Sprintf("fabric: node %s: %d functions, at most %d", n.id, c.Functions, c.top()))
	}
	n.announceVPorts()
	for num := int32(1); num <= int32(n.numPorts); num++ {
		if f.virtual == nil {
			f.virtual = map[int32]*virtual{}
		}
		if f.virtual[n.first+num] == nil {
			v := &virtual{at: n.first + num}
			f.virtual[v.at] = v
			f.makeFunctions(v, int(c.Functions))
		}
	}
}

// announceVPorts sets the bit of CapabilityMask2 that announces vPorts, or clears it.
func (n *node) announceVPorts() {
	n.caps.CapabilityMask2 &^= smp.IsVirtualizationSupported
	if c := n.caps.VPorts; c != nil && !c.NotInPortInfo {
		n.caps.CapabilityMask |= smp.IsCapabilityMask2Supported
		n.caps.CapabilityMask2 |= smp.IsVirtualizationSupported
	}
}

// makeFunctions makes the host have n functions.
func (f *Fabric) makeFunctions(v *virtual, n int) {
	c := f.nodeOf(v.at).caps.VPorts
	for len(v.functions) > n {
		last := v.functions[len(v.functions)-1]
		last.unloaded = true
		f.settleVPort(v, last)
		last.station = nil
		v.functions = v.functions[:len(v.functions)-1]
	}
	for len(v.functions) < n {
		p := &vport{port: port{node: f.ports[v.at].node, peer: -1}, index: uint16(len(v.functions) + 1),
			mask: vPortRequired, ownLID: c.OwnLIDs}
		p.desc.Set(fmt.Sprintf("%v function %d", f.nodeOf(v.at).desc, p.index))
		v.functions = append(v.functions, p)
		f.forgetVPort(p)
	}
}

// forgetVPort is the power-up of a function: what managers wrote is gone.
func (f *Fabric) forgetVPort(p *vport) {
	p.tables, p.info = nil, smp.PortInfo{}
	p.info.SetPortState(smp.PortDown)
	if p.station != nil {
		p.station.reregister = false
	}
}

// powerUpVPorts is the power-up of an adapter's port: the host makes the functions that it had, with their GUIDs.
func (f *Fabric) powerUpVPorts(at int32) {
	v := f.virtual[at]
	if v == nil {
		return
	}
	v.enabled, v.changed, v.state0 = false, false, smp.PortDown
	for _, p := range v.functions {
		f.forgetVPort(p)
		p.showsAt = 0
	}
}

// virtualAt is what a port has of vPorts; a port without any is a defect of the caller.
func (f *Fabric) virtualAt(at net.End) *virtual {
	v := f.virtual[f.must(at)]
	if v == nil {
		panic(fmt.Sprintf("fabric: node %d port %d has no vPorts", at.Node, at.Port))
	}
	return v
}

// function finds a function; none is a defect of the caller.
func (f *Fabric) function(at VPort) (*virtual, *vport) {
	v := f.virtualAt(at.At)
	if at.Index == 0 || int(at.Index) > len(v.functions) {
		panic(fmt.Sprintf("fabric: %v: it has %d functions", at, len(v.functions)))
	}
	return v, v.functions[at.Index-1]
}

// SetVPorts changes how an adapter has virtual functions from now on; those that it has stay, and so does what a
// manager wrote. A port that had no vPorts announces them by trap 144. It panics if the node is a switch.
func (f *Fabric) SetVPorts(node int32, c VPorts) {
	n := &f.nodes[node]
	if n.sw != nil {
		panic(fmt.Sprintf("fabric: node %s is a switch", n.id))
	}
	n.caps.VPorts = &c
	f.addVPorts(node)
	for i := n.first + 1; i <= n.first+int32(n.numPorts); i++ {
		pi := &f.ports[i].info
		mask, mask2 := pi.CapabilityMask(), pi.CapabilityMask2()
		pi.SetCapabilityMask(mask | n.caps.CapabilityMask&smp.IsCapabilityMask2Supported)
		pi.SetCapabilityMask2(n.caps.CapabilityMask2)
		if pi.CapabilityMask() != mask || pi.CapabilityMask2() != mask2 {
			f.raiseLocalChange(i, 0)
		}
	}
}

// VPorts is how an adapter has virtual functions; ok is false if it has none.
func (f *Fabric) VPorts(node int32) (c VPorts, ok bool) {
	if held := f.nodes[node].caps.VPorts; held != nil {
		return *held, true
	}
	return c, false
}

// SetFunctions has the host of an adapter's port make so many functions, 0 to VPorts.Cap-1: the last ones go, or new
// ones come, with GUID 0. The error says that there is no room for them.
func (f *Fabric) SetFunctions(at net.End, n int) error {
	v := f.virtualAt(at)
	if most := int(f.nodes[at.Node].caps.VPorts.top()); n < 0 || n > most {
		return fmt.Errorf("%d functions: expected 0 to %d", n, most)
	}
	f.makeFunctions(v, n)
	return nil
}

// SetFunctionGUID gives a function a port GUID and the GUID of its virtual node. It stays Down as long as one of them
// is 0. A function that had others restarts.
func (f *Fabric) SetFunctionGUID(at VPort, port, node mad.GUID) {
	v, p := f.function(at)
	p.guid, p.vnode = 0, 0
	f.settleVPort(v, p)
	if !f.nodeOf(v.at).caps.VPorts.Remembers {
		f.forgetVPort(p)
	}
	p.guid, p.vnode = port, node
	f.settleVPort(v, p)
}

// MoveFunctionGUID gives a function the GUIDs of another, which has GUID 0 afterwards.
func (f *Fabric) MoveFunctionGUID(from, to VPort) {
	_, p := f.function(from)
	port, node := p.guid, p.vnode
	f.SetFunctionGUID(from, 0, 0)
	f.SetFunctionGUID(to, port, node)
}

// SetFunctionLoaded loads the driver of a function, as it is at first, or unloads it. A function without a driver is
// Down, and has forgotten what managers wrote when it comes back.
func (f *Fabric) SetFunctionLoaded(at VPort, is bool) {
	v, p := f.function(at)
	p.unloaded = !is
	f.settleVPort(v, p)
	if !is && !f.nodeOf(v.at).caps.VPorts.Remembers {
		f.forgetVPort(p)
	}
}

// RebootFunction unloads the driver of a function and loads it at once.
func (f *Fabric) RebootFunction(at VPort) {
	f.SetFunctionLoaded(at, false)
	f.SetFunctionLoaded(at, true)
}

// SetFunctionPolicy has the hypervisor hold a function Down whatever the port is, or let it follow the port.
func (f *Fabric) SetFunctionPolicy(at VPort, down bool) {
	v, p := f.function(at)
	p.heldDown = down
	f.settleVPort(v, p)
}

// SetFunctionLID has a function want a LID of its own, or share that of another vPort. It restarts.
func (f *Fabric) SetFunctionLID(at VPort, own bool, shares uint16) {
	_, p := f.function(at)
	p.ownLID, p.shares = own, shares
	f.RebootFunction(at)
}

// SetFunctionDescription renames a function, which its agent reports by trap 1144.
func (f *Fabric) SetFunctionDescription(at VPort, text string) {
	v, p := f.function(at)
	p.desc.Set(text)
	f.raiseVPortChange(v, p, smp.ChangedNodeDescription)
}

// SetFunctionCapabilities changes the CapabilityMask of a function, which its agent reports by trap 1144.
func (f *Fabric) SetFunctionCapabilities(at VPort, mask smp.VPortCapMask) {
	v, p := f.function(at)
	p.mask = mask
	f.raiseVPortChange(v, p, 0)
}

// BadQKey has a function receive a packet with a wrong Q_Key from an end port: it counts it and reports it by trap
// 1258.
func (f *Fabric) BadQKey(at VPort, from net.End, key uint32) {
	v, p := f.function(at)
	if n := p.info.QKeyViolations(); n < 0xffff {
		p.info.SetQKeyViolations(n + 1)
	}
	t := flight{slid: f.ports[f.must(from)].info.LID(), dlid: f.lidOf(v, p)}
	f.raiseVPortBadKey(v, p, &t, smp.TrapVPortBadQKey, key)
}
