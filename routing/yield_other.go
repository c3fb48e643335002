//go:build !linux

package routing

// yield does nothing where threads have no priorities of their own.
func yield() {}
