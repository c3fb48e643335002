package ctl

import (
	"fmt"
	"strings"
	"time"

	"ibsm/mad"
)

// Status is the state of a manager and a summary of its subnet.
type Status struct {
	Version string    `json:"version"`
	PID     int       `json:"pid"`
	Started time.Time `json:"started"`
	Where   string    `json:"where"`              // the port
	Waiting string    `json:"waiting,omitempty"`  // why it has no port
	OwnPort string    `json:"own_port,omitempty"` // what is wrong with it
	// MASTER, STANDBY, DISCOVERING, NOT-ACTIVE; "" without a port
	State   string   `json:"state"`
	Phase   string   `json:"phase"`   // of the current sweep; "idle"
	Engines []string `json:"engines"` // routing engines, as they were chosen
	// that computed the routes in force; "" for none
	Engine string `json:"engine"`
	// by engines that were tried before Engine
	Refused []EngineRefusal `json:"refused,omitempty"`
	// switches and ports that routes avoid because the operator wants so, and those that are not there
	Drained int `json:"drained,omitempty"`
	// links that are out of use because they are sick, or by ibsmctl links isolate
	SickLinksAvoided int `json:"sick_links_avoided,omitempty"`
	// of them, those that routes pass all the same
	SickLinksNeeded int `json:"sick_links_needed,omitempty"`
	DrainedPorts    int `json:"drained_ports,omitempty"` // of them, single ports
	StillNeeded     int `json:"still_needed,omitempty"`  // of them, those that routes still pass
	// nil without topo_config_file, and with nothing held back
	Cabling *CablingStatus `json:"cabling,omitempty"`
	// what kind of fabric was found, where routing_engine is auto
	Fabric string `json:"fabric,omitempty"`
	// the engine that is at work, while interim routes serve
	AwaitedEngine string   `json:"awaited_engine,omitempty"`
	RoutingNotes  []string `json:"routing_notes,omitempty"` // what Engine has to say about the subnet
	// the routes are another manager's, and Engine repairs them
	RoutesKept bool `json:"routes_kept,omitempty"`
	// if RoutesKept: the chosen engine, where it has other tables
	NotOf string `json:"not_of,omitempty"`
	// if RoutesKept: what SLs its paths have, or would need
	Lanes            string             `json:"lanes,omitempty"`
	MirroredSettings *MirroredSettings  `json:"mirrored_settings,omitempty"` // nil if the manager uses its own files
	Partitions       *PartitionsTrouble `json:"partitions,omitempty"`        // nil if the partition file is in force
	// nil if the QoS policy file is in force, or there is none
	QoSPolicy *QoSTrouble `json:"qos_policy,omitempty"`
	// files of this manager that cannot be written
	Unwritten []Unwritten `json:"unwritten,omitempty"`
	// refused joins that the list of refusals lacks, because too many were
	JoinsUnlisted  uint64 `json:"joins_unlisted,omitempty"`
	MastershipTerm uint64 `json:"mastership_term"` // number of mastership terms so far
	Events         uint64 `json:"events"`

	Subnet *SubnetStatus `json:"subnet,omitempty"` // only of a master that has completed a sweep
	Sweep  *SweepStatus  `json:"sweep,omitempty"`  // the last heavy sweep as master
	// TreeLoop is a credit loop that multicast trees have closed since the last sweep; nil for none.
	TreeLoop *TreeLoop `json:"tree_loop,omitempty"`
	SMs      []SM      `json:"sms"` // this manager first

	Alarms []Alarm `json:"alarms,omitempty"` // ports that sent what only other ports may send
}

// EngineRefusal is why a routing engine did not route the subnet.
type EngineRefusal struct {
	Engine string `json:"engine"`
	Reason string `json:"reason"`
}

// Alarm is what one port has sent that only another one may send.
type Alarm struct {
	Kind  string    `json:"kind"`
	GUID  string    `json:"guid,omitempty"` // of the port that sent it, if that is known
	LID   mad.LID   `json:"lid,omitempty"`
	Where string    `json:"where"` // the port in words
	Count uint64    `json:"count"`
	Last  time.Time `json:"last"`
}

// PartitionsTrouble is why the partition file is not in force, and what is instead.
type PartitionsTrouble struct {
	InForce string `json:"in_force"` // closed, open, last good file, file (as it was), no file
	File    string `json:"file"`
	Reason  string `json:"reason"` // the first error
}

// String is one line for the operator.
func (t *PartitionsTrouble) String() string {
	text := map[string]string{
		"closed":  "PARTITIONS ARE CLOSED: every port reaches only the manager, because %s cannot be used: %s",
		"open":    "PARTITIONS ARE OPEN: every port is a full member of the default partition, because %s cannot be used: %s",
		"no file": "NO PARTITIONS: P_Key tables are left unchanged, because %s cannot be used: %s",
	}[t.InForce]
	if text == "" {
		text = "EARLIER PARTITIONS: the last valid version is in force, because %s cannot be used: %s"
	}
	return fmt.Sprintf(text, t.File, t.Reason)
}

