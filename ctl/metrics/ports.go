package metrics

import (
	"iter"
	"strconv"
	"strings"

	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/topo"
	"ibsm/view"
)

// subnet is a published view with the texts of its nodes.
type subnet struct {
	*view.View
	wanted func(mad.GUID) bool // nodes; nil for all
	names  []string            // of nodes, by index
	guids  []string            // of nodes, by index
}

// writePorts writes information about ports under the names, labels and values of
// treydock's infiniband_exporter, so that dashboards made for it work here: what it asks
// the whole subnet for at each scrape is at hand.
func writePorts(w *series, s *subnet) {
	s.info(w)
	s.up(w)
	w.gauges("infiniband_switch_uplink_info", "Infiniband switch uplink information", uplinkLabels("switch")...)
	s.uplinks(w, mad.Switch)
	w.gauges("infiniband_hca_uplink_info", "Infiniband HCA uplink information", uplinkLabels("hca")...)
	s.uplinks(w, mad.CA)
	s.rates(w)
}

// newSubnet is a view with the texts of its nodes; wanted are those that are wanted, nil for all.
func newSubnet(v *view.View, wanted func(mad.GUID) bool) *subnet {
	s := &subnet{View: v, wanted: wanted, names: make([]string, len(v.Topo.Nodes)),
		guids: make([]string, len(v.Topo.Nodes))}
	for n := range v.Topo.Nodes {
		s.names[n], s.guids[n] = name(v.Topo.Nodes[n].Desc.String()), v.Topo.Nodes[n].GUID.String()
	}
	return s
}

// has reports whether a node is wanted.
func (s *subnet) has(n topo.NodeIdx) bool { return s.wanted == nil || s.wanted(s.Topo.Nodes[n].GUID) }

// name is a NodeDescription as dashboards show it: of "node1 HCA-1" only the host.
func name(desc string) string {
	if strings.Contains(desc, " HCA") {
		desc, _, _ = strings.Cut(desc, " ")
	}
	return desc
}

// cabled are the ports of nodes of a type that have a cable.
func (s *subnet) cabled(typ mad.NodeType) iter.Seq2[topo.PortIdx, *topo.Port] {
	return func(yield func(topo.PortIdx, *topo.Port) bool) {
		t := s.Topo
		for i := range t.Ports {
			if p := &t.Ports[i]; p.Peer != topo.None && t.Nodes[p.Node].Type == typ && s.has(p.Node) &&
				!yield(topo.PortIdx(i), p) {
				return
			}
		}
	}
}

// guid is that of a port. External ports of a switch have the GUID of its node.
func (s *subnet) guid(p *topo.Port) string {
	if p.GUID == s.Topo.Nodes[p.Node].GUID {
		return s.guids[p.Node]
	}
	return p.GUID.String()
}

// labels are those of a port, which all external ports of a switch share. label is the one that has the name of the
// node.
func (s *subnet) labels(p topo.PortIdx, label string) portLabels {
	port := &s.Topo.Ports[p]
	return newPortLabels(s.guid(port), label, s.names[port.Node])
}

// lid is the LID that a port is reached by, which all ports of a switch share.
func (s *subnet) lid(p topo.PortIdx) string { return s.LIDs.Base[s.Topo.EndPort(p)].String() }

func (s *subnet) info(w *series) {
	w.gauges("infiniband_switch_info", "Infiniband switch information", "guid", "lid", "switch")
	for _, n := range s.Topo.Switches {
		p := s.Topo.Port(n, 0)
		if s.has(n) && !w.add(1, s.guid(&s.Topo.Ports[p]), s.lid(p), s.names[n]) {
			return
		}
	}
	w.gauges("infiniband_hca_info", "Infiniband HCA information", "guid", "hca", "lid")
	for i, p := range s.cabled(mad.CA) {
		if !w.add(1, s.guid(p), s.names[p.Node], s.lid(i)) {
			return
		}
	}
}

