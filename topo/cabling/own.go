package cabling

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"ibsm/conf/diag"
	"ibsm/mad"
	"ibsm/topo/net"
)

// The project's own format. After the first line, a line for each device, and one for each cable:
//
//	ibsm-topology 1
//	switch leaf-03 0x0002c90300a1b2c0
//	adapter "host-12 mlx5_0" 0x0002c90300a1b2c4
//	cable leaf-03:7 - "host-12 mlx5_0":1 4xNDR
//
// A name may stand for a GUID, and a GUID for a name. Width and speed may be left out. Where no device has a line of
// its own, cables name devices. What follows # is a comment.

// types are the words for types of devices.
var types = map[string]mad.NodeType{"switch": mad.Switch, "adapter": mad.CA, "router": mad.Router}

// ownLine reads a line.
func (r *reader) ownLine(line string) {
	tokens, ok := r.tokens(line)
	if !ok || len(tokens) == 0 {
		return
	}
	first, rest := tokens[0], tokens[1:]
	switch typ, is := types[first.text]; {
	case !r.header:
		if r.header = true; first.text != "ibsm-topology" || len(rest) != 1 || rest[0].text != "1" {
			r.fail(first.col, "expected %q: this version reads no other one", header)
		}
	case is && !first.quoted:
		r.deviceLine(typ, first, rest)
	case first.text == "cable" && !first.quoted:
		r.cableLine(first, rest)
	default:
		words := append(slices.Sorted(maps.Keys(types)), "cable")
		r.fail(first.col, "%q: expected %s%s", first.text, strings.Join(words, ", "), diag.Meant(first.text, words))
	}
}

// tokens are the words of a line, up to a comment. Quotation marks hold blanks together; what follows them belongs to
// the word.
func (r *reader) tokens(line string) (all []token, ok bool) {
	for i := 0; i < len(line); {
		switch line[i] {
		case ' ', '\t':
			i++
			continue
		case '#':
			return all, true
		}
		t, text := token{col: i + 1}, strings.Builder{}
		for i < len(line) && line[i] != ' ' && line[i] != '\t' {
			if line[i] != '"' {
				text.WriteByte(line[i])
				i++
				continue
			}
			end := strings.IndexByte(line[i+1:], '"')
			if end < 0 {
				r.fail(i+1, "no closing quotation mark")
				return nil, false
			}
			text.WriteString(line[i+1 : i+1+end])
			i += end + 2
			t.quoted = true
		}
		t.text = text.String()
		all = append(all, t)
	}
	return all, true
}

// isGUID reports whether a word stands for a GUID.
func (t token) isGUID() bool { return !t.quoted && strings.HasPrefix(t.text, "0x") }

// deviceLine reads a name, a GUID or both.
func (r *reader) deviceLine(typ mad.NodeType, first token, rest []token) {
	d := Device{Type: typ}
	for i, t := range rest {
		ok := i < 2
		switch {
		case t.isGUID() && d.GUID == 0:
			if d.GUID, ok = r.guid(t); !ok {
				return
			}
			if _, is := r.guids[d.GUID]; is {
				r.fail(t.col, "%v is in the plan already", d.GUID)
				return
			}
		case !t.isGUID() && d.Name == "":
			d.Name = t.text
			if !r.goodName(t) {
				return
			}
		default:
			ok = false
		}
		if !ok {
			r.fail(t.col, "unexpected %q: expected a name and a GUID", t.text)
			return
		}
	}
	if d.Name == "" && d.GUID == 0 {
		r.fail(first.col, "expected a name, a GUID or both")
		return
	}
	_, twice := r.names[d.Name]
	if twice && d.Name != "" && d.GUID == 0 {
		r.fail(rest[0].col, "%q is in the plan already: give both their GUIDs", d.Name)
		return
	}
	at := r.add(d)
	if d.GUID != 0 {
		r.guids[d.GUID] = at
	}
	if d.Name != "" {
		r.listed = true
		if r.names[d.Name] = at; twice {
			r.names[d.Name] = ambiguous
		}
	}
}

// ambiguous stands for the device of a name that several have.
const ambiguous = -1

func (r *reader) goodName(t token) bool {
	if t.text == "" || len(t.text) > net.MaxDesc || strings.ContainsFunc(t.text, func(c rune) bool {
		return c < ' ' || c == 0x7f
	}) {
		r.fail(t.col, "bad name: expected 1 to %d bytes without control characters", net.MaxDesc)
		return false
	}
	return true
}

// cableLine reads END - END [RATE].
func (r *reader) cableLine(first token, rest []token) {
	if len(rest) < 3 || len(rest) > 4 || rest[1].text != "-" {
		r.fail(first.col,
			"expected cable NAME:PORT - NAME:PORT, and the width and speed if they are known, such as 4xNDR")
		return
	}
	a, ok := r.endOf(rest[0])
	b, good := r.endOf(rest[2])
	if !ok || !good {
		return
	}
	c := Cable{Ends: [2]End{a, b}}
	if len(rest) == 4 {
		if c.Width, c.Speed, ok = net.ParseRate(rest[3].text); !ok {
			r.fail(rest[3].col,
				"unknown rate %q: expected 1x, 2x, 4x, 8x or 12x with SDR, DDR, QDR, FDR10, FDR, EDR, HDR, NDR or XDR",
				rest[3].text)
			return
		}
	}
	r.cable(c, [2]int{rest[0].col, rest[2].col})
}

