package conf

import (
	"strings"

	"ibsm/conf/diag"
)

// didYouMean is the end of a message about an unknown word.
func didYouMean(word string, candidates []string) string {
	if n := diag.Nearest(word, candidates); n != "" {
		return "; did you mean " + n + "?"
	}
	return ""
}

// family are the names of which a key may be a misspelling: three letters in four agree, two in three of the first
// word, and all numbers. m_key_lease_period is another key than cc_key_lease_period, force_link_speed_ext2 than
// force_link_speed_ext.
func family(key string, names []string) (alike []string) {
	first := firstWord(key)
	for _, name := range names {
		same := strings.EqualFold(first, firstWord(name)) || len(first) > 3 && near(first, firstWord(name), 3)
		begins := len(key) >= 3 && strings.HasPrefix(name, strings.ToLower(key))
		if begins || joinedUp(key) == joinedUp(name) || same && digits(key) == digits(name) && near(key, name, 4) {
			alike = append(alike, name)
		}
	}
	return alike
}

// joinedUp is a name without the marks between its words.
func joinedUp(name string) string { return withoutMarks.Replace(strings.ToLower(name)) }

var withoutMarks = strings.NewReplacer("_", "", "-", "")

// near reports whether a word may be a misspelling of another, with one wrong letter in some.
func near(a, b string, letters int) bool {
	return diag.Distance(a, b) <= (min(len(a), len(b))+1)/letters
}

func firstWord(name string) string {
	if end := strings.IndexAny(name, "_-"); end > 0 {
		return name[:end]
	}
	return name
}

// digits are the digits of a name.
func digits(name string) string {
	return strings.Map(func(r rune) rune {
		if r < '0' || r > '9' {
			return -1
		}
		return r
	}, name)
}
