package console

import (
	"cmp"
	"slices"

	"ibsm/mad/smp"
	"ibsm/view"
)

func (s *Session) status(args []string) {
	if len(args) > 0 && args[0] != "loop" {
		s.describe(s.find("status"))
		return
	}
	if len(args) > 0 {
		s.printf("Looping on status command...\n")
		s.state = looping
	}
	s.printStatus()
	if s.state == looping {
		s.loopHint()
	}
}

func (s *Session) printStatus() {
	st := s.daemon.Status()
	s.printf("   OpenSM Version       : %s\n", s.daemon.Version)
	s.printf("   SM State             : %s\n", stateName(st.State))
	s.printf("   SM Priority          : %d\n", st.Priority)
	s.printf("   SA State             : %s\n", pick(st.Ready, "Ready", "Init"))
	s.printf("   Routing Engine       : %s\n", cmp.Or(st.Engine, "none"))
	s.printf("   Loaded event plugins : <none>\n")
	perf := s.daemon.PerfMgr.Status()
	s.printf("\n   PerfMgr state/sweep state : %s/%s\n", pick(perf.Enabled, "Enabled", "Disabled"),
		pick(perf.Sweeping, "Active", "Sleeping"))
	s.printf("\n   MAD stats\n   ---------\n")
	for _, row := range []struct {
		label string
		n     uint64
	}{
		{"QP0 MADs outstanding          ", uint64(st.SMPs.Outstanding)},
		{"QP0 MADs outstanding (on wire)", uint64(st.SMPs.OnWire)},
		{"QP0 MADs rcvd                 ", st.SMPs.Received},
		{"QP0 MADs sent                 ", st.SMPs.Sent},
		{"QP0 unicasts sent             ", st.SMPs.Unicast},
		{"QP0 unknown MADs rcvd         ", st.SMPs.Unknown},
		{"SA MADs outstanding           ", uint64(st.SA.Outstanding)},
		{"SA MADs rcvd                  ", st.SA.Received},
		{"SA MADs sent                  ", st.SA.Sent},
		{"SA unknown MADs rcvd          ", st.SA.Unknown},
		{"SA MADs ignored               ", st.SA.Ignored},
	} {
		s.printf("   %s : %d\n", row.label, row.n)
	}
	s.printf("\n   Subnet flags\n   ------------\n")
	s.printf("   Sweeping enabled               : %d\n", truth(st.Sweeping))
	s.printf("   Sweep interval (seconds)       : %d\n", int64(st.SweepInterval.Seconds()))
	s.printf("   Ignore existing lfts           : 0\n")
	s.printf("   Subnet Init errors             : %d\n", truth(st.InitErrors))
	s.printf("   In sweep hop 0                 : 0\n")
	s.printf("   First time master sweep        : %d\n", truth(st.FirstSweep))
	s.printf("   Coming out of standby          : %d\n", truth(st.FromStandby))
	s.printf("\n   Known SMs\n   ---------\n")
	s.printf("   Port GUID       SM State    Priority\n   ---------       --------    --------\n")
	for i, sm := range smsInOrder(st.SMs) {
		s.printf("   0x%x %s %d%s\n", uint64(sm.GUID), stateName(smp.SMState(sm.State)), sm.Priority,
			pick(i == 0, "        SELF", ""))
	}
	s.printf("\n")
}

// smsInOrder are this manager, which is the first, and the others in the order of
// OpenSM's lists.
func smsInOrder(sms []view.SM) []view.SM {
	sms = slices.Clone(sms)
	if len(sms) > 1 {
		slices.SortFunc(sms[1:], func(a, b view.SM) int { return compareGUIDs(a.GUID, b.GUID) })
	}
	return sms
}

var stateNames = map[smp.SMState]string{
	smp.Discovering: "Discovering",
	smp.Standby:     "Standby    ",
	smp.NotActive:   "Not Active ",
	smp.Master:      "Master     ",
}

// stateName is OpenSM's word for a state, as wide as the longest.
func stateName(s smp.SMState) string { return cmp.Or(stateNames[s], "UNKNOWN    ") }

func pick(first bool, a, b string) string {
	if first {
		return a
	}
	return b
}

func truth(is bool) int {
	if is {
		return 1
	}
	return 0
}
