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

Shows or changes the log level of the manager. LEVEL is a word, or a number: the sum of
OpenSM's log flags:

  error     errors (0x01)
  info      also events (0x03)
  verbose   also details (0x07)
  debug     everything (0x0f)

Flag 0x40 also writes the dump files of routes; 0x43 is the most common value. The change
lasts until the manager exits; to make it permanent, set log_flags in the configuration.

See ibsmctl --help for the common options.
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
		return 0, &usageError{fmt.Sprintf("log level %q: expected %s, or a number up to 0xff", word, strings.Join(words, ", ")), ""}
	}
	return uint8(n), nil
}
