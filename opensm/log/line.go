package log

import (
	"fmt"
	"log/slog"
	"strconv"
	"time"
	"unicode"
	"unicode/utf8"
)

const (
	lowerDigits = "0123456789abcdef"
	upperDigits = "0123456789ABCDEF"
)

// appendHex appends v in width digits.
func appendHex(b []byte, v uint64, width int, digits string) []byte {
	for n := width - 1; n >= 0; n-- {
		b = append(b, digits[v>>(4*n)&15])
	}
	return b
}

// appendTime appends "Nov 21 08:50:36 230589", local time with microseconds.
func appendTime(b []byte, t time.Time) []byte {
	t = t.Local()
	b = t.AppendFormat(b, "Jan 02 15:04:05 ")
	micro := t.Nanosecond() / 1000
	for power := 100000; power > 0; power /= 10 {
		b = append(b, byte('0'+micro/power%10))
	}
	return b
}

// appendText appends a message. It stays one message whatever is in it: what follows
// a line feed begins with a tab, as in OpenSM's messages of several lines, and other
// control characters are shown as a question mark.
func appendText(b []byte, text string) []byte {
	for _, r := range text {
		switch {
		case r == '\n':
			b = append(b, "\n\t"...)
		case r == '\t' || unicode.IsPrint(r):
			b = utf8.AppendRune(b, r)
		default:
			b = append(b, '?')
		}
	}
	return b
}

// appendAttr appends " key=value", or those of a group.
func appendAttr(b []byte, group string, a slog.Attr) []byte {
	v := a.Value.Resolve()
	if v.Kind() == slog.KindGroup {
		if a.Key != "" {
			group += a.Key + "."
		}
		for _, member := range v.Group() {
			b = appendAttr(b, group, member)
		}
		return b
	}
	if a.Key == "" && v.Kind() == slog.KindAny && v.Any() == nil {
		return b // the empty Attr
	}
	b = append(b, ' ')
	b = appendWord(b, group+a.Key)
	b = append(b, '=')
	return appendWord(b, valueText(v))
}

// valueText is a value as people read it.
func valueText(v slog.Value) string {
	switch v.Kind() {
	case slog.KindTime:
		return v.Time().Format(time.RFC3339Nano)
	case slog.KindAny:
		if err, ok := v.Any().(error); ok {
			return err.Error()
		}
		return fmt.Sprint(v.Any())
	}
	return v.String()
}

// appendWord appends text, in quotes unless it is one plain word.
func appendWord(b []byte, text string) []byte {
	if text == "" {
		return append(b, `""`...)
	}
	for _, r := range text {
		if r == '"' || r == '=' || r == utf8.RuneError || unicode.IsSpace(r) || !unicode.IsPrint(r) {
			return strconv.AppendQuote(b, text)
		}
	}
	return append(b, text...)
}
