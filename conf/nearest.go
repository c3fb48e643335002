package conf

import "ibsm/conf/diag"

// didYouMean is the end of a message about an unknown word.
func didYouMean(word string, candidates []string) string {
	if n := diag.Nearest(word, candidates); n != "" {
		return "; did you mean " + n + "?"
	}
	return ""
}
