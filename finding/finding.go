// Package finding is the table of what can be wrong in a subnet, or needs the attention of its operator: for each kind
// the name in ibsmctl why and in metrics, the text and level of the log line, the meaning and the remedy.
//
// The package that discovers a problem makes a [Finding]. The manager logs each once when it begins and once when it
// ends ([Set.Since]). ibsmctl why, the metric ibsm_findings and docs/messages.md follow from the table.
package finding

import (
	"cmp"
	"fmt"
	"log/slog"
	"slices"
	"strings"

	"ibsm/mad"
)

// Finding is one problem. Two of them are the same if all but Fields is equal.
type Finding struct {
	Kind   Kind
	Node   mad.GUID // of the node; 0 for the subnet as a whole
	Port   uint8    // of that node; 0 for the node as a whole
	Detail string   // what the text of the kind leaves open; may be empty
	// Fields are further keys and values of the log line. They may change while the finding lasts.
	Fields []any
}

// String is the text of the kind with the detail.
func (f *Finding) String() string {
	if f.Detail == "" {
		return f.Kind.Text()
	}
	return f.Kind.Text() + ": " + f.Detail
}

// Same reports whether two findings are the same one.
func (f *Finding) Same(o *Finding) bool { return f.compare(o) == 0 }

func (f *Finding) compare(o *Finding) int {
	return cmp.Or(cmp.Compare(f.Kind, o.Kind), cmp.Compare(f.Node, o.Node), cmp.Compare(f.Port, o.Port),
		strings.Compare(f.Detail, o.Detail))
}

// Set is all that a sweep, or a part of it, has found: sorted, each finding once. It does not change.
type Set struct{ all []Finding }

// Of is the set of some findings. It keeps the slice.
func Of(all []Finding) Set {
	slices.SortStableFunc(all, func(a, b Finding) int { return a.compare(&b) })
	return Set{slices.CompactFunc(all, func(a, b Finding) bool { return a.Same(&b) })}
}

// All are the findings, by kind, node, port and detail.
func (s Set) All() []Finding { return s.all }

// Since compares a set with an earlier one: the findings that it alone has, and those of the earlier one that have
// ended.
func (s Set) Since(earlier Set) (began, ended []Finding) {
	for i := range s.all {
		if !earlier.has(&s.all[i]) {
			began = append(began, s.all[i])
		}
	}
	for i := range earlier.all {
		f := &earlier.all[i]
		if row := f.Kind.row(); !row.once && !s.has(f) && !(row.single && s.hasAt(f)) {
			ended = append(ended, *f)
		}
	}
	return began, ended
}

// has reports whether a set has a finding.
func (s Set) has(f *Finding) bool {
	_, found := slices.BinarySearchFunc(s.all, f, func(a Finding, b *Finding) int { return a.compare(b) })
	return found
}

// hasAt reports whether a set has a finding of the same kind at the same place.
func (s Set) hasAt(f *Finding) bool {
	_, found := slices.BinarySearchFunc(s.all, f, func(a Finding, b *Finding) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Node, b.Node), cmp.Compare(a.Port, b.Port))
	})
	return found
}

// Name is the kind in a few words.
func (k Kind) Name() string { return k.row().name }

// Level is the level of the log line.
func (k Kind) Level() slog.Level { return k.row().level }

// Text says what is wrong, the same for all findings of the kind: the log line begins with it.
func (k Kind) Text() string { return k.row().text }

// Meaning explains the text.
func (k Kind) Meaning() string { return k.row().meaning }

// Remedy is what an operator can do.
func (k Kind) Remedy() string { return k.row().remedy }

// OfMulticast reports whether multicast tables and trees have findings of the kind.
func (k Kind) OfMulticast() bool { return k >= MFTsIncomplete && k <= Unreached }

// OfVPorts reports whether vPorts have findings of the kind.
func (k Kind) OfVPorts() bool { return k >= VPortsLeft && k <= DuplicateVPort }

func (k Kind) row() *row {
	if k == 0 || int(k) >= len(table) {
		return &row{name: fmt.Sprintf("finding %d", uint8(k)), level: slog.LevelWarn,
			text: fmt.Sprintf("finding %d", uint8(k))}
	}
	return &table[k]
}

// Kinds are all kinds, in the order of the table.
func Kinds() []Kind {
	all := make([]Kind, 0, len(table))
	for k := range table[1:] {
		all = append(all, Kind(k+1))
	}
	return all
}

// Names are the names of the kinds that are logged, each once, in alphabetical order.
func Names() (names []string) {
	for _, k := range Kinds() {
		if k.Level() != NotLogged {
			names = append(names, k.Name())
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}
