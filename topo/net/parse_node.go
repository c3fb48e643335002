package net

import (
	"fmt"
	"strings"

	"ibsm/mad"
)

// statements lists the words that begin a line with a meaning, port lines apart.
// Any other line is free text, such as ibnetdiscover's headings of chassis.
var statements = map[string]func(p *parser, s *scanner, word string){
	"Switch":     func(p *parser, s *scanner, _ string) { p.readHeader(s, mad.Switch) },
	"Ca":         func(p *parser, s *scanner, _ string) { p.readHeader(s, mad.CA) },
	"Hca":        func(p *parser, s *scanner, _ string) { p.readHeader(s, mad.CA) },
	"Rt":         func(p *parser, s *scanner, _ string) { p.readHeader(s, mad.Router) },
	"switchguid": func(p *parser, s *scanner, word string) { p.readGUID(s, word, mad.Switch) },
	"caguid":     func(p *parser, s *scanner, word string) { p.readGUID(s, word, mad.CA) },
	"hcaguids":   func(p *parser, s *scanner, word string) { p.readGUID(s, word, mad.CA) },
	"rtguid":     func(p *parser, s *scanner, word string) { p.readGUID(s, word, mad.Router) },
	"vendid": func(p *parser, s *scanner, word string) {
		if v, ok := p.assign(s, word, 0, 1<<24-1); ok {
			p.vendor = uint32(v)
		}
	},
	"devid": func(p *parser, s *scanner, word string) {
		if v, ok := p.assign(s, word, 0, 1<<16-1); ok {
			p.device = uint16(v)
		}
	},
	"sysimgguid": func(p *parser, s *scanner, word string) {
		if v, ok := p.assign(s, word, 0, 1<<64-1); ok {
			p.sysImage = mad.GUID(v)
		}
	},
	"width":    func(p *parser, s *scanner, word string) { p.readMask(s, word, &p.offers.width, 1, maxWidthMask) },
	"speed":    func(p *parser, s *scanner, word string) { p.readMask(s, word, &p.offers.speed, 1, maxSpeedMask) },
	"extspeed": func(p *parser, s *scanner, word string) { p.readMask(s, word, &p.offers.ext, 0, maxExtMask) },
	"module":   func(p *parser, s *scanner, _ string) { p.readModule(s) },
	"pdebug":   func(*parser, *scanner, string) {}, // of ibsim's own parser
	"include":  (*parser).refuse,
	"do":       (*parser).refuse,
}

// statementOf finds what reads a line that begins with this word; nil for free
// text.
func statementOf(s *scanner) (word string, read func(*parser, *scanner, string)) {
	word = s.word()
	return word, statements[word]
}

func (p *parser) isStatement(line string) bool {
	_, read := statementOf(&scanner{line: line})
	return read != nil
}

func (p *parser) readStatement(line string) {
	s := &scanner{line: line}
	if word, read := statementOf(s); read != nil {
		read(p, s, word)
	}
}

func (p *parser) refuse(_ *scanner, word string) {
	p.fail(1, "`%s` is not supported: a topology must stand in one file and run no commands", word)
}

// assign reads "=number" behind a word.
func (p *parser) assign(s *scanner, word string, low, high uint64) (uint64, bool) {
	s.blanks()
	if !s.skip('=') {
		p.fail(s.col(), "expected %s=NUMBER", word)
		return 0, false
	}
	return p.value(s, word, low, high)
}

// value reads a number within bounds that nothing but a comment follows.
func (p *parser) value(s *scanner, word string, low, high uint64) (uint64, bool) {
	s.blanks()
	col := s.col()
	v, ok := s.number()
	switch {
	case !ok || !s.done():
		p.fail(col, "%s: bad number %q", word, strings.TrimSpace(s.line[col-1:]))
		return 0, false
	case v < low || v > high:
		p.fail(col, "%s %#x: expected %#x to %#x", word, v, low, high)
		return 0, false
	}
	return v, true
}

func (p *parser) readMask(s *scanner, word string, mask *uint8, low, high uint64) {
	if v, ok := p.assign(s, word, low, high); ok {
		*mask = uint8(v)
	}
}

