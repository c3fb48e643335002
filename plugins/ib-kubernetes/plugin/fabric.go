//go:build ibkubernetes && fabricclient

package main

import (
	"errors"
	"net"

	"github.com/Mellanox/ib-kubernetes/pkg/sm/plugins"

	ibsm "ibsm/plugins/ib-kubernetes"
)

// fabricClient has partitions by name.
type fabricClient struct{ *ibsm.Client }

var _ plugins.FabricClient = fabricClient{}

// client is what versions of ib-kubernetes with plugins.FabricClient use.
func client(c *ibsm.Client) plugins.SubnetManagerClient { return fabricClient{c} }

// AddGuidsToPKey returns plugins.ErrPending until the ports have the P_Key.
func (c fabricClient) AddGuidsToPKey(key int, guids []net.HardwareAddr) error {
	err := c.Client.AddGuidsToPKey(key, guids)
	if err == nil {
		err = c.Applied(key, guids)
	}
	if errors.Is(err, ibsm.ErrPending) {
		return plugins.ErrPending
	}
	return err
}

func (c fabricClient) GetNodeIBDevices(node string) ([]plugins.IBDeviceGUID, error) {
	devices, err := c.Client.GetNodeIBDevices(node)
	all := make([]plugins.IBDeviceGUID, len(devices))
	for i, d := range devices {
		all[i] = plugins.IBDeviceGUID(d)
	}
	return all, err
}
