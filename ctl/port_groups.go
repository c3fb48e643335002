package ctl

// PortGroups is a list of PortGroup: of pgrp_policy_file in its order, and then of the QoS policy in its. With
// Filter.Group it has that one, which may be a group that needs no file.
const PortGroups List = "port-groups"

// PortGroup is a group of ports.
type PortGroup struct {
	Position  string            `json:"position"` // file, line and column; "" for a group that needs no file
	Name      string            `json:"name"`
	Use       string            `json:"use,omitempty"`
	Lists     string            `json:"lists"` // what it lists, in words
	Ports     int               `json:"ports"` // of its end ports, now
	Members   []PortGroupMember `json:"members"`
	More      int               `json:"more,omitempty"` // members that found no room, but have with Filter.Group
	Unmatched []UnmatchedRule   `json:"unmatched"`
}

// PortGroupMember is an end port of a group. A port of a switch is its port 0, and stands for it.
type PortGroupMember struct {
	GUID string `json:"guid"` // of the port
	Node string `json:"node"` // GUID
	Desc string `json:"desc"`
	Port uint8  `json:"port"`
	Type string `json:"type"` // CA, switch or router
}

// UnmatchedRule is a part of a rule of a group that no end port matches.
type UnmatchedRule struct {
	Position string `json:"position"`
	Rule     string `json:"rule"` // in words
}
