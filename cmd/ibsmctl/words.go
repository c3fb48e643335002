package main

import (
	"fmt"
	"net/netip"
	"strings"

	"ibsm/cmd/cli"
)

// oneOf is the one of some words that is meant: in any case, and shortened to a beginning
// that no other has.
func oneOf(what, word string, words []string) (string, error) {
	var begun []string
	for _, w := range words {
		switch {
		case strings.EqualFold(w, word):
			return w, nil
		case word != "" && strings.HasPrefix(strings.ToLower(w), strings.ToLower(word)):
			begun = append(begun, w)
		}
	}
	if len(begun) == 1 {
		return begun[0], nil
	}
	last := len(words) - 1
	return "", cli.UsageError(fmt.Sprintf("%s %q: expected %s or %s", what, word, strings.Join(words[:last], ", "),
		words[last]), "")
}

// shortGID is a GID in its short form, as other tools print it; what is none stays.
func shortGID(text string) string {
	if addr, err := netip.ParseAddr(text); err == nil {
		return addr.String()
	}
	return text
}
