package lash

import "fmt"

// TooFewLanes refuses a subnet that needs more than so many lanes from Start on.
type TooFewLanes struct{ Lanes, Start int }

func (e *TooFewLanes) Error() string {
	if e.Lanes == 1 {
		return "more than 1 lane is needed"
	}
	return fmt.Sprintf("more than %d lanes are needed", e.Lanes)
}

// StartTooHigh refuses a subnet whose links do not have the first lane wanted for paths.
type StartTooHigh struct{ Start, Lanes int }

func (e *StartTooHigh) Error() string {
	return fmt.Sprintf("lash_start_vl is %d, and the links have lanes 0 to %d", e.Start, e.Lanes-1)
}
