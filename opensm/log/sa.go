package log

import (
	"fmt"
	"net/netip"

	"ibsm/mad"
	"ibsm/mad/smp"
)

// Formats of refused requests to subnet administration, in OpenSM's words. What is in them is in
// the order of OpenSM's: GUIDs and masks as numbers, GIDs and NodeDescriptions as text.
const (
	JoinComponents   = "osm_mcmr_rcv_process: ERR 1B18: component mask = 0x%016x, expected comp mask = 0x%016x, MGID: %v for PortGID: %v"
	JoinPrefix       = "mcmr_rcv_join_mgrp: ERR 1B40: PortGID subnet prefix 0x%x does not match configured prefix 0x%x"
	JoinNotFull      = "mcmr_rcv_join_mgrp: ERR 1B10: Failed to create multicast group because Join State != FullMember | SendOnlyFullMember - required for create, MGID: %v from port 0x%016x (%s)"
	JoinNoGroup      = "mcmr_rcv_join_mgrp: ERR 1B11: Port 0x%016x (%s) failed to join non-existing multicast group with MGID %v, insufficient components specified for implicit create (comp_mask 0x%x)"
	JoinUnlike       = "mcmr_rcv_join_mgrp: ERR 1B1A: validate_other_comp_fields failed for MGID: %v port 0x%016x (%s), sending IB_SA_MAD_STATUS_REQ_INVALID"
	JoinUnfit        = "mcmr_rcv_join_mgrp: ERR 1B12: validate_more_comp_fields, validate_port_caps, or JoinState = 0 failed for MGID: %v port 0x%016x (%s), sending IB_SA_MAD_STATUS_REQ_INVALID"
	JoinPartition    = "mcmr_rcv_join_mgrp: ERR 1B14: Cannot join port 0x%016x to MGID %v - Port is not in partition of this MC group"
	JoinNotPermitted = "mcmr_rcv_join_mgrp: ERR 1B13: validate_modify failed from port 0x%016x (%s) for MGID: %v, sending IB_SA_MAD_STATUS_REQ_INVALID"

	CreateNoBroadcast = "mcmr_rcv_create_new_mgrp: ERR 1B1B: Broadcast group %v not found, sending IB_SA_MAD_STATUS_REQ_INVALID"
	CreateUnlike      = "mcmr_rcv_create_new_mgrp: ERR 1B1C: validate_other_comp_fields failed for MGID: %v, sending IB_SA_MAD_STATUS_REQ_INVALID"
	CreateTerms       = "mcmr_rcv_create_new_mgrp: ERR 1B26: Requested MGRP parameters are not realizable"
	CreateNoMLID      = "mcmr_rcv_create_new_mgrp: ERR 1B19: get_new_mlid failed request mlid 0x%04x"
	MGIDPrefix        = "validate_requested_mgid: ERR 1B01: Invalid prefix 0x%04X in requested MGID, must be 0xFF"
	MGIDFlags         = "validate_requested_mgid: ERR 1B28: Requested MGID invalid, uses Reserved Flags: flags=0x%X"
	MGIDSignature     = "validate_requested_mgid: ERR 1B24: Requested MGID invalid, uses 0xA01B signature but with link-local scope"

	LeaveComponents = "osm_mcmr_rcv_process: ERR 1B20: component mask = 0x%016x, expected comp mask = 0x%016x"
	LeavePrefix     = "mcmr_rcv_leave_mgrp: ERR 1B41: PortGID subnet prefix 0x%x does not match configured prefix 0x%x"
	LeaveInvalid    = "mcmr_rcv_leave_mgrp: ERR 1B25: Received an invalid delete request for MGID: %v for PortGID: %v"

	InformGUID      = "validate_ports_access_rights: ERR 4301: Invalid port guid: 0x%016x"
	InformLIDs      = "validate_ports_access_rights: ERR 4302: Given LIDs (%d-%d) are out of range (%d)"
	InformInvalid   = "infr_rcv_process_set_method: ERR 4305: Failed to validate a new inform object"
	InformNoRoom    = "infr_rcv_process_set_method: ERR 4306: Failed to create a new inform object"
	InformUnknown   = "infr_rcv_process_set_method: ERR 4307: Failed to UnSubscribe to non existing inform object"
	InformSubscribe = "infr_rcv_process_set_method: ERR 430A: Invalid subscribe: %d"
	InformSecurity  = "infr_rcv_process_set_method: ERR 430B Request for security trap from non-trusted requester: Given SM_Key:0x%016x"

	ServiceGUID   = "match_service_pkey_with_ports_pkey: ERR 2405: No port object for port 0x%016x"
	ServiceNoRoom = "sr_rcv_process_set_method: ERR 2411: Failed to create new service record"

	GUIDsDeleteBlock = "del_guidinfo: ERR 5116: block_num %d is higher than Max GUID Cap block %d for port GUID 0x%x"
	GUIDsSetBlock    = "set_guidinfo: ERR 5118: block_num %d is higher than Max GUID Cap block %d for port GUID 0x%x"
	GUIDsTaken       = "set_guidinfo: ERR 5108: Duplicate alias port GUID 0x%x index %d base port GUID 0x%x, alias GUID already assigned to base port GUID 0x%x"

	PathPKey       = "pr_rcv_get_path_parms: ERR 1F1A: Ports 0x%016x (%s port %d) and 0x%016x (%s port %d) do not share specified PKey 0x%04x"
	PathNoPKey     = "pr_rcv_get_path_parms: ERR 1F1B: Ports src 0x%016x (%s port %d) and dst 0x%016x (%s port %d) do not have any shared PKeys"
	PathLevelPKey  = "pr_rcv_get_path_parms: ERR 1F1D: QoS level \"%s\" doesn't define specified PKey 0x%04x for ports 0x%016x (%s port %d) and 0x%016x (%s port %d)"
	PathNoLevelKey = "pr_rcv_get_path_parms: ERR 1F1E: Ports 0x%016x (%s) and 0x%016x (%s) do not share PKeys defined by QoS level \"%s\""
	PathLevelSL    = "pr_rcv_get_path_parms: ERR 1F1F: QoS constraints: required PathRecord SL (%d) doesn't match QoS policy \"%s\" SL (%d) [%s port %d <-> %s port %d]"
	PathVL15       = "pr_rcv_get_path_parms: ERR 1F24: Selected SL (%d) leads to VL15 [%s port %d <-> %s port %d]"
	PathNoMGroup   = "pr_process_multicast: ERR 1F09: No MC group found for PathRecord destination GID %v"
)

