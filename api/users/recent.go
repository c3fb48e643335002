package users

import "container/list"

// recent is a table of a bounded number of entries: of more, the one goes that was used least recently. Its methods
// are not for several goroutines at a time.
type recent[K comparable, V any] struct {
	most    int
	order   list.List // of entry[K, V], the one used last in front
	at      map[K]*list.Element
	evicted uint64 // entries that went
}

type entry[K comparable, V any] struct {
	key   K
	value V
}

func newRecent[K comparable, V any](most int) recent[K, V] {
	return recent[K, V]{most: most, at: map[K]*list.Element{}}
}

// get is the value of a key, nil without one. It is the table's own.
func (r *recent[K, V]) get(key K) *V {
	e := r.at[key]
	if e == nil {
		return nil
	}
	r.order.MoveToFront(e)
	return &e.Value.(*entry[K, V]).value
}

// put sets the value of a key.
func (r *recent[K, V]) put(key K, value V) *V {
	if v := r.get(key); v != nil {
		*v = value
		return v
	}
	if len(r.at) == r.most {
		last := r.order.Back()
		delete(r.at, last.Value.(*entry[K, V]).key)
		r.order.Remove(last)
		r.evicted++
	}
	e := &entry[K, V]{key, value}
	r.at[key] = r.order.PushFront(e)
	return &e.value
}

func (r *recent[K, V]) remove(key K) {
	if e := r.at[key]; e != nil {
		delete(r.at, key)
		r.order.Remove(e)
	}
}
