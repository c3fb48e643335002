package mirror

import (
	"slices"

	"ibsm/registry"
)

// changeLog are the last Changes, encoded.
type changeLog struct {
	last  uint64 // number of the last
	items [][]byte
	bytes int
}

func (l *changeLog) add(c registry.Change) {
	b := c.AppendTo(nil)
	l.items = append(l.items, b)
	l.bytes += len(b)
	l.last++
	for l.bytes > maxLog {
		l.bytes -= len(l.items[0])
		l.items[0] = nil
		l.items = l.items[1:]
	}
}

// has reports whether all Changes after a number are remembered.
func (l *changeLog) has(seq uint64) bool { return seq <= l.last && l.last-seq <= uint64(len(l.items)) }

// since are the Changes after a number, encoded; false if not all are remembered.
func (l *changeLog) since(seq uint64) ([]byte, bool) {
	if !l.has(seq) {
		return nil, false
	}
	return slices.Concat(l.items[len(l.items)-int(l.last-seq):]...), true
}
