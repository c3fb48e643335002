package dump

import (
	"bytes"
	"context"
	"io"
	"log/slog"

	"ibsm/opensm/names"
	"ibsm/priority"
	"ibsm/registry"
	"ibsm/view"
)

// Keeper keeps a dump directory current in a goroutine of its own, that of Run, so
// that nobody waits for a disk. Of views that come faster than they can be written
// only the last is.
type Keeper struct {
	dir     string
	names   names.Map
	routing func() bool
	print   io.Writer   // takes the table of ports
	printed func() bool // nil for never
	logger  *slog.Logger
	// Unwritten is called with each outcome of writing: an error, or nil. It is set before Run; nil for no such call.
	Unwritten func(what string, err error)
	// VPorts is the file for vPorts, "" for none. It is set before Run; nil for no such file.
	VPorts   func() string
	views    chan *view.View // the one that is waiting
	sa       chan Registered // the one that is waiting
	last     *view.View      // owned by the caller of Put
	written  *view.View      // owned by Run
	lastSA   *registry.State // the same
	logged   string          // the error logged last; owned by Run
	loggedSA string          // the same of what is registered
}

// NewKeeper returns a Keeper of a directory, which calls nodes by the names given, and
// logs write errors. Routing, asked for each view, says whether it asks for the files about
// routes too.
func NewKeeper(dir string, given names.Map, routing func() bool, logger *slog.Logger) *Keeper {
	return &Keeper{dir: dir, names: given, routing: routing, logger: logger, views: make(chan *view.View, 1),
		sa: make(chan Registered, 1)}
}

// PrintPorts has the table of ports printed for each view, if it is wanted then. It is
// called before Run.
func (k *Keeper) PrintPorts(w io.Writer, wanted func() bool) { k.print, k.printed = w, wanted }

// Put has a view written, soon. What a heavy sweep leaves is written changed or not: a file
// may have been taken away, or not have been written. Between sweeps, as long as the
// partition tables are the same value, a view changes nothing that differs in what no file
// shows: joins change the multicast tables many times a second. Nor does a nil view. Put
// does not block; it is called by one goroutine at a time, and not after Close.
func (k *Keeper) Put(v *view.View) {
	if v == nil {
		return
	}
	last := k.last
	k.last = v
	if last != nil && sameButVPorts(v, last) && !k.routing() &&
		(v.Topo.VPorts == last.Topo.VPorts || k.vPorts() == "") {
		return
	}
	select {
	case <-k.views:
	default:
	}
	k.views <- v
}

// sameButVPorts reports whether the files of two views are the same, but for that about vPorts.
func sameButVPorts(v, last *view.View) bool {
	return v.Partitions == last.Partitions && v.Topo.SharesPorts(last.Topo) && v.LIDs == last.LIDs &&
		v.Tables == last.Tables
}

// vPorts is the file for vPorts, "" for none.
func (k *Keeper) vPorts() string {
	if k.VPorts == nil {
		return ""
	}
	return k.VPorts()
}

// PutSA has what is registered written, soon, unless it was put before. It is otherwise as
// Put.
func (k *Keeper) PutSA(r Registered) {
	if r.State == nil || r.View == nil || r.State == k.lastSA {
		return
	}
	k.lastSA = r.State
	select {
	case <-k.sa:
	default:
	}
	k.sa <- r
}

// Close ends Run once the last view is written.
func (k *Keeper) Close() { close(k.views) }

// Run writes until Close, or until ctx is done, which ends it in the middle of a file
// about routes.
func (k *Keeper) Run(ctx context.Context) {
	for open := true; open && ctx.Err() == nil; {
		select {
		case <-ctx.Done():
		case r := <-k.sa:
			k.report(&k.loggedSA, Dir{Path: k.dir}.WriteSA(r))
		case v, ok := <-k.views:
			if open = ok; ok {
				priority.Compute(func() { k.write(ctx, v) })
			}
		}
	}
}

// WriteRest writes what is registered and was not written yet, after Run has ended.
func (k *Keeper) WriteRest() {
	select {
	case r := <-k.sa:
		k.report(&k.loggedSA, Dir{Path: k.dir}.WriteSA(r))
	default:
	}
}

func (k *Keeper) write(ctx context.Context, v *view.View) {
	if k.printed != nil && k.printed() {
		var table bytes.Buffer
		_ = Ports(ctx, &table, v, k.names)  // the end of ctx
		_, _ = k.print.Write(table.Bytes()) // an error cannot be reported
	}
	d := Dir{Path: k.dir, Routing: k.routing(), Names: k.names, VPorts: k.vPorts()}
	var err error
	if k.written != nil && sameButVPorts(v, k.written) && !d.Routing && d.VPorts != "" {
		err = d.writeVPorts(ctx, v) // while functions start they change several times a second
	} else {
		err = d.Write(ctx, v)
	}
	k.written = v
	if ctx.Err() == nil {
		k.report(&k.logged, err)
	}
}

// report logs an error once as long as it stays the same.
func (k *Keeper) report(logged *string, err error) {
	text := ""
	if err != nil {
		text = err.Error()
	}
	if k.Unwritten != nil {
		what := "dump files"
		if logged == &k.loggedSA {
			what = "dump file of the SA"
		}
		k.Unwritten(what, err)
	}
	if text != "" && text != *logged {
		k.logger.Error("cannot write dump files", "dir", k.dir, "reason", text)
	}
	*logged = text
}
