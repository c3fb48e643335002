package page

import (
	"strings"
	"testing"
	"time"

	"ibsm/ctl"
	"ibsm/ctl/ctltest"
)

// problemsOfFabric are the problems of a fabric after a change of its facts.
func problemsOfFabric(t *testing.T, change func(in *facts, nodes []*ctl.Node, links []*ctl.Link)) []Problem {
	t.Helper()
	nodes, links := ctltest.Rows(t, "fattree:k=8")
	in := &facts{status: &ctl.Status{State: "MASTER", Sweep: &ctl.SweepStatus{Up: true}, SMs: []ctl.SM{{GUID: "0x1",
		State: "MASTER"}, {GUID: "0x2", State: "STANDBY", Mirrors: true, NextMaster: true}}}}
	change(in, nodes, links)
	in.chart = newChart(nodes, links, nil)
	all, _ := problemsOf(in)
	return all
}

// noSignal is the diagnosis of a port that is Down.
func noSignal(e ctl.End) *ctl.Diagnosis {
	return &ctl.Diagnosis{Port: e, State: "Down", Reasons: []ctl.Reason{{Kind: "no signal", Text: "no cable", Do: "plug it in"}}}
}

// TestManyProblems: of a kind no more than so many are kept, and all are counted.
func TestManyProblems(t *testing.T) {
	nodes, links := ctltest.Rows(t, "fattree:k=18")
	in := &facts{status: &ctl.Status{State: "MASTER", Sweep: &ctl.SweepStatus{Up: true}, SMs: []ctl.SM{{GUID: "0x1"}}}}
	cables := 0
	for _, l := range links {
		if l.From.Type == "switch" && l.To.Type == "switch" {
			cables++
			in.diagnoses = append(in.diagnoses, noSignal(l.From), noSignal(l.To))
		}
	}
	in.chart = newChart(nodes, links, nil)
	all, kinds := problemsOf(in)
	if cables < 2*mostOfKind || len(all) > mostOfKind+5 || kinds[0] != (ProblemKind{Spare, "no signal", cables, 0}) {
		t.Errorf("%d cables: %d problems, %+v", cables, len(all), kinds)
	}
}

// TestNothingWrong: a subnet without problems has none.
func TestNothingWrong(t *testing.T) {
	if got := problemsOfFabric(t, func(*facts, []*ctl.Node, []*ctl.Link) {}); len(got) > 0 {
		t.Errorf("%+v", got)
	}
}

// TestCableIsOneProblem: a cable whose two ends are Down is one problem, of a switch's host it cuts one host off; ports
// that never had a cable are one remark.
func TestCableIsOneProblem(t *testing.T) {
	got := problemsOfFabric(t, func(in *facts, _ []*ctl.Node, links []*ctl.Link) {
		for _, l := range links {
			if l.From.Desc == "leaf-05" && (l.To.Desc == "agg-05" || l.To.Desc == "host-017 mlx5_0") {
				l.State = ctl.Absent
				in.diagnoses = append(in.diagnoses, noSignal(l.From), noSignal(l.To))
			}
		}
		for port := range uint8(5) {
			in.diagnoses = append(in.diagnoses, noSignal(ctl.End{Node: links[0].From.Node, Type: "switch", Port: 100 + port}))
		}
	})
	if len(got) != 3 || got[0].Hurts != CutOff || got[0].Hosts != 1 || got[1].Hurts != Spare || got[1].Hosts != 0 ||
		got[1].Where != "leaf-05 port 5 to agg-05 port 1" || got[2].Hurts != Remark || !strings.HasPrefix(got[2].Text, "5 ports") ||
		got[1].Shown != "ibsmctl why "+got[1].Node+":5" || got[1].Do != "plug it in" {
		t.Errorf("%+v", got)
	}
}

// TestSwitchIsOneProblem: a switch that is the reason at all its ports is one problem that hurts all its hosts, also
// where ports at the other ends of its cables are diagnosed first.
func TestSwitchIsOneProblem(t *testing.T) {
	got := problemsOfFabric(t, func(in *facts, _ []*ctl.Node, links []*ctl.Link) {
		refused := func(e ctl.End) {
			in.diagnoses = append(in.diagnoses, &ctl.Diagnosis{Port: e, State: "Armed",
				Reasons: []ctl.Reason{{Kind: "refused", Text: `"leaf-05": a Set was refused`, Do: "newer firmware"}}})
		}
		for _, l := range links {
			if l.From.Desc == "leaf-05" || l.To.Desc == "leaf-05" {
				l.State = "Armed"
				refused(l.To)
				refused(l.From)
			}
		}
	})
	if len(got) != 1 || got[0].Hurts != CutOff || got[0].Hosts != 4 || got[0].Where != "leaf-05" || got[0].Port != 0 ||
		got[0].Shown != "ibsmctl why "+got[0].Node {
		t.Errorf("%+v", got)
	}
}

