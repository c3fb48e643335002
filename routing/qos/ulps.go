package qos

import (
	"slices"
	"strings"

	"ibsm/conf/diag"
	"ibsm/conf/policyfile"
	"ibsm/routing/portgroups"
)

// Service IDs of upper-layer protocols: the prefix, to which the port is added.
const (
	sdpServiceID = 0x0000000000010000
	tcpServiceID = 0x0000000001060000 // of RDS and iSER, the connection manager's TCP port space
	rdsPort      = 0x48ca
	iserPort     = 0x0cbc
)

// ipoibKey is the P_Key of the line ipoib without one.
const ipoibKey = 0x7fff

// protocols are the first words of lines of qos-ulps, with what may or must follow the comma.
var protocols = map[string]struct {
	fields []string
	plain  bool // may stand without any
}{
	"default": {nil, true},
	"sdp":     {[]string{"port-num"}, true},
	"rds":     {[]string{"port-num"}, true},
	"iser":    {[]string{"port-num"}, true},
	"srp":     {[]string{"target-port-guid"}, false},
	"ipoib":   {[]string{"pkey"}, true},
	"any": {[]string{"service-id", "pkey", "target-port-guid", "source-port-guid", "source-target-port-guid"},
		false},
}

// qosULPs reads the section qos-ulps, of lines PROTOCOL: SL and PROTOCOL, FIELD LIST: SL.
func (p *parser) qosULPs(start diag.Position) {
	p.Until("qos-ulps", start, func(w string, at diag.Position) {
		name := strings.ToLower(w)
		if _, known := protocols[name]; !known {
			p.Unexpected(w, at, "default", "sdp", "rds", "iser", "srp", "ipoib", "any", "end-qos-ulps")
			return
		}
		p.ulp(name, at)
	})
}

// ulp reads a line from the sign after its first word on.
func (p *parser) ulp(name string, at diag.Position) {
	kind := protocols[name]
	r := Rule{Use: name, IPoIB: name == "ipoib", Position: at}
	p.Blanks()
	switch {
	case kind.plain && p.Peek() == ':':
		p.Skip()
		r.plain(name)
	case kind.fields != nil && p.Peek() == ',':
		p.Skip()
		if !p.field(name, kind.fields, &r) {
			p.RestOfLine()
			return
		}
	case kind.fields == nil:
		p.Fail(p.Here(), "expected ':' after %s", name)
		p.RestOfLine()
		return
	default:
		p.Fail(p.Here(), "expected ', ' and %s after %s", policyfile.List(kind.fields), name)
		p.RestOfLine()
		return
	}
	sl, _, ok := p.Value(0, 15)
	switch {
	case !ok:
	case name == "default":
		p.fallback = &Level{SL: uint8(sl), Position: at}
	case len(p.ulps) == maxRules:
		p.Fail(at, "more than %d lines in qos-ulps", maxRules)
	default:
		r.Level = &Level{SL: uint8(sl), Position: at}
		p.ulps = append(p.ulps, r)
	}
}

// plain is what a protocol without any field matches.
func (r *Rule) plain(name string) {
	switch name {
	case "sdp":
		r.ServiceIDs = policyfile.Ranges{{From: sdpServiceID, To: sdpServiceID + 0xffff}}
	case "rds":
		r.ServiceIDs = policyfile.Ranges{{From: tcpServiceID + rdsPort, To: tcpServiceID + rdsPort}}
	case "iser":
		r.ServiceIDs = policyfile.Ranges{{From: tcpServiceID + iserPort, To: tcpServiceID + iserPort}}
	case "ipoib":
		r.PKeys = policyfile.Ranges{{From: ipoibKey, To: ipoibKey}}
	}
}

// field reads FIELD LIST: after the comma.
func (p *parser) field(name string, fields []string, r *Rule) bool {
	p.Blanks()
	field, at := p.Keyword()
	start := p.Pos()
	most := ^uint64(0)
	switch field {
	case "port-num", "pkey":
		most = 0xffff
	}
	if !slices.Contains(fields, field) {
		p.Fail(at, "unexpected %s; expected %s%s", policyfile.Shown(field), policyfile.List(fields),
			diag.Meant(field, fields))
		return false
	}
	ranges, ok := p.Ranges(most)
	r.Use = name + ", " + field + " " + oneLine(p.Since(start))
	if !ok {
		return false
	}
	if !p.Sign(':') {
		p.Fail(p.Here(), "expected ':' and the SL")
		return false
	}
	prefix := uint64(tcpServiceID)
	if name == "sdp" {
		prefix = sdpServiceID
	}
	switch field {
	case "port-num":
		for i := range ranges {
			ranges[i].From += prefix
			ranges[i].To += prefix
		}
		r.ServiceIDs = policyfile.Join(ranges)
	case "service-id":
		r.ServiceIDs = policyfile.Join(ranges)
	case "pkey":
		r.PKeys = policyfile.Join(policyfile.Bases(ranges))
	default:
		g := &portgroups.Group{Name: r.Use, Rules: []portgroups.Rule{{GUIDs: policyfile.Join(ranges), Position: at}},
			Position: at}
		if field != "source-port-guid" {
			r.Destinations = []*portgroups.Group{g}
		}
		if field != "target-port-guid" {
			r.Sources = []*portgroups.Group{g}
		}
	}
	return true
}

// oneLine is a text of one line, cut where it is long.
func oneLine(text string) string {
	if len(text) > policyfile.MaxShown {
		text = text[:policyfile.MaxShown] + "..."
	}
	return strings.Join(strings.Fields(text), " ")
}
