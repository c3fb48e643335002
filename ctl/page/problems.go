package page

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"ibsm/ctl"
	"ibsm/ctl/shape"
	"ibsm/plural"
)

// Hurts is whom a problem hurts.
type Hurts int

// Whom problems hurt, the worst first.
const (
	Everyone Hurts = iota // the whole subnet
	CutOff                // hosts that do not work, or not with others
	Slowed                // hosts that are slower than they could be
	Spare                 // nobody yet: what stands in for a part that fails is less
	Risk                  // nobody yet: the subnet is not protected
	Remark                // nobody
)

var hurtsNames = [...]string{"everyone", "cut off", "slowed", "spare", "risk", "remark"}

// String is a word for programs.
func (h Hurts) String() string { return hurtsNames[h] }

// MarshalText writes the word.
func (h Hurts) MarshalText() ([]byte, error) { return []byte(h.String()), nil }

// Problem is something that is wrong.
type Problem struct {
	Hurts Hurts     `json:"hurts"` // everyone, cut off, slowed, spare, risk or remark
	Hosts int       `json:"hosts"` // that it hurts; 0 where that is not known, or nobody
	Kind  string    `json:"kind"`  // a fixed text for each kind of cause
	Where string    `json:"where"` // in words
	Text  string    `json:"text"`  // what was found
	Do    string    `json:"do,omitempty"`
	Since time.Time `json:"since,omitzero"`
	Shown string    `json:"shown"` // the line of ibsmctl that shows the same
	// Node and Port are the place on the map, Peer the other end of the cable; "" for no place.
	Node      string `json:"node,omitempty"` // GUID
	Port      uint8  `json:"port,omitempty"`
	Partition string `json:"partition,omitempty"` // that it is about
}

// facts are what problems are made from. Pointers are nil where the manager does not have something.
type facts struct {
	status     *ctl.Status
	diagnoses  []*ctl.Diagnosis
	chart      *chart
	sick       *ctl.SickLinks
	congestion *ctl.Congestions
	cabling    *ctl.Cabling
	security   *ctl.Security
	partitions []*ctl.Partition
}

// finder finds problems.
type finder struct {
	*facts
	hosts  map[string]int       // squares of hosts by GUID of the switch
	links  map[end]*link        // those that are known, also of the past
	absent map[string]time.Time // nodes that have gone
	ofNode map[[2]string]int    // the problem of a node that is the reason of links, and one more, by GUID and text
	all    []Problem
	kinds  map[kindOf]*ProblemKind
}

// kindOf is what problems of a kind have in common.
type kindOf struct {
	hurts Hurts
	kind  string
}

// ProblemKind is how many problems of a kind there are.
type ProblemKind struct {
	Hurts Hurts  `json:"hurts"`
	Kind  string `json:"kind"`
	Count int    `json:"count"`
	Hosts int    `json:"hosts"` // that they hurt
}

// mostOfKind bounds the problems of a kind that are kept; more are counted. A subnet in which nothing works has as many
// as ports.
const mostOfKind = 1000

// problemsOf finds problems, and how many of each kind there are, sorted by whom they hurt.
func problemsOf(in *facts) ([]Problem, []ProblemKind) {
	f := &finder{facts: in, hosts: map[string]int{}, links: map[end]*link{}, ofNode: map[[2]string]int{},
		all: []Problem{}, kinds: map[kindOf]*ProblemKind{}}
	if in.chart != nil {
		f.index()
	}
	f.fromStatus()
	f.fromDiagnoses()
	f.fromLinks()
	f.fromCabling()
	f.fromPartitions()
	f.fromSecurity()
	f.fromManagers()
	slices.SortStableFunc(f.all, func(a, b Problem) int {
		return cmp.Or(int(a.Hurts-b.Hurts), b.Hosts-a.Hosts, shape.Natural(a.Where, b.Where),
			cmp.Compare(a.Text, b.Text))
	})
	kinds := make([]ProblemKind, 0, len(f.kinds))
	for _, k := range f.kinds {
		if k.Count > 0 {
			kinds = append(kinds, *k)
		}
	}
	slices.SortFunc(kinds, func(a, b ProblemKind) int {
		return cmp.Or(int(a.Hurts-b.Hurts), b.Hosts-a.Hosts, cmp.Compare(a.Kind, b.Kind))
	})
	return f.all, kinds
}

