package ctl

import (
	"time"

	"ibsm/mad"
)

// Status is a manager and its subnet in short.
type Status struct {
	Version string    `json:"version"`
	PID     int       `json:"pid"`
	Started time.Time `json:"started"`
	Where   string    `json:"where"`             // the port it runs at
	Waiting string    `json:"waiting,omitempty"` // why it has no port now
	State   string    `json:"state"`             // MASTER, STANDBY, DISCOVERING, NOT-ACTIVE; "" without a port
	Phase   string    `json:"phase"`             // of the sweep under way; "idle"
	Engine  string    `json:"engine"`
	Ruling  *Ruling   `json:"ruling,omitempty"` // what counts here instead of its own files
	Reign   uint64    `json:"reign"`            // masterships so far
	Events  uint64    `json:"events"`

	Subnet *SubnetStatus `json:"subnet,omitempty"` // only of a master that has swept
	Sweep  *SweepStatus  `json:"sweep,omitempty"`  // the last heavy one as master
	SMs    []SM          `json:"sms"`              // this manager first
}

// Ruling are the partitions and settings that a manager has from the master that it stands
// by, or has taken over from.
type Ruling struct {
	Of     string   `json:"of"`     // port GUID of the manager whose files say so
	Differ []string `json:"differ"` // settings of this manager's own files that are others
}

// SubnetStatus is the subnet in figures.
type SubnetStatus struct {
	Generation uint64         `json:"generation"` // raised with each change of what the SA answers from
	Prefix     string         `json:"prefix"`
	SMLID      mad.LID        `json:"sm_lid"`
	Switches   int            `json:"switches"`
	CAs        int            `json:"cas"`
	Routers    int            `json:"routers"`
	Missing    int            `json:"missing"` // nodes that do not answer but keep their routes for a while
	Links      int            `json:"links"`
	LIDs       int            `json:"lids"`
	Ports      map[string]int `json:"ports"` // physical ports by state
}

// SweepStatus is how a heavy sweep ended.
type SweepStatus struct {
	Ended    time.Time `json:"ended"`
	Seconds  float64   `json:"seconds"`
	Up       bool      `json:"up"` // SUBNET UP
	Sets     string    `json:"sets"`
	Failures int       `json:"failures"` // Sets that failed
	Cut      int       `json:"cut"`      // pairs of switch and LID without cables between
	Lost     int       `json:"lost"`     // routes that do not arrive although cables lead there
	Longest  int       `json:"longest"`  // links of the longest route
}

// SM is a subnet manager.
type SM struct {
	GUID     string  `json:"guid"`
	LID      mad.LID `json:"lid"`
	Priority uint8   `json:"priority"`
	State    string  `json:"state"`
	ActCount uint32  `json:"act_count"`
	Heir     bool    `json:"heir"`    // rules when the master dies
	Mirrors  bool    `json:"mirrors"` // what is registered with the master
	Lag      float64 `json:"lag"`     // seconds for which the mirror has lacked something; 0 where it lacks nothing
	// Reads is set where it mirrors by asking the SA of a master of another kind. Lag is
	// then the age of the last reading, and Doubt why that may not be all there was.
	Reads bool   `json:"reads,omitempty"`
	Doubt string `json:"doubt,omitempty"`
}
