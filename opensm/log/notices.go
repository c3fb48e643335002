package log

import (
	"fmt"
	"net/netip"
	"strings"

	"ibsm/mad"
	"ibsm/mad/smp"
)

// TrapPath logs the path to the sender of a trap.
func TrapPath(n smp.TrapNumber, route mad.Route) string {
	return fmt.Sprintf("SM class trap %d: Directed Path Dump of %d hop path: Path = %v", uint16(n), route.Hops(), route)
}

// Reporting says that a notice goes to its subscribers. The GUID is
// that of the port that sent it, at a subnet with the prefix.
func Reporting(n *smp.Notice, prefix mad.Prefix, guid mad.GUID) string {
	gid := netip.AddrFrom16(mad.MakeGID(prefix, guid))
	head := func(kind, from string) string {
		return fmt.Sprintf("log_notice: Reporting %s Notice \"%s\" from %sLID %d, GUID 0x%016x", kind,
			trapName(n.TrapNumber()), from, n.IssuerLID(), uint64(guid))
	}
	if !n.IsGeneric() {
		return fmt.Sprintf("log_notice: Reporting Vendor Notice type:%d vend:%d dev:%d from LID:%d GID:%v",
			uint8(n.Type()), n.VendorID(), uint16(n.TrapNumber()), n.IssuerLID(), gid)
	}
	switch n.TrapNumber() {
	case smp.TrapLinkState:
		return head("Urgent", "switch ")
	case smp.TrapLinkIntegrity, smp.TrapBufferOverrun, smp.TrapFlowControl:
		return head("Urgent", "") + fmt.Sprintf(", port %d", n.PortError().PortNum())
	case smp.TrapLocalChange:
		d := n.LocalChange()
		if d.OtherLocalChanges() {
			return head("Informational", "") + fmt.Sprintf(", ChangeFlags 0x%04x, CapabilityMask2 0x%04x",
				uint16(d.ChangeFlags()), uint16(d.CapabilityMask2()))
		}
		return head("Informational", "") + fmt.Sprintf(", new CapabilityMask 0x%08x", uint32(d.CapabilityMask()))
	case smp.TrapSystemImageGUID:
		return head("Informational", "") + fmt.Sprintf(", new SysImageGUID 0x%016x",
			uint64(n.SystemImage().SystemImageGUID()))
	case smp.TrapBadMKey:
		k := n.BadMKey()
		return head("Security", "") + fmt.Sprintf(", Method 0x%x, Attribute 0x%x, AttrMod 0x%x, M_Key 0x%016x",
			uint8(k.Method()), uint16(k.AttributeID()), k.AttributeModifier(), uint64(k.MKey()))
	case smp.TrapBadPKey, smp.TrapBadQKey:
		k, name := n.BadKey(), "P_Key"
		if n.TrapNumber() == smp.TrapBadQKey {
			name = "Q_Key"
		}
		return head("Security", "") +
			fmt.Sprintf(" : LID1 %d, LID2 %d, %s 0x%x, SL %d, QP1 0x%x, QP2 0x%x, GID1 %s, GID2 %s",
				k.LID1(), k.LID2(), name, k.Key(), k.SL(), k.QP1(), k.QP2(), netip.AddrFrom16(k.GID1()),
				netip.AddrFrom16(k.GID2()))
	case smp.TrapSwitchBadPKey:
		k := n.SwitchBadPKey()
		return head("Security", "switch ") +
			fmt.Sprintf(
				" port %d : data_valid 0x%04x, LID1 %d, LID2 %d, PKey 0x%04x, SL %d, QP1 0x%x, QP2 0x%x, GID1 %s, GID2 %s",
				k.PortNum(), uint16(k.DataValid()), k.LID1(), k.LID2(), uint16(k.PKey()), k.SL(), k.QP1(), k.QP2(),
				netip.AddrFrom16(k.GID1()), netip.AddrFrom16(k.GID2()))
	}
	return fmt.Sprintf("log_notice: Reporting Generic Notice type:%d num:%d (%s) from LID:%d GID:%v",
		uint8(n.Type()), uint16(n.TrapNumber()), trapName(n.TrapNumber()), n.IssuerLID(), gid)
}

// ReportingGID says that the reports of trap 64 or 65 go out: a port has come or gone.
func ReportingGID(n smp.TrapNumber, prefix mad.Prefix, guid mad.GUID) string {
	gid := mad.MakeGID(prefix, guid)
	return fmt.Sprintf("log_notice: Reporting Informational Notice \"%s\", GID:%v", trapName(n), netip.AddrFrom16(gid))
}

// Unanswered logs a directed route Get without a response, in the
// messages, all errors, that OpenSM writes for it.
func Unanswered(attr mad.AttrID, mod uint32, route mad.Route) []string {
	return []string{
		fmt.Sprintf(
			"log_send_error: ERR 5411: DR SMP Send completed with error (IB_TIMEOUT) -- dropping\n\t\tMethod 0x1, Attr 0x%x", uint16(attr)),
		fmt.Sprintf("Received SMP on a %d hop path: Initial path = %v, Return path  = 0%s", route.Hops(), route,
			strings.Repeat(",0", route.Hops())),
		fmt.Sprintf(
			"sm_mad_ctrl_send_err_cb: ERR 3113: MAD completed in error (IB_TIMEOUT): SubnGet(%s), attr_mod 0x%x",
			smp.AttrName(attr), mod),
		fmt.Sprintf(
			"sm_mad_ctrl_send_err_cb: ERR 3120: Timeout while getting attribute 0x%x (%s); Possible mis-set mkey?",
			uint16(attr), smp.AttrName(attr)),
	}
}
