package qos

import (
	"ibsm/conf/diag"
	"ibsm/conf/policyfile"
	"ibsm/mad"
	"ibsm/routing/portgroups"
)

// group reads a port-group.
func (p *parser) group(start diag.Position) {
	g := portgroups.Read(p.Reader, start, true)
	if len(p.policy.Groups) == maxGroups {
		p.Fail(start, "more than %d port groups", maxGroups)
		return
	}
	p.policy.Groups = append(p.policy.Groups, g)
}

// level reads a qos-level.
func (p *parser) level(start diag.Position) {
	l := Level{Position: start}
	given := map[string]bool{}
	// number reads a value that may stand once.
	number := func(w string, least, most uint64, set func(n uint64)) func(at diag.Position) {
		return func(at diag.Position) {
			p.Once(given, w, at)
			if n, _, ok := p.Value(least, most); ok {
				set(n)
			}
		}
	}
	p.Entries("qos-level", start, []string{"name", "use", "sl", "mtu-limit", "rate-limit", "packet-life", "path-bits",
		"pkey"}, policyfile.Entries{
		"name": func(at diag.Position) { p.Once(given, "name", at); l.Name = p.Single("name:").Text },
		"use":  func(at diag.Position) { p.Once(given, "use", at); l.Use = p.Single("use:").Text },
		"sl":   number("sl", 0, 15, func(n uint64) { l.SL = uint8(n) }),
		"mtu-limit": number("mtu-limit", uint64(mad.MTU256), uint64(mad.MTU4096), func(n uint64) {
			l.MTU = mad.MTU(n)
		}),
		"rate-limit":  number("rate-limit", 2, 26, func(n uint64) { l.Rate = mad.Rate(n) }),
		"packet-life": number("packet-life", 0, 63, func(n uint64) { l.PacketLife = LifeTime(n) | hasLifeTime }),
		"path-bits":   func(diag.Position) { p.Numbers(&l.PathBits, 127) },
		"pkey":        func(diag.Position) { p.PKeys(&l.PKeys) },
	})
	for _, w := range []string{"name", "sl"} {
		if !given[w] {
			p.Fail(start, "qos-level without %s", w)
		}
	}
	if len(p.policy.Levels) == maxLevels {
		p.Fail(start, "more than %d levels", maxLevels)
		return
	}
	p.policy.Levels = append(p.policy.Levels, l)
}

// rule reads a qos-match-rule.
func (p *parser) rule(start diag.Position) {
	r := Rule{Position: start}
	var n named
	given := map[string]bool{}
	p.Entries("qos-match-rule", start, []string{"use", "qos-class", "qos-level-name", "source", "destination",
		"service-id", "pkey"}, policyfile.Entries{
		"use":       func(at diag.Position) { p.Once(given, "use", at); r.Use = p.Single("use:").Text },
		"qos-class": func(diag.Position) { p.Numbers(&r.Classes, 0xfff) },
		"qos-level-name": func(at diag.Position) {
			p.Once(given, "qos-level-name", at)
			n.level = []policyfile.Word{p.Single("qos-level-name:")}
		},
		"source":      func(diag.Position) { n.sources = append(n.sources, p.Names("source")...) },
		"destination": func(diag.Position) { n.destinations = append(n.destinations, p.Names("destination")...) },
		"service-id":  func(diag.Position) { p.Numbers(&r.ServiceIDs, ^uint64(0)) },
		"pkey":        func(diag.Position) { p.PKeys(&r.PKeys) },
	})
	if n.level == nil {
		p.Fail(start, "qos-match-rule without qos-level-name")
	}
	if len(p.policy.Rules) == maxRules {
		p.Fail(start, "more than %d rules", maxRules)
		return
	}
	p.policy.Rules, p.named = append(p.policy.Rules, r), append(p.named, n)
}
