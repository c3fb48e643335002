package smp

import "ibsm/mad"

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

var portStateNames = map[PortState]string{
	PortNoChange:    "NoChange",
	PortDown:        "Down",
	PortInit:        "Initialize",
	PortArmed:       "Armed",
	PortActive:      "Active",
	PortActiveDefer: "ActiveDefer",
}

// String prints the name that ibstat and iblinkinfo use.
func (s PortState) String() string { return mad.NameOf(portStateNames, s, "port state %d") }

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

var portPhysicalStateNames = map[PortPhysicalState]string{
	PhysNoChange:          "NoChange",
	PhysSleep:             "Sleep",
	PhysPolling:           "Polling",
	PhysDisabled:          "Disabled",
	PhysTraining:          "PortConfigurationTraining",
	PhysLinkUp:            "LinkUp",
	PhysLinkErrorRecovery: "LinkErrorRecovery",
	PhysTest:              "PhyTest",
}

// String prints the name that ibstat and iblinkinfo use.
func (s PortPhysicalState) String() string {
	return mad.NameOf(portPhysicalStateNames, s, "physical state %d")
}
