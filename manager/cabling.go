package manager

import (
	"maps"
	"slices"

	"ibsm/view"
)

// cablingLog logs how cables differ from the plan, each difference once as long as it lasts.
type cablingLog struct {
	findings map[string]bool // by their words
	held     map[string]bool
	verdict  string
}

// maxCablingLines is how many differences of a sweep are logged. More are only counted.
const maxCablingLines = 64

func (l *cablingLog) log(fx *effects, c *view.Cabling) {
	findings, held := map[string]bool{}, map[string]bool{}
	var order, heldOrder []string
	verdict := ""
	if c != nil {
		for i := range c.Held {
			text := c.Held[i].String()
			held[text], heldOrder = true, append(heldOrder, text)
		}
	}
	if c != nil && c.Comparison != nil {
		for i := range c.Findings {
			text := c.Findings[i].String()
			findings[text], order = true, append(order, text)
		}
		switch {
		case c.OtherSubnet():
			verdict = "topo_config_file is the plan of another subnet: cables are not compared with it"
		case c.Enforced && !c.Applies():
			verdict = "topo_config_file matches too little to be enforced: no cable is held back because of it"
		}
		if verdict != "" && verdict != l.verdict {
			fx.log(erro, verdict, "devices", c.Devices, "known", c.Known, "cables", c.Planned, "present", c.Present, "same", c.Same)
		}
	}
	l.verdict = verdict
	logChanges(fx, l.findings, findings, order, "cabling differs from the plan", "cabling difference is gone")
	logChanges(fx, l.held, held, heldOrder, "held back: no route uses it", "held back no more")
	l.findings, l.held = findings, held
}

// logChanges logs what is new and what is gone.
func logChanges(fx *effects, was, is map[string]bool, order []string, comes, goes string) {
	more := 0
	for _, text := range order {
		if was[text] {
			continue
		}
		if more++; more <= maxCablingLines {
			fx.log(warn, comes, "what", text)
		}
	}
	if more > maxCablingLines {
		fx.log(warn, comes, "more", more-maxCablingLines)
	}
	gone := 0
	for _, text := range slices.Sorted(maps.Keys(was)) {
		if is[text] {
			continue
		}
		if gone++; gone <= maxCablingLines {
			fx.log(info, goes, "what", text)
		}
	}
	if gone > maxCablingLines {
		fx.log(info, goes, "more", gone-maxCablingLines)
	}
}
