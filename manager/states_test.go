package manager

import "strings"

// Names of the states of machines, for what tests print.

func (s awaitState) String() string { return [...]string{"none", "computing", "ending"}[s] }

func (s controlState) String() string {
	return [...]string{"idle", "asks the node", "asks the port", "asks our own port"}[s]
}

func (s descriptionState) String() string {
	return [...]string{"not wanted", "queued", "asked", "asked again"}[s]
}

func (w waiting) String() string {
	return [...]string{"not", "for M_Keys", "has waited"}[w]
}

func (a authority) String() string { return [...]string{"unconfirmed", "confirmed"}[a] }

func (s guidState) String() string { return [...]string{"setting", "reading", "replaced"}[s] }

func (s handoverState) String() string {
	return [...]string{"staying", "leaving", "handed over", "exited"}[s]
}

func (s mirrorState) String() string { return [...]string{"nothing", "all"}[s] }

func (s ownPortState) String() string {
	return [...]string{"up", "down", "unresponsive", "lossy", "isolated"}[s]
}

func (s planState) String() string {
	return [...]string{"none", "walking", "computing", "cancelled"}[s]
}

func (s scheduleState) String() string {
	return [...]string{"no sweep", "light sweep", "check", "quick sweep", "retry", "second sweep", "full sweep", "preview",
		"pausing", "abandoned"}[s]
}

func (s termState) String() string { return [...]string{"no term", "stood by", "in term"}[s] }

func (s trapState) String() string { return [...]string{"quiet", "held off"}[s] }

func (w wishes) String() string {
	var all []string
	for i, name := range [...]string{"light", "quick", "link", "second", "full", "check", "retry"} {
		if w&(1<<i) != 0 {
			all = append(all, name)
		}
	}
	return strings.Join(all, "+")
}
