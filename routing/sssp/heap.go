package sssp

// heap is a heap of vertices by distance, with four children to a parent. Which of several equal ones
// comes out first depends on each step of it: the steps are those of OpenSM's cl_heap.
type heap struct {
	items []item
	place []int32 // by vertex: in items
}

type item struct {
	key    uint64
	vertex int32
}

const children = 4

func newHeap(vertices int) heap {
	return heap{items: make([]item, 0, vertices), place: make([]int32, vertices)}
}

func (h *heap) clear()   { h.items = h.items[:0] }
func (h *heap) len() int { return len(h.items) }

func (h *heap) push(vertex int32, key uint64) {
	h.items = append(h.items, item{key, vertex})
	h.place[vertex] = int32(len(h.items) - 1)
	h.up(len(h.items) - 1)
}

// lower gives a vertex in the heap a lower key.
func (h *heap) lower(vertex int32, key uint64) {
	at := int(h.place[vertex])
	h.items[at].key = key
	h.up(at)
}

// pop takes out a vertex with the lowest key.
func (h *heap) pop() (vertex int32, key uint64) {
	root, last := h.items[0], len(h.items)-1
	h.items[0] = h.items[last]
	h.place[h.items[0].vertex] = 0
	h.items = h.items[:last]
	h.down()
	return root.vertex, root.key
}

// up moves an item towards the root past those that are greater.
func (h *heap) up(at int) {
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

// down moves the root away from itself past those that are less, of several equal ones past the last.
func (h *heap) down() {
	if len(h.items) == 0 {
		return
	}
	moved, at := h.items[0], 0
	for {
		first := at*children + 1
		if first >= len(h.items) {
			break
		}
		least := first
		for child := first + 1; child < min(first+children, len(h.items)); child++ {
			if h.items[child].key <= h.items[least].key {
				least = child
			}
		}
		if moved.key <= h.items[least].key {
			break
		}
		h.set(at, h.items[least])
		at = least
	}
	h.set(at, moved)
}

func (h *heap) set(at int, it item) {
	h.items[at] = it
	h.place[it.vertex] = int32(at)
}
