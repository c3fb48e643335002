package manual

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Command is a program or one of its verbs, for completion.
type Command struct {
	Name    string
	Summary string
	Options []Option
	Actions []Word // verbs of its own, the first argument
	Words   []string
	Files   bool      // arguments may be files
	Ask     string    // a command that prints candidates for arguments; see Option.Ask
	Verbs   []Command // of a program
}

// Word is a candidate and its description.
type Word struct{ Name, Text string }

// Shells are the supported shells.
var Shells = []string{"bash", "zsh", "fish"}

// NewCommand parses the help text of a program or verb.
func NewCommand(name, summary, help string) Command {
	blocks := parse(help)
	c := Command{Name: name, Summary: summary, Options: options(blocks)}
	if !slices.ContainsFunc(c.Options, func(o Option) bool { return o.Long == "help" }) {
		c.Options = append(c.Options, Option{Long: "help", Short: "h", Text: "print the help"})
	}
	for _, u := range usage(blocks) {
		c.Files = c.Files || files.MatchString(u.term)
		words := strings.Fields(u.term)
		if i := slices.Index(words, name); i >= 0 && i+1 < len(words) && action.MatchString(words[i+1]) {
			if !slices.ContainsFunc(c.Actions, func(w Word) bool { return w.Name == words[i+1] }) {
				c.Actions = append(c.Actions, Word{words[i+1], u.text})
			}
		}
	}
	return c
}

var (
	files  = regexp.MustCompile(`(^|[ [|])(FILE|STORE|A B)\b`)
	action = regexp.MustCompile(`^[a-z][a-z-]*$`)
)

// isFile reports whether the argument is a file.
func (o *Option) isFile() bool {
	return slices.ContainsFunc([]string{"FILE", "PATH", "DIR", "SPEC"}, func(w string) bool { return strings.HasPrefix(o.Arg, w) })
}

// names are the spellings of an option.
func (o *Option) names() (names []string) {
	if o.Long != "" {
		names = append(names, "--"+o.Long)
	}
	if o.Short != "" {
		names = append(names, "-"+o.Short)
	}
	return names
}

// Completion is the completion script of a program for a shell, one of Shells.
func (c *Command) Completion(shell string) (string, error) {
	switch shell {
	case "bash":
		return c.bash(), nil
	case "zsh":
		return c.zsh(), nil
	case "fish":
		return c.fish(), nil
	}
	return "", fmt.Errorf("no completion for shell %q; expected one of %s", shell, strings.Join(Shells, ", "))
}

// function is the name of the shell function.
func (c *Command) function() string { return "_" + strings.ReplaceAll(c.Name, "-", "_") }

// allWords are the candidates for the first argument, and if there are no actions, for any.
func (c *Command) allWords() (names []string) {
	for _, v := range c.Verbs {
		names = append(names, v.Name)
	}
	for _, a := range c.Actions {
		names = append(names, a.Name)
	}
	return append(names, c.Words...)
}

// asks reports whether any completion runs a command (Option.Ask).
func (c *Command) asks() bool {
	return c.Ask != "" || slices.ContainsFunc(c.Options, func(o Option) bool { return o.Ask != "" }) ||
		slices.ContainsFunc(c.Verbs, func(v Command) bool { return v.asks() })
}

// single puts text between single quotes.
func single(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }
