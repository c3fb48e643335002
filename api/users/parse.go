package users

import (
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/BurntSushi/toml"

	"ibsm/conf/diag"
	"ibsm/mad"
	"ibsm/rights"
)

// Parse reads a file of users. The error is a diag.Error, which repeats nothing of what might be a secret; that of a
// user is at the user's line [[user]].
func Parse(file string, text []byte) (*Set, error) {
	fail := func(line int, format string, args ...any) (*Set, error) {
		return nil, diag.Error{Position: diag.Position{File: file, Line: line}, Text: fmt.Sprintf(format, args...)}
	}
	if len(text) > MaxFile {
		return fail(0, "the file has more than %d bytes: delete users, or revoke tokens", MaxFile)
	}
	lines, at, err := scan(text)
	if err != nil {
		return fail(at, "%v", err)
	}
	var top map[string]any
	if _, err := toml.Decode(string(text), &top); err != nil {
		var bad toml.ParseError
		errors.As(err, &bad) // its text can repeat a part of the line
		return fail(bad.Position.Line,
			"this is not TOML: expected NAME = VALUE, [[user]], [[user.token]], or a comment, and no name twice")
	}
	f := fields{table: top}
	tables := f.tables("user", "[[user]]")
	if err := f.rest("user"); err != nil {
		return fail(0, "%v", err)
	}
	line := func(user int) int {
		if user < len(lines) && len(lines) == len(tables) {
			return lines[user]
		}
		return 0
	}
	list := make([]Account, len(tables))
	for i, table := range tables {
		if list[i], err = account(table); err != nil {
			return fail(line(i), "%s%v", naming(list[i].Name), err)
		}
	}
	set, user, err := newSet(list)
	if err != nil {
		return fail(line(user), "%v", err)
	}
	return set, nil
}

// naming begins an error about a user, if the user has a name.
func naming(name string) string {
	if CheckName(name) != nil {
		return ""
	}
	return "user " + name + ": "
}

// account is the user of a table. The name is there with an error too, where the table has one.
func account(table map[string]any) (a Account, err error) {
	f := fields{table: table}
	a.Name = f.text("name")
	role, password := f.text("role"), f.text("password")
	a.Certificates = f.list("certificates")
	a.Scope.Names, a.Scope.Hosts = f.list("partitions"), f.list("hosts")
	keys, guids := f.list("pkeys"), f.list("guids")
	tokens := f.tables("token", "[[user.token]]")
	if err := f.rest("name", "role", "certificates", "password", "partitions", "pkeys", "hosts", "guids", "token"); err != nil {
		return a, err
	}
	if a.Role, err = rights.ParseRole(role); err != nil && role != "" {
		return a, err
	}
	if password != "" {
		if a.Password, err = parsePassword(password); err != nil {
			return a, err
		}
	}
	if a.Scope.Keys, err = ParseAll(keys, rights.ParseKeys); err != nil {
		return a, err
	}
	if a.Scope.GUIDs, err = ParseAll(guids, rights.ParseGUIDs); err != nil {
		return a, err
	}
	for i, table := range tokens {
		t, err := token(table)
		if err != nil {
			return a, fmt.Errorf("token %d: %w", i+1, err)
		}
		a.Tokens = append(a.Tokens, t)
	}
	return a, nil
}

// ParseAll parses texts of ranges.
func ParseAll[T mad.PKey | mad.GUID](texts []string, parse func(string) ([2]T, error)) (rights.Ranges[T], error) {
	var ranges rights.Ranges[T]
	for _, text := range texts {
		of, err := parse(text)
		if err != nil {
			return nil, err
		}
		ranges = append(ranges, of)
	}
	return ranges, nil
}

// token is the token of a table.
func token(table map[string]any) (t Token, err error) {
	f := fields{table: table}
	t.ID, t.Made, t.Until, t.Note = f.text("id"), f.time("made"), f.time("until"), f.text("note")
	sum := f.text("sha256")
	if err := f.rest("id", "sha256", "made", "until", "note"); err != nil {
		return t, err
	}
	if !isHex(sum, 64) {
		return t, errors.New("sha256 is not 64 hexadecimal digits in lower case")
	}
	b, err := hex.DecodeString(sum)
	if err == nil {
		t.sum = hide([32]byte(b))
	}
	return t, err
}

