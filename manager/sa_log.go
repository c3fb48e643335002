package manager

import (
	"context"
	"log/slog"
)

// logSA has the SA's goroutines log refused requests, and groups that come and go.
func (s *Shell) logSA(ctx context.Context) {
	s.sa.stats.Refusals.Log = func(level slog.Level, text string) { s.Logger.Log(ctx, level, text) }
}
