package qos

import (
	"strconv"
	"strings"

	"ibsm/conf/diag"
	"ibsm/mad"
)

// group reads a port-group.
func (p *parser) group(start diag.Position) {
	g := Group{Position: start}
	given := map[string]bool{}
	p.entries("port-group", start, []string{"name", "use", "port-guid", "port-name", "pkey", "partition", "node-type"}, entries{
		"name":      func(at diag.Position) { p.once(given, "name", at); g.Name = p.single("name:").Text },
		"use":       func(at diag.Position) { p.once(given, "use", at); p.single("use:") },
		"port-guid": func(diag.Position) { p.list(&g.GUIDs, ^uint64(0)) },
		"port-name": func(diag.Position) { p.portNames(&g) },
		"pkey":      func(diag.Position) { p.pkeys(&g.PKeys) },
		"partition": func(diag.Position) { g.Partitions = append(g.Partitions, p.some("partition")...) },
		"node-type": func(diag.Position) { p.nodeTypes(&g) },
	})
	if !given["name"] {
		p.fail(start, "port-group without a name")
	}
	if len(p.policy.Groups) == maxGroups {
		p.fail(start, "more than %d port groups", maxGroups)
		return
	}
	p.policy.Groups = append(p.policy.Groups, g)
}

// portNames reads a list of NODE/Pn.
func (p *parser) portNames(g *Group) {
	from := p.pos
	for _, w := range p.some("port-name") {
		slash := strings.LastIndexByte(w.Text, '/')
		num := strings.TrimLeft(w.Text[slash+1:], "pP")
		n, err := strconv.ParseUint(num, 0, 8)
		if slash < 0 || len(w.Text)-slash-len(num) != 2 || err != nil || n == 0 || n > 254 {
			p.fail(w.Position, "%s is not the name of a port; expected NODE/Pn with the NodeDescription and the port number, 1 to 254", shown(w.Text))
			continue
		}
		name := PortName{w.Text[:slash], uint8(n), w.Position}
		if strings.ContainsAny(name.Node, blank) && !strings.Contains(p.src[from:p.pos], `"`) {
			p.warn(w.Position, "%s: OpenSM drops the blanks and finds no such node; write the name in quotes for both programs", shown(w.Text))
		}
		g.Names = append(g.Names, name)
	}
}

// nodeTypes are the words of node-type.
var nodeTypes = map[string]NodeTypes{
	"ca": 1 << mad.CA, "switch": 1 << mad.Switch, "router": 1 << mad.Router, "all": 1<<mad.CA | 1<<mad.Switch | 1<<mad.Router, "self": 0,
}

func (p *parser) nodeTypes(g *Group) {
	for _, w := range p.some("node-type") {
		word := strings.ToLower(w.Text)
		types, known := nodeTypes[word]
		if !known {
			expected := []string{"CA", "SWITCH", "ROUTER", "ALL", "SELF"}
			p.fail(w.Position, "%s is not a type of node; expected %s%s", shown(w.Text), list(expected), diag.Meant(w.Text, expected))
		}
		g.Types |= types
		g.Self = g.Self || word == "self"
	}
}

// level reads a qos-level.
func (p *parser) level(start diag.Position) {
	l := Level{Position: start}
	given := map[string]bool{}
	// number reads a value that may stand once.
	number := func(w string, least, most uint64, set func(n uint64)) func(at diag.Position) {
		return func(at diag.Position) {
			p.once(given, w, at)
			if n, _, ok := p.value(least, most); ok {
				set(n)
			}
		}
	}
	p.entries("qos-level", start, []string{"name", "use", "sl", "mtu-limit", "rate-limit", "packet-life", "path-bits", "pkey"}, entries{
		"name":        func(at diag.Position) { p.once(given, "name", at); l.Name = p.single("name:").Text },
		"use":         func(at diag.Position) { p.once(given, "use", at); l.Use = p.single("use:").Text },
		"sl":          number("sl", 0, 15, func(n uint64) { l.SL = uint8(n) }),
		"mtu-limit":   number("mtu-limit", uint64(mad.MTU256), uint64(mad.MTU4096), func(n uint64) { l.MTU = mad.MTU(n) }),
		"rate-limit":  number("rate-limit", 2, 26, func(n uint64) { l.Rate = mad.Rate(n) }),
		"packet-life": number("packet-life", 0, 63, func(n uint64) { l.PacketLife = LifeTime(n) | hasLifeTime }),
		"path-bits":   func(diag.Position) { p.list(&l.PathBits, 127) },
		"pkey":        func(diag.Position) { p.pkeys(&l.PKeys) },
	})
	for _, w := range []string{"name", "sl"} {
		if !given[w] {
			p.fail(start, "qos-level without %s", w)
		}
	}
	if len(p.policy.Levels) == maxLevels {
		p.fail(start, "more than %d levels", maxLevels)
		return
	}
	p.policy.Levels = append(p.policy.Levels, l)
}

// rule reads a qos-match-rule.
func (p *parser) rule(start diag.Position) {
	r := Rule{Position: start}
	var n named
	given := map[string]bool{}
	p.entries("qos-match-rule", start, []string{"use", "qos-class", "qos-level-name", "source", "destination", "service-id", "pkey"}, entries{
		"use":       func(at diag.Position) { p.once(given, "use", at); r.Use = p.single("use:").Text },
		"qos-class": func(diag.Position) { p.list(&r.Classes, 0xfff) },
		"qos-level-name": func(at diag.Position) {
			p.once(given, "qos-level-name", at)
			n.level = []Word{p.single("qos-level-name:")}
		},
		"source":      func(diag.Position) { n.sources = append(n.sources, p.some("source")...) },
		"destination": func(diag.Position) { n.destinations = append(n.destinations, p.some("destination")...) },
		"service-id":  func(diag.Position) { p.list(&r.ServiceIDs, ^uint64(0)) },
		"pkey":        func(diag.Position) { p.pkeys(&r.PKeys) },
	})
	if n.level == nil {
		p.fail(start, "qos-match-rule without qos-level-name")
	}
	if len(p.policy.Rules) == maxRules {
		p.fail(start, "more than %d rules", maxRules)
		return
	}
	p.policy.Rules, p.named = append(p.policy.Rules, r), append(p.named, n)
}
