package ibsm

import (
	"cmp"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// Device is an adapter of a node.
type Device struct {
	Device         string // such as mlx5_0
	DeviceInstance int    // counts the node's devices from 0 on
	GUID           net.HardwareAddr
}

// host is a host of the control protocol.
type host struct {
	Name   string `json:"name"`
	Shared string `json:"shared"`
	Ports  []struct {
		GUID   string `json:"guid"`
		Device string `json:"device"`
	} `json:"ports"`
}

// GetNodeIBDevices are the ports of a node's adapters, or of those of Config.Devices, by device. The node is the host
// whose NodeDescriptions begin with its name, or with its name up to the first dot.
func (c *Client) GetNodeIBDevices(node string) ([]Device, error) {
	short, _, _ := strings.Cut(node, ".")
	for _, name := range slices.Compact([]string{node, short}) {
		var found []*host
		query := url.Values{"name": {name}}
		if c.cfg.Devices != nil {
			query["device"] = c.cfg.Devices
		}
		err := c.do(request{method: http.MethodGet, path: "/v1/hosts?" + query.Encode()},
			elements("hosts", func(h *host) { found = append(found, h) }))
		switch {
		case is(err, http.StatusNotFound):
			continue
		case err != nil:
			return nil, err
		case len(found) == 0:
			return nil, fmt.Errorf("node %s has none of the adapters %s", node, strings.Join(c.cfg.Devices, ", "))
		case len(found) > 1 || found[0].Shared != "":
			return nil, fmt.Errorf("node %s: several adapters have the NodeDescription %q: its adapters are not known", node,
				found[0].Shared)
		}
		return devices(found[0])
	}
	return nil, fmt.Errorf("no host of the subnet is named %s: its adapters have other NodeDescriptions, or are off", node)
}

// devices are the ports of a host, in the order of the numbers of their devices.
func devices(h *host) (all []Device, err error) {
	for _, p := range h.Ports {
		guid, err := parseGUID(p.GUID)
		if err != nil {
			return nil, err
		}
		all = append(all, Device{Device: p.Device, GUID: guid})
	}
	slices.SortStableFunc(all, func(a, b Device) int {
		return cmp.Or(cmp.Compare(len(a.Device), len(b.Device)), cmp.Compare(a.Device, b.Device))
	})
	for i := range all {
		all[i].DeviceInstance = i
	}
	return all, nil
}
