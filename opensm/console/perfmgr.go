package console

import (
	"slices"
	"strings"

	"ibsm/mad"
	"ibsm/opensm/perfdb"
)

// PerfMgr is what Sessions know of the performance manager, and what they can have done.
type PerfMgr struct {
	Status    func() PerfStatus
	Nodes     func() ([]perfdb.Node, error) // whose ports were read, by GUID
	Redirects func() ([]Redirect, error)    // by GUID and port
	Do        func(PerfOrder) error
	// SetSweepTime is of at least a second.
	SetSweepTime func(seconds uint16)
	// Dump writes the counters to the file for them.
	Dump func(table bool) error
	// ForgetAbsent forgets what nodes have counted that have gone, and how many these were.
	ForgetAbsent func() (int, error)
	// ForgetRedirects has the agents of a node, or all for 0, asked again at their own addresses.
	ForgetRedirects func(node mad.GUID) error
}

// PerfStatus is where the performance manager stands.
type PerfStatus struct {
	Enabled, Sweeping, Redirect, RemoveNodes, QueryInfo bool
	SweepTime                                           int // in seconds
	Outstanding, Max                                    int // requests
}

// Redirect is a port that is read by another agent than its own.
type Redirect struct {
	Node     mad.GUID
	Name     string
	Port     uint8
	Port0    bool // the node has an enhanced port 0
	From, To mad.LID
	QPN      uint32
	PKey     mad.PKey
}

// PerfOrder is a command to the performance manager.
type PerfOrder uint8

// Orders.
const (
	PerfEnable PerfOrder = iota
	PerfDisable
	PerfSweep
	PerfClear
	PerfKeepNodes
	PerfRemoveNodes
	PerfQueryInfo
	PerfNoInfo
)

// perfOrders are the words for them.
var perfOrders = map[string]PerfOrder{
	"enable": PerfEnable, "disable": PerfDisable, "sweep": PerfSweep, "clear_counters": PerfClear,
	"set_rm_nodes": PerfRemoveNodes, "clear_rm_nodes": PerfKeepNodes, "set_query_cpi": PerfQueryInfo,
	"clear_query_cpi": PerfNoInfo,
}

const perfSyntax = `perfmgr(pm) [enable|disable
             |clear_counters|dump_counters|print_counters(pc)|print_errors(pe)
             |set_rm_nodes|clear_rm_nodes|clear_inactive
             |set_query_cpi|clear_query_cpi
             |dump_redir|clear_redir
             |sweep|sweep_time[seconds]]`

var perfDetail = []string{
	"   without a word: shows where the performance manager stands",
	"   enable, disable: begin and end to read counters; the configuration file decides again when it changes",
	"   sweep: reads all counters now",
	"   sweep_time SECONDS: sets the time between two reads",
	"   clear_counters: counts from zero; no device is reset",
	"   dump_counters [mach]: writes event_db_dump_file, with mach as a table",
	"   print_counters, pc [NODE][:PORT]: shows the counters of all ports, a node or a port",
	"   print_errors, pe [NODE]: shows error counters that are not zero",
	"   dump_redir, clear_redir [NODE]: show and forget agents that redirect to others",
	"   set_rm_nodes, clear_rm_nodes: whether the counters of nodes that disappear are forgotten",
	"   set_query_cpi, clear_query_cpi: whether devices are asked which counters they have",
	"   clear_inactive: forgets the counters of nodes that have disappeared",
}

// perfActs reports whether perfmgr changes something with these words.
func perfActs(args []string) bool {
	if len(args) == 0 {
		return false
	}
	_, order := perfOrders[args[0]]
	return order || args[0] == "dump_counters" || strings.HasPrefix(args[0], "clear_") || args[0] == "sweep_time"
}

func (s *Session) perfMgr(args []string) {
	if len(args) == 0 {
		s.perfStatus()
		return
	}
	p := s.daemon.PerfMgr
	name := strings.Join(args[1:], " ") // NodeDescriptions have blanks
	switch word := args[0]; word {
	case "dump_counters":
		if err := p.Dump(len(args) > 1 && args[1] == "mach"); err != nil {
			s.printf("%v\n", err)
		}
	case "clear_inactive":
		if n, err := p.ForgetAbsent(); err != nil {
			s.printf("%v\n", err)
		} else {
			s.printf("Removed %d nodes from Database\n", n)
		}
	case "print_counters", "pc":
		node, port, _ := strings.Cut(name, ":")
		s.printCounters(node, port, false)
	case "print_errors", "pe":
		s.printCounters(name, "", true)
	case "dump_redir":
		s.redirects(name)
	case "clear_redir":
		s.clearRedirects(name)
	case "sweep_time":
		s.sweepTime(args[1:])
	default:
		s.perfOrder(word)
	}
}

func (s *Session) perfOrder(word string) {
	order, known := perfOrders[word]
	if !known {
		s.printf("\"%s\" option not found\n", printable(word))
		return
	}
	switch err := s.daemon.PerfMgr.Do(order); {
	case err != nil:
		s.printf("%v\n", err)
	case order == PerfSweep:
		s.printf("sweep initiated...\n")
	}
}

