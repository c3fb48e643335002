package main

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"

	"ibsm/ctl"
)

const logLevelUsage = `Usage: ibsmctl log-level [OPTION]... [LEVEL]

Shows what the manager logs, or changes it. LEVEL is a word, or OpenSM's
log flags as a number, the sum of those that are wanted:

  error     errors (0x01)
  info      and what happens (0x03)
  verbose   and details (0x07)
  debug     and everything (0x0f)

With 0x40 in the sum the dump files about routes are written too: 0x43 is what is used most.
Changed levels last until the manager ends; log_flags in its configuration lasts longer.

ibsmctl --help describes the options.
`

// levels are the words for log flags.
var levels = []struct {
	word  string
	flags uint8
}{{"error", 0x01}, {"info", 0x03}, {"verbose", 0x07}, {"debug", 0x0f}}

func runLogLevel(ctx context.Context, args []string, stdout io.Writer) error {
	a := newAsker("log-level", logLevelUsage)
	if done, err := a.parse(args, 0, 1, stdout); done || err != nil {
		return err
	}
	now := &ctl.LogFlags{}
	var err error
	if len(a.args) == 0 {
		err = a.Get(ctx, "/v1/log-level", nil, now)
	} else {
		flags, wrong := parseLevel(a.args[0])
		if wrong != nil {
			return wrong
		}
		err = a.Post(ctx, "/v1/log-level", query("flags", strconv.Itoa(int(flags))), now)
	}
	if err != nil {
		return a.explain(err)
	}
	if a.json {
		return writeJSON(stdout, now)
	}
	text := fmt.Sprintf("0x%02x", now.Flags)
	for _, l := range levels {
		if l.flags == now.Flags&0x0f {
			text += " " + l.word
		}
	}
	_, err = fmt.Fprintln(stdout, text)
	return err
}

func parseLevel(word string) (flags uint8, err error) {
	words := make([]string, len(levels))
	for i, l := range levels {
		if l.word == strings.ToLower(word) {
			return l.flags, nil
		}
		words[i] = l.word
	}
	n, err := strconv.ParseUint(word, 0, 8)
	if err != nil {
		return 0, &usageError{fmt.Sprintf("log level %q: want %s, or a number up to 0xff", word, strings.Join(words, ", ")), ""}
	}
	return uint8(n), nil
}
