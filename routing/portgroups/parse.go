package portgroups

import (
	"strconv"
	"strings"

	"ibsm/conf/diag"
	"ibsm/conf/policyfile"
)

// shadowed are names that groups of a file must not have.
func shadowed(g *Group) bool { return predefined[policyfile.Fold(g.Name)] != nil }

// maxGroups bounds the groups of a file.
const maxGroups = 1 << 13

// isNumber reports whether the first word of a name is a number.
func isNumber(name string) bool {
	word, _, _ := strings.Cut(strings.ReplaceAll(name, "\t", " "), " ")
	word, _, _ = strings.Cut(word, "#")
	_, err := strconv.ParseUint(word, 0, 64)
	return err == nil && !strings.Contains(word, "_")
}

// Parse reads a pgrp_policy_file. The name is for messages. Groups are nil if there are errors.
func Parse(name string, src []byte) (groups []*Group, errors, warnings diag.List) {
	r, ok := policyfile.New(name, src)
	if !ok {
		return nil, r.Errors, nil
	}
	one := func(start diag.Position) {
		before := len(r.Errors)
		g := Read(r, start, false)
		switch {
		case len(r.Errors) > before:
		case len(groups) == maxGroups:
			r.Fail(start, "more than %d port groups", maxGroups)
			return
		case shadowed(g):
			r.Fail(start, "%s is the name of a group that needs no definition; choose another name",
				policyfile.Shown(g.Name))
		case strings.ContainsRune(g.Name, ':'):
			r.Fail(start, "%s: a name must not have a colon", policyfile.Shown(g.Name))
		case isNumber(g.Name):
			r.Fail(start, "%s: a name must not begin with a number: a file of GUIDs takes it for a GUID",
				policyfile.Shown(g.Name))
		case len(g.Rules) == 0:
			r.Fail(start, "port-group %s without a rule", policyfile.Shown(g.Name))
		}
		groups = append(groups, g)
	}
	for r.Space(); !r.Ended() && !r.Full(); r.Space() {
		switch w, at := r.Keyword(); w {
		case "port-group":
			one(at)
		case "port-groups": // as in qos-policy.conf
			r.Section("port-groups", at, policyfile.Blocks{"port-group": one})
		default:
			r.Unexpected(w, at, "port-group")
		}
	}
	if r.Full() {
		r.Errors.Add(r.Here(), "too many errors; the rest is not read")
	} else if len(r.Errors) == 0 { // names of what could not be read are unknown
		Link(r, groups, nil)
	}
	if len(r.Errors) > 0 {
		return nil, r.Errors, r.Warnings
	}
	return groups, nil, r.Warnings
}
