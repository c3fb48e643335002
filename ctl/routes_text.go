package ctl

import (
	"fmt"
	"strings"
)

// RoutesText says in one line where the routes in force come from.
func (st *Status) RoutesText() string {
	text := st.Engine
	switch {
	case text == "":
		text = "none: no routes are written"
	case st.NotOf != "" && !st.RoutesKept:
		text += ", but the routes found are kept: routes that it would compute use the links more evenly"
	case st.NotOf != "":
		text = "kept from another manager, repaired by " + text + "; " + st.NotOf + " would compute different routes"
	case st.RoutesKept:
		text = "kept from another manager, repaired by " + text
	}
	if st.AwaitedEngine != "" {
		text += ": interim routes until the routes of " + st.AwaitedEngine + " are computed"
	}
	if st.Fabric != "" {
		text += "; selected for " + article(st.Fabric)
	}
	if st.Lanes != "" {
		text += "; their paths " + st.Lanes
	}
	parts := append([]string{text}, st.RoutingNotes...)
	for _, f := range st.Refused {
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
	case first == "not":
		return "a subnet of no known topology: " + fabric
	case strings.ContainsAny(first[:1], "aeiou"):
		return "an " + fabric
	}
	return "a " + fabric
}
