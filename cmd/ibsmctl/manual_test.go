package main

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ibsm/conf/manual"
	"ibsm/mad/madtest"
)

// mandoc and man have nothing to say against the pages, and what help says is in them.
func TestManual(t *testing.T) {
	for page, wants := range map[string][]string{
		"ibsmctl.8":   {"ibsmctl partitions create NAME [MEMBER]...", "--node-name-map FILE", "ibsmctl events --follow", "slurm-block"},
		"ibsm.8":      {"-g, --guid GUID", "--dry-run", "IBSIM_SOCKNAME=mysim ibsm --ibsim -f stdout", "Exit status"},
		"ibsm.conf.5": {"sweep_interval (sweep.interval)", "QUALITY OF SERVICE", "Option: --lmc, -l."},
	} {
		text, errs, status := invoke(t, "manual", page, "2026-01-31")
		if status != 0 {
			t.Fatal(errs)
		}
		file := filepath.Join(t.TempDir(), page)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if out, err := exec.Command(madtest.Need(t, "mandoc"), "-Tlint", file).CombinedOutput(); err != nil || len(out) > 0 {
			t.Errorf("mandoc -Tlint %s: %v\n%s", page, err, out)
		}
		out, err := exec.Command(madtest.Need(t, "mandoc"), "-Tascii", "-Owidth=200", file).Output()
		if err != nil {
			t.Fatal(err)
		}
		var plain strings.Builder // without overstrikes
		for i, c := range out {
			if c != '\b' && (i+1 == len(out) || out[i+1] != '\b') {
				plain.WriteByte(c)
			}
		}
		for _, want := range wants {
			if !strings.Contains(strings.Join(strings.Fields(plain.String()), " "), want) {
				t.Errorf("%s has no %q", page, want)
			}
		}
		man := exec.Command(madtest.Need(t, "man"), "--warnings", "-l", file)
		man.Env = append(os.Environ(), "MANPAGER=cat", "LC_ALL=C.UTF-8")
		var said strings.Builder
		man.Stderr = &said
		if err := man.Run(); err != nil || said.Len() > 0 {
			t.Errorf("man --warnings %s: %v, %s", page, err, said.String())
		}
	}
	for _, args := range [][]string{{"manual"}, {"manual", "ls.1"}, {"completion"}, {"completion", "tcsh"}, {"completion", "bash", "ls"}} {
		if _, errs, status := invoke(t, args...); status != 2 || !strings.Contains(errs, "expected one of") {
			t.Errorf("%v: status %d, %s", args, status, errs)
		}
	}
}

// completions are command lines, and what the word at their end may become; "FILES" stands
// for the names of files.
var completions = map[string]string{
	"ibsmctl stat":                       "state status",
	"ibsmctl --socket /x dum":            "dump",
	"ibsmctl --no":                       "--node-name-map",
	"ibsmctl draw --colour ":             "load state",
	"ibsmctl draw -o ":                   "FILES",
	"ibsmctl draw --node-name-map ":      "FILES",
	"ibsmctl ports --state ":             "Active Armed Down Initialize",
	"ibsmctl --json ports --type ":       "CA router switch",
	"ibsmctl dump --format slurm-":       "slurm-block slurm-yaml",
	"ibsmctl dump li":                    "lid-matrix",
	"ibsmctl log-level ":                 "debug error info verbose",
	"ibsmctl config ":                    "check convert default diff reload show",
	"ibsmctl config --strict ch":         "check",
	"ibsmctl config check ":              "FILES",
	"ibsmctl config diff --js":           "--json",
	"ibsmctl partitions --key 0x10 crea": "create",
	"ibsmctl completion ":                "bash fish zsh",
	"ibsmctl status ":                    "",
	"ibsmctl why ":                       "host-01 leaf-01",
	"ibsmctl why ho":                     "host-01",
	"ibsmctl path host-01 le":            "leaf-01",
	"ibsmctl ports --node ":              "leaf-01",
	"ibsmctl --json links --node le":     "leaf-01",
	"ibsmctl partitions why le":          "leaf-01",
	"ibsmctl partitions check ":          "FILES",
	"ibsm --dry":                         "--dry-run",
	"ibsm -F ":                           "FILES",
	"ibsm --part_enforce ":               "both in off out",
}

// askable is the environment with an ibsmctl that knows two nodes: one behind --node, none
// behind partitions check.
func askable(t *testing.T) []string {
	t.Helper()
	dir := t.TempDir()
	const text = `#!/bin/sh
[ "$1 $2" = "completion nodes" ] || exit
word=$3
for last; do :; done
case "$4 $5 $last" in
*" --node") set leaf-01 ;;
"partitions check "*) exit ;;
*) set host-01 leaf-01 "odd name" ;;
esac
[ -n "$word" ] || [ $# -eq 1 ] || set host-01 leaf-01
for name; do
	case $name in "$word"*) echo "$name" ;; esac
done
`
	if err := os.WriteFile(filepath.Join(dir, "ibsmctl"), []byte(text), 0o700); err != nil {
		t.Fatal(err)
	}
	return append(os.Environ(), "PATH="+dir+":"+os.Getenv("PATH"))
}

