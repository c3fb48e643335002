package sa

import "ibsm/mad/sarec"

// Requests go to QP1 with its well-known Q_Key (IBA 13.4.8.1).
const (
	generalServicesQP   = 1
	generalServicesQKey = 0x80010000
)

// classPortInfo has the capabilities of this SA.
func (a *Responder) classPortInfo(res *result) {
	var c sarec.ClassPortInfo
	c.SetBaseVersion(1)
	c.SetClassVersion(2)
	can := sarec.IsMultiPathSupported | sarec.IsPortInfoCapMaskMatchSupported
	if !a.view.Subnet.NoMulticast {
		can |= sarec.IsUDMulticastSupported
	}
	c.SetCapabilityMask(can)
	c.SetCapabilityMask2(sarec.IsMulticastTopSupported | sarec.IsAdditionalGUIDSupported |
		sarec.IsFullPortInfoRecordSupported | sarec.IsExtendedSpeedsSupported |
		sarec.IsMulticastServiceRecordSupported | sarec.IsPortInfoCapMask2MatchSupported |
		sarec.IsSendOnlyFullMemberSupported |
		sarec.IsLinkWidth2xSupported | sarec.IsLinkSpeedHDRSupported | sarec.IsLinkSpeedNDRSupported)
	c.SetRespTimeValue(a.view.Subnet.RespTimeValue)
	c.SetRedirectQP(generalServicesQP)
	c.SetRedirectQKey(generalServicesQKey)
	c.SetTrapQKey(generalServicesQKey)
	res.add(c[:])
}
