//go:build !linux

package priority

import "time"

// giveWay does nothing where threads have no priorities of their own.
func giveWay() {}

// GivesWay says that nothing is missing.
func GivesWay() bool { return true }

// Yield does nothing there either.
func Yield() {}

var started = time.Now()

// Ran is how old the process is: for how long it has run is not known.
func Ran() time.Duration { return time.Since(started) }
