package log

import (
	"context"
	"fmt"
	"io"
	"log/slog"
)

// newJSON writes records as JSON objects, one a line: time, level, msg and our fields.
// Times that something took are in seconds, and what has a text is written as that.
func newJSON(w io.Writer) slog.Handler {
	return slog.NewJSONHandler(w,
		&slog.HandlerOptions{Level: levelTrace - 4, ReplaceAttr: func(groups []string, a slog.Attr) slog.Attr {
			if l, ok := a.Value.Any().(slog.Level); ok && a.Key == slog.LevelKey && groups == nil {
				a.Value = slog.StringValue(levelName(l))
				return a
			}
			switch a.Value.Kind() {
			case slog.KindDuration:
				a.Value = slog.Float64Value(a.Value.Duration().Seconds())
			case slog.KindAny:
				if v, ok := a.Value.Any().(fmt.Stringer); ok {
					a.Value = slog.StringValue(v.String())
				}
			}
			return a
		}})
}

// levelName is a level in words: OpenSM's, and WARNING, for which it has none.
func levelName(l slog.Level) string {
	if l >= LevelAdvice && l < slog.LevelError {
		return "WARNING"
	}
	switch flag(l) {
	case Sys:
		return "SYS"
	case Error:
		return "ERROR"
	case Info:
		return "INFO"
	case Verbose:
		return "VERBOSE"
	}
	return "DEBUG"
}

// handleJSON writes a record.
func (h *Handler) handleJSON(ctx context.Context, r slog.Record) error {
	s := h.shared
	if flag(r.Level) == Sys && s.sys != nil {
		s.sys(string(appendText([]byte(*s.prefix.Load()), r.Message)))
	}
	return h.json.Handle(ctx, r)
}
