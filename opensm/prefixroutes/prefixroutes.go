// Package prefixroutes reads OpenSM's prefix-routes.conf: by which routers packets for
// other subnets leave.
package prefixroutes

import (
	"strconv"
	"strings"

	"ibsm/conf/diag"
	"ibsm/mad"
	"ibsm/view"
)

// Bounds of a file. What is beyond them is left out, with a warning that says so.
const (
	MaxRoutes   = 1 << 12
	maxWarnings = 100
)

// Parse reads lines "PREFIX GUID", both in hexadecimal, or "*" for any prefix and for the
// first router there is; a prefix of 0 is any, too. What follows a "#" is a comment. Lines
// with an error are ignored, as in OpenSM, with a warning and its position.
func Parse(file string, text []byte) (routes []view.PrefixRoute, warnings diag.List) {
	n := 0
	for line := range strings.Lines(string(text)) {
		n++
		line, _, _ = strings.Cut(line, "#")
		words := strings.Fields(line)
		at := diag.Position{File: file, Line: n, Col: 1}
		if len(words) > 0 {
			at.Col += strings.Index(line, words[0])
		}
		r, problem := route(words)
		switch {
		case len(warnings) >= maxWarnings:
			warnings.Add(at, "too many errors: the rest of the file is ignored")
			return routes, warnings
		case len(words) == 0:
		case problem != "":
			warnings.Add(at, "%s", problem)
		case len(routes) >= MaxRoutes:
			warnings.Add(at, "more than %d routes: the rest of the file is left out", MaxRoutes)
			return routes, warnings
		default:
			routes = append(routes, r)
			if len(words) > 2 {
				warnings.Add(at, "expected only a prefix and a GUID: %q is ignored", words[2])
			}
		}
	}
	return routes, warnings
}

// route is that of a line's words, or what is wrong with them.
func route(words []string) (r view.PrefixRoute, problem string) {
	if len(words) < 2 {
		return r, "want a prefix and the GUID of a router's port, as fe80000000000001 0002c90300001235, or * for any"
	}
	prefix, ok := number(words[0])
	if !ok {
		return r, strconv.Quote(words[0]) + " is no prefix: want up to 16 hexadecimal digits, or * for any"
	}
	guid, ok := number(words[1])
	if !ok {
		return r, strconv.Quote(words[1]) + " is not a GUID: expected up to 16 hexadecimal digits, or * for the first router"
	}
	return view.PrefixRoute{Prefix: mad.Prefix(prefix), AnyPrefix: prefix == 0, Router: mad.GUID(guid)}, ""
}

// number reads hexadecimal digits with or without 0x; "*" is 0.
func number(word string) (n uint64, ok bool) {
	if word == "*" {
		return 0, true
	}
	n, err := strconv.ParseUint(strings.TrimPrefix(strings.ToLower(word), "0x"), 16, 64)
	return n, err == nil
}
