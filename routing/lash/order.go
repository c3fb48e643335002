package lash

import (
	"context"
	"math/bits"
	"slices"

	"ibsm/routing"
)

// insert adds a dependency and corrects the order. It reports false, and adds nothing, if that closes
// a circle, or if ctx is done.
func (l *layer) insert(ctx context.Context, from, to int32) bool {
	if l.place[to] <= l.place[from] {
		if from == to || !l.forward(ctx, to, from) || !l.backward(ctx, from, l.place[to]) {
			routing.Spend(ctx, 4*len(l.ahead))
			return false
		}
		routing.Spend(ctx, 4*(len(l.ahead)+len(l.behind)))
		l.reorder()
	}
	l.next[from] = append(l.next[from], use{to, 1})
	l.prev[to] = append(l.prev[to], from)
	return true
}

// looks is how many channels a search goes through before it looks at its context.
const looks = 1024

// forward collects the channels that follow c, no farther than end in the order. It reports
// false when it comes to end.
func (l *layer) forward(ctx context.Context, c, end int32) bool {
	l.search++
	l.ahead = append(l.ahead[:0], c)
	l.mark[c] = l.search
	for i := 0; i < len(l.ahead); i++ {
		if i%looks == 0 && ctx.Err() != nil {
			return false
		}
		for _, u := range l.next[l.ahead[i]] {
			if u.to == end {
				return false
			}
			if l.mark[u.to] != l.search && l.place[u.to] < l.place[end] {
				l.mark[u.to] = l.search
				l.ahead = append(l.ahead, u.to)
			}
		}
	}
	return true
}

// backward collects the channels that come before c, down to a place.
func (l *layer) backward(ctx context.Context, c, least int32) bool {
	l.search++
	l.behind = append(l.behind[:0], c)
	l.mark[c] = l.search
	for i := 0; i < len(l.behind); i++ {
		if i%looks == 0 && ctx.Err() != nil {
			return false
		}
		for _, p := range l.prev[l.behind[i]] {
			if l.mark[p] != l.search && l.place[p] > least {
				l.mark[p] = l.search
				l.behind = append(l.behind, p)
			}
		}
	}
	return true
}

// reorder puts what is behind before what is ahead, in the places that they have together.
func (l *layer) reorder() {
	behind, ahead := l.sort(l.behind), l.sort(l.ahead)
	l.places = l.places[:0]
	for i, j := 0, 0; i < len(behind) || j < len(ahead); {
		if j == len(ahead) || i < len(behind) && l.place[behind[i]] < l.place[ahead[j]] {
			l.places = append(l.places, l.place[behind[i]])
			i++
		} else {
			l.places = append(l.places, l.place[ahead[j]])
			j++
		}
	}
	for i, c := range behind {
		l.put(c, l.places[i])
	}
	for i, c := range ahead {
		l.put(c, l.places[len(behind)+i])
	}
}

func (l *layer) put(c, place int32) { l.place[c], l.order[place] = place, c }

// sort sorts channels by their places: with a bit for each place, because they are many, close together.
func (l *layer) sort(channels []int32) []int32 {
	first, last := l.place[channels[0]], int32(0)
	for _, c := range channels {
		at := l.place[c]
		l.bits[at/64] |= 1 << (at % 64)
		first, last = min(first, at), max(last, at)
	}
	channels = channels[:0]
	for word := first / 64; word <= last/64; word++ {
		for ; l.bits[word] != 0; l.bits[word] &= l.bits[word] - 1 {
			channels = append(channels, l.order[word*64+int32(bits.TrailingZeros64(l.bits[word]))])
		}
	}
	return channels
}

// drop removes a dependency.
func (l *layer) drop(from, to int32) {
	if i := slices.IndexFunc(l.next[from], func(u use) bool { return u.to == to }); i >= 0 {
		l.next[from] = slices.Delete(l.next[from], i, i+1)
		j := slices.Index(l.prev[to], from)
		l.prev[to] = slices.Delete(l.prev[to], j, j+1)
	}
}

// empty removes all dependencies of a channel that no path takes.
func (l *layer) empty(c int32) {
	for len(l.next[c]) > 0 {
		l.drop(c, l.next[c][0].to)
	}
	for len(l.prev[c]) > 0 {
		l.drop(l.prev[c][0], c)
	}
}
