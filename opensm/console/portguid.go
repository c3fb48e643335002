package console

import (
	"fmt"
	"regexp"
	"slices"

	"ibsm/mad"
	"ibsm/sweep/topo"
)

// portGUID is a GUID that belongs to a port of a node: the port's own, or an alias.
type portGUID struct {
	guid mad.GUID
	node topo.NodeIdx
}

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
	var text []byte
	matches := map[topo.NodeIdx]bool{}
	for n := range v.Topo.Nodes {
		name := s.name(&v.Topo.Nodes[n])
		matches[topo.NodeIdx(n)] = slices.ContainsFunc(expressions, func(e *regexp.Regexp) bool { return e.MatchString(name) })
	}
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

// expressions reads the words of dump_portguid: regular expressions of POSIX, and the
// file that the last "file" names. Mistakes are answered and passed over.
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
		e, err := regexp.CompilePOSIX(args[i])
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
