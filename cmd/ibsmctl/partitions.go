package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"

	"ibsm/conf/diag"
	"ibsm/ctl"
	"ibsm/mad"
	"ibsm/partitions"

	"github.com/spf13/pflag"
)

const partitionsUsage = `ibsmctl partitions works with partitions.conf and with what a running manager makes of it.

Usage:
  ibsmctl partitions check [FILE]                 what is wrong with it, and where a
                                                  manager runs, what the subnet cannot do
  ibsmctl partitions show FILE                    partitions, members and groups
  ibsmctl partitions fmt [FILE]                   the file in one style, to standard output
  ibsmctl partitions create NAME [MEMBER]...      a new partition, with --key and --flag
  ibsmctl partitions delete NAME                  a partition, with all its definitions
  ibsmctl partitions rename NAME NEW
  ibsmctl partitions add NAME MEMBER...           members, or another membership
  ibsmctl partitions remove NAME MEMBER...
  ibsmctl partitions set NAME FLAG...             such as ipoib, rate=7, defmember=full
  ibsmctl partitions unset NAME FLAG...
  ibsmctl partitions undo                         the file as it was before the last change

  ibsmctl partitions show [--node NODE]           the P_Keys that ports hold, by index
  ibsmctl partitions diff [FILE]                  what a file would change, or the manager's
  ibsmctl partitions apply [--wait TIME]          bring the manager's file into force, and
                                                  wait until ports hold it (1m)
  ibsmctl partitions why PORT NAME                which line decides a port's membership

NAME may be a P_Key too. A MEMBER is a port GUID or ALL, ALL_CAS, ALL_SWITCHES, ALL_ROUTERS,
SELF, with =full, =limited or =both; without, what the partition's defmember says.

Options:
  -f, --file FILE   the file to work with (the manager's; where none runs,
                    /etc/opensm/partitions.conf)
  -n, --dry-run     print the changed file instead of writing it; apply: show the plan
      --key KEY     create: its P_Key, else the lowest that is free
      --flag FLAG   create: one of its flags; may be repeated
  -w, --write       fmt: write the file
      --strict      check: every warning counts
      --json        check, show, diff, apply, why: for programs
  -h, --help        print this help
ibsmctl --help describes --socket and --node-name-map, for what asks a manager.

Exit status: 0 fine, 1 the file has errors or the change is refused, 2 wrong usage.

Examples:
  ibsmctl partitions check --strict partitions.conf
  ibsmctl partitions create storage --key 0x10 --flag ipoib --flag rate=16 SELF=full
  ibsmctl partitions add storage 0xb83fd20300a00020=full && ibsmctl partitions apply
`

// partitionsCommand is the options of ibsmctl partitions, and where its output goes.
type partitionsCommand struct {
	file, key                   string
	flags                       []string
	dryRun, write, strict, json bool
	socket                      string
	stdout                      io.Writer
}

// partitionVerbs are what ibsmctl partitions does.
var partitionVerbs = []string{"check", "show", "fmt", "create", "delete", "rename", "add", "remove", "set", "unset", "undo", "diff", "apply", "why"}

// runPartitions carries out "ibsmctl partitions".
func runPartitions(ctx context.Context, args []string, stdout io.Writer) error {
	hint := describes("partitions")
	if done, err := askedPartitions(ctx, args, stdout); done {
		return err
	}
	c := &partitionsCommand{stdout: stdout}
	flags := pflag.NewFlagSet("partitions", pflag.ContinueOnError)
	flags.StringVarP(&c.file, "file", "f", "", "")
	flags.StringVar(&c.key, "key", "0", "")
	flags.StringArrayVar(&c.flags, "flag", nil, "")
	flags.BoolVarP(&c.dryRun, "dry-run", "n", false, "")
	flags.BoolVarP(&c.write, "write", "w", false, "")
	flags.BoolVar(&c.strict, "strict", false, "")
	flags.BoolVar(&c.json, "json", false, "")
	flags.StringVar(&c.socket, "socket", "", "")
	for _, name := range []string{"node", "node-name-map"} { // of show without a file
		flags.String(name, "", "")
	}
	if done, err := parse(flags, args, stdout, partitionsUsage); done {
		return err
	}
	if flags.NArg() == 0 {
		return &usageError{"partitions: want a verb: " + strings.Join(partitionVerbs, ", "), hint}
	}
	what, rest := flags.Arg(0), flags.Args()[1:]
	bounds, known := map[string][2]int{
		"check": {0, 1}, "show": {0, 1}, "fmt": {0, 1}, "undo": {0, 0}, "delete": {1, 1}, "rename": {2, 2},
		"create": {1, 1 << 16}, "add": {2, 1 << 16}, "remove": {2, 1 << 16}, "set": {2, 16}, "unset": {2, 16},
	}[what]
	switch {
	case !known:
		return unknown("verb of partitions", what, partitionVerbs, hint)
	case len(rest) < bounds[0] || len(rest) > bounds[1]:
		return &usageError{fmt.Sprintf("partitions %s: wrong number of arguments, %d", what, len(rest)), hint}
	}
	if what == "show" && len(rest) == 0 && !flags.Changed("file") {
		i := slices.Index(args, what)
		return showRunning(ctx, slices.Concat(args[:i], args[i+1:]), stdout)
	}
	if bounds[1] == 1 && what != "delete" && len(rest) == 1 {
		c.file = rest[0]
	}
	if c.file == "" {
		var err error
		if c.file, err = partitionFile(ctx, c.socket); err != nil {
			return err
		}
	}
	switch what {
	case "check":
		return c.check(ctx)
	case "show":
		return c.show()
	case "fmt":
		return c.format()
	case "undo":
		if err := undo(c.file); err != nil {
			return err
		}
		return c.tell(fileChanged)
	}
	return c.edit(what, rest)
}

