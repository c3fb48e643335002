package console

import (
	"math"
	"strconv"
	"strings"
)

// OpenSM reads numbers with C's strtol and strtoul: what follows the digits does not
// matter, no digits are 0, and what is too large is the largest number.

// number is the unsigned number that text begins with, in base 8, 10 or 16 by its prefix
// where base is 0. rest is what follows it.
func number(text string, base int) (n uint64, rest string) {
	digits := text
	hex := len(text) > 2 && strings.EqualFold(text[:2], "0x") && digit(text[2]) < 16
	switch {
	case hex && base != 10:
		digits, base = text[2:], 16
	case base == 0 && strings.HasPrefix(text, "0"):
		base = 8
	case base == 0:
		base = 10
	}
	end := 0
	for end < len(digits) && digit(digits[end]) < base {
		end++
	}
	if end == 0 {
		return 0, text
	}
	n, err := strconv.ParseUint(digits[:end], base, 64)
	if err != nil {
		n = math.MaxUint64
	}
	return n, digits[end:]
}

// signed is the number that text begins with as C's int has it.
func signed(text string, base int) int32 {
	minus := strings.HasPrefix(text, "-")
	n, _ := number(strings.TrimLeft(text[:min(1, len(text))], "+-")+text[min(1, len(text)):], base)
	v := int64(min(n, math.MaxInt64))
	if minus {
		v = -v
	}
	return int32(v)
}

// digit is the value of a digit of base 16, 255 for what is none.
func digit(c byte) int {
	switch {
	case c >= '0' && c <= '9':
		return int(c - '0')
	case c >= 'a' && c <= 'f':
		return int(c-'a') + 10
	case c >= 'A' && c <= 'F':
		return int(c-'A') + 10
	}
	return 255
}
