package mirror

import (
	"testing"

	"ibsm/mad"
	"ibsm/registry"
)

// TestSince: of the Changes of an answer those count that are not known, and all of them must
// lead from the number that it names to the other: what is cut off must not be missed.
func TestSince(t *testing.T) {
	var changes []byte
	for n := range 3 {
		changes = registry.DeleteGroup{MGID: mad.GID{0: 0xff, 15: byte(n)}}.AppendTo(changes)
	}
	for _, c := range []struct {
		before, known, now uint64
		want               int // Changes, -1 for an error
	}{{5, 5, 8, 3}, {5, 7, 8, 1}, {5, 8, 8, 0}, {5, 5, 9, -1}, {5, 5, 7, -1}} {
		a := answer{before: c.before, now: position{seq: c.now}, changes: changes}
		got, err := a.since(c.known)
		if (err != nil) != (c.want < 0) || err == nil && len(got) != c.want {
			t.Errorf("%+v: %d changes, %v", c, len(got), err)
		}
	}
}
