//go:build ibkubernetes && !fabricclient

package main

import (
	"github.com/Mellanox/ib-kubernetes/pkg/sm/plugins"

	ibsm "ibsm/plugins/ib-kubernetes"
)

// client is what releases of ib-kubernetes without plugins.FabricClient use.
func client(c *ibsm.Client) plugins.SubnetManagerClient { return c }
