package ufm

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"ibsm/ctl"
	"ibsm/ctl/shape"
	"ibsm/mad"
)

// absent is what stands where there is nothing.
const absent = "N/A"

// system is a switch, a router or a host with all its adapters.
type system struct {
	id    string // digits of its GUID
	name  string
	host  string   // the name of a host; "" for none
	kind  string   // Computer, Switch or Router
	tier  int      // 1 of a host, 2 of a leaf, 3 of what is above
	nodes []string // GUIDs, ascending
}

// fabric is the subnet as UFM shows it: systems by node. It has no aggregation nodes.
type fabric struct {
	subnet  ctl.Subnet
	systems []*system // by the first of their nodes as the subnet lists them
	of      map[string]*system
	nodes   map[string]*ctl.Node
}

// rows are copies of the rows of a list.
func rows[T any](sub ctl.Subnet, l ctl.List) (all []*T, err error) {
	found, err := sub.Rows(l, ctl.Filter{})
	if err != nil {
		return nil, err
	}
	for row := range found {
		one := *row.(*T)
		all = append(all, &one)
	}
	return all, nil
}

// subnet is the one that the manager has published.
func (s *Server) subnet() (ctl.Subnet, error) {
	sub := s.cfg.Source.Subnet()
	if sub == nil {
		return nil, fmt.Errorf("%w: the subnet is not known: only a master that has completed a sweep knows it",
			ctl.ErrNotNow)
	}
	return sub, nil
}

// fabric reads the subnet. levels says that tiers of switches are wanted.
func (s *Server) fabric(levels bool) (*fabric, error) {
	sub, err := s.subnet()
	if err != nil {
		return nil, err
	}
	nodes, err := rows[ctl.Node](sub, ctl.Nodes)
	if err != nil {
		return nil, err
	}
	hosts, err := rows[ctl.Host](sub, ctl.Hosts)
	if err != nil {
		return nil, err
	}
	f := &fabric{subnet: sub, of: map[string]*system{}, nodes: map[string]*ctl.Node{}}
	for _, n := range nodes {
		f.nodes[n.GUID] = n
	}
	hostOf := map[string]*ctl.Host{}
	for _, h := range hosts {
		for i := range h.Ports {
			hostOf[h.Ports[i].Node] = h
		}
	}
	for _, n := range nodes {
		if f.of[n.GUID] == nil && !n.Aggregation {
			f.add(n, hostOf[n.GUID])
		}
	}
	if !levels {
		return f, nil
	}
	links, err := rows[ctl.Link](sub, ctl.Links)
	if err != nil {
		return nil, err
	}
	for _, sw := range shape.New(nodes, links).Switches {
		if of := f.of[sw.GUID]; of != nil {
			of.tier = sw.Level + 1
		}
	}
	return f, nil
}

// add adds the system of a node. h is its host, nil for none.
func (f *fabric) add(n *ctl.Node, h *ctl.Host) {
	one := &system{id: systemID(n), name: nameOfNode(n.Desc), kind: kinds[n.Type], tier: 1, nodes: []string{n.GUID}}
	if h != nil {
		one.name, one.host, one.nodes = h.Name, h.Name, nil
		for i := range h.Ports {
			if p := &h.Ports[i]; !slices.Contains(one.nodes, p.Node) {
				one.nodes = append(one.nodes, p.Node)
			}
		}
		if first := f.nodes[one.nodes[0]]; first != nil {
			one.id = systemID(first)
		}
	}
	one.name = cmp.Or(one.name, one.id)
	f.systems = append(f.systems, one)
	for _, guid := range one.nodes {
		f.of[guid] = one
	}
}

// kinds are what UFM calls types of nodes.
var kinds = map[string]string{mad.CA.String(): computer, mad.Switch.String(): "Switch", mad.Router.String(): "Router"}

const computer = "Computer"

// systemID is the system that a node says it is of, or else its own GUID.
func systemID(n *ctl.Node) string {
	if id := digits(n.SystemGUID); strings.Trim(id, "0") != "" {
		return id
	}
	return digits(n.GUID)
}

// digits is a GUID as UFM writes it.
func digits(guid string) string { return strings.TrimPrefix(guid, "0x") }

// nameOfNode is what an operator calls a switch or router: of a managed one, with the NodeDescription
// "MF0;NAME:MODEL/U1", its NAME.
func nameOfNode(desc string) string {
	if _, rest, is := strings.Cut(desc, ";"); is {
		if name, _, is := strings.Cut(rest, ":"); is && name != "" {
			return name
		}
	}
	return strings.TrimSpace(desc)
}

// label is the number of a port as it stands at it: of a host with the number of its adapter.
func (f *fabric) label(node string, num uint8) string {
	of := f.of[node]
	if of == nil || of.kind != computer {
		return strconv.Itoa(int(num))
	}
	return fmt.Sprintf("HCA-%d/%d", slices.Index(of.nodes, node)+1, num)
}

// name is the system of a node; "N/A" where it is not known.
func (f *fabric) name(node string) string {
	if of := f.of[node]; of != nil {
		return of.name
	}
	return absent
}

// description is the NodeDescription of a node, of a switch or router its name and the label of the port.
func (f *fabric) description(node, desc string, num uint8) string {
	if of := f.of[node]; of != nil && of.kind != computer {
		return of.name + ":" + f.label(node, num)
	}
	return strings.TrimSpace(desc)
}

// hostsOfPorts are the hosts of ports by GUID.
func (s *Server) hostsOfPorts() (map[mad.GUID]string, error) {
	sub, err := s.subnet()
	if err != nil {
		return nil, err
	}
	hosts, err := rows[ctl.Host](sub, ctl.Hosts)
	if err != nil {
		return nil, err
	}
	of := map[mad.GUID]string{}
	for _, h := range hosts {
		for i := range h.Ports {
			if guid, err := mad.ParseGUID(h.Ports[i].GUID); err == nil {
				of[guid] = h.Name
			}
		}
	}
	return of, nil
}