// index finds the links of diagnosed ports: the present one where a port had several.
func (f *finder) index() {
	for s, squares := range f.chart.squares {
		f.hosts[f.chart.Switches[s].GUID] = len(squares)
	}
	f.absent = f.chart.absent
	wanted := make(map[end]bool, len(f.diagnoses))
	for _, d := range f.diagnoses {
		wanted[end{d.Port.Node, d.Port.Port}] = true
	}
	if len(wanted) == 0 {
		return
	}
	for _, all := range slices.Concat(f.chart.squares, f.chart.cables, [][]cable{f.chart.direct}) {
		for i := range all {
			c := &all[i]
			ends := [2]end{c.from.at(), c.to.at()}
			if !wanted[ends[0]] && !wanted[ends[1]] {
				continue
			}
			l := &link{from: c.from.end(), to: c.to.end(), gone: c.gone}
			for _, at := range ends {
				if before := f.links[at]; before == nil || before.gone {
					f.links[at] = l
				}
			}
		}
	}
}

// link is a cable of a diagnosed port.
type link struct {
	from, to ctl.End
	gone     bool // since the manager has started
}

// add adds a problem, and returns how many there are then; -1 if it is counted alone.
func (f *finder) add(p Problem) int {
	k := f.kindOf(&p)
	k.Count++
	k.Hosts += p.Hosts
	if k.Count > mostOfKind {
		return -1
	}
	f.all = append(f.all, p)
	return len(f.all)
}

func (f *finder) kindOf(p *Problem) *ProblemKind {
	key := kindOf{p.Hurts, p.Kind}
	k := f.kinds[key]
	if k == nil {
		k = &ProblemKind{Hurts: p.Hurts, Kind: p.Kind}
		f.kinds[key] = k
	}
	return k
}

// fromStatus finds what concerns the manager or the whole subnet.
func (f *finder) fromStatus() {
	st := f.status
	whole := func(h Hurts, kind, text, do string) {
		f.add(Problem{Hurts: h, Kind: kind, Where: "the subnet", Text: text, Do: do, Shown: "ibsmctl status"})
	}
	for _, line := range st.Troubles() {
		whole(Everyone, "file not in force", line, "")
	}
	if st.OwnPort != "" {
		whole(Everyone, "own port", st.OwnPort, "")
	}
	if st.Waiting != "" {
		whole(Everyone, "no port", st.Waiting, "")
	}
	if s := st.Sweep; s != nil {
		if s.Lost+s.Cut > 0 {
			var found []string
			if s.Cut > 0 {
				found = append(found, plural.Of(s.Cut, "missing route")+" between a switch and a LID")
			}
			if s.Lost > 0 {
				found = append(found, plural.Of(s.Lost, "route")+" that do not arrive")
			}
			whole(CutOff, "no route", strings.Join(found, ", and "), "ask for a pair of hosts: ibsmctl why A B")
		}
		if !s.Up {
			whole(CutOff, "sweep with errors",
				"the last heavy sweep ended with errors: "+plural.Of(s.Failures, "Set")+" failed", "see ibsmctl events")
		} else if s.Failures > 0 {
			whole(Remark, "Sets failed", plural.Of(s.Failures, "Set")+" of the last heavy sweep failed", "see ibsmctl events")
		}
		if s.CreditLoop > 0 {
			whole(Everyone, "credit loop", fmt.Sprintf("routes have a credit loop of %s: packets can stop for good",
				plural.Of(s.CreditLoop, "link")), "select another routing engine, such as routing_engine auto")
		}
	}
	if st.TreeLoop != nil {
		whole(Everyone, "credit loop", st.TreeLoop.String(), "ibsmctl reroute")
	}
	for _, a := range st.Alarms {
		f.add(Problem{Hurts: Risk, Kind: "forbidden packets", Where: a.Where, Since: a.Last, Shown: "ibsmctl security",
			Text: fmt.Sprintf("%s: %s, the last at %s", a.Kind, plural.Of(int(a.Count), "packet"),
				a.Last.Format(time.DateTime)), Do: "see docs/security.md"})
	}
}

// shownAt is the line of ibsmctl about a port. It has the GUID, as a name may have any characters.
func shownAt(e ctl.End) string {
	if e.Port == 0 {
		return "ibsmctl why " + e.Node
	}
	return fmt.Sprintf("ibsmctl why %s:%d", e.Node, e.Port)
}

// whereAt is a port in words.
func whereAt(e ctl.End) string {
	if e.Port == 0 {
		return strings.TrimSpace(e.Desc)
	}
	return fmt.Sprintf("%s port %d", strings.TrimSpace(e.Desc), e.Port)
}

