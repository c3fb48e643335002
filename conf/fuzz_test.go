package conf

import (
	"math/rand/v2"
	"strings"
	"testing"
)

// harmless fails if a file has a finding-free reading that is not what it says: what
// is written again must be the same, and a key that has a finding of weight must not
// be in force with the value of that line.
func harmless(t *testing.T, name string, src []byte) {
	t.Helper()
	f := ReadFile(name, src)
	c := New()
	c.apply(f)
	write := c.WriteOpenSM
	if IsTOML(name) {
		write = c.WriteTOML
	}
	out, err := write()
	if err != nil {
		return // a value that this form cannot hold has come in another way
	}
	again := New()
	again.apply(ReadFile(name, out))
	for _, d := range Diff(c, again) {
		t.Fatalf("%s: %+v is read again as %+v\n%q", d.Key.Name, d.A.Value, d.B.Value, src)
	}
	for _, finding := range f.Report {
		if finding.Position.File != name || finding.Text == "" || strings.ContainsAny(finding.Text, "\n\r\x00") {
			t.Fatalf("a finding that cannot be printed: %+v", finding)
		}
	}
	for i := range table {
		k := &table[i]
		if s, set := f.settings[i]; set && s.Value != k.standard() && !strings.Contains(string(src), k.Leaf()) &&
			!mentioned(string(src), k) {
			t.Fatalf("%s is set, and the file does not name it", k.Name)
		}
	}
}

// mentioned reports whether a file names a setting by one of its names.
func mentioned(src string, k *Key) bool {
	if strings.Contains(src, k.Name) {
		return true
	}
	for old, now := range aliases {
		if now == k.Name && strings.Contains(src, old) {
			return true
		}
	}
	return strings.Contains(src, `\`) // a name with escapes in it
}

func seeds(f *testing.F, toml bool) {
	random := rand.New(rand.NewPCG(7, 8))
	for range 20 {
		src := randomFile(random)
		if toml {
			c := New()
			c.apply(ReadFile("seed.conf", src))
			src, _ = c.WriteTOML()
			src = []byte(settingLines(string(src)))
		}
		f.Add(src)
	}
}

func FuzzOpenSMConf(f *testing.F) {
	seeds(f, false)
	f.Fuzz(func(t *testing.T, src []byte) { harmless(t, "f.conf", src) })
}

func FuzzTOML(f *testing.F) {
	seeds(f, true)
	f.Fuzz(func(t *testing.T, src []byte) { harmless(t, "f.toml", src) })
}

// FuzzArgs gives words that are cut at newlines.
func FuzzArgs(f *testing.F) {
	random := rand.New(rand.NewPCG(9, 10))
	for range 20 {
		f.Add(strings.Join(randomArgs(random), "\n"))
	}
	f.Fuzz(func(t *testing.T, words string) {
		args := strings.Split(words, "\n")
		l := Load(args, nowhere(nil))
		for i := range table {
			if s := l.settings[i]; s.Source == FromOption && !maySet(l.Given, &table[i]) {
				t.Fatalf("%q sets %s, which no option of it does", args, table[i].Name)
			}
		}
	})
}

// maySet reports whether an option may have set a setting.
func maySet(given []Given, k *Key) bool {
	for _, g := range given {
		if g.Key == k.Name || g.Long == "debug" || g.Long == "verbose" || g.Long == "V" {
			return true
		}
	}
	return false
}

// TestMutated changes bytes of good files and command lines.
func TestMutated(t *testing.T) {
	random := rand.New(rand.NewPCG(11, 12))
	for range rounds(200) {
		src := mutate(random, randomFile(random))
		harmless(t, "f.conf", src)
		c := New()
		c.apply(ReadFile("f.conf", src))
		if toml, err := c.WriteTOML(); err == nil {
			harmless(t, "f.toml", mutate(random, []byte(settingLines(string(toml)))))
		}
		Load(randomArgs(random), nowhere(nil))
	}
}