// askedPartitions carries out what asks a manager; done is false for the rest.
func askedPartitions(ctx context.Context, args []string, stdout io.Writer) (done bool, err error) {
	i := leading(args)
	if i == len(args) {
		return false, nil
	}
	rest := slices.Concat(args[:i], args[i+1:])
	switch args[i] {
	case "apply":
		return true, applyPartitions(ctx, rest, stdout)
	case "diff":
		return true, diffPartitions(ctx, rest, stdout)
	case "why":
		return true, whyPartitions(ctx, rest, stdout)
	}
	return false, nil
}

// readPartitions reads a file; that there is none is told by the error.
func readPartitions(name string) (*partitions.File, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	src, err := io.ReadAll(io.LimitReader(file, partitions.MaxFile+1))
	if err != nil {
		return nil, err
	}
	return partitions.Parse(name, src), nil
}

// check prints what is wrong, each with its line.
func (c *partitionsCommand) check(ctx context.Context) error {
	f, err := readPartitions(c.file)
	if err != nil {
		return err
	}
	_, errs, warnings := f.Policy()
	findings := []ctl.Finding{}
	var text bytes.Buffer
	lines := strings.Split(f.Src, "\n")
	for _, list := range []struct {
		severity string
		list     diag.List
	}{{"error", errs}, {"warning", warnings}} {
		for _, e := range list.list {
			findings = append(findings, ctl.Finding{File: e.File, Line: e.Line, Column: e.Col, Severity: list.severity, Text: e.Text})
		}
	}
	findings = append(findings, fabricFindings(ctx, c.socket, f, findings)...)
	for _, e := range findings {
		fmt.Fprintln(&text, e)
		if e.Line > 0 && e.Line <= len(lines) && len(lines[e.Line-1]) > 0 {
			fmt.Fprintf(&text, "    %s\n", cut(printable(strings.ReplaceAll(strings.TrimSuffix(lines[e.Line-1], "\r"), "\t", " ")), 120))
		}
	}
	if err := c.print(findings, &text); err != nil {
		return err
	}
	switch {
	case len(errs) > 0:
		return fmt.Errorf("%s has %s: it would not come into force", c.file, several(len(errs), "error"))
	case c.strict && len(findings) > 0:
		return fmt.Errorf("%s has %s", c.file, several(len(findings), "warning"))
	}
	return nil
}

// partition is one of show for programs.
type partition struct {
	Name    string   `json:"name"`
	PKey    string   `json:"pkey"`
	IPoIB   bool     `json:"ipoib"`
	Members []string `json:"members"`
	Groups  []group  `json:"groups"`
	Place   string   `json:"place,omitempty"`
}

// group is a multicast group of a partition.
type group struct {
	MGID string  `json:"mgid"`
	MTU  int     `json:"mtu"`
	Gbps float64 `json:"gbps"`
	SL   uint8   `json:"sl"`
}

