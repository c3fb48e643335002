package ctl

import (
	"fmt"
	"net/http"

	"ibsm/topo/cabling"
)

// Cabling is how cables differ from their plan.
type Cabling struct {
	Seen     string `json:"seen"`         // in a sentence
	Plan     bool   `json:"plan"`         // there is one; else there is nothing but HeldBack
	Enforced bool   `json:"enforced"`     // cables that are not in the plan are held back
	Other    bool   `json:"other_subnet"` // the plan is that of another subnet: there are no findings
	Applies  bool   `json:"applies"`      // the plan matches well enough to be enforced
	// devices to which only excluded cables lead, if these are more than half
	CutOff   int              `json:"cut_off"`
	InUse    int              `json:"in_use"`  // excluded cables that are not held back, as they are in use
	Planned  int              `json:"planned"` // cables of the plan
	Present  int              `json:"present"` // cables that there are
	Same     int              `json:"same"`    // of the plan that are there
	Devices  int              `json:"devices"` // of the plan
	Known    int              `json:"known"`   // of them, those that are there
	Findings []CablingFinding `json:"findings"`
	More     int              `json:"more,omitempty"` // that found no room in Findings
	HeldBack []HeldCable      `json:"held_back"`
	MoreHeld int              `json:"more_held_back,omitempty"` // that found no room in HeldBack
}

// CablingFinding is one difference.
type CablingFinding struct {
	Kind string `json:"kind"`
	Text string `json:"text"` // in a sentence
	// missing, added, replaced (that of the plan, then the present one) or exchanged
	Devices []CableEnd `json:"devices,omitempty"`
	// that cables were moved between, in the order in which they are moved
	Ports   []CableEnd `json:"ports,omitempty"`
	Planned []Cable    `json:"planned,omitempty"` // that are not there, the first 8
	// that are not in the plan, likewise; of slower and narrower links that which is
	Present []Cable `json:"present,omitempty"`
	More    int     `json:"more,omitempty"` // cables that found no room
}

// Cable is a cable.
type Cable struct {
	From  CableEnd `json:"from"`
	To    CableEnd `json:"to"`
	Width string   `json:"width,omitempty"`
	Speed string   `json:"speed,omitempty"`
}

// CableEnd is a device, or a port of one.
type CableEnd struct {
	Node string `json:"node,omitempty"` // GUID; "" if the plan does not say
	Desc string `json:"desc,omitempty"`
	Type string `json:"type,omitempty"`
	Port uint8  `json:"port,omitempty"`
}

// HeldCable is a cable that is not used.
type HeldCable struct {
	Cable
	Switch bool `json:"switch,omitempty"` // because a switch is held back, and else because it is not in the plan
}

// CablingOf is what a comparison has found.
func CablingOf(c *cabling.Comparison) *Cabling {
	out := &Cabling{
		Seen: c.String(), Plan: true, Other: c.OtherSubnet(), Applies: c.Applies(), Planned: c.Planned,
		Present: c.Present, Same: c.Same, Devices: c.Devices, Known: c.Known,
		Findings: make([]CablingFinding, 0, len(c.Findings)), More: c.More, HeldBack: []HeldCable{},
	}
	for i := range c.Findings {
		f := &c.Findings[i]
		out.Findings = append(out.Findings,
			CablingFinding{Kind: f.Kind.String(), Text: f.String(), Devices: endsOf(f.Devices), Ports: endsOf(f.Ports),
				Planned: cablesOf(f.Planned), Present: cablesOf(f.Present), More: f.More})
	}
	return out
}

func endsOf(places []cabling.Place) (ends []CableEnd) {
	for _, p := range places {
		e := CableEnd{Desc: p.Name, Port: p.Port}
		if p.GUID != 0 {
			e.Node = p.GUID.String()
		}
		if p.Type != 0 {
			e.Type = p.Type.String()
		}
		ends = append(ends, e)
	}
	return ends
}

func cablesOf(links []cabling.Link) (cables []Cable) {
	for _, l := range links {
		cables = append(cables, CableOf(l))
	}
	return cables
}

// CableOf is a cable.
func CableOf(l cabling.Link) Cable {
	ends := endsOf(l.Ends[:])
	c := Cable{From: ends[0], To: ends[1]}
	if l.Width != 0 {
		c.Width = l.Width.String()
	}
	if l.Speed != 0 {
		c.Speed = l.Speed.String()
	}
	return c
}

// CablingStatus is a summary of Cabling.
type CablingStatus struct {
	Seen     string `json:"seen"`
	Findings int    `json:"findings"`
	HeldBack int    `json:"held_back"` // cables
	CutOff   int    `json:"cut_off"`   // as in Cabling
}

// String is one line for the operator.
func (c *CablingStatus) String() string {
	text := c.Seen
	if c.HeldBack > 0 {
		text += fmt.Sprintf("; cables held back: %d", c.HeldBack)
	}
	if c.Findings+c.HeldBack+c.CutOff > 0 {
		text += ": see ibsmctl topology check"
	}
	return text
}

// topology answers how cables differ from the plan.
func (s *Server) topology(r *http.Request) (any, error) {
	sub, err := s.subnet()
	if err != nil {
		return nil, err
	}
	return sub.Cabling(), nil
}
