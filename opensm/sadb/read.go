package sadb

import (
	"strings"

	"ibsm/conf/diag"
	"ibsm/mad"
	"ibsm/registry"
)

// maxFindings bounds the reported lines of a file: a file of another kind has none that
// is right.
const maxFindings = 100

// reader is a file on its way into a Registry.
type reader struct {
	reg     *registry.Registry
	at      diag.Position
	found   diag.List
	more    int      // findings beyond maxFindings
	records int      // that were recognized
	group   *mad.GID // that member lines belong to; nil after one that was passed over
}

// Read reads a database. Records in the list are not in the registry, nor are groups
// that nobody keeps alive, which OpenSM drops, too. Lines that are no records, and
// comments, are ignored as in OpenSM; a file without any record is reported.
func Read(name string, text []byte) (*registry.Registry, diag.List) {
	r := &reader{reg: registry.New(), at: diag.Position{File: name, Col: 1}}
	for line := range strings.Lines(string(text)) {
		r.at.Line++
		r.line(strings.TrimRight(line, "\r\n"))
	}
	switch {
	case r.more > 0:
		r.found.Add(diag.Position{File: name}, "and %d more", r.more)
	case r.records == 0 && len(text) > 0:
		r.found.Add(diag.Position{File: name},
			"no record in the file; an SA database is a file that OpenSM writes as opensm-sa.dump")
	}
	r.dropDead()
	return r.reg, r.found
}

// line reads one line.
func (r *reader) line(text string) {
	record := strings.TrimLeft(text, " \t")
	for _, k := range kinds {
		if !strings.HasPrefix(record, k.begins) {
			continue
		}
		r.records++
		f := &fields{text: text, at: len(text) - len(record) + len(k.begins)}
		changes := k.read(r, f)
		if f.wrong != "" {
			r.report(f.at+1, f.wrong)
			changes = nil
		}
		for _, c := range changes {
			if err := r.reg.Apply(c); err != nil {
				r.report(1, strings.TrimPrefix(err.Error(), "registry: "))
				changes = nil
				break
			}
		}
		if k.begins != member {
			r.group = groupOf(changes)
		}
		return
	}
}

func (r *reader) report(col int, text string) {
	if len(r.found) >= maxFindings {
		r.more++
		return
	}
	at := r.at
	at.Col = col
	r.found.Add(at, "%s", text)
}

// groupOf is the group that the changes of a record make, nil for none.
func groupOf(changes []registry.Change) *mad.GID {
	if len(changes) == 1 {
		if g, is := changes[0].(registry.PutGroup); is {
			return &g.MGID
		}
	}
	return nil
}

// dropDead removes the groups that have no member to live for.
func (r *reader) dropDead() {
	var dead []registry.Change
	for g := range r.reg.Groups() {
		if !g.WellKnown && r.reg.FullMembers(g.MGID) == 0 {
			dead = append(dead, registry.DeleteGroup{MGID: g.MGID})
		}
	}
	for _, c := range dead {
		_ = r.reg.Apply(c) // it is there
	}
}
