package conf

import (
	"fmt"
	"slices"
	"strings"

	"ibsm/conf/diag"
)

// forkEngines are routing engines of NVIDIA's manager, and those to write instead. Engines whose
// names begin with ar_ also write adaptive routing groups.
var forkEngines = map[string]string{
	"ar_updn": "updn", "ar_ftree": "ftree", "pqft": "ftree", "ar_torus": "torus-2QoS", "ar_dor": "dor",
	"ar_minhop": "minhop",
	"dfp":       "dfsssp or nue", "dfp2": "dfsssp or nue", "kdor-hc": "dor or nue", "kdor-ghc": "dor or nue",
	"auto": "updn, ftree or minhop, as the topology is", "chain": "the engines of the chain",
}

// forkKey describes the meaning of a key of NVIDIA's OpenSM that has no effect here, "" if the key is unknown.
func forkKey(name string) string {
	if i := slices.IndexFunc(forkKeys, func(k ForkKey) bool { return k.Name == name }); i >= 0 {
		return forkKeys[i].Meaning
	}
	for _, s := range forkStems {
		if strings.HasPrefix(name, s.stem) {
			return "about " + s.about + "; here it has no effect"
		}
	}
	return ""
}

// forkValue describes a value that only NVIDIA's OpenSM understands, with its severity; "" for others.
func forkValue(name, value string) (string, Severity) {
	switch {
	case name == "ar_mode" && isDigits(value):
		return "numbers are values of NVIDIA's manager and ignored here; expected keep, hold or disable; using keep",
			Warning
	case name == "fdr10" && value == "255":
		return "the default of NVIDIA's OpenSM: FDR10 stays as found in the fabric", Note
	}
	return "", 0
}

// inert notes a key of NVIDIA's OpenSM that has no effect, once.
func (f *File) inert(name, meaning string, at diag.Position) {
	text := fmt.Sprintf("%s is a key of NVIDIA's OpenSM, without effect: %s", name, meaning)
	if !slices.ContainsFunc(f.Report, func(other Finding) bool { return other.Inert && other.Text == text }) {
		f.Report.add(Note, at, "", "%s", text)
		f.Report[len(f.Report)-1].Inert = true
	}
}

// Brief is the report with one note in place of those about keys of NVIDIA's OpenSM that have no effect.
func (r Report) Brief() Report {
	first := slices.IndexFunc(r, func(f Finding) bool { return f.Inert })
	if first < 0 {
		return r
	}
	file := diag.Position{File: r[first].File}
	brief := slices.DeleteFunc(slices.Clone(r), func(f Finding) bool { return f.Inert })
	keys := "keys of NVIDIA's OpenSM have"
	if len(r)-len(brief) == 1 {
		keys = "key of NVIDIA's OpenSM has"
	}
	brief.add(Note, file, "", "%d %s no effect: ibsmctl config check %s lists them", len(r)-len(brief), keys, file.File)
	return brief
}
