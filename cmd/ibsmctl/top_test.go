package main

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"ibsm/ctl"
)

// looked is a view after two looks, two seconds apart.
func looked() *topView {
	start := time.Date(2026, 1, 2, 3, 4, 5, 0, time.Local)
	status := &ctl.Status{Version: "1.0", Started: start, Where: "mlx5_0 port 1", State: "MASTER", Phase: "idle",
		Subnet: &ctl.SubnetStatus{Generation: 12, Switches: 80, CAs: 128, Links: 384, LIDs: 208,
			Ports: map[string]int{"Active": 766, "Down": 2}},
		Sweep: &ctl.SweepStatus{Ended: start.Add(time.Minute), Seconds: 0.042, Up: true, Sets: "PortInfo 3"},
		SMs: []ctl.SM{{GUID: "0x0000000000000001", LID: 1, Priority: 15, State: "MASTER"},
			{GUID: "0x0000000000000002", LID: 9, Priority: 3, State: "STANDBY", NextMaster: true, Mirrors: true,
				Lag: 0.25}}}
	look := func(after time.Duration, times uint64) *ctl.Activity {
		return &ctl.Activity{
			Time: start.Add(after), Status: status, Sweeps: map[string]uint64{"light": 6 * times, "heavy": 2},
			Traps:  map[string]uint64{"128": times},
			Phases: []ctl.Phase{{Phase: "walking", Count: 4, Seconds: 0.2}, {Phase: "looking"}},
			SMPs:   ctl.SMPs{Sent: 1000 * times, Window: 128, OnWire: 3},
			SA: &ctl.SAStats{Replies: []ctl.SAReplies{{Attribute: "NodeRecord", Status: "ok", Count: 500},
				{Attribute: "PathRecord", Status: "ok", Count: 400 * times},
				{Attribute: "PathRecord", Status: "no records", Count: 2 * times}},
				Dropped: []ctl.SADrops{{Reason: "no room", Count: 30 * times}}, Transfers: ctl.SATransfers{UnderWay: 7},
				Times: []ctl.SATimes{
					{Way: "get", Count: 100 * times,
						Buckets: []ctl.TimeBucket{{Over: 0.0001, To: 0.0002, Count: 90 * times},
							{Over: 0.002, To: 0.004, Count: 10 * times}}},
					{Way: "register", Count: 4, Buckets: []ctl.TimeBucket{{Over: 0.01, To: 0.02, Count: 4}}}}},
			BadKeys: []ctl.BadKey{{Port: "0x0000000000000007", Trap: 257, Count: 3}, {Trap: 258, Count: 1}},
			Clients: ctl.SAClients{Seconds: 2, Asked: 100, Active: 2,
				Most: []ctl.SAClient{{LID: 5, Node: "0x5", Desc: "zeta", Count: 75},
					{LID: 6, Node: "0x6", Desc: "alpha\x1b[2J", Count: 25}}},
		}
	}
	v := &topView{}
	v.take(look(100*time.Second, 1), nil, nil)
	v.take(look(102*time.Second, 2), []ctl.Generation{{Generation: 11, First: true, Time: start},
		{Generation: 12, Time: start, Counts: map[string]int{"link": 1, "routes": 3}, Entries: 9}},
		[]ctl.Event{{Seq: 4, Time: start, Level: "info", Text: "fine"},
			{Seq: 5, Time: start, Level: "error", Text: "bad", Attrs: map[string]any{"lid": 4.0, "a": "b"}}})
	return v
}

func text(lines []line) string {
	var b strings.Builder
	for _, l := range lines {
		b.WriteString(strings.TrimRight(l.text, " ") + "\n")
	}
	return b.String()
}

func TestRenderOverview(t *testing.T) {
	const want = `ibsm 1.0  MASTER  up 1m42s  mlx5_0 port 1  03:05:47
subnet   generation 12: 80 switches, 128 CAs, 384 links, 208 LIDs
ports    766 Active, 2 Down
sweeps   idle; since start 12 light, 2 heavy
mean     walking 50ms
last     SUBNET UP 42s ago in 42ms; Sets: PortInfo 3
SMPs     500/s sent, 0/s retried, 0/s timed out; 3 of 128 on the wire; 0.5/s tr~
SA       200/s answered, 1.0/s refused, 15/s dropped; wait: 7 tables
p50 p99  get 156us 3.8ms
standby  0x0000000000000002 STANDBY priority 3, mirrors registrations, 250ms be~
[1 overview]  2 SA   3 clients   4 changes   5 events   6 managers -------------
SUBNET ADMINISTRATION  STATUS      PER SECOND  TOTAL
PathRecord             ok                 200    800
(dropped)              no room             15     60
PathRecord             no records         1.0      4
CHANGES OF THE SUBNET
03:04:05  generation 12: link 1, routes 3, 9 entries of forwarding tables
03:04:05  generation 11: first as master
WARNINGS
03:04:05  bad a=b lid=4



q quit  p pause  s sort (rate)  1-6, Tab page
`
	if got := text(render(looked(), 80, 24)); got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
}

