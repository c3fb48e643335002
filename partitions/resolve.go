package partitions

import (
	"cmp"
	"fmt"
	"math/bits"
	"slices"
	"strings"

	"ibsm/conf/diag"
	"ibsm/mad"
)

// Policy is the meaning of the file: its definitions, laid upon Closed. What is wrong
// with it is added to what was wrong with its syntax; the policy of a file with errors is
// nil, as half a policy is another policy.
func (f *File) Policy() (policy *Policy, errors, warnings diag.List) {
	r := newResolver(f)
	r.policy.groups = f.PortGroups
	r.errors, r.warnings = slices.Clone(f.Errors), slices.Clone(f.Warnings)
	for i := range f.Definitions {
		if len(r.errors) >= maxFindings {
			break
		}
		r.define(&f.Definitions[i])
	}
	r.review()
	sortByPlace(r.errors)
	sortByPlace(r.warnings)
	sortByPlace(r.policy.Foreign)
	if len(r.warnings) > maxFindings {
		rest := len(r.warnings) - maxFindings
		r.warnings = r.warnings[:maxFindings]
		r.warnings.Add(diag.Position{File: f.Name}, "%d more warnings", rest)
	}
	if len(r.errors) > 0 {
		return nil, r.errors, r.warnings
	}
	return r.policy, nil, r.warnings
}

// sortByPlace puts findings into the order of the file.
func sortByPlace(l diag.List) {
	slices.SortStableFunc(l, func(a, b diag.Error) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Col, b.Col))
	})
}

// resolver makes a Policy, definition by definition.
type resolver struct {
	*File
	policy   *Policy
	byName   map[string]named
	groups   map[mad.GID]existing
	patterns int               // Members that are one
	lastFree mad.PKey          // given to a definition without a key
	given    map[mad.PKey]bool // keys that definitions without one have got
	errors   diag.List
	warnings diag.List
}

// named are the partitions of a name: how many, and the key of the one that OpenSM finds first. It has its keys in the
// order of their bytes on other than the wire.
type named struct {
	count int
	key   mad.PKey
}

// existing is a group, and the partition that has it.
type existing struct {
	Group
	of mad.PKey
}

func newResolver(f *File) *resolver {
	r := &resolver{
		File: f, policy: &Policy{byKey: map[mad.PKey]int{}}, byName: map[string]named{},
		groups: map[mad.GID]existing{}, given: map[mad.PKey]bool{},
	}
	for _, p := range Closed().Partitions {
		r.addPartition(p)
	}
	return r
}

// addPartition adds a partition, and returns its index.
func (r *resolver) addPartition(p Partition) int {
	i := len(r.policy.Partitions)
	r.policy.Partitions = append(r.policy.Partitions, p)
	r.policy.byKey[p.Key] = i
	n := r.byName[p.Name]
	if n.count++; n.count == 1 || bits.ReverseBytes16(uint16(p.Key)) < bits.ReverseBytes16(uint16(n.key)) {
		n.key = p.Key
	}
	r.byName[p.Name] = n
	return i
}

func (r *resolver) fail(w Word, format string, args ...any) {
	r.errors.Add(r.at(w), format, args...)
}

func (r *resolver) warn(w Word, format string, args ...any) {
	if len(r.warnings) <= maxFindings*100 {
		r.warnings.Add(r.at(w), format, args...)
	}
}

// danger is warn for a line that makes other ports communicate than it seems to say.
func (r *resolver) danger(w Word, format string, args ...any) {
	r.warn(w, format, args...)
	if len(r.policy.Dangers) < maxFindings {
		r.policy.Dangers.Add(r.at(w), format, args...)
	}
}

// define lays one definition upon what is there, and returns the key that it is about, 0
// if it has none that is good.
func (r *resolver) define(d *Definition) mad.PKey {
	key, ok := r.key(d)
	if !ok {
		r.members(nil, d, flags{}) // for their errors
		return 0
	}
	i, there := r.policy.byKey[key]
	if !there {
		i = r.addPartition(Partition{Name: nameOf(d, key), Key: key, Position: r.at(d.Head.Name)})
	}
	p := &r.policy.Partitions[i]
	if name := d.Head.Name; there && name.Text != "" && name.Text != p.Name && name != keyWord(d) {
		say := r.danger
		if p.Position.Line == 0 { // the implicit default under another name
			say = r.warn
		}
		say(name, "%s has the P_Key %s of %s; both are one partition, named %s", shown(name.Text), key, shown(p.Name),
			shown(p.Name))
	}
	if p.Position.Line == 0 { // the default partition, which is there without a line
		p.Position = r.at(d.Head.Name)
	}
	f := r.flags(d)
	p.SL = f.group.SL
	if f.ipoib {
		p.IPoIB = true
		r.broadcast(p, d, &f)
	}
	r.members(p, d, f)
	return key
}

