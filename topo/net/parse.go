package net

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"

	"ibsm/conf/diag"
	"ibsm/mad"
)

// Limits of a topology file. They hold the largest legal subnet twice over.
const (
	MaxFile  = 64 << 20 // bytes
	MaxLine  = 254      // bytes, line end not counted; ibsim cuts longer lines in two
	MaxNodes = 1 << 16
	MaxPorts = 1 << 20 // of all nodes together
	MaxID    = 64      // bytes of a node's name
	MaxDesc  = 64      // bytes of a NodeDescription
)

// maxErrors bounds the reported errors of one file.
const maxErrors = 100

// Parse reads a topology file: what ibnetdiscover prints, or what is written by
// hand for ibsim. A file means the same fabric here and in ibsim (default GUIDs,
// widths and speeds included), except for port GUIDs in parentheses and for
// routers' speeds and LIDs, which ibsim does not read, and for widths and speeds
// that ibnetdiscover calls unknown. Statements that reach
// beyond the file (include, do) are refused. Name appears in errors. A node without
// a GUID of its own is left out, with a warning.
//
// The error is a diag.List of everything that is wrong.
func Parse(name string, src []byte) (*Net, error) {
	p := newParser(name)
	if len(src) > MaxFile {
		p.errs.Add(diag.Position{File: name}, "file of %d bytes: at most %d are read", len(src), MaxFile)
		return nil, p.errs.Err()
	}
	for rest := src; len(rest) > 0 && len(p.errs) <= maxErrors; {
		var line []byte
		line, rest, _ = bytes.Cut(rest, []byte("\n"))
		p.line++
		p.readLine(string(bytes.TrimSuffix(line, []byte("\r"))))
	}
	if len(p.net.Nodes) == 0 && len(p.errs) == 0 {
		p.errs.Add(diag.Position{File: name},
			"no node in the file: expected lines such as `Switch 8 \"name\"` or `Ca 1 \"name\"`")
	}
	p.nameTool(src)
	if len(p.errs) == 0 { // else what is missing may stand in a line that was wrong
		p.connect()
		p.checkPortGUIDs()
		p.cut()
	}
	if err := p.sortedErrors(); err != nil {
		return nil, err
	}
	return p.net, nil
}

// parser is the state of reading one file.
type parser struct {
	file string
	line int // being read, from 1
	errs diag.List
	net  *Net

	// What earlier lines said of the nodes to come.
	base, next [mad.Router + 1]mad.GUID // by node type: last absolute GUID, GUID of the next node
	port0GUID  mad.GUID                 // of the next switch
	sysImage   mad.GUID                 // of the next node
	vendor     uint32                   // of the next node
	device     uint16                   // of every node from here on
	offers     abilities                // of every node's ports from here on
	module     string                   // prefix of names from here on

	where   recordState
	byID    map[string]int32
	byGUID  map[mad.GUID]int32
	headers []int32        // line of each node's header
	first   []int32        // of each node: index into slots of its port 0
	slots   []int32        // by node and port: index into ends, or -1
	ends    []portLine     // in file order
	aliases map[string]End // by full name
	out     map[int32]bool // nodes that are left out
}

// recordState says whether port lines may come.
type recordState uint8

const (
	outside  recordState = iota // between records
	inside                      // behind the header or a port line of the last node
	skipping                    // after a header with an error: its ports are ignored
)

func newParser(name string) *parser {
	p := &parser{
		file: name, net: &Net{}, offers: ibsimDefault,
		byID: map[string]int32{}, byGUID: map[mad.GUID]int32{}, aliases: map[string]End{}, out: map[int32]bool{},
	}
	// ibsim counts from these until a file says otherwise. Routers have none.
	p.base = [...]mad.GUID{mad.CA: 0x100000, mad.Switch: 0x200000, mad.Router: 0}
	p.next = p.base
	return p
}

// sortedErrors is everything that was wrong, in file order and not too much.
func (p *parser) sortedErrors() error {
	inOrder(p.errs)
	if len(p.errs) > maxErrors {
		p.errs = append(p.errs[:maxErrors], diag.Error{Position: diag.Position{File: p.file}, Text: "too many errors"})
	}
	return p.errs.Err()
}

func inOrder(l diag.List) {
	slices.SortStableFunc(l, func(a, b diag.Error) int { return cmp.Or(a.Line-b.Line, a.Col-b.Col) })
}

func (p *parser) fail(col int, format string, args ...any) { p.failAt(p.line, col, format, args...) }

func (p *parser) failAt(line, col int, format string, args ...any) {
	if len(p.errs) <= maxErrors {
		p.errs.Add(diag.Position{File: p.file, Line: line, Col: col}, format, args...)
	}
}

// readLine reads one line. Port lines stand directly behind their header; the
// first line that is neither one nor a comment ends the record.
func (p *parser) readLine(line string) {
	if strings.HasPrefix(line, "#") {
		return
	}
	text := strings.TrimLeft(line, " \t")
	isPort := strings.HasPrefix(text, "[") || strings.HasPrefix(text, "@[")
	if isPort || p.isStatement(text) {
		switch {
		case len(text) < len(line):
			p.fail(1, "blanks before %s: it must begin in column 1", quoteStart(text))
		case len(line) > MaxLine:
			p.fail(MaxLine+1, "line of %d bytes: at most %d are read", len(line), MaxLine)
			p.where = skipping
			return
		}
	}
	switch {
	case isPort && p.where == outside:
		p.fail(1, "port line outside a node: it must follow the node's header without a blank line between")
		p.where = skipping
	case isPort && p.where == inside:
		p.readPort(text)
	case isPort:
		// The header was wrong; it has been reported.
	default:
		swallowed := p.where == inside && text != "" && p.isStatement(text) && !p.allPortsRead()
		if swallowed {
			p.fail(1, "a blank line must end the ports above; ibsim would lose this line")
		}
		p.where = outside
		p.readStatement(text)
	}
}

