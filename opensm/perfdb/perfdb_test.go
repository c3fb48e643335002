package perfdb

import (
	"strings"
	"testing"
	"time"

	"ibsm/mad/pma"
)

func testNode() *Node {
	at := time.Date(2026, 3, 4, 5, 6, 7, 0, time.Local)
	n := &Node{GUID: 0x2c9, Name: "leaf 1", First: 1, Ports: 3,
		Read: []Port{{Num: 1, Reset: at, Last: at.Add(time.Hour)}, {Num: 3, Reset: at, Last: at}}}
	for c := range pma.AllCounters.All {
		n.Read[1].N[c] = uint64(c) + 1
	}
	n.Read[1].N[pma.PortXmitData] = 3 << 30
	return n
}

// TestTable: what was not read is left out, and counters are in OpenSM's order. cmd/ibsm compares
// with what Debian's OpenSM writes.
func TestTable(t *testing.T) {
	var b strings.Builder
	n := testNode()
	n.Gone = true
	n.Table(&b)
	lines := strings.Split(b.String(), "\n")
	if len(lines) != 5 || lines[0] != "" || lines[4] != "" ||
		!strings.HasPrefix(lines[1], "Name\tGUID\tActive\tPort\tLast Reset\t") {
		t.Fatalf("%q", lines)
	}
	want := "leaf 1\t0x2c9\tFALSE\t3\tWed Mar  4 05:06:07 2026\tWed Mar  4 05:06:07 2026\tWed Mar  4 05:06:07 2026\t" +
		"1\t2\t3\t4\t5\t6\t7\t8\t9\t10\t11\t12\t17\t3221225472\t14\t15\t16\t19\t20\t21\t22"
	if lines[3] != want {
		t.Errorf("%q\nwant %q", lines[3], want)
	}
}

// TestBlocks: all ports, one of them, and those with errors.
func TestBlocks(t *testing.T) {
	for _, c := range []struct {
		port       string
		errorsOnly bool
		blocks     int
		warning    bool
	}{{"", false, 2, false}, {"3", false, 1, false}, {"0x1", false, 1, false}, {"2", false, 0, false},
		{"4", false, 2, true}, {"x", false, 2, true}, {"", true, 1, false}} {
		var b strings.Builder
		testNode().Blocks(&b, c.port, c.errorsOnly)
		if got := strings.Count(b.String(), "active TRUE port"); got != c.blocks ||
			strings.Contains(b.String(), "Warning: \"") != c.warning {
			t.Errorf("%+v: %s", c, &b)
		}
		if strings.Contains(b.String(), "xmit_pkts") != (c.blocks > 0 && !c.errorsOnly) {
			t.Errorf("%+v: data\n%s", c, &b)
		}
	}
	for _, c := range []struct {
		n    uint64
		data bool
		want string
	}{{0, false, "0.000"}, {0, true, "0.000B"}, {1023, false, "1023.000"}, {1024, false, "1.000K"},
		{300, true, "1.172KB"}, {3 << 30, true, "12.000GB"}, {1 << 63, false, "8.000E"}} {
		if got := amount(c.n, c.data); got != c.want {
			t.Errorf("amount of %d, %t: %s, want %s", c.n, c.data, got, c.want)
		}
	}
}