// nameOf is the name of a new partition: that of its definition, or as with OpenSM four
// digits of its key.
func nameOf(d *Definition, key mad.PKey) string {
	if name := d.Head.Name; name.Text != "" && keyWord(d) != name {
		return name.Text
	}
	return fmt.Sprintf("%04x", uint16(key))
}

// keyWord is the word that gives a definition its key: what is assigned to its name, or a
// name that is a number; an empty one where there is none.
func keyWord(d *Definition) Word {
	switch name := d.Head.Name.Text; {
	case d.Head.Assigned:
		return d.Head.Value
	case name != "" && name[0] >= '0' && name[0] <= '9':
		return d.Head.Name
	}
	return Word{}
}

// key is the base of the key that a definition is about.
func (r *resolver) key(d *Definition) (key mad.PKey, ok bool) {
	if w := keyWord(d); w.Text != "" || d.Head.Assigned {
		n, junk, wide := number(w.Text)
		if junk {
			r.fail(w, "P_Key %s: expected a number of 0x1 to 0x7fff%s", shown(w.Text), hexMeant(w.Text))
			return 0, false
		}
		key = mad.PKey(n).Base()
		if wide || n > 0xffff {
			r.danger(w, "P_Key %s has more than 16 bits; using %s", shown(w.Text), key)
		}
	}
	if key == 0 {
		return r.keyByName(d)
	}
	if r.given[key] {
		delete(r.given, key)
		p := r.policy.Find(key)
		r.danger(d.Head.Name,
			"P_Key %s was assigned to %s, which does not specify one; both are one partition now: write a P_Key there",
			key, shown(p.Name))
	}
	return key, true
}

// keyByName is the key of a definition that gives none: that of the partition of its
// name, or the next free one. Where several have the name it is the one that OpenSM
// finds first.
func (r *resolver) keyByName(d *Definition) (key mad.PKey, ok bool) {
	name := d.Head.Name.Text
	found := r.byName[name]
	if found.count > 1 {
		r.danger(d.Head.Name, "%d partitions are named %s; this line applies to the one with P_Key %s: write the P_Key",
			found.count, shown(name), found.key)
	}
	if found.count > 0 {
		return found.key, true
	}
	for r.lastFree++; r.lastFree < DefaultKey; r.lastFree++ {
		if _, used := r.policy.byKey[r.lastFree]; !used {
			r.given[r.lastFree] = true
			return r.lastFree, true
		}
	}
	r.fail(d.Head.Name, "no free P_Key for %s", shown(name))
	return 0, false
}

// members adds the items of a definition to its partition. It is nil where the
// definition has no valid P_Key; then it only reports errors.
func (r *resolver) members(p *Partition, d *Definition, f flags) {
	if p != nil && len(p.Members)+len(d.Items) > cap(p.Members) {
		p.Members = slices.Grow(p.Members, len(d.Items))
	}
	for i := range d.Items {
		item := &d.Items[i]
		switch {
		case len(r.errors) >= maxFindings:
			return
		case item.IsGroup():
			if p != nil {
				r.group(p, item, &f)
			}
		case item.Name.Text == groupWord:
			r.fail(item.Name, "mgid without an address; expected mgid=ADDRESS, such as mgid=ff12:401b::1")
		default:
			if m, ok := r.member(item, &f); ok && p != nil && r.mayHave(item, &m) {
				p.Members = append(p.Members, m)
			}
		}
	}
}

// mayHave reports whether one more member is allowed, of which patterns have to be looked up in the whole subnet.
func (r *resolver) mayHave(item *Item, m *Member) bool {
	if !m.IsPattern() {
		return true
	}
	if r.patterns++; r.patterns == maxPatterns+1 {
		r.fail(item.Name, "more than %d ranges, patterns and port groups: name ports or hosts, or a wider pattern",
			maxPatterns)
	}
	return r.patterns <= maxPatterns
}