// endOf is a port as NAME:PORT.
func (r *reader) endOf(t token) (End, bool) {
	i := strings.LastIndexByte(t.text, ':')
	if i <= 0 {
		r.fail(t.col, "expected NAME:PORT or 0xGUID:PORT")
		return End{}, false
	}
	port, ok := r.portNumber(token{text: t.text[i+1:], col: t.col})
	if !ok {
		return End{}, false
	}
	name := token{text: t.text[:i], col: t.col, quoted: t.quoted}
	if name.isGUID() {
		guid, ok := r.guid(name)
		if !ok {
			return End{}, false
		}
		return r.end(r.device(guid), port, t.col)
	}
	d, is := r.names[name.text]
	switch {
	case is && d == ambiguous:
		r.fail(t.col, "several devices are called %q: use the GUID", name.text)
		return End{}, false
	case !is && r.listed:
		r.fail(t.col, "no device is called %q%s", name.text, diag.Meant(name.text, r.sample()))
		return End{}, false
	case !is:
		if !r.goodName(name) {
			return End{}, false
		}
		d = r.add(Device{Name: name.text})
		r.names[name.text] = d
	}
	return r.end(d, port, t.col)
}

// sample is some names, for suggestions.
func (r *reader) sample() []string {
	all := slices.Sorted(maps.Keys(r.names))
	return all[:min(len(all), 4096)]
}

// Write writes cables in the project's own format, which Read reads back. The types of all devices must be known.
func Write(w io.Writer, c *Cabling) error {
	out := bufio.NewWriter(w) // holds the first error until Flush
	fmt.Fprintln(out, header)
	count := map[string]int{}
	for i := range c.Devices {
		count[quote(c.Devices[i].Name)]++
	}
	for _, t := range []mad.NodeType{mad.Switch, mad.CA, mad.Router} {
		for _, i := range c.order() {
			if d := &c.Devices[i]; d.Type == t {
				fmt.Fprintln(out,
					strings.Join(slices.DeleteFunc([]string{wordOf(t), quote(d.Name), guidText(d.GUID)},
						func(s string) bool {
							return s == ""
						}), " "))
			}
		}
	}
	end := func(e End) string {
		d := &c.Devices[e.Device]
		if name := quote(d.Name); name != "" && count[name] == 1 {
			return fmt.Sprintf("%s:%d", name, e.Port)
		}
		return fmt.Sprintf("%v:%d", d.GUID, e.Port)
	}
	for _, cable := range c.ordered() {
		fmt.Fprintf(out, "cable %s - %s", end(cable.Ends[0]), end(cable.Ends[1]))
		if cable.Width != 0 && cable.Speed != 0 {
			fmt.Fprintf(out, " %v%v", cable.Width, cable.Speed)
		}
		fmt.Fprintln(out)
	}
	return out.Flush()
}

// WriteTopoconfig writes cables as UFM's topoconfig.conf, a line for each end. The GUIDs of all devices must be known.
func WriteTopoconfig(w io.Writer, c *Cabling) error {
	out := bufio.NewWriter(w) // holds the first error until Flush
	for _, cable := range c.ordered() {
		for i, e := range cable.Ends {
			o := cable.Ends[1-i]
			fmt.Fprintf(out, "%v,%d,%v,%d,Any,Active\n", c.Devices[e.Device].GUID, e.Port, c.Devices[o.Device].GUID,
				o.Port)
		}
	}
	return out.Flush()
}

// order is that of devices by name.
func (c *Cabling) order() []int32 {
	order := make([]int32, len(c.Devices))
	for i := range order {
		order[i] = int32(i)
	}
	slices.SortFunc(order, func(a, b int32) int {
		x, y := &c.Devices[a], &c.Devices[b]
		return cmp.Or(strings.Compare(x.Name, y.Name), cmp.Compare(x.GUID, y.GUID))
	})
	return order
}

// ordered are the cables by the names of their devices, those of switches first.
func (c *Cabling) ordered() []Cable {
	rank := make([]int, len(c.Devices))
	for i, d := range c.order() {
		if rank[d] = i; c.Devices[d].Type != mad.Switch {
			rank[d] += len(rank)
		}
	}
	compare := func(a, b End) int { return cmp.Or(rank[a.Device]-rank[b.Device], int(a.Port)-int(b.Port)) }
	cables := slices.Clone(c.Cables)
	for i := range cables {
		if e := &cables[i].Ends; compare(e[0], e[1]) > 0 {
			e[0], e[1] = e[1], e[0]
		}
	}
	slices.SortFunc(cables, func(a, b Cable) int { return compare(a.Ends[0], b.Ends[0]) })
	return cables
}

func wordOf(t mad.NodeType) string {
	for word, typ := range types {
		if typ == t {
			return word
		}
	}
	return ""
}

func guidText(g mad.GUID) string {
	if g == 0 {
		return ""
	}
	return g.String()
}

// quote is a name as a word of the format, which has no place for quotation marks.
func quote(name string) string {
	name = strings.ReplaceAll(name, `"`, "'")
	plain := func(r rune) bool {
		return r >= '0' && r <= '9' || r|0x20 >= 'a' && r|0x20 <= 'z' || strings.ContainsRune("-_.", r)
	}
	if name == "" || !strings.HasPrefix(name, "0x") && !strings.ContainsFunc(name, func(r rune) bool {
		return !plain(r)
	}) {
		return name
	}
	return `"` + name + `"`
}
