// Package plural writes counts of things: 1 link, 2 links.
package plural

import (
	"strconv"
	"strings"
)

// Of is a count with its noun, whose plural is regular: 1 link, 2 links; 1 switch, 2 switches.
func Of(n int, noun string) string {
	if strings.HasSuffix(noun, "ch") {
		return With(n, noun, noun+"es")
	}
	return With(n, noun, noun+"s")
}

// With is a count with words that are given in both forms: 1 leaf, 2 leaves; 1 pair has, 2 pairs have.
func With(n int, one, many string) string { return strconv.Itoa(n) + " " + Word(n, one, many) }

// Word is the one of two words that agrees with a count.
func Word(n int, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}
