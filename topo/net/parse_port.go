package net

import (
	"strings"

	"ibsm/mad"
)

// portLine is one line of a node's ports: one end of a cable, or an alias that a
// cable from elsewhere may name.
type portLine struct {
	at         End
	line, col  int    // col of the remote's name
	isAlias    bool   // remote is the port's own alias
	viaAlias   bool   // remote is the alias of the port at the other end
	remote     string // full name, with module
	remotePort uint8  // without viaAlias
	offers     abilities
	to         End // resolved; NoEnd when it is not known
}

// readPort reads a port line:
//
//	[1](100001) "S-0000000000200010"[2] w=3 # lid 6 lmc 0 "SW2" lid 3 4xHDR
//	@[4] "alias"
func (p *parser) readPort(line string) {
	s := &scanner{line: line}
	e := portLine{line: p.line, offers: p.offers, to: NoEnd}
	e.at.Node = int32(len(p.net.Nodes) - 1)
	node := &p.net.Nodes[e.at.Node]

	e.isAlias = s.skip('@')
	num, ok := p.readPortNumber(s)
	if !ok {
		return
	}
	if num > node.NumPorts() {
		p.fail(s.col(), "port %d of %q: it has ports 1 to %d", num, node.ID, node.NumPorts())
		return
	}
	e.at.Port = uint8(num)
	slot := &p.slots[p.first[e.at.Node]+int32(num)]
	if *slot >= 0 {
		p.fail(1, "two cables on port %s: the first is in line %d", p.endName(e.at), p.ends[*slot].line)
		return
	}
	port := &node.Ports[num]
	if !p.readOwnGUID(s, node, port) || !p.readRemote(s, &e) || !p.readOptions(s, &e) {
		return
	}
	if s.skip('#') && !p.readLinkComment(s, node, port, &e) {
		return
	}
	if e.isAlias {
		if _, dup := p.aliases[e.remote]; dup {
			p.fail(e.col, "alias %q is declared already", e.remote)
			return
		}
		p.aliases[e.remote] = e.at
	}
	*slot = int32(len(p.ends))
	p.ends = append(p.ends, e)
}

// readPortNumber reads "[12]", decimal.
func (p *parser) readPortNumber(s *scanner) (int, bool) {
	col := s.col()
	if !s.skip('[') {
		p.fail(col, "expected a port number such as [1]")
		return 0, false
	}
	v, ok := s.digits(10)
	if !ok || v < 1 || v > 254 || !s.skip(']') {
		p.fail(col, "bad port number: expected [1] to [254]")
		return 0, false
	}
	return int(v), true
}

// readOwnGUID reads what stands between a port's number and its remote: the
// port's GUID and the number on the front panel, both if known.
func (p *parser) readOwnGUID(s *scanner, node *Node, port *Port) bool {
	for {
		s.blanks()
		col := s.col()
		switch {
		case s.at('('):
			guid, ok := p.parenGUID(s)
			if !ok {
				return false
			}
			if node.Type != mad.Switch {
				port.GUID = guid
			}
		case s.at('['):
			if _, ok := s.between('[', ']'); !ok {
				p.fail(col, "missing ]")
				return false
			}
		default:
			return true
		}
	}
}

// readRemote reads the name and port at the other end, or the alias.
func (p *parser) readRemote(s *scanner, e *portLine) bool {
	e.col = s.col()
	if e.isAlias {
		alias, ok := p.quotedName(s, "alias")
		e.remote = p.module + "@" + alias
		return ok
	}
	name, ok := s.between('"', '"')
	if !ok || name == "" {
		p.fail(e.col, `expected the name of the node at the other end, as in [1] "name"[2]`)
		return false
	}
	e.remote, e.remotePort = name, 1
	switch {
	case strings.HasPrefix(name, "@"):
		e.viaAlias, e.remote = true, p.module+name
	case strings.Contains(name, "@"):
		e.viaAlias = true
	case p.module != "" && !strings.Contains(name, "#"):
		e.remote = p.module + "#" + name
	}
	if s.at('[') && !strings.HasPrefix(s.rest(), "[ext") {
		num, ok := p.readPortNumber(s)
		e.remotePort = uint8(num)
		return ok
	}
	return true
}

// readOptions reads what stands between the remote and the comment: the peer's
// GUID and front panel number, which say nothing new, and w= s= e= masks.
func (p *parser) readOptions(s *scanner, e *portLine) bool {
	for !s.done() {
		col := s.col()
		if s.at('(') {
			if _, ok := p.parenGUID(s); !ok {
				return false
			}
			continue
		}
		if strings.HasPrefix(s.rest(), "[ext") {
			if _, ok := s.between('[', ']'); ok {
				continue
			}
		}
		if s.at('[') {
			p.fail(col, `blanks before the remote port: write "name"[2], or ibsim takes port 1`)
			return false
		}
		if !p.readOption(s, e) {
			return false
		}
	}
	return true
}

func (p *parser) readOption(s *scanner, e *portLine) bool {
	col := s.col()
	word := s.word()
	var mask *uint8
	low, high := uint64(1), uint64(0)
	switch word {
	case "w":
		mask, high = &e.offers.width, maxWidthMask
	case "s":
		mask, low, high = &e.offers.speed, 0, maxSpeedMask
	case "e":
		mask, low, high = &e.offers.ext, 0, maxExtMask
	}
	if mask == nil || !s.skip('=') {
		p.fail(col, "unexpected %s: expected an option w=, s= or e=, or a comment", quoteStart(s.line[col-1:]))
		return false
	}
	v, ok := s.number()
	if !ok || v < low || v > high {
		p.fail(col, "option %s=: expected a mask, %d to %d", word, low, high)
		return false
	}
	*mask = uint8(v)
	if word == "s" && v == 0 {
		*mask = 4 // ibsim's reading: QDR
	}
	return true
}

// readLinkComment reads the comment that ibnetdiscover puts behind a cable: on a
// line of an adapter its LID and LMC; the peer's description and LID; width and
// speed. Text of any other form is a plain comment.
func (p *parser) readLinkComment(s *scanner, node *Node, port *Port, e *portLine) bool {
	col, text := s.col(), s.rest()
	own, tail := text, text
	if i := strings.IndexByte(text, '"'); i >= 0 {
		own, tail = text[:i], text[strings.LastIndexByte(text, '"')+1:]
	}
	if node.Type != mad.Switch && !p.readLID(port, own, col) {
		return false
	}
	fields := strings.Fields(tail)
	for len(fields) >= 3 && (fields[0] != "lid" || fields[1] == "lid") {
		fields = fields[1:]
	}
	if len(fields) < 3 {
		return true
	}
	width, speed, ok := cutWidth(fields[2])
	if !ok {
		return true
	}
	w, okWidth := parseWidth(width)
	v, okSpeed := parseSpeed(speed)
	if !okWidth || !okSpeed {
		p.fail(len(s.line)-len(tail)+strings.Index(tail, fields[2])+1,
			"unknown link %q: expected 1x, 2x, 4x, 8x or 12x with SDR, DDR, QDR, FDR10, FDR, EDR, HDR, NDR or XDR",
			fields[2])
		return false
	}
	e.offers.offerWidth(w)
	e.offers.offerSpeed(v)
	return true
}
