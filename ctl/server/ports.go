package server

import (
	"strconv"
	"strings"

	"ibsm/ctl"
	"ibsm/mad"
	"ibsm/topo"
)

// portMetrics writes information about ports under the names, labels and values of
// treydock's infiniband_exporter, so that dashboards made for it work here: what it asks
// the whole subnet for at each scrape is at hand.
func (s *subnet) portMetrics(m *ctl.Metrics) {
	m.Family("infiniband_switch_info", ctl.Gauge, "Infiniband switch information")
	for _, n := range s.view.Topo.Switches {
		p := s.view.Topo.Port(n, 0)
		m.Sample(1, "guid", s.view.Topo.Ports[p].GUID.String(), "lid", s.view.LIDs.Base[p].String(), "switch", s.name(n))
	}
	m.Family("infiniband_hca_info", ctl.Gauge, "Infiniband HCA information")
	s.cabled(mad.CA, func(p topo.PortIdx) {
		m.Sample(1, "guid", s.guid(p), "hca", s.name(s.view.Topo.Ports[p].Node), "lid", s.view.LIDs.Base[p].String())
	})
	m.Family("infiniband_switch_uplink_info", ctl.Gauge, "Infiniband switch uplink information")
	s.cabled(mad.Switch, func(p topo.PortIdx) { s.uplink(m, p, "switch") })
	m.Family("infiniband_hca_uplink_info", ctl.Gauge, "Infiniband HCA uplink information")
	s.cabled(mad.CA, func(p topo.PortIdx) { s.uplink(m, p, "hca") })
	m.Family("infiniband_switch_port_rate_bytes_per_second", ctl.Gauge, "Infiniband switch port rate")
	s.cabled(mad.Switch, func(p topo.PortIdx) {
		if rate := s.rate(p); rate > 0 {
			m.Sample(rate, "guid", s.guid(p), "port", strconv.Itoa(int(s.view.Topo.Ports[p].Num)))
		}
	})
	m.Family("infiniband_hca_rate_bytes_per_second", ctl.Gauge, "Infiniband HCA rate")
	s.cabled(mad.CA, func(p topo.PortIdx) {
		if rate := s.rate(p); rate > 0 {
			m.Sample(rate, "guid", s.guid(p))
		}
	})
}

// cabled visits the ports of nodes of a type that have a cable.
func (s *subnet) cabled(typ mad.NodeType, visit func(topo.PortIdx)) {
	t := s.view.Topo
	for i := range t.Ports {
		if p := &t.Ports[i]; p.Peer != topo.None && t.Nodes[p.Node].Type == typ {
			visit(topo.PortIdx(i))
		}
	}
}

func (s *subnet) guid(p topo.PortIdx) string { return s.view.Topo.Ports[p].GUID.String() }

// name is a NodeDescription as dashboards show it: of "node1 HCA-1" only the host.
func (s *subnet) name(n topo.NodeIdx) string {
	desc := s.view.Topo.Nodes[n].Desc.String()
	if strings.Contains(desc, " HCA") {
		desc, _, _ = strings.Cut(desc, " ")
	}
	return desc
}

// uplink writes what a port leads to. label names the node that the port belongs to.
func (s *subnet) uplink(m *ctl.Metrics, p topo.PortIdx, label string) {
	t := s.view.Topo
	port, peer := &t.Ports[p], t.Ports[p].Peer
	far := &t.Ports[peer]
	m.Sample(1, "guid", s.guid(p), "port", strconv.Itoa(int(port.Num)), label, s.name(port.Node),
		"uplink", s.name(far.Node), "uplink_guid", s.guid(peer), "uplink_lid", s.view.LIDs.Base[t.EndPort(peer)].String(),
		"uplink_port", strconv.Itoa(int(far.Num)), "uplink_type", short(t.Nodes[far.Node].Type))
}

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

// laneGbps is what the exporter takes for the data rate of a lane, but for XDR, which it
// takes for 250.
var laneGbps = map[mad.LinkSpeed]float64{
	mad.SDR: 2, mad.DDR: 4, mad.QDR: 8, mad.FDR10: 10, mad.FDR: 14, mad.EDR: 25, mad.HDR: 50, mad.NDR: 100, mad.XDR: 200,
}

// rate is the data rate of a link in bytes per second, 0 when it is not known.
func (s *subnet) rate(p topo.PortIdx) float64 {
	return float64(s.view.Topo.Ports[p].Info.LinkWidthActive().Lanes()) * laneGbps[s.view.Topo.LinkSpeed(p)] * 1e9 / 8
}
