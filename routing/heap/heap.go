// Package heap is the heap with which OpenSM's engines search for ways. Which of several equal
// items comes out first depends on each of its steps, and tables depend on that: the steps are those of
// OpenSM's cl_heap.
package heap

// Heap is a heap of vertices by distance, with four children to a parent. It is not safe for concurrent
// use.
type Heap struct {
	keys     []uint64
	vertices []int32 // beside keys
	place    []int32 // by vertex: in keys
}

const children = 4

// New is an empty heap for vertices below a number.
func New(vertices int) Heap {
	return Heap{keys: make([]uint64, 0, vertices), vertices: make([]int32, 0, vertices), place: make([]int32, vertices)}
}

// Fill takes all items out, and puts the vertices below a number in, all with one key.
func (h *Heap) Fill(vertices int, key uint64) {
	h.keys, h.vertices = h.keys[:vertices], h.vertices[:vertices]
	for v := range h.vertices {
		h.keys[v], h.vertices[v], h.place[v] = key, int32(v), int32(v)
	}
}

// Clear takes all items out.
func (h *Heap) Clear() { h.keys, h.vertices = h.keys[:0], h.vertices[:0] }

// Len is the number of items.
func (h *Heap) Len() int { return len(h.keys) }

// Push puts a vertex in, which must not be in the heap.
func (h *Heap) Push(vertex int32, key uint64) {
	h.keys, h.vertices = append(h.keys, key), append(h.vertices, vertex)
	h.up(len(h.keys)-1, vertex, key)
}

// Lower gives a vertex in the heap a lower key.
func (h *Heap) Lower(vertex int32, key uint64) { h.up(int(h.place[vertex]), vertex, key) }

// Pop takes out a vertex with the lowest key.
func (h *Heap) Pop() (vertex int32, key uint64) {
	vertex, key = h.vertices[0], h.keys[0]
	if moved, key := h.cut(); len(h.keys) > 0 {
		h.down(0, moved, key)
	}
	return vertex, key
}

// Delete takes out a vertex; nothing happens if it is not in the heap.
func (h *Heap) Delete(vertex int32) {
	at := int(h.place[vertex])
	if at >= len(h.keys) || h.vertices[at] != vertex {
		return
	}
	moved, key := h.cut()
	if at == len(h.keys) {
		return
	}
	if parent := (at - 1) / children; at > 0 && h.keys[parent] > key {
		h.up(at, moved, key)
	} else {
		h.down(at, moved, key)
	}
}

// cut takes off the item at the end.
func (h *Heap) cut() (vertex int32, key uint64) {
	last := len(h.keys) - 1
	vertex, key = h.vertices[last], h.keys[last]
	h.keys, h.vertices = h.keys[:last], h.vertices[:last]
	return vertex, key
}

// up puts an item at a place, or nearer to the root past those that are greater.
func (h *Heap) up(at int, vertex int32, key uint64) {
	for at > 0 {
		parent := (at - 1) / children
		if key >= h.keys[parent] {
			break
		}
		h.set(at, h.vertices[parent], h.keys[parent])
		at = parent
	}
	h.set(at, vertex, key)
}

// down puts an item at a place, or farther from the root past those that are less, of several equal ones
// past the last.
func (h *Heap) down(at int, vertex int32, key uint64) {
	keys, vertices, place := h.keys, h.vertices[:len(h.keys)], h.place
	for {
		first := at*children + 1
		if first >= len(keys) {
			break
		}
		child, lowest := least(keys[first:])
		if key <= lowest {
			break
		}
		child += first
		v := vertices[child]
		keys[at], vertices[at], place[v] = lowest, v, int32(at)
		at = child
	}
	h.set(at, vertex, key)
}

// least is the least of the first children, the last of several equal ones: two of two each, so that the
// processor need not guess.
func least(keys []uint64) (child int, lowest uint64) {
	if len(keys) < children {
		lowest = keys[0]
		for i, key := range keys {
			if key <= lowest {
				child, lowest = i, key
			}
		}
		return child, lowest
	}
	lowest = keys[0]
	if keys[1] <= lowest {
		child, lowest = 1, keys[1]
	}
	other, low := 2, keys[2]
	if keys[3] <= low {
		other, low = 3, keys[3]
	}
	if low <= lowest {
		child, lowest = other, low
	}
	return child, lowest
}

func (h *Heap) set(at int, vertex int32, key uint64) {
	h.keys[at], h.vertices[at], h.place[vertex] = key, vertex, int32(at)
}
