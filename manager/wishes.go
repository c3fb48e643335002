package manager

// wishes are the sweeps that are wanted, each at most once.
type wishes uint8

const (
	wishLight  wishes = 1 << iota
	wishQuick         // heavy, quick where that is possible
	wishLink          // heavy, and quick before anything that takes longer: a link has changed
	wishSecond        // heavy, right after the last one
	wishFull          // heavy, and full
	wishCheck         // light, of switches whose change the last heavy sweep may have read
	wishRetry         // heavy, quick, and asks again what the last one has not heard
	wishHeavy  = wishQuick | wishLink | wishSecond | wishFull | wishRetry
)

// has reports whether one of some is wanted.
func (w wishes) has(some wishes) bool { return w&some != 0 }