// TestSickLink: the problem of a cable names both its ends.
func TestSickLink(t *testing.T) {
	got := problemsOfFabric(t, func(in *facts, _ []*ctl.Node, links []*ctl.Link) {
		for _, l := range links {
			if l.From.Desc == "leaf-05" && l.To.Desc == "host-017 mlx5_0" {
				in.diagnoses = append(in.diagnoses, &ctl.Diagnosis{Port: l.From, State: "Active", Works: true,
					Reasons: []ctl.Reason{{Kind: "sick link", Text: "SymbolErrorCounter 117"}}})
			}
		}
	})
	if len(got) != 1 || got[0].Hurts != Slowed || got[0].Where != "leaf-05 port 1 to host-017 mlx5_0 port 1" {
		t.Errorf("%+v", got)
	}
}

// TestGoneSwitch: a leaf that has gone hurts all its hosts, and is one problem, not one for each cable.
func TestGoneSwitch(t *testing.T) {
	at := time.Now()
	got := problemsOfFabric(t, func(in *facts, nodes []*ctl.Node, links []*ctl.Link) {
		for _, n := range nodes {
			if n.Desc == "leaf-05" {
				n.Absent = &at
				in.diagnoses = append(in.diagnoses, &ctl.Diagnosis{
					Port: ctl.End{Node: n.GUID, Desc: n.Desc, Type: n.Type}, State: "absent",
					Reasons: []ctl.Reason{{Kind: "absent", Text: "it has gone"}}})
			}
		}
		for _, l := range links {
			if l.From.Desc == "leaf-05" {
				l.State = ctl.Absent
				in.diagnoses = append(in.diagnoses, noSignal(l.To))
			}
		}
	})
	if len(got) != 1 || got[0].Hurts != CutOff || got[0].Hosts != 4 || !got[0].Since.Equal(at) || got[0].Where != "leaf-05" {
		t.Errorf("%+v", got)
	}
}

// TestOthers: files, partitions, security, congestion, cabling and managers are in the list, the worst first.
func TestOthers(t *testing.T) {
	got := problemsOfFabric(t, func(in *facts, _ []*ctl.Node, links []*ctl.Link) {
		in.status.Partitions = &ctl.PartitionsTrouble{InForce: "closed", File: "p.conf", Reason: "line 3"}
		in.status.SMs[1].Lag = 60
		in.partitions = []*ctl.Partition{{Name: "it's", PKey: "0x7", States: map[string]int{"failed": 2, "pending": 1}},
			{Name: "well", Ready: true, States: map[string]int{"applied": 3}}}
		in.security = &ctl.Security{Rules: []ctl.SecurityRule{{Rule: "m_key", State: ctl.RuleFails, Text: "none"},
			{Rule: "other", State: ctl.RuleHolds}}}
		in.congestion = &ctl.Congestions{Open: []ctl.Congestion{{Cause: "slow host", Ports: 7,
			Root: ctl.PortOf{Node: links[0].From.Node, Desc: "leaf-01", Port: 1}}}}
		in.cabling = &ctl.Cabling{Plan: true, Findings: []ctl.CablingFinding{{Kind: "missing cable", Text: "a cable is missing",
			Planned: []ctl.Cable{{From: ctl.CableEnd{Node: links[0].From.Node, Desc: "leaf-01", Port: 8}}}}}}
	})
	var kinds []string
	for _, p := range got {
		kinds = append(kinds, p.Hurts.String()+"/"+p.Kind)
	}
	want := "everyone/file not in force, cut off/partition, slowed/congestion, spare/not as planned, risk/mirror, risk/security"
	if text := strings.Join(kinds, ", "); text != want {
		t.Errorf("got  %s\nwant %s", text, want)
	}
	if got[1].Shown != `ibsmctl partitions show 'it'\''s'` || got[1].Hosts != 2 {
		t.Errorf("%+v", got[1])
	}
}