func (c *partitionsCommand) show() error {
	f, err := readPartitions(c.file)
	if err != nil {
		return err
	}
	policy, errs, _ := f.Policy()
	if err := errs.Err(); err != nil {
		return err
	}
	list := []partition{}
	t := table{columns: []column{{head: "NAME"}, {head: "P_KEY"}, {head: "GROUPS", right: true}, {head: "MEMBERS", yields: true}}}
	for i := range policy.Partitions {
		p := &policy.Partitions[i]
		one := partition{Name: p.Name, PKey: p.Key.String(), IPoIB: p.IPoIB, Members: []string{}, Groups: []group{}}
		if p.Position.Line > 0 {
			one.Place = p.Position.String()
		}
		shown := map[string]bool{} // a file may say again what holds without it
		for _, m := range p.Members {
			if text := m.String(); !shown[text] {
				shown[text] = true
				one.Members = append(one.Members, text)
			}
		}
		for _, g := range p.Groups {
			one.Groups = append(one.Groups, group{g.MGID.String(), g.MTU.Bytes(), g.Rate.Gbps(), g.SL})
		}
		list = append(list, one)
		t.add(printable(one.Name), one.PKey, fmt.Sprint(len(one.Groups)), strings.Join(one.Members, " "))
	}
	var text bytes.Buffer
	if err := t.print(&text, terminalWidth(c.stdout)); err != nil {
		return err
	}
	return c.print(list, &text)
}

func (c *partitionsCommand) format() error {
	f, err := readPartitions(c.file)
	if err != nil {
		return err
	}
	if _, errs, _ := f.Policy(); len(errs) > 0 {
		return errs
	}
	if c.write {
		done, err := change(c.file, func(f *partitions.File) ([]byte, error) { return f.Format(), nil })
		if err != nil {
			return err
		}
		return c.tell(done)
	}
	_, err = c.stdout.Write(f.Format())
	return err
}

// edit changes the file.
func (c *partitionsCommand) edit(what string, args []string) error {
	how := func(f *partitions.File) ([]byte, error) {
		edited, err := c.edited(f, what, args[0], args[1:])
		if err != nil {
			return nil, err
		}
		return []byte(edited.Src), nil
	}
	if !c.dryRun {
		done, err := change(c.file, how)
		if err != nil {
			return err
		}
		return c.tell(done)
	}
	f, err := readPartitions(c.file)
	if errors.Is(err, fs.ErrNotExist) {
		f, err = partitions.Parse(c.file, nil), nil
	}
	if err != nil {
		return err
	}
	text, err := how(f)
	if err == nil {
		_, err = c.stdout.Write(text)
	}
	return err
}

// tell says what has become of the file: which one it is, and that it does not act yet.
func (c *partitionsCommand) tell(done changed) error {
	text := map[changed]string{
		fileKept:    "%s is as it was\n",
		fileChanged: "%s is changed; ibsmctl partitions apply brings it into force\n",
		fileMade: "%s is new; ibsmctl partitions diff shows what apply would change.\n" +
			"Ports that it does not name reach the manager alone, unless it has this as well:\n" +
			"  ibsmctl partitions create Default --key 0x7fff --flag ipoib ALL=full\n",
	}[done]
	_, err := fmt.Fprintf(c.stdout, text, c.file)
	return err
}

// edited is the file after a change.
func (c *partitionsCommand) edited(f *partitions.File, what, name string, args []string) (*partitions.File, error) {
	switch what {
	case "delete":
		return f.Delete(name)
	case "rename":
		return f.Rename(name, args[0])
	case "set", "unset":
		edit := (*partitions.File).Set
		if what == "unset" {
			edit = (*partitions.File).Unset
		}
		for _, flag := range args {
			var err error
			if f, err = edit(f, name, flag); err != nil {
				return nil, err
			}
		}
		return f, nil
	}
	members := make([]partitions.Member, len(args))
	for i, text := range args {
		var err error
		if members[i], err = partitions.ParseMember(text); err != nil {
			return nil, err
		}
	}
	switch what {
	case "add":
		return f.Add(name, members...)
	case "remove":
		return f.Remove(name, members...)
	}
	var key mad.PKey
	if _, err := fmt.Sscan(c.key, &key); err != nil {
		return nil, &usageError{fmt.Sprintf("partitions create: --key %q: want a number such as 0x10", c.key), ""}
	}
	return f.Create(name, key, c.flags, members...)
}

// print prints a result for programs or for people.
func (c *partitionsCommand) print(result any, text *bytes.Buffer) error {
	if c.json {
		e := json.NewEncoder(c.stdout)
		e.SetIndent("", "  ")
		return e.Encode(result)
	}
	_, err := c.stdout.Write(text.Bytes())
	return err
}
