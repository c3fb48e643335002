package net

import (
	"fmt"
	"testing"

	"ibsm/mad"
)

// Real devices have GUIDs by generation; the chips of a director share a SystemImageGUID that no node has as its GUID,
// and a base port 0; an aggregation node is at the last port of its switch.
func TestRealDevices(t *testing.T) {
	for _, speed := range []string{"QDR", "FDR", "EDR", "HDR", "NDR"} {
		n := generate(t, "fattree:k=6,sharp=on,missing-switches=2,speed="+speed)
		guids, images, base, nodes := map[mad.GUID]bool{}, map[mad.GUID]int{}, 0, 0
		for i := range n.Nodes {
			guids[n.Nodes[i].GUID] = true
		}
		step := mad.GUID(8)
		if speed == "NDR" {
			step = 16
		}
		for i := range n.Nodes {
			node := &n.Nodes[i]
			port := End{Node: int32(i), Port: 1}
			switch {
			case node.Type == mad.Switch:
				if images[node.SystemImageGUID]++; !node.EnhancedPort0 {
					base++
				}
				if single := node.SystemImageGUID == node.GUID; single != node.EnhancedPort0 || !single &&
					guids[node.SystemImageGUID] {
					t.Errorf("%s: switch %v of system %v, enhanced %v", speed, node.GUID, node.SystemImageGUID,
						node.EnhancedPort0)
				}
			case node.DeviceID == SHARPDevice:
				nodes++
				far := node.Ports[1].Peer
				if sw := &n.Nodes[far.Node]; int(far.Port) != 7 || sw.NumPorts() != 7 || node.GUID != sw.GUID+step ||
					node.SystemImageGUID != sw.SystemImageGUID || sw.Ports[7].Peer != port {
					t.Errorf("%s: aggregation node %v at port %d of %v", speed, node.GUID, far.Port, sw.GUID)
				}
			default:
				old := speed == "QDR" || speed == "FDR"
				if want := map[bool][2]mad.GUID{true: {node.GUID + 1, node.GUID + 3},
					false: {node.GUID, node.GUID}}[old]; node.Ports[1].GUID != want[0] ||
					node.SystemImageGUID != want[1] {
					t.Errorf("%s: host %v, port %v, system %v", speed, node.GUID, node.Ports[1].GUID,
						node.SystemImageGUID)
				}
			}
		}
		if nodes != 43 || base == 0 || base == 43 || len(images) >= 43 {
			t.Errorf("%s: %d aggregation nodes, %d base ports 0, %d systems", speed, nodes, base, len(images))
		}
	}
}

// Switches with as many ports for cables as real ones that have one for an aggregation node get it.
func TestRealRadixes(t *testing.T) {
	for spec, want := range map[string]int{
		"fattree:k=40,levels=1": 41, "fattree:k=64,levels=1": 65, "fattree:k=80,levels=1": 81,
		"fattree:k=128,levels=1": 129,
		"fattree:k=36,levels=1":  36, "fattree:k=40,levels=1,sharp=none": 40, "fattree:k=40,levels=1,speed=EDR": 40,
		"fattree:k=40,levels=1,devices=ideal": 40, "fattree:k=4,levels=1,sharp=off": 5,
		"fattree:k=254,levels=1,sharp=on": 254,
	} {
		if n := generate(t, spec); n.Nodes[0].NumPorts() != want {
			t.Errorf("%s: %d ports, want %d", spec, n.Nodes[0].NumPorts(), want)
		}
	}
	for _, text := range []string{"devices=", "devices=cheap", "sharp=maybe"} {
		if _, err := Generate(fmt.Sprintf("mesh:%s", text)); err == nil {
			t.Errorf("%s: accepted", text)
		}
	}
}
