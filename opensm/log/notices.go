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

// Reporting says that a notice goes to those who have subscribed to it. The GUID is
// that of the port that sent it.
func Reporting(n *smp.Notice, guid mad.GUID) string {
	head := func(kind, from string) string {
		return fmt.Sprintf("log_notice: Reporting %s Notice \"%s\" from %sLID %d, GUID 0x%016x", kind, trapName(n.TrapNumber()), from, n.IssuerLID(), uint64(guid))
	}
	if !n.IsGeneric() {
		return fmt.Sprintf("log_notice: Reporting Vendor Notice type:%d vend:%d dev:%d from LID:%d", uint8(n.Type()), n.VendorID(), uint16(n.TrapNumber()), n.IssuerLID())
	}
	switch n.TrapNumber() {
	case smp.TrapLinkState:
		return head("Urgent", "switch ")
	case smp.TrapLinkIntegrity, smp.TrapBufferOverrun, smp.TrapFlowControl:
		return head("Urgent", "") + fmt.Sprintf(", port %d", n.PortError().PortNum())
	case smp.TrapLocalChange:
		d := n.LocalChange()
		if d.OtherLocalChanges() {
			return head("Informational", "") + fmt.Sprintf(", ChangeFlags 0x%04x, CapabilityMask2 0x%04x", uint16(d.ChangeFlags()), uint16(d.CapabilityMask2()))
		}
		return head("Informational", "") + fmt.Sprintf(", new CapabilityMask 0x%08x", uint32(d.CapabilityMask()))
	case smp.TrapSystemImageGUID:
		return head("Informational", "") + fmt.Sprintf(", new SysImageGUID 0x%016x", uint64(n.SystemImage().SystemImageGUID()))
	case smp.TrapBadMKey, smp.TrapBadPKey, smp.TrapBadQKey:
		return head("Security", "")
	case smp.TrapSwitchBadPKey:
		return head("Security", "switch ")
	}
	return fmt.Sprintf("log_notice: Reporting Generic Notice type:%d num:%d (%s) from LID:%d",
		uint8(n.Type()), uint16(n.TrapNumber()), trapName(n.TrapNumber()), n.IssuerLID())
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
		fmt.Sprintf("log_send_error: ERR 5411: DR SMP Send completed with error (IB_TIMEOUT) -- dropping\n\t\tMethod 0x1, Attr 0x%x", uint16(attr)),
		fmt.Sprintf("Received SMP on a %d hop path: Initial path = %v, Return path  = 0%s", route.Hops(), route, strings.Repeat(",0", route.Hops())),
		fmt.Sprintf("sm_mad_ctrl_send_err_cb: ERR 3113: MAD completed in error (IB_TIMEOUT): SubnGet(%s), attr_mod 0x%x", smp.AttrName(attr), mod),
		fmt.Sprintf("sm_mad_ctrl_send_err_cb: ERR 3120: Timeout while getting attribute 0x%x (%s); Possible mis-set mkey?", uint16(attr), smp.AttrName(attr)),
	}
}
