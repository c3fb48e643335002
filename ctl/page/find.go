package page

import (
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"ibsm/ctl"
	"ibsm/mad"
)

// Found is something that a text finds.
type Found struct {
	Kind string `json:"kind"` // node, port, partition, group or path
	Name string `json:"name"`
	Text string `json:"text"` // what else there is to say
	// Node and Port are its place on the map; "" for none.
	Node string `json:"node,omitempty"` // GUID
	Port uint8  `json:"port,omitempty"`
	// Links are the cables of a host to switches, also one that has gone with it.
	Links []FoundLink `json:"links,omitempty"`
}

// FoundLink is a cable of a host.
type FoundLink struct {
	Port       uint8  `json:"port"`
	Switch     string `json:"switch"` // GUID
	SwitchPort uint8  `json:"switch_port"`
}

// mostFound bounds what is found.
const mostFound = 50

// find finds nodes by name, GUID or LID, ports by GUID, LID or GID, partitions by name or P_Key, and groups by MGID.
// Those whose name is the text, or begins with it, come first.
func find(sub ctl.Subnet, partitions []*ctl.Partition, text string) ([]Found, error) {
	text = strings.ToLower(strings.TrimSpace(text))
	ranked := [3][]Found{}
	note := func(f Found, names ...string) {
		best := len(ranked)
		for _, name := range names {
			switch name = strings.ToLower(strings.TrimSpace(name)); {
			case name == text || ctl.HostName(name) == text:
				best = 0
			case strings.HasPrefix(name, text):
				best = min(best, 1)
			case strings.Contains(name, text):
				best = min(best, 2)
			}
		}
		if best < len(ranked) && len(ranked[best]) < mostFound {
			ranked[best] = append(ranked[best], f)
		}
	}
	if text == "" {
		return []Found{}, nil
	}
	for _, p := range partitions {
		f := Found{Kind: "partition", Name: p.Name, Text: "P_Key " + p.PKey}
		note(f, p.Name, p.PKey)
	}
	if sub == nil {
		return join(ranked), nil
	}
	nodes, err := sub.Rows(ctl.Nodes, ctl.Filter{Absent: true})
	if err != nil {
		return nil, err
	}
	lid, isLID := uint64(0), false
	if n, err := strconv.ParseUint(text, 0, 16); err == nil {
		lid, isLID = n, true
	}
	guid := gidGUID(text)
	for row := range nodes {
		n := row.(*ctl.Node)
		f := Found{Kind: "node", Name: strings.TrimSpace(n.Desc), Text: fmt.Sprintf("%s, GUID %s, LID %d", n.Type, n.GUID,
			n.LID), Node: n.GUID}
		if n.Absent != nil {
			f.Text += ", absent"
		}
		if isLID && uint64(n.LID) == lid && lid != 0 || guid != "" && n.GUID == guid {
			ranked[0] = append(ranked[0], f)
			continue
		}
		note(f, n.Desc, n.GUID, strings.TrimPrefix(n.GUID, "0x"))
	}
	if isLID || guid != "" || strings.HasPrefix(text, "0x") || len(text) > 11 {
		if err := findPorts(sub, &ranked[0], text, guid, mad.LID(lid)); err != nil {
			return nil, err
		}
	}
	if strings.HasPrefix(text, "ff") {
		groups, err := sub.Rows(ctl.Groups, ctl.Filter{})
		if err != nil {
			return nil, err
		}
		for row := range groups {
			g := row.(*ctl.Group)
			note(Found{Kind: "group", Name: g.MGID, Text: fmt.Sprintf("MLID %v, P_Key %s, %d members", g.MLID, g.PKey,
				g.Members)}, g.MGID)
		}
	}
	return join(ranked), nil
}

// addLinks adds the cables of hosts that were found.
func (c *chart) addLinks(all []Found) {
	at := map[string][]*Found{}
	for i := range all {
		if f := &all[i]; f.Node != "" {
			at[f.Node] = append(at[f.Node], f)
		}
	}
	for _, squares := range c.squares {
		for _, l := range squares {
			own, far := l.from, l.to
			if own.node.kind == "switch" {
				own, far = far, own
			}
			for _, f := range at[own.node.guid] {
				f.Links = append(f.Links, FoundLink{own.num, far.node.guid, far.num})
			}
		}
	}
}

// findPorts finds ports by GUID or LID whose node has another one.
func findPorts(sub ctl.Subnet, into *[]Found, text, guid string, lid mad.LID) error {
	ports, err := sub.Rows(ctl.Ports, ctl.Filter{})
	if err != nil {
		return err
	}
	for row := range ports {
		p := row.(*ctl.Port)
		is := p.GUID == text || strings.TrimPrefix(p.GUID, "0x") == text || guid != "" && p.GUID == guid
		if p.Type == "switch" && p.Num > 0 { // it has the GUID and the LID of its switch
			continue
		}
		if p.LID != 0 && lid >= p.LID && int(lid) < int(p.LID)+1<<p.LMC {
			is = true
		}
		if !is || len(*into) >= mostFound ||
			slices.ContainsFunc(*into, func(f Found) bool { return f.Node == p.Node }) {
			continue
		}
		*into = append(*into, Found{Kind: "port", Name: fmt.Sprintf("%s port %d", strings.TrimSpace(p.Desc), p.Num),
			Text: fmt.Sprintf("GUID %s, LID %d, %s", p.GUID, p.LID, p.State), Node: p.Node, Port: p.Num})
	}
	return nil
}

// gidGUID is the GUID in a GID, "" for another text.
func gidGUID(text string) string {
	addr, err := netip.ParseAddr(text)
	if err != nil || !addr.Is6() || addr.Zone() != "" {
		return ""
	}
	return mad.GID(addr.As16()).GUID().String()
}

// join puts ranks one after the other.
func join(ranked [3][]Found) []Found {
	all := append([]Found{}, slices.Concat(ranked[:]...)...)
	return all[:min(len(all), mostFound)]
}
