package diag

import (
	"cmp"
	"slices"
	"strings"
)

// Nearest is the candidate most similar to an unknown word, "" if none is similar.
func Nearest(word string, candidates []string) string {
	if near := nearest(word, candidates, 1); len(near) > 0 {
		return near[0]
	}
	return ""
}

// Meant is the end of a message about an unknown word: "; did you mean ...?" with the
// similar candidates, "" if none is similar.
func Meant(word string, candidates []string) string {
	near := nearest(word, candidates, 3)
	if len(near) == 0 {
		return ""
	}
	last := len(near) - 1
	if last == 0 {
		return "; did you mean " + near[0] + "?"
	}
	return "; did you mean " + strings.Join(near[:last], ", ") + " or " + near[last] + "?"
}

// nearest are the candidates most similar to a word, the best first, and then those that
// begin with it. Duplicate candidates appear once.
func nearest(word string, candidates []string, most int) []string {
	word = normal(word)
	type near struct {
		name     string
		distance int
	}
	var found []near
	for _, c := range candidates {
		n := normal(c)
		if d := editDistance(word, n); d < maxWord && d <= (min(len(word), len(n))+1)/3 {
			found = append(found, near{c, d})
		} else if len(word) >= 3 && strings.HasPrefix(n, word) {
			found = append(found, near{c, maxWord})
		}
	}
	slices.SortStableFunc(found, func(a, b near) int { return cmp.Compare(a.distance, b.distance) })
	var names []string
	for _, f := range found {
		if len(names) == most {
			break
		}
		if !slices.Contains(names, f.name) {
			names = append(names, f.name)
		}
	}
	return names
}

// normal removes differences of spelling.
func normal(s string) string { return separators.Replace(strings.ToLower(s)) }

var separators = strings.NewReplacer("-", "_", " ", "_")

// maxWord bounds the work for a word of a damaged file.
const maxWord = 64

// Distance is the number of letters that differ between two words, with upper and lower case, - and _ alike.
func Distance(a, b string) int { return editDistance(normal(a), normal(b)) }

// editDistance is the Levenshtein distance of the first maxWord bytes of two words.
func editDistance(a, b string) int {
	a, b = a[:min(len(a), maxWord)], b[:min(len(b), maxWord)]
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, diagonal+1)
		}
	}
	return row[len(b)]
}