// readGUID reads "switchguid=0x1(2)": an absolute GUID, or with + one counted
// from the last absolute one; in parentheses the GUID of the switch's port 0.
func (p *parser) readGUID(s *scanner, word string, t mad.NodeType) {
	s.blanks()
	relative := s.skip('+')
	if !relative && !s.skip('=') {
		p.fail(s.col(), "expected %s=GUID or %s+NUMBER", word, word)
		return
	}
	s.blanks()
	col := s.col()
	v, ok := s.number()
	if !ok {
		p.fail(col, "%s: bad number %q", word, strings.TrimSpace(s.line[col-1:]))
		return
	}
	if !relative {
		p.base[t] = mad.GUID(v)
		v = 0
	}
	p.next[t] = p.base[t] + mad.GUID(v)
	if t == mad.Switch && s.at('(') {
		p.port0GUID, _ = p.parenGUID(s)
	}
	if !s.done() {
		p.fail(s.col(), "%s: unexpected %q", word, s.rest())
	}
}

// parenGUID reads a port GUID in parentheses, hexadecimal without 0x.
func (p *parser) parenGUID(s *scanner) (mad.GUID, bool) {
	col := s.col()
	text, ok := s.between('(', ')')
	g, err := mad.ParseGUID(text)
	if !ok || err != nil {
		p.fail(col, "bad port GUID: expected (GUID) of 1 to 16 hexadecimal digits")
		return 0, false
	}
	return g, true
}

// readModule reads `module="name"`, the prefix of names in what follows.
func (p *parser) readModule(s *scanner) {
	s.blanks()
	if !s.skip('=') {
		p.fail(s.col(), `expected module="NAME"`)
		return
	}
	s.blanks()
	if name, ok := p.quotedName(s, "module"); ok {
		p.module = name
	}
}

// quotedName reads a name in quotation marks.
func (p *parser) quotedName(s *scanner, what string) (string, bool) {
	col := s.col()
	name, ok := s.between('"', '"')
	if !ok {
		p.fail(col, "expected a %s in quotation marks", what)
		return "", false
	}
	if why := badName(name); why != "" {
		p.fail(col, "%s %q: %s", what, name, why)
		return "", false
	}
	return name, true
}

// badName says why a name of a node, module or alias is refused, "" for a good
// one.
func badName(name string) string {
	switch {
	case len(name) > MaxID:
		return fmt.Sprintf("name of %d bytes, at most %d are allowed", len(name), MaxID)
	case strings.ContainsAny(name, "#@"):
		return "# and @ have a meaning of their own in names"
	case hasControl(name):
		return "control character in a name"
	}
	return ""
}

func hasControl(s string) bool {
	return strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r == 0x7f })
}

// readHeader reads `Switch 8 "name" # "description" enhanced port 0 lid 1 lmc 0`.
func (p *parser) readHeader(s *scanner, t mad.NodeType) {
	p.where = skipping
	s.blanks()
	col := s.col()
	ports, ok := s.number()
	if !ok || ports < 1 || ports > 254 {
		p.fail(col, "%s: expected the number of its ports, 1 to 254", t)
		return
	}
	s.blanks()
	col = s.col()
	id, ok := p.quotedName(s, "node name")
	if !ok {
		return
	}
	if p.module != "" {
		id = p.module + "#" + id
	}
	if id == "" || len(id) > MaxID {
		p.fail(col, "node name %q: expected 1 to %d bytes", id, MaxID)
		return
	}
	if !s.done() {
		p.fail(s.col(), "unexpected %q behind the node's name: expected nothing or a comment", s.rest())
		return
	}
	n := &Node{ID: id, Type: t, GUID: p.next[t], Ports: make([]Port, ports+1)}
	if !p.checkNode(n, col) || !p.readDesc(n, s) {
		return
	}
	p.addNode(n)
	p.where = inside
}

