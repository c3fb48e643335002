package perf

import "ibsm/mad/pma"

// Meaning explains an error counter that rises, and gives advice.
type Meaning struct {
	Counter pma.Counter
	Means   string
	Do      string
}

// Meanings are those of all error counters, the gravest first.
func Meanings() []Meaning { return meanings[:] }

var meanings = [...]Meaning{
	{pma.LinkDownedCounter, "the link failed and went down",
		"without a reboot at either end: reseat or replace the cable, then try another port"},
	{pma.LinkErrorRecoveryCounter, "the link lost its lock and was retrained; packets waited",
		"clean, reseat or replace the cable at this port"},
	{pma.LocalLinkIntegrityErrors, "this port saw more physical errors in a short time than its threshold",
		"clean, reseat or replace the cable at this port"},
	{pma.SymbolErrorCounter, "bits arrived wrong at this port",
		"a few after a link came up are normal; if they continue: clean, reseat or replace the cable at this port"},
	{pma.PortRcvErrors, "packets arrived damaged at this port",
		"as for SymbolErrorCounter; without symbol errors, check the sender at the other end of this link"},
	{pma.PortRcvRemotePhysicalErrors, "packets arrived that an earlier port had marked as damaged",
		"this cable is not the cause: look for an earlier port on the route with SymbolErrorCounter or PortRcvErrors"},
	{pma.ExcessiveBufferOverrunErrors, "more data arrived than this port had buffers for: flow control is disturbed",
		"look for bit errors on this link; update the firmware of both ends"},
	{pma.PortXmitDiscards, "packets were dropped because they waited too long, or the port was down",
		"look for congestion: PortXmitWait at this port, and a slow host behind it"},
	{pma.PortRcvSwitchRelayErrors, "the switch had no route or the wrong port for a packet",
		"often harmless: multicast that would go back to the port it came from; if it rises quickly, run ibsmctl why for the hosts on this port"},
	{pma.PortXmitConstraintErrors, "packets were not sent because of their P_Key",
		"run ibsmctl why with both hosts; look for a host with old P_Keys"},
	{pma.PortRcvConstraintErrors, "packets were dropped because of their P_Key",
		"run ibsmctl why with both hosts; look for a host with old P_Keys"},
	{pma.VL15Dropped, "management packets (SMPs) found no buffer",
		"normal in small numbers; if it rises quickly, lower max_wire_smps, or look for a program that floods the port with management packets"},
	{pma.QP1Dropped, "packets to queue pair 1 (general management) found no buffer",
		"look for a program that floods subnet administration or reads counters too often"},
	{pma.PortXmitWait, "the port had data to send and no credits: congestion",
		"the cable is not at fault: follow the waiting ports towards the host or link that is too slow"},
}

// MeaningOf is the meaning of a counter; ok is false if it only counts data.
func MeaningOf(c pma.Counter) (m Meaning, ok bool) {
	for _, m := range meanings {
		if m.Counter == c {
			return m, true
		}
	}
	return Meaning{}, false
}
