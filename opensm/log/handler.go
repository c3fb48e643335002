package log

import (
	"context"
	"io"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
)

// Flags are OpenSM's log flags: which kinds of lines are written. Routing means
// files rather than lines.
type Flags uint8

// Log flags.
const (
	Error   Flags = 0x01
	Info    Flags = 0x02
	Verbose Flags = 0x04
	Debug   Flags = 0x08
	Funcs   Flags = 0x10
	Frames  Flags = 0x20
	Routing Flags = 0x40
	Sys     Flags = 0x80 // always written

	DefaultFlags = Error | Info
)

// LevelSys is the level of what OpenSM logs as SYS: what state the manager is in. It
// is written whatever the flags say.
const LevelSys = slog.Level(12)

// LevelAdvice is the level of a warning about a setting that works as it should but is better changed. OpenSM's lines
// have no level for warnings: slog.LevelWarn is for those that OpenSM logs as errors, and a LevelAdvice is written as
// INFO, with "WARNING: " before its text.
const LevelAdvice = slog.Level(2)

// levelTrace is that of what only DEBUG shows.
const levelTrace = slog.LevelDebug - 4

// flag is what OpenSM calls a level. It has none for warnings, and logs as an error
// all that should not be.
func flag(l slog.Level) Flags {
	switch {
	case l >= LevelSys:
		return Sys
	case l >= slog.LevelWarn:
		return Error
	case l >= slog.LevelInfo:
		return Info
	case l > levelTrace:
		return Verbose
	}
	return Debug
}

// Options of a Handler.
type Options struct {
	Flags  Flags
	Prefix string // put before each text, as "Prefix: "; not in JSON
	JSON   bool   // objects in place of OpenSM's lines
	// Sys is given the text of SYS lines, which OpenSM prints on standard output as
	// well, by the goroutine that logs them; may be nil.
	Sys func(text string)
}

// Handler writes records as OpenSM's lines, with our fields behind the text:
//
//	Nov 21 08:50:36 230589 [0000C076] 0x02 -> SUBNET UP nodes=6 switches=2
//
// It is safe for concurrent use.
type Handler struct {
	shared *shared
	attrs  []byte       // those of WithAttrs, ready to be written
	group  string       // of WithGroup, with its dot
	json   slog.Handler // that writes in the place of this one; nil for OpenSM's lines
}

// shared is what all Handlers made from one have in common.
type shared struct {
	sys   func(text string)
	flags atomic.Uint32
	parts atomic.Pointer[Modules] // nil for none
	id    uint64                  // what stands for OpenSM's thread: our process

	w      io.Writer
	prefix atomic.Pointer[string]
	lines  sync.Pool // of *[]byte, to make lines in
}

// NewHandler returns a Handler that writes each line with one call of w.Write, which must be safe for concurrent use
// where the Handler is used so: Writer's is.
func NewHandler(w io.Writer, opts Options) *Handler {
	h := &Handler{shared: &shared{sys: opts.Sys, id: uint64(uint32(os.Getpid())), w: w}}
	h.shared.lines.New = func() any { b := make([]byte, 0, 256); return &b }
	if opts.JSON {
		h.json = newJSON(w)
	}
	h.SetFlags(opts.Flags)
	h.SetPrefix(opts.Prefix)
	return h
}

// Flags are the flags in force.
func (h *Handler) Flags() Flags { return Flags(h.shared.flags.Load()) }

// SetFlags changes them for this Handler and all made from it.
func (h *Handler) SetFlags(f Flags) { h.shared.flags.Store(uint32(f | Sys)) }

// SetPrefix changes Options.Prefix for this Handler and all made from it.
func (h *Handler) SetPrefix(prefix string) {
	if prefix != "" {
		prefix += ": "
	}
	h.shared.prefix.Store(&prefix)
}

// SetModules gives parts of the program log flags of their own, for this Handler and all
// made from it; nil gives them those of the log again.
func (h *Handler) SetModules(m *Modules) { h.shared.parts.Store(m) }

// Enabled reports whether the flags of the log or of any part include a level.
func (h *Handler) Enabled(_ context.Context, l slog.Level) bool {
	flags := h.Flags()
	if m := h.shared.parts.Load(); m != nil {
		flags |= m.all
	}
	return flags&flag(l) != 0
}

// Handle writes a record.
func (h *Handler) Handle(ctx context.Context, r slog.Record) error {
	if m := h.shared.parts.Load(); m != nil && !m.lets(r.PC, r.Level, h.Flags()) {
		return nil
	}
	if h.json != nil {
		return h.handleJSON(ctx, r)
	}
	s := h.shared
	level := flag(r.Level)
	line := s.lines.Get().(*[]byte)
	b := appendTime((*line)[:0], r.Time)
	b = append(b, " ["...)
	b = appendHex(b, s.id, 8, upperDigits)
	b = append(b, "] 0x"...)
	b = appendHex(b, uint64(level), 2, lowerDigits)
	b = append(b, " -> "...)
	text := len(b)
	b = append(b, *s.prefix.Load()...)
	if r.Level == LevelAdvice {
		b = append(b, "WARNING: "...)
	}
	b = appendText(b, r.Message)
	if level == Sys && s.sys != nil {
		s.sys(string(b[text:]))
	}
	b = append(b, h.attrs...)
	r.Attrs(func(a slog.Attr) bool {
		b = appendAttr(b, h.group, a)
		return true
	})
	*line = append(b, '\n')
	_, err := s.w.Write(*line)
	if cap(*line) <= keptBuffer {
		s.lines.Put(line)
	}
	return err
}

// WithAttrs returns a Handler that adds fields to each line.
func (h *Handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	with := *h
	if h.json != nil {
		with.json = h.json.WithAttrs(attrs)
		return &with
	}
	with.attrs = append([]byte(nil), h.attrs...)
	for _, a := range attrs {
		with.attrs = appendAttr(with.attrs, h.group, a)
	}
	return &with
}

// WithGroup returns a Handler that puts a name before those of fields to come.
func (h *Handler) WithGroup(name string) slog.Handler {
	if name == "" {
		return h
	}
	with := *h
	if h.json != nil {
		with.json = h.json.WithGroup(name)
	}
	with.group += name + "."
	return &with
}
