package main

import (
	"fmt"
	"io"
	"os"

	"ibsm/mad/fabric"
	"ibsm/mad/fabric/net"
)

// nvidia is the vendor ID of NVIDIA's, once Mellanox's, switches and adapters.
const nvidia = 0x2c9

// deviceCaps makes nodes as most devices are, and as OpenSM and the diags expect
// them: they show extended speeds to those who do not ask for them, and NVIDIA's
// answer its own attributes, which OpenSM asks for by vendor and device ID.
func deviceCaps(_ int32, n *net.Node, c *fabric.Caps) {
	c.Extended = fabric.ExtendedAlways
	c.NVIDIA = n.VendorID == nvidia
}

// loadNet makes the topology that a generator or a file describes.
func loadNet(spec string) (*net.Net, error) {
	if net.IsSpec(spec) {
		n, err := net.Generate(spec)
		if err != nil {
			return nil, specUsage(err)
		}
		return n, nil
	}
	f, err := os.Open(spec)
	if err != nil {
		return nil, &usageError{err.Error(), "want a topology file, or a generator such as fattree:k=8"}
	}
	defer f.Close()
	src, err := io.ReadAll(io.LimitReader(f, net.MaxFile+1))
	if err != nil {
		return nil, err
	}
	if len(src) > net.MaxFile {
		return nil, fmt.Errorf("%s: larger than %d bytes", spec, net.MaxFile)
	}
	return net.Parse(spec, src)
}
