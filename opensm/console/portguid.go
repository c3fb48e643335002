package console

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"time"

	"ibsm/mad"
	"ibsm/topo"
)

// portGUID is a GUID that belongs to a port of a node: the port's own, or an alias.
type portGUID struct {
	guid mad.GUID
	node topo.NodeIdx
}

// Bounds of what expressions of a client may cost: their length in bytes, and the time
// that they may be tried for.
const (
	maxExpression = 256
	matchPatience = 5 * time.Second
)

var errTooLong = errors.New("expression too long")

func (s *Session) dumpPortGUID(args []string) {
	expressions, file := s.expressions(args)
	v := s.daemon.View()
	switch {
	case expressions == nil:
		s.printf("No valid expression provided. Aborting\n")
		return
	case v == nil:
		s.printf("Subnet is not ready yet. Try again later\n")
		return
	}
	matches, ok := s.matches(v.Topo, expressions)
	if !ok {
		s.printf("The expressions take too long to be tried. Aborting\n")
		return
	}
	var text []byte
	for _, g := range s.portGUIDs(v.Topo) {
		if matches[g.node] {
			text = fmt.Appendf(text, "0x%x\n", uint64(g.guid))
		}
	}
	if file == "" {
		s.out.Write(text)
	} else if err := s.daemon.WriteFile(file, text); err != nil {
		s.printf("Could not open file %s: %v\n", printable(file), err)
	}
}

// matches are the nodes, by index, whose name one of the expressions matches. It gives up
// after matchPatience.
func (s *Session) matches(t *topo.Topo, expressions []*regexp.Regexp) (matches []bool, ok bool) {
	matches = make([]bool, len(t.Nodes))
	began := s.daemon.Now()
	for n := range t.Nodes {
		name := s.name(&t.Nodes[n])
		for _, e := range expressions {
			if s.daemon.Now().Sub(began) > matchPatience {
				return nil, false
			}
			if matches[n] = e.MatchString(name); matches[n] {
				break
			}
		}
	}
	return matches, true
}

// expressions reads the words of dump_portguid: regular expressions of POSIX, and the
// file that the last "file" names. Errors are reported and ignored.
func (s *Session) expressions(args []string) (all []*regexp.Regexp, file string) {
	for i := 0; i < len(args); i++ {
		if args[i] == "file" {
			if i++; i == len(args) {
				s.printf("No file name passed\n")
				break
			}
			file = args[i]
			continue
		}
		var e *regexp.Regexp
		err := errTooLong
		if len(args[i]) <= maxExpression {
			e, err = regexp.CompilePOSIX(args[i])
		}
		if err != nil {
			s.printf("Cannot parse regular expression '%s'. Skipping\n", printable(args[i]))
			continue
		}
		all = append(all, e)
	}
	return all, file
}

// portGUIDs are all GUIDs of end ports, aliases included, in the order of OpenSM's lists.
func (s *Session) portGUIDs(t *topo.Topo) (all []portGUID) {
	owners := map[mad.GUID]topo.NodeIdx{}
	for _, p := range t.EndPorts {
		port := &t.Ports[p]
		owners[port.GUID] = port.Node
		all = append(all, portGUID{port.GUID, port.Node})
	}
	if registered := s.daemon.Registry(); registered != nil {
		for a := range registered.Aliases() {
			if n, ok := owners[a.Port]; ok {
				all = append(all, portGUID{a.GUID, n})
			}
		}
	}
	slices.SortFunc(all, func(a, b portGUID) int { return compareGUIDs(a.guid, b.guid) })
	return all
}
