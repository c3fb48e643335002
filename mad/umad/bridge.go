package umad

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"ibsm/mad"
)

// Bridge says whether a port is a function of an adapter that leads to NVLink switches, as in
// HGX and DGX hosts.
type Bridge uint8

// Bridges.
const (
	NoBridge Bridge = iota
	IsBridge
	// The adapter is of the kind that has such functions, and does not show whether this is one.
	MayBeBridge
)

// What such functions have: the PCI IDs of NVIDIA's ConnectX-7, and an entry in their vital
// product data.
const (
	bridgeVendor = "0x15b3"
	bridgeDevice = "0x1021"
)

var bridgeEntry = []byte("SMDL=SW_MNG")

// maxVPD is the size of the largest vital product data (PCI Local Bus 3.0, I).
const maxVPD = 32 << 10

// bridges holds what is known of PCI functions, by folder and port GUID: reading vital
// product data takes tens of milliseconds.
var bridges sync.Map

// bridgeOf reports whether the PCI function with this folder is a bridge to NVLink switches,
// and why that is not known. A function without vital product data is none: old adapters and
// those of virtual machines have no such file. An adapter of another kind than the bridges of
// today is none either where its data cannot be read, which only root may: a host with such
// adapters alone needs no -g.
func bridgeOf(dir string, guid mad.GUID) (is Bridge, why string) {
	if read(dir, "vendor") != bridgeVendor {
		return NoBridge, ""
	}
	key := dir + guid.String()
	if is, known := bridges.Load(key); known {
		return is.(Bridge), ""
	}
	vpd, err := readVPD(filepath.Join(dir, "vpd"))
	switch {
	case bytes.Contains(vpd, bridgeEntry): // also in front of what cannot be read
		is = IsBridge
	case err == nil:
		is = NoBridge
	case errors.Is(err, fs.ErrNotExist) || read(dir, "device") != bridgeDevice:
		return NoBridge, ""
	default:
		if path := (*fs.PathError)(nil); errors.As(err, &path) {
			err = path.Err
		}
		return MayBeBridge, err.Error()
	}
	bridges.Store(key, is)
	return is, ""
}

func readVPD(name string) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, maxVPD))
}
