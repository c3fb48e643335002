// Package names is the names that an operator gives to nodes: node-name-maps, as OpenSM
// and infiniband-diags read them.
package names

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"ibsm/conf/diag"
	"ibsm/mad"
	"ibsm/mad/smp"
)

// DefaultFile is where Debian's OpenSM looks for a map if none is named.
const DefaultFile = "/etc/opensm/ib-node-name-map"

// Map is names by node GUID. A nil one has none. It may be read by many at once.
type Map map[mad.GUID]string

// Bounds of a map. MaxFile is the largest file of one, in bytes.
const (
	MaxFile   = maxLine * maxNames
	maxLine   = 256
	maxNames  = 1 << 17
	maxErrors = 20 // reported for one file
)

// Read reads lines
//
//	0x0002c902004c1e20 "spine 1"   # comment
//
// in which the quotes may be left out. Of two names for a GUID the first counts. A line with an error is left out, and
// is in the diag.List that is returned; the other lines are used, as by infiniband-diags. Another error is that of the
// reader.
func Read(file string, from io.Reader) (Map, error) {
	m, wrong := Map{}, diag.List{}
	lines := bufio.NewReaderSize(from, maxLine)
	for line := 1; ; line++ {
		text, long, err := readLine(lines)
		if errors.Is(err, io.EOF) {
			return m, wrong.Err()
		}
		if err != nil {
			return m, err
		}
		guid, name, problem := parse(text)
		switch _, twice := m[guid]; {
		case long:
			problem = fmt.Errorf("a line of more than %d bytes", maxLine)
		case problem == nil && len(m) == maxNames:
			problem = errors.New("more names than a subnet has nodes")
		case problem == nil && name != "" && !twice:
			m[guid] = name
		}
		if problem != nil {
			wrong.Add(diag.Position{File: file, Line: line}, "%v: the line is left out", problem)
		}
		if len(wrong) == maxErrors {
			wrong.Add(diag.Position{File: file}, "the file was not read beyond the first %d errors", maxErrors)
			return m, wrong
		}
	}
}

// readLine reads a line, up to maxLine bytes of it.
func readLine(from *bufio.Reader) (text string, long bool, err error) {
	line, more, err := from.ReadLine()
	text, long = string(line), more
	for more && err == nil {
		_, more, err = from.ReadLine()
	}
	return text, long, err
}

// parse reads one line; name is "" when it says nothing.
func parse(line string) (guid mad.GUID, name string, err error) {
	line = strings.TrimLeft(line, " \t")
	if line == "" || line[0] == '#' {
		return 0, "", nil
	}
	word, rest := line, ""
	if i := strings.IndexAny(line, " \t#"); i >= 0 {
		word, rest = line[:i], line[i:]
	}
	v, err := strconv.ParseUint(word, 0, 64)
	if err != nil {
		return 0, "", errors.New("expected a GUID (0x and hexadecimal digits) and a name")
	}
	if _, quoted, ok := strings.Cut(rest, `"`); ok {
		name, _, ok = strings.Cut(quoted, `"`)
		if !ok {
			return 0, "", errors.New(`the name's second quote (") is missing`)
		}
	} else {
		name, _, _ = strings.Cut(rest, "#")
		name = strings.TrimSpace(name)
	}
	if name == "" {
		return 0, "", errors.New("the name is missing")
	}
	return mad.GUID(v), name, nil
}

// Of is the name of a node, its description where it has none.
func (m Map) Of(guid mad.GUID, desc string) string {
	if name, ok := m[guid]; ok {
		return name
	}
	return desc
}

// Find is the node that was given a name, of several the one with the lowest GUID. Without such a
// node, blanks at the ends do not count.
func (m Map) Find(name string) (guid mad.GUID, ok bool) {
	if guid, ok = m.lowest(func(given string) bool { return given == name }); ok {
		return guid, ok
	}
	bare := strings.TrimSpace(name)
	return m.lowest(func(given string) bool { return strings.TrimSpace(given) == bare })
}

// lowest is the lowest GUID of those whose name is meant.
func (m Map) lowest(meant func(given string) bool) (guid mad.GUID, ok bool) {
	for g, given := range m {
		if meant(given) && (!ok || g < guid) {
			guid, ok = g, true
		}
	}
	return guid, ok
}

// maxDesc is how much of a description OpenSM keeps: it ends it with a zero byte.
const maxDesc = 63

// Printed is what OpenSM prints for a node: the name that it was given, or else its
// description, with a blank for each byte that is not printable ASCII.
func (m Map) Printed(guid mad.GUID, desc *smp.NodeDescription) string {
	return string(m.AppendPrinted(nil, guid, desc))
}

// AppendPrinted appends it.
func (m Map) AppendPrinted(b []byte, guid mad.GUID, desc *smp.NodeDescription) []byte {
	if name, ok := m[guid]; ok {
		return append(b, name...)
	}
	if desc[0] == 0 {
		return append(b, "<unknown>"...)
	}
	for _, c := range desc[:maxDesc] {
		if c == 0 {
			break
		}
		if c < ' ' || c > '~' {
			c = ' '
		}
		b = append(b, c)
	}
	return b
}

var TypeNames = map[mad.NodeType]string{
	mad.CA:     "Channel Adapter",
	mad.Switch: "Switch",
	mad.Router: "Router",
}

// Type is OpenSM's word for a type of node.
func Type(t mad.NodeType) string { return cmp.Or(TypeNames[t], "UNKNOWN") }
