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
	first        string           // held before the stage
	refusing     map[net.End]bool // ports that have refused a Set of OpenSM
	newVLs       bool             // OperationalVLs are other than before the stage, or than OpenSM's
	oneVL        bool             // a single one is in use
}

// String is the difference without the port.
func (d *fieldDifference) String() string {
	part, theirs, ours := d.part, d.theirs, d.ours
	if fieldsOf(d.attr) == nil {
		part, _, _ = strings.Cut(part, " ")
		theirs, ours = shortened(theirs), shortened(ours)
	}
	verb := "holds"
	if d.sent {
		verb = "is sent"
	}
	return fmt.Sprintf("%s: %s.%s of a %s %s %s with OpenSM, %s with ibsm, %s before", d.stage, smp.AttrName(d.attr), part, d.place, verb, theirs, ours, d.first)
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
	sent        map[item][]string
	held, first map[item]string
	places      map[net.End]portPlace
	refused     map[net.End]bool // ports that have refused a Set since the start
}

// differ lists the differences between two.
func (c *fieldCase) differ(s stage, theirs, ours *fieldState) (list []*fieldDifference) {
	note := func(i item, sent bool, a, b []string) {
		if !slices.Equal(a, b) {
			vls := item{i.at, smp.AttrPortInfo, "OperationalVLs"}
			list = append(list, &fieldDifference{i, c, s, ours.places[i.at], sent, a, b, ours.first[i], theirs.refused, ours.first[vls] != ours.held[vls] || theirs.held[vls] != ours.held[vls], ours.held[vls] == "1"})
		}
	}
	for i := range union(theirs.sent, ours.sent) {
		note(i, true, theirs.sent[i], ours.sent[i])
	}
	for i := range union(theirs.held, ours.held) {
		note(i, false, []string{theirs.held[i]}, []string{ours.held[i]})
	}
	slices.SortFunc(list, func(a, b *fieldDifference) int {
		return cmp.Or(cmp.Compare(a.String(), b.String()), cmp.Compare(a.at.Node, b.at.Node), cmp.Compare(a.at.Port, b.at.Port), cmp.Compare(a.part, b.part))
	})
	return list
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