// TestRenderPages: each page has what belongs to it, and lists are sorted as keys say.
func TestRenderPages(t *testing.T) {
	for _, c := range []struct {
		keys string
		want []string // in this order
	}{
		{"2", []string{"[2 SA]", "RESPONSES TO", "get", "50", "156us", "3.8ms", "200", "156us", "3.8ms", "register",
			"0", "-", "-", "4", "15ms", "20ms", "PathRecord", "(dropped)", "no records", "NodeRecord"}},
		{"2s", []string{"sort (total)"}},
		{"2s", []string{"PathRecord", "NodeRecord", "(dropped)", "no records"}},
		{"2ss", []string{"(dropped)", "NodeRecord", "no records", "ok"}},
		{"3", []string{"zeta", "5", "38", "75%", "alpha?[2J", "12", "25%", "SENDER OF WRONG KEYS", "0x0000000000000007",
			"P_Key", "3", "others", "Q_Key"}},
		{"3ss", []string{"alpha", "zeta"}},
		{"\t\t\t", []string{"[4 changes]", "generation 12", "generation 11"}},
		{"5", []string{"bad a=b", "fine"}},
		{"6", []string{"0x0000000000000001", "this manager", "0x0000000000000002",
			"takes over when the master dies, mirrors registrations, 250ms behind"}},
		{"6\t", []string{"[1 overview]"}},
		{"p", []string{"PAUSED"}},
		{"  9x\x1b", []string{"[1 overview]", "(rate)"}},
	} {
		v := looked()
		for _, k := range []byte(c.keys) {
			if v.press(k) {
				t.Errorf("%q ends it", c.keys)
			}
		}
		got := text(render(v, 120, 40))
		rest := got
		for _, w := range c.want {
			_, after, found := strings.Cut(rest, w)
			if !found {
				t.Errorf("%q: no %q in its place in\n%s", c.keys, w, got)
				break
			}
			if w != "sort (total)" {
				rest = after
			}
		}
	}
	for _, k := range []byte{'q', 'Q', 3, 4} {
		if !(&topView{}).press(k) {
			t.Errorf("%q does not end it", k)
		}
	}
}

// TestRenderSizes: whatever the size, there are as many lines as the screen has and none is
// longer, and nothing that a terminal would obey.
func TestRenderSizes(t *testing.T) {
	first := &topView{}
	first.take(&ctl.Activity{Status: &ctl.Status{Waiting: "no port"}, SA: &ctl.SAStats{}}, nil, nil)
	busy := looked()
	busy.trouble = "no manager is running there"
	for range 1000 {
		busy.events = append(busy.events, ctl.Event{Level: "warn", Text: "\x1b]0;title\a" + strings.Repeat("x", 300)})
	}
	for _, v := range []*topView{first, looked(), busy} {
		for p := range page(numPages) {
			v.page = p
			for _, size := range [][2]int{{80, 24}, {132, 50}, {1, 1}, {10, 3}, {40, 12}, {300, 200}} {
				lines := render(v, size[0], size[1])
				if len(lines) != size[1] {
					t.Errorf("page %d at %v: %d lines", p, size, len(lines))
				}
				for _, l := range lines {
					if n := utf8.RuneCountInString(l.text); n > size[0] || strings.ContainsAny(l.text, "\x1b\a\n\r") {
						t.Errorf("page %d at %v: %q has %d characters", p, size, l.text, n)
					}
				}
			}
		}
	}
}

// TestTopRates: no rate without two looks, none below 0 when a manager begins anew, and
// nothing of one process is compared with another's.
func TestTopRates(t *testing.T) {
	v := looked()
	sent := func(a *ctl.Activity) uint64 { return a.SMPs.Sent }
	if got := v.rate(sent); got != 500 {
		t.Errorf("%v, want 500", got)
	}
	again := *v.now
	again.Time, again.SMPs.Sent = v.now.Time.Add(time.Second), 10
	v.take(&again, nil, nil)
	if got := v.rate(sent); got != 10 {
		t.Errorf("after it began anew: %v, want 10", got)
	}
	other := again
	status := *again.Status
	status.Started = status.Started.Add(time.Hour)
	other.Status = &status
	v.take(&other, nil, nil)
	if got := v.rate(sent); got != -1 || len(v.events) != 0 {
		t.Errorf("of another process: %v, %d events", got, len(v.events))
	}
	for range 3 {
		v.take(&other, nil, make([]ctl.Event, topEvents))
	}
	if len(v.events) != topEvents {
		t.Errorf("%d events are held", len(v.events))
	}
}

// TestStatusOfOwnPort: what is wrong with the manager's own port follows the port's name.
func TestStatusOfOwnPort(t *testing.T) {
	status := *looked().now.Status
	if text := statusText(&status, time.Now()); strings.Contains(text, "own port") {
		t.Errorf("nothing is wrong:\n%s", text)
	}
	status.OwnPort = "our own port does not answer"
	if text := statusText(&status, time.Now()); !strings.Contains(text,
		"mlx5_0 port 1\n          our own port does not answer\nstate") {
		t.Errorf("it does not answer:\n%s", text)
	}
}
