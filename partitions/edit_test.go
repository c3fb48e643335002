package partitions

import (
	"math/rand/v2"
	"os"
	"reflect"
	"strings"
	"testing"
)

// readMember reads one for a test.
func readMember(t testing.TB, text string) Member {
	t.Helper()
	m, err := ParseMember(text)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// step does what a line says: "add P M", "set P FLAG", and so on.
func step(t testing.TB, f *File, line string) (*File, error) {
	t.Helper()
	w := strings.Fields(line)
	switch w[0] {
	case "add":
		return f.Add(w[1], readMember(t, w[2]))
	case "remove":
		return f.Remove(w[1], readMember(t, w[2]))
	case "create":
		return f.Create(w[1], 0, w[3:], readMember(t, w[2]))
	case "delete":
		return f.Delete(w[1])
	case "rename":
		return f.Rename(w[1], w[2])
	case "set":
		return f.Set(w[1], w[2])
	case "unset":
		return f.Unset(w[1], w[2])
	}
	t.Fatalf("unknown step %q", line)
	return nil, nil
}

func TestEdits(t *testing.T) {
	for _, c := range []struct{ file, edit, want string }{
		{"A=1 : SELF=full;\n", "add A 0x5=full", "A=1 : SELF=full, 0x0000000000000005=full;\n"},
		{"A=1 : ;\n", "add 0x8001 ALL=full", "A=1 : ALL=full ;\n"},
		{"A=1 :\n  0x5, # five\n  0x6 # six\n;\n", "add A 0x7=both",
			"A=1 :\n  0x5, # five\n  0x6 # six\n  0x0000000000000007=both\n;\n"},
		{"A=1 :\n  0x5,\n  0x6\n;\n", "add A 0x7", "A=1 :\n  0x5,\n  0x6,\n  0x0000000000000007=limited\n;\n"},
		{"A=1 :\n  0x5,\n  0x6,\n;\n", "add A 0x7", "A=1 :\n  0x5,\n  0x6,\n  0x0000000000000007=limited,\n;\n"},
		{"A=1,ipoib :\n mgid=ff12::1\n;\n", "add A SELF", "A=1,ipoib : SELF=limited,\n mgid=ff12::1\n;\n"},
		{"A=1 : 0x5 ,0x6=limited;\n", "add A 0x6=full", "A=1 : 0x5 ,0x6=full;\n"},
		{"A=1 : 0x5 ,ALL;\n", "add A 0x5=full", "A=1 : 0x5 ,ALL, 0x0000000000000005=full;\n"},
		{"A=1, defmember=full : 0x6;\n", "add A 0x5", "A=1, defmember=full : 0x6, 0x0000000000000005=full;\n"},
		{"A=1, defmember=full : 0x6;\n", "add A 0x5=limited",
			"A=1, defmember=full : 0x6, 0x0000000000000005=limited;\n"},
		{"A=1, defmember=full : 0x5=limited;\n", "add A 0x5", "A=1, defmember=full : 0x5=full;\n"},
		{"Default=0x7fff, defmember=full : ALL;\n", "add Default 0x5",
			"Default=0x7fff, defmember=full : ALL, 0x0000000000000005=full;\n"},
		{"", "create A 0x5 defmember=full", "A=0x0001, defmember=full : 0x0000000000000005;\n"},
		{"A=1 : ALL; A=1: SELF;\n", "add A 0x5", "A=1 : ALL; A=1: SELF, 0x0000000000000005=limited;\n"},
		{"A=1 : 0x5, 0x6, 0x7;\n", "remove A 0x6", "A=1 : 0x5, 0x7;\n"},
		{"A=1 : 0x5, 0x6, 0x7;\n", "remove A 0x5", "A=1 : 0x6, 0x7;\n"},
		{"A=1 : 0x5, 0x6, 0x7;\n", "remove A 0x7", "A=1 : 0x5, 0x6;\n"},
		{"A=1 : 0x5;\n", "remove A 0x5", "A=1 :;\n"},
		{"A=1 :\n 0x5, # five\n 0x6, # six\n 0x7; # seven\n", "remove A 0x6", "A=1 :\n 0x5, # five\n 0x7; # seven\n"},
		{"A=1 : 0x5, 0x6; A=1 : 0x5=full;\n", "remove A 0x5", "A=1 : 0x6; A=1 :;\n"},
		{"# one\nA=1 : ALL; # a\n\n# two\nB=2 : ALL;\n", "delete A", "# one\n\n# two\nB=2 : ALL;\n"},
		{"A=1 : ALL; B=2 : ALL;\n", "delete B", "A=1 : ALL; \n"},
		{"A=1 : ALL;\n", "create B SELF=full ipoib rate=7", "A=1 : ALL;\nB=0x0002, ipoib, rate=7 : SELF=full;\n"},
		{"A=1 : ALL", "create B SELF", "A=1 : ALL;\nB=0x0002 : SELF;\n"},
		{"", "create B SELF", "B=0x0001 : SELF;\n"},
		{"A=1 : ALL;\nA : SELF;\n5 : ALL;\n", "rename A C", "C=1 : ALL;\nC : SELF;\n5 : ALL;\n"},
		{"5 : ALL;\n", "rename 5 C", "C=5 : ALL;\n"},
		{"A=1, ipo, rate = 3 : ALL;\nA=1 : SELF;\n", "set A rate=7", "A=1, ipo, rate=7 : ALL;\nA=1, rate=7 : SELF;\n"},
		{"A=1 : ALL;\nA=1 : SELF;\n", "set A ipoib", "A=1, ipoib : ALL;\nA=1 : SELF;\n"},
		{"A=1, rat=3, ipoib : ALL;\n", "unset A rate", "A=1, ipoib : ALL;\n"},
	} {
		f, err := step(t, Parse("p", []byte(c.file)), c.edit)
		if err != nil || f.Src != c.want {
			t.Errorf("%q\n%s: %v\n%q, want\n%q", c.file, c.edit, err, f.src(), c.want)
		}
	}
}

func (f *File) src() string {
	if f == nil {
		return ""
	}
	return f.Src
}

func TestRefusedEdits(t *testing.T) {
	const two = "A=1 : ALL;\nB=2 : ALL;\nB=3 : ALL;\nC : SELF;\nD : ALL;\n"
	for _, c := range []struct{ file, edit, want string }{
		{two, "add Aa SELF", `"Aa": the file does not define this partition`},
		{two, "add B SELF", `2 partitions are named "B": select one by its P_Key`},
		{two, "remove A 0x5", `partition "A" does not list 0x0000000000000005`},
		{two, "create A SELF", `partition "A" already exists, with P_Key 0x0001`},
		{two, "create 7 SELF", `"7" is not a valid partition name`},
		{two, "rename A x=y", `"x=y" is not a valid partition name`},
		{two, "set A rat=7", `unknown flag "rat"; did you mean rate?`},
		{two, "delete C", `this would change partition "D", whose P_Key 0x0005 depends on earlier lines`},
		{"A : SELF;\nB : NONE;\nC=2 : NONE;\n", "delete A",
			`this would change partition "B", whose P_Key 0x0002 depends on earlier lines`},
		{"A=1 : x!;\n", "add A SELF", `p:1:7: "x!" is neither a port GUID`},
	} {
		if f, err := step(t, Parse("p", []byte(c.file)), c.edit); err == nil || f != nil ||
			!strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", c.edit, err, c.want)
		}
	}
}

