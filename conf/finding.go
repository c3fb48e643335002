package conf

import (
	"fmt"
	"slices"

	"ibsm/conf/diag"
)

// Severity is the consequence of a Finding.
type Severity uint8

const (
	// Note is information: a setting without effect, a key of another manager.
	Note Severity = 1
	// Warning is probably unintended: an unknown key, an octal number.
	Warning Severity = 2
	// Invalid is an invalid value that is not applied: a start uses the previous value
	// or the default, a reload is refused.
	Invalid Severity = 3
	// Refusal is an error that also refuses a start.
	Refusal Severity = 4
)

func (s Severity) String() string {
	names := [...]string{Note: "note", Warning: "warning", Invalid: "error", Refusal: "error"}
	if s >= Note && int(s) < len(names) {
		return names[s]
	}
	return fmt.Sprintf("severity %d", uint8(s))
}

// Finding is a note, warning or error about the configuration.
type Finding struct {
	diag.Error
	Severity Severity
	Key      string // the setting, "" for none
	// Inert is set for a key of NVIDIA's OpenSM that has no effect: a start notes how many there are, see Report.Brief.
	Inert bool
	// Status is the exit status of a start that is refused for this: 1 for a file,
	// 2 for wrong usage, 255 where OpenSM has that.
	Status int
}

// String formats the finding as compilers do: file:line:column: severity: text.
func (f Finding) String() string {
	if f.Position == (diag.Position{}) {
		return fmt.Sprintf("%s: %s", f.Severity, f.Text)
	}
	return fmt.Sprintf("%s: %s: %s", f.Position, f.Severity, f.Text)
}

// Report is a list of findings, in the order of the source.
type Report []Finding

// The lowest severities that refuse a start, a reload, and a start with --strict.
const (
	// Start is for a manager that starts.
	Start = Refusal
	// Reload is for a running manager: a file with errors changes nothing.
	Reload = Invalid
	// Strict is for --strict.
	Strict = Warning
)

// Err is a diag.List of the findings of at least a severity, nil if there are none.
func (r Report) Err(from Severity) error {
	var l diag.List
	for _, f := range r {
		if f.Severity >= from {
			l = append(l, f.Error)
		}
	}
	return l.Err()
}

// Status is the exit status of a start that Err refuses, 0 if Err is nil.
func (r Report) Status(from Severity) int {
	for _, f := range r {
		if f.Severity >= from {
			return f.Status
		}
	}
	return 0
}

func (r *Report) add(s Severity, p diag.Position, key, format string, args ...any) {
	*r = append(*r, Finding{Error: diag.Error{Position: p, Text: fmt.Sprintf(format, args...)}, Severity: s, Key: key,
		Status: 1})
}

// sort orders findings by position.
func (r Report) sort() {
	slices.SortStableFunc(r, func(a, b Finding) int {
		if a.Line != b.Line {
			return a.Line - b.Line
		}
		return a.Col - b.Col
	})
}
