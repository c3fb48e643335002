package qos

import (
	"bytes"

	"ibsm/conf/diag"
	"ibsm/conf/policyfile"
	"ibsm/routing/portgroups"
)

// Bounds of what is read.
const (
	MaxFile   = policyfile.MaxFile
	maxGroups = 1 << 13 // those of qos-ulps included
	maxLevels = 1 << 13
	maxRules  = 1 << 14
)

// Parse reads the text of a file, which may also name groups of others; nil for none. The name is for messages. The
// Policy is nil if there are errors.
func Parse(others *portgroups.Set, name string, src []byte) (policy *Policy, errors, warnings diag.List) {
	r, ok := policyfile.New(name, src)
	if !ok {
		return nil, r.Errors, nil
	}
	p := &parser{Reader: r, policy: &Policy{}, others: others}
	if bytes.Contains(src, []byte("\r\n")) {
		p.Warn(p.Top(), "line ends CR LF: OpenSM refuses the file")
	}
	p.file()
	switch {
	case p.Full():
		p.Errors.Add(p.Here(), "too many errors; the rest is not read")
	case len(p.Errors) == 0: // names of what could not be read are unknown
		p.resolve()
	}
	if len(p.Errors) > 0 {
		return nil, p.Errors, p.Warnings
	}
	return p.policy, nil, p.Warnings
}

// parser is a Policy that is being read.
type parser struct {
	*policyfile.Reader
	policy   *Policy
	named    []named // the rules of qos-match-rules, by index in policy.Rules
	ulps     []Rule
	fallback *Level // the line default of qos-ulps
	others   *portgroups.Set
}

// named is what a rule names, to be looked up when everything is read.
type named struct{ sources, destinations, level []policyfile.Word }

// file reads the sections.
func (p *parser) file() {
	sections := map[string]func(start diag.Position){
		"port-groups": func(at diag.Position) {
			p.Section("port-groups", at, policyfile.Blocks{"port-group": p.group})
		},
		"qos-levels": func(at diag.Position) {
			p.Section("qos-levels", at, policyfile.Blocks{"qos-level": p.level})
		},
		"qos-match-rules": func(at diag.Position) {
			p.Section("qos-match-rules", at, policyfile.Blocks{"qos-match-rule": p.rule})
		},
		"qos-setup": p.qosSetup,
		"qos-ulps":  p.qosULPs,
	}
	for p.Space(); !p.Ended() && !p.Full(); p.Space() {
		w, at := p.Keyword()
		if section := sections[w]; section != nil {
			section(at)
			continue
		}
		p.Unexpected(w, at, "port-groups", "qos-setup", "qos-levels", "qos-match-rules", "qos-ulps")
	}
}