func TestParseMember(t *testing.T) {
	for text, want := range map[string]string{
		"0x5=full": "0x0000000000000005=full", "SELF": "SELF", "ALL_CAS=both": "ALL_CAS=both",
		"0x5=fool": "error", "x": "x", "rack-[01-10]*=full": "rack-[01-10]*=full", "@gpus": "@gpus",
		"0x5-0x9=full": "0x0000000000000005-0x0000000000000009=full", "x!": "error", "0x9-0x5": "error",
		"n[2-1]": "error", "n[": "error", "@": "error", "5": "error", "": "error", "NONE": "error", "0x5,0x6": "error",
		"0x5;y=2:0x6": "error", "mgid=ff12::1": "error",
	} {
		m, err := ParseMember(text)
		got := m.String()
		if err != nil {
			got = "error"
		}
		if got != want {
			t.Errorf("%q: %s, %v; expected %s", text, got, err, want)
		}
	}
}

// A member that is added and removed again leaves the bytes that were; comments stay
// whatever happens; members that are added in any order come to the same tables.
func TestEditsOfGenerated(t *testing.T) {
	added := []string{"0x100001=full", "0x100003=limited", "0xabcd=full", "SELF=limited", "0x100007=both"}
	seeds := uint64(300)
	if os.Getenv("IBSM_PROOF") != "" {
		seeds = 20000
	}
	for seed := range seeds {
		src := generateFile(seed, seed%3 == 0)
		f := Parse("p", []byte(src))
		before, _, _ := f.Policy()
		if before == nil {
			continue
		}
		random := rand.New(rand.NewPCG(seed, 7))
		d := f.Definitions[random.IntN(len(f.Definitions))]
		key := newResolver(f).policy.Partitions[0].Key
		for i := range before.Partitions {
			if before.Partitions[i].Position.Line == d.Head.Name.Line {
				key = before.Partitions[i].Key
			}
		}
		found, _, err := f.find(key.String())
		if err != nil {
			continue // the default partition is not in the file
		}
		checkRoundTrip(t, f, key.String(), found)
		var outcomes []outcome
		for range 3 {
			random.Shuffle(len(added), func(i, j int) { added[i], added[j] = added[j], added[i] })
			edited := f
			// Sets overrule ports, so that they go first in any order.
			for _, sets := range []bool{true, false} {
				for _, text := range added {
					if m := readMember(t, text); (m.Who != OnePort) == sets {
						if edited, err = edited.Add(key.String(), m); err != nil {
							t.Fatalf("%s\nadd %s %s: %v", src, key, text, err)
						}
					}
				}
			}
			after, _, _ := edited.Policy()
			outcomes = append(outcomes, compile(t, after, true, true))
			if !reflect.DeepEqual(comments.FindAllString(src, -1), comments.FindAllString(edited.Src, -1)) {
				t.Fatalf("comments of\n%s\nare not all in\n%s", src, edited.Src)
			}
		}
		for _, o := range outcomes[1:] {
			if d := o.unlike(outcomes[0]); d != "" {
				t.Fatalf("%s\nkey %s: %s", src, key, d)
			}
		}
	}
}

func checkRoundTrip(t *testing.T, f *File, key string, found []*Definition) {
	t.Helper()
	m := readMember(t, "0xbeef=full")
	if len(mentions(found, m)) > 0 {
		return
	}
	edited, err := f.Add(key, m)
	if err != nil {
		t.Fatalf("%s\nadd %s: %v", f.Src, key, err)
	}
	back, err := edited.Remove(key, m)
	if err != nil || back.Src != f.Src {
		t.Fatalf("%q\nwith the member\n%q\nand without\n%q, %v", f.Src, edited.Src, back.src(), err)
	}
}
