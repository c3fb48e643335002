package main

import (
	"bufio"
	"errors"
	"os"
	"strconv"
	"strings"

	"ibsm/conf/diag"
	"ibsm/mad"
)

// names are those that an operator gives to nodes: a node-name-map, as OpenSM and
// infiniband-diags read it. A nil one has none.
type names map[string]string // by node GUID, as it is printed

// Bounds of the file.
const (
	maxNameLine = 256
	maxNames    = 1 << 17
)

// readNames reads a file of lines
//
//	0x0002c902004c1e20 "spine 1"   # comment
//
// in which the quotes may be left out. Of two names for a GUID the first counts.
func readNames(file string) (names, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	n := names{}
	lines := bufio.NewScanner(f)
	lines.Buffer(make([]byte, maxNameLine), maxNameLine)
	line := 1
	for ; lines.Scan(); line++ {
		guid, name, err := parseName(lines.Text())
		if err == nil && len(n) == maxNames {
			err = errors.New("more names than a subnet has nodes")
		}
		if err != nil {
			return nil, diag.Error{Position: diag.Position{File: file, Line: line}, Text: err.Error()}
		}
		if _, twice := n[guid]; guid != "" && !twice {
			n[guid] = name
		}
	}
	if err := lines.Err(); err != nil {
		return nil, diag.Error{Position: diag.Position{File: file, Line: line}, Text: err.Error()}
	}
	return n, nil
}

// parseName reads one line; guid is "" when it says nothing.
func parseName(line string) (guid, name string, err error) {
	line = strings.TrimLeft(line, " \t")
	if line == "" || line[0] == '#' {
		return "", "", nil
	}
	word, rest := line, ""
	if i := strings.IndexAny(line, " \t#"); i >= 0 {
		word, rest = line[:i], line[i:]
	}
	v, err := strconv.ParseUint(word, 0, 64)
	if err != nil {
		return "", "", errors.New("want a GUID, with 0x before its digits, and a name")
	}
	if _, quoted, ok := strings.Cut(rest, `"`); ok {
		name, _, ok = strings.Cut(quoted, `"`)
		if !ok {
			return "", "", errors.New(`the name's second quote (") is missing`)
		}
	} else {
		name, _, _ = strings.Cut(rest, "#")
		name = strings.TrimSpace(name)
	}
	if name == "" {
		return "", "", errors.New("the name is missing")
	}
	return mad.GUID(v).String(), name, nil
}

// of is the name of a node.
func (n names) of(guid, desc string) string {
	if name, ok := n[guid]; ok {
		return name
	}
	return desc
}

// resolve is the GUID of a node that was given the name, or the name itself.
func (n names) resolve(name string) string {
	found := name
	for guid, given := range n {
		if given == name && (found == name || guid < found) {
			found = guid
		}
	}
	return found
}
