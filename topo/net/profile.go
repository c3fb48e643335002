package net

import (
	"fmt"
	"slices"
	"strings"

	"ibsm/mad"
)

// Profile is the sort of devices that a fabric is made of. It decides what the generators
// give to nodes, and what the simulated fabric's agents report at power-up.
type Profile uint8

// Profiles.
const (
	RealDevices Profile = 0 // what switches and adapters of the links' speeds have been seen to report
	Ideal       Profile = 1 // devices that fill in each field as the architecture would have it
)

var profileNames = []string{RealDevices: "real", Ideal: "ideal"}

func (p Profile) String() string {
	if int(p) < len(profileNames) {
		return profileNames[p]
	}
	return fmt.Sprintf("profile %d", uint8(p))
}

// ParseProfile reads the name of a profile: real or ideal.
func ParseProfile(text string) (Profile, error) {
	for p, name := range profileNames {
		if text == name {
			return Profile(p), nil
		}
	}
	return 0, fmt.Errorf("expected real or ideal")
}

func readProfile(text string) (value, error) {
	p, err := ParseProfile(text)
	return value{profile: p}, err
}

// SHARPDevice is the device ID of the aggregation node that a switch of NVIDIA's has beside
// its own node while SHARP is on.
const SHARPDevice = 0xcf09

// sharpState is what switches have for SHARP.
type sharpState int

// States of SHARP.
const (
	sharpByRadix sharpState = 0 // sharpOff where real switches have such a number of ports, else sharpNone
	sharpNone    sharpState = 1 // no port for an aggregation node
	sharpOff     sharpState = 2 // the port, which has no cage, is always down
	sharpOn      sharpState = 3 // an aggregation node is at the port
)

var sharpWords = []string{sharpByRadix: "auto", sharpNone: "none", sharpOff: "off", sharpOn: "on"}

func readSHARP(text string) (value, error) {
	if i := slices.Index(sharpWords, text); i >= 0 {
		return value{n: i}, nil
	}
	return value{}, fmt.Errorf("expected one of %s", strings.Join(sharpWords, ", "))
}

// realRadixes are the numbers of ports that switches with a port for an aggregation node have
// for cables: whole and split ones of HDR and of NDR.
var realRadixes = []int{40, 64, 80, 128}

// sharpPort reports whether a switch with that many ports for cables has one more.
func (b *builder) sharpPort(ports int) bool {
	switch {
	case ports >= maxSwitchPorts:
		return false
	case b.sharp == sharpByRadix:
		return b.profile == RealDevices && b.speed >= mad.HDR && slices.Contains(realRadixes, ports)
	}
	return b.sharp != sharpNone
}

// Of each ten switches of real devices, all but the first four are the chips of a director:
// they share a SystemImageGUID that is the GUID of no node, and have a base port 0.
const (
	switchesOfTen = 10
	singleSwitch  = 4
)

// directorImage makes the SystemImageGUIDs of directors differ from the GUIDs of nodes, which
// are multiples of 8.
const directorImage = 0x3f

// realSwitch makes the i-th switch of a fabric a real one.
func realSwitch(n *Node, i int) {
	if i%switchesOfTen < singleSwitch {
		return
	}
	n.EnhancedPort0 = false
	director := i - i%switchesOfTen + singleSwitch // its first switch
	n.SystemImageGUID = switchGUIDs + mad.GUID(director*switchStep) + directorImage
}

// realHost gives a host the GUIDs of adapters of that speed.
func realHost(n *Node, speed mad.LinkSpeed) {
	if speed >= mad.EDR {
		n.Ports[1].GUID = n.GUID
		return
	}
	n.SystemImageGUID = n.GUID + 3
}

// addAggregationNodes puts an aggregation node on the last port of each switch, which
// generators leave free. Speed is that of the fabric's links.
func (n *Net) addAggregationNodes(speed mad.LinkSpeed) {
	step := mad.GUID(8)
	if speed >= mad.NDR {
		step = 16
	}
	for i := range n.Nodes {
		sw := &n.Nodes[i]
		num := sw.NumPorts()
		if sw.Type != mad.Switch || sw.Ports[num].Peer != NoEnd {
			continue // a switch with as many cables as there are port numbers
		}
		guid := sw.GUID + step
		node := Node{
			ID: fmt.Sprintf("H-%016x", uint64(guid)), Desc: "Mellanox Technologies Aggregation Node", Type: mad.CA,
			GUID: guid, SystemImageGUID: sw.SystemImageGUID, VendorID: nvidia, DeviceID: SHARPDevice, Ports: bare(1),
		}
		node.Ports[1] = Port{GUID: guid, Peer: End{int32(i), uint8(num)}, Width: mad.Width4x, Speed: speed}
		sw.Ports[num] = Port{Peer: End{int32(len(n.Nodes)), 1}, Width: mad.Width4x, Speed: speed}
		n.Nodes = append(n.Nodes, node)
	}
}
