package partitions

import (
	"math"
	"strings"

	"ibsm/conf/diag"
)

// number reads as C reads a number whose base its beginning says: 0x, 0, or decimal. Junk
// is anything but a number and nothing else; wide is one of more than 64 bits, of which
// the largest that fits is returned.
func number(word string) (n uint64, junk, wide bool) {
	n, rest, wide := leadingNumber(word)
	return n, rest != "" || word == "", wide
}

// leadingNumber reads a number and returns what follows it.
func leadingNumber(word string) (n uint64, rest string, wide bool) {
	digits := strings.TrimLeft(word, " \t\v\f\r")
	minus := strings.HasPrefix(digits, "-")
	if minus || strings.HasPrefix(digits, "+") {
		digits = digits[1:]
	}
	base := uint64(10)
	switch {
	case len(digits) > 2 && (digits[:2] == "0x" || digits[:2] == "0X") && digit(digits[2]) < 16:
		base, digits = 16, digits[2:]
	case strings.HasPrefix(digits, "0"):
		base = 8
	}
	i := 0
	for ; i < len(digits) && digit(digits[i]) < base; i++ {
		d := digit(digits[i])
		if n > (math.MaxUint64-d)/base {
			wide, n = true, math.MaxUint64
			continue
		}
		n = n*base + d
	}
	if i == 0 {
		return 0, word, false
	}
	if minus && !wide {
		n = -n
	}
	return n, digits[i:], wide || minus && n != 0
}

// digit is the value of a digit, a large number for what is none.
func digit(c byte) uint64 {
	switch {
	case c >= '0' && c <= '9':
		return uint64(c - '0')
	case c >= 'a' && c <= 'f':
		return uint64(c-'a') + 10
	case c >= 'A' && c <= 'F':
		return uint64(c-'A') + 10
	}
	return 255
}

// meant is the end of a message about a word that is not among those known.
func meant(word string, known []string) string {
	if n := diag.Nearest(word, known); n != "" {
		return "; did you mean " + n + "?"
	}
	return ""
}

// portMeant is the end of a message about what is no port.
func portMeant(word string) string {
	names := make([]string, len(whoNames))
	for i, w := range whoNames {
		names[i] = w.name
	}
	if m := meant(word, names); m != "" {
		return m
	}
	return hexMeant(strings.NewReplacer(":", "", "-", "", ".", "", "_", "").Replace(word))
}

// hexMeant is the end of a message about digits that lack 0x.
func hexMeant(word string) string {
	if word == "" || len(word) > 16 || strings.TrimLeft(word, "0123456789abcdefABCDEF") != "" {
		return ""
	}
	return "; did you mean 0x" + word + "?"
}
