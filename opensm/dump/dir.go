package dump

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"

	"ibsm/atomicfile"
	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/opensm/names"
	"ibsm/opensm/sadb"
	"ibsm/registry"
	"ibsm/topo"
	"ibsm/view"
)

// Dir is a dump directory.
type Dir struct {
	Path string
	// Routing asks for the files about routes too. The one about cables is always
	// written.
	Routing bool
	Names   names.Map // that nodes were given
	VPorts  string    // the file about vPorts, with its directory if that is another one; "" for none
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
			errs = append(errs, d.replace(name, 0o644, false, func(w io.Writer) error {
				return write(ctx, w, v, d.Names)
			}))
		}
	}
	replace("opensm-subnet.lst", Subnet)
	if d.VPorts != "" {
		errs = append(errs, d.writeVPorts(ctx, v))
	}
	found := v.Tables.Findings
	if found != nil && found.Computes != nil {
		replace("opensm-ftree-ca-order.dump", ComputeOrder)
	}
	if d.Routing {
		replace("opensm-lfts.dump", LFTs)
		replace("opensm-lid-matrix.dump", LIDMatrix)
		replace("opensm.fdbs", Routes)
		replace("opensm.mcfdbs", MulticastFDBs)
		refused := slices.ContainsFunc(v.Routing.Refused, func(r view.Refusal) bool { return r.Engine == "updn" })
		if refused || found != nil && found.Roots != nil {
			replace("opensm-updn-roots.dump", Roots)
		}
		if v.Tables.SLs != nil {
			replace("opensm-path-sl.dump", PathSLs)
		}
		if v.Tables.Places != nil {
			replace("opensm-torus.dump", Torus)
		}
		if v.Ports.Holds(smp.AttrSLtoVLMappingTable) {
			replace("opensm-sl2vl.dump", SLtoVL)
		}
	}
	return errors.Join(errs...)
}

// writeVPorts replaces the file about vPorts alone.
func (d Dir) writeVPorts(ctx context.Context, v *view.View) error {
	if ctx.Err() != nil {
		return nil
	}
	return d.replace(d.VPorts, 0o644, false, func(w io.Writer) error { return VPorts(ctx, w, v, d.Names) })
}

// Registered is what clients have registered, with the subnet in which they have.
type Registered struct {
	State *registry.State
	View  *view.View
	Now   int64 // seconds since 1970
	Sync  bool  // fsync the file
}

// WriteSA replaces opensm-sa.dump, which its owner alone can read: it shows the keys of
// services.
func (d Dir) WriteSA(r Registered) error {
	lidOf := func(port mad.GUID) mad.LID {
		if p := r.View.Topo.FindPort(port); p != topo.None {
			return r.View.LIDs.Base[p]
		}
		return 0
	}
	return d.replace("opensm-sa.dump", 0o600, r.Sync, func(w io.Writer) error {
		return sadb.Write(w, r.State, lidOf, r.Now)
	})
}

func (d Dir) replace(name string, mode os.FileMode, sync bool, write func(io.Writer) error) error {
	if !filepath.IsAbs(name) {
		name = filepath.Join(d.Path, name)
	}
	return atomicfile.Replace(name, mode, sync, write)
}