// fields take the values of a table out of it, and keep the first error. A value that is not there is the zero one.
type fields struct {
	table map[string]any
	err   error
}

func take[T any](f *fields, name, expected string) (value T) {
	given, is := f.table[name]
	delete(f.table, name)
	value, fits := given.(T)
	if is && !fits && f.err == nil {
		f.err = fmt.Errorf("%s has another form than %s", name, expected)
	}
	return value
}

func (f *fields) text(name string) string { return take[string](f, name, `a text such as "a"`) }

func (f *fields) tables(name, heading string) []map[string]any {
	return take[[]map[string]any](f, name, heading)
}

func (f *fields) list(name string) (texts []string) {
	for _, e := range take[[]any](f, name, `a list of texts such as ["a", "b"]`) {
		text, is := e.(string)
		if !is && f.err == nil {
			f.err = fmt.Errorf(`%s has other elements than texts such as "a"`, name)
		}
		texts = append(texts, text)
	}
	return texts
}

// time is a time in whole seconds, with its offset: the TOML package marks one without it by the name of the location.
func (f *fields) time(name string) time.Time {
	const expected = "a time such as 2026-01-31T00:00:00Z"
	t := take[time.Time](f, name, expected).Truncate(time.Second)
	if strings.HasSuffix(t.Location().String(), "-local") && f.err == nil {
		f.err = fmt.Errorf("%s has another form than %s", name, expected)
	}
	return t
}

// rest is the first error, also that of a name that nothing has taken.
func (f *fields) rest(known ...string) error {
	if f.err != nil || len(f.table) == 0 {
		return f.err
	}
	name := slices.Sorted(maps.Keys(f.table))[0]
	if CheckName(name) != nil {
		return errors.New("there is a name that is none of " + strings.Join(known, ", "))
	}
	return fmt.Errorf("there is no name %s%s", name, diag.Meant(name, known))
}

// scan returns the lines that begin users. It refuses, at a line, what no file of users needs: inline tables, texts of
// several lines and deep nesting, of which the time of the TOML package grows with the third power of the depth.
func scan(text []byte) (users []int, line int, err error) {
	depth := 0
	for row := range strings.Lines(string(text)) {
		line++
		if strings.ReplaceAll(strings.TrimSpace(row), " ", "") == "[[user]]" {
			users = append(users, line)
		}
		bare := unquoted(row)
		depth += strings.Count(bare, "[") - strings.Count(bare, "]")
		switch {
		case strings.Contains(bare, `"`) || strings.Contains(bare, "'"):
			return nil, line, errors.New("a text does not end in its line")
		case strings.Contains(bare, "{"):
			return nil, line, errors.New("inline tables are not read: expected [[user]] or [[user.token]]")
		case strings.Count(bare, ".") > 4 || strings.Count(bare, "[") > 4 || depth > 2:
			return nil, line, errors.New("nesting as deep as this is not read")
		}
	}
	return users, 0, nil
}

// unquoted is a line without what is in quotes and without its comment. Of a text that does not end in the line the
// quote remains, and all after it.
func unquoted(row string) string {
	var b strings.Builder
	for row != "" {
		at := strings.IndexAny(row, `"'#`)
		if at < 0 {
			at = len(row)
		}
		b.WriteString(row[:at])
		row = row[at:]
		if row == "" || row[0] == '#' {
			break
		}
		end := closing(row)
		if end < 0 || strings.HasPrefix(row[1:], row[:1]+row[:1]) {
			b.WriteString(row)
			break
		}
		row = row[end+1:]
	}
	return b.String()
}

// closing is the index of the quote that ends the text at the beginning of a line, -1 if there is none.
func closing(row string) int {
	for i := 1; i < len(row); i++ {
		switch {
		case row[i] == row[0]:
			return i
		case row[i] == '\\' && row[0] == '"':
			i++
		}
	}
	return -1
}