// script is the completion for a shell, in a file beside another one.
func script(t *testing.T, shell string, program ...string) (path string) {
	t.Helper()
	text, errs, status := invoke(t, append([]string{"completion", shell}, program...)...)
	if status != 0 {
		t.Fatal(errs)
	}
	path = filepath.Join(t.TempDir(), "script")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestBashCompletion(t *testing.T) {
	file, env := script(t, "bash"), askable(t)
	lines := maps.Clone(completions)
	lines["ibsmctl why od"] = `name odd\`
	lines["ibsmctl links --node = le"] = "leaf-01"
	lines["ibsmctl dump --format = slurm-"] = "slurm-block slurm-yaml" // as bash cuts --format=slurm-
	lines["ibsmctl draw --colour = load -"] = "--colour --fabric --help --json --node-name-map --output --socket -h -o"
	for line, want := range lines {
		words := strings.Split(line, " ")
		ask := exec.Command(madtest.Need(t, "bash"), "--norc", "-c", `
			source "$0"
			compopt() { COMPREPLY=(FILES); } # there is no line that is being edited
			COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
			$(complete -p "$1" | sed 's/complete -F \([^ ]*\) .*/\1/')
			printf '%s\n' "${COMPREPLY[@]}"`, file)
		ask.Args = append(ask.Args, words...)
		ask.Env = env
		out, err := ask.CombinedOutput()
		if got := sorted(string(out)); err != nil || got != want {
			t.Errorf("%q: %v, %q, want %q", line, err, got, want)
		}
	}
}

func sorted(lines string) string {
	words := strings.Fields(lines)
	slices.Sort(words)
	return strings.Join(words, " ")
}

func TestFishCompletion(t *testing.T) {
	fish, file := madtest.Need(t, "fish"), script(t, "fish")
	dir, env := filepath.Dir(file), askable(t)
	for line, want := range completions {
		ask := exec.Command(fish, "--no-config", "-c", `source "$argv[1]"; complete -C "$argv[2]"`, file, line)
		ask.Dir = dir
		ask.Env = append(env, "HOME="+dir)
		out, err := ask.CombinedOutput()
		var words []string
		for candidate := range strings.Lines(string(out)) {
			word, _, _ := strings.Cut(strings.TrimSpace(candidate), "\t")
			if strings.HasPrefix(word, "-") == strings.HasPrefix(line[strings.LastIndex(line, " ")+1:], "-") {
				words = append(words, word)
			}
		}
		slices.Sort(words)
		got := strings.Join(words, " ")
		if want == "FILES" {
			want = "script"
		}
		if err != nil || got != want && !(want == "script" && slices.Contains(words, "script")) {
			t.Errorf("%q: %v, %q, want %q", line, err, got, want)
		}
	}
}

// zsh edits lines in a terminal of its own, and shows what the tabulator makes of them.
func TestZshCompletion(t *testing.T) {
	zsh := madtest.Need(t, "zsh")
	const marker = "END OF LINE"
	ask := exec.Command(zsh, "-f", "-c", `
		zmodload zsh/zpty
		zpty terminal zsh -f -i
		zpty -w terminal "autoload -Uz compinit; compinit -u -D; source $1; source $2; PS1=READ''Y"
		shift 2
		for line; do
			zpty -r terminal seen '*READY*' # what is typed before is not for the editor
			zpty -w -n terminal "$line"$'\t\x15print DO\'\'NE\n'
			zpty -r terminal seen '*DONE*'
			print -r -- $seen END OF LINE
		done
		zpty -d terminal`, "zsh", script(t, "zsh", "ibsmctl"), script(t, "zsh", "ibsm"))
	ask.Env = askable(t)
	var lines []string
	for line, want := range completions {
		if len(strings.Fields(want)) == 1 && want != "FILES" { // lists are shown in columns and colours
			lines = append(lines, line)
		}
	}
	ask.Args = append(ask.Args, lines...)
	out, err := ask.CombinedOutput()
	seen := strings.Split(string(out), marker)
	if err != nil || len(seen) != len(lines)+1 {
		t.Fatalf("%v, %q", err, out)
	}
	for i, line := range lines {
		typed := line[strings.LastIndex(line, " ")+1:]
		if added := strings.TrimPrefix(completions[line], typed); !strings.Contains(seen[i], added) {
			t.Errorf("%q: %q has no %q", line, seen[i], added)
		}
	}
}

// What the tables of words say is what the help says.
func TestWords(t *testing.T) {
	c, err := commandLine(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]bool{}
	for _, v := range c.Verbs {
		help, _, _ := invoke(t, v.Name, "--help")
		for _, o := range v.Options {
			for _, key := range []string{v.Name + " --" + o.Long, "--" + o.Long} {
				found[key] = true
			}
		}
		for _, w := range arguments[v.Name] {
			if !strings.Contains(help, w) {
				t.Errorf("the help of %s has no %q", v.Name, w)
			}
		}
		found[v.Name] = true
		if len(strings.Fields(help)) < 15 {
			t.Errorf("%s: is this help? %s", v.Name, help)
		}
		for line := range strings.Lines(help) {
			if len(line) > 101 {
				t.Errorf("%s: %d columns: %s", v.Name, len(line), line)
			}
		}
	}
	for _, key := range slices.Concat(slices.Collect(maps.Keys(values)), slices.Collect(maps.Keys(arguments))) {
		if !found[key] {
			t.Errorf("there is no %q", key)
		}
	}
	if !slices.Equal(manual.Shells, arguments["completion"]) {
		t.Error("shells differ")
	}
}