func (s *Session) perfStatus() {
	st := s.daemon.PerfMgr.Status()
	s.printf("Performance Manager status:\n"+
		"state                        : %s\n"+
		"sweep state                  : %s\n"+
		"sweep time                   : %ds\n"+
		"outstanding queries/max      : %d/%d\n"+
		"remove missing nodes from DB : %s\n"+
		"query ClassPortInfo          : %s\n",
		pick(st.Enabled, "Enabled", "Disabled"), pick(st.Sweeping, "Active", "Sleeping"), st.SweepTime, st.Outstanding,
		st.Max,
		pick(st.RemoveNodes, "TRUE", "FALSE"), pick(st.QueryInfo, "TRUE", "FALSE"))
}

func (s *Session) sweepTime(args []string) {
	if len(args) == 0 {
		s.printf("sweep_time requires a time period (in seconds) to be specified\n")
		return
	}
	seconds := uint16(signed(args[0], 10))
	if seconds < 1 {
		s.printf("sweep_time requires a positive time period (in seconds) to be specified\n")
		return
	}
	s.daemon.PerfMgr.SetSweepTime(seconds)
}

// named is the GUID that a name is; as in OpenSM, one that is a number is a GUID.
func named(name string) (guid mad.GUID, is bool) {
	n, rest := number(name, 0)
	return mad.GUID(n), name != "" && rest == ""
}

// printCounters shows the counters of a node, or of all for "".
func (s *Session) printCounters(name, port string, errorsOnly bool) {
	nodes, err := s.daemon.PerfMgr.Nodes()
	if err != nil {
		s.printf("%v\n", err)
		return
	}
	for i := range nodes {
		n := &nodes[i]
		n.Name = printable(n.Name)
		if name == "" {
			n.Blocks(s.out, "", errorsOnly)
			if s.gone() {
				return
			}
		}
	}
	if name == "" {
		return
	}
	at := find(nodes, name)
	if at < 0 {
		s.noNode(name)
		return
	}
	nodes[at].Blocks(s.out, printable(port), errorsOnly)
}

// find is the index of the node with a GUID or name, -1 without one. Blanks that the words of a
// line do not keep count only where several nodes differ by them.
func find(nodes []perfdb.Node, name string) int {
	guid, isGUID := named(name)
	if isGUID {
		return slices.IndexFunc(nodes, func(n perfdb.Node) bool { return n.GUID == guid })
	}
	if at := slices.IndexFunc(nodes, func(n perfdb.Node) bool { return n.Name == name }); at >= 0 {
		return at
	}
	return slices.IndexFunc(nodes, func(n perfdb.Node) bool { return typed(n.Name) == name })
}

// typed is a name as it can be typed: the words of a line, with a blank between.
func typed(name string) string { return strings.Join(strings.Fields(name), " ") }

func (s *Session) noNode(name string) {
	if guid, isGUID := named(name); isGUID {
		s.printf("Node 0x%x not found...\n", uint64(guid))
		return
	}
	s.printf("Node %s not found...\n", printable(name))
}

// redirects lists the ports of a node, or of all for "", that redirect.
func (s *Session) redirects(name string) {
	if !s.daemon.PerfMgr.Status().Redirect {
		s.printf("Perfmgr redirection not enabled\n")
	}
	s.printf("\nRedirection Table\n-----------------\n")
	all, err := s.daemon.PerfMgr.Redirects()
	if err != nil {
		s.printf("%v\n", err)
		return
	}
	for i := range all {
		r := &all[i]
		if name != "" && !r.of(name) {
			continue
		}
		if i == 0 || all[i-1].Node != r.Node {
			s.printf("   Node GUID       ESP0   Name\n   ---------       ----   ----\n   0x%x %d      %s\n",
				uint64(r.Node), truth(r.Port0), printable(r.Name))
			s.printf(
				"\n   Port Valid  LIDs     PKey  QP    PKey Index\n   ---- -----  ----     ----  --    ----------\n")
		}
		s.printf("   %d    1      %d->%d  0x%x 0x%x   0\n", r.Port, r.From, r.To, uint16(r.PKey), r.QPN)
		if i == len(all)-1 || all[i+1].Node != r.Node {
			s.printf("\n")
		}
	}
	if name != "" {
		s.readNode(name)
	}
}

func (r *Redirect) of(name string) bool {
	guid, isGUID := named(name)
	return isGUID && r.Node == guid || !isGUID && (r.Name == name || typed(r.Name) == name)
}

// readNode finds a node whose counters are read, or says why it does not.
func (s *Session) readNode(name string) (node mad.GUID, ok bool) {
	nodes, err := s.daemon.PerfMgr.Nodes()
	if err != nil {
		s.printf("%v\n", err)
		return 0, false
	}
	at := find(nodes, name)
	if at < 0 {
		s.noNode(name)
		return 0, false
	}
	return nodes[at].GUID, true
}

func (s *Session) clearRedirects(name string) {
	if !s.daemon.PerfMgr.Status().Redirect {
		s.printf("Perfmgr redirection not enabled\n")
	}
	node := mad.GUID(0)
	if name != "" {
		ok := false
		if node, ok = s.readNode(name); !ok {
			return
		}
	}
	if err := s.daemon.PerfMgr.ForgetRedirects(node); err != nil {
		s.printf("%v\n", err)
	}
}
