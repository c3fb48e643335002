package conf

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"ibsm/mad/madtest"
)

var rewrite = flag.Bool("rewrite", false, "write docs/options.md anew")

const referenceFile = "../docs/options.md"

// reference is docs/options.md: name, type, range, default and meaning of every setting.
func reference() string {
	var b strings.Builder
	b.WriteString(referenceHead)
	for i := range table {
		k := &table[i]
		if banner := sections[k.Name]; banner != "" {
			fmt.Fprintf(
				&b, "\n## %s\n\n| key | ibsm.toml | option | values | default | change | supported |\n| --- | --- | --- | --- | --- | --- | --- |\n", banner)
		}
		change := "restart"
		if k.Reload {
			change = "reload"
		}
		standard := "`" + k.Default + "`"
		if k.Kind == Mask {
			standard = "`0x0`"
		}
		if k.Unset != "" {
			standard += ", " + k.Unset
		}
		fmt.Fprintf(&b, "| `%s` | `%s` | %s | %s. %s | %s | %s | %s |\n", k.Name, k.TOML, k.optionNames(),
			capital(k.Help), capital(k.Wanted()), standard, change, k.Effect)
	}
	b.WriteString(forkHead)
	for _, k := range forkKeys {
		fmt.Fprintf(&b, "| `%s` | %s |\n", k.Name, capital(k.Meaning))
	}
	for _, s := range forkStems {
		fmt.Fprintf(&b, "| `%s*` | about %s; here settings without a row above have no effect |\n", s.stem, s.about)
	}
	return b.String()
}

func TestReferenceIsCurrent(t *testing.T) {
	if *rewrite {
		if err := os.WriteFile(referenceFile, []byte(reference()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(referenceFile)
	if err != nil || string(got) != reference() {
		t.Errorf("%s is not made from this table (%v); go test ./conf -rewrite does it", referenceFile, err)
	}
}

// TestUsage asks OpenSM which options it has.
func TestUsage(t *testing.T) {
	usage := Usage()
	for line := range strings.Lines(usage) {
		if len(line) > usageWidth+1 {
			t.Errorf("%d columns: %s", len(line), line)
		}
	}
	for _, o := range Options() {
		if o.Arg != "" && !strings.Contains(usage, "-"+o.Long+" "+o.Arg) {
			t.Errorf("the help does not say that --%s takes %s", o.Long, o.Arg)
		}
	}
	place := 0 // of the group
	for _, group := range groups {
		title := strings.Index(usage, "\n"+group+":\n")
		if title < place {
			t.Errorf("group %s is at %d, the one before it at %d", group, title, place)
		}
		place = title
		next := strings.Index(usage[place+1:], "\n\n") + place
		for i := range options {
			if text := options[i].usage(); options[i].Group == group &&
				(strings.Count(usage, text) != 1 || !strings.Contains(usage[place:next+2], text)) {
				t.Errorf("--%s is not once in the help, below %s", options[i].Long, group)
			}
		}
	}
	for name, group := range map[string]string{ // where one looks for them
		"guid": groupWhere, "smkey": groupWhat, "lmc": groupWhat, "sweep": groupWhat, "priority": groupWhat,
		"routing_engine": groupRouting, "maxsmps": groupPace, "timeout": groupPace,
		"log_file": groupLog, "log_limit": groupLog, "daemon": groupLog, "console": groupLog,
		"part_enforce": groupServices, "qos": groupServices,
	} {
		if o := findLong(name, true); len(o) != 1 || o[0].Group != group {
			t.Errorf("--%s: %+v, want group %s", name, o, group)
		}
	}
	for name, want := range map[string]string{
		strings.Repeat("x", usageIndent-10): "      --" + strings.Repeat("x", usageIndent-10) + "  Help",
		strings.Repeat("x", usageIndent-9): "      --" + strings.Repeat("x", usageIndent-9) + "\n" +
			strings.Repeat(" ", usageIndent) + "Help",
	} {
		if text := (&Option{Long: name, Help: "Help"}).usage(); !strings.HasPrefix(text, want) {
			t.Errorf("%q, want %q", text, want)
		}
	}
	program := madtest.Need(t, "opensm")
	help, _ := exec.Command(program, "--help").Output()
	lines := regexp.MustCompile(`(?m)^--(\w[\w-]*)(?:, -(\w))?`).FindAllStringSubmatch(string(help), -1)
	if len(lines) < 60 {
		t.Fatalf("OpenSM lists %d options", len(lines))
	}
	for _, m := range lines {
		long, short := m[1], m[2]
		found := findLong(long, true)
		if len(found) != 1 || found[0].Long != long || short != "" && found[0].Short != short[0] {
			t.Errorf("OpenSM has --%s -%s; here is %v", long, short, found)
		}
		if !strings.Contains(usage, "--"+long) && len(long) > 1 {
			t.Errorf("--%s is not in the help", long)
		}
	}
}

// TestTable holds what the rows must have.
func TestTable(t *testing.T) {
	names, paths := map[string]bool{}, map[string]bool{}
	for i := range table {
		k := &table[i]
		if names[k.Name] || paths[k.TOML] {
			t.Errorf("%s or %s stands twice", k.Name, k.TOML)
		}
		names[k.Name], paths[k.TOML] = true, true
		if paths[k.Group()] {
			t.Errorf("%s is a group and a setting", k.Group())
		}
		if v := k.standard(); k.Format(v) != k.Default && k.Kind < SLs8 {
			t.Errorf("%s: default %s is written as %s", k.Name, k.Default, k.Format(v))
		}
		// What docs/options.md says of errors at start. A service level, a way to name GUIDs
		// and congestion control do not decide who reaches whom.
		serious := k.Name == "guid" || k.Name == "cc_key" || k.Name == "reassign_lids" ||
			k.Name != "sm_sl" && k.Name != "sm_assigned_guid" &&
				slices.Contains([]string{"subnet", "keys", "security", "partitions", "routing"}, k.Group())
		if k.Serious != serious {
			t.Errorf("%s: an invalid value ends the program: %t, want %t", k.Name, k.Serious, serious)
		}
		if k.Help == "" || strings.HasSuffix(k.Help, ".") || k.Kind.numeric() && k.Wanted() == "" {
			t.Errorf("%s: help %q", k.Name, k.Help)
		}
	}
	for name := range sections {
		if Find(name) == nil {
			t.Errorf("section before %s, which does not exist", name)
		}
	}
	longs := map[string]bool{}
	for _, o := range options {
		if longs[o.Long] {
			t.Errorf("--%s stands twice", o.Long)
		}
		longs[o.Long] = true
		if o.Key != "" && Find(o.Key) == nil {
			t.Errorf("--%s sets %s, which does not exist", o.Long, o.Key)
		}
	}
}

// TestManPages: each page says of itself in which section it is, and that is the end of its file's name.
func TestManPages(t *testing.T) {
	pages := ManPages("2006-01-02")
	for name, section := range map[string]string{"ibsm.8": "8", "ibsm.conf.5": "5"} {
		_, title, _ := strings.Cut(pages[name], "\n.TH ")
		if fields := strings.Fields(title); len(fields) < 2 || strings.Trim(fields[1], `"`) != section {
			t.Errorf("%s: section %q", name, fields)
		}
	}
}
