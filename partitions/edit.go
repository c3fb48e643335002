package partitions

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"ibsm/mad"
)

// An edit returns a new File whose text differs from the old one's only where it must:
// comments, order and spacing of everything else stay. It refuses what would leave a file
// with errors, or one that does not mean what was asked for. A partition is chosen by its
// name or by its key; every definition of it is looked at.

// Add gives members their membership in a partition, in place where they are named
// already.
func (f *File) Add(partition string, members ...Member) (*File, error) {
	return f.each(members, func(f *File, m Member) (*File, error) { return f.add(partition, m) })
}

// Remove takes members out of a partition.
func (f *File) Remove(partition string, members ...Member) (*File, error) {
	return f.each(members, func(f *File, m Member) (*File, error) { return f.remove(partition, m) })
}

func (f *File) each(members []Member, edit func(*File, Member) (*File, error)) (*File, error) {
	for _, m := range members {
		var err error
		if f, err = edit(f, m); err != nil {
			return nil, err
		}
	}
	return f, nil
}

// Create appends a definition. Key 0 stands for the lowest that is free; flags are as in
// the file, such as "rate=7".
func (f *File) Create(name string, key mad.PKey, flags []string, members ...Member) (*File, error) {
	policy, err := f.meaning()
	if err != nil {
		return nil, err
	}
	if name == "" || strings.ContainsAny(name, ",:;=#\n\r") || digit(name[0]) < 10 {
		return nil, fmt.Errorf("%s is not a valid partition name", shown(name))
	}
	for _, flag := range flags {
		if err := checkFlag(flag); err != nil {
			return nil, err
		}
	}
	key = key.Base()
	for free := mad.PKey(1); key == 0 && free < DefaultKey; free++ {
		if policy.Find(free) == nil {
			key = free
		}
	}
	for i := range policy.Partitions {
		switch p := &policy.Partitions[i]; {
		case p.Key == key && p.Position.Line > 0:
			return nil, fmt.Errorf("partition %s already has P_Key %s", shown(p.Name), key)
		case p.Name == name && p.Position.Line > 0:
			return nil, fmt.Errorf("partition %s already exists, with P_Key %s", shown(name), p.Key)
		}
	}
	var b strings.Builder
	if f.Src != "" && !strings.HasSuffix(f.Src, "\n") {
		b.WriteString("\n")
	}
	fmt.Fprintf(&b, "%s=%s", name, key)
	for _, flag := range flags {
		b.WriteString(", " + flag)
	}
	b.WriteString(" :")
	for i, m := range members {
		if len(members) > 1 {
			b.WriteString("\n   ")
		}
		b.WriteString(" " + m.String())
		if i < len(members)-1 {
			b.WriteString(",")
		}
	}
	b.WriteString(";\n")
	var patches []patch
	if n := len(f.Definitions); n > 0 && !f.Definitions[n-1].Closed {
		end := f.Definitions[n-1].End
		patches = append(patches, patch{end, end, ";"})
	}
	return f.apply(append(patches, patch{len(f.Src), len(f.Src), b.String()}))
}

// Delete removes every definition of a partition.
func (f *File) Delete(partition string) (*File, error) {
	return f.edit(partition, func(d *Definition) []patch {
		start, end := d.Start, d.End
		if lineStart := f.lineStart(start); strings.Trim(f.Src[lineStart:start], blank) == "" {
			if rest := f.lineEnd(end); isBlankOrComment(f.Src[end:rest]) {
				start, end = lineStart, min(rest+1, len(f.Src))
			}
		}
		return []patch{{start, end, ""}}
	})
}

// Rename gives a partition another name, in every definition that names it.
func (f *File) Rename(partition, name string) (*File, error) {
	if name == "" || strings.ContainsAny(name, ",:;=#\n\r") || digit(name[0]) < 10 {
		return nil, fmt.Errorf("%s is not a valid partition name", shown(name))
	}
	return f.edit(partition, func(d *Definition) []patch {
		w := d.Head.Name
		if w == keyWord(d) {
			return []patch{{w.Start, w.Start, name + "="}}
		}
		return []patch{{w.Start, w.end(), name}}
	})
}

// Set gives every definition of a partition a flag, such as "rate=7", in place of its
// value so far; ipoib goes to the first alone, since one makes the group.
func (f *File) Set(partition, flag string) (*File, error) {
	word, _, _ := strings.Cut(flag, "=")
	word = strings.Trim(word, blank)
	if strings.ContainsAny(flag, ",:;#\n") || word != index0Word && !slices.Contains(flagWords, word) {
		return nil, fmt.Errorf("unknown flag %s%s", shown(word), meant(word, append(flagWords, index0Word)))
	}
	if err := checkFlag(flag); err != nil {
		return nil, err
	}
	first := true
	return f.edit(partition, func(d *Definition) []patch {
		only := word == "ipoib" && !first
		first = false
		old := f.flagsNamed(d, word)
		switch {
		case only || word == "ipoib" && len(old) > 0:
			return nil
		case word == "scope" || len(old) == 0: // scopes add up
			end := d.Head.end()
			if n := len(d.Flags); n > 0 {
				end = d.Flags[n-1].end()
			}
			return []patch{{end, end, ", " + flag}}
		}
		last := old[len(old)-1]
		return []patch{{last.Name.Start, last.end(), flag}}
	})
}

