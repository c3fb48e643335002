package guidfile

import (
	"bytes"
	"strconv"
	"strings"

	"ibsm/conf/diag"
	"ibsm/mad"
	"ibsm/routing"
)

// Ports reads port_prof_ignore_file: a node GUID of a switch and a port of it on each line, after which
// the rest of the line is ignored. Lines that OpenSM passes over are passed over, with a warning.
func Ports(file string, text []byte) (ports []routing.SwitchPort, warnings, errors diag.List) {
	r := reader{}
	seen := map[routing.SwitchPort]int{}
	r.lines(file, text, func(guid mad.GUID, line string, at diag.Position) {
		f := fieldsOf(line, at)
		p := routing.SwitchPort{Switch: guid}
		if p.Port = r.port(f); p.Port == 0 {
			return
		}
		if was := seen[p]; was > 0 {
			r.warn(at, "port %d of switch %v is also on line %d", p.Port, guid, was)
			return
		}
		seen[p] = at.Line
		ports = append(ports, p)
	})
	return ports, r.warnings, r.errors
}

// Drained reads drain_file, which OpenSM does not have: a node GUID of a switch on each line, and after it a port,
// without which the whole switch is drained; # begins a comment. Anything else is an error.
func Drained(file string, text []byte) (drained []routing.SwitchPort, warnings, errors diag.List) {
	r := reader{}
	seen := map[routing.SwitchPort]int{}
	r.lines(file, text, func(guid mad.GUID, line string, at diag.Position) {
		f := fieldsOf(line, at)
		p := routing.SwitchPort{Switch: guid}
		if f.blanks(); f.rest != "" && f.rest[0] != '#' {
			port, ok := f.number()
			if f.blanks(); !ok || port == 0 || port > 254 || f.rest != "" && f.rest[0] != '#' {
				r.errors.Add(f.at, "expected a port of the switch, 1 to 254, or nothing")
				return
			}
			p.Port = uint8(port)
		}
		if was := seen[p]; was > 0 {
			r.warn(at, "it is also on line %d", was)
			return
		}
		seen[p] = at.Line
		drained = append(drained, p)
	})
	return drained, r.warnings, r.errors
}

// Switches reads held_back_sw_file, which only NVIDIA's manager has: a node GUID of a switch on each line, after which
// the rest of the line is ignored.
func Switches(file string, text []byte) (switches []mad.GUID, warnings, errors diag.List) {
	r := reader{}
	seen := map[mad.GUID]int{}
	r.lines(file, text, func(guid mad.GUID, _ string, at diag.Position) {
		if _, twice := seen[guid]; !twice {
			switches = append(switches, guid)
		}
		r.once(seen, guid, at)
	})
	return switches, r.warnings, r.errors
}

// Weights reads hop_weights_file: a node GUID of a switch, a port of it and what the link there costs, 1
// to 255, on each line, after which the rest of the line is ignored. Of two weights of a port the last
// applies. Lines that OpenSM passes over are passed over, with a warning.
func Weights(file string, text []byte) (weights map[routing.SwitchPort]uint8, warnings, errors diag.List) {
	r := reader{}
	seen := map[routing.SwitchPort]int{}
	weights = map[routing.SwitchPort]uint8{}
	r.lines(file, text, func(guid mad.GUID, line string, at diag.Position) {
		f := fieldsOf(line, at)
		p := routing.SwitchPort{Switch: guid}
		if p.Port = r.port(f); p.Port == 0 {
			return
		}
		if f.rest != "" {
			f.skip(1) // any one character, as OpenSM has it
		}
		weight, ok := f.number()
		if !ok || weight == 0 || weight > 255 {
			r.warn(f.at, "expected a weight, 1 to 255: the line is ignored, and the link has weight 1")
			return
		}
		if was := seen[p]; was > 0 {
			r.warn(at, "the weight of port %d of switch %v is also on line %d", p.Port, guid, was)
		}
		seen[p] = at.Line
		weights[p] = uint8(weight)
	})
	return weights, r.warnings, r.errors
}

// SearchOrders reads port_search_ordering_file: a node GUID of a switch and ports of it on each line. Lines
// that OpenSM passes over are passed over, with a warning.
func SearchOrders(file string, text []byte) (orders []routing.SearchOrder, warnings, errors diag.List) {
	r := reader{}
	seen := map[mad.GUID]int{}
	r.lines(file, text, func(guid mad.GUID, line string, at diag.Position) {
		f := fieldsOf(line, at)
		o := routing.SearchOrder{Switch: guid}
		for f.blanks(); f.rest != "" && f.rest[0] != '#'; f.blanks() {
			port := r.port(f)
			if port == 0 {
				return
			}
			if bytes.IndexByte(o.Ports, port) >= 0 {
				r.warn(at, "port %d is listed twice: the line is ignored", port)
				return
			}
			o.Ports = append(o.Ports, port)
		}
		if len(o.Ports) == 0 {
			r.warn(f.at, "expected ports of the switch: the line is ignored")
			return
		}
		if was := seen[guid]; was > 0 {
			r.warn(at, "switch %v is also on line %d, which applies if the switch has all ports of that line", guid, was)
		} else {
			seen[guid] = at.Line
		}
		orders = append(orders, o)
	})
	return orders, r.warnings, r.errors
}

// port reads a port of a switch; 0 after a warning.
func (r *reader) port(f *fields) uint8 {
	f.blanks()
	at := f.at
	n, ok := f.number()
	if !ok || n == 0 || n > 254 {
		r.warn(at, "expected a port of the switch, 1 to 254: the line is ignored")
		return 0
	}
	return uint8(n)
}

// fields are what follows the GUID of a line, of which numbers are read from the beginning on.
type fields struct {
	rest string
	at   diag.Position // of rest
}

func fieldsOf(line string, at diag.Position) *fields {
	f := &fields{strings.TrimRight(line, "\n"), at}
	f.skip(tokenLength(f.rest))
	return f
}

func (f *fields) skip(n int) { f.rest, f.at.Col = f.rest[n:], f.at.Col+n }

func (f *fields) blanks() { f.rest = skipBlanks(f.rest, &f.at) }

// number reads a number after blanks, as the C library's strtoul does with base 0: as many digits as there
// are. Only ok says that there are any.
func (f *fields) number() (n uint64, ok bool) {
	f.blanks()
	base, from := uint64(10), 0
	switch {
	case len(f.rest) > 2 && f.rest[0] == '0' && f.rest[1]|0x20 == 'x' && digit(f.rest[2]) < 16:
		base, from = 16, 2
	case strings.HasPrefix(f.rest, "0"):
		base = 8
	}
	end := from
	for end < len(f.rest) && digit(f.rest[end]) < base {
		end++
	}
	n, err := strconv.ParseUint(f.rest[from:end], int(base), 64)
	f.skip(end)
	return n, err == nil
}

// digit is the value of a digit, 255 of what is none.
func digit(c byte) uint64 {
	switch {
	case c >= '0' && c <= '9':
		return uint64(c - '0')
	case c|0x20 >= 'a' && c|0x20 <= 'f':
		return uint64(c|0x20-'a') + 10
	}
	return 255
}
