package ctl

import "ibsm/mad"

// DryRun is what ibsm --dry-run --json prints: what a start would write, and what that would change for
// traffic that passes now.
type DryRun struct {
	Nodes    int                `json:"nodes"`
	Switches int                `json:"switches"`
	Port     string             `json:"port"` // GUID of the port that it looked from
	Routes   string             `json:"routes"`
	LIDs     map[string]mad.LID `json:"lids"` // that ports have now, by GUID
	SMs      []SM               `json:"sms"`  // that run at other ports
	Moves    Moves              `json:"moves"`
	Summary  []string           `json:"summary"` // the Sets by what they are for
	Sets     []string           `json:"sets"`
	Warnings []string           `json:"warnings"`
}

// Moves is what would be taken from traffic that passes now.
type Moves struct {
	LIDs    []LIDMove `json:"lids"`
	Entries int       `json:"entries"` // of forwarding tables that would lead to another port, or to none
	PKeys   int       `json:"pkeys"`   // entries of P_Key tables whose key would leave its index
	Lanes   int       `json:"lanes"`   // SLtoVLMappingTables that would be written
}

// LIDMove is a port that would get another LID.
type LIDMove struct {
	Port string  `json:"port"` // GUID
	Was  mad.LID `json:"was"`
	Now  mad.LID `json:"now"`
}
