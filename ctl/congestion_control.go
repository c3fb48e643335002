package ctl

import (
	"net/http"
)

// CongestionControl is what devices hold of the settings of congestion control.
type CongestionControl struct {
	Enabled  bool               `json:"enabled"`
	Requests uint64             `json:"requests"` // since the manager started
	Devices  []CongestionDevice `json:"devices"`  // by GUID; none before the first heavy sweep of a master
}

// CongestionDevice is a switch, or a port of an adapter.
type CongestionDevice struct {
	Node       string                `json:"node"` // GUID
	Desc       string                `json:"desc"`
	Port       uint8                 `json:"port"`
	Type       string                `json:"type"`
	LID        uint16                `json:"lid"`
	State      CongestionState       `json:"state"`
	Attributes []CongestionAttribute `json:"attributes"` // that it has, or refuses
}

// CongestionState is how a device takes the settings.
type CongestionState string

// States of devices.
const (
	CongestionSet      CongestionState = "set"       // it has all settings
	CongestionWriting  CongestionState = "writing"   // it gets them
	CongestionRefuses  CongestionState = "refuses"   // it refuses a value, and has the others
	CongestionNoAnswer CongestionState = "no_answer" // it does not answer: it has no agent, or another CC_Key
	CongestionNoClass  CongestionState = "no_class"  // it does not support it
)

// CongestionStates are all of them.
func CongestionStates() []CongestionState {
	return []CongestionState{CongestionSet, CongestionWriting, CongestionRefuses, CongestionNoAnswer, CongestionNoClass}
}

// CongestionAttribute is one that was written to a device.
type CongestionAttribute struct {
	Name    string `json:"name"`
	Block   uint32 `json:"block"`
	Refused bool   `json:"refused,omitempty"`
}

func (s *Server) congestionControl(r *http.Request) (any, error) {
	if err := has(s.cfg.CongestionControl != nil, "congestion control"); err != nil {
		return nil, err
	}
	return s.cfg.CongestionControl(r.Context())
}
