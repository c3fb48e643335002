package ctl

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"ibsm/conf/diag"
	"ibsm/mad"
	"ibsm/partitions"
	"ibsm/partitions/callers"
)

// Bodies of requests about partitions are parsed by hand, so that an error names the field that is wrong, and what is
// expected there.

// shown are members of replies, which a body may have, too: so a client can change what it got, and put it back.
var (
	shownPartition = []string{"origin", "position", "all", "etag", "number", "since", "held", "ready", "states"}
	shownMember    = []string{"state", "why", "since", "ports"}
)

// body is a body that is parsed.
type body struct{ *json.Decoder }

// badField is an error about a field.
func badField(field, format string, args ...any) error {
	return &callers.Refusal{Kind: callers.Wrong, Field: field, Text: "field " + field + ": " + fmt.Sprintf(format, args...)}
}

// newBody begins to parse.
func newBody(r io.Reader) body {
	d := json.NewDecoder(r)
	d.UseNumber()
	return body{d}
}

// parseWanted parses the body of a PUT.
func parseWanted(r io.Reader, name string) (*callers.Wanted, error) {
	w, b := &callers.Wanted{Name: name}, newBody(r)
	err := b.document(map[string]func(string) error{
		"name": func(at string) error {
			return read(b, at, "the name in the path", name, func(v string) bool { return v == name })
		},
		"pkey": func(at string) (err error) {
			w.Key, err = b.pkey(at)
			return err
		},
		"note":  func(at string) error { return read(b, at, "a text", "rack 7", set(&w.Note)) },
		"ipoib": func(at string) error { return read(b, at, "true or false", "true", set(&w.IPoIB)) },
		"mtu": func(at string) error {
			return readNumber(b, at, "256, 512, 1024, 2048 or 4096 bytes", "2048", func(n float64) bool {
				return find(&w.MTU, mad.MTU4096, func(m mad.MTU) bool { return float64(m.Bytes()) == n })
			})
		},
		"rate": func(at string) error {
			return readNumber(b, at, "the rate of a link in Gb/s, from 2.5 to 2400", "100", func(n float64) bool {
				return find(&w.Rate, mad.RateOfRank(mad.MaxRank), func(r mad.Rate) bool { return r.Gbps() == n })
			})
		},
		"sl":    func(at string) error { return small(b, at, &w.SL) },
		"scope": func(at string) error { return small(b, at, &w.Scope) },
		"qkey": func(at string) error {
			return read(b, at, "a text with a number of up to 32 bits", "0x0b1b", func(v string) bool {
				n, err := strconv.ParseUint(v, 0, 32)
				w.QKey = uint32(n)
				return err == nil
			})
		},
		"delete_when_empty": func(at string) error {
			return read(b, at, "true or false", "true", set(&w.DeleteWhenEmpty))
		},
		"members": func(at string) (err error) {
			w.Members, err = b.members(at)
			return err
		},
	}, shownPartition)
	return w, err
}

// parseEdit parses the body of a PATCH.
func parseEdit(r io.Reader) (*callers.Edit, error) {
	e, b := &callers.Edit{}, newBody(r)
	err := b.document(map[string]func(string) error{
		"add": func(at string) (err error) {
			e.Add, err = b.members(at)
			return err
		},
		"remove": func(at string) (err error) {
			e.Remove, err = b.members(at)
			return err
		},
	}, nil)
	return e, err
}

// document parses a body that is one object.
func (b body) document(fields map[string]func(at string) error, shown []string) error {
	if err := b.open("the body", '{', `an object, such as {"members":[{"guid":"0xb83fd20300a00020"}]}`); err != nil {
		return err
	}
	if err := b.fields("", fields, shown); err != nil {
		return err
	}
	if _, err := b.Token(); !errors.Is(err, io.EOF) {
		return b.broken(err, "more follows the object")
	}
	return nil
}

// broken is an error of JSON itself, or text if err is nil.
func (b body) broken(err error, text string) error {
	if err == nil {
		err = errors.New(text)
	}
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return fmt.Errorf("%w: the body is not JSON at byte %d: %w", ErrBadRequest, b.InputOffset(), err)
}

// open reads the beginning of an object or a list.
func (b body) open(at string, what json.Delim, expected string) error {
	t, err := b.Token()
	if err != nil {
		return b.broken(err, "")
	}
	if t != what {
		return badField(at, "expected %s", expected)
	}
	return nil
}

// fields reads the fields of an object and its end. One that is null is as if it were not there.
func (b body) fields(at string, fields map[string]func(at string) error, shown []string) error {
	seen := map[string]bool{}
	for b.More() {
		t, err := b.Token()
		if err != nil {
			return b.broken(err, "")
		}
		name, _ := t.(string)
		parse, is := fields[name]
		switch {
		case seen[name]:
			return badField(at+shortened(name), "it is given twice")
		case is:
			err = parse(at + name)
		case slices.Contains(shown, name):
			err = b.skip()
		default:
			names := slices.Sorted(maps.Keys(fields))
			return badField(at+shortened(name), "there is no such field%s fields are %s",
				orSemicolon(diag.Meant(name, names)), strings.Join(names, ", "))
		}
		if err != nil {
			return err
		}
		seen[name] = true
	}
	if _, err := b.Token(); err != nil {
		return b.broken(err, "")
	}
	return nil
}

func orSemicolon(meant string) string {
	if meant == "" {
		return ":"
	}
	return meant
}

// skip reads a value that does not matter.
func (b body) skip() error {
	var v json.RawMessage
	if err := b.Decode(&v); err != nil {
		return b.broken(err, "")
	}
	return nil
}

