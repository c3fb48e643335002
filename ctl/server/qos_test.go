package server

import (
	"errors"
	"strings"
	"testing"

	"ibsm/ctl"
	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/routing/qos"
	"ibsm/sweep/device"
	"ibsm/topo"
)

// TestPathRecordDecision: the rule that decides is named with its line, and so is why there is no path.
func TestPathRecordDecision(t *testing.T) {
	v := newView(t, "fattree:k=4")
	var hosts []topo.PortIdx
	for _, p := range v.Topo.EndPorts {
		if v.Topo.Nodes[v.Topo.Ports[p].Node].Type == mad.CA {
			hosts = append(hosts, p)
		}
	}
	a, b := hosts[0], hosts[len(hosts)-1]
	for _, p := range []topo.PortIdx{a, b} {
		v.Topo.Ports[p].PKeys = topo.NewPKeyTable([]mad.PKey{0xffff, 0x8002})
	}
	from, to := v.Topo.Ports[a].GUID.String(), v.Topo.Ports[b].GUID.String()
	s := newSubnet(v, nil)
	if _, err := s.QoS(); !errors.Is(err, ctl.ErrNotFound) {
		t.Errorf("without a policy: %v", err)
	}
	number := func(n uint16) *uint16 { return &n }
	service := func(n uint64) *uint64 { return &n }
	if got, err := s.PathRecord(from, to, &ctl.PathRequest{}); err != nil || !got.Found || got.SL != 0 ||
		got.Position != "" {
		t.Errorf("without a policy: %+v %v", got, err)
	}
	const file = `qos-levels
qos-level
 name: DEFAULT
 sl: 1
end-qos-level
qos-level
 name: keys
 sl: 2
 pkey: 2-3
end-qos-level
qos-level
 name: other keys
 sl: 2
 pkey: 7
end-qos-level
end-qos-levels
port-groups
port-group
 name: G
 node-type: CA
end-port-group
end-port-groups
qos-match-rules
qos-match-rule
 service-id: 1
 qos-level-name: keys
end-qos-match-rule
qos-match-rule
 use: of class 5
 source: G
 qos-class: 5
 qos-level-name: other keys
end-qos-match-rule
end-qos-match-rules
qos-ulps
 any, pkey 2: 3
end-qos-ulps
`
	policy, findings, _ := qos.Parse(nil, "p", []byte(file))
	if policy == nil {
		t.Fatal(findings)
	}
	v.QoS = policy
	s = newSubnet(v, nil)
	shown, err := s.QoS()
	if err != nil || len(shown.Rules) != 3 || shown.Rules[1].Conditions != "from G, QoS class 5" ||
		shown.Rules[0].Limits != "SL 2, P_Key 0x0002-0x0003" ||
		*shown.Groups[0].Ports != len(hosts) || shown.Default.Position != "p:2:1" {
		t.Errorf("%+v %v", shown, err)
	}
	for _, c := range []struct {
		ask  ctl.PathRequest
		want ctl.PathAnswer
	}{
		{ctl.PathRequest{}, ctl.PathAnswer{Found: true, SL: 1, PKey: "0x8002", Level: "DEFAULT", Position: "p:2:1"}},
		{ctl.PathRequest{ServiceID: service(1)}, ctl.PathAnswer{Found: true, SL: 2, PKey: "0x0002", Level: "keys",
			Rule: "service ID 0x1", Position: "p:24:1"}},
		{ctl.PathRequest{ServiceID: service(1), PKey: number(0xffff)},
			ctl.PathAnswer{Reason: "the QoS level does not list P_Key 0xffff", Rule: "service ID 0x1",
				Position: "p:24:1"}},
		{ctl.PathRequest{PKey: number(0x8003)}, ctl.PathAnswer{Reason: "the ports do not share P_Key 0x8003",
			Position: "p:2:1"}},
		{ctl.PathRequest{QoSClass: number(5)},
			ctl.PathAnswer{Reason: "the ports share none of the P_Keys of the QoS level", Rule: "of class 5",
				Position: "p:28:1"}},
		{ctl.PathRequest{PKey: number(0x8002)}, ctl.PathAnswer{Found: true, SL: 3, PKey: "0x8002", Rule: "any, pkey 2",
			Position: "p:36:2"}},
	} {
		got, err := s.PathRecord(from, to, &c.ask)
		if err != nil || got.Found != c.want.Found || got.Found && (got.SL != c.want.SL || got.PKey != c.want.PKey) ||
			got.Rule != c.want.Rule ||
			got.Position != c.want.Position || !strings.HasPrefix(got.Reason, c.want.Reason) {
			t.Errorf("%+v: %+v %v\nwant %+v", c.ask, got, err, c.want)
		}
	}
	// The switch of the source drops SL 1 from there.
	peer := v.Topo.Ports[a].Peer
	sw := v.Topo.Ports[peer].Node
	row := make([]byte, 64*device.BlockSize)
	var table smp.SLtoVLMappingTable
	table.SetVL(1, smp.VLDrop)
	copy(row[int(v.Topo.Ports[peer].Num)*device.BlockSize:], table[:])
	v.Ports = &device.Ports{}
	for out := range v.Topo.Nodes[sw].NumPorts {
		v.Ports.Read(device.Place{Attr: smp.AttrSLtoVLMappingTable, Node: v.Topo.Nodes[sw].GUID, Port: out + 1}, row,
			nil)
	}
	got, err := newSubnet(v, nil).PathRecord(from, to, &ctl.PathRequest{})
	if err != nil || got.Found || !strings.HasPrefix(got.Reason, "SL 1 is dropped at \""+v.Topo.Nodes[sw].Desc.String()+
		"\" port ") || !strings.Contains(got.Reason, "received on port") {
		t.Errorf("%+v %v", got, err)
	}
	for _, wrong := range [][2]string{{"nobody", to}, {from, "nobody"}} {
		if _, err := s.PathRecord(wrong[0], wrong[1], &ctl.PathRequest{}); !errors.Is(err, ctl.ErrNotFound) {
			t.Errorf("%v: %v", wrong, err)
		}
	}
}
