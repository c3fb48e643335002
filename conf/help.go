package conf

import (
	"fmt"
	"strings"
)

// Usage is what ibsm prints for --help: its list of options is made from the table, in
// groups and as wide as a terminal.
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

const usageHead = `ibsm brings an InfiniBand subnet up and keeps it so: it finds every node, gives
LIDs, computes and proves routes, programs the switches and activates the links.

Usage:
  ibsm [options]                 on a port of this host (Linux)
  ibsm --fabric SPEC [options]   on a simulated fabric inside the process
  ibsm --ibsim [options]         on a running ibsim (IBSIM_SOCKNAME, SIM_HOST as its clients)

`

const usageTail = `
Settings are read from the first of /etc/ibsm/ibsm.toml, /etc/opensm/opensm.conf and
/etc/rdma/opensm.conf that exists, or the file of -F; options come over them. SIGHUP has the
file read again. docs/options.md and -c FILE describe every setting.

What nobody has chosen is taken from the fabric as it stands: a subnet that is in use keeps
its LIDs, prefix, LMC, lifetimes and routes.

Exit status: 0 done, 1 failed, 2 wrong usage, 255 a number out of range or -c failed; with -o
3 while another subnet manager is master, 4 when the subnet came up with errors.

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

// usage is the lines of an option.
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

// otherwise says what holds without the option.
func (o *Option) otherwise() string {
	k := Find(o.Key)
	switch {
	case k == nil || k.Long != o.Long || k.Kind == Bool:
		return ""
	case k.Unset != "":
		return " (" + k.Unset + ")"
	case k.Default == null || k.Kind == X64:
		return ""
	}
	return " (" + k.Default + ")"
}

// Reference is docs/options.md: every setting with its names, type, range, default
// and meaning.
func Reference() string {
	var b strings.Builder
	b.WriteString(referenceHead)
	for i := range table {
		k := &table[i]
		if banner := sections[k.Name]; banner != "" {
			fmt.Fprintf(&b, "\n## %s\n\n| key | ibsm.toml | option | values | default | reload | acts |\n| --- | --- | --- | --- | --- | --- | --- |\n", banner)
		}
		reload := "restart"
		if k.Reload {
			reload = "reload"
		}
		standard := "`" + k.Default + "`"
		if k.Kind == Mask {
			standard = "`0x0`"
		}
		if k.Unset != "" {
			standard += ", " + k.Unset
		}
		fmt.Fprintf(&b, "| `%s` | `%s` | %s | %s. %s | %s | %s | %s |\n", k.Name, k.TOML, k.optionNames(), capital(k.Help), capital(k.Wanted()), standard, reload, k.Effect)
	}
	return b.String()
}

// optionNames are the ways to set a setting on the command line.
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

const referenceHead = `# Settings

Made from the table in ` + "`conf`" + `; ` + "`go test ./conf -rewrite`" + ` writes it anew.

A value comes from the default, over it the environment (` + "`OSM_TMP_DIR`" + `, for ` + "`dump_files_dir`" + ` alone), over it one file,
over it the command line. The file is the one that ` + "`-F`" + ` names, else the first that exists of ` + "`/etc/ibsm/ibsm.toml`" + `,
` + "`/etc/opensm/opensm.conf`" + ` and ` + "`/etc/rdma/opensm.conf`" + `. A name that ends in ` + "`.toml`" + ` is read as ibsm.toml, any other as opensm.conf.

**What counts as chosen.** Some settings have, besides the default, a way to be found out: "as in the fabric" or another.
That holds until somebody chooses a value. A value in ibsm.toml or on the command line is chosen. One in opensm.conf is
chosen if it differs from OpenSM's default, since OpenSM writes all defaults into the files that it makes; to choose a
default there, name its key: ` + "`impose lmc,max_op_vls`" + `.

**What is wrong** is told with file, line and column. A value that is not understood is never in force. A wrong value of a
GUID, the LMC, the subnet prefix, a key, partitions or routing refuses the start; others warn, or refuse with ` + "`--strict`" + `,
as unknown keys do. When the file is read again, one with a wrong value changes nothing.

**In ibsm.toml** times are texts such as ` + "`\"10s\"`" + ` or ` + "`\"200ms\"`" + `, sizes such as ` + "`\"100MiB\"`" + `, 64-bit numbers texts in hex, lists in brackets. A
name such as ` + "`sweep.interval`" + ` stands as ` + "`interval`" + ` below ` + "`[sweep]`" + `.

The column "acts" says whether this version does what the setting says. "No need" is for those that tune the inside of OpenSM.
`
