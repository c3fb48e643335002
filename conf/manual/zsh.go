package manual

import (
	"fmt"
	"strings"
)

// zsh is the script for zsh.
func (c *Command) zsh() string {
	var b strings.Builder
	fmt.Fprintf(&b, "#compdef %s\n# Completion of %[1]s for zsh.\n%s() {\n", c.Name, c.function())
	if c.Verbs == nil {
		c.zshArguments(&b, "\t")
		b.WriteString("}\n")
	} else {
		b.WriteString("	local curcontext=$curcontext state line\n	typeset -A opt_args\n	_arguments -C")
		for i := range c.Options {
			c.Options[i].zsh(&b, "\t\t")
		}
		b.WriteString(" \\\n\t\t'1:verb:->verb' '*::argument:->rest'\n	case $state in\n	verb)\n		local -a verbs\n		verbs=(\n")
		for i := range c.Verbs {
			fmt.Fprintf(&b, "			%s\n", single(c.Verbs[i].Name+":"+c.Verbs[i].Summary))
		}
		b.WriteString("		)\n		_describe verb verbs\n		;;\n	rest)\n		case $words[1] in\n")
		for i := range c.Verbs {
			fmt.Fprintf(&b, "		%s)\n", c.Verbs[i].Name)
			c.Verbs[i].zshArguments(&b, "\t\t\t")
			b.WriteString("			;;\n")
		}
		b.WriteString("		esac\n		;;\n	esac\n}\n")
	}
	if c.asks() {
		b.WriteString(zshAskFunction)
	}
	// The file is a function of its own when zsh loads it, and a script when it is sourced.
	fmt.Fprintf(&b, "if [ \"$funcstack[1]\" = %s ]; then\n	%[1]s \"$@\"\nelse\n	compdef %[1]s %s\nfi\n", c.function(), c.Name)
	return b.String()
}

// zshArguments writes the call for the options and arguments of a command.
func (c *Command) zshArguments(b *strings.Builder, indent string) {
	b.WriteString(indent + "_arguments -s")
	for i := range c.Options {
		c.Options[i].zsh(b, indent+"\t")
	}
	if c.Actions != nil {
		var words []string
		for _, a := range c.Actions {
			words = append(words, fmt.Sprintf(`%s\:%s`, a.Name, zshQuote(a.Text)))
		}
		fmt.Fprintf(b, " \\\n%s\t%s", indent, single("1:action:(("+strings.Join(words, " ")+"))"))
	} else if c.Words != nil {
		fmt.Fprintf(b, " \\\n%s\t%s", indent, single("1:argument:("+strings.Join(c.Words, " ")+")"))
	}
	if c.Ask != "" {
		fmt.Fprintf(b, " \\\n%s\t%s", indent, single("*:argument:"+zshAsk(c.Ask, c.Files)))
	} else if c.Files {
		fmt.Fprintf(b, " \\\n%s\t'*:file:_files'", indent)
	}
	b.WriteString("\n")
}

// zsh writes the completion of an option.
func (o *Option) zsh(b *strings.Builder, indent string) {
	text := strings.NewReplacer("[", "(", "]", ")").Replace(o.Text)
	for _, name := range o.names() {
		spec := name
		if o.Arg != "" {
			if strings.HasPrefix(name, "--") {
				spec += "="
			}
			arg := strings.ReplaceAll(o.Arg, ":", `\:`)
			switch {
			case o.Words != nil:
				arg += ":(" + strings.Join(o.Words, " ") + ")"
			case o.Ask != "":
				arg += ":" + zshAsk(o.Ask, false)
			case o.isFile():
				arg += ":_files"
			default:
				arg += ": "
			}
			spec += "[" + text + "]:" + arg
		} else {
			spec += "[" + text + "]"
		}
		fmt.Fprintf(b, " \\\n%s%s", indent, single(spec))
	}
}

// zshAskFunction adds the candidates that a command prints for the word at the cursor; if
// there are none and the second argument is "files", it adds file names.
const zshAskFunction = `_ibsm_ask() {
	local -a all
	all=(${(f)"$($=1 "$PREFIX" $words[1,CURRENT-1] 2>/dev/null)"})
	if (( $#all )); then
		compadd -a all
	elif [ "$2" = files ]; then
		_files
	fi
}
`

// zshAsk calls the function of zshAskFunction.
func zshAsk(ask string, files bool) string {
	call := ` _ibsm_ask "` + ask + `"`
	if files {
		call += " files"
	}
	return call
}

// zshQuote quotes text as one word of a list in an argument.
func zshQuote(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, ":", `\:`, "`", "", "$", "").Replace(s) + `"`
}
