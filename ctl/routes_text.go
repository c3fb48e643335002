package ctl

import (
	"fmt"
	"strings"
)

// RoutesText says in one line where the routes in force come from.
func (s *Status) RoutesText() string {
	text := s.Engine
	switch {
	case text == "":
		text = "none: no routes are written"
	case s.NotOf != "" && !s.RoutesKept:
		text += ", but the routes found are kept: routes that it would compute use the links more evenly"
	case s.NotOf != "":
		text = "kept from another manager, repaired by " + text + "; " + s.NotOf + " would compute different routes"
	case s.RoutesKept:
		text = "kept from another manager, repaired by " + text
	}
	if s.AwaitedEngine != "" {
		text += ": interim routes until the routes of " + s.AwaitedEngine + " are computed"
	}
	if s.Fabric != "" {
		text += "; selected for " + article(s.Fabric)
	}
	if s.Lanes != "" {
		text += "; their paths " + s.Lanes
	}
	parts := append([]string{text}, s.RoutingNotes...)
	for _, f := range s.Refused {
		parts = append(parts, fmt.Sprintf("%s failed: %s", f.Engine, f.Reason))
	}
	return strings.Join(parts, "; ")
}

// article puts "a" or "an" before a kind of fabric. A subnet of no known topology is described by its number of
// switches.
func article(fabric string) string {
	switch first, _, _ := strings.Cut(fabric, " "); {
	case fabric == "no switch":
		return "a subnet without switches"
	case fabric == "1 switch":
		return "a subnet with 1 switch"
	case first == "not":
		return "a subnet of no known topology: " + fabric
	case strings.Trim(first, "0123456789") == "": // as in "2 fat trees"
		return fabric
	case strings.ContainsAny(first[:1], "aeiou"):
		return "an " + fabric
	}
	return "a " + fabric
}
