package view

import "ibsm/topo/cabling"

// Cabling is how the cables that the last heavy sweep found differ from the plan, and which of them are held back.
type Cabling struct {
	*cabling.Comparison      // nil without a plan; it has MaxCablingFindings at most
	Enforced            bool // cables that are not in the plan are held back
	// all cables that the walk found, also those held back, and between devices that are cut off; not to be changed
	Found *cabling.Cabling
	Held  []HeldCable
	// Spared are cables, as ascending indexes in Found, that would be held back but are in use, and stay so: because
	// the plan matches too little, or because of CutOff.
	Spared []int32
	// CutOff is how many devices holding back all would cut the manager off from, of Of that have another cable. It is
	// 0 where these are at most half.
	CutOff, Of int
}

// Ignored reports whether the plan is enforced and matches too little for that.
func (c *Cabling) Ignored() bool { return c.Enforced && !c.Applies() }

// MaxCablingFindings is how many findings a Cabling has.
const MaxCablingFindings = 4096

// HeldCable is a cable that is not used: no route has it, its ports do not become ACTIVE, and what only it leads to is
// not in the subnet.
type HeldCable struct {
	cabling.Link
	Switch bool // because a switch is held back, and else because the cable is not in the plan
}

// String is why, as a sentence.
func (h *HeldCable) String() string {
	if h.Switch {
		return "cable " + h.Link.String() + " is held back, because its switch is"
	}
	return "cable " + h.Link.String() + " is held back, because it is not in the plan"
}
