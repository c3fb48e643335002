package sim_test

import (
	"encoding/hex"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"ibsm/mad"
	"ibsm/mad/sarec"
	"ibsm/mad/smp"
	"ibsm/sim/fabric"
	"ibsm/topo/net"
)

// decoder writes packets in words: nodes by name, fields by the names of the architecture.
type decoder struct {
	fabric *fabric.Fabric
	net    *net.Net
}

// node is the first word of a node's description.
func (d decoder) node(i int32) string {
	if i < 0 {
		return "nowhere"
	}
	name, _, _ := strings.Cut(d.net.Nodes[i].Desc, " ")
	return name
}

func (d decoder) guid(g mad.GUID) string {
	if at, ok := d.fabric.Find(g); ok {
		return d.node(at.Node)
	}
	return fmt.Sprintf("%#x", uint64(g))
}

// lid is the port that holds a LID.
func (d decoder) lid(l mad.LID) net.End {
	for at := range d.fabric.EndPorts() {
		if pi := d.fabric.PortInfo(at); pi.LID() != 0 && l>>pi.LMC() == pi.LID()>>pi.LMC() {
			return at
		}
	}
	return net.NoEnd
}

// target is the port that a datagram goes to.
func (d decoder) target(from net.End, dg *mad.Datagram) net.End {
	p := &dg.Packet
	if p.MgmtClass() != mad.ClassDirected {
		return d.lid(dg.LID)
	}
	path, at := p.InitialPath()[1:min(int(p.HopCount())+1, 64)], from
	for _, port := range path {
		if at.Node < 0 || int(port) > d.net.Nodes[at.Node].NumPorts() {
			return net.NoEnd
		}
		at = d.fabric.Peer(net.End{Node: at.Node, Port: port})
	}
	return at
}

// attr is the name of a packet's attribute.
func attr(p *mad.Packet) string {
	switch p.MgmtClass() {
	case mad.ClassSA:
		return sarec.AttrName(p.AttrID())
	case mad.ClassDirected, mad.ClassLIDRouted:
		return smp.AttrName(p.AttrID())
	case mad.ClassMirror:
		return "of the mirror"
	}
	return fmt.Sprintf("%#x of class %#x", uint16(p.AttrID()), uint8(p.MgmtClass()))
}

// place is the port of a node that an SMP reads or writes, and data what it carries.
func (d decoder) place(at net.End, p *mad.Packet) (place, data string) {
	mod := p.AttrMod()
	port := func(num uint32) string {
		if at.Node >= 0 && d.net.Nodes[at.Node].Type != mad.Switch {
			num = uint32(at.Port)
		}
		return fmt.Sprintf("%s/%d", d.node(at.Node), num)
	}
	switch p.AttrID() {
	case smp.AttrPortInfo, smp.AttrExtendedPortInfo:
		return port(mod & 0xff), d.portData(at, p)
	case smp.AttrPKeyTable:
		return port(mod >> 16), block(mod&0xffff) + pkeys((*smp.PKeyTable)(p.Data()))
	case smp.AttrSLtoVLMappingTable:
		return port(mod & 0xff), "in " + inputs(mod) + ": " + slLanes((*smp.SLtoVLMappingTable)(p.Data()))
	case smp.AttrVLArbitrationTable:
		list := []string{"", "low", "low from 32", "high", "high from 32"}[min(mod>>16, 4)]
		return port(mod & 0xff), list + ": " + arbitration((*smp.VLArbitrationTable)(p.Data()))
	case smp.AttrLinearForwardingTable:
		return d.node(at.Node), block(mod) + d.lft(at.Node, mod, p.Data())
	case smp.AttrMulticastForwardingTable:
		return d.node(at.Node), mft(mod, (*smp.MulticastForwardingTable)(p.Data()))
	case smp.AttrSwitchInfo:
		held := smp.SwitchInfo{}
		if at.Node >= 0 && d.net.Nodes[at.Node].Type == mad.Switch {
			held = d.fabric.SwitchInfo(at.Node)
		}
		text := changes(&held, (*smp.SwitchInfo)(p.Data()))
		if (*smp.SwitchInfo)(p.Data()).PortStateChange() {
			text += ", clears PortStateChange"
		}
		return d.node(at.Node), text
	case smp.AttrARInfo:
		held := smp.ARInfo{}
		if at.Node >= 0 && d.net.Nodes[at.Node].Type == mad.Switch {
			held = d.fabric.ARInfo(at.Node)
		}
		return d.node(at.Node), changes(&held, (*smp.ARInfo)(p.Data())) + ", data " + bare(p.Data()[:])
	case smp.AttrSMInfo:
		return d.node(at.Node), controls[mod] + d.smInfo((*smp.SMInfo)(p.Data()))
	case smp.AttrNotice:
		return d.node(at.Node), d.notice((*smp.Notice)(p.Data()))
	}
	return d.node(at.Node), "modifier " + fmt.Sprintf("%#x: ", mod) + bare(p.Data()[:])
}

