package registry

import (
	"iter"
	"slices"
)

// owner marks what a Registry may write in place. Freeze takes a new one, and with it
// all that was written before is frozen.
type owner struct{ _ byte }

// leafSize is the most entries of a leaf: a change after a Freeze copies one leaf, and
// the list of leaves once.
const leafSize = 128

// table is an ordered map whose copies share their leaves. A copy is a value of its
// own; put and remove copy what they are not the owner of.
type table[K, V any] struct {
	compare func(a, b K) int
	leaves  []*leaf[K, V] // in order, none empty
	owner   *owner        // of the slice leaves
	count   int
}

type leaf[K, V any] struct {
	owner   *owner
	entries []entry[K, V] // in order
}

type entry[K, V any] struct {
	key   K
	value V
}

// leafOf is the index of the leaf that holds k, if any does; 0 in an empty table.
func (t *table[K, V]) leafOf(k K) int {
	i, found := slices.BinarySearchFunc(t.leaves, k, func(l *leaf[K, V], k K) int {
		return t.compare(l.entries[0].key, k)
	})
	if found || i == 0 {
		return i
	}
	return i - 1
}

func (t *table[K, V]) find(l *leaf[K, V], k K) (int, bool) {
	return slices.BinarySearchFunc(l.entries, k, func(e entry[K, V], k K) int { return t.compare(e.key, k) })
}

// get returns the value of k.
func (t *table[K, V]) get(k K) (v V, found bool) {
	if len(t.leaves) == 0 {
		return v, false
	}
	l := t.leaves[t.leafOf(k)]
	i, found := t.find(l, k)
	if found {
		v = l.entries[i].value
	}
	return v, found
}

// from iterates over the entries whose keys are not below k, in order. The table does
// not change meanwhile.
func (t *table[K, V]) from(k K) iter.Seq2[K, V] {
	return func(yield func(K, V) bool) {
		if len(t.leaves) == 0 {
			return
		}
		i := t.leafOf(k)
		at, _ := t.find(t.leaves[i], k)
		for ; i < len(t.leaves); i, at = i+1, 0 {
			for j := at; j < len(t.leaves[i].entries); j++ {
				e := &t.leaves[i].entries[j]
				if !yield(e.key, e.value) {
					return
				}
			}
		}
	}
}

// all iterates over the table in order, under the condition of from.
func (t *table[K, V]) all() iter.Seq2[K, V] {
	return func(yield func(K, V) bool) {
		for _, l := range t.leaves {
			for i := range l.entries {
				if !yield(l.entries[i].key, l.entries[i].value) {
					return
				}
			}
		}
	}
}

// put sets the value of k.
func (t *table[K, V]) put(o *owner, k K, v V) {
	if len(t.leaves) == 0 {
		t.leaves, t.owner, t.count = []*leaf[K, V]{{owner: o, entries: []entry[K, V]{{k, v}}}}, o, 1
		return
	}
	at := t.leafOf(k)
	l := t.writable(o, at)
	i, found := t.find(l, k)
	if found {
		l.entries[i].value = v
		return
	}
	l.entries = slices.Insert(l.entries, i, entry[K, V]{k, v})
	t.count++
	if len(l.entries) <= leafSize {
		return
	}
	half := len(l.entries) / 2
	if i == leafSize && at == len(t.leaves)-1 {
		half = leafSize // keys come in order: leave full leaves behind
	}
	upper := &leaf[K, V]{owner: o, entries: append(make([]entry[K, V], 0, leafSize+1), l.entries[half:]...)}
	clear(l.entries[half:])
	l.entries = l.entries[:half]
	t.leaves = slices.Insert(t.leaves, at+1, upper)
}

// bound removes the first entries of a table that has more than most.
func (t *table[K, V]) bound(o *owner, most int) {
	for t.count > most {
		t.remove(o, t.leaves[0].entries[0].key)
	}
}

// remove takes k out and reports whether it was there.
func (t *table[K, V]) remove(o *owner, k K) bool {
	if len(t.leaves) == 0 {
		return false
	}
	at := t.leafOf(k)
	i, found := t.find(t.leaves[at], k)
	if !found {
		return false
	}
	l := t.writable(o, at)
	l.entries = slices.Delete(l.entries, i, i+1)
	t.count--
	if len(l.entries) == 0 {
		t.leaves = slices.Delete(t.leaves, at, at+1)
		return true
	}
	t.join(o, at)
	t.join(o, at-1)
	return true
}

// join makes one leaf of leaf i and the next when both are small.
func (t *table[K, V]) join(o *owner, i int) {
	if i < 0 || i+1 >= len(t.leaves) || len(t.leaves[i].entries)+len(t.leaves[i+1].entries) > leafSize/2 {
		return
	}
	l := t.writable(o, i)
	l.entries = append(l.entries, t.leaves[i+1].entries...)
	t.leaves = slices.Delete(t.leaves, i+1, i+2)
}

// writable is leaf i, copied if it is not o's.
func (t *table[K, V]) writable(o *owner, i int) *leaf[K, V] {
	if t.owner != o {
		t.leaves, t.owner = slices.Clone(t.leaves), o
	}
	l := t.leaves[i]
	if l.owner != o {
		l = &leaf[K, V]{owner: o, entries: append(make([]entry[K, V], 0, leafSize+1), l.entries...)}
		t.leaves[i] = l
	}
	return l
}
