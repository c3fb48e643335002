package portgroups

import (
	"regexp"
	"strconv"
	"strings"

	"ibsm/conf/diag"
	"ibsm/conf/policyfile"
	"ibsm/mad"
)

// maxPort is the highest number of a port.
const maxPort = 254

// opensm are the keywords of port-group in qos-policy.conf that OpenSM knows, and more those of NVIDIA's
// pgrp_policy_file. Both files may have all of them.
var (
	opensm = []string{"name", "use", "port-guid", "port-name", "pkey", "partition", "node-type"}
	more   = []string{"port-guid-range", "port-regexp", "union-rule", "subtract-rule"}
)

// reader reads one group.
type reader struct {
	*policyfile.Reader
	group   Group
	forBoth bool // OpenSM reads the file, too
}

// Read reads a port-group after this keyword. forBoth says that OpenSM reads the file, too, and has warnings about
// what it does not know.
func Read(r *policyfile.Reader, start diag.Position, forBoth bool) *Group {
	g := &reader{r, Group{Position: start}, forBoth}
	given := map[string]bool{}
	read := policyfile.Entries{
		"name":            func(at diag.Position) { r.Once(given, "name", at); g.group.Name = r.Single("name:").Text },
		"use":             func(at diag.Position) { r.Once(given, "use", at); g.group.Use = r.Single("use:").Text },
		"port-guid":       g.guids,
		"port-guid-range": g.guids,
		"port-name":       g.names,
		"port-regexp":     g.pattern,
		"pkey":            func(at diag.Position) { r.PKeys(&g.rule(at).PKeys) },
		"partition":       func(at diag.Position) { g.rule(at).Partitions = r.Names("partition") },
		"node-type":       g.types,
		"union-rule":      func(at diag.Position) { g.groups(at, "union-rule") },
		"subtract-rule":   func(at diag.Position) { g.groups(at, "subtract-rule") },
	}
	for _, w := range more {
		do := read[w]
		read[w] = func(at diag.Position) { g.notForBoth(at, w); do(at) }
	}
	r.Entries("port-group", start, append(opensm[:len(opensm):len(opensm)], more...), read)
	if !given["name"] {
		r.Fail(start, "port-group without a name")
	}
	return &g.group
}

// notForBoth warns of something that OpenSM does not know.
func (g *reader) notForBoth(at diag.Position, what string) {
	if g.forBoth {
		g.Warn(at, "%s: OpenSM refuses the file; write the group into pgrp_policy_file for both programs", what)
	}
}

// rule is a new rule of the group.
func (g *reader) rule(at diag.Position) *Rule {
	g.group.Rules = append(g.group.Rules, Rule{Position: at, OrNodes: !g.forBoth})
	return &g.group.Rules[len(g.group.Rules)-1]
}

// guids reads a list of GUIDs, ranges of GUIDs, and GUID@PORTS.
func (g *reader) guids(at diag.Position) {
	rule := g.rule(at)
	for {
		guid, ok := g.Range(^uint64(0))
		if !ok {
			g.RestOfLine()
			return
		}
		if place := g.Here(); g.Sign('@') {
			g.notForBoth(place, "'@' and ports")
			if guid.From != guid.To {
				g.Fail(place, "ports of a range of GUIDs; expected them after one GUID")
			}
			ports, ok := g.ports()
			if !ok {
				g.RestOfLine()
				return
			}
			rule.Ports = append(rule.Ports, NodePorts{mad.GUID(guid.From), ports})
		} else {
			rule.GUIDs = append(rule.GUIDs, guid)
		}
		if !g.Sign(',') {
			rule.GUIDs = policyfile.Join(rule.GUIDs)
			return
		}
	}
}

// ports reads a list of ports and ranges between slashes.
func (g *reader) ports() (ports policyfile.Ranges, ok bool) {
	for {
		r, ok := g.Range(maxPort)
		if !ok {
			return nil, false
		}
		if ports = append(ports, r); !g.Sign('/') {
			return policyfile.Join(ports), true
		}
	}
}