// packet is the place that a datagram goes to or reads or writes there, and what it carries.
func (d decoder) packet(from net.End, dg *mad.Datagram) (place, text string) {
	p, to := &dg.Packet, d.target(from, dg)
	switch p.MgmtClass() {
	case mad.ClassDirected, mad.ClassLIDRouted:
		if place, text = d.place(to, p); p.Method() == mad.MethodGet {
			text = ""
		}
		return place, text
	case mad.ClassSA:
		return d.node(to.Node), d.record(p)
	}
	return d.node(to.Node), ""
}

var controls = map[uint32]string{
	smp.ControlHandover: "HANDOVER ", smp.ControlAcknowledge: "ACKNOWLEDGE ", smp.ControlDisable: "DISABLE ",
	smp.ControlStandby: "STANDBY ", smp.ControlDiscover: "DISCOVER ",
}

func block(number uint32) string {
	if number == 0 {
		return ""
	}
	return fmt.Sprintf("block %d: ", number)
}

func (d decoder) portData(at net.End, p *mad.Packet) string {
	if p.AttrID() != smp.AttrPortInfo {
		return "data " + bare(p.Data()[:])
	}
	held := smp.PortInfo{}
	if at.Node >= 0 {
		if d.net.Nodes[at.Node].Type == mad.Switch {
			at.Port = uint8(p.AttrMod())
		}
		if int(at.Port) <= d.net.Nodes[at.Node].NumPorts() {
			held = d.fabric.PortInfo(at)
		}
	}
	return changes(&held, (*smp.PortInfo)(p.Data()))
}

// changes are the fields in which a Set differs from what is held. Those of value 0 that say
// "no change" are left out.
func changes(held, set any) string {
	h, s := reflect.ValueOf(held), reflect.ValueOf(set)
	var out []string
	for i := range s.NumMethod() {
		name, ok := strings.CutPrefix(s.Type().Method(i).Name, "Set")
		if !ok || !s.MethodByName(name).IsValid() {
			continue
		}
		was, is := h.MethodByName(name).Call(nil)[0], s.MethodByName(name).Call(nil)[0]
		if was.Equal(is) || name == "LocalPortNum" || is.IsZero() && unlessZero[name] {
			continue
		}
		out = append(out, fmt.Sprintf("%s %s->%s", name, fieldWords(was.Interface()), fieldWords(is.Interface())))
	}
	if out == nil {
		return "as it is"
	}
	return strings.Join(out, ", ")
}

var unlessZero = map[string]bool{
	"PortState": true, "PortPhysicalState": true, "LinkWidthEnabled": true,
	"LinkSpeedEnabled": true, "LinkSpeedExtEnabled": true,
	"LinkDownDefaultState": true, "OperationalVLs": true, "LinkSpeedExtEnabled2": true,
}

func fieldWords(v any) string {
	switch v := v.(type) {
	case mad.MKey, smp.CapMask, smp.CapMask2:
		return fmt.Sprintf("%#x", reflect.ValueOf(v).Uint())
	}
	return fmt.Sprint(v)
}

func pkeys(t *smp.PKeyTable) string {
	var out []string
	for i := range smp.PKeysPerBlock {
		out = append(out, t.PKey(i).String())
	}
	for len(out) > 0 && out[len(out)-1] == "0x0000" {
		out = out[:len(out)-1]
	}
	return strings.Join(out, " ")
}

func inputs(mod uint32) string {
	if mod&smp.SLtoVLAllIn != 0 {
		return "all"
	}
	return fmt.Sprint(mod >> 8 & 0xff)
}

func slLanes(t *smp.SLtoVLMappingTable) string {
	var out []string
	for sl := range uint8(16) {
		out = append(out, fmt.Sprint(t.VL(sl)))
	}
	return strings.Join(out, " ")
}

func arbitration(t *smp.VLArbitrationTable) string {
	var out []string
	for i := range smp.VLArbBlockSize {
		vl, weight := t.Entry(i)
		out = append(out, fmt.Sprintf("%d:%d", vl, weight))
	}
	for len(out) > 0 && out[len(out)-1] == "0:0" {
		out = out[:len(out)-1]
	}
	return strings.Join(out, " ")
}

