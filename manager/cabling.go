package manager

import (
	"maps"
	"slices"

	"ibsm/view"
)

// cablingLog logs how cables differ from the plan and which are held back, each once as long as it lasts.
type cablingLog struct {
	findings, held map[string]bool // by their words
	verdict        cablingVerdict
	cutOff         bool // to hold back all would cut the manager off
}

// cablingVerdict is what is wrong with the plan as a whole.
type cablingVerdict uint8

const (
	planUsed cablingVerdict = iota
	planOfOther
	planIgnored // it matches too little to be enforced
)

// maxCablingLines is how many changes of each kind are logged after a sweep. More are only counted.
const maxCablingLines = 64

func (l *cablingLog) log(fx *effects, c *view.Cabling) {
	was := *l
	*l = cablingLog{findings: map[string]bool{}, held: map[string]bool{}}
	if c == nil {
		c = &view.Cabling{}
	}
	for i := range c.Held {
		l.held[c.Held[i].String()] = true
	}
	if c.Comparison != nil {
		for i := range c.Findings {
			l.findings[c.Findings[i].String()] = true
		}
		size := []any{"devices", c.Devices, "known", c.Known, "cables", c.Planned, "present", c.Present, "same", c.Same}
		switch {
		case c.Ignored():
			if l.verdict = planIgnored; was.verdict != planIgnored {
				fx.log(erro, "topo_config_file matches too little to be enforced: links in use stay in use, but no other link that is not in it is brought up; correct it, or set topo_config_enabled FALSE, and send SIGHUP",
					append(size, "held_back", len(c.Held), "in_use", len(c.Spared))...)
			}
		case c.OtherSubnet():
			if l.verdict = planOfOther; was.verdict != planOfOther {
				fx.log(erro, "topo_config_file is the plan of another subnet: cables are not compared with it", size...)
			}
		}
	}
	if l.cutOff = c.CutOff > 0; l.cutOff && !was.cutOff {
		fx.log(erro, "only excluded cables lead to most of the subnet: links in use stay in use, but no other excluded cable is brought up; correct topo_config_file or held_back_sw_file, or set topo_config_enabled FALSE, and send SIGHUP",
			"devices", c.CutOff, "of", c.Of, "held_back", len(c.Held), "in_use", len(c.Spared))
	}
	each(l.findings, was.findings, func(args ...any) { fx.log(warn, "cabling differs from the plan", args...) })
	each(was.findings, l.findings, func(args ...any) { fx.log(info, "cabling difference is gone", args...) })
	each(l.held, was.held, func(args ...any) { fx.log(warn, "held back: no route uses it", args...) })
	each(was.held, l.held, func(args ...any) { fx.log(info, "held back no more", args...) })
}

// each calls do with what is in a set and not in the other one, in order, and with how many are left out.
func each(set, other map[string]bool, do func(args ...any)) {
	n := 0
	for _, text := range slices.Sorted(maps.Keys(set)) {
		if other[text] {
			continue
		}
		if n++; n <= maxCablingLines {
			do("what", text)
		}
	}
	if n > maxCablingLines {
		do("more", n-maxCablingLines)
	}
}
