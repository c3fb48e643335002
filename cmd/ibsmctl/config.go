package main

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"ibsm/atomicfile"
	"ibsm/cmd/cli"
	"ibsm/conf"
	"ibsm/ctl"
)

// configCommand is the options of ibsmctl config.
type configCommand struct {
	*asker
	strict, all, toml bool
	output            string
}

func newConfig(a *asker) *cobra.Command {
	c := &configCommand{asker: a}
	cmd := &cobra.Command{Use: "config VERB [OPTION]... [FILE]...",
		Short: "check, show, compare, convert and reload configuration files",
		Long: `
Checks, shows, compares and converts configuration files. A file whose name ends in .toml has
the format of ibsm.toml, any other the format of opensm.conf. reload makes the running manager
reload its configuration file and sweep; if the file contains an error, none of it is applied.
Changed settings that need a restart are listed. check runs ibsm --check-config, which also reads
the state store and the files that FILE names (or the default ones): it fails if ibsm would refuse
to start with them.

Exit status: 0 success, 1 the file has errors or the files differ, 2 wrong usage.`,
		Example: `  ibsmctl config check --strict /etc/opensm/opensm.conf
  ibsmctl config convert /etc/opensm/opensm.conf -o /etc/ibsm/ibsm.toml
`}
	f := cmd.PersistentFlags()
	f.BoolVar(&c.strict, "strict", false, "check: treat warnings as errors")
	f.BoolVar(&c.all, "all", false, "show: all settings")
	f.BoolVar(&c.toml, "toml", false, "default: in the format of ibsm.toml")
	f.StringVarP(&c.output, "output", "o", "", "convert, default: write to `FILE` instead of standard output")
	verb := a.verbsOf(cmd)
	onFiles := func(use, short string, n int, do func(ctx context.Context, files []string) error) {
		onHost(verb(use, short, n, n, do), "files")
	}
	onFiles("check FILE", "report errors and warnings", 1, func(ctx context.Context, files []string) error {
		return c.check(ctx, files[0])
	})
	verb("show [FILE]", "settings that FILE changes or sets; without FILE the settings in force", 0, 1,
		func(ctx context.Context, files []string) error {
			if len(files) == 0 {
				return c.showManager(ctx)
			}
			if c.server != "" {
				return notRemote("ibsmctl config show FILE", "files")
			}
			return c.show(files[0])
		})
	onFiles("diff FILE FILE", "settings that differ between two files", 2,
		func(_ context.Context, files []string) error {
			return c.diff(files[0], files[1])
		})
	onFiles("convert FILE", "the same settings in the other format", 1, func(_ context.Context, files []string) error {
		return c.convert(files[0])
	})
	onFiles("default", "all settings with comments", 0, func(context.Context, []string) error {
		return c.write(conf.New(), c.toml)
	})
	cli.Takes(verb("reload", "make the manager reload its file", 0, 0, func(ctx context.Context, _ []string) error {
		return c.reload(ctx)
	}), common...)
	return cmd
}

// readConfig reads a file.
func readConfig(name string) (*conf.Config, conf.Report, error) {
	src, err := readUpTo(name, conf.MaxFile+1)
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

func (c *configCommand) check(ctx context.Context, name string) error {
	findings, refused, err := checkConfig(ctx, name, c.strict)
	if err != nil {
		return err
	}
	var text bytes.Buffer
	for _, f := range findings {
		fmt.Fprintln(&text, f)
	}
	if err := c.print(findings, &text); err != nil {
		return err
	}
	if refused {
		return fmt.Errorf("%s has errors: a manager would not start with it", name)
	}
	return nil
}

// checkConfig runs ibsm to check a configuration file and the files that it names; with name "", those that ibsm reads
// without -F. refused reports whether ibsm would refuse to start: because of an error, or with strict also because of a
// warning.
func checkConfig(ctx context.Context, name string, strict bool) (findings []ctl.Finding, refused bool, err error) {
	argv := []string{"ibsm", "--check-config", "--json"}
	if strict {
		argv = append(argv, "--strict")
	}
	if name != "" {
		if _, _, err := readConfig(name); err != nil {
			return nil, false, err
		}
		argv = append(argv, "-F", name)
	}
	_, err = runJSON(ctx, argv, &findings)
	if findings != nil && failed(err) {
		return findings, true, nil
	}
	return findings, false, err
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
			remark += " not set: " + k.Unset
		}
		settings = append(settings, shown)
		fmt.Fprintf(w, "%s\t%s\t%s\n", shown.Key, shown.Value, remark)
	}
	w.Flush()
	return c.print(settings, &text)
}

// showManager shows what is in force at a manager.
func (c *configCommand) showManager(ctx context.Context) error {
	if err := c.open(ctx); err != nil {
		return err
	}
	all := &ctl.Configuration{}
	if err := c.explain(c.Get(ctx, "/v1/config", nil, all)); err != nil {
		return err
	}
	settings := []ctl.Setting{}
	var text bytes.Buffer
	w := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	for _, s := range all.Settings {
		if c.all || s.Chosen {
			settings = append(settings, s)
			fmt.Fprintf(w, "%s\t%s\t%s\n", s.Key, printable(s.Value),
				printable(strings.TrimSpace(s.Position+" "+s.Note)))
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
	config, report, err := readConfig(name)
	if err != nil {
		return err
	}
	if err := report.Err(conf.Start); err != nil {
		return err
	}
	for _, f := range report {
		if f.Severity >= conf.Invalid { // the new file has another value, without a word of it
			fmt.Fprintln(c.stderr, f)
		}
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
		return atomicfile.Write(c.output, 0o600, src) // there may be keys in it
	}
	_, err = c.stdout.Write(src)
	return err
}
