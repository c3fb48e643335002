package main

import (
	"errors"
	"io/fs"
	"os"

	"ibsm/cmd/cli"
	"ibsm/mad/pma"
	"ibsm/sim/fabric"
	"ibsm/sim/playback"
	"ibsm/topo/net"
)

// nvidia is the vendor ID of NVIDIA's, once Mellanox's, switches and adapters.
const nvidia = 0x2c9

// deviceCaps makes ideal nodes as OpenSM and the diags expect them: they show extended
// speeds to requesters that do not ask for them, and NVIDIA's answer its own attributes, which
// OpenSM asks for by vendor and device ID. Real ones stay as they are, but for the additional
// counters of PortCountersExtended: libumad2sim, by which Debian's tools attach, delivers the
// first 224 of the 256 bytes, and the tools would print what its memory holds.
func deviceCaps(n *net.Net, additionalCounters bool) func(int32, *net.Node, *fabric.Caps) {
	ideal := n.Profile == net.Ideal
	return func(_ int32, n *net.Node, c *fabric.Caps) {
		if ideal {
			c.Extended = fabric.ExtendedAlways
			c.NVIDIA = n.VendorID == nvidia
		}
		if !additionalCounters {
			c.Perf.CapabilityMask2 &^= pma.IsAdditionalPortCountersExtendedSupported
		}
	}
}

// loadNet makes the topology that a generator, a file or a capture describes.
func loadNet(spec string) (*net.Net, error) {
	if playback.IsSpec(spec) {
		d, err := playback.Load(spec)
		if err != nil {
			return nil, cli.UsageError(err.Error(), "")
		}
		return d.Net, nil
	}
	n, err := net.Load(spec)
	var unread *fs.PathError
	switch {
	case err != nil && net.IsSpec(spec):
		return nil, specUsage(err)
	case errors.As(err, &unread):
		return nil, cli.UsageError(err.Error(), "expected a topology file or a generator such as fattree:k=8")
	case err == nil:
		n.Warnings.Warn(os.Stderr)
	}
	return n, err
}
