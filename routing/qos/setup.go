package qos

import (
	"ibsm/conf/diag"
	"ibsm/conf/policyfile"
)

// qosSetup reads the section qos-setup, which means nothing: neither OpenSM nor this manager
// writes its tables. It is checked as OpenSM checks it.
func (p *parser) qosSetup(start diag.Position) {
	p.Warn(start, "qos-setup has no effect, as in OpenSM: set the tables with qos_sl2vl, qos_vlarb_high, qos_vlarb_low and qos_high_limit in opensm.conf")
	p.Section("qos-setup", start, policyfile.Blocks{
		"vlarb-tables": func(at diag.Position) {
			p.Section("vlarb-tables", at, policyfile.Blocks{"vlarb-scope": p.vlarbScope})
		},
		"sl2vl-tables": func(at diag.Position) {
			p.Section("sl2vl-tables", at, policyfile.Blocks{"sl2vl-scope": p.sl2vlScope})
		},
	})
}

// vlarbScope reads a vlarb-scope.
func (p *parser) vlarbScope(start diag.Position) {
	given := map[string]bool{}
	groups := func(at diag.Position) { given["group"] = true; p.Names("group") }
	pairs := func(diag.Position) { p.pairs() }
	p.Entries("vlarb-scope", start, []string{"group", "across", "vlarb-high", "vlarb-low", "vl-high-limit"},
		policyfile.Entries{
			"group": groups, "across": groups, "vlarb-high": pairs, "vlarb-low": pairs,
			"vl-high-limit": func(diag.Position) { p.Value(0, 255) },
		})
	if !given["group"] {
		p.Fail(start, "vlarb-scope without group and across")
	}
}

// pairs reads VL:WEIGHT, ...
func (p *parser) pairs() {
	for {
		_, _, vl := p.Value(0, 15)
		if !vl {
			return
		}
		if !p.Sign(':') {
			p.Fail(p.Here(), "expected ':' and a weight")
			p.RestOfLine()
			return
		}
		if _, _, weight := p.Value(0, 255); !weight || !p.Sign(',') {
			return
		}
	}
}

// switchPorts is the number of ports that OpenSM expects of a switch at most, port 0 included.
const switchPorts = 128

// sl2vlScope reads an sl2vl-scope.
func (p *parser) sl2vlScope(start diag.Position) {
	given := map[string]bool{}
	groups := func(at diag.Position) { given["group"] = true; p.Names("group") }
	ports := func(diag.Position) {
		if !p.Sign('*') {
			p.Numbers(new(policyfile.Ranges), switchPorts-1)
		}
	}
	p.Entries("sl2vl-scope", start, []string{"group", "across", "across-from", "across-to", "from", "to",
		"sl2vl-table"}, policyfile.Entries{
		"group": groups, "across": groups, "across-from": groups, "across-to": groups, "from": ports, "to": ports,
		"sl2vl-table": func(at diag.Position) {
			p.Once(given, "sl2vl-table", at)
			for n := 1; ; n++ {
				_, _, ok := p.Value(0, 15)
				if !ok {
					return
				}
				if !p.Sign(',') {
					if n != 16 {
						p.Fail(at, "%d VLs; expected 16, one for each SL", n)
					}
					return
				}
			}
		},
	})
	if !given["group"] {
		p.Fail(start, "sl2vl-scope without group and across")
	}
	if !given["sl2vl-table"] {
		p.Fail(start, "sl2vl-scope without sl2vl-table")
	}
}
