package conf

import (
	_ "embed"
	"fmt"
	"strings"
)

// Usage is the text of ibsm --help: the options from the table, in groups, wrapped to
// the width of a terminal.
func Usage() string {
	var b strings.Builder
	b.WriteString(usageHead)
	for _, group := range groups {
		fmt.Fprintf(&b, "%s:\n", group)
		for i := range options {
			if options[i].Group == group {
				b.WriteString(options[i].usage())
			}
		}
		b.WriteByte('\n')
	}
	return strings.TrimSuffix(b.String(), "\n") + usageTail
}

const usageHead = `ibsm is a subnet manager for InfiniBand. It discovers every node, assigns LIDs, computes
and verifies routes, programs the switches and activates the links.

Usage:
  ibsm [options]                 on a port of this host (Linux)
  ibsm --fabric SPEC [options]   on a simulated fabric inside the process
  ibsm --ibsim [options]         on an ibsim selected by IBSIM_SOCKNAME and SIM_HOST

`

const usageTail = `
Settings are read from the first of /etc/ibsm/ibsm.toml, /etc/opensm/opensm.conf and
/etc/rdma/opensm.conf that exists, or from the file given with -F. Options take precedence
over the file. SIGHUP reloads the file. docs/options.md and -c FILE describe every setting.

Settings that are not set leave the fabric unchanged: a subnet in use keeps its LIDs,
prefix, LMC, lifetimes and routes.

Exit status: 0 success, 1 failure, 2 wrong usage, 255 if a number is out of range, -c fails,
or -g 0 is used in the background; with -o 3 if another subnet manager is master, 4 if the
subnet came up with errors or without its partition file.

Examples:
  ibsm --fabric fattree:k=8 -o
  ibsm --fabric dump.topo --dry-run
  ibsm -F /etc/opensm/opensm.conf -c /etc/ibsm/ibsm.toml
  IBSIM_SOCKNAME=mysim ibsm --ibsim -f stdout
`

// Columns of the help.
const (
	usageIndent = 31
	usageWidth  = 96
)

// usage formats an option.
func (o *Option) usage() string {
	name := "      --" + o.Long
	if o.Short != 0 {
		name = fmt.Sprintf("  -%c, --%s", o.Short, o.Long)
		if len(o.Long) == 1 {
			name = fmt.Sprintf("  -%c", o.Short)
		}
	}
	if o.Arg != "" {
		name += " " + o.Arg
	}
	indent := strings.Repeat(" ", usageIndent)
	text := wrap(indent, o.Help+o.otherwise(), usageWidth)
	if len(name) < usageIndent-1 {
		return name + text[len(name):]
	}
	return name + "\n" + text
}

// otherwise is the default, in parentheses.
func (o *Option) otherwise() string {
	k := Find(o.Key)
	switch {
	case k == nil || k.Long != o.Long || k.Kind == Bool:
		return ""
	case k.Unset != "":
		return " (default: " + k.Unset + ")"
	case k.Default == null || k.Kind == X64 || k.Kind == HCA:
		return ""
	}
	return " (default: " + k.Default + ")"
}

// optionNames are the command line options of a setting.
func (k *Key) optionNames() string {
	var names []string
	for i := range options {
		o := &options[i]
		if o.Key != k.Name {
			continue
		}
		name := "`--" + o.Long + "`"
		if o.Short != 0 {
			name += ", `-" + string(o.Short) + "`"
		}
		names = append(names, name)
	}
	return strings.Join(names, ", ")
}

// forkHead is the head of the table of forkKeys in docs/options.md.
const forkHead = `
## Keys of NVIDIA's OpenSM

The template of NVIDIA's OpenSM (UFM, MLNX_OFED, DOCA) has further keys. Keys with the same meaning in ibsm are in the tables above. The
following keys have no effect. ibsm logs their number at start; ` + "`ibsmctl config check FILE`" + ` lists the ones in a file.

| key | meaning there; behaviour of ibsm |
| --- | --- |
`

// referenceHead begins docs/options.md.
//
//go:embed reference_head.md
var referenceHead string
