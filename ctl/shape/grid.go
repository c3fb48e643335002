package shape

import (
	"slices"
	"strings"
)

// Grid is the coordinates of the switches of a torus, a mesh or the like.
type Grid struct {
	At   [][]int // by switch and dimension, from 0
	Size []int   // by dimension
}

// mostDimensions is how many a grid may have.
const mostDimensions = 6

// Grid reads coordinates from the numbers in the switches' names. They count if no
// two switches have the same and nine in ten neighbours differ in one of them alone; nil
// if they do not, or there are fewer than two dimensions.
func (f *Fabric) Grid() *Grid {
	g := &Grid{At: make([][]int, len(f.Switches))}
	digits := bitNames(f)
	for s := range f.Switches {
		g.At[s] = numbers(f.Switches[s].Name, digits)
		if len(g.At[s]) != len(g.At[0]) {
			return nil
		}
	}
	if len(g.At) < 4 {
		return nil
	}
	g.compact()
	if len(g.Size) < 2 || len(g.Size) > mostDimensions || !g.unique() {
		return nil
	}
	straight := 0
	for i := range f.Trunks {
		if len(g.Differ(f.Trunks[i].A, f.Trunks[i].B)) == 1 {
			straight++
		}
	}
	if len(f.Trunks) == 0 || 10*straight < 9*len(f.Trunks) {
		return nil
	}
	return g
}

// bitNames reports whether each name has one number, of zeros and ones alone and as long
// as all others: those of a hypercube.
func bitNames(f *Fabric) bool {
	length := -1
	for s := range f.Switches {
		words := strings.FieldsFunc(f.Switches[s].Name, notDigit)
		if len(words) != 1 || strings.Trim(words[0], "01") != "" || length >= 0 && len(words[0]) != length {
			return false
		}
		length = len(words[0])
	}
	return length > 1
}

func notDigit(r rune) bool { return r < '0' || r > '9' }

// numbers are those in a name, or its single digits; nil if there are too many.
func numbers(name string, digits bool) (all []int) {
	for _, word := range strings.FieldsFunc(name, notDigit) {
		if digits {
			for i := range len(word) {
				all = append(all, int(word[i]-'0'))
			}
			continue
		}
		n := 0
		for i := range min(len(word), 9) {
			n = 10*n + int(word[i]-'0')
		}
		all = append(all, n)
	}
	return all
}

// compact takes away dimensions in which there is one coordinate, and has the others
// count from 0 without gaps.
func (g *Grid) compact() {
	at := make([][]int, len(g.At))
	for dim := range g.At[0] {
		var values []int
		for _, c := range g.At {
			values = append(values, c[dim])
		}
		slices.Sort(values)
		values = slices.Compact(values)
		if len(values) == 1 {
			continue
		}
		g.Size = append(g.Size, len(values))
		for s, c := range g.At {
			n, _ := slices.BinarySearch(values, c[dim])
			at[s] = append(at[s], n)
		}
	}
	g.At = at
}

func (g *Grid) unique() bool {
	all := slices.Clone(g.At)
	slices.SortFunc(all, slices.Compare)
	return len(slices.CompactFunc(all, slices.Equal)) == len(g.At)
}

// Differ lists the dimensions in which two switches differ.
func (g *Grid) Differ(a, b int) (dims []int) {
	for dim := range g.Size {
		if g.At[a][dim] != g.At[b][dim] {
			dims = append(dims, dim)
		}
	}
	return dims
}
