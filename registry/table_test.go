package registry

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"
)

// A table and its copies hold what a sorted list of pairs holds, through random writes
// to whichever owns its leaves.
func TestTable(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, space := range []int{10, 1000, 20000} { // keys: dense and sparse
		type version struct {
			table table[int, int]
			want  map[int]int
		}
		now := version{table[int, int]{compare: cmp.Compare[int]}, map[int]int{}}
		o := &owner{}
		var kept []version
		for step := range 30000 {
			k := rng.IntN(space)
			if grow := step/5000%2 == 0; rng.IntN(3) == 0 == grow {
				_, had := now.want[k]
				delete(now.want, k)
				if now.table.remove(o, k) != had {
					t.Fatalf("remove(%d) does not know whether it was there", k)
				}
			} else {
				now.want[k] = step
				now.table.put(o, k, step)
			}
			if step%3000 == 0 {
				copied := map[int]int{}
				for k, v := range now.want {
					copied[k] = v
				}
				kept = append(kept, version{now.table, copied})
				o = &owner{}
			}
		}
		for _, v := range append(kept, now) {
			checkTable(t, &v.table, v.want, space)
		}
	}
}

func checkTable(t *testing.T, tab *table[int, int], want map[int]int, space int) {
	t.Helper()
	var keys []int
	for k := range want {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	var got []int
	for k, v := range tab.all() {
		got = append(got, k)
		if v != want[k] {
			t.Fatalf("key %d has %d, want %d", k, v, want[k])
		}
	}
	if !slices.Equal(got, keys) || tab.count != len(keys) {
		t.Fatalf("%d keys, counted %d, want %d", len(got), tab.count, len(keys))
	}
	for k := -1; k <= space; k += 1 + space/50 {
		v, found := tab.get(k)
		w, has := want[k]
		if v != w || found != has {
			t.Fatalf("get(%d) = %d %t, want %d %t", k, v, found, w, has)
		}
		at, _ := slices.BinarySearch(keys, k)
		for from := range tab.from(k) {
			if at == len(keys) || from != keys[at] {
				t.Fatalf("from(%d) is at %d", k, from)
			}
			at++
		}
		if at != len(keys) {
			t.Fatalf("from(%d) ends %d keys early", k, len(keys)-at)
		}
	}
	for i, l := range tab.leaves {
		if len(l.entries) == 0 || len(l.entries) > leafSize {
			t.Fatalf("leaf %d has %d entries", i, len(l.entries))
		}
	}
}
