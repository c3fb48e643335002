package partitions

import (
	"fmt"
	"strings"

	"ibsm/mad"
)

// ParseMember reads a member as the file has it, such as "SELF" or "0x5=full". Without a
// membership it has none of its own, 0: that is for the partition to say.
func ParseMember(text string) (Member, error) {
	f := Parse("", []byte("x=1 : "+text+";"))
	policy, errors, warnings := f.Policy()
	if len(errors) == 0 && len(f.Definitions[0].Items) == 1 && len(policy.Partitions) == 2 &&
		len(policy.Partitions[1].Members) == 1 {
		m := policy.Partitions[1].Members[0]
		m.Position.Line, m.Position.Col = 0, 0
		if !f.Definitions[0].Items[0].Assigned {
			m.Membership = 0
		}
		for _, w := range warnings {
			if w.Col > len("x=1 : ") {
				return m, fmt.Errorf("%s", w.Text)
			}
		}
		return m, nil
	}
	if len(errors) > 0 {
		return Member{}, fmt.Errorf("%s", errors[0].Text)
	}
	return Member{}, fmt.Errorf(
		"%s is not a member; expected a port GUID or a set of ports, with =full, =limited or =both", shown(text))
}

// names reports whether an item names just the ports of a member.
func names(item *Item, m Member) bool {
	name := item.Name.Text
	if item.IsGroup() || strings.HasPrefix(noneWord, name) {
		return false
	}
	for _, w := range whoNames {
		if strings.HasPrefix(w.name, name) {
			return w.who == m.Who
		}
	}
	if more, is := extended(name); is {
		return more.Who == m.Who && more.Port == m.Port && more.Last == m.Last && more.Name == m.Name
	}
	n, junk, _ := number(name)
	return !junk && m.Who == OnePort && mad.GUID(n) == m.Port
}

// mention is an item of a definition.
type mention struct {
	d *Definition
	i int
}

// mentions are the items that name just the ports of a member.
func mentions(found []*Definition, m Member) (all []mention) {
	for _, d := range found {
		for i := range d.Items {
			if names(&d.Items[i], m) {
				all = append(all, mention{d, i})
			}
		}
	}
	return all
}

// add gives one member its membership: where it is named last, if that decides, else
// behind all others.
func (f *File) add(partition string, m Member) (*File, error) {
	found, key, err := f.find(partition)
	if err != nil {
		return nil, err
	}
	last := found[len(found)-1]
	for _, d := range found {
		for i := range d.Items {
			if !d.Items[i].IsGroup() {
				last = d
			}
		}
	}
	if m.Membership == 0 {
		m.Membership = f.usual(last)
	}
	if all := mentions(found, m); len(all) > 0 {
		at := all[len(all)-1]
		item := &at.d.Items[at.i]
		change := patch{item.Value.Start, item.Value.end(), m.Membership.String()}
		if !item.Assigned {
			change = patch{item.Name.end(), item.Name.end(), "=" + m.Membership.String()}
		}
		edited, err := f.editOnly(partition, change)
		if err != nil || edited.decides(key, m) {
			return edited, err
		}
	}
	return f.editOnly(partition, f.insertion(last, m.String()))
}

// usual is the membership of those members of a definition that have none of their own:
// what its defmember says, or limited.
func (f *File) usual(d *Definition) Membership {
	policy, _, _ := Parse("", []byte(f.Src[d.Start:d.Colon]+": 0x1;")).Policy()
	for i := range policy.Partitions {
		for _, m := range policy.Partitions[i].Members {
			if m.Who == OnePort {
				return m.Membership
			}
		}
	}
	return Limited
}

// editOnly makes one change to a partition.
func (f *File) editOnly(partition string, change patch) (*File, error) {
	done := false
	return f.edit(partition, func(*Definition) []patch {
		if done {
			return nil
		}
		done = true
		return []patch{change}
	})
}

// decides reports whether a member has its membership in the end: nothing behind it may
// speak of the same ports.
func (f *File) decides(key mad.PKey, m Member) bool {
	policy, _, _ := f.Policy()
	p := policy.Find(key)
	for i := len(p.Members) - 1; i >= 0; i-- {
		last := p.Members[i]
		switch {
		case last.Who == m.Who && last.Port == m.Port && last.Last == m.Last && last.Name == m.Name:
			return last.Membership == m.Membership
		case last.Who != OnePort || m.Who != OnePort:
			return false
		}
	}
	return false
}

// insertion puts an item behind the last member of a definition, in the manner of the
// members that are there.
func (f *File) insertion(d *Definition, text string) patch {
	last := -1
	for i := range d.Items {
		if !d.Items[i].IsGroup() {
			last = i
		}
	}
	if last < 0 {
		at := d.Colon + 1
		if len(d.Items) > 0 {
			text += ","
		}
		return patch{at, at, " " + text}
	}
	end := d.Items[last].end()
	margin := f.Src[f.lineStart(end):d.Items[last].Name.Start]
	alone := strings.Trim(margin, blank) == "" // the item begins its line
	if !alone {
		margin = indent
	}
	behind := strings.TrimLeft(f.Src[end:f.lineEnd(end)], blank+",")
	switch {
	case strings.HasPrefix(behind, "#"):
		at := f.lineEnd(end)
		return patch{at, at, "\n" + margin + text}
	case alone && last > 0:
		return patch{end, end, ",\n" + margin + text}
	}
	return patch{end, end, ", " + text}
}

// remove takes one member out, wherever the partition names it. It may still be one of
// those that a set of ports names.
func (f *File) remove(partition string, m Member) (*File, error) {
	found, _, err := f.find(partition)
	if err != nil {
		return nil, err
	}
	all := mentions(found, m)
	if len(all) == 0 {
		return nil, fmt.Errorf("partition %s does not list %s", shown(partition), m.name())
	}
	edited := f
	for len(all) > 0 {
		at := all[len(all)-1]
		if edited, err = edited.editOnly(partition, edited.removal(at.d, at.i)); err != nil {
			return nil, err
		}
		found, _, err = edited.find(partition)
		if err != nil {
			return nil, err
		}
		all = mentions(found, m)
	}
	return edited, nil
}

// name is the member without its membership.
func (m Member) name() string {
	name, _, _ := strings.Cut(m.String(), "=")
	return name
}

// removal takes an item out with the comma, or the line, that it needed.
func (f *File) removal(d *Definition, i int) patch {
	item := &d.Items[i]
	start, end := item.Name.Start, item.end()
	lineStart, lineEnd := f.lineStart(start), f.lineEnd(end)
	previous := d.Colon + 1
	if i > 0 {
		previous = d.Items[i-1].end()
	}
	between := f.Src[previous:start]
	behind := strings.TrimLeft(f.Src[end:lineEnd], blank)
	switch {
	case i > 0 && !d.Items[i-1].IsGroup() && strings.Trim(between, blank+",\n") == "":
		if !strings.HasPrefix(strings.TrimLeft(behind, blank+","), "#") {
			return patch{previous, end, ""}
		}
	case i == 0 && strings.Trim(between, blank) == "":
		if strings.HasPrefix(behind, ",") {
			end = lineEnd - len(behind) + 1
		}
		return patch{previous, end, ""}
	}
	if strings.Trim(f.Src[lineStart:start], blank) == "" && isBlankOrComment(strings.TrimLeft(behind, blank+",")) {
		return patch{lineStart, min(lineEnd+1, len(f.Src)), ""}
	}
	if strings.HasPrefix(behind, ",") {
		end = lineEnd - len(behind) + 1
	}
	return patch{start, end, ""}
}
