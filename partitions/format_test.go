package partitions

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

func TestFormat(t *testing.T) {
	for _, c := range []struct{ file, want string }{
		{"A=1:ALL;", "A=1 : ALL;\n"},
		{" A = 0x1 ,ipoib,, rate = 7:ALL =full,, SELF ,; B:;", "A=0x1, ipoib, rate=7 : ALL=full, SELF;\nB : ;\n"},
		{"\n\n# one\n\n\n# two\nA=1:\n\tALL,\n  SELF # three\n;\n\n\n",
			"# one\n\n# two\nA=1 :\n    ALL,\n    SELF;  # three\n"},
		{"A=1:\nmgid=ff12::1 # a\n mgid = ff12::22 , sl=3 # b\nALL\n# c\n;\n# d",
			"A=1 :\n    mgid=ff12::1         # a\n    mgid=ff12::22, sl=3  # b\n    ALL;\n# c\n\n# d\n"},
		{"A=1:,ALL,,\nmgid=ff12::1,,sl=3\nSELF;", "A=1 : ALL,\n    mgid=ff12::1,, sl=3\n    SELF;\n"},
		{"A=1:ALL\r\n", "A=1 : ALL;\n"},
		{";;A=1:ALL;;", "A=1 : ALL;\n"},
		{"=7: ALL ; : SELF # x", "=7 : ALL;\n: SELF;  # x\n"},
		{",ipoib,:ALL;", ", ipoib : ALL;\n"},
		{"A=1: # x\nALL\n,SELF;", "A=1 :  # x\n    ALL\n    SELF;\n"},
	} {
		f := Parse("p", []byte(c.file))
		if got := string(f.Format()); got != c.want {
			t.Errorf("%q:\n%swant\n%s", c.file, got, c.want)
		}
	}
}

var comments = regexp.MustCompile(`#[^\n]*`)

// checkFormat: formatting once is formatting twice; it loses no comment and no meaning.
func checkFormat(t *testing.T, src string) {
	t.Helper()
	f := Parse("p", []byte(src))
	p, _, _ := f.Policy()
	if p == nil {
		return
	}
	formatted := f.Format()
	again := Parse("p", formatted)
	if got := again.Format(); string(got) != string(formatted) {
		t.Fatalf("%q\nformatted\n%q\nagain\n%q", src, formatted, got)
	}
	was, is := comments.FindAllString(src, -1), comments.FindAllString(string(formatted), -1)
	for i := range was {
		was[i] = strings.TrimRight(was[i], blank)
	}
	if !slices.Equal(was, is) {
		t.Fatalf("%q\ncomments %q, want %q", src, is, was)
	}
	q, errors, _ := again.Policy()
	if !samePolicy(p, q) {
		t.Fatalf("%q means something else:\n%q\n%v", src, formatted, errors)
	}
}

func TestFormatKeeps(t *testing.T) {
	for _, e := range examples {
		checkFormat(t, e.file)
	}
	for seed := range uint64(2000) {
		checkFormat(t, generateFile(seed, seed%2 == 0))
	}
}

func FuzzFormat(f *testing.F) {
	for _, e := range examples {
		f.Add(e.file)
	}
	f.Add(":=x=f\n,=2:") // a comma in front of what would begin a definition
	f.Fuzz(func(t *testing.T, src string) { checkFormat(t, src) })
}
