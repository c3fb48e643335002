package manager

import "strings"

// wishes are the sweeps that are wanted, each at most once.
type wishes uint8

const (
	wishLight  wishes = 1 << iota
	wishQuick         // heavy, quick where that is possible
	wishLink          // heavy, and quick before anything that takes longer: a link has changed
	wishSecond        // heavy, right after the last one
	wishFull          // heavy, and full
	wishHeavy  = wishQuick | wishLink | wishSecond | wishFull
)

func (w wishes) String() string {
	var all []string
	for i, name := range [...]string{"light", "quick", "link", "second", "full"} {
		if w&(1<<i) != 0 {
			all = append(all, name)
		}
	}
	return strings.Join(all, "+")
}

// has reports whether one of some is wanted.
func (w wishes) has(some wishes) bool { return w&some != 0 }
