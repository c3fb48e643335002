package manual

import (
	"fmt"
	"strings"
)

// fishAt is a function that tests whether the command line has reached a verb; with the
// second argument "first", that the verb has no argument yet; with "later", that it has.
const fishAt = `function %s
	set -l words (commandline -opc)
	set -e words[1]
	set -l found
	set -l skip 0
	for word in $words
		if test $skip = 1
			set skip 0
			continue
		end
		switch $word
%s			case '-*'
			case '*'
				set -a found $word
		end
	end
	if test -z "$argv[1]"
		test (count $found) -eq 0
	else
		test "$found[1]" = "$argv[1]"
		and switch "$argv[2]"
			case first
				test (count $found) -eq 1
			case later
				test (count $found) -gt 1
			case '*'
				true
		end
	end
end
`

// fish is the script for fish.
func (c *Command) fish() string {
	var b strings.Builder
	at := "_" + c.function() + "_at"
	fmt.Fprintf(&b, "# Completion of %s for fish.\n", c.Name)
	skipped := map[string]bool{}
	skip := ""
	c.each(func(_ string, o *Option, name string) {
		if o.Arg != "" && !skipped[name] && strings.HasPrefix(name, "--") {
			skipped[name] = true
			skip += " " + name
		}
	})
	if skip != "" {
		skip = "			case" + skip + "\n				set skip 1\n"
	}
	fmt.Fprintf(&b, fishAt, at, skip)
	fmt.Fprintf(&b, "complete -c %s -f\n", c.Name)
	if c.Verbs == nil {
		c.fishWords(&b, c.Name, "")
	}
	for i := range c.Verbs {
		v := &c.Verbs[i]
		fmt.Fprintf(&b, "complete -c %s -n %s -a %s -d %s\n", c.Name, fishQuote(at+" ''"), v.Name, fishQuote(v.Summary))
		v.fishWords(&b, c.Name, at+" "+v.Name)
	}
	if c.Verbs != nil {
		for i := range c.Options {
			c.Options[i].fish(&b, c.Name, at+" ''")
		}
	}
	return b.String()
}

// fishWords writes the options of a command and, for a verb, its arguments, limited to
// the condition at unless it is empty.
func (c *Command) fishWords(b *strings.Builder, program, at string) {
	for i := range c.Options {
		c.Options[i].fish(b, program, at)
	}
	for _, a := range c.Actions {
		fmt.Fprintf(b, "complete -c %s -n %s -a %s -d %s\n", program, fishQuote(at+" first"), a.Name, fishQuote(a.Text))
	}
	if c.Words != nil {
		fmt.Fprintf(b, "complete -c %s -n %s -a %s\n", program, fishQuote(at+" first"), fishQuote(strings.Join(c.Words, " ")))
	}
	if c.Actions != nil {
		at += " later"
	}
	if c.Ask != "" {
		fmt.Fprintf(b, "complete -c %s -n %s -a %s\n", program, fishQuote(at), fishQuote(fishAsk(c.Ask)))
	}
	if c.Files && at != "" {
		fmt.Fprintf(b, "complete -c %s -n %s -F\n", program, fishQuote(at))
	}
}

// fish writes the completion of an option.
func (o *Option) fish(b *strings.Builder, program, at string) {
	fmt.Fprintf(b, "complete -c %s", program)
	if at != "" {
		fmt.Fprintf(b, " -n %s", fishQuote(at))
	}
	if o.Short != "" {
		fmt.Fprintf(b, " -s %s", o.Short)
	}
	if o.Long != "" {
		fmt.Fprintf(b, " -l %s", o.Long)
	}
	switch {
	case o.Arg == "":
	case o.Words != nil:
		fmt.Fprintf(b, " -x -a %s", fishQuote(strings.Join(o.Words, " ")))
	case o.Ask != "":
		fmt.Fprintf(b, " -x -a %s", fishQuote(fishAsk(o.Ask)))
	case o.isFile():
		b.WriteString(" -r -F")
	default:
		b.WriteString(" -x")
	}
	fmt.Fprintf(b, " -d %s\n", fishQuote(o.Text))
}

// fishAsk calls a command that prints the candidates at the cursor.
func fishAsk(ask string) string { return "(" + ask + " (commandline -ct) (commandline -opc)[2..-1])" }

// fishQuote puts text between fish's single quotes, in which a backslash protects.
func fishQuote(s string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(s) + "'"
}
