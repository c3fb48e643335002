package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"text/tabwriter"

	"ibsm/conf"
	"ibsm/ctl"

	"github.com/spf13/pflag"
)

// configVerbs are what ibsmctl config does.
var configVerbs = []string{"check", "show", "diff", "convert", "default", "reload"}

const configUsage = `ibsmctl config checks, shows, compares and converts configuration files. A file whose name
ends in .toml has the format of ibsm.toml, any other the format of opensm.conf. reload, and
show without a file, ask the running manager.

Usage:
  ibsmctl config check FILE     report errors and warnings
  ibsmctl config show [FILE]    settings that differ from the defaults, or that the file
                                chooses; without FILE the settings in force at the manager
  ibsmctl config diff A B       settings that differ between two files
  ibsmctl config convert FILE   the same settings in the other format
  ibsmctl config default        all settings with comments
  ibsmctl config reload         reload the manager's file; a file with an error changes
                                nothing

Options:
      --strict       check: treat warnings as errors
      --all          show: all settings
      --toml         default: in the format of ibsm.toml
  -o, --output FILE  convert, default: write to FILE instead of standard output
      --json         check, show, diff, reload: output for programs
      --socket PATH  show, reload: the manager's control socket
  -h, --help         print this help

Exit status: 0 success, 1 the file has errors or the files differ, 2 wrong usage.

Examples:
  ibsmctl config check --strict /etc/opensm/opensm.conf
  ibsmctl config convert /etc/opensm/opensm.conf -o /etc/ibsm/ibsm.toml
`

// configCommand is the options of ibsmctl config, and where its output goes.
type configCommand struct {
	strict, all, toml, json bool
	output                  string
	socket                  []string // options that name the manager's
	stdout                  io.Writer
}

// runConfig carries out "ibsmctl config".
func runConfig(ctx context.Context, args []string, stdout io.Writer) error {
	if i := leading(args); i < len(args) && args[i] == "reload" {
		return runReload(ctx, slices.Concat(args[:i], args[i+1:]), stdout)
	}
	c := &configCommand{stdout: stdout}
	flags := pflag.NewFlagSet("config", pflag.ContinueOnError)
	flags.BoolVar(&c.strict, "strict", false, "")
	flags.BoolVar(&c.all, "all", false, "")
	flags.BoolVar(&c.toml, "toml", false, "")
	flags.BoolVar(&c.json, "json", false, "")
	flags.StringVarP(&c.output, "output", "o", "", "")
	socket := flags.String("socket", "", "")
	hint := describes("config")
	if done, err := parse(flags, args, stdout, configUsage); done {
		return err
	}
	if flags.NArg() == 0 {
		return &usageError{"config: expected a verb: " + strings.Join(configVerbs, ", "), hint}
	}
	what, files := flags.Arg(0), flags.Args()[1:]
	wanted := map[string]int{"check": 1, "show": 1, "diff": 2, "convert": 1, "default": 0}
	n, known := wanted[what]
	if *socket != "" {
		c.socket = []string{"--socket", *socket}
	}
	switch {
	case !known:
		return unknown("verb of config", what, configVerbs, hint)
	case what == "show" && len(files) == 0:
		return c.showManager(ctx)
	case len(files) != n:
		return &usageError{fmt.Sprintf("config %s: expected %s, got %d", what, several(n, "file"), len(files)), hint}
	}
	switch what {
	case "check":
		return c.check(files[0])
	case "show":
		return c.show(files[0])
	case "diff":
		return c.diff(files[0], files[1])
	case "convert":
		return c.convert(files[0])
	}
	return c.write(conf.New(), c.toml)
}

// readConfig reads a file.
func readConfig(name string) (*conf.Config, conf.Report, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, nil, err
	}
	defer file.Close()
	src, err := io.ReadAll(io.LimitReader(file, conf.MaxFile+1))
	if err != nil {
		return nil, nil, err
	}
	config, report := conf.FromFile(name, src)
	return config, report, nil
}

// goodConfig reads a file that a manager would start with.
func goodConfig(name string) (*conf.Config, error) {
	config, report, err := readConfig(name)
	if err == nil {
		err = report.Err(conf.Start)
	}
	return config, err
}

