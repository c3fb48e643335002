package plan

import (
	"fmt"
	"strings"

	"ibsm/mad"
	"ibsm/mad/smp"
)

// changes are the managed fields in which a port differs from the wanted PortInfo, as
// "name old -> new". An M_Key is never shown.
func changes(is, w *smp.PortInfo) (out []string) {
	field := func(name string, a, b any) {
		if a != b {
			out = append(out, fmt.Sprintf("%s %v -> %v", name, a, b))
		}
	}
	field("LID", is.LID(), w.LID())
	field("LMC", is.LMC(), w.LMC())
	field("MasterSMLID", is.MasterSMLID(), w.MasterSMLID())
	field("MasterSMSL", is.MasterSMSL(), w.MasterSMSL())
	field("GidPrefix", is.GidPrefix(), w.GidPrefix())
	field("SubnetTimeOut", is.SubnetTimeOut(), w.SubnetTimeOut())
	field("M_KeyLeasePeriod", is.MKeyLeasePeriod(), w.MKeyLeasePeriod())
	field("M_KeyProtectBits", is.MKeyProtectBits(), w.MKeyProtectBits())
	field("LinkDownDefaultState", uint8(is.LinkDownDefaultState()), uint8(w.LinkDownDefaultState()))
	field("NeighborMTU", mtuText(is.NeighborMTU()), mtuText(w.NeighborMTU()))
	field("OperationalVLs", is.OperationalVLs(), w.OperationalVLs())
	field("VLHighLimit", is.VLHighLimit(), w.VLHighLimit())
	field("LinkWidthEnabled", uint8(is.LinkWidthEnabled()), uint8(w.LinkWidthEnabled()))
	field("LinkSpeedEnabled", is.LinkSpeedEnabled(), w.LinkSpeedEnabled())
	field("LinkSpeedExtEnabled", is.LinkSpeedExtEnabled(), w.LinkSpeedExtEnabled())
	field("HOQLife", is.HOQLife(), w.HOQLife())
	field("VLStallCount", is.VLStallCount(), w.VLStallCount())
	field("PartitionEnforcementInbound", is.PartitionEnforcementInbound(), w.PartitionEnforcementInbound())
	field("PartitionEnforcementOutbound", is.PartitionEnforcementOutbound(), w.PartitionEnforcementOutbound())
	field("LocalPhyErrors", is.LocalPhyErrors(), w.LocalPhyErrors())
	field("OverrunErrors", is.OverrunErrors(), w.OverrunErrors())
	if is.MKey() != w.MKey() {
		out = append(out, "M_Key")
	}
	return out
}

func mtuText(m mad.MTU) string {
	if m.Bytes() == 0 {
		return fmt.Sprintf("code %d", uint8(m))
	}
	return fmt.Sprint(m.Bytes())
}

// Fields names the managed fields in which bits are set, for a message.
func Fields(bits *smp.PortInfo) (names []string) {
	var zero smp.PortInfo
	for _, c := range changes(&zero, bits) {
		name, _, _ := strings.Cut(c, " ")
		names = append(names, name)
	}
	return names
}
