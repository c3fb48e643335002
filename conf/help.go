package conf

import (
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

const referenceHead = `# Settings

Generated from the table in ` + "`conf`" + ` by ` + "`go test ./conf -rewrite`" + `.

**Precedence.** A value on the command line takes precedence over the configuration file, the file over the environment
(` + "`OSM_TMP_DIR`" + `, for ` + "`dump_files_dir`" + ` only), and the environment over the default. A reload applies only lines that have changed; a changed line also overrides a value of the
command line. If a line is removed, its setting keeps the value until the next start; only ` + "`qos_*`" + ` settings return to their defaults. The file is given with ` + "`-F`" + `, or is the
first existing file of ` + "`/etc/ibsm/ibsm.toml`" + `, ` + "`/etc/opensm/opensm.conf`" + ` and ` + "`/etc/rdma/opensm.conf`" + `. A file whose name ends in
` + "`.toml`" + ` has the format of ibsm.toml, any other file the format of opensm.conf. Files whose default is in ` + "`/etc/opensm`" + ` are read from
` + "`/etc/rdma`" + ` (RHEL's directory) if they exist only there, or if the configuration file is there too.

**Settings that are not set.** Some settings have a second entry in the column "default", such as "left unchanged". It applies
until you set a value. A value in ibsm.toml or on the command line is always set. A value in opensm.conf is set only if it
differs from OpenSM's default, because OpenSM writes all defaults into the files it creates. To set a default value
in opensm.conf, list its key: ` + "`impose lmc,max_op_vls`" + `.

**Errors** are reported with file, line and column. An invalid value is never applied. At start, ibsm exits if the value of a GUID,
the LMC, the subnet prefix, a key, the trust in SA clients, partitions or routing is invalid; for any other setting ibsm reports the error
and uses the default. In opensm.conf, however, any boolean other than TRUE is FALSE, as in OpenSM, with an error unless it is
` + "`FALSE`, `no`, `off` or `0`" + `. Unknown keys are warnings; [keys of NVIDIA's OpenSM](#keys-of-nvidias-opensm) without effect are notes. With ` + "`--strict`" + ` ibsm exits on any warning or error. If a reloaded file
contains an error, none of it is applied; a file without any setting, or with an incomplete last line, counts as an error.

**ibsm.toml.** Times are strings such as ` + "`\"10s\"`" + ` or ` + "`\"200ms\"`" + `, sizes strings such as ` + "`\"100MiB\"`" + `, 64-bit numbers strings in
hexadecimal, and lists are in brackets. ` + "`sweep.interval`" + ` is the key ` + "`interval`" + ` in the table ` + "`[sweep]`" + `.

**Columns.** "Change" says whether a new value is applied by a reload or needs a restart. "Supported" says whether the setting
has an effect in this version; "not needed" marks settings that only tune OpenSM's implementation.
`