// QoSTrouble is why the QoS policy file is not in force, and what is instead.
type QoSTrouble struct {
	InForce string `json:"in_force"` // earlier policy, no policy
	File    string `json:"file"`
	Reason  string `json:"reason"` // the first error
}

// String is one line for the operator.
func (t *QoSTrouble) String() string {
	if t.InForce == "no policy" {
		return fmt.Sprintf("NO QOS POLICY: no policy determines the SLs of paths, because %s cannot be used: %s",
			t.File, t.Reason)
	}
	return fmt.Sprintf("EARLIER QOS POLICY: the last valid version is in force, because %s cannot be used: %s", t.File,
		t.Reason)
}

// Unwritten is what a manager keeps in files that cannot be written.
type Unwritten struct {
	What   string    `json:"what"` // such as "state store"
	Reason string    `json:"reason"`
	Since  time.Time `json:"since"`
}

// String is one line for the operator.
func (u *Unwritten) String() string {
	return fmt.Sprintf("THE %s CANNOT BE WRITTEN since %s: %s; free disk space or fix the permissions. ibsm retries",
		strings.ToUpper(u.What), u.Since.Format(time.DateTime), u.Reason)
}

// Troubles are the lines that come before all others: files that are not in force, or cannot be written.
func (s *Status) Troubles() (lines []string) {
	if s.Partitions != nil {
		lines = append(lines, s.Partitions.String())
	}
	if s.QoSPolicy != nil {
		lines = append(lines, s.QoSPolicy.String())
	}
	for i := range s.Unwritten {
		lines = append(lines, s.Unwritten[i].String())
	}
	return lines
}

// MirroredSettings describes the partitions and settings that a manager has mirrored from
// its master, or uses after a takeover.
type MirroredSettings struct {
	Of     string   `json:"of"`     // port GUID of the manager that they come from
	Differ []string `json:"differ"` // settings that differ in this manager's own files
}

// SubnetStatus is a summary of the subnet.
type SubnetStatus struct {
	Generation uint64         `json:"generation"` // increases with each published change
	Prefix     string         `json:"prefix"`
	SMLID      mad.LID        `json:"sm_lid"`
	Switches   int            `json:"switches"`
	CAs        int            `json:"cas"`
	Routers    int            `json:"routers"`
	Missing    int            `json:"missing"` // unresponsive nodes, whose routes are kept for some sweeps
	Links      int            `json:"links"`
	LIDs       int            `json:"lids"`
	Ports      map[string]int `json:"ports"`            // physical ports by state
	VPorts     map[string]int `json:"vports,omitempty"` // by state
	// Findings are how many problems the last heavy sweep found, by kind, in the words of ibsmctl why.
	Findings map[string]int `json:"findings,omitempty"`
}

// SweepStatus is the result of a heavy sweep.
type SweepStatus struct {
	Ended    time.Time `json:"ended"`
	Seconds  float64   `json:"seconds"`
	Up       bool      `json:"up"` // SUBNET UP
	Sets     string    `json:"sets"`
	Failures int       `json:"failures"` // Sets that failed
	Cut      int       `json:"cut"`      // disconnected pairs of switch and LID
	Lost     int       `json:"lost"`     // routes that do not arrive although the ends are connected
	Longest  int       `json:"longest"`  // links of the longest route
	// Forbidden are pairs of switch and LID without a route by the rules of the engine, which no host needs;
	// connect_roots would give ConnectRoots of them one. ByRules is that in words.
	Forbidden    int    `json:"forbidden,omitempty"`
	ConnectRoots int    `json:"connect_roots,omitempty"`
	ByRules      string `json:"by_rules,omitempty"`
	// CreditLoop is the number of links of a credit loop among the routes; 0 if they have none.
	CreditLoop int `json:"credit_loop,omitempty"`
}

// TreeLoop is a credit loop of multicast trees and the routes between hosts, since groups or their members have
// changed.
type TreeLoop struct {
	Time  time.Time `json:"time"`
	Links int       `json:"links"`
	Text  string    `json:"text"`
}

// String is one line for the operator.
func (l *TreeLoop) String() string {
	return fmt.Sprintf("routes between hosts and multicast trees changed by joins have a credit loop of %d links: %s",
		l.Links, l.Text)
}

// SM is a subnet manager.
type SM struct {
	GUID       string  `json:"guid"`
	Desc       string  `json:"desc,omitempty"` // of its node, as far as this manager knows the subnet
	LID        mad.LID `json:"lid"`
	Priority   uint8   `json:"priority"`
	State      string  `json:"state"`
	ActCount   uint32  `json:"act_count"`
	NextMaster bool    `json:"next_master"`       // becomes master when the master dies
	Ignored    bool    `json:"ignored,omitempty"` // has another sm_key or keys_file, or is not in allowed_sm_guids
	Mirrors    bool    `json:"mirrors"`           // the master's SA registrations
	Lag        float64 `json:"lag"`               // seconds since the mirror has been incomplete; 0 if complete
	// Reads is set if it mirrors by SA queries, because the master is not ibsm. Lag is then
	// the age of the last reading, and Incomplete why that may be incomplete.
	Reads      bool   `json:"reads,omitempty"`
	Incomplete string `json:"incomplete,omitempty"`
}