// names reads a list of NODE/Pn and of hostname=HOST; port=N; hca_idx=N.
func (g *reader) names(at diag.Position) {
	rule := g.rule(at)
	from := g.Pos()
	for _, w := range g.Names("port-name") {
		if isHost(w.Text) {
			g.host(rule, w)
			continue
		}
		slash := strings.LastIndexByte(w.Text, '/')
		num := strings.TrimLeft(w.Text[slash+1:], "pP")
		n, err := strconv.ParseUint(num, 0, 8)
		if slash < 0 || len(w.Text)-slash-len(num) != 2 || err != nil || n == 0 || n > maxPort {
			g.Fail(w.Position,
				"%s is not the name of a port; expected NODE/Pn with the NodeDescription and the port number, 1 to %d, or hostname=HOST", policyfile.Shown(w.Text), maxPort)
			continue
		}
		name := PortName{w.Text[:slash], uint8(n), w.Position}
		if g.forBoth && len(strings.Fields(name.Node)) > 1 && !strings.Contains(g.Since(from), `"`) {
			g.Warn(w.Position,
				"%s: OpenSM drops the blanks and finds no such node; write the name in quotes for both programs",
				policyfile.Shown(w.Text))
		}
		rule.Names = append(rule.Names, name)
	}
}

// isHost reports whether a name is of the form hostname=HOST; a NodeDescription may begin with the word.
func isHost(text string) bool {
	key, _, found := strings.Cut(text, "=")
	return found && strings.EqualFold(strings.TrimSpace(key), "hostname")
}

// equals removes blanks around equal signs.
var equals = regexp.MustCompile(`[ \t]*=[ \t]*`)

// host reads hostname=HOST; port=N; hca_idx=N, of which the last two may be missing.
func (g *reader) host(rule *Rule, w policyfile.Word) {
	g.notForBoth(w.Position, "hostname=")
	var h HostPort
	for _, field := range strings.FieldsFunc(equals.ReplaceAllString(w.Text, "="), func(r rune) bool {
		return r == ';' || r == ' ' || r == '\t'
	}) {
		key, value, _ := strings.Cut(field, "=")
		n, err := strconv.ParseUint(value, 0, 8)
		switch key = strings.ToLower(key); {
		case key == "hostname" && value != "":
			h.Host = value
		case key == "port" && err == nil && n > 0 && n <= maxPort:
			h.Port = uint8(n)
		case key == "hca_idx" && err == nil && n > 0:
			h.Adapter = n
		default:
			g.Fail(w.Position, "%s is not understood; expected hostname=HOST, port=N with 1 to %d, or hca_idx=N",
				policyfile.Shown(field), maxPort)
			return
		}
	}
	rule.Hosts = append(rule.Hosts, h)
}

// nodeTypes are the words of node-type.
var nodeTypes = map[string]NodeTypes{"ca": 1 << mad.CA, "switch": 1 << mad.Switch, "router": 1 << mad.Router,
	"all": allTypes, "self": 0}

func (g *reader) types(at diag.Position) {
	rule := g.rule(at)
	for _, w := range g.Names("node-type") {
		word := strings.ToLower(w.Text)
		types, known := nodeTypes[word]
		if !known {
			expected := []string{"CA", "SWITCH", "ROUTER", "ALL", "SELF"}
			g.Fail(w.Position, "%s is not a type of node; expected %s%s", policyfile.Shown(w.Text),
				policyfile.List(expected), diag.Meant(w.Text, expected))
		}
		rule.Types |= types
		rule.Self = rule.Self || word == "self"
	}
}

// groups reads the names of other groups.
func (g *reader) groups(at diag.Position, keyword string) {
	rule := g.rule(at)
	rule.named = g.Names(keyword)
	if rule.less = keyword == "subtract-rule"; rule.less && len(rule.named) != 2 {
		g.Fail(at, "subtract-rule with %d names; expected two groups: one, and the one that is taken from it",
			len(rule.named))
	}
}