// shortened is a text from a request for a message.
func shortened(text string) string {
	const most = 40
	if len(text) > most {
		text = text[:most] + "..."
	}
	quoted := strconv.Quote(text)
	return quoted[1 : len(quoted)-1]
}

// read reads a value. take reports whether it is as expected.
func read[T any](b body, at, expected, example string, take func(T) bool) error {
	var raw json.RawMessage
	if err := b.Decode(&raw); err != nil {
		return b.broken(err, "")
	}
	var v *T
	if err := json.Unmarshal(raw, &v); err != nil || v != nil && !take(*v) {
		if _, text := any(*new(T)).(string); text {
			example = strconv.Quote(example)
		}
		return badField(at, "%s is not valid: expected %s, such as %s", shownValue(raw), expected, example)
	}
	return nil
}

// shownValue is a value of a request for a message.
func shownValue(raw json.RawMessage) string {
	const most = 60
	if len(raw) > most {
		raw = append(slices.Clone(raw[:most]), "..."...)
	}
	return strings.ToValidUTF8(strings.Join(strings.Fields(string(raw)), " "), "?")
}

func set[T any](to *T) func(T) bool {
	return func(v T) bool {
		*to = v
		return true
	}
}

func readNumber(b body, at, expected, example string, take func(float64) bool) error {
	return read(b, at, expected, example, take)
}

// small reads a number of 4 bits.
func small(b body, at string, to *uint8) error {
	return readNumber(b, at, "0 to 15", "1", func(n float64) bool {
		*to = uint8(max(0, min(n, 255)))
		return n >= 0 && n <= 15 && float64(*to) == n
	})
}

// find sets to to the code for which is holds.
func find[T ~uint8](to *T, most T, is func(T) bool) bool {
	for code := T(1); code <= most; code++ {
		if is(code) {
			*to = code
			return true
		}
	}
	return false
}

// pkey reads a P_Key, 0 for auto.
func (b body) pkey(at string) (key mad.PKey, err error) {
	hint := ""
	err = read(b, at, `"auto", or a text with a number from 0x1 to 0x7ffe`, "0x2fb", func(v string) bool {
		n, err := strconv.ParseUint(v, 0, 16)
		key = mad.PKey(n)
		if err == nil && key != key.Base() && key.Valid() {
			hint = fmt.Sprintf(
				"; %s has the bit of a full member: write %q, and the membership at each member", v, key.Base().String())
		}
		return v == "auto" || err == nil && key == key.Base() && key.Valid() && key != partitions.DefaultKey
	})
	if refused := (*callers.Refusal)(nil); errors.As(err, &refused) {
		refused.Text += hint
	}
	return key, err
}

// memberships are the words for what a member may do.
var memberships = map[string]partitions.Membership{partitions.Full.String(): partitions.Full,
	partitions.Limited.String(): partitions.Limited, partitions.Both.String(): partitions.Both}

// members reads a list of members.
func (b body) members(at string) (all []callers.Member, err error) {
	const expected = `a list of members, such as [{"guid":"0xb83fd20300a00020","membership":"full"},{"host":"node-7"}]`
	t, err := b.Token()
	switch {
	case err != nil:
		return nil, b.broken(err, "")
	case t == nil:
		return nil, nil
	case t != json.Delim('['):
		return nil, badField(at, "expected %s", expected)
	}
	for b.More() {
		if len(all) == callers.MaxMembers {
			return nil, badField(at, "more than %d members", callers.MaxMembers)
		}
		m, err := b.member(fmt.Sprintf("%s[%d]", at, len(all)))
		if err != nil {
			return nil, err
		}
		all = append(all, m)
	}
	if _, err := b.Token(); err != nil {
		return nil, b.broken(err, "")
	}
	return all, nil
}

func (b body) member(at string) (m callers.Member, err error) {
	const example = `{"guid":"0xb83fd20300a00020"} or {"host":"node-7"}`
	if err := b.open(at, '{', "an object, such as "+example); err != nil {
		return m, err
	}
	err = b.fields(at+".", map[string]func(string) error{
		"guid": func(at string) error {
			return read(b, at, "a port GUID: a text of up to 16 hexadecimal digits, not all 0", "0xb83fd20300a00020",
				func(v string) (ok bool) {
					m.Port, ok = ParseGUID(v)
					return ok
				})
		},
		"host": func(at string) error {
			return read(b, at, "the name of a host: the first word of its NodeDescription", "node-7",
				func(v string) bool {
					m.Host = v
					return v != ""
				})
		},
		"membership": func(at string) error {
			return read(b, at, `"full", "limited" or "both"`, "full", func(v string) bool {
				m.Membership = memberships[v]
				return m.Membership != 0
			})
		},
		"index0": func(at string) error { return read(b, at, "true or false", "true", set(&m.Index0)) },
	}, shownMember)
	if err == nil && (m.Port == 0) == (m.Host == "") {
		err = badField(at, "expected either guid or host, such as %s", example)
	}
	return m, err
}

// ParseGUID parses a GUID in the forms in which programs write one: digits in any case, with 0x or without, or in pairs
// or fours between colons.
func ParseGUID(text string) (mad.GUID, bool) {
	if strings.Contains(text, ":") {
		if text = strings.ReplaceAll(text, ":", ""); len(text) != 16 {
			return 0, false
		}
	}
	if !strings.HasPrefix(text, "0x") && !strings.HasPrefix(text, "0X") && len(text) != 16 {
		return 0, false
	}
	guid, err := mad.ParseGUID(text)
	return guid, err == nil && guid != 0
}
