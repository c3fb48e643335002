package main

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"ibsm/ctl"
)

func TestRanges(t *testing.T) {
	for _, c := range []struct {
		nums []uint8
		want string
	}{{[]uint8{7}, "7"}, {[]uint8{1, 2}, "1-2"}, {[]uint8{1, 3, 4, 5, 9}, "1, 3-5, 9"},
		{[]uint8{253, 254, 255}, "253-255"}} {
		if got := ranges(c.nums); got != c.want {
			t.Errorf("%v: %q, want %q", c.nums, got, c.want)
		}
	}
}

// Ports are listed by cause, the rarest first, and where the text is the same in short.
func TestPrintCauses(t *testing.T) {
	down := func(desc string, port uint8, kind, text string) *ctl.Diagnosis {
		return &ctl.Diagnosis{Port: ctl.End{Node: desc, Desc: desc, Port: port}, State: "Down",
			Reasons: []ctl.Reason{{Kind: kind, Text: text, Do: "look"}}}
	}
	var b bytes.Buffer
	(&asker{}).printCauses(&b, []*ctl.Diagnosis{
		down("sw1", 1, "no signal", "no cable"), down("sw1", 2, "no signal", "no cable"),
		down("sw1", 5, "no signal", "no cable"),
		down("sw2", 3, "refused", "one\x1b"), down("sw2", 4, "no signal", "no cable"), down("sw3", 1, "refused", "two"),
	})
	const want = `refused: 2 ports
  what to do: look
    sw2 port 3: one?
    sw3 port 1: two

no signal: 4 ports
  no cable
  what to do: look
    sw1 ports 1-2, 5
    sw2 port 4
`
	if b.String() != want {
		t.Errorf("%s, want\n%s", b.String(), want)
	}
}

// Where ports of a cause need different things, each has its own advice.
func TestPrintAdvice(t *testing.T) {
	dropped := func(port uint8, do string) *ctl.Diagnosis {
		return &ctl.Diagnosis{Port: ctl.End{Desc: "sw", Port: port},
			Reasons: []ctl.Reason{{Kind: "P_Key dropped", Text: "text", Do: do}}}
	}
	var b bytes.Buffer
	(&asker{}).printCauses(&b, []*ctl.Diagnosis{dropped(1, "one"), dropped(2, "two")})
	const want = `P_Key dropped: 2 ports
  text
    sw port 1: text
      what to do: one
    sw port 2: text
      what to do: two
`
	if b.String() != want {
		t.Errorf("%s, want\n%s", b.String(), want)
	}
}

// A pair has one line for each switch with a choice.
func TestPrintChoices(t *testing.T) {
	var b bytes.Buffer
	(&asker{}).printDiagnosis(&b, &ctl.Diagnosis{Port: ctl.End{Desc: "a"}, To: &ctl.End{Desc: "b"}, Works: true,
		Routes: "tree", Choices: []ctl.Choice{
			{Desc: "leaf", Out: 9, Others: []int{5, 7, 8}}, {Desc: "spine", Out: 1, Others: []int{2}},
		}})
	const want = `a reaches b
  no problem found
  routes: tree
    leaf: leaves by port 9; could also leave by ports 5, 7-8
    spine: leaves by port 1; could also leave by port 2
`
	if b.String() != want {
		t.Errorf("%s, want\n%s", b.String(), want)
	}
}

func TestRoutesText(t *testing.T) {
	for want, s := range map[string]*ctl.SweepStatus{
		"": nil,
		"\nroutes: 1 pair of switch and LID is disconnected\n  see ibsmctl events for an example, or ibsmctl why PORT OTHER for two ports\n":                          {Cut: 1},
		"\nroutes: 3 pairs of switch and LID are connected but have no working route\n  see ibsmctl events for an example, or ibsmctl why PORT OTHER for two ports\n": {Lost: 3},
	} {
		if got := routesText(s); got != want {
			t.Errorf("%+v: %q, want %q", s, got, want)
		}
	}
	if got := routesText(&ctl.SweepStatus{Up: true}); got != "" {
		t.Errorf("in good order: %q", got)
	}
}

// TestPortTroubles: what is wrong with the manager's own port comes before all that the manager knows of others.
func TestPortTroubles(t *testing.T) {
	for _, c := range []struct {
		status ctl.Status
		want   string
	}{
		{ctl.Status{Where: "mlx5_0 port 1"}, "[]"},
		{ctl.Status{Waiting: "no such port"}, "[the manager is waiting for its port: no such port]"},
		{ctl.Status{Where: "mlx5_0 port 1", OwnPort: "SM port is down"},
			"[the manager's own port (mlx5_0 port 1): SM port is down; check its cable and its driver with ibstat]"},
	} {
		if got := fmt.Sprint(portTroubles(&c.status)); got != c.want {
			t.Errorf("got %s, want %s", got, c.want)
		}
	}
}

// TestRefusedText: refused joins come by reason, the latest first, with how often and when; a long list is cut, and
// refusals that the manager did not keep are counted.
func TestRefusedText(t *testing.T) {
	at := time.Date(2026, 11, 28, 10, 0, 0, 0, time.Local)
	join := func(desc, mgid, reason string, count uint64) *ctl.Refusal {
		return &ctl.Refusal{Port: "0x0000000000000007", Desc: desc, MGID: mgid, Reason: reason, Count: count, Last: at}
	}
	a := &asker{}
	if got := a.refusedText(nil, 0); got != "" {
		t.Errorf("without any: %q", got)
	}
	const want = `
rejected joins: 3 pairs of a port and a group
  the MTU is too large
    host?-1: ff12::1, 3 times, last 2026-11-28 10:00:00
    0x0000000000000007: ff12::2, 1 time, last 2026-11-28 10:00:00
  not in the partition
    host-2: ff12::1, 1 time, last 2026-11-28 10:00:00
  4 further rejected joins are not listed, because one port or all ports together had too many within a minute
`
	list := []*ctl.Refusal{join("host\x1b-1", "ff12::1", "the MTU is too large", 3),
		join("host-2", "ff12::1", "not in the partition", 1), join("", "ff12::2", "the MTU is too large", 1)}
	if got := a.refusedText(list, 4); got != want {
		t.Errorf("%s, want\n%s", got, want)
	}
	for range 30 {
		list = append(list, join("host-3", "ff12::3", "not in the partition", 1))
	}
	if got := a.refusedText(list, 0); !strings.Contains(got, "    and 11 more: ibsmctl groups lists all\n") ||
		strings.Contains(got, "further") {
		t.Error(got)
	}
}
