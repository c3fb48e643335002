package main_test

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/sim/fabric"
	"ibsm/topo/net"
)

// stage is what happened last to the fabric.
type stage string

const (
	coldStart stage = "cold start"
	joined    stage = "requests of hosts"
	leftGroup stage = "members leave"
	reboot    stage = "reboot"
	lostLink  stage = "lost link"
	reloaded  stage = "reload"
)

// portPlace is what kind of port a port is, for a manager.
type portPlace string

const (
	basePort0     portPlace = "base port 0"
	enhancedPort0 portPlace = "enhanced port 0"
	unconnected   portPlace = "port without link"
	switchLink    portPlace = "switch to switch"
	leafPort      portPlace = "switch to host or router"
	loopback      portPlace = "switch to itself"
	endPort       portPlace = "host or router"
)

func placeOf(f *fabric.Fabric, at net.End) portPlace {
	isSwitch := f.NodeType(at.Node) == mad.Switch
	info := f.PortInfo(at)
	peer := f.Peer(at)
	switch {
	case isSwitch && at.Port == 0:
		if info := f.SwitchInfo(at.Node); info.EnhancedPort0() {
			return enhancedPort0
		}
		return basePort0
	case info.PortPhysicalState() != smp.PhysLinkUp:
		return unconnected
	case !isSwitch:
		return endPort
	case peer.Node == at.Node:
		return loopback
	case f.NodeType(peer.Node) == mad.Switch:
		return switchLink
	}
	return leafPort
}

// fieldDifference is an item that one of two managers left otherwise than the other, or to
// which one sent other values.
type fieldDifference struct {
	item
	*fieldCase
	stage        stage
	place        portPlace
	sent         bool // the values are those sent, without repetition, in place of the one held
	theirs, ours []string
	first        string // held before the stage
	openSM, ibsm *fieldState
}

// String is the difference without the port.
func (d *fieldDifference) String() string {
	part, theirs, ours := d.part, d.theirs, d.ours
	if fieldsOf(d.attr) == nil {
		part = strings.TrimRight(part, "0123456789abcdefx ")
		theirs, ours = shortened(theirs), shortened(ours)
	}
	verb := "holds"
	if d.sent {
		verb = "is sent"
	}
	return fmt.Sprintf("%s: %s.%s of a %s %s %s with OpenSM, %s with ibsm, %s before", d.stage, smp.AttrName(d.attr),
		part, d.place, verb, theirs, ours, d.first)
}

func shortened(values []string) []string {
	values = slices.Clone(values)
	for i, v := range values {
		values[i] = v[:min(len(v), 32)]
	}
	return values
}

// fieldState is what a manager has sent, and what ports hold.
type fieldState struct {
	sent, refused map[item][]string // since the stage began; of Sets that were refused, in the last stage with any
	held, first   map[item]string
	ports         map[net.End]fieldPort
	switches      map[int32]smp.SwitchInfo
	members       map[member]joinedAs
	led           map[item]string // where the forwarding tables lead
}

// fieldPort is what a port is and can do.
type fieldPort struct {
	place     portPlace
	info      smp.PortInfo
	cable     net.End // other end of the cable
	peer      net.End // likewise, if the link is up
	room      uint16  // for P_Keys, of an end port
	sendsData bool
}

// left reports whether the one value that was sent is the one held. Then it is compared as such.
func (s *fieldState) left(i item) bool {
	held, is := s.held[i]
	if i.attr == smp.AttrPKeyTable && i.part == "block 0" {
		held, is = s.keyBlock(i.at), true
	}
	values := s.sent[i]
	return is && (len(values) == 0 || len(values) == 1 && values[0] == held)
}

// differ lists the differences between two.
func (c *fieldCase) differ(s stage, theirs, ours *fieldState) (list []*fieldDifference) {
	theirs.led, ours.led = theirs.leads(), ours.leads()
	for i := range union(theirs.sent, ours.sent) {
		list = c.add(list, s, i, true, theirs, ours)
	}
	for i := range union(theirs.held, ours.held) {
		list = c.add(list, s, i, false, theirs, ours)
	}
	for i := range union(theirs.led, ours.led) {
		list = c.add(list, s, i, false, theirs, ours)
	}
	slices.SortFunc(list, func(a, b *fieldDifference) int {
		return cmp.Or(cmp.Compare(a.String(), b.String()), cmp.Compare(a.at.Node, b.at.Node),
			cmp.Compare(a.at.Port, b.at.Port), cmp.Compare(a.part, b.part))
	})
	return list
}

// add appends the difference between two in an item, if there is one.
func (c *fieldCase) add(list []*fieldDifference, s stage, i item, sent bool, theirs,
	ours *fieldState) []*fieldDifference {
	a, b := theirs.sent[i], ours.sent[i]
	switch {
	case sent && theirs.left(i) && ours.left(i):
		return list
	case !sent:
		a, b = []string{theirs.is(i)}, []string{ours.is(i)}
	}
	if slices.Equal(a, b) {
		return list
	}
	return append(list, &fieldDifference{i, c, s, ours.ports[i.at].place, sent, a, b, ours.first[i], theirs, ours})
}

// is is what an item holds, or where the tables lead.
func (s *fieldState) is(i item) string {
	if v, led := s.led[i]; led {
		return v
	}
	return s.held[i]
}

func union[V any](a, b map[item]V) map[item]bool {
	all := map[item]bool{}
	for i := range a {
		all[i] = true
	}
	for i := range b {
		all[i] = true
	}
	return all
}

// fieldReport counts differences.
type fieldReport struct {
	rows     map[*fieldRow]int
	unlisted map[string]int
	examples map[string]string
	kinds    map[string]int // ports that there were
}

func newFieldReport() *fieldReport {
	return &fieldReport{map[*fieldRow]int{}, map[string]int{}, map[string]string{}, map[string]int{}}
}

// listed reports whether all differences are in the table.
func listed(list []*fieldDifference) bool {
	return !slices.ContainsFunc(list, func(d *fieldDifference) bool { return d.row() == nil })
}

// take counts differences.
func (r *fieldReport) take(list []*fieldDifference) {
	for _, d := range list {
		if row := d.row(); row != nil {
			r.rows[row]++
			continue
		}
		r.unlisted[d.String()]++
		r.examples[d.String()] = fmt.Sprintf("seed %d, %v %s", d.seed, d.at, d.part)
	}
}

// text is one line for each kind of unlisted difference.
func (r *fieldReport) text() string {
	var b strings.Builder
	for _, k := range slices.Sorted(maps.Keys(r.unlisted)) {
		fmt.Fprintf(&b, "%5d %s (%s)\n", r.unlisted[k], k, r.examples[k])
	}
	return b.String()
}
