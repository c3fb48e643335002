package congestioncontrol

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"ibsm/mad"
	"ibsm/mad/cc"
)

// harness is a machine, and what devices hold.
type harness struct {
	t        *testing.T
	m        *Machine
	ports    []Port
	on       []Ask                          // requests on the way
	held     map[mad.GUID]map[string]string // by attribute and block
	answer   map[mad.GUID]func(Ask) (mad.Status, bool)
	sent     []string // since the last look
	found    []string
	reports  []Report
	most     int // requests on the way at a time
	settings Settings
}

const switches = 3 // the first of the ports of a harness

func newHarness(t *testing.T, n int) *harness {
	b := &harness{t: t, held: map[mad.GUID]map[string]string{}, answer: map[mad.GUID]func(Ask) (mad.Status, bool){}}
	b.settings = Settings{Enabled: true, Key: 7, Window: 4, Table: make([]cc.Entry, 70)}
	b.settings.Switch.SetMarkingRate(1)
	b.settings.Adapter.SetControlMap(1)
	for i := range n {
		p := Port{GUID: mad.GUID(i + 1), Node: mad.GUID(i + 1), Type: mad.CA, Num: 1,
			To: mad.Addr{LID: mad.LID(i + 1), QPN: 1}}
		if i < switches {
			p.Type, p.Num = mad.Switch, 0
		}
		b.ports = append(b.ports, p)
	}
	b.m = New(b.settings)
	return b
}

// step takes an event, but does not answer.
func (b *harness) step(e Event) {
	b.t.Helper()
	out := b.m.Step(e)
	b.on = append(b.on, out.Asks...)
	b.most = max(b.most, len(b.on))
	for i := range out.Asks {
		p := &out.Asks[i].Packet
		b.sent = append(b.sent, fmt.Sprintf("%d:%s/%d", out.Asks[i].To.LID, short[p.AttrID()], p.AttrMod()))
		if p.Method() != mad.MethodSet || p.MgmtClass() != mad.ClassCongestion || p.ClassVersion() != 2 ||
			cc.KeyOf(p) != b.m.settings.Key {
			b.t.Errorf("%v %v %d %x", p.MgmtClass(), p.Method(), p.ClassVersion(), cc.KeyOf(p))
		}
	}
	for _, f := range out.Findings {
		b.found = append(b.found,
			fmt.Sprintf("%d:%s", f.Port.GUID, [...]string{Unresponsive: "unresponsive", NoAgent: "no agent",
				Refused: "refused"}[f.Trouble]))
	}
	if out.Done != nil {
		b.reports = append(b.reports, *out.Done)
	}
}

var short = map[mad.AttrID]string{cc.AttrSwitchCongestionSetting: "sw", cc.AttrCACongestionSetting: "ca",
	cc.AttrCongestionControlTable: "cct"}

// answerOne has the device of the first request on the way answer.
func (b *harness) answerOne() {
	b.t.Helper()
	a := b.on[0]
	b.on = b.on[1:]
	guid := mad.GUID(a.To.LID)
	status, answers := mad.StatusOK, true
	if f := b.answer[guid]; f != nil {
		status, answers = f(a)
	}
	if !answers {
		b.step(&Unanswered{a.Tag})
		return
	}
	if status == mad.StatusOK {
		if b.held[guid] == nil {
			b.held[guid] = map[string]string{}
		}
		b.held[guid][fmt.Sprintf("%s/%d", short[a.Packet.AttrID()], a.Packet.AttrMod())] = string(
			a.Packet.PerfData()[:])
	}
	b.step(&Answered{a.Tag, status})
}

// settle takes an event, and has all devices answer.
func (b *harness) settle(e Event) {
	b.t.Helper()
	b.step(e)
	for len(b.on) > 0 {
		b.answerOne()
	}
	if !b.m.Idle() {
		b.t.Error("there is nothing on the way, and the machine is not idle")
	}
}

// says compares what was sent and found since the last time.
func (b *harness) says(sent, found string) {
	b.t.Helper()
	if got := strings.Join(b.sent, " "); got != sent {
		b.t.Errorf("sent %s, want %s", got, sent)
	}
	if got := strings.Join(b.found, ", "); got != found {
		b.t.Errorf("found %q, want %q", got, found)
	}
	b.sent, b.found = nil, nil
}

// shows compares what State says of devices.
func (b *harness) shows(want string) {
	b.t.Helper()
	var list []string
	for _, d := range b.m.State().Devices {
		text := fmt.Sprintf("%d %s", d.Port.GUID,
			[...]string{Complete: "complete", Writing: "writing", Refusing: "refusing", NoAnswer: "no answer",
				NoClass: "no class"}[d.Standing])
		for _, a := range d.Has {
			if text += fmt.Sprintf(" %s/%d", short[a.Attr], a.Mod); a.Refused {
				text += " refused"
			}
		}
		list = append(list, text)
	}
	if got := strings.Join(list, ", "); got != want {
		b.t.Errorf("%s, want %s", got, want)
	}
}