// up writes which nodes answer, and which ports of switches are up.
func (s *subnet) up(w *series) {
	w.gauges("infiniband_switch_up", "1 if the switch answered the last sweep of the manager, 0 if it did not.", "guid",
		"switch")
	for _, n := range s.Topo.Switches {
		if s.has(n) && !w.add(truth(s.Topo.Nodes[n].Missed == 0), s.guids[n], s.names[n]) {
			return
		}
	}
	w.gauges("infiniband_hca_up",
		"1 if the adapter answered the last sweep of the manager at this port, 0 if it did not.", "guid", "hca")
	for _, p := range s.cabled(mad.CA) {
		if !w.add(truth(s.Topo.Nodes[p.Node].Missed == 0), s.guid(p), s.names[p.Node]) {
			return
		}
	}
	w.gauges("infiniband_switch_port_state", "1 if the port is Active, 0 if it is not.", "guid", "port", "switch")
	for _, n := range s.Topo.Switches {
		if !s.has(n) {
			continue
		}
		labels := s.labels(s.Topo.Port(n, 0), "switch")
		for num := 1; num <= int(s.Topo.Nodes[n].NumPorts); num++ {
			p := s.Topo.Port(n, uint8(num))
			if !w.addPort(truth(s.Topo.Ports[p].Info.PortState() >= smp.PortActive), &labels, uint8(num)) {
				return
			}
		}
	}
}

// uplinkLabels are those of an uplink, with the label that has the name of the node.
func uplinkLabels(node string) []string {
	return []string{"guid", "port", node, "uplink", "uplink_guid", "uplink_lid", "uplink_port", "uplink_type"}
}

// uplinks writes what ports lead to.
func (s *subnet) uplinks(w *series, typ mad.NodeType) {
	for _, p := range s.cabled(typ) {
		far := &s.Topo.Ports[p.Peer]
		if !w.add(1, s.guid(p), number(p), s.names[p.Node],
			s.names[far.Node], s.guid(far), s.lid(p.Peer), number(far), short(s.Topo.Nodes[far.Node].Type)) {
			return
		}
	}
}

func number(p *topo.Port) string { return strconv.Itoa(int(p.Num)) }

// short is the type as ibnetdiscover prints it.
func short(t mad.NodeType) string {
	switch t {
	case mad.Switch:
		return "SW"
	case mad.Router:
		return "RT"
	}
	return "CA"
}

func (s *subnet) rates(w *series) {
	w.gauges("infiniband_switch_port_rate_bytes_per_second", "Infiniband switch port rate", "guid", "port", "switch")
	node, labels := topo.NodeIdx(topo.None), portLabels{}
	for i, p := range s.cabled(mad.Switch) {
		if p.Node != node {
			node, labels = p.Node, s.labels(i, "switch")
		}
		if rate := s.rate(i); rate > 0 && !w.addPort(rate, &labels, p.Num) {
			return
		}
	}
	w.gauges("infiniband_hca_port_rate_bytes_per_second", "Infiniband HCA port rate", "guid", "port", "hca")
	for i, p := range s.cabled(mad.CA) {
		if rate := s.rate(i); rate > 0 && !w.add(rate, s.guid(p), number(p), s.names[p.Node]) {
			return
		}
	}
	w.gauges("infiniband_hca_rate_bytes_per_second", "Infiniband HCA rate", "guid")
	for i, p := range s.cabled(mad.CA) {
		if rate := s.rate(i); rate > 0 && !w.add(rate, s.guid(p)) {
			return
		}
	}
}

// laneGbps is what the exporter takes for the data rate of a lane, but for XDR, which it
// takes for 250.
var laneGbps = map[mad.LinkSpeed]float64{
	mad.SDR: 2, mad.DDR: 4, mad.QDR: 8, mad.FDR10: 10, mad.FDR: 14, mad.EDR: 25, mad.HDR: 50, mad.NDR: 100,
	mad.XDR: 200,
}

// rate is the data rate of a link in bytes per second, 0 when it is not known.
func (s *subnet) rate(p topo.PortIdx) float64 {
	return float64(s.Topo.Ports[p].Info.LinkWidthActive().Lanes()) * laneGbps[s.Topo.LinkSpeed(p)] * 1e9 / 8
}
