package lanes

import (
	"fmt"
	"testing"

	"ibsm/mad/smp"
	"ibsm/routing"
)

func port(vls, vlCap, high, low uint8) Port { return Port{vls, vlCap, high, low} }

func ptr(v uint8) *uint8 { return &v }

// text is the entries of a block as opensm.conf has them.
func text(t smp.VLArbitrationTable, n int) (s string) {
	for i := range n {
		vl, weight := t.Entry(i)
		s += fmt.Sprintf("%d:%d ", vl, weight)
	}
	return s
}

// mapped is a table in hexadecimal, a VL for each SL.
func mapped(t smp.SLtoVLMappingTable) (s string) {
	for sl := range uint8(16) {
		s += fmt.Sprintf("%x", t.VL(sl))
	}
	return s
}

// TestMasks: lanes beyond those that a port has fold onto those that it has, as in OpenSM; VL 15
// keeps dropping.
func TestMasks(t *testing.T) {
	uses := NewUses(Settings{SLtoVL: []uint8{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}}, [Kinds]Settings{})
	for _, c := range []struct {
		vls  uint8
		want string
	}{{1, "000000000000000f"}, {2, "010101010101010f"}, {3, "012301230123012f"}, {4, "012345670123456f"},
		{5, "0123456789abcdef"}} {
		if got := mapped(uses[Adapter].Table(port(c.vls, 5, 8, 8))); got != c.want {
			t.Errorf("OperationalVLs %d: %s, want %s", c.vls, got, c.want)
		}
	}
	standard := NewUses(Settings{}, [Kinds]Settings{})
	if got := mapped(standard[Adapter].Table(port(5, 5, 8, 8))); got != "0123456789abcde7" {
		t.Errorf("without settings: %s", got)
	}
	if got := text(standard[External].Arbitration(port(2, 4, 8, 8), 0, nil),
		9); got != "0:0 1:4 0:4 1:4 0:4 1:4 0:4 1:4 0:0 " {
		t.Errorf("low priority: %s", got)
	}
	if got := text(standard[External].Arbitration(port(4, 4, 8, 8), 2, nil), 3); got != "0:4 1:0 2:0 " {
		t.Errorf("high priority: %s", got)
	}
}

// TestTurns: a port has as many entries as it says, in two blocks of each list, and none where it
// has one lane.
func TestTurns(t *testing.T) {
	for _, c := range []struct {
		p    Port
		want [Blocks]int
	}{
		{port(4, 4, 8, 8), [Blocks]int{8, 0, 8, 0}},
		{port(5, 5, 64, 32), [Blocks]int{32, 0, 32, 32}},
		{port(5, 5, 33, 40), [Blocks]int{32, 8, 32, 1}},
		{port(5, 5, 0, 255), [Blocks]int{32, 32, 0, 0}},
		{port(1, 1, 8, 8), [Blocks]int{}},
		{port(1, 4, 8, 0), [Blocks]int{0, 0, 8, 0}},
	} {
		for b, want := range c.want {
			if got := c.p.Turns(b); got != want {
				t.Errorf("%+v block %d: %d entries, want %d", c.p, b, got, want)
			}
		}
	}
	var all []Turn
	for i := range uint8(MaxTurns) {
		all = append(all, Turn{i % 15, i})
	}
	uses := NewUses(Settings{High: all}, [Kinds]Settings{})
	if got := text(uses[Router].Arbitration(port(5, 5, 34, 0), 3, nil), 3); got != "2:32 3:33 0:0 " {
		t.Errorf("second block: %s", got)
	}
	if row := uses[Router].Row(port(5, 5, 34, 0), nil); len(row) != 256 || row[0] != 0 || row[128+3] != 1 {
		t.Errorf("row %x", row)
	}
}

// TestInheritance: what is absent comes from the settings of all kinds, and then from OpenSM's
// defaults; at links between switches first from those of all external ports.
func TestInheritance(t *testing.T) {
	var of [Kinds]Settings
	of[Adapter] = Settings{HighLimit: ptr(0), Low: []Turn{{3, 7}}}
	of[Router] = Settings{SLtoVL: []uint8{1, 1}}
	of[External] = Settings{Low: []Turn{{5, 6}}, SLtoVL: []uint8{2, 2}}
	of[SwitchLink] = Settings{Low: []Turn{{7, 8}}}
	uses := NewUses(Settings{HighLimit: ptr(200), High: []Turn{{1, 9}}}, of)
	p := port(5, 5, 8, 8)
	for kind, want := range map[Kind]string{
		Adapter:    "0 1:9 0:0  3:7 0:0  0123456789abcde7",
		Router:     "200 1:9 0:0  0:0 1:4  1100000000000000",
		External:   "200 1:9 0:0  5:6 0:0  2200000000000000",
		SwitchLink: "200 1:9 0:0  7:8 0:0  2200000000000000", // qos_sw2sw_, else qos_swe_, else qos_
		Port0:      "200 1:9 0:0  0:0 1:4  0123456789abcde7",
	} {
		u := &uses[kind]
		if got := fmt.Sprint(u.Limit(p), " ", text(u.Arbitration(p, 2, nil), 2), " ", text(u.Arbitration(p, 0, nil), 2),
			" ", mapped(u.Table(p))); got != want {
			t.Errorf("kind %d: %s, want %s", kind, got, want)
		}
	}
	if got := uses[External].Limit(port(1, 1, 8, 8)); got != 0 {
		t.Errorf("VLHighLimit of a port with one lane is %d", got)
	}
}

// TestServing: SLs on which an engine puts paths are on the lanes of their numbers.
func TestServing(t *testing.T) {
	uses := NewUses(Settings{SLtoVL: []uint8{7, 7, 7, 7, 7, 7}}, [Kinds]Settings{})
	for count, want := range map[int]string{1: "0777770000000000", 3: "0127770000000000", 15: "0123456789abcde0",
		16: "0123456789abcde0"} {
		u := uses[External].Serving(count)
		if got := mapped(u.Table(port(5, 5, 8, 8))); got != want {
			t.Errorf("%d SLs: %s, want %s", count, got, want)
		}
	}
}

// TestLaneOfTurn: turns are given to other lanes or left out, block by block, and those that follow move up, as
// torus-2QoS has them at ports that lead to hosts (osm_torus.c).
func TestLaneOfTurn(t *testing.T) {
	of := &routing.LaneOfTurn{0, 15, 15, 15, 1, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15}
	u := NewUses(Settings{Low: []Turn{{1, 9}, {4, 8}, {2, 7}, {0, 6}, {4, 5}}}, [Kinds]Settings{})[External]
	if got := text(u.Arbitration(port(4, 4, 8, 8), 0, of), 4); got != "1:8 0:6 1:5 0:0 " {
		t.Errorf("all turns: %s", got)
	}
	if got := text(u.Arbitration(port(4, 4, 8, 4), 0, of), 4); got != "1:8 0:6 0:0 0:0 " {
		t.Errorf("a port with four turns: %s", got)
	}
}