// quoteStart quotes the beginning of a text for an error.
func quoteStart(s string) string {
	if len(s) > 12 {
		s = s[:12] + "..."
	}
	return fmt.Sprintf("%q", s)
}

// allPortsRead reports that every port of the last node has had its line, which
// ends a record too.
func (p *parser) allPortsRead() bool {
	last := len(p.net.Nodes) - 1
	for _, end := range p.slots[p.first[last]+1:] {
		if end < 0 {
			return false
		}
	}
	return true
}

// connect joins the ends that name each other.
func (p *parser) connect() {
	for i := range p.ends {
		if e := &p.ends[i]; !e.isAlias {
			p.resolve(e)
		}
	}
	for i := range p.ends {
		if e := &p.ends[i]; !e.isAlias && e.to.Node >= 0 && !p.out[e.to.Node] && !p.out[e.at.Node] {
			p.join(int32(i), e)
		}
	}
}

// resolve finds the port that a line leads to.
func (p *parser) resolve(e *portLine) {
	if e.viaAlias {
		to, ok := p.aliases[e.remote]
		if !ok {
			p.failAt(e.line, e.col, "unknown alias %q: no line declares it with `@[port] \"%s\"`", e.remote,
				e.remote[strings.IndexByte(e.remote, '@')+1:])
			return
		}
		e.to = to
		return
	}
	node, ok := p.byID[e.remote]
	if !ok {
		p.failAt(e.line, e.col, "unknown node %q: no header in the file has this name", e.remote)
		return
	}
	if n := p.net.Nodes[node].NumPorts(); int(e.remotePort) > n {
		p.failAt(e.line, e.col, "port %d of %q: it has ports 1 to %d", e.remotePort, e.remote, n)
		return
	}
	e.to = End{node, e.remotePort}
}

// join makes a cable of a line and its counterpart.
func (p *parser) join(i int32, e *portLine) {
	port, peer := p.port(e.at), p.port(e.to)
	back := p.slots[p.first[e.to.Node]+int32(e.to.Port)]
	switch {
	case e.viaAlias:
		if peer.Peer != NoEnd {
			p.failAt(e.line, e.col, "two cables on port %s, by its alias %q", p.endName(e.to), e.remote)
			return
		}
	case back < 0:
		p.failAt(e.line, e.col, "port %s has no line that leads back to %s", p.endName(e.to), p.endName(e.at))
		return
	case p.ends[back].isAlias:
		p.failAt(e.line, e.col, "port %s has the alias %q: a cable to it must name that", p.endName(e.to),
			p.ends[back].remote)
		return
	case p.ends[back].to != e.at:
		if p.ends[back].to.Node >= 0 && p.discovered(e.to.Node) {
			p.warn(e.line, e.col,
				"port %s leads to %s, not back to %s: two nodes have this GUID, of which one is left out",
				p.endName(e.to),
				p.endName(p.ends[back].to), p.endName(e.at))
		} else if p.ends[back].to.Node >= 0 {
			p.failAt(e.line, e.col, "port %s leads to %s, not back to %s", p.endName(e.to),
				p.endName(p.ends[back].to), p.endName(e.at))
		}
		return
	case back < i:
		return // the earlier of the two lines has made the cable
	}
	w, s, missing := best(e.offers, p.ends[back].offers)
	if missing != "" {
		p.failAt(e.line, e.col, "ports %s and %s have no link %s in common", p.endName(e.at), p.endName(e.to), missing)
		return
	}
	port.Peer, port.Width, port.Speed = e.to, w, s
	peer.Peer, peer.Width, peer.Speed = e.at, w, s
}

func (p *parser) port(e End) *Port { return &p.net.Nodes[e.Node].Ports[e.Port] }

// endName prints a port as port lines do.
func (p *parser) endName(e End) string { return fmt.Sprintf("%q[%d]", p.net.Nodes[e.Node].ID, e.Port) }

// checkPortGUIDs leaves nodes out of which an end port has no GUID, or that of another one.
func (p *parser) checkPortGUIDs() {
	seen := make(map[mad.GUID]End, len(p.net.Nodes))
	for i := range p.net.Nodes {
		n := &p.net.Nodes[i]
		for num := range n.Ports {
			if p.out[int32(i)] {
				break
			}
			at := End{int32(i), uint8(num)}
			guid := n.Ports[num].GUID
			if isEnd := (num == 0) == (n.Type == mad.Switch); !isEnd {
				continue
			}
			other, dup := seen[guid]
			switch {
			case guid == 0:
				p.leaveOut(int32(i), int(p.headers[i]), "GUID 0 for port %s", p.endName(at))
			case dup:
				p.leaveOut(int32(i), int(p.headers[i]), "port GUID %s of %s is %s's already (line %d)", guid,
					p.endName(at),
					p.endName(other), p.headers[other.Node])
			default:
				seen[guid] = at
			}
		}
	}
}
