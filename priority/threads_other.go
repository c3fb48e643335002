//go:build !linux

package priority

// giveWay does nothing where threads have no priorities of their own.
func giveWay() {}

// Yield does nothing there either.
func Yield() {}