func (c *configCommand) check(name string) error {
	_, report, err := readConfig(name)
	if err != nil {
		return err
	}
	findings := []ctl.Finding{}
	for _, f := range report {
		findings = append(findings, ctl.Finding{File: f.File, Line: f.Line, Column: f.Col, Severity: f.Severity.String(), Key: f.Key, Text: f.Text})
	}
	var text bytes.Buffer
	for _, f := range report {
		fmt.Fprintln(&text, f)
	}
	if err := c.print(findings, &text); err != nil {
		return err
	}
	from := conf.Severity(conf.Start)
	if c.strict {
		from = conf.Strict
	}
	if report.Err(from) != nil {
		return fmt.Errorf("%s has errors: a manager would not start with it", name)
	}
	return nil
}

// setting is a line of show or diff for programs. Values are as in opensm.conf.
type setting struct {
	Key    string `json:"key"`
	Value  string `json:"value"`
	Other  string `json:"other,omitempty"` // of the second file
	Source string `json:"source,omitempty"`
	Place  string `json:"place,omitempty"`
	// Unset says what holds in place of the value, which nobody has chosen.
	Unset string `json:"unset,omitempty"`
}

func (c *configCommand) show(name string) error {
	config, err := goodConfig(name)
	if err != nil {
		return err
	}
	settings := []setting{}
	var text bytes.Buffer
	w := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	for i := range conf.Keys() {
		k := &conf.Keys()[i]
		s := config.Setting(k)
		if !c.all && !config.Chosen(k) {
			continue
		}
		shown := setting{Key: k.Name, Value: k.Format(s.Value), Source: s.Source.String(), Place: s.Position.String()}
		remark := shown.Place
		if k.Unset != "" && !config.Chosen(k) {
			shown.Unset = k.Unset
			remark += " not chosen: " + k.Unset
		}
		settings = append(settings, shown)
		fmt.Fprintf(w, "%s\t%s\t%s\n", shown.Key, shown.Value, remark)
	}
	w.Flush()
	return c.print(settings, &text)
}

// showManager shows what is in force at a manager.
func (c *configCommand) showManager(ctx context.Context) error {
	a := newAsker("config show", configUsage)
	if _, err := a.parse(c.socket, 0, 0, c.stdout); err != nil {
		return err
	}
	all := &ctl.Configuration{}
	if err := a.explain(a.Get(ctx, "/v1/config", nil, all)); err != nil {
		return err
	}
	settings := []ctl.Setting{}
	var text bytes.Buffer
	w := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	for _, s := range all.Settings {
		if c.all || s.Chosen {
			settings = append(settings, s)
			fmt.Fprintf(w, "%s\t%s\t%s\n", s.Key, printable(s.Value), printable(strings.TrimSpace(s.Position+" "+s.Note)))
		}
	}
	w.Flush()
	return c.print(settings, &text)
}

func (c *configCommand) diff(a, b string) error {
	first, err := goodConfig(a)
	if err != nil {
		return err
	}
	second, err := goodConfig(b)
	if err != nil {
		return err
	}
	settings := []setting{}
	var text bytes.Buffer
	w := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	for _, d := range conf.Diff(first, second) {
		s := setting{Key: d.Key.Name, Value: inForce(first, d.Key), Other: inForce(second, d.Key)}
		settings = append(settings, s)
		fmt.Fprintf(w, "%s\t%s\t%s\n", s.Key, s.Value, s.Other)
	}
	w.Flush()
	if err := c.print(settings, &text); err != nil {
		return err
	}
	if len(settings) > 0 {
		return fmt.Errorf("%d settings differ", len(settings))
	}
	return nil
}

// inForce is the value of a setting, or what holds in its place.
func inForce(config *conf.Config, k *conf.Key) string {
	if k.Unset != "" && !config.Chosen(k) {
		return "(" + k.Unset + ")"
	}
	return k.Format(config.Setting(k).Value)
}

func (c *configCommand) convert(name string) error {
	config, err := goodConfig(name)
	if err != nil {
		return err
	}
	return c.write(config, !conf.IsTOML(name))
}

// write writes a configuration to where the options say.
func (c *configCommand) write(config *conf.Config, toml bool) error {
	form := config.WriteOpenSM
	if toml {
		form = config.WriteTOML
	}
	src, err := form()
	if err != nil {
		return err
	}
	if c.output != "" {
		return os.WriteFile(c.output, src, 0o600) // there may be keys in it
	}
	_, err = c.stdout.Write(src)
	return err
}

// print prints a result for programs or for people.
func (c *configCommand) print(result any, text *bytes.Buffer) error {
	if c.json {
		e := json.NewEncoder(c.stdout)
		e.SetIndent("", "  ")
		return e.Encode(result)
	}
	_, err := c.stdout.Write(text.Bytes())
	return err
}
