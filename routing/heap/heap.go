// Package heap is the heap with which OpenSM's engines search for ways. Which of several equal
// items comes out first depends on each of its steps, and tables depend on that: the steps are those of
// OpenSM's cl_heap.
package heap

// Heap is a heap of vertices by distance, with four children to a parent. It is not safe for concurrent
// use.
type Heap struct {
	items []item
	place []int32 // by vertex: in items
}

type item struct {
	key    uint64
	vertex int32
}

const children = 4

// New is an empty heap for vertices below a number.
func New(vertices int) Heap {
	return Heap{items: make([]item, 0, vertices), place: make([]int32, vertices)}
}

// Clear takes all items out.
func (h *Heap) Clear() { h.items = h.items[:0] }

// Len is the number of items.
func (h *Heap) Len() int { return len(h.items) }

// Push puts a vertex in, which must not be in the heap.
func (h *Heap) Push(vertex int32, key uint64) {
	h.items = append(h.items, item{key, vertex})
	h.place[vertex] = int32(len(h.items) - 1)
	h.up(len(h.items) - 1)
}

// Lower gives a vertex in the heap a lower key.
func (h *Heap) Lower(vertex int32, key uint64) {
	at := int(h.place[vertex])
	h.items[at].key = key
	h.up(at)
}

// Pop takes out a vertex with the lowest key.
func (h *Heap) Pop() (vertex int32, key uint64) {
	root := h.items[0]
	h.Delete(root.vertex)
	return root.vertex, root.key
}

// Delete takes out a vertex; nothing happens if it is not in the heap.
func (h *Heap) Delete(vertex int32) {
	at, last := int(h.place[vertex]), len(h.items)-1
	if at > last || h.items[at].vertex != vertex {
		return
	}
	moved := h.items[last]
	h.items = h.items[:last]
	if at == last {
		return
	}
	h.set(at, moved)
	if parent := (at - 1) / children; at > 0 && h.items[parent].key > moved.key {
		h.up(at)
	} else {
		h.down(at)
	}
}

// up moves an item towards the root past those that are greater.
func (h *Heap) up(at int) {
	moved := h.items[at]
	for at > 0 {
		parent := (at - 1) / children
		if moved.key >= h.items[parent].key {
			break
		}
		h.set(at, h.items[parent])
		at = parent
	}
	h.set(at, moved)
}

// down moves an item away from the root past those that are less, of several equal ones past the last.
func (h *Heap) down(at int) {
	items, place := h.items, h.place
	moved := items[at]
	for {
		first := at*children + 1
		if first >= len(items) {
			break
		}
		row := items[first:min(first+children, len(items))]
		least, key := 0, row[0].key
		for child := 1; child < len(row); child++ {
			if k := row[child].key; k <= key {
				least, key = child, k
			}
		}
		if moved.key <= key {
			break
		}
		items[at] = row[least]
		place[row[least].vertex] = int32(at)
		at = first + least
	}
	h.set(at, moved)
}

func (h *Heap) set(at int, it item) {
	h.items[at] = it
	h.place[it.vertex] = int32(at)
}
