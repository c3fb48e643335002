package conf

import (
	"fmt"
	"slices"

	"ibsm/conf/diag"
)

// Severity says what follows from a Finding.
type Severity uint8

const (
	// Note is nothing wrong, but good to know: a setting that does nothing here, a
	// key of another manager.
	Note Severity = 1
	// Warning is likely not what was meant: an unknown key, an octal number.
	Warning Severity = 2
	// Mistake is a value that is not in force: the setting keeps what it had.
	Mistake Severity = 3
	// Refusal is a mistake that the manager must not start with.
	Refusal Severity = 4
)

func (s Severity) String() string {
	names := [...]string{Note: "note", Warning: "warning", Mistake: "mistake", Refusal: "error"}
	if s >= Note && int(s) < len(names) {
		return names[s]
	}
	return fmt.Sprintf("severity %d", uint8(s))
}

// Finding is something that a reader of the configuration should know.
type Finding struct {
	diag.Error
	Severity Severity
	Key      string // the setting, "" if it is about none
	// Status is the exit status of a start that is refused for this: 1 for a file,
	// 2 for wrong usage, 255 where OpenSM has that.
	Status int
}

// String is the finding as a line of a compiler's output.
func (f Finding) String() string {
	return fmt.Sprintf("%s: %s: %s", f.Position, f.Severity, f.Text)
}

// Report is what was found, in the order of the source.
type Report []Finding

// At what severity things are refused.
const (
	// Start is for a manager that starts: what cannot do harm is only told.
	Start = Refusal
	// Reload is for a running manager: a file with errors changes nothing.
	Reload = Mistake
	// Strict is for whoever wants to be sure.
	Strict = Warning
)

// Err is a diag.List of everything from a severity on, nil if there is nothing.
func (r Report) Err(from Severity) error {
	var l diag.List
	for _, f := range r {
		if f.Severity >= from {
			l = append(l, f.Error)
		}
	}
	return l.Err()
}

// Status is the exit status of a start that Err refuses, 0 if it does not.
func (r Report) Status(from Severity) int {
	for _, f := range r {
		if f.Severity >= from {
			return f.Status
		}
	}
	return 0
}

func (r *Report) add(s Severity, p diag.Position, key, format string, args ...any) {
	*r = append(*r, Finding{diag.Error{Position: p, Text: fmt.Sprintf(format, args...)}, s, key, 1})
}

// sort puts findings into the order of their places.
func (r Report) sort() {
	slices.SortStableFunc(r, func(a, b Finding) int {
		if a.Line != b.Line {
			return a.Line - b.Line
		}
		return a.Col - b.Col
	})
}
