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
