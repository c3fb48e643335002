//go:build !linux

package routing

// GiveWay does nothing where threads have no priorities of their own.
func GiveWay() {}
