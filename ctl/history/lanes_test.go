package history

import (
	"testing"

	"ibsm/mad/smp"
	"ibsm/routing"
	"ibsm/sweep/device"
	"ibsm/topo"
	"ibsm/topo/net"
	"ibsm/topo/net/nettest"
	"ibsm/topo/netwalk"
	"ibsm/view"
)

// TestLanes: a path with another SL, and a port with another table, are changes; what was not known
// is none.
func TestLanes(t *testing.T) {
	of, err := netwalk.Topo(nettest.Generate(t, "torus:dims=3,hosts=1"), net.NoEnd)
	if err != nil {
		t.Fatal(err)
	}
	lids := topo.SequentialLIDs(of, 0)
	rows := func(sl uint8) [][]uint8 { return [][]uint8{{0, sl, 0}, {0, 0, 0}, {0, 0, 0}} }
	sw := &of.Nodes[of.Switches[1]]
	at := device.Place{Attr: smp.AttrSLtoVLMappingTable, Node: sw.GUID, Port: 2}
	moment := func(sls *routing.SLs, fill byte, missing []int) Moment {
		row := make([]byte, (int(sw.NumPorts)+1)*device.BlockSize)
		row[device.BlockSize] = fill // of SLs 0 and 1 from port 1
		ports := &device.Ports{}
		ports.Read(at, row, missing)
		return Moment{
			View: &view.View{Topo: of, LIDs: lids, Tables: &routing.Tables{LFT: make([][]uint8, len(of.Switches)),
				SLs: sls}, Ports: ports},
		}
	}
	was := moment(nil, 0, nil)
	step, _ := Compare(nil, was, moment(routing.SLsBySwitch(of, lids, rows(2)), 0x01, nil))
	var sls, lanes Change
	for _, c := range step.Changes {
		switch c.Kind {
		case SLs:
			sls = c
		case Lanes:
			lanes = c
		}
	}
	// One host and port 0 at both switches.
	if sls.From != "SL 0" || sls.To != "SL 0 to 2: 4 paths have another one" || step.Counts[SLs] != 1 {
		t.Errorf("%+v", sls)
	}
	if step.Counts[Lanes] != 1 || lanes.Node != sw.GUID || lanes.Port != 2 ||
		lanes.To != "from port 1: VLs 0 1 0 0 0 0 0 0 0 0 0 0 0 0 0 0" {
		t.Errorf("%+v", lanes)
	}
	if step, _ = Compare(nil, was, moment(nil, 0x01, []int{1})); step.Counts[SLs]+step.Counts[Lanes] > 0 {
		t.Errorf("what is not known has changed: %+v", step.Changes)
	}
}
