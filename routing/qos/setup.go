package qos

import "ibsm/conf/diag"

// qosSetup reads the section qos-setup, which means nothing: neither OpenSM nor this manager
// writes its tables. It is checked as OpenSM checks it.
func (p *parser) qosSetup(start diag.Position) {
	p.warn(start, "qos-setup has no effect, as in OpenSM: set the tables with qos_sl2vl, qos_vlarb_high, qos_vlarb_low and qos_high_limit in opensm.conf")
	p.blocks("qos-setup", start, blocks{
		"vlarb-tables": func(at diag.Position) { p.blocks("vlarb-tables", at, blocks{"vlarb-scope": p.vlarbScope}) },
		"sl2vl-tables": func(at diag.Position) { p.blocks("sl2vl-tables", at, blocks{"sl2vl-scope": p.sl2vlScope}) },
	})
}

// vlarbScope reads a vlarb-scope.
func (p *parser) vlarbScope(start diag.Position) {
	given := map[string]bool{}
	groups := func(at diag.Position) { given["group"] = true; p.some("group") }
	pairs := func(diag.Position) { p.pairs() }
	p.entries("vlarb-scope", start, []string{"group", "across", "vlarb-high", "vlarb-low", "vl-high-limit"}, entries{
		"group": groups, "across": groups, "vlarb-high": pairs, "vlarb-low": pairs,
		"vl-high-limit": func(diag.Position) { p.value(0, 255) },
	})
	if !given["group"] {
		p.fail(start, "vlarb-scope without group and across")
	}
}

// pairs reads VL:WEIGHT, ...
func (p *parser) pairs() {
	for {
		_, _, vl := p.value(0, 15)
		if !vl {
			return
		}
		if !p.sign(':') {
			p.fail(p.here(), "expected ':' and a weight")
			p.restOfLine()
			return
		}
		if _, _, weight := p.value(0, 255); !weight || !p.sign(',') {
			return
		}
	}
}

// switchPorts is the number of ports that OpenSM expects of a switch at most, port 0 included.
const switchPorts = 128

// sl2vlScope reads an sl2vl-scope.
func (p *parser) sl2vlScope(start diag.Position) {
	given := map[string]bool{}
	groups := func(at diag.Position) { given["group"] = true; p.some("group") }
	ports := func(diag.Position) {
		if !p.sign('*') {
			p.list(new(Ranges), switchPorts-1)
		}
	}
	p.entries("sl2vl-scope", start, []string{"group", "across", "across-from", "across-to", "from", "to", "sl2vl-table"}, entries{
		"group": groups, "across": groups, "across-from": groups, "across-to": groups, "from": ports, "to": ports,
		"sl2vl-table": func(at diag.Position) {
			p.once(given, "sl2vl-table", at)
			for n := 1; ; n++ {
				_, _, ok := p.value(0, 15)
				if !ok {
					return
				}
				if !p.sign(',') {
					if n != 16 {
						p.fail(at, "%d VLs; expected 16, one for each SL", n)
					}
					return
				}
			}
		},
	})
	if !given["group"] {
		p.fail(start, "sl2vl-scope without group and across")
	}
	if !given["sl2vl-table"] {
		p.fail(start, "sl2vl-scope without sl2vl-table")
	}
}
