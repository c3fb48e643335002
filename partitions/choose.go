package partitions

import (
	"errors"
	"io/fs"

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
	FromCaution  Source = 4 // the file has errors, and no earlier one is known: Closed
	FromFallback Source = 5 // the same with partition_fallback open, as OpenSM: Default
)

var sourceNames = map[Source]string{
	FromFile:     "file",
	FromNothing:  "no file",
	FromLastGood: "last good file",
	FromCaution:  "caution",
	FromFallback: "fallback",
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
	Name string
	Text []byte
	Err  error // nil, or why there is no Text; fs.ErrNotExist where there is no file
}

// parse is the policy of the file, or its errors.
func (r Input) parse() Selected {
	if r.Err != nil {
		var errors diag.List
		errors.Add(diag.Position{File: r.Name}, "%v", r.Err)
		return Selected{Errors: errors}
	}
	policy, errors, warnings := Parse(r.Name, r.Text).Policy()
	return Selected{Policy: policy, Source: FromFile, Text: r.Text, Errors: errors, Warnings: warnings}
}

// Select selects the policy at a start. lastGood is the last good file, nil if none is
// known. An error never opens a partitioned fabric: without a last good file every port
// reaches only the manager. With open, every port is then a full member of the default
// partition, as with OpenSM.
func Select(r Input, lastGood []byte, open bool) Selected {
	c := r.parse()
	if c.Policy != nil {
		return c
	}
	if lastGood != nil {
		old, errors, _ := Parse(r.Name, lastGood).Policy()
		if len(errors) == 0 {
			return Selected{Policy: old, Source: FromLastGood, Text: lastGood, Errors: c.Errors, Warnings: c.Warnings}
		}
	}
	switch {
	case errors.Is(r.Err, fs.ErrNotExist):
		return Selected{Policy: Default(), Source: FromNothing}
	case open:
		c.Policy, c.Source = Default(), FromFallback
	default:
		c.Policy, c.Source = Closed(), FromCaution
	}
	c.Text = nil
	return c
}

// Reload selects the policy after a reload: that of the file, or the previous one, with the
// reason in Errors. A file that is still missing is not an error.
func (c Selected) Reload(r Input) Selected {
	next := r.parse()
	switch {
	case next.Policy != nil:
		return next
	case c.Source == FromNothing && errors.Is(r.Err, fs.ErrNotExist):
		return c
	}
	c.Errors, c.Warnings = next.Errors, next.Warnings
	return c
}
