package manager

import (
	"fmt"

	"ibsm/mad"
	"ibsm/mad/smp"
	osmlog "ibsm/opensm/log"
	"ibsm/topo"
	"ibsm/view"
)

// logTrap logs a trap: of the first of a series each by itself, and then their number. badKey
// says between which ports it is about a wrong key, if it is.
func logTrap(fx *effects, d *mad.Datagram, v *view.View, count int, badKey string) {
	n, from := (*smp.Notice)(d.Packet.Data()), d.LID
	text := describe(n)
	if badKey != "" {
		text += ", " + badKey
	}
	if count > noisyCount {
		if isRound(count) {
			fx.log(warn, osmlog.TrapRepeated(count), "lid", from, "text", text)
		}
		return
	}
	fx.log(warn, osmlog.Trap(n, from, d.Packet.TID()), "text", text)
	if number := n.TrapNumber(); n.IsGeneric() && (number == smp.TrapBadPKey || number == smp.TrapBadQKey) {
		fx.log(warn, osmlog.BadKey(n))
	}
	logSender(fx, n, v, from)
}

// logSender logs where a trap came from, and that it is reported.
func logSender(fx *effects, n *smp.Notice, v *view.View, from mad.LID) {
	p := portOf(v, from)
	if p == topo.None {
		return
	}
	if route, ok := v.Topo.RouteTo(p); ok && n.IsGeneric() {
		fx.log(info, osmlog.TrapPath(n.TrapNumber(), route))
	}
	fx.log(info, osmlog.Reporting(n, v.Subnet.Prefix, v.Topo.Ports[p].GUID))
}

// portOf is the port that has a LID in a view, None if there is none. v may be nil.
func portOf(v *view.View, lid mad.LID) topo.PortIdx {
	if v == nil {
		return topo.None
	}
	return v.LIDs.PortOf(lid)
}

// portBehind is portOf, and for the LID of a vPort the port in front. v may be nil.
func portBehind(v *view.View, lid mad.LID) topo.PortIdx {
	p := portOf(v, lid)
	if p != topo.None || v == nil {
		return p
	}
	if i := v.Topo.VPorts.OfLID(lid); i != topo.None {
		return v.Topo.VPorts.At(i).Port
	}
	return topo.None
}

// isRound reports whether a number is 10, 20, 50, 100, 200 and so on.
func isRound(n int) bool {
	for n >= 10 && n%10 == 0 {
		n /= 10
	}
	return n == 1 || n == 2 || n == 5
}

// describeVPort is likewise one about vPorts.
func describeVPort(n *smp.Notice) string {
	switch number := n.TrapNumber(); number {
	case smp.TrapVPortLocalChange:
		d := n.VPortLocalChange()
		return fmt.Sprintf("1144 local change at vPort %d behind LID %v", d.VPortIndex(), d.LID())
	case smp.TrapVPortStateChange:
		return fmt.Sprintf("1146 state change of vPorts behind LID %v", n.VPortStateChange().LID())
	default:
		d := n.VPortBadKey()
		return fmt.Sprintf("%d bad key 0x%x from LID %v to LID %v, vPort %d", uint16(number), d.Key(), d.LID1(), d.LID2(),
			d.VPortIndex())
	}
}

// describe is a notice in a few words.
func describe(n *smp.Notice) string {
	if isOfVPorts(n) {
		return describeVPort(n)
	}
	if !n.IsGeneric() {
		return fmt.Sprintf("vendor notice %d", uint16(n.TrapNumber()))
	}
	number := n.TrapNumber()
	switch number {
	case smp.TrapLinkState:
		return fmt.Sprintf("128 link state change at switch LID %v", n.LinkState().LID())
	case smp.TrapLinkIntegrity, smp.TrapBufferOverrun, smp.TrapFlowControl:
		e := n.PortError()
		return fmt.Sprintf("%d errors at LID %v port %d", uint16(number), e.LID(), e.PortNum())
	case smp.TrapLocalChange:
		return fmt.Sprintf("144 local change at LID %v", n.LocalChange().LID())
	case smp.TrapSystemImageGUID:
		return fmt.Sprintf("145 SystemImageGUID of LID %v is %v", n.SystemImage().LID(),
			n.SystemImage().SystemImageGUID())
	case smp.TrapBadMKey:
		k := n.BadMKey()
		return fmt.Sprintf("256 bad M_Key from LID %v: %v of attribute %v", k.LID(), k.Method(), k.AttributeID())
	case smp.TrapBadPKey, smp.TrapBadQKey:
		k := n.BadKey()
		return fmt.Sprintf("%d bad key 0x%x from LID %v to LID %v", uint16(number), k.Key(), k.LID1(), k.LID2())
	case smp.TrapSwitchBadPKey:
		k := n.SwitchBadPKey()
		return fmt.Sprintf("259 bad P_Key %v from LID %v to LID %v at switch LID %v port %d", k.PKey(), k.LID1(),
			k.LID2(), k.SwitchLID(), k.PortNum())
	}
	return fmt.Sprintf("%d", uint16(number))
}
