package main

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"ibsm/ctl"
	"ibsm/mad/madtest"
)

// mandoc and man have nothing to say against the pages, and what help says is in them.
func TestManual(t *testing.T) {
	for page, wants := range map[string][]string{
		"ibsmctl.8":   {"create NAME [MEMBER]...", "--node-name-map FILE", "ibsmctl events --follow", "slurm-block"},
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
		if out, err := exec.Command(madtest.Need(t, "mandoc"), "-Tlint", file).CombinedOutput(); err != nil ||
			len(out) > 0 {
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
	for _, args := range [][]string{{"manual"}, {"manual", "ls.1"}, {"completion"}, {"completion", "tcsh"},
		{"completion", "bash", "ls"}} {
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
	"ibsmctl why spine":                  "spine-01 spine-02 spine-03 spine-04",
	"ibsmctl why host-1":                 "host-10 host-11 host-12 host-13 host-14 host-15 host-16",
	"ibsmctl path host-01 leaf-02":       "leaf-02",
	"ibsmctl ports --node spine-03":      "spine-03",
	"ibsmctl --json links --node agg-08": "agg-08",
	"ibsmctl partitions why agg-08":      "agg-08",
	"ibsmctl partitions check ":          "FILES",
	"ibsm --dry":                         "--dry-run",
	"ibsm -F ":                           "FILES",
	"ibsm --part_enforce ":               "both in off out",
}

// programs is the environment with ibsmctl and ibsm in its path, and with a manager to ask
// that calls a node "odd name".
func programs(t *testing.T) []string {
	t.Helper()
	socket, _ := startManager(t, "fattree:k=4")
	dir, self := t.TempDir(), os.Args[0]
	names := filepath.Join(dir, "names")
	if err := os.WriteFile(names, []byte(`0xb83fd20300400000 "odd name"`+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "ibsmctl"), []byte("#!/bin/sh\nexec '"+self+"' \"$@\"\n"),
		0o700); err != nil {
		t.Fatal(err)
	}
	manager, _ := ibsm()
	return append(os.Environ(), asProgram+"=1", "PATH="+dir+":"+filepath.Dir(manager)+":"+os.Getenv("PATH"),
		ctl.SocketEnv+"="+socket, "IBSM_NODE_NAME_MAP="+names)
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
	const library = "/usr/share/bash-completion/bash_completion"
	if _, err := os.Stat(library); err != nil {
		t.Skip("needs the package bash-completion")
	}
	file, env := script(t, "bash"), programs(t)
	lines := maps.Clone(completions)
	lines["ibsmctl why od"] = `odd\ name`
	lines["ibsmctl links --node=spine-02"] = "spine-02"
	lines["ibsmctl dump --format=slurm-"] = "slurm-block slurm-yaml"
	lines["ibsmctl draw --colour load --"] = "--ca --fabric --fingerprint --help --json --node-name-map --output --server --socket --token-file"
	for line, want := range lines {
		ask := exec.Command(madtest.Need(t, "bash"), "--norc", "-c", `
			source "$1"
			source "$0"
			COMP_LINE=$2 COMP_POINT=${#2} COMP_TYPE=9 COLUMNS=200
			words=${2//=/ = } # as bash cuts a line
			COMP_WORDS=($words)
			case $2 in *" ") COMP_WORDS+=("") ;; esac
			COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
			$(complete -p "$COMP_WORDS" | sed 's/.*-F \([^ ]*\) .*/\1/')
			printf '%s\n' "${COMPREPLY[@]}"`, file, library, line)
		ask.Env = env
		out, err := ask.Output()
		var words []string
		for candidate := range strings.Lines(string(out)) {
			word, _, _ := strings.Cut(candidate, "  (") // what it means follows
			words = append(words, strings.TrimSpace(word))
		}
		slices.Sort(words)
		if got := strings.Join(words, " "); err != nil || got != strings.TrimPrefix(want, "FILES") {
			t.Errorf("%q: %v, %q, want %q", line, err, got, want)
		}
	}
}

func TestFishCompletion(t *testing.T) {
	fish, file := madtest.Need(t, "fish"), script(t, "fish")
	dir, env := filepath.Dir(file), programs(t)
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
	ask.Env = programs(t)
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

// Help says what a verb does, in lines of moderate length, and names the words that its first
// argument may be.
func TestHelp(t *testing.T) {
	root := program()
	for _, verb := range root.Commands() {
		if verb.Hidden {
			continue
		}
		help, _, _ := invoke(t, verb.Name(), "--help")
		if len(strings.Fields(verb.Long)) < 10 || verb.Short == "" {
			t.Errorf("%s: is this help? %s", verb.Name(), help)
		}
		for _, word := range verb.ValidArgs {
			if !strings.Contains(help, word) {
				t.Errorf("the help of %s has no %q", verb.Name(), word)
			}
		}
		for line := range strings.Lines(help) {
			if len(line) > 101 {
				t.Errorf("%s: %d columns: %s", verb.Name(), len(line), line)
			}
		}
		for _, of := range verb.Commands() {
			help, _, _ := invoke(t, verb.Name(), of.Name(), "--help")
			if !strings.Contains(help, strings.TrimSpace(of.Long)) {
				t.Errorf("%s: its description is not in its help:\n%s", of.CommandPath(), help)
			}
			of.LocalNonPersistentFlags().VisitAll(func(f *pflag.Flag) {
				if !strings.Contains(help, "--"+f.Name) {
					t.Errorf("%s: no --%s in its help:\n%s", of.CommandPath(), f.Name, help)
				}
			})
		}
	}
}
