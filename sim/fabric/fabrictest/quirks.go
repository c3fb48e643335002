package fabrictest

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/sim/fabric"
	"ibsm/topo/net"
	"ibsm/topo/net/nettest"
)

// QuirkSpec is the fabric of QuirkCells: two levels of switches, with eight hosts.
const QuirkSpec = "fattree:k=4,levels=2"

// QuirkNet is the Net of QuirkSpec, of real devices whatever IBSM_PROFILE says.
func QuirkNet(t testing.TB) *net.Net {
	n := nettest.Generate(t, QuirkSpec)
	n.Profile = net.RealDevices
	return n
}

// QuirkSetups are the settings of managers of QuirkCells.
var QuirkSetups = []string{"plain", "qos", "partitions", "m_keys"}

// QuirkPartitions is the partition file of the setup partitions.
const QuirkPartitions = "Default=0x7fff, ipoib : ALL_CAS=full ;\nall=0x11 : ALL_CAS=full ;\n"

// otherKey is the P_Key of the second partition.
const otherKey mad.PKey = 0x8011

// QuirkMKey is the M_Key of the setup m_keys, with protection level 2 and a lease period of 60 s.
const QuirkMKey mad.MKey = 0x1122334455667788

// models are the devices that have a quirk: quirks come by model.
var models = []string{"switches", "adapters", "one of each"}

// QuirkCell is a fabric of which all devices of a model but the manager's adapter have a quirk, under a manager.
type QuirkCell struct {
	Setup string // one of QuirkSetups
	Model string // "switches", "adapters", or "one of each": a spine and an adapter
	fabric.Quirk
}

func (c QuirkCell) String() string { return fmt.Sprintf("%s | %s | %v", c.Setup, c.Model, c.Quirk) }

// Manager is where the manager is attached: port 1 of the first adapter.
func Manager(n *net.Net) net.End {
	return net.End{Node: int32(slices.IndexFunc(n.Nodes, func(n net.Node) bool { return n.Type == mad.CA })), Port: 1}
}

// Has reports whether a node of a Net has the quirk.
func (c QuirkCell) Has(n *net.Net, node int32) bool {
	is := n.Nodes[node].Type
	switch {
	case node == Manager(n).Node:
		return false
	case c.Model == "switches":
		return is == mad.Switch
	case c.Model == "adapters":
		return is == mad.CA
	}
	last := int32(len(n.Nodes) - 1)
	for n.Nodes[last].Type != is {
		last--
	}
	return node == last // of its type: a spine, or the last adapter
}

// QuirkCells are all setups, models and quirks of attributes that a manager may ask for or set.
func QuirkCells() (cells []QuirkCell) {
	ofSwitches := []mad.AttrID{smp.AttrSwitchInfo, smp.AttrLinearForwardingTable, smp.AttrMulticastForwardingTable,
		smp.AttrGeneralInfo, smp.AttrARInfo,
		smp.AttrPrivateLFTInfo}
	attrs := append([]mad.AttrID{smp.AttrNodeInfo, smp.AttrNodeDescription, smp.AttrPortInfo, smp.AttrGUIDInfo,
		smp.AttrPKeyTable, smp.AttrSLtoVLMappingTable,
		smp.AttrVLArbitrationTable, smp.AttrExtendedPortInfo}, ofSwitches...)
	readOnly := []mad.AttrID{smp.AttrNodeInfo, smp.AttrNodeDescription, smp.AttrGUIDInfo, smp.AttrGeneralInfo,
		smp.AttrPrivateLFTInfo}
	for _, setup := range QuirkSetups {
		for _, model := range models {
			for _, attr := range attrs {
				if model == "adapters" && slices.Contains(ofSwitches, attr) {
					continue
				}
				for _, q := range quirksOf(attr, !slices.Contains(readOnly, attr)) {
					cells = append(cells, QuirkCell{setup, model, q})
				}
			}
		}
	}
	return cells
}

// quirksOf are the quirks of one attribute.
func quirksOf(attr mad.AttrID, set bool) (all []fabric.Quirk) {
	for _, method := range []mad.Method{mad.MethodGet, mad.MethodSet} {
		if method == mad.MethodSet && !set {
			continue
		}
		all = append(all, fabric.Quirk{Method: method, Attr: attr, Answer: fabric.NoAnswer})
		for _, status := range []mad.Status{0x04, 0x08, mad.StatusBadMethodAttr, mad.StatusBadField} {
			all = append(all, fabric.Quirk{Method: method, Attr: attr, Answer: fabric.AnswersStatus, Status: status})
		}
		if method == mad.MethodSet {
			for _, answer := range []fabric.Answer{fabric.Acknowledges, fabric.Ignores, fabric.AnswersBefore} {
				all = append(all, fabric.Quirk{Method: method, Attr: attr, Answer: answer})
			}
		}
	}
	return all
}

// Multicasts reports whether the quirk is of multicast: then all Members join IPoIB's broadcast group.
func (c QuirkCell) Multicasts() bool { return c.Attr == smp.AttrMulticastForwardingTable }

// Members are the ports of all adapters but the manager's.
func Members(f *fabric.Fabric) (all []net.End) {
	for at := range f.Ports() {
		if f.NodeType(at.Node) == mad.CA {
			all = append(all, at)
		}
	}
	return all[1:]
}

// Pairs sends a packet from each adapter to each other, on SL 0 and in each partition of the setup, and counts those
// that arrive. ARMED ports go ACTIVE by that. In cells of multicast each member sends one to the group in place of
// these.
func (c QuirkCell) Pairs(f *fabric.Fabric) (arrive, all int) {
	if c.Multicasts() {
		ends := Members(f)
		for _, from := range ends {
			arrive += len(f.ProbeMulticast(from, mad.MinMulticastLID, mad.DefaultPKey, 0).Delivered)
		}
		return arrive, len(ends) * (len(ends) - 1)
	}
	keys := []mad.PKey{mad.DefaultPKey}
	if c.Setup == "partitions" {
		keys = append(keys, otherKey)
	}
	for from := range f.Ports() {
		for to := range f.Ports() {
			if from == to || f.NodeType(from.Node) != mad.CA || f.NodeType(to.Node) != mad.CA {
				continue
			}
			info := f.PortInfo(to)
			for _, key := range keys {
				if _, end := f.Probe(from, info.LID(), key, 0, nil); end == fabric.Delivered {
					arrive++
				}
				all++
			}
		}
	}
	return arrive, all
}

// QuirkTable is how many pairs OpenSM connects in each QuirkCell.
type QuirkTable map[QuirkCell]int

// ReadQuirkTable reads a table: lines of a cell's String, "|" and the number, and comments that begin with "#".
func ReadQuirkTable(t testing.TB, file string) QuirkTable {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	table := QuirkTable{}
	for lines := bufio.NewScanner(bytes.NewReader(text)); lines.Scan(); {
		if strings.HasPrefix(lines.Text(), "#") {
			continue
		}
		var c QuirkCell
		pairs := 0
		fields := strings.Split(lines.Text(), " | ")
		if len(fields) == 4 {
			words := strings.Fields(fields[2])
			c.Setup, c.Model = fields[0], fields[1]
			if c.Quirk, err = fabric.ParseQuirk(words[0], words[1], words[2]); err == nil {
				_, err = fmt.Sscan(fields[3], &pairs)
			}
		}
		if err != nil || len(fields) != 4 {
			t.Fatalf("%s: %q: %v", file, lines.Text(), err)
		}
		table[c] = pairs
	}
	return table
}