// fromDiagnoses finds ports and nodes that do not work. Ports without a cable are one remark, and a cable whose two
// ends do not work is one problem.
func (f *finder) fromDiagnoses() {
	if f.status.Sweep == nil { // ports come up one after the other
		if f.chart != nil {
			f.add(Problem{Hurts: Everyone, Kind: "starting", Where: "the subnet", Shown: "ibsmctl status",
				Text: "the first sweep of this master has not ended: ports come up one after the other", Do: "wait"})
		}
		return
	}
	unplugged := 0
	done := map[*link]int{} // what add returned for a link
	for _, d := range f.diagnoses {
		if len(d.Reasons) == 0 {
			continue
		}
		p := Problem{Kind: d.Reasons[0].Kind, Where: whereAt(d.Port), Text: d.Reasons[0].Text, Do: d.Reasons[0].Do,
			Shown: shownAt(d.Port), Node: d.Port.Node, Port: d.Port.Port}
		for _, more := range d.Reasons[1:] {
			p.Text += "; " + more.Text
		}
		p.Since = f.absent[d.Port.Node]
		link := f.links[end{d.Port.Node, d.Port.Port}]
		if link == nil && (p.Kind == "no signal" || p.Kind == "disabled") {
			unplugged++
			continue
		}
		p.Hurts, p.Hosts = f.hurts(d, link)
		if link != nil && d.Port.Port > 0 {
			p.Where = whereAt(link.from) + " to " + whereAt(link.to)
		}
		if link == nil || d.Works {
			f.add(p)
			continue
		}
		far := f.absent[link.from.Node]
		if at := f.absent[link.to.Node]; far.IsZero() {
			far = at
		}
		if !far.IsZero() && p.Since.IsZero() {
			continue // the node that has gone is a problem of its own
		}
		if i := done[link]; i != 0 {
			if i > 0 && f.all[i-1].Kind != p.Kind {
				f.all[i-1].Text += "; " + whereAt(d.Port) + ": " + p.Text
			}
			continue
		}
		done[link] = f.addOf(p, link)
	}
	if unplugged > 0 {
		f.add(Problem{Hurts: Remark, Kind: "no cable", Where: "the subnet",
			Text: plural.Of(unplugged, "port") + " had no cable since the manager has started, or are disabled",
			Do:   "nothing, unless a cable should be there", Shown: "ibsmctl ports --state down"})
	}
}

// addOf adds the problem of a link, and returns as add does. Where the reason is a node, and one of its
// other links has it already, that becomes the problem of the node and of all these links.
func (f *finder) addOf(p Problem, l *link) int {
	cause := &l.from
	if !strings.HasPrefix(p.Text, strconv.Quote(cause.Desc)+": ") {
		cause = &l.to
	}
	if strings.HasPrefix(p.Text, strconv.Quote(cause.Desc)+": ") {
		key := [2]string{cause.Node, p.Text}
		if i := f.ofNode[key]; i > 0 {
			is := &f.all[i-1]
			was := f.kindOf(is)
			was.Count--
			was.Hosts -= is.Hosts
			is.Where, is.Node, is.Port = strings.TrimSpace(cause.Desc), cause.Node, 0
			is.Shown = "ibsmctl why " + cause.Node
			is.Hurts, is.Hosts = min(is.Hurts, p.Hurts), is.Hosts+p.Hosts
			now := f.kindOf(is)
			now.Count++
			now.Hosts += is.Hosts
			return i
		}
		f.ofNode[key] = f.add(p)
		return f.ofNode[key]
	}
	return f.add(p)
}

// hurts is whom a port that does not work hurts.
func (f *finder) hurts(d *ctl.Diagnosis, link *link) (Hurts, int) {
	isSwitch := func(e *ctl.End) bool { return e.Type == "switch" }
	switch gone := !f.absent[d.Port.Node].IsZero(); {
	case d.Works && !isSwitch(&d.Port):
		return Slowed, 1
	case d.Works && link != nil && isSwitch(&link.from) != isSwitch(&link.to):
		return Slowed, 1
	case d.Works:
		return Spare, 0
	case !isSwitch(&d.Port):
		return CutOff, 1
	case (gone || d.Port.Port == 0) && f.hosts[d.Port.Node] > 0:
		return CutOff, f.hosts[d.Port.Node]
	case link != nil && isSwitch(&link.from) != isSwitch(&link.to):
		return CutOff, 1
	}
	return Spare, 0
}
