package view

import (
	"fmt"
	"strings"
)

// Routing says where the routes of a View come from.
type Routing struct {
	Engine  string    // that computed them; "" if none did, or none are written
	Refused []Refusal // by chosen engines that were tried before
	Kept    bool      // they are another manager's; Engine repairs them where they do not work
	Foreign string    // the chosen engine, where it has other tables than those that were found and are kept
	Fabric  string    // what kind of fabric was found, where the engine was chosen by that
	Notes   []string  // what the engine has to say about the subnet
	Awaited string    // the engine that is at work, while interim routes serve; else ""
	Lanes   string    // if Kept: what SLs of its paths need and have; "" where one is enough
}

// Refusal is why a routing engine did not route the subnet.
type Refusal struct{ Engine, Reason string }

// String is one line for the operator.
func (r *Routing) String() string {
	text := r.Engine
	switch {
	case text == "":
		text = "none: no routes are written"
	case r.Foreign != "" && !r.Kept:
		text += ", but the routes found are kept: routes that it would compute use the links more evenly"
	case r.Foreign != "":
		text = "kept from another manager, repaired by " + text + "; " + r.Foreign + " would compute different routes"
	case r.Kept:
		text = "kept from another manager, repaired by " + text
	}
	if r.Awaited != "" {
		text += ": interim routes until the routes of " + r.Awaited + " are computed"
	}
	if r.Fabric != "" {
		text += "; selected for " + article(r.Fabric)
	}
	if r.Lanes != "" {
		text += "; their paths " + r.Lanes
	}
	parts := append([]string{text}, r.Notes...)
	for _, f := range r.Refused {
		parts = append(parts, fmt.Sprintf("%s failed: %s", f.Engine, f.Reason))
	}
	return strings.Join(parts, "; ")
}

// article is a kind of fabric with its article, or a subnet of which nothing more is said than how many switches it
// has.
func article(fabric string) string {
	switch first, _, _ := strings.Cut(fabric, " "); {
	case fabric == "no switch":
		return "a subnet without switches"
	case fabric == "1 switch":
		return "a subnet with 1 switch"
	case first == "no":
		return "a subnet of no known topology: " + fabric
	case strings.ContainsAny(first[:1], "aeiou"):
		return "an " + fabric
	}
	return "a " + fabric
}
