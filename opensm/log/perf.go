package log

import (
	"fmt"

	"ibsm/mad"
	"ibsm/mad/pma"
)

// CountersCleared says that what ports have counted counts from zero.
const CountersCleared = "PerfMgr counters cleared"

// PerfPort is a port in lines about counters.
type PerfPort struct {
	Name string // of its node
	Node mad.GUID
	Num  uint8
}

// perfErrors are OpenSM's numbers of lines about error counters.
var perfErrors = map[pma.Counter]string{
	pma.SymbolErrorCounter: "5431", pma.LinkErrorRecoveryCounter: "5432", pma.LinkDownedCounter: "5433",
	pma.PortRcvErrors:               "5434",
	pma.PortRcvRemotePhysicalErrors: "5435", pma.PortRcvSwitchRelayErrors: "5436", pma.PortXmitDiscards: "5437",
	pma.PortXmitConstraintErrors: "5438", pma.PortRcvConstraintErrors: "5439", pma.LocalLinkIntegrityErrors: "543A",
	pma.ExcessiveBufferOverrunErrors: "543B", pma.VL15Dropped: "543C",
}

// ErrorsCounted says that an error counter of a port has risen. far is the other end of its link,
// nil if there is none.
func ErrorsCounted(c pma.Counter, n uint64, at PerfPort, far *PerfPort) string {
	text := fmt.Sprintf("perfmgr_log_errors: ERR %s: %v : %d : node \"%s\" (NodeGUID: 0x%x) : port %d",
		perfErrors[c], c, n, at.Name, uint64(at.Node), at.Num)
	if far != nil {
		text += fmt.Sprintf(" connected to \"%s\" (NodeGUID: 0x%x) : port %d", far.Name, uint64(far.Node), far.Num)
	}
	return text
}

// Waited says that PortXmitWait of a port has risen.
func Waited(n uint64, at PerfPort) string {
	return fmt.Sprintf("perfmgr_log_errors: ERR 543D: XmitWait : %d : node \"%s\" (NodeGUID: 0x%x) : port %d", n,
		at.Name, uint64(at.Node), at.Num)
}

// ClearedByOther says that somebody else has reset counters of a port.
func ClearedByOther(which pma.Counters, at PerfPort) string {
	if which != 0 && which&^pma.ExtendedCounters == 0 {
		return fmt.Sprintf(
			"perfmgr_check_data_cnt_oob_clear: PerfMgr: ERR 540B: Detected an out of band data counter clear on node %s (0x%x) port %d", at.Name, uint64(at.Node), at.Num)
	}
	return fmt.Sprintf(
		"perfmgr_check_oob_clear: PerfMgr: ERR 540A: Detected an out of band error clear on %s (0x%x) port %d", at.Name,
		uint64(at.Node), at.Num)
}

// NoCounters says that the agent of a port did not answer.
func NoCounters(at PerfPort) string {
	return fmt.Sprintf("perfmgr_mad_send_err_callback: ERR 5402: %s (0x%x) port %d", at.Name, uint64(at.Node), at.Num)
}

// NotMonitored says that a node has gone.
func NotMonitored(name string, node mad.GUID) string {
	return fmt.Sprintf(
		"perfmgr_query_counters: ERR 5407: Node \"%s\" (guid 0x%x) no longer exists so removing from PerfMgr monitoring", name, uint64(node))
}
