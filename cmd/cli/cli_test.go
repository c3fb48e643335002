package cli_test

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"ibsm/cmd/cli"
)

// tool is a program with a verb, and a verb with verbs.
func tool() *cobra.Command {
	root := &cobra.Command{Use: "tool VERB [OPTION]...", Short: "a tool", Long: "\nDoes things."}
	root.PersistentFlags().Bool("json", false, "print JSON")
	fail := &cobra.Command{Use: "fail [OPTION]... FILE", Short: "fails", Long: "\nFails.", Args: cli.Args(1, 1),
		Example: "  tool fail x\n"}
	fail.Flags().Int("times", 2, "fail `N` times")
	fail.RunE = func(*cobra.Command, []string) error { return cli.WithHint(errors.New("failed"), "do not") }
	many := &cobra.Command{Use: "many VERB", Short: "has verbs", Long: "Has verbs."}
	many.PersistentFlags().String("word", "", "some `WORD`")
	cli.Words(many, "word", "yes", "no")
	many.AddCommand(
		cli.Takes(&cobra.Command{Use: "one [THING]...", Short: "first", Args: cli.Args(0, -1),
			RunE: func(*cobra.Command, []string) error {
				return nil
			}}, "word"))
	both := &cobra.Command{Use: "both [VERB]", Short: "does something without a verb, too", Hidden: true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cmd.Print("done\n")
			return nil
		}}
	both.AddCommand(&cobra.Command{Use: "one", Args: cli.Args(0, 0), RunE: func(*cobra.Command, []string) error {
		return nil
	}})
	root.AddCommand(fail, many, both, cli.Completion("Completes.", "other"))
	cli.Prepare(root, "1.2")
	return root
}

func TestRun(t *testing.T) {
	const failHelp = `Usage: tool fail [OPTION]... FILE

Fails.

Options:
      --times N   fail N times (default 2)
See tool --help for the common options.

Examples:
  tool fail x
`
	const manyHelp = `Usage: tool many VERB

Has verbs.

Verbs:
  one [THING]...  first

Options:
      --word WORD   some WORD
See tool --help for the common options.
`
	for _, c := range []struct {
		args   string
		status int
		want   string // all that it writes; of completion scripts the first line
	}{
		{"", 2, "tool: error: a verb is missing\nhint: see tool --help for the verbs\n"},
		{"completoin", 2,
			"tool: error: unknown verb \"completoin\"; did you mean completion?\nhint: see tool --help for the verbs\n"},
		{"many", 2, "tool: error: a verb of many is missing\nhint: see tool many --help for the verbs\n"},
		{"both", 0, "done\n"},
		{"both two", 2, "tool: error: unknown verb of both \"two\"\nhint: see tool both --help for the verbs\n"},
		{"both one", 0, ""},
		{"many two", 2, "tool: error: unknown verb of many \"two\"\nhint: see tool many --help for the verbs\n"},
		{"many --word x one a b c", 0, ""},
		{"many one --json", 2, "tool: error: unknown option --json\nhint: see tool many one --help\n"},
		{"fail", 2, "tool: error: an argument is missing\nhint: see tool fail --help\n"},
		{"fail a b", 2, "tool: error: unexpected argument \"b\"\nhint: see tool fail --help\n"},
		{"fail a", 1, "tool: error: failed\nhint: do not\n"},
		{"fail a --times x", 2, "tool: error: --times \"x\": expected a number\nhint: see tool fail --help\n"},
		{"fail a --times", 2, "tool: error: --times: argument missing\nhint: see tool fail --help\n"},
		{"fail a --tims 3", 2,
			"tool: error: unknown option --tims; did you mean --times?\nhint: see tool fail --help\n"},
		{"fail -x", 2, "tool: error: unknown option -x\nhint: see tool fail --help\n"},
		{"fail --help", 0, failHelp},
		{"help fail", 0, failHelp},
		{"help many one", 0, manyHelp},
		{"many one -h", 0, manyHelp},
		{"help two", 2, "tool: error: unknown verb \"two\"\nhint: see tool --help for the verbs\n"},
		{"--version", 0, "tool 1.2\n"},
		{"version", 0, "tool 1.2\n"},
		{"completion", 2,
			"tool: error: expected one of bash, zsh, fish, and optionally a program\nhint: see tool completion --help\n"},
		{"completion fish third", 2,
			"tool: error: expected one of bash, zsh, fish, and optionally a program\nhint: see tool completion --help\n"},
		{"__complete fail --ti", 0,
			"--times\tfail N times\n:4\nCompletion ended with directive: ShellCompDirectiveNoFileComp\n"},
		{"__completeNoDesc fail --times=3 x", 0, ":0\nCompletion ended with directive: ShellCompDirectiveDefault\n"},
		{"__completeNoDesc many one x", 0, ":4\nCompletion ended with directive: ShellCompDirectiveNoFileComp\n"},
		{"__completeNoDesc many --word y", 0,
			"yes\nno\n:4\nCompletion ended with directive: ShellCompDirectiveNoFileComp\n"},
	} {
		var out bytes.Buffer
		status := cli.Run(context.Background(), tool(), strings.Fields(c.args), &out, &out, nil)
		if status != c.status || out.String() != c.want {
			t.Errorf("tool %s: status %d, want %d; it wrote\n%s\nwant\n%s", c.args, status, c.status, out.String(),
				c.want)
		}
	}
}

// Page has the help of the program and of each verb.
func TestPage(t *testing.T) {
	page := cli.Page(tool(), 8, "2026-01-31", "other(8)")
	for _, want := range []string{".TH TOOL 8 2026-01-31 ", `tool \- a tool`, "\nDoes things.\n", `.SS "fail"`,
		`\fB\-\-times\fR \fIN\fR`, "\ntool fail x\n", `.SS "many"`, `\fBone\fR \fI[THING]...\fR`, "\nother(8)\n"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page has no %q:\n%s", want, page)
		}
	}
}
