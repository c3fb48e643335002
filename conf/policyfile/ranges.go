package policyfile

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Range is a range of numbers, both ends included.
type Range struct{ From, To uint64 }

// Ranges are ranges in ascending order, no two of which touch.
type Ranges []Range

// Has reports whether a number is in one of the ranges.
func (r Ranges) Has(n uint64) bool {
	_, found := slices.BinarySearchFunc(r, n, func(r Range, n uint64) int {
		switch {
		case r.To < n:
			return -1
		case r.From > n:
			return 1
		}
		return 0
	})
	return found
}

// Join sorts ranges and joins those that touch. It changes r.
func Join(r Ranges) Ranges {
	slices.SortFunc(r, func(a, b Range) int { return cmp.Or(cmp.Compare(a.From, b.From), cmp.Compare(a.To, b.To)) })
	joined := r[:0]
	for _, next := range r {
		if last := len(joined) - 1; last >= 0 && (next.From <= joined[last].To || next.From-1 == joined[last].To) {
			joined[last].To = max(joined[last].To, next.To)
		} else {
			joined = append(joined, next)
		}
	}
	return joined
}

// Text is the ranges in a format for numbers.
func (r Ranges) Text(format string) string {
	var entries []string
	for _, n := range r[:min(len(r), maxListed+1)] {
		entries = append(entries, n.Text(format))
	}
	return Some(entries, len(r), ",")
}

// Text is the range in a format for numbers.
func (r Range) Text(format string) string {
	entry := fmt.Sprintf(format, r.From)
	if r.To != r.From {
		entry += "-" + fmt.Sprintf(format, r.To)
	}
	return entry
}

// maxListed is how many entries of a list a text has.
const maxListed = 8

// Some joins the first of so many entries, and counts those that there is no room for.
func Some(first []string, count int, between string) string {
	if rest := count - maxListed; rest > 0 {
		first = append(first[:maxListed:maxListed], fmt.Sprintf("%d more", rest))
	}
	return strings.Join(first, between)
}