// complete: every device that answers holds what is wanted.
func (b *harness) complete(but ...mad.GUID) {
	b.t.Helper()
	for _, p := range b.ports {
		if slices.Contains(but, p.GUID) {
			continue
		}
		list := b.settings.wanted(p.Type)
		for _, a := range list {
			if got := b.held[p.GUID][fmt.Sprintf("%s/%d", short[a.id], a.mod)]; !strings.HasPrefix(got,
				string(a.data)) {
				b.t.Errorf("device %v lacks %s %d", p.GUID, cc.AttrName(a.id), a.mod)
			}
		}
	}
}

func TestRound(t *testing.T) {
	b := newHarness(t, 5)
	b.settle(&Ports{b.ports})
	b.says("1:sw/0 2:sw/0 3:sw/0 4:ca/0 5:ca/0 4:cct/0 5:cct/0 4:cct/1 5:cct/1", "")
	b.complete()
	if b.most != 4 {
		t.Errorf("%d on the way, want 4", b.most)
	}
	b.settle(&Ports{b.ports})
	b.says("", "")
	b.settings.Switch.SetThreshold(9)
	b.settle(&Changed{b.settings})
	b.says("1:sw/0 2:sw/0 3:sw/0", "")
	b.settings.Table = slices.Clone(b.settings.Table)
	b.settings.Table[69] = 5
	b.settle(&Changed{b.settings})
	b.says("4:cct/1 5:cct/1", "")
	b.complete()
	delete(b.held, 4)
	delete(b.held, 2)
	b.settle(&Restarted{map[mad.GUID]bool{4: true, 2: true, 99: true}})
	b.says("", "") // until the next sweep has ended
	b.settle(&Ports{b.ports})
	b.says("2:sw/0 4:ca/0 4:cct/0 4:cct/1", "")
	b.complete()
	b.settle(&Forget{})
	b.settle(&Ports{b.ports[3:]})
	b.says("4:ca/0 5:ca/0 4:cct/0 5:cct/0 4:cct/1 5:cct/1", "")
	if want := (Report{Devices: 2, Sent: 6}); b.reports[len(b.reports)-1] != want || len(b.reports) != 5 {
		t.Errorf("reports %+v", b.reports)
	}
}

// TestOff: without it nothing is sent, and what was is not known any more.
func TestOff(t *testing.T) {
	b := newHarness(t, 4)
	on, off := b.settings, b.settings
	off.Enabled = false
	b.settle(&Ports{b.ports})
	b.says("1:sw/0 2:sw/0 3:sw/0 4:ca/0 4:cct/0 4:cct/1", "")
	b.settle(&Changed{off})
	b.settle(&Changed{on})
	b.says("", "")
	b.step(&Ports{b.ports})
	b.step(&Changed{off}) // with requests on the way
	b.says("1:sw/0 2:sw/0 3:sw/0 4:ca/0", "")
	for len(b.on) > 0 {
		b.answerOne()
	}
	b.says("", "")
}

// TestTroubles: what becomes of devices that refuse or are unresponsive. Each is found once.
func TestTroubles(t *testing.T) {
	b := newHarness(t, 7)
	none := func(status mad.Status, answers bool) func(Ask) (mad.Status, bool) {
		return func(Ask) (mad.Status, bool) { return status, answers }
	}
	b.answer[1] = none(0, false)
	b.answer[2] = none(mad.StatusBadVersion, true)
	b.answer[4] = none(mad.StatusBadMethodAttr, true)
	b.answer[5] = none(0, false)
	b.answer[6] = func(a Ask) (mad.Status, bool) { // a table of one block
		if a.Packet.AttrMod() > 0 {
			return mad.StatusBadField, true
		}
		return mad.StatusOK, true
	}
	b.settle(&Ports{b.ports})
	b.says("1:sw/0 2:sw/0 3:sw/0 4:ca/0 5:ca/0 6:ca/0 7:ca/0 6:cct/0 7:cct/0 6:cct/1 7:cct/1",
		"1:unresponsive, 2:no agent, 4:no agent, 5:unresponsive, 6:refused")
	if want := (Report{Devices: 7, Sent: 11, Without: 4, Refused: 1}); len(b.reports) != 1 || b.reports[0] != want {
		t.Errorf("reports %+v, want %+v", b.reports, want)
	}
	b.complete(1, 2, 4, 5, 6)
	b.shows("1 no answer, 2 no class, 3 complete sw/0, 4 no class, 5 no answer, 6 refusing ca/0 cct/0 cct/1 refused, 7 complete ca/0 cct/0 cct/1")
	for range maxUnresponsive - 1 {
		b.settle(&Ports{b.ports})
		b.says("1:sw/0 5:ca/0", "")
	}
	b.settle(&Ports{b.ports})
	b.says("", "")
	clear(b.answer)
	b.settle(&Restarted{map[mad.GUID]bool{1: true, 2: true}})
	b.step(&Ports{b.ports})
	b.shows("1 writing, 2 writing, 3 complete sw/0, 4 no class, 5 no answer, 6 refusing ca/0 cct/0 cct/1 refused, 7 complete ca/0 cct/0 cct/1")
	b.settle(&Ports{b.ports})
	b.says("1:sw/0 2:sw/0", "")
	b.settings.Key = 8 // which the unresponsive ones may know
	b.settle(&Changed{b.settings})
	b.says("4:ca/0 5:ca/0 4:cct/0 5:cct/0 4:cct/1 5:cct/1", "")
	b.settings.Table = b.settings.Table[:30]
	b.settle(&Changed{b.settings})
	b.says("4:cct/0 5:cct/0 6:cct/0 7:cct/0", "")
	b.complete()
	b.shows("1 complete sw/0, 2 complete sw/0, 3 complete sw/0, 4 complete ca/0 cct/0, 5 complete ca/0 cct/0, 6 complete ca/0 cct/0, 7 complete ca/0 cct/0")
	b.settings.Enabled = false
	b.settle(&Changed{b.settings})
	if b.shows(""); b.m.State().Enabled || b.m.State().Sent == 0 {
		t.Errorf("%+v", b.m.State())
	}
}

