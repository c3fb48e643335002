package metrics

import (
	"ibsm/mad"
	"ibsm/mad/pma"
	"ibsm/perf"
	"ibsm/topo"
)

// counterFamily is a counter under the name that infiniband_exporter has for it, behind
// infiniband_switch_port_ or infiniband_hca_port_.
type counterFamily struct {
	name    string
	counter pma.Counter
	help    string
}

var counterFamilies = [...]counterFamily{
	{"transmit_data_bytes_total", pma.PortXmitData, "Bytes of data sent."},
	{"receive_data_bytes_total", pma.PortRcvData, "Bytes of data received."},
	{"transmit_packets_total", pma.PortXmitPkts, "Packets sent."},
	{"receive_packets_total", pma.PortRcvPkts, "Packets received."},
	{"unicast_transmit_packets_total", pma.PortUnicastXmitPkts, "Unicast packets sent."},
	{"unicast_receive_packets_total", pma.PortUnicastRcvPkts, "Unicast packets received."},
	{"multicast_transmit_packets_total", pma.PortMulticastXmitPkts, "Multicast packets sent."},
	{"multicast_receive_packets_total", pma.PortMulticastRcvPkts, "Multicast packets received."},
	{"symbol_error_total", pma.SymbolErrorCounter, "SymbolErrorCounter: symbol errors received."},
	{"link_error_recovery_total", pma.LinkErrorRecoveryCounter,
		"LinkErrorRecoveryCounter: times the link was retrained."},
	{"link_downed_total", pma.LinkDownedCounter, "LinkDownedCounter: times the link went down."},
	{"receive_errors_total", pma.PortRcvErrors, "PortRcvErrors: damaged packets received."},
	{"receive_remote_physical_errors_total", pma.PortRcvRemotePhysicalErrors,
		"PortRcvRemotePhysicalErrors: packets received that an earlier port had marked as damaged."},
	{"receive_switch_relay_errors_total", pma.PortRcvSwitchRelayErrors,
		"PortRcvSwitchRelayErrors: packets that the switch could not forward."},
	{"transmit_discards_total", pma.PortXmitDiscards, "PortXmitDiscards: packets dropped instead of sent."},
	{"transmit_constraint_errors_total", pma.PortXmitConstraintErrors,
		"PortXmitConstraintErrors: packets not sent because of partitions."},
	{"receive_constraint_errors_total", pma.PortRcvConstraintErrors,
		"PortRcvConstraintErrors: packets dropped because of partitions."},
	{"local_link_integrity_errors_total", pma.LocalLinkIntegrityErrors,
		"LocalLinkIntegrityErrors: times local physical errors exceeded the threshold."},
	{"excessive_buffer_overrun_errors_total", pma.ExcessiveBufferOverrunErrors,
		"ExcessiveBufferOverrunErrors: times buffer overruns exceeded the threshold."},
	{"vl15_dropped_total", pma.VL15Dropped, "VL15Dropped: SMPs dropped for lack of buffers."},
	{"qp1_dropped_total", pma.QP1Dropped, "QP1Dropped: packets to queue pair 1 dropped for lack of buffers."},
	{"transmit_wait_total", pma.PortXmitWait, "PortXmitWait: ticks in which data waited for credits."},
}

// kinds are what infiniband_exporter names ports by.
var kinds = [...]struct {
	typ  mad.NodeType
	name string // in names of families, and the label that has the name of the node
}{{mad.Switch, "switch"}, {mad.CA, "hca"}}

// run is ports with the same labels, side by side in Totals.Ports: those of a switch, or one of another node.
type run struct {
	labels   portLabels
	from, to int32
}

type runs []run

// writeCounters writes what ports have counted, under the names and labels of infiniband_exporter.
func writeCounters(w *series, s *subnet, t *perf.Totals) {
	for _, kind := range kinds {
		ports := s.runs(t, kind.typ, kind.name)
		for i := range counterFamilies {
			f := &counterFamilies[i]
			w.counters("infiniband_"+kind.name+"_port_"+f.name, f.help, "guid", "port", kind.name)
			scale := float64(1)
			if f.counter == pma.PortXmitData || f.counter == pma.PortRcvData {
				scale = 4
			}
			if !ports.each(w, t, func(c *perf.Counted) (value float64, shown bool) {
				return scale * float64(c.N[f.counter]), c.Has.Has(f.counter)
			}) {
				return
			}
		}
		w.gauges("infiniband_"+kind.name+"_port_counters_read",
			"1 if the last sweep read the counters of the port, 0 if its agent did not answer or returned an error.",
			"guid", "port", kind.name)
		if !ports.each(w, t, func(c *perf.Counted) (value float64, shown bool) {
			return truth(c.Note&(perf.NoAnswer|perf.Refused) == 0), true
		}) {
			return
		}
		w.gauges("infiniband_"+kind.name+"_port_counters_incomplete",
			"Number of counters of the port that may be too low, because of a reset or a 32-bit counter; ports without such counters are left out.", "guid", "port", kind.name)
		if !ports.each(w, t, func(c *perf.Counted) (value float64, shown bool) {
			return float64(c.AtLeast.Len()), c.AtLeast != 0
		}) {
			return
		}
	}
}

// each adds a sample to the family for each port that is shown, and reports whether there is anybody to write for.
func (rs runs) each(w *series, t *perf.Totals, sample func(c *perf.Counted) (value float64, shown bool)) bool {
	for r := range rs {
		for p := rs[r].from; p < rs[r].to; p++ {
			c := &t.Ports[p]
			if value, shown := sample(c); shown && !w.addPort(value, &rs[r].labels, c.Port) {
				return false
			}
		}
	}
	return true
}

// runs are the ports of totals that belong to nodes of a type, without port 0. label is the one that has the name of
// the node.
func (s *subnet) runs(t *perf.Totals, typ mad.NodeType, label string) (all runs) {
	node, n := mad.GUID(0), topo.NodeIdx(topo.None)
	for i := range t.Ports {
		k := t.Ports[i].Key
		again := k.Node == node
		if !again {
			node, n = k.Node, s.Topo.FindNode(k.Node)
		}
		switch {
		case n == topo.None || s.Topo.Nodes[n].Type != typ || k.Port == 0 || k.Port > s.Topo.Nodes[n].NumPorts:
		case again && typ == mad.Switch && len(all) > 0 && all[len(all)-1].to == int32(i):
			all[len(all)-1].to++
		default:
			all = append(all, run{s.labels(s.Topo.Port(n, k.Port), label), int32(i), int32(i) + 1})
		}
	}
	return all
}
