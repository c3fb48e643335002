package main_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
)

// older is an ibsm of an older version, whose path IBSM_OLDER gives: make test and make proof have .ci/older build that of
// c24c26d. Its mirror is of another version of the protocol; that of d55a8073 is of version 3, with which this one mirrors.
func older(t *testing.T) string {
	path := os.Getenv("IBSM_OLDER")
	if path == "" {
		t.Skip("needs an older ibsm, which make test builds where the history has it; IBSM_OLDER=PATH is another")
	}
	return path
}

// TestUpgradeByHandover: managers of two versions hand over to each other, in either order.
// Where the versions mirror each other, nobody is asked to register again. Where they do not,
// clients are asked, and a newer standby has said so before.
func TestUpgradeByHandover(t *testing.T) {
	old, now := older(t), program(t, "ibsm")
	for name, programs := range map[string][2]string{"to the newer": {old, now}, "to the older": {now, old}} {
		t.Run(name, func(t *testing.T) {
			s := newSuccessionOf(t, programs[0], programs[1])
			second := s.manage(1, 1)
			second.await("Entering STANDBY state")
			incomplete := false
			if programs[1] == now {
				second.await("mirroring ")
				incomplete = strings.Contains(second.await("guid="), "may be incomplete")
			}
			end(t, s.manager, second, s.sockets[0])
			second.await("SUBNET UP")
			asked := s.reregister()
			if programs[1] == now && asked != incomplete {
				t.Errorf("the standby said that nothing is mirrored: %v; clients were asked to register again: %v", incomplete, asked)
			}
			if !asked {
				s.mustGoOn("handed over", 1)
			}
		})
	}
}

// TestUpgradeInPlace: a newer version takes up the state of an older one that was killed at the
// same port.
func TestUpgradeInPlace(t *testing.T) {
	s := newSuccessionOf(t, older(t), program(t, "ibsm"))
	s.manager.signal(syscall.SIGKILL)
	<-s.manager.done
	s.ibsm[0] = program(t, "ibsm")
	s.manage(0, 3).await("SUBNET UP")
	s.mustGoOn("restarted", 0)
}

// TestUpgradeConfiguration: a manager reads a configuration that an older version has written with -c, in either format, without
// a word, and every setting has the value that it has for that version. So it does where the file names every setting.
func TestUpgradeConfiguration(t *testing.T) {
	t.Parallel()
	old, now := older(t), program(t, "ibsm")
	dir, env := t.TempDir(), caches(t)
	file := func(name string) string { return filepath.Join(dir, name) }
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(file(name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	// reads has a program read a file, and returns the settings as it writes them.
	reads := func(program, from string, to string, options ...string) (text string, settings map[string]string) {
		t.Helper()
		argv := append([]string{program, "-F", file(from), "-c", file(to)}, options...)
		r := run(t, dir, env, argv...)
		written, err := os.ReadFile(file(to))
		if r.status != 0 || err != nil || r.stderr != "" {
			t.Fatalf("%q: status %d, %v\n%s%s", argv, r.status, err, r.stdout, r.stderr)
		}
		settings = map[string]string{}
		section := ""
		for line := range strings.Lines(string(written)) {
			line = strings.TrimSpace(line)
			key, value, is := strings.Cut(line, " ")
			switch {
			case strings.HasPrefix(line, "["):
				section = line
			case is && key != "#":
				settings[section+key] = value
			}
		}
		return string(written), settings
	}
	write("none", "") // no other file is read then
	defaults, _ := reads(old, "none", "defaults.toml")
	write("every.toml", regexp.MustCompile(`(?m)^# ([a-z0-9_]+ = )`).ReplaceAllString(defaults, "$1"))
	reads(old, "none", "defaults.conf")
	chosen := strings.Fields("-p 3 -l 2 -s 7 -D 0x43 -n 9 -t 300 -k abc --log_prefix x -R updn,ftree")
	reads(old, "none", "chosen.toml", chosen...)
	reads(old, "none", "chosen.conf", chosen...)
	for from, least := range map[string]int{"defaults.toml": 0, "defaults.conf": 0, "chosen.toml": 9, "chosen.conf": 9, "every.toml": 172} {
		for _, to := range []string{"to.toml", "to.conf"} {
			_, was := reads(old, from, to)
			_, is := reads(now, from, to)
			if to == "to.conf" {
				least = 159 // it has all settings of OpenSM
			}
			if len(was) < least {
				t.Errorf("%s: the older version writes %d settings to %s, want at least %d", from, len(was), to, least)
			}
			for key, value := range was {
				if is[key] != value {
					t.Errorf("%s: %s was %q and is %q", from, key, value, is[key])
				}
			}
		}
	}
}
