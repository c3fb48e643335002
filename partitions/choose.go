package partitions

import (
	"errors"
	"io/fs"
	"slices"

	"ibsm/conf/diag"
	"ibsm/mad"
)

// Source says where a policy comes from.
type Source uint8

// Sources.
const (
	FromFile     Source = 1
	FromNothing  Source = 2 // there is no file and never was: Default
	FromLastGood Source = 3 // the file as it was when it last had no errors
	FromCaution  Source = 4 // the file cannot be used, no earlier one is known, and the fallback is StartClosed: Closed
	FromFallback Source = 5 // the same with StartOpen, as OpenSM: Default
	FromSetting  Source = 6 // there is no file and never was: Input.Absent
)

var sourceNames = map[Source]string{
	FromFile:     "file",
	FromNothing:  "no file",
	FromLastGood: "last good file",
	FromCaution:  "closed",
	FromFallback: "open",
	FromSetting:  "setting",
}

func (s Source) String() string { return mad.NameOf(sourceNames, s, "source %d") }

// Selected is the selected policy, with the findings about its file.
type Selected struct {
	Policy *Policy
	Source Source
	// Text is the file of the policy, which is stored as the last good one; nil for a policy
	// without a file.
	Text []byte
	// Errors are why the policy is not that of the present file; none with FromFile and
	// FromNothing.
	Errors   diag.List
	Warnings diag.List
}

// ForTables is the policy for P_Key tables: nil without a file, so that the manager leaves the
// tables unchanged.
func (c Selected) ForTables() *Policy {
	if c.Source == FromNothing {
		return nil
	}
	return c.Policy
}

// Input is the content of the partition file, or the error from reading it.
type Input struct {
	Name  string
	Named bool // the operator named the file; it is an error if it does not exist
	Text  []byte
	Err   error    // nil, or why there is no Text; fs.ErrNotExist where there is no file
	Self  mad.GUID // of the manager's port, 0 if not known
	// NoNames and PortGroups are those of File.
	NoNames    bool
	PortGroups *PortGroups
	// Absent is the text of the policy where there is no file and never was; nil for Default, which leaves tables
	// unchanged.
	Absent []byte
}

// missing reports whether there is no file where none is required.
func (r Input) missing() bool { return errors.Is(r.Err, fs.ErrNotExist) && !r.Named }

// absent is the policy where there is no file and never was. It has no Text: it is no file that was once good.
func (r Input) absent() Selected {
	if r.Absent == nil {
		return Selected{Policy: Default(), Source: FromNothing}
	}
	r.Text, r.Err = r.Absent, nil
	c := r.parse()
	c.Source, c.Text = FromSetting, nil
	return c
}

// parse is the policy of the file, or its errors.
func (r Input) parse() Selected {
	if r.Err != nil {
		var errors diag.List
		errors.Add(diag.Position{File: r.Name}, "%v", r.Err)
		return Selected{Errors: errors}
	}
	f := Parse(r.Name, r.Text)
	f.Self, f.NoNames, f.PortGroups = r.Self, r.NoNames, r.PortGroups
	policy, errors, warnings := f.Policy()
	return Selected{Policy: policy, Source: FromFile, Text: r.Text, Errors: errors, Warnings: warnings}
}

// Fallback is the policy at a start whose file cannot be used, if no earlier file is known.
type Fallback uint8

// Fallbacks.
const (
	NoStart     Fallback = 0 // the manager does not start
	StartClosed Fallback = 1 // every port reaches only the manager
	StartOpen   Fallback = 2 // every port is a full member of the default partition, as with OpenSM
)

// Select selects the policy at a start. lastGood is the last good file, nil if none is
// known. It takes the place of a file with errors, and of one with dangerous lines that are not
// in lastGood. Without a last good file dangerous lines are obeyed, as OpenSM obeys them, and
// the fallback decides about a file with errors. With NoStart the Policy may be nil.
func Select(r Input, lastGood []byte, fallback Fallback) Selected {
	c := r.parse()
	if lastGood != nil {
		last := r
		last.Text, last.Err = lastGood, nil
		if old := last.parse(); old.Policy != nil {
			if c.Policy != nil {
				c.Errors = c.refused(old.Policy)
			}
			if len(c.Errors) > 0 {
				return Selected{Policy: old.Policy, Source: FromLastGood, Text: lastGood, Errors: c.Errors,
					Warnings: c.Warnings}
			}
		}
	}
	switch {
	case c.Policy != nil:
		return c
	case r.missing():
		return r.absent()
	case fallback == StartOpen:
		c.Policy, c.Source = Default(), FromFallback
	case fallback == StartClosed:
		c.Policy, c.Source = closedFor(r.Name), FromCaution
	default:
		c.Source = 0
	}
	c.Text = nil
	return c
}

// closedFor is Closed in place of a file, which the positions of its members name.
func closedFor(file string) *Policy {
	p := Closed()
	for i := range p.Partitions[0].Members {
		p.Partitions[0].Members[i].Position.File = file
	}
	return p
}

// NewDangers are the dangerous lines of the policy that are not in another one.
func (c Selected) NewDangers(before *Policy) (dangers diag.List) {
	for _, d := range c.Policy.Dangers {
		if before == nil || !slices.ContainsFunc(before.Dangers, func(old diag.Error) bool {
			return old.Text == d.Text
		}) {
			dangers = append(dangers, d)
		}
	}
	return dangers
}

// refused are the errors of a file that dangerous lines keep from replacing a policy.
func (c Selected) refused(before *Policy) (errors diag.List) {
	for _, d := range c.NewDangers(before) {
		errors.Add(d.Position, "%s (ibsmctl partitions apply --force applies it)", d.Text)
	}
	return errors
}

// Reload selects the policy after a reload: that of the file, or the previous one, with the
// reason in Errors. A file that is still missing is not an error. Unless forced, a file with
// dangerous lines that are not in force is refused.
func (c Selected) Reload(r Input, force bool) Selected {
	next := r.parse()
	switch {
	case next.Policy == nil && (c.Source == FromNothing || c.Source == FromSetting) && r.missing():
		return r.absent()
	case next.Policy != nil && !force:
		next.Errors = next.refused(c.Policy)
	}
	if len(next.Errors) == 0 {
		return next
	}
	c.Errors, c.Warnings = next.Errors, next.Warnings
	return c
}
