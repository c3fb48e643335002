package smp

import "fmt"

// PortState is the logical state of a link (IBA 7.2.7).
type PortState uint8

// Port states.
const (
	PortNoChange    PortState = 0 // in a Set: leave it
	PortDown        PortState = 1
	PortInit        PortState = 2 // the link is up and passes SMPs only
	PortArmed       PortState = 3 // takes data, sends none
	PortActive      PortState = 4
	PortActiveDefer PortState = 5 // the link recovers
)

// String prints the name that ibstat and iblinkinfo use.
func (s PortState) String() string {
	switch s {
	case PortNoChange:
		return "NoChange"
	case PortDown:
		return "Down"
	case PortInit:
		return "Initialize"
	case PortArmed:
		return "Armed"
	case PortActive:
		return "Active"
	case PortActiveDefer:
		return "ActiveDefer"
	}
	return fmt.Sprintf("port state %d", uint8(s))
}

// PortPhysicalState is the state of a link's training (IBA 5.7).
type PortPhysicalState uint8

// Physical states. Only the first four can be set.
const (
	PhysNoChange          PortPhysicalState = 0 // in a Set: leave it
	PhysSleep             PortPhysicalState = 1
	PhysPolling           PortPhysicalState = 2
	PhysDisabled          PortPhysicalState = 3
	PhysTraining          PortPhysicalState = 4
	PhysLinkUp            PortPhysicalState = 5
	PhysLinkErrorRecovery PortPhysicalState = 6
	PhysTest              PortPhysicalState = 7
)

// String prints the name that ibstat and iblinkinfo use.
func (s PortPhysicalState) String() string {
	switch s {
	case PhysNoChange:
		return "NoChange"
	case PhysSleep:
		return "Sleep"
	case PhysPolling:
		return "Polling"
	case PhysDisabled:
		return "Disabled"
	case PhysTraining:
		return "PortConfigurationTraining"
	case PhysLinkUp:
		return "LinkUp"
	case PhysLinkErrorRecovery:
		return "LinkErrorRecovery"
	case PhysTest:
		return "PhyTest"
	}
	return fmt.Sprintf("physical state %d", uint8(s))
}

// KeepStates sets to "no change" all that a Set of PortInfo would otherwise do to
// the link by writing back what was read: states and enabled widths and speeds.
func (p *PortInfo) KeepStates() {
	p.SetPortState(PortNoChange)
	p.SetPortPhysicalState(PhysNoChange)
	p.SetLinkDownDefaultState(PhysNoChange)
	p.SetLinkWidthEnabled(0)
	p.SetLinkSpeedEnabled(0)
	p.SetLinkSpeedExtEnabled(0)
	p.SetLinkSpeedExtEnabled2(0)
}

// DataVLs is the number of data VLs that a code of VLCap or OperationalVLs stands
// for, 0 for a code that is not defined.
func DataVLs(code uint8) int {
	switch {
	case code >= 1 && code <= 4:
		return 1 << (code - 1)
	case code == 5:
		return 15
	}
	return 0
}

// PortInfoMod is the attribute modifier of PortInfo. extended says that the
// sender understands extended link speeds; without it a port faster than QDR may
// answer as to a manager that does not. Port 0 is the receiving port of a channel
// adapter.
func PortInfoMod(port uint8, extended bool) uint32 {
	mod := uint32(port)
	if extended {
		mod |= 1 << 31
	}
	return mod
}
