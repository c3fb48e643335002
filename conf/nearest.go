package conf

import "strings"

// nearest is the candidate that was probably meant, "" if none is near.
func nearest(word string, candidates []string) string {
	word = normal(word)
	best, distance := "", 1+len(word)/3
	for _, c := range candidates {
		if n := normal(c); n == word || editDistance(word, n) < distance {
			best, distance = c, editDistance(word, n)
		}
	}
	if best != "" || len(word) < 3 {
		return best
	}
	for _, c := range candidates {
		if strings.HasPrefix(normal(c), word) {
			return c
		}
	}
	return ""
}

// normal removes what is often written otherwise.
func normal(s string) string {
	return strings.NewReplacer("-", "_", " ", "_").Replace(strings.ToLower(s))
}

// maxWord bounds the work that a word in a broken file can cause.
const maxWord = 64

// editDistance is Levenshtein's, of the beginnings of two words.
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

// didYouMean is the end of a message about an unknown word.
func didYouMean(word string, candidates []string) string {
	if n := nearest(word, candidates); n != "" {
		return "; did you mean " + n + "?"
	}
	return ""
}