// checkNode refuses names that are taken and nodes beyond the limits, and leaves nodes out that have no GUID of
// their own.
func (p *parser) checkNode(n *Node, col int) bool {
	if other, dup := p.byID[n.ID]; dup {
		p.fail(col, "node %q has a header already (line %d)", n.ID, p.headers[other])
		return false
	}
	if len(p.net.Nodes) >= MaxNodes || len(p.slots)+len(n.Ports) > MaxPorts {
		p.fail(1, "more than %d nodes or %d ports", MaxNodes, MaxPorts)
		return false
	}
	other, dup := p.byGUID[n.GUID]
	hint := ""
	if n.Type == mad.Router {
		hint = ": routers need a line rtguid=GUID before"
	}
	switch next := int32(len(p.net.Nodes)); {
	case n.GUID == 0:
		p.leaveOut(next, p.line, "GUID 0 for %q%s", n.ID, hint)
	case dup:
		p.leaveOut(next, p.line, "node GUID %s of %q is %q's already (line %d)", n.GUID, n.ID, p.net.Nodes[other].ID,
			p.headers[other])
	}
	return true
}

// readDesc reads the comment of a header: the description and, of a switch, what
// is known of port 0. A node without description is called by its name.
func (p *parser) readDesc(n *Node, s *scanner) bool {
	n.Desc = n.ID
	if !s.skip('#') {
		return true
	}
	s.blanks()
	col := s.col()
	desc, quoted := s.between('"', '"')
	rest := s.rest()
	if !quoted {
		desc, rest = cutDesc(strings.TrimPrefix(rest, `"`))
	}
	if len(desc) > MaxDesc || hasControl(desc) || strings.ContainsRune(desc, '"') {
		p.fail(col, "bad node description %q: expected at most %d bytes, no control characters or quotation marks",
			desc, MaxDesc)
		return false
	}
	if desc != "" {
		n.Desc = desc
	}
	if n.Type == mad.Switch {
		n.EnhancedPort0 = strings.Contains(rest, "enhanced port 0")
		return p.readLID(&n.Ports[0], rest, len(s.line)-len(rest)+1)
	}
	return true
}

// cutDesc ends a description without quotation marks where the words begin that
// ibnetdiscover puts behind one.
func cutDesc(s string) (desc, rest string) {
	for _, word := range []string{" enhanced port ", " base port ", " lid ", " lmc "} {
		if i := strings.Index(s, word); i >= 0 {
			return s[:i], s[i:]
		}
	}
	return s, ""
}

// readLID reads "lid 5 lmc 0" out of a comment that begins at a column. A value
// that no port can own, as unconfigured adapters show, counts as none.
func (p *parser) readLID(port *Port, comment string, col int) bool {
	fields := strings.Fields(comment)
	for i := 0; i+1 < len(fields); i++ {
		if fields[i] != "lid" && fields[i] != "lmc" {
			continue
		}
		v, ok := (&scanner{line: fields[i+1]}).number()
		if isLID := fields[i] == "lid"; !ok || isLID && v > 0xffff || !isLID && v > 7 {
			p.fail(col, "%s %q: expected a number up to %s", fields[i], fields[i+1],
				map[bool]string{true: "65535", false: "7"}[isLID])
			return false
		} else if !isLID {
			port.LMC = uint8(v)
		} else if mad.LID(v).IsUnicast() {
			port.LID = mad.LID(v)
		}
		i++
	}
	return true
}

// addNode appends the node and gives its ports their GUIDs.
func (p *parser) addNode(n *Node) {
	i := int32(len(p.net.Nodes))
	n.VendorID, n.DeviceID, n.SystemImageGUID = p.vendor, p.device, p.sysImage
	if n.SystemImageGUID == 0 {
		n.SystemImageGUID = n.GUID
	}
	for num := range n.Ports {
		n.Ports[num].Peer = NoEnd
		if n.Type != mad.Switch && num > 0 {
			n.Ports[num].GUID = n.GUID + mad.GUID(num)
		}
	}
	if n.Type == mad.Switch {
		n.Ports[0].GUID = n.GUID
		if p.port0GUID != 0 {
			n.Ports[0].GUID = p.port0GUID
		}
		p.port0GUID = 0
		p.next[n.Type]++
	} else {
		p.next[n.Type] += mad.GUID(len(n.Ports))
	}
	p.vendor, p.sysImage = 0, 0
	if p.byID[n.ID] = i; !p.out[i] {
		p.byGUID[n.GUID] = i
	}
	p.headers = append(p.headers, int32(p.line))
	p.first = append(p.first, int32(len(p.slots)))
	for range n.Ports {
		p.slots = append(p.slots, -1)
	}
	p.net.Nodes = append(p.net.Nodes, *n)
}