// Values of a group that a request has otherwise: the one asked for, and the group's.
const (
	UnlikeQKey      = "validate_other_comp_fields: ERR 1B30: Q_Key mismatch: query 0x%x group 0x%x"
	UnlikeLimited   = "validate_other_comp_fields: ERR 1B31: Both limited P_Keys: query 0x%x group 0x%x"
	UnlikePKey      = "validate_other_comp_fields: ERR 1B32: P_Key base mismatch: query 0x%x group 0x%x"
	UnlikeTClass    = "validate_other_comp_fields: ERR 1B33: TClass mismatch: query %d group %d"
	UnlikeSL        = "validate_other_comp_fields: ERR 1B34: SL mismatch: query %d group %d"
	UnlikeFlowLabel = "validate_other_comp_fields: ERR 1B35: FlowLabel mismatch: query 0x%x group 0x%x"
	UnlikeHopLimit  = "validate_other_comp_fields: ERR 1B36: Hop mismatch: query %d group %d"
)

// Refused says, in words of our own, why a request is refused that OpenSM refuses without a line.
func Refused(method mad.Method, attr string, guid uint64, desc, cause string) string {
	return fmt.Sprintf("SA request refused: %v of %s from port 0x%016x (%s): %s", method, attr, guid, desc, cause)
}

// Dropped says, in words of our own, why a request gets no answer. guid is 0, and desc empty, where no port
// has the LID that it came from.
func Dropped(method mad.Method, attr string, guid uint64, desc, cause string) string {
	return fmt.Sprintf(
		"SA request dropped: %v of %s from port 0x%016x (%s): %s; further ones are counted (ibsmctl security offenders)", method, attr, guid, desc, cause)
}

// ReportingGroup says that the reports of trap 66 or 67 go out: a group was created or deleted.
func ReportingGroup(n smp.TrapNumber, mgid mad.GID) string {
	return fmt.Sprintf("log_notice: Reporting Informational Notice \"%s\", MGID:%v", trapName(n),
		netip.AddrFrom16(mgid))
}
