package conf

import (
	"math/rand/v2"
	"strings"
	"testing"
)

// convert writes a configuration in the other form and reads it again.
func convert(t *testing.T, c *Config, toTOML bool) *Config {
	t.Helper()
	write, name := c.WriteOpenSM, "converted.conf"
	if toTOML {
		write, name = c.WriteTOML, "converted.toml"
	}
	src, err := write()
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	for _, finding := range ReadFile(name, src).Report {
		t.Fatalf("our own file: %v\n%s", finding, src)
	}
	converted, _ := FromFile(name, src)
	return converted
}

// TestConvert writes random configurations in one form, then the other, and reads
// each again: nothing may be lost, nor what counts as chosen.
func TestConvert(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	chosen := 0
	for range rounds(60) {
		c := New()
		c.apply(ReadFile("random.conf", randomFile(random)))
		for range random.IntN(4) { // and some that no opensm.conf makes
			i := random.IntN(len(table))
			c.settings[i] = Setting{Value: table[i].standard(), Source: FromTOML}
			chosen++
		}
		for i := range c.settings {
			// Bytes that are no UTF-8, or #, one of the forms cannot hold. Something must
			// stand for them: what is left of a list would have an empty element, which
			// no file gives.
			c.settings[i].Value.Text = strings.ToValidUTF8(strings.ReplaceAll(c.settings[i].Value.Text, "#", "x"), "x")
		}
		c.reconcile(&Report{})
		c.comment(&Report{}) // as each reading does, which disables an unconfirmed console
		for _, toTOML := range []bool{true, false} {
			there := convert(t, c, toTOML)
			back := convert(t, there, !toTOML)
			for _, d := range append(Diff(c, there), Diff(c, back)...) {
				t.Fatalf("%s: %+v became %+v", d.Key.Name, d.A, d.B)
			}
		}
	}
	if chosen == 0 {
		t.Error("no defaults were chosen")
	}
}

// TestCannotConvert has values that a form has no way to say.
func TestCannotConvert(t *testing.T) {
	c := New()
	c.option(LogPrefix.Key(), Value{Text: "#1"})
	if out, err := c.WriteOpenSM(); err == nil {
		t.Errorf("# in a value is written to opensm.conf:\n%s", out)
	}
	if _, err := c.WriteTOML(); err != nil {
		t.Error(err)
	}
	c.option(LogPrefix.Key(), Value{Text: "\xff"})
	if out, err := c.WriteTOML(); err == nil {
		t.Errorf("a byte that is no UTF-8 is written to ibsm.toml:\n%s", out)
	}
}
