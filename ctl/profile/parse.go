package profile

import (
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/BurntSushi/toml"

	"ibsm/conf/diag"
	"ibsm/ctl"
)

// keys are those of a profile.
var keys = []string{"servers", "ca", "fingerprint", "certificate", "key", "token", "token_file", "user", "password_file"}

// parser is a file that is parsed.
type parser struct {
	file  string
	meta  toml.MetaData
	wrong diag.List
}

// parse parses a file of profiles. The error is a diag.List, which repeats no token.
func parse(file string, text []byte) (*Profiles, error) {
	p := &parser{file: file}
	var top map[string]toml.Primitive
	var err error
	if p.meta, err = toml.Decode(string(text), &top); err != nil {
		return nil, diag.List{{Position: p.at(err), Text: `this is not TOML: expected [NAME], a comment, or KEY = "VALUE"; ` +
			"no name and no key is there twice"}}
	}
	all := &Profiles{file: file, named: map[string]*Profile{}}
	for name, table := range top {
		at, value := p.locate(table)
		_, isTable := value.(map[string]any)
		switch {
		case !isTable:
			p.wrong.Add(at, "%.100q: expected [NAME] before the keys of a profile", name)
		case !isName(name):
			p.wrong.Add(at, "%.100q is not the name of a profile: expected letters, digits and . _ -", name)
		default:
			of := map[string]toml.Primitive{}
			if err := p.meta.PrimitiveDecode(table, &of); err != nil {
				p.wrong.Add(at, "%v", err)
			}
			all.named[name] = p.profile(name, at, of)
		}
	}
	slices.SortStableFunc(p.wrong, func(a, b diag.Error) int { return a.Line - b.Line })
	return all, p.wrong.Err()
}

// isName reports whether a text is the name of a profile: other texts are URLs, or lists.
func isName(name string) bool {
	return name != "" && len(name) <= 64 && !strings.ContainsFunc(name, func(c rune) bool {
		return !('a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || strings.ContainsRune("._-", c))
	})
}

// at is the position of an error of the TOML package. Its columns are not those of keys.
func (p *parser) at(err error) diag.Position {
	var e toml.ParseError
	errors.As(err, &e)
	return diag.Position{File: p.file, Line: e.Position.Line}
}

// located captures a value and fails, because the TOML package reports positions only with errors.
type located struct{ value any }

var errLocated = errors.New("located")

func (l *located) UnmarshalTOML(v any) error {
	l.value = v
	return errLocated
}

// locate returns the position of a key, and its value.
func (p *parser) locate(of toml.Primitive) (diag.Position, any) {
	var l located
	at := p.at(p.meta.PrimitiveDecode(of, &l))
	return at, l.value
}

// profile is the profile of a table, at the position of its name.
func (p *parser) profile(name string, at diag.Position, table map[string]toml.Primitive) *Profile {
	of := &Profile{Name: name}
	for _, key := range slices.Sorted(maps.Keys(table)) {
		at, value := p.locate(table[key])
		one, isText := value.(string)
		if !isText && key != "servers" && key != "fingerprint" && slices.Contains(keys, key) || one == "" && isText {
			p.wrong.Add(at, "%s: expected a text such as \"a\"", key)
			continue
		}
		switch key {
		case "servers":
			of.Servers = p.servers(at, value)
		case "fingerprint":
			of.Fingerprints = p.fingerprints(at, value)
		case "ca":
			of.CA = p.path(one)
		case "certificate":
			of.Certificate = p.path(one)
		case "key":
			of.Key = p.path(one)
		case "token":
			of.Token = one
		case "token_file":
			of.TokenFile = p.path(one)
		case "user":
			of.User = one
		case "password_file":
			of.PasswordFile = p.path(one)
		default:
			p.wrong.Add(at, "unknown key %.100q%s", key, diag.Meant(key, keys))
		}
	}
	p.check(at, table)
	return of
}

// check reports keys that need others, or exclude them.
func (p *parser) check(at diag.Position, table map[string]toml.Primitive) {
	has := func(key string) bool { _, is := table[key]; return is }
	if !has("servers") {
		p.wrong.Add(at, `servers is missing: expected servers = ["https://HOST:PORT"]`)
	}
	for _, pair := range [][2]string{{"certificate", "key"}, {"user", "password_file"}} {
		if has(pair[0]) != has(pair[1]) {
			p.wrong.Add(at, "%s and %s need each other", pair[0], pair[1])
		}
	}
	if has("token") && has("token_file") || has("user") && (has("token") || has("token_file")) {
		p.wrong.Add(at, "token, token_file and user exclude each other")
	}
}

// path is the name of a file, which is relative to the directory of the profiles.
func (p *parser) path(name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(filepath.Dir(p.file), name)
}

// texts are the elements of a list, or a text as the only one.
func texts(value any) (all []string, valid bool) {
	list, is := value.([]any)
	if !is {
		list = []any{value}
	}
	for _, v := range list {
		text, is := v.(string)
		if !is {
			return nil, false
		}
		all = append(all, text)
	}
	return all, len(all) > 0
}

func (p *parser) servers(at diag.Position, value any) []string {
	all, valid := texts(value)
	switch {
	case !valid:
		p.wrong.Add(at, `servers: expected a list such as ["https://a:8443", "https://b:8443"]`)
	case len(all) > maxServers:
		p.wrong.Add(at, "servers: at most %d can be asked", maxServers)
	}
	for _, url := range all {
		if err := ctl.CheckURL(url); err != nil {
			p.wrong.Add(at, "servers: %v", err)
		}
	}
	return all
}

func (p *parser) fingerprints(at diag.Position, value any) (all []ctl.Fingerprint) {
	list, valid := texts(value)
	if !valid {
		p.wrong.Add(at, "fingerprint: expected a text, or a list of texts")
	}
	for _, text := range list {
		f, err := ctl.ParseFingerprint(text)
		if err != nil {
			p.wrong.Add(at, "fingerprint: %v", err)
			continue
		}
		all = append(all, f)
	}
	return all
}

// Of is the profile of some URLs, with the fingerprints of the texts.
func Of(servers, fingerprints []string) (*Profile, error) {
	p := &Profile{Servers: servers}
	if len(servers) > maxServers {
		return nil, fmt.Errorf("at most %d servers can be asked", maxServers)
	}
	for _, url := range servers {
		if err := ctl.CheckURL(url); err != nil {
			return nil, err
		}
	}
	for _, text := range fingerprints {
		f, err := ctl.ParseFingerprint(text)
		if err != nil {
			return nil, err
		}
		p.Fingerprints = append(p.Fingerprints, f)
	}
	return p, nil
}