// TestManyTroubles: findings are bounded, and the rest is counted.
func TestManyTroubles(t *testing.T) {
	b := newHarness(t, 300)
	for _, p := range b.ports {
		b.answer[p.GUID] = func(Ask) (mad.Status, bool) { return 0, false }
	}
	for _, more := range []int{300 - maxFindings, 0} {
		b.found = nil
		b.settle(&Ports{b.ports})
		if r := b.reports[len(b.reports)-1]; r.More != more || r.Without != 300 || r.Sent != 300 {
			t.Errorf("%+v", r)
		}
	}
	if len(b.found) != 0 {
		t.Errorf("again %d findings", len(b.found))
	}
}

// TestMeanwhile: what happens while requests are on the way.
func TestMeanwhile(t *testing.T) {
	b := newHarness(t, 4)
	b.step(&Ports{b.ports})
	b.settings.Switch.SetThreshold(3)
	b.step(&Changed{b.settings})
	b.says("1:sw/0 2:sw/0 3:sw/0 4:ca/0", "")
	b.settle(&Ports{b.ports})
	b.says("1:sw/0 2:sw/0 3:sw/0 4:cct/0 4:cct/1", "") // the answer to the first is of another value
	b.complete()
	b.settings.Switch.SetThreshold(4)
	b.step(&Changed{b.settings})
	b.settle(&Restarted{map[mad.GUID]bool{2: true}}) // its answer is of before
	b.says("1:sw/0 2:sw/0 3:sw/0 2:sw/0", "")
	b.settings.Switch.SetThreshold(5)
	b.step(&Changed{b.settings})
	b.settle(&Forget{})
	b.says("1:sw/0 2:sw/0 3:sw/0", "")
	b.settings.Switch.SetThreshold(6)
	b.step(&Changed{b.settings})
	b.step(&Ports{b.ports})
	b.settle(&Ports{b.ports[1:]}) // the first has gone
	b.says("1:sw/0 2:sw/0 3:sw/0 4:ca/0 4:cct/0 4:cct/1", "")
	b.settings.Switch.SetThreshold(7)
	b.step(&Changed{b.settings})
	b.step(&Forget{})
	b.settle(&Ports{b.ports}) // of another mastership than the answers that come first
	b.says("2:sw/0 3:sw/0 1:sw/0 2:sw/0 3:sw/0 4:ca/0 4:cct/0 4:cct/1", "")
	b.settle(&Answered{Tag: 1 << 40})
	b.settle(&Unanswered{})
	b.says("", "")
}

// TestTable: blocks of a table, and OpenSM's of one with a single entry.
func TestTable(t *testing.T) {
	for _, tt := range []struct {
		entries, blocks int
		limit           uint16
	}{{0, 1, 0}, {1, 1, 0}, {2, 1, 1}, {64, 1, 63}, {65, 2, 64}, {MaxEntries, 2, MaxEntries - 1},
		{MaxEntries + 1, 2, MaxEntries - 1}} {
		s := Settings{Table: make([]cc.Entry, tt.entries)}
		for i := range s.Table {
			s.Table[i] = cc.Entry(i + 1)
		}
		list := s.tableBlocks()
		if len(list) != tt.blocks {
			t.Fatalf("%d entries make %d blocks", tt.entries, len(list))
		}
		for i, b := range list {
			if b.CCTILimit() != tt.limit {
				t.Errorf("%d entries: CCTI_Limit %d", tt.entries, b.CCTILimit())
			}
			for k := range cc.EntriesPerBlock {
				want := cc.Entry(0)
				if at := i*cc.EntriesPerBlock + k; at <= int(tt.limit) && tt.limit > 0 {
					want = cc.Entry(at + 1)
				}
				if b.Entry(k) != want {
					t.Fatalf("%d entries: block %d has %x at %d", tt.entries, i, b.Entry(k), k)
				}
			}
		}
	}
}
