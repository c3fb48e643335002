package dump

import (
	"context"
	"log/slog"

	"ibsm/opensm/names"
	"ibsm/sweep/view"
)

// Keeper keeps a dump directory current in a goroutine of its own, that of Run, so
// that nobody waits for a disk. Of views that come faster than they can be written
// only the last is.
type Keeper struct {
	dir     string
	names   names.Map
	routing func() bool
	logger  *slog.Logger
	views   chan *view.View // the one that is waiting
	last    *view.View      // owned by who calls Put
	told    string          // the error told last; owned by Run
}

// NewKeeper returns a Keeper of a directory, which calls nodes by the names given, and
// tells the logger what cannot be written. Routing, asked for each view, says whether it asks for the files about
// routes too.
func NewKeeper(dir string, given names.Map, routing func() bool, logger *slog.Logger) *Keeper {
	return &Keeper{dir: dir, names: given, routing: routing, logger: logger, views: make(chan *view.View, 1)}
}

// Put has a view written, soon. A nil view changes nothing, nor does one that differs
// from the last in what no file shows: joins change the multicast tables many times a
// second. Put does not block; it is called by one goroutine at a time, and not after
// Close.
func (k *Keeper) Put(v *view.View) {
	if v == nil {
		return
	}
	last := k.last
	k.last = v
	if last != nil && v.Topo == last.Topo && v.LIDs == last.LIDs && v.Tables == last.Tables && !k.routing() {
		return
	}
	select {
	case <-k.views:
	default:
	}
	k.views <- v
}

// Close ends Run once the last view is written.
func (k *Keeper) Close() { close(k.views) }

// Run writes views until Close, or until ctx is done, which ends it in the middle of
// a file.
func (k *Keeper) Run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case v, ok := <-k.views:
			if !ok {
				return
			}
			k.write(ctx, v)
		}
	}
}

// write tells of an error once as long as it stays the same.
func (k *Keeper) write(ctx context.Context, v *view.View) {
	text := ""
	if err := (Dir{Path: k.dir, Routing: k.routing(), Names: k.names}).Write(ctx, v); err != nil && ctx.Err() == nil {
		text = err.Error()
	}
	if text != "" && text != k.told {
		k.logger.Error("cannot write dump files", "dir", k.dir, "reason", text)
	}
	k.told = text
}
