//go:build !linux

package priority

// GiveWay does nothing where threads have no priorities of their own.
func GiveWay() {}

// Yield does nothing there either.
func Yield() {}
