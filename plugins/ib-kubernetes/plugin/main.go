//go:build ibkubernetes

// Plugin is the plug-in ibsm of ib-kubernetes (DAEMON_SM_PLUGIN=ibsm). It is built beside ib-kubernetes' source, with
// make plugin: a plug-in in Go must be built with the same compiler, and from the same source, as the program that
// loads it.
package main

import (
	"os"

	"github.com/Mellanox/ib-kubernetes/pkg/sm/plugins"

	ibsm "ibsm/plugins/ib-kubernetes"
)

// Initialize is what ib-kubernetes calls when it has loaded the plug-in.
func Initialize() (plugins.SubnetManagerClient, error) {
	c, err := ibsm.New(ibsm.FromEnv(os.Getenv))
	if err != nil {
		return nil, err
	}
	return client(c), nil
}

func main() {}
