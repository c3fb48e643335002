package main

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"ibsm/cmd/cli"
	"ibsm/ctl"
)

// levels are the words for log flags.
var levels = []struct {
	word  string
	flags uint8
}{{"error", 0x01}, {"info", 0x03}, {"verbose", 0x07}, {"debug", 0x0f}}

func newLogLevel(a *asker) *cobra.Command {
	return &cobra.Command{Use: "log-level [OPTION]... [LEVEL]", Short: "show or change the log level",
		Args: cli.Args(0, 1), RunE: a.asking(a.logLevel), ValidArgs: levelWords(), Long: `
Shows or changes the log level of the manager. LEVEL is a word or a number, the sum of
OpenSM's log flags:

  error     errors (0x01)
  info      also events (0x03)
  verbose   also details (0x07)
  debug     everything (0x0f)

Flag 0x40 also writes the dump files of routes, so 0x43 is a common value. The change
lasts until the manager exits; to make it permanent, set log_flags in the configuration.`}
}

func (a *asker) logLevel(ctx context.Context, args []string, stdout io.Writer) error {
	now := &ctl.LogFlags{}
	var err error
	if len(args) == 0 {
		err = a.Get(ctx, "/v1/log-level", nil, now)
	} else {
		flags, wrong := parseLevel(args[0])
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

// levelWords are the words for log flags.
func levelWords() (words []string) {
	for _, l := range levels {
		words = append(words, l.word)
	}
	return words
}

func parseLevel(word string) (flags uint8, err error) {
	for _, l := range levels {
		if l.word == strings.ToLower(word) {
			return l.flags, nil
		}
	}
	n, err := strconv.ParseUint(word, 0, 8)
	if err != nil {
		return 0, cli.UsageError(fmt.Sprintf("log level %q: expected %s, or a number up to 0xff", word,
			strings.Join(levelWords(), ", ")), "")
	}
	return uint8(n), nil
}
