package ctl

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"time"
)

// Tee is a log handler that also stores records of level Info and above as events,
// independent of the log level.
func Tee(log slog.Handler, ring *Ring) slog.Handler { return &tee{log: log, ring: ring} }

type tee struct {
	log   slog.Handler
	ring  *Ring
	attrs []slog.Attr // with the prefix of their group
	group string      // with its dot
}

// eventLevel is the lowest level of an event.
const eventLevel = slog.LevelInfo

func (t *tee) Enabled(ctx context.Context, l slog.Level) bool {
	return l >= eventLevel || t.log.Enabled(ctx, l)
}

func (t *tee) Handle(ctx context.Context, r slog.Record) error {
	if r.Level >= eventLevel {
		t.ring.Add(t.event(&r))
	}
	if !t.log.Enabled(ctx, r.Level) {
		return nil
	}
	return t.log.Handle(ctx, r)
}

func (t *tee) event(r *slog.Record) Event {
	e := Event{Time: r.Time, Level: levelName(r.Level), Text: r.Message}
	if n := len(t.attrs) + r.NumAttrs(); n > 0 {
		e.Attrs = make(map[string]any, n)
	}
	for _, a := range t.attrs {
		e.Attrs[a.Key] = plain(a.Value)
	}
	r.Attrs(func(a slog.Attr) bool {
		e.Attrs[t.group+a.Key] = plain(a.Value)
		return true
	})
	return e
}

// levelName maps records that OpenSM always logs to Info, and what lies between Info and Error to a warning.
func levelName(l slog.Level) string {
	switch {
	case l < slog.LevelInfo:
		return "debug"
	case l == slog.LevelInfo, l > slog.LevelError:
		return "info"
	case l < slog.LevelError:
		return "warn"
	}
	return "error"
}

// plain converts a value to an immutable JSON value.
func plain(v slog.Value) any {
	v = v.Resolve()
	switch v.Kind() {
	case slog.KindBool, slog.KindInt64, slog.KindUint64:
		return v.Any()
	case slog.KindTime:
		return v.Time().Format(time.RFC3339Nano)
	}
	return strings.ToValidUTF8(v.String(), "?")
}

func (t *tee) WithAttrs(attrs []slog.Attr) slog.Handler {
	with := *t
	with.attrs = slices.Clone(t.attrs)
	for _, a := range attrs {
		a.Key = t.group + a.Key
		with.attrs = append(with.attrs, a)
	}
	with.log = t.log.WithAttrs(attrs)
	return &with
}

func (t *tee) WithGroup(name string) slog.Handler {
	with := *t
	if name != "" {
		with.group += name + "."
	}
	with.log = t.log.WithGroup(name)
	return &with
}
