package main

import (
	"errors"
	"io/fs"

	"ibsm/cmd/cli"
	"ibsm/sim/fabric"
	"ibsm/topo/net"
)

// nvidia is the vendor ID of NVIDIA's, once Mellanox's, switches and adapters.
const nvidia = 0x2c9

// deviceCaps makes ideal nodes as OpenSM and the diags expect them: they show extended
// speeds to those who do not ask for them, and NVIDIA's answer its own attributes, which
// OpenSM asks for by vendor and device ID. Real ones stay as they are.
func deviceCaps(n *net.Net) func(int32, *net.Node, *fabric.Caps) {
	if n.Profile != net.Ideal {
		return nil
	}
	return func(_ int32, n *net.Node, c *fabric.Caps) {
		c.Extended = fabric.ExtendedAlways
		c.NVIDIA = n.VendorID == nvidia
	}
}

// loadNet makes the topology that a generator or a file describes.
func loadNet(spec string) (*net.Net, error) {
	n, err := net.Load(spec)
	var unread *fs.PathError
	switch {
	case err != nil && net.IsSpec(spec):
		return nil, specUsage(err)
	case errors.As(err, &unread):
		return nil, cli.UsageError(err.Error(), "expected a topology file or a generator such as fattree:k=8")
	}
	return n, err
}