// checkFlag refuses a flag with a value that would be ignored, or leave a group out.
func checkFlag(flag string) error {
	_, errors, warnings := Parse("", []byte("x=1, "+flag+" : ALL=full;")).Policy()
	for _, e := range append(errors, warnings...) {
		if strings.Contains(e.Text, "expected ") {
			return fmt.Errorf("%s", e.Text)
		}
	}
	return nil
}

// Unset removes a flag from every definition of a partition.
func (f *File) Unset(partition, word string) (*File, error) {
	return f.edit(partition, func(d *Definition) (patches []patch) {
		previous := d.Head.end()
		for i := range d.Flags {
			if f.isFlag(&d.Flags[i], word) {
				patches = append(patches, patch{previous, d.Flags[i].end(), ""})
			}
			previous = d.Flags[i].end()
		}
		return patches
	})
}

// flagsNamed are the flags of a definition that a word means.
func (f *File) flagsNamed(d *Definition, word string) (found []*Assignment) {
	for i := range d.Flags {
		if f.isFlag(&d.Flags[i], word) {
			found = append(found, &d.Flags[i])
		}
	}
	return found
}

func (f *File) isFlag(a *Assignment, word string) bool {
	if a.Name.Text == index0Word || word == index0Word {
		return a.Name.Text == word
	}
	return a.Name.Text != "" && whole(a.Name.Text, flagWords) == word
}

// patch replaces a piece of the text.
type patch struct {
	start, end int
	text       string
}

// apply makes the text with patches, which do not overlap.
func (f *File) apply(patches []patch) (*File, error) {
	slices.SortStableFunc(patches, func(a, b patch) int { return cmp.Compare(a.start, b.start) })
	var b strings.Builder
	from := 0
	for _, p := range patches {
		b.WriteString(f.Src[from:p.start])
		b.WriteString(p.text)
		from = p.end
	}
	b.WriteString(f.Src[from:])
	edited := Parse(f.Name, []byte(b.String()))
	if _, err := edited.meaning(); err != nil {
		return nil, err
	}
	return edited, nil
}

// meaning is the policy of a file without errors. A file that defines nothing yet means
// what lies under every file.
func (f *File) meaning() (*Policy, error) {
	if len(f.Definitions) == 0 && len(f.Errors) == 0 {
		return Closed(), nil
	}
	policy, errors, _ := f.Policy()
	return policy, errors.Err()
}

// edit patches every definition of a partition.
func (f *File) edit(partition string, how func(d *Definition) []patch) (*File, error) {
	before, err := f.meaning()
	if err != nil {
		return nil, err
	}
	found, key, err := f.find(partition)
	if err != nil {
		return nil, err
	}
	var patches []patch
	for _, d := range found {
		patches = append(patches, how(d)...)
	}
	edited, err := f.apply(patches)
	if err != nil {
		return nil, err
	}
	after, err := edited.meaning()
	if err != nil {
		return nil, err
	}
	for i := range before.Partitions {
		p := &before.Partitions[i]
		if q := after.Find(p.Key); p.Key != key &&
			(q == nil || q.Name != p.Name || !sameMembers(p.Members, q.Members)) {
			return nil, fmt.Errorf(
				"this would change partition %s, whose P_Key %s depends on earlier lines: write its P_Key into the file first", shown(p.Name), p.Key)
		}
	}
	return edited, nil
}

// sameMembers compares members without their places.
func sameMembers(a, b []Member) bool {
	return slices.EqualFunc(a, b, func(x, y Member) bool {
		x.Position = y.Position
		return x == y
	})
}

// errNoPartition is what find says of a partition that the file does not define.
var errNoPartition = errors.New("the file does not define this partition")

// find is the definitions of a partition, which is chosen by name or key.
func (f *File) find(partition string) (found []*Definition, key mad.PKey, err error) {
	if n, junk, _ := number(partition); !junk {
		key = mad.PKey(n).Base()
	}
	r := newResolver(f)
	byKey, named := map[mad.PKey][]*Definition{}, map[mad.PKey]bool{}
	for i := range f.Definitions {
		d := &f.Definitions[i]
		k := r.define(d)
		byKey[k] = append(byKey[k], d)
		if d.Head.Name.Text == partition && d.Head.Name != keyWord(d) {
			named[k] = true
		}
	}
	if key == 0 && len(named) > 1 {
		return nil, 0, fmt.Errorf("%d partitions are named %s: select one by its P_Key", len(named), shown(partition))
	}
	for k := range named {
		if key == 0 {
			key = k
		}
	}
	if len(byKey[key]) == 0 {
		names := make([]string, len(r.policy.Partitions))
		for i := range names {
			names[i] = r.policy.Partitions[i].Name
		}
		return nil, 0, fmt.Errorf("%s: %w%s", shown(partition), errNoPartition, meant(partition, names))
	}
	return byKey[key], key, nil
}

// lineStart and lineEnd are the bounds of the line of an offset.
func (f *File) lineStart(at int) int { return strings.LastIndexByte(f.Src[:at], '\n') + 1 }
func (f *File) lineEnd(at int) int   { return at + until(f.Src[at:], "\n") }

func isBlankOrComment(text string) bool {
	text = strings.Trim(text, blank)
	return text == "" || text[0] == '#'
}
