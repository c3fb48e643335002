package lash

import (
	"cmp"
	"slices"
)

// The neighbours of a switch in a torus lie around it in a way that depends on how many switches
// each dimension has. Their distances from each other, on ways past the switch, make a matrix; its
// characteristic polynomial does not depend on the order of the neighbours.

// maxDegree is the highest number of neighbours of a switch whose shape is known.
const maxDegree = 8

// polynomial is the coefficients of the characteristic polynomial of a matrix, from that of x^0 on,
// without the highest; int32 arithmetic wraps around, as OpenSM's does.
type polynomial []int32

// characteristic is det(m - x*1), by the algorithm of Samuelson and Berkowitz, which does not divide.
func characteristic(m [][]int32) polynomial {
	n := len(m)
	p := []int32{1} // coefficients of det(x*1 - m) for the first rows and columns, the highest first
	for k := range n {
		// The first column of the Toeplitz matrix that leads from k to k+1 rows and columns.
		column := []int32{1, -m[k][k]}
		v := make([]int32, k) // powers of the first rows and columns times column k
		for i := range v {
			v[i] = m[i][k]
		}
		for range k {
			var sum int32
			next := make([]int32, k)
			for i := range k {
				sum += m[k][i] * v[i]
				for j := range k {
					next[i] += m[i][j] * v[j]
				}
			}
			column = append(column, -sum)
			v = next
		}
		q := make([]int32, k+2)
		for i := range q {
			for j := range min(i, k) + 1 {
				q[i] += column[i-j] * p[j]
			}
		}
		p = q
	}
	lowest := make(polynomial, n)
	for i := range lowest {
		if lowest[i] = p[n-i]; n%2 == 1 {
			lowest[i] = -lowest[i]
		}
	}
	return lowest
}

// shape is a kind of torus, as a switch sees it.
type shape struct {
	sizes      []int // of the dimensions, from the greatest on; 6 stands for 6 and more
	polynomial polynomial
}

// far is, by the number of switches in a dimension, the distance of the two neighbours in it from
// each other; 6 stands for 6 and more. A ring of 4 looks like two dimensions of 2, whose neighbours
// have a distance of 2 as all others have; a dimension of 2 has one neighbour.
var far = map[int]int32{3: 1, 5: 3, 6: 4}

// shapes are those that OpenSM knows, in its order: its log has their numbers, from 1 on.
var shapes = makeShapes()

func makeShapes() (all []shape) {
	sizes := []int{6, 5, 3, 2}
	var grow func(torus []int, degree, from int)
	grow = func(torus []int, degree, from int) {
		if len(torus) > 0 && known(torus) {
			all = append(all, shape{torus, characteristic(distances(torus))})
		}
		for i := from; i < len(sizes); i++ {
			if links := degree + linksOf(sizes[i]); links <= maxDegree {
				grow(append(torus[:len(torus):len(torus)], sizes[i]), links, i)
			}
		}
	}
	grow(nil, 0, 0)
	slices.SortFunc(all, func(a, b shape) int {
		c := cmp.Compare(len(a.sizes), len(b.sizes))
		for d := len(a.sizes) - 1; c == 0 && d >= 0; d-- {
			c = cmp.Compare(a.sizes[d], b.sizes[d])
		}
		return c
	})
	// A switch of a two-dimensional mesh that OpenSM came across.
	return append(all, shape{[]int{6, 6}, polynomial{-192, -256, -80, 0}})
}

// known reports whether OpenSM knows a torus: it lacks those of four dimensions without one of 2 or
// 3.
func known(torus []int) bool {
	return len(torus) != 4 || torus[3] <= 3
}

func linksOf(size int) int {
	if size == 2 {
		return 1
	}
	return 2
}

// distances are those of the neighbours of a switch from each other.
func distances(torus []int) (m [][]int32) {
	var of []int // by neighbour: its dimension
	for d, size := range torus {
		for range linksOf(size) {
			of = append(of, d)
		}
	}
	m = make([][]int32, len(of))
	for i := range m {
		m[i] = make([]int32, len(of))
		for j := range m[i] {
			switch {
			case i == j:
			case of[i] != of[j]:
				m[i][j] = 2
			case len(torus) == 1 && torus[0] == 6:
				m[i][j] = 6 // as OpenSM has it: that of a ring of 8
			default:
				m[i][j] = far[torus[of[i]]]
			}
		}
	}
	return m
}
