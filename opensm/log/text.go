package log

import (
	"cmp"
	"fmt"

	"ibsm/mad"
	"ibsm/mad/smp"
)

// Texts of events whose words are OpenSM's, to the byte: scripts and alerts look for
// them. The name of a function of OpenSM's that many begin with is a part of them.
const (
	SubnetUp   = "SUBNET UP"
	InitErrors = "Errors during initialization"
	PortIsDown = "SM port is down"
	PortIsUp   = "SM port is up"
	Exiting    = "Exiting SM"

	LightSweep     = "INITIATING LIGHT SWEEP"
	LightSweepDone = "LIGHT SWEEP COMPLETE"
	HeavySweep     = "INITIATING HEAVY SWEEP"
	HeavySweepDone = "HEAVY SWEEP COMPLETE"
	LIDsAssigned   = "LID ASSIGNMENT COMPLETE - STARTING SWITCH TABLE CONFIG"
	StandingBy     = "ENTERING STANDBY STATE"

	PartitionsInError = "osm_prtn_make_partitions: Partition configuration in error"
	BindFailed        = "osm_sm_bind: ERR 2E10: SM MAD Controller bind failed (IB_ERROR)"

	ConsoleClosed = "osm_console_exit: Closing console socket"
)

// Entering says that the manager has come to another state.
func Entering(s smp.SMState) string {
	if s == smp.NotActive {
		return "Entering NOTACTIVE state"
	}
	return fmt.Sprintf("Entering %v state", s)
}

// Binding says that packets of a management class are taken at a port.
func Binding(class mad.Class, port mad.GUID) string {
	return fmt.Sprintf("osm_vendor_bind: Mgmt class 0x%02x binding to port GUID 0x%x", uint8(class), uint64(port))
}

// SettingIsSM says that a port is to show that a subnet manager runs there.
func SettingIsSM(port mad.GUID) string {
	return fmt.Sprintf("osm_opensm_bind: Setting IS_SM on port 0x%016x", uint64(port))
}

// ConsoleListening says that the console takes clients.
func ConsoleListening(port int) string {
	return fmt.Sprintf("osm_console_init: Console listening on port %d", port)
}

// ConsoleFailed says that it cannot.
func ConsoleFailed(err error) string {
	return fmt.Sprintf("osm_console_init: ERR 4B02: Failed to bind console socket: %v", err)
}

// DiscoveredPort says that an end port has come since the last sweep.
func DiscoveredPort(guid mad.GUID, first, last mad.LID, name string) string {
	return fmt.Sprintf(
		"state_mgr_report_new_ports: Discovered new port with GUID:0x%016x LID range [%d,%d] of node: %v",
		uint64(guid), first, last, name)
}

// RemovedPort says that one has gone.
func RemovedPort(guid mad.GUID, first, last mad.LID, name string) string {
	return fmt.Sprintf("drop_mgr_remove_port: Removed port with GUID:0x%016x LID range [%d, %d] of node:%v",
		uint64(guid), first, last, name)
}

// Trap logs a notice that arrived as a trap from a LID.
func Trap(n *smp.Notice, from mad.LID, tid mad.TID) string {
	if !n.IsGeneric() {
		return fmt.Sprintf("log_trap_info: Received Vendor Notice type:%d vend:0x%06X dev:%d from LID:%d TID:0x%016x",
			uint8(n.Type()), n.VendorID(), uint16(n.TrapNumber()), from, uint64(tid))
	}
	port := ""
	switch n.TrapNumber() {
	case smp.TrapLinkIntegrity, smp.TrapBufferOverrun, smp.TrapFlowControl:
		port = fmt.Sprintf(" Port %d", n.PortError().PortNum())
	}
	return fmt.Sprintf(
		"log_trap_info: Received Generic Notice type:%d num:%d (%s) Producer:%d (%s) from LID:%d%s TID:0x%016x",
		uint8(n.Type()), uint16(n.TrapNumber()), trapName(n.TrapNumber()), uint32(n.ProducerType()),
		cmp.Or(producerNames[n.ProducerType()], "UNKNOWN"), from, port, uint64(tid))
}

// BadKey logs the contents of trap 257 or 258.
func BadKey(n *smp.Notice) string {
	k, letter := n.BadKey(), "P"
	if n.TrapNumber() == smp.TrapBadQKey {
		letter = "Q"
	}
	return fmt.Sprintf("log_trap_info: Bad %s_Key:0x%x on SL:%d from LID1:%d QP1:0x%x to LID2:%d QP2:0x%x",
		letter, k.Key(), k.SL(), k.LID1(), k.QP1(), k.LID2(), k.QP2())
}

// TrapRepeated says that the same trap keeps coming.
func TrapRepeated(times int) string {
	return fmt.Sprintf("trap_rcv_process_request: ERR 3804: Received trap %d times consecutively", times)
}

// TrapSweep says that a trap has asked for a heavy sweep.
func TrapSweep(n smp.TrapNumber) string {
	return fmt.Sprintf("trap_rcv_process_request: Forcing heavy sweep. Received trap:%d", uint16(n))
}

var trapNames = map[smp.TrapNumber]string{
	smp.TrapGIDInService:    "GID in service",
	smp.TrapGIDOutOfService: "GID out of service",
	smp.TrapGroupCreated:    "New mcast group created",
	smp.TrapGroupDeleted:    "Mcast group deleted",
	smp.TrapUnpath:          "UnPath, Path no longer valid",
	smp.TrapRepath:          "RePath, Path recomputed",
	smp.TrapLinkState:       "Link state change",
	smp.TrapLinkIntegrity:   "Local Link integrity threshold reached",
	smp.TrapBufferOverrun:   "Excessive Buffer Overrun Threshold reached",
	smp.TrapFlowControl:     "Flow Control Update watchdog timer expired",
	smp.TrapLocalChange:     "CapabilityMask, NodeDescription, Link [Width|Speed] Enabled, SM priority changed",
	smp.TrapSystemImageGUID: "System Image GUID changed",
	smp.TrapBadMKey:         "Bad M_Key",
	smp.TrapBadPKey:         "Bad P_Key",
	smp.TrapBadQKey:         "Bad Q_Key",
	smp.TrapSwitchBadPKey:   "Bad P_Key (switch external port)",
}

// trapName is OpenSM's name of a trap.
func trapName(n smp.TrapNumber) string { return cmp.Or(trapNames[n], "Unknown") }

var producerNames = map[smp.ProducerType]string{
	smp.ProducerCA:           "Channel Adapter",
	smp.ProducerSwitch:       "Switch",
	smp.ProducerRouter:       "Router",
	smp.ProducerClassManager: "Class Manager",
}