// lft is what a block of a forwarding table changes, as LID:port.
func (d decoder) lft(node int32, mod uint32, data *[mad.DataSize]byte) string {
	var held []uint8
	if node >= 0 && d.net.Nodes[node].Type == mad.Switch {
		held = d.fabric.LFT(node)
	}
	var out []string
	for i, port := range data {
		was, lid := smp.LFTDrop, int(mod&0xffff)*smp.LFTBlockSize+i
		if lid < len(held) {
			was = held[lid]
		}
		switch {
		case port != was && was == smp.LFTDrop:
			out = append(out, fmt.Sprintf("%d:%d", lid, port))
		case port != was && port == smp.LFTDrop:
			out = append(out, fmt.Sprintf("%d:%d->none", lid, was))
		case port != was:
			out = append(out, fmt.Sprintf("%d:%d->%d", lid, was, port))
		}
	}
	if out == nil {
		return "as it is"
	}
	return strings.Join(out, " ")
}

func mft(mod uint32, t *smp.MulticastForwardingTable) string {
	var out []string
	for i := range smp.MFTBlockSize {
		mlid := mad.MinMulticastLID + mad.LID(mod&0x1ff)*smp.MFTBlockSize + mad.LID(i)
		if mask := t.PortMask(mlid); mask != 0 {
			var ports []string
			for p := range smp.MFTPositionSize {
				if mask>>p&1 != 0 {
					ports = append(ports, fmt.Sprint(p+int(mod>>28)*smp.MFTPositionSize))
				}
			}
			out = append(out, fmt.Sprintf("%#x:%s", uint16(mlid), strings.Join(ports, ",")))
		}
	}
	if out == nil {
		return "empty"
	}
	return strings.Join(out, " ")
}

func (d decoder) smInfo(s *smp.SMInfo) string {
	return fmt.Sprintf("%s priority %d", strings.ToUpper(s.SMState().String()), s.Priority())
}

// notice is a trap, or what a Report carries.
func (d decoder) notice(n *smp.Notice) string {
	from := fmt.Sprintf("trap %d from %s", n.TrapNumber(), d.node(d.lid(n.IssuerLID()).Node))
	switch n.TrapNumber() {
	case smp.TrapGIDInService, smp.TrapGIDOutOfService:
		return from + ": " + d.gid(n.Address().GID())
	case smp.TrapGroupCreated, smp.TrapGroupDeleted:
		return from + ": " + hex.EncodeToString(sliceOf(n.Address().GID()))
	case smp.TrapLinkState:
		return from + ": a link of " + d.node(d.lid(n.LinkState().LID()).Node)
	case smp.TrapLocalChange:
		c := n.LocalChange()
		return from + fmt.Sprintf(": CapabilityMask %#x, ChangeFlags %#x of %s",
			uint32(c.CapabilityMask()), uint16(c.ChangeFlags()), d.node(d.lid(c.LID()).Node))
	case smp.TrapBadMKey:
		k := n.BadMKey()
		return from + fmt.Sprintf(": M_Key %#x in %v of %s",
			uint64(k.MKey()), k.Method(), smp.AttrName(k.AttributeID()))
	}
	return from
}

func (d decoder) gid(g mad.GID) string {
	var guid mad.GUID
	for _, b := range g[8:] {
		guid = guid<<8 | mad.GUID(b)
	}
	return d.guid(guid)
}

func sliceOf(g mad.GID) []byte { return g[:] }

// record is the record of a packet of subnet administration.
func (d decoder) record(p *mad.Packet) string {
	data := p.SAData()
	switch p.AttrID() {
	case sarec.AttrMCMemberRecord:
		r := (*sarec.MCMemberRecord)(data[:])
		return fmt.Sprintf("%s for %s, JoinState %d, MLID %#x, P_Key %v",
			hex.EncodeToString(sliceOf(r.MGID())), d.gid(r.PortGID()), r.JoinState(), uint16(r.MLID()), r.PKey())
	case sarec.AttrInformInfo:
		r := (*sarec.InformInfo)(data[:])
		return fmt.Sprintf("trap %d, Subscribe %d", r.TrapNumber(), r.Subscribe())
	case sarec.AttrNotice:
		return d.notice((*smp.Notice)(data[:]))
	}
	return bare(data[:min(len(data), 64)])
}

// ranges writes numbers, in order, as ranges: 1-3,5.
func ranges(numbers []int) string {
	slices.Sort(numbers)
	numbers = slices.Compact(numbers)
	var out []string
	for i := 0; i < len(numbers); {
		j := i
		for j+1 < len(numbers) && numbers[j+1] == numbers[j]+1 {
			j++
		}
		if j > i {
			out = append(out, fmt.Sprintf("%d-%d", numbers[i], numbers[j]))
		} else {
			out = append(out, fmt.Sprint(numbers[i]))
		}
		i = j + 1
	}
	return strings.Join(out, ",")
}
