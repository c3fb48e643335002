package lash

import (
	"context"
	"math"

	"ibsm/routing"
)

// enough is the difference of paths at which OpenSM leaves two lanes as they are.
const enough = 6

// balance moves pairs from the fullest lane to the emptiest until both have about as many, or it
// has tried for each pair. OpenSM draws pairs with the C library's generator, which it seeds only for
// scatter_ports: without, its second computation in one run draws other ones than the first.
func (l *layers) balance(ctx context.Context, seed uint32) error {
	rand, n := routing.NewCRand(seed), len(l.links)
	fullest, emptiest := 0, len(l.lanes)-1
	for trials := l.lanes[fullest].paths; ; {
		from, to := l.lanes[fullest], l.lanes[emptiest]
		routing.Spend(ctx, pairWork)
		i, j, found := from.pick(ctx, rand.Next()%n, rand.Next()%n)
		if !found || ctx.Err() != nil {
			return ctx.Err()
		}
		if l.add(ctx, to, i, j) {
			from.paths, to.paths = from.paths-2, to.paths+2
			l.remove(from, i, j)
			from.set(i, j, absent)
			to.set(i, j, present)
		} else {
			from.stick(i, j)
			trials -= 2
		}
		if trials == 0 || from.paths-to.paths < enough {
			return nil
		}
		wasFullest, wasEmptiest := fullest, emptiest
		least, most := math.MaxInt, 0
		for v, layer := range l.lanes {
			if layer.paths < least {
				least, emptiest = layer.paths, v
			}
			if layer.paths > most {
				most, fullest = layer.paths, v
			}
		}
		if wasEmptiest != emptiest {
			trials = l.lanes[fullest].paths
			l.lanes[fullest].free()
		}
		if wasFullest != fullest {
			trials = l.lanes[fullest].paths
			l.lanes[wasFullest].free()
		}
	}
}

// pick is the first pair of the lane from (i, j) on that is not stuck, in the order in which OpenSM
// looks: j goes round, then i. When ctx is done it finds none.
func (l *layer) pick(ctx context.Context, i, j int) (int32, int32, bool) {
	for range l.n {
		if ctx.Err() != nil {
			break
		}
		for range l.n {
			if l.state[i*l.n+j] == present {
				return int32(i), int32(j), true
			}
			j = (j + 1) % l.n
		}
		i = (i + 1) % l.n
	}
	return 0, 0, false
}
