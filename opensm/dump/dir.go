package dump

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"

	"ibsm/opensm/names"
	"ibsm/sweep/view"
)

// Dir is a dump directory.
type Dir struct {
	Path string
	// Routing asks for the files about routes too. The one about cables is always
	// written.
	Routing bool
	Names   names.Map // that nodes were given
}

// writer writes one kind of file, with the names that nodes were given.
type writer func(ctx context.Context, w io.Writer, v *view.View, given names.Map) error

// Write replaces the files of the directory with what the view says. A reader finds
// either the old file or the new one, whole. A file that cannot be written does not
// keep the others from it; the error names each. When ctx ends, what is not finished
// is left as it was.
func (d Dir) Write(ctx context.Context, v *view.View) error {
	var errs []error
	replace := func(name string, write writer) {
		if ctx.Err() == nil {
			errs = append(errs, d.replace(ctx, name, write, v))
		}
	}
	replace("opensm-subnet.lst", Subnet)
	if d.Routing {
		replace("opensm-lfts.dump", LFTs)
		replace("opensm-lid-matrix.dump", LIDMatrix)
		replace("opensm.fdbs", Routes)
		replace("opensm.mcfdbs", MulticastFDBs)
	}
	return errors.Join(errs...)
}

// replace writes a file beside the one it replaces, then takes its place.
func (d Dir) replace(ctx context.Context, name string, write writer, v *view.View) (err error) {
	path := filepath.Join(d.Path, name)
	os.Remove(path + ".tmp") // what a crash left, or a link that somebody put there
	f, err := os.OpenFile(path+".tmp", os.O_CREATE|os.O_WRONLY|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			os.Remove(f.Name())
		}
	}()
	w := bufio.NewWriterSize(f, 1<<16)
	err = errors.Join(write(ctx, w, v, d.Names), w.Flush(), f.Close())
	if err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}
