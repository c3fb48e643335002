package main

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"

	"github.com/spf13/pflag"

	"ibsm/conf/diag"
)

// unknown is the error of a word that is none of those that may stand there.
func unknown(what, word string, known []string, hint string) error {
	return &usageError{fmt.Sprintf("unknown %s %q", what, word) + diag.Meant(word, known), hint}
}

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
	return "", &usageError{fmt.Sprintf("%s %q: expected %s or %s", what, word, strings.Join(words[:last], ", "), words[last]), ""}
}

// flagError is an error of a command line in words that do not speak of Go.
func flagError(flags *pflag.FlagSet, err error) error {
	text := err.Error()
	var none *pflag.NotExistError
	var bad *pflag.InvalidValueError
	var bare *pflag.ValueRequiredError
	switch {
	case errors.As(err, &none) && none.GetSpecifiedShortnames() != "":
		text = "unknown option -" + none.GetSpecifiedName()
	case errors.As(err, &none):
		var known []string
		flags.VisitAll(func(f *pflag.Flag) { known = append(known, "--"+f.Name) })
		name := "--" + none.GetSpecifiedName()
		text = "unknown option " + name + diag.Meant(name, known)
	case errors.As(err, &bad):
		want := "another value"
		switch bad.GetFlag().Value.Type() {
		case "int64":
			want = "a number"
		case "duration":
			want = "a time such as 30s"
		case "bool":
			want = "true or false"
		}
		text = fmt.Sprintf("--%s %q: expected %s", bad.GetFlag().Name, bad.GetValue(), want)
	case errors.As(err, &bare):
		text = "--" + bare.GetFlag().Name + ": argument missing"
	}
	return &usageError{text, describes(flags.Name())}
}

// describes is the hint where to read about a verb.
func describes(verb string) string { return "see ibsmctl " + verb + " --help" }

// shortGID is a GID in its short form, as other tools print it; what is none stays.
func shortGID(text string) string {
	if addr, err := netip.ParseAddr(text); err == nil {
		return addr.String()
	}
	return text
}
