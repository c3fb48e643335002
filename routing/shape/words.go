package shape

import (
	"strconv"
	"strings"
)

// number is a number with commas between thousands.
func number(n int) string {
	text := strconv.Itoa(n)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

// count is a number of things.
func count(n int, thing string) string {
	switch {
	case n == 1:
		return "1 " + thing
	case strings.HasSuffix(thing, "ch"):
		return number(n) + " " + thing + "es"
	case thing == "leaf":
		return number(n) + " leaves"
	}
	return number(n) + " " + thing + "s"
}

// verb is the form of a verb for a number of things.
func verb(n int, one, several string) string {
	if n == 1 {
		return one
	}
	return several
}
