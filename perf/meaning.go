package perf

import "ibsm/mad/pma"

// Meaning is what it means that an error counter rises, and what to do.
type Meaning struct {
	Counter pma.Counter
	Means   string
	Do      string
}

// Meanings are those of all counters that say that something is wrong, the gravest first.
func Meanings() []Meaning { return meanings[:] }

var meanings = [...]Meaning{
	{pma.LinkDownedCounter, "the link failed and went down",
		"without a reboot at either end: reseat or replace the cable, then try another port"},
	{pma.LinkErrorRecoveryCounter, "the link lost its lock and was retrained; packets waited",
		"clean, reseat or replace the cable at this port"},
	{pma.LocalLinkIntegrityErrors, "this port saw more physical errors in a short time than its threshold",
		"clean, reseat or replace the cable at this port"},
	{pma.SymbolErrorCounter, "bits arrived wrong at this port",
		"if they go on: clean, reseat or replace the cable at this port; a few after a link came up are usual"},
	{pma.PortRcvErrors, "packets arrived damaged at this port",
		"as SymbolErrorCounter; without symbol errors look at the sender at the other end of this link"},
	{pma.PortRcvRemotePhysicalErrors, "packets arrived that a port before had marked as damaged",
		"leave this cable alone: look for the port with SymbolErrorCounter or PortRcvErrors on the way of these packets"},
	{pma.ExcessiveBufferOverrunErrors, "more arrived than this port had buffers for: flow control is disturbed",
		"look for bit errors on this link; update the firmware of both ends"},
	{pma.PortXmitDiscards, "packets were dropped because they waited too long, or the port was down",
		"look for congestion: PortXmitWait here, and a slow host behind this port"},
	{pma.PortRcvSwitchRelayErrors, "the switch had no route or the wrong port for a packet",
		"often harmless: multicast to the own port; if it rises quickly, ibsmctl why for hosts on this port"},
	{pma.PortXmitConstraintErrors, "packets were not sent, because of their P_Key",
		"ibsmctl why with both hosts; look for a host with old P_Keys"},
	{pma.PortRcvConstraintErrors, "packets were dropped, because of their P_Key",
		"ibsmctl why with both hosts; look for a host with old P_Keys"},
	{pma.VL15Dropped, "management packets found no buffer",
		"usual in small numbers; if it rises quickly, fewer max_wire_smps, or look for a program that floods"},
	{pma.QP1Dropped, "general management packets found no buffer",
		"look for a program that floods subnet administration or reads counters too often"},
	{pma.PortXmitWait, "the port had data to send and no credits: congestion",
		"no fault of the cable: follow the waiting ports towards the host or link that is too slow"},
}

// MeaningOf is that of a counter; ok is false for one that only counts data.
func MeaningOf(c pma.Counter) (m Meaning, ok bool) {
	for _, m := range meanings {
		if m.Counter == c {
			return m, true
		}
	}
	return Meaning{}, false
}
