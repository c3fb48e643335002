package nue

import "slices"

// order is a topological order of the channels by the used dependencies between them, kept as these come
// and go (Pearce and Kelly, 2006): each channel has a number below those of all that it leads to. So it
// is known at once of most pairs of channels that there is no way from one to the other.
type order struct {
	*layer
	number      []int64 // by channel
	top         int64
	broken      bool // there is a circle, so there is no order
	ahead, back []int32
	seen        []bool
	pool        []int64
}

func newOrder(l *layer) *order {
	return &order{layer: l, number: make([]int64, len(l.to)), seen: make([]bool, len(l.to))}
}

// reset numbers the channels by the dependencies that there are.
func (o *order) reset() {
	waiting := make([]int32, len(o.to)) // dependencies on each channel by others without a number
	for c := range o.to {
		o.each(int32(c), func(d int32) { waiting[d]++ })
	}
	var queue []int32
	for c, n := range waiting {
		if n == 0 {
			queue = append(queue, int32(c))
		}
	}
	for i := 0; i < len(queue); i++ {
		o.number[queue[i]] = int64(i)
		o.each(queue[i], func(d int32) {
			if waiting[d]--; waiting[d] == 0 {
				queue = append(queue, d)
			}
		})
	}
	o.top, o.broken = int64(len(queue)), len(queue) < len(o.to)
}

// each calls do for the channels to which used dependencies lead from one.
func (o *order) each(c int32, do func(d int32)) {
	first := o.first[o.to[c]]
	for i, s := range o.state[o.start[c]:o.start[c+1]] {
		if s == used {
			do(first + int32(i))
		}
	}
}

// add makes room for a dependency, and reports whether it closes no circle.
func (o *order) add(c, d int32) bool {
	if o.broken {
		return !o.reaches(d, c)
	}
	if o.number[c] < o.number[d] {
		return true
	}
	free := true
	o.each(d, func(int32) { free = false })
	if free {
		o.number[d] = o.top
		o.top++
		return true
	}
	ok := o.search(c, d)
	o.work += 8 * (len(o.ahead) + len(o.back))
	if ok {
		o.renumber()
	}
	for _, list := range [...][]int32{o.ahead, o.back} {
		for _, c := range list {
			o.seen[c] = false
		}
	}
	return ok
}

// looks is how many channels a search goes through before it looks at the context.
const looks = 1024

// search finds what is ahead of d up to the number of c, and what is behind c down to that of d. It
// reports false if c is ahead of d, or the context is done.
func (o *order) search(c, d int32) bool {
	low, high := o.number[d], o.number[c]
	o.ahead, o.back = append(o.ahead[:0], d), o.back[:0]
	o.seen[d] = true
	for i := 0; i < len(o.ahead); i++ {
		if i%looks == 0 && o.ctx.Err() != nil {
			return false
		}
		at := o.ahead[i]
		first := o.first[o.to[at]]
		for k, s := range o.state[o.start[at]:o.start[at+1]] {
			next := first + int32(k)
			if s != used || o.seen[next] || o.number[next] > high {
				continue
			}
			if next == c {
				return false
			}
			o.seen[next] = true
			o.ahead = append(o.ahead, next)
		}
	}
	o.back = append(o.back, c)
	o.seen[c] = true
	for i := 0; i < len(o.back); i++ {
		if i%looks == 0 && o.ctx.Err() != nil {
			return false
		}
		at := o.back[i]
		v := o.from[at]
		for e := o.first[v]; e < o.first[v+1]; e++ {
			before := o.network.back[e]
			if o.state[o.start[before]+at-o.first[v]] == used && !o.seen[before] && o.number[before] > low {
				o.seen[before] = true
				o.back = append(o.back, before)
			}
		}
	}
	return true
}

// renumber gives what is behind the lowest of the numbers found, and what is ahead the others.
func (o *order) renumber() {
	byNumber := func(a, b int32) int { return int(o.number[a] - o.number[b]) }
	slices.SortFunc(o.back, byNumber)
	slices.SortFunc(o.ahead, byNumber)
	o.pool = o.pool[:0]
	lists := [...][]int32{o.back, o.ahead}
	for _, list := range lists {
		for _, c := range list {
			o.pool = append(o.pool, o.number[c])
		}
	}
	slices.Sort(o.pool)
	i := 0
	for _, list := range lists {
		for _, c := range list {
			o.number[c] = o.pool[i]
			i++
		}
	}
}

// reaches reports whether used dependencies lead from one channel to another, in whatever order.
func (o *order) reaches(from, to int32) (found bool) {
	o.ahead = append(o.ahead[:0], from)
	o.seen[from] = true
	for i := 0; i < len(o.ahead) && !found && (i%looks > 0 || o.ctx.Err() == nil); i++ {
		o.each(o.ahead[i], func(d int32) {
			found = found || d == to
			if !o.seen[d] {
				o.seen[d] = true
				o.ahead = append(o.ahead, d)
			}
		})
	}
	o.work += 8 * len(o.ahead)
	for _, c := range o.ahead {
		o.seen[c] = false
	}
	return found
}
