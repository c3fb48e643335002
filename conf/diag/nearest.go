package diag

import "strings"

// Nearest is the candidate that was probably meant by a word that is none of them, ""
// if none is near.
func Nearest(word string, candidates []string) string {
	word = normal(word)
	best, distance := "", maxWord
	for _, c := range candidates {
		n := normal(c)
		if d := editDistance(word, n); d < distance && d <= (min(len(word), len(n))+1)/3 {
			best, distance = c, d
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