// member parses a member; it returns false for an error or NONE.
func (r *resolver) member(item *Item, f *flags) (m Member, ok bool) {
	m = Member{Membership: f.membership, Index0: f.index0, Position: r.at(item.Name)}
	name := item.Name.Text
	if strings.HasPrefix(noneWord, name) {
		r.checkWhole(item.Name, noneWord)
		return m, false
	}
	for _, w := range whoNames {
		if strings.HasPrefix(w.name, name) {
			m.Who = w.who
			r.checkWhole(item.Name, w.name)
			break
		}
	}
	if m.Who == AllVCAs {
		r.warn(item.Name,
			"ALL_VCAS: OpenSM does not support it, and makes every port a full member of the default partition when it reads it")
	}
	if more, is := extended(name); m.Who == 0 && is {
		m.Who, m.Port, m.Last, m.Name = more.Who, more.Port, more.Last, more.Name
		if !r.extended(item, &m) {
			return m, false
		}
	}
	if m.Who == 0 {
		n, junk, wide := number(name)
		if junk || n == 0 {
			r.fail(item.Name,
				"%s is neither a port GUID nor a set of ports; expected 0x and up to 16 hexadecimal digits, or ALL, ALL_CAS, ALL_SWITCHES, ALL_ROUTERS, ALL_VCAS, SELF or NONE, or a range of GUIDs, the name of a host or @ and a port group%s",
				shown(name), portMeant(name))
			return m, false
		}
		m.Who, m.Port = OnePort, mad.GUID(n)
		r.checkGUID(item.Name, m.Port, wide)
	}
	if item.Assigned {
		m.Membership = Limited
		if got, known := membership(item.Value.Text); known {
			m.Membership = got
			r.checkWhole(item.Value, got.String())
		} else {
			r.danger(item.Value, "%s is not a membership; using limited; expected full, limited or both%s",
				shown(item.Value.Text), meant(item.Value.Text, memberships))
		}
		if item.Value.Text == "" {
			r.danger(item.Name, "no value after '=': using full")
		}
	}
	return m, true
}

// extended checks a member that OpenSM does not know, and notes its line. A wrong membership is an error here: OpenSM
// refuses the line in any case.
func (r *resolver) extended(item *Item, m *Member) bool {
	if _, known := membership(item.Value.Text); item.Assigned && (!known || item.Value.Text == "") {
		r.fail(item.Value, "%s is not a membership; expected full, limited or both%s", shown(item.Value.Text),
			meant(item.Value.Text, memberships))
		return false
	}
	switch m.Who {
	case Hosts:
		if r.NoNames {
			r.fail(item.Name,
				"%s: by security tenants a name is no member, as a host chooses its own; write port GUIDs",
				shown(item.Name.Text))
			return false
		}
	case OfGroup:
		if r.PortGroups != nil {
			if err := r.PortGroups.Check(m.Name, !r.NoNames); err != nil {
				r.fail(item.Name, "%s: %v", shown(item.Name.Text), err)
				return false
			}
		}
	}
	last := len(r.policy.Foreign) - 1
	if (last < 0 || r.policy.Foreign[last].Line != item.Name.Line) && last < maxFindings {
		r.policy.Foreign.Add(r.at(item.Name),
			"OpenSM does not accept %s: it refuses the file, and every port becomes a full member of the default partition; to go back to it, ibsmctl partitions export writes the file with port GUIDs", shown(item.Name.Text))
	}
	return true
}

// checkGUID warns of numbers that are probably not a port GUID.
func (r *resolver) checkGUID(w Word, port mad.GUID, wide bool) {
	switch {
	case wide:
		r.danger(w, "%s has more than 64 bits; using %s", shown(w.Text), port)
	case !strings.HasPrefix(w.Text, "0x") && !strings.HasPrefix(w.Text, "0X"):
		base := "decimal"
		if w.Text[0] == '0' {
			base = "octal"
		}
		r.warn(w, "%s is read as a %s number, port %s; write 0x before hexadecimal digits", shown(w.Text), base, port)
	}
}

// noneWord names no port.
const noneWord = "NONE"

// checkWhole warns of the beginning of a word, which OpenSM takes for the word.
func (r *resolver) checkWhole(w Word, word string) {
	if w.Text != word && w.Text != "" {
		r.danger(w, "%s is read as %s: write the whole word", shown(w.Text), word)
	}
}

var memberships = []string{"full", "limited", "both"}

// membership finds one by a beginning of its name, as OpenSM does; nothing is full.
func membership(word string) (Membership, bool) {
	for _, m := range []Membership{Full, Limited, Both} {
		if strings.HasPrefix(m.String(), word) {
			return m, true
		}
	}
	return 0, false
}
