package finding

import (
	"slices"
	"strings"
	"testing"
)

// TestSince: what began and what ended between two sets, whatever the order in which findings come, and each of them
// once.
func TestSince(t *testing.T) {
	at := func(k Kind, node uint64, detail string) Finding {
		return Finding{Kind: k, Detail: detail, Port: uint8(node)}
	}
	lost, other := at(LostRoutes, 0, "a"), at(LostRoutes, 0, "b")
	for name, c := range map[string]struct {
		was, now     []Finding
		began, ended string
	}{
		"nothing": {nil, nil, "", ""},
		"two begin": {nil, []Finding{at(Refused, 2, "x"), at(NoAnswer, 1, ""), at(Refused, 2, "x")},
			"no answer 1 ,refused 2 x", ""},
		"one ends, one lasts": {[]Finding{at(Refused, 2, "x"), at(NoAnswer, 1, "")},
			[]Finding{at(NoAnswer, 1, "")}, "", "refused 2 x"},
		"another detail": {[]Finding{at(Refused, 2, "x")}, []Finding{at(Refused, 2, "y")}, "refused 2 y",
			"refused 2 x"},
		"another detail of a single": {[]Finding{lost}, []Finding{other}, "routes lost 0 b", ""},
		"a single ends":              {[]Finding{lost}, nil, "", "routes lost 0 a"},
		"one that is reported once":  {[]Finding{at(NotKept, 1, "x")}, nil, "", ""},
		"further fields": {[]Finding{{Kind: ARHeld, Fields: []any{"switches", 1}}},
			[]Finding{{Kind: ARHeld, Fields: []any{"switches", 2}}}, "", ""},
	} {
		began, ended := Of(c.now).Since(Of(c.was))
		if got := words(began); got != c.began {
			t.Errorf("%s: began %q, want %q", name, got, c.began)
		}
		if got := words(ended); got != c.ended {
			t.Errorf("%s: ended %q, want %q", name, got, c.ended)
		}
	}
}

func words(all []Finding) string {
	var texts []string
	for _, f := range all {
		texts = append(texts, strings.TrimSpace(f.Kind.Name()+" "+string('0'+rune(f.Port))+" "+f.Detail))
		if f.Detail == "" {
			texts[len(texts)-1] += " "
		}
	}
	return strings.Join(texts, ",")
}

// TestTable: each kind has a name, a text, a meaning and a remedy, and no two kinds have one text.
func TestTable(t *testing.T) {
	var texts []string
	for _, k := range Kinds() {
		if k.Name() == "" || k.Text() == "" || k.Meaning() == "" || k.Remedy() == "" {
			t.Errorf("kind %d: %+v", k, *k.row())
		}
		if k.Level() != NotLogged && slices.Contains(texts, k.Text()) {
			t.Errorf("two kinds have the text %q", k.Text())
		}
		texts = append(texts, k.Text())
	}
	if f := (&Finding{Kind: 250}); f.String() == "" || f.Kind.Level() == NotLogged {
		t.Errorf("an unknown kind: %v", f)
	}
}
