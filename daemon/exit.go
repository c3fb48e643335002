package daemon

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"ibsm/manager"
)

// Exit statuses. ExitRefused, for numbers out of range and what cannot be created, is
// OpenSM's.
const (
	ExitFailed      = 1
	ExitUsage       = 2
	ExitOtherMaster = 3 // with --once: another manager is master
	ExitIncomplete  = 4 // with --once: the subnet came up with errors
	ExitRefused     = 255
)

// UsageError says that the command line or the configuration asks for something
// impossible. Its exit status is ExitUsage.
type UsageError struct {
	Text string
	Hint string // how to do it right; may be empty
}

func (e *UsageError) Error() string { return e.Text }

// refusal is a reason not to start that does not go away by waiting.
type refusal struct{ error }

func (r refusal) Unwrap() error { return r.error }

func isRefusal(err error) bool { return errors.As(err, new(refusal)) }

// isResult reports whether an error is the result of a manager, not of a broken port.
func isResult(err error) bool {
	return errors.Is(err, manager.ErrPortDown) || errors.Is(err, manager.ErrWrongPort) ||
		errors.Is(err, manager.ErrOtherMaster) || errors.Is(err, manager.ErrIncomplete)
}

// ExitStatus prints an error and returns its exit status, 0 for no error.
func ExitStatus(err error, stderr io.Writer) int {
	if err == nil || errors.Is(err, errLeft) {
		return 0
	}
	fmt.Fprintln(stderr, "ibsm: error: "+strings.TrimPrefix(err.Error(), "ibsm: "))
	var u *UsageError
	switch {
	case errors.As(err, &u):
		if u.Hint != "" {
			fmt.Fprintln(stderr, "hint: "+u.Hint)
		}
		return ExitUsage
	case errors.Is(err, manager.ErrOtherMaster):
		return ExitOtherMaster
	case errors.Is(err, manager.ErrIncomplete):
		return ExitIncomplete
	}
	return ExitFailed
}
