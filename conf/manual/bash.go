package manual

import (
	"fmt"
	"strings"
)

const bashHead = `	local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} verb= words= options= files= ask= n=0 i
	COMPREPLY=()
	# bash takes --name=value for three words.
	if [ "$cur" = = ]; then
		cur=
	elif [ "$prev" = = ]; then
		prev=${COMP_WORDS[COMP_CWORD-2]}
	fi
	# The verb, and how many arguments there are behind it.
	for ((i = 1; i < COMP_CWORD; i++)); do
		case "$verb ${COMP_WORDS[i]}" in
%s		*" -"*) ;;
%s		esac
	done
`

const bashTail = `		esac
	esac
	case $cur in
	-*) words=$options files= ask= ;;
	esac
	if [ -n "$ask" ]; then
		mapfile -t COMPREPLY < <($ask "$cur" "${COMP_WORDS[@]:1:COMP_CWORD-1}" 2>/dev/null)
		for i in "${!COMPREPLY[@]}"; do
			printf -v "COMPREPLY[i]" %q "${COMPREPLY[i]}"
		done
		[ ${#COMPREPLY[@]} -eq 0 ] || return
	fi
	COMPREPLY=($(compgen -W "$words" -- "$cur"))
	if [ -n "$files" ] && [ ${#COMPREPLY[@]} -eq 0 ]; then
		compopt -o default # file names, as bash completes them
	fi
}
`

// bash is the script for bash 4 or later.
func (c *Command) bash() string {
	var b strings.Builder
	fmt.Fprintf(&b, "# Completion of %s for bash.\n%s() {\n", c.Name, c.function())
	skip, count := "", "		*) n=$((n + 1)) ;;\n"
	if c.Verbs != nil {
		count = "		*) if [ -n \"$verb\" ]; then n=$((n + 1)); else verb=${COMP_WORDS[i]}; fi ;;\n"
	}
	var patterns []string
	c.each(func(verb string, o *Option, name string) {
		if o.Arg != "" {
			patterns = append(patterns, `"`+verb+" "+name+`"`)
		}
	})
	if patterns != nil {
		skip = fmt.Sprintf("		%s)\n			i=$((i + 1))\n			[ \"${COMP_WORDS[i]}\" != = ] || i=$((i + 1)) ;;\n", strings.Join(patterns, "|"))
	}
	fmt.Fprintf(&b, bashHead, skip, count)
	b.WriteString("	case \"$verb $prev\" in\n")
	c.each(func(verb string, o *Option, name string) {
		switch {
		case o.Arg == "":
		case o.Words != nil:
			fmt.Fprintf(&b, "	\"%s %s\") words=%s ;;\n", verb, name, single(strings.Join(o.Words, " ")))
		case o.Ask != "":
			fmt.Fprintf(&b, "	\"%s %s\") ask=%s ;;\n", verb, name, single(o.Ask))
		case o.isFile():
			fmt.Fprintf(&b, "	\"%s %s\") files=1 ;;\n", verb, name)
		default:
			fmt.Fprintf(&b, "	\"%s %s\") ;;\n", verb, name)
		}
	})
	b.WriteString("	*)\n		case $verb in\n")
	c.bashWords(&b, "")
	for i := range c.Verbs {
		c.Verbs[i].bashWords(&b, c.Verbs[i].Name)
	}
	b.WriteString(bashTail)
	fmt.Fprintf(&b, "complete -F %s %s\n", c.function(), c.Name)
	return b.String()
}

// bashWords writes the case of the options and arguments of a command.
func (c *Command) bashWords(b *strings.Builder, verb string) {
	var names []string
	for i := range c.Options {
		names = append(names, c.Options[i].names()...)
	}
	fmt.Fprintf(b, "		%s)\n			options=%s\n", single(verb), single(strings.Join(names, " ")))
	words := c.allWords()
	if words != nil {
		fmt.Fprintf(b, "			[ $n -gt 0 ] || words=%s\n", single(strings.Join(words, " ")))
	}
	if c.Ask != "" {
		fmt.Fprintf(b, "			[ $n -lt %d ] || ask=%s\n", min(len(c.Actions), 1), single(c.Ask))
	}
	if c.Files {
		fmt.Fprintf(b, "			[ $n -lt %d ] || files=1\n", min(len(c.Actions), 1))
	}
	b.WriteString("			;;\n")
}

// each calls do for every spelling of the options of the program and its verbs.
func (c *Command) each(do func(verb string, o *Option, name string)) {
	visit := func(verb string, options []Option) {
		for i := range options {
			for _, name := range options[i].names() {
				do(verb, &options[i], name)
			}
		}
	}
	visit("", c.Options)
	for i := range c.Verbs {
		visit(c.Verbs[i].Name, c.Verbs[i].Options)
	}
}
