package discover

import "slices"

// A walk of a large subnet queues millions of requests. What grows with it grows by blocks: moving all that there is to
// larger memory would take a quarter of a second at a time.

// blockSize is how many elements a block has at most.
const blockSize = 1024

// fifo is a queue that gives its memory back as it drains.
type fifo struct {
	blocks [][]item
	head   int // the next item of the first block
}

func (q *fifo) push(it item) {
	last := len(q.blocks) - 1
	if last < 0 || len(q.blocks[last]) == blockSize {
		q.blocks = append(q.blocks, nil)
		last++
	}
	q.blocks[last] = append(q.blocks[last], it)
}

func (q *fifo) pushFirst(it item) {
	if q.head == 0 {
		q.blocks = slices.Insert(q.blocks, 0, []item{it})
		return
	}
	q.head--
	q.blocks[0][q.head] = it
}

func (q *fifo) pop() (item, bool) {
	if q.empty() {
		return item{}, false
	}
	it := q.blocks[0][q.head]
	if q.head++; q.head < len(q.blocks[0]) {
		return it, true
	}
	if q.head = 0; len(q.blocks) > 1 {
		q.blocks = q.blocks[1:]
	} else {
		q.blocks[0] = q.blocks[0][:0]
	}
	return it, true
}

func (q *fifo) empty() bool { return len(q.blocks) == 0 || len(q.blocks[0]) == 0 }

// readings are those of a walk, by number.
type readings struct{ blocks [][]reading }

// add adds one, and returns its number.
func (s *readings) add(r reading) int32 {
	last := len(s.blocks) - 1
	if last < 0 || len(s.blocks[last]) == blockSize {
		s.blocks = append(s.blocks, nil)
		last++
	}
	s.blocks[last] = append(s.blocks[last], r)
	return int32(last*blockSize + len(s.blocks[last]) - 1)
}

func (s *readings) at(number int32) *reading { return &s.blocks[number/blockSize][number%blockSize] }
