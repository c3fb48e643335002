package main

import (
	"bytes"
	"regexp"
	"strings"
	"testing"

	"ibsm/mad/madtest"
	"ibsm/sim/fabric"
	"ibsm/topo/net"
)

// ccRow is a row that ibccquery prints.
var ccRow = regexp.MustCompile(`(?m)^([A-Za-z_0-9]+):\.+(.*)$`)

// TestIbccquery: Debian's ibccconfig configures congestion control of our fabric, and Debian's
// ibccquery reads what that has written.
func TestIbccquery(t *testing.T) {
	c := newCounted(t, net.Ideal)
	sw, ca := c.lid(c.sw), c.lid(c.ca)
	run := func(argv ...string) (rows []string, ok bool) {
		t.Helper()
		var out bytes.Buffer
		cmd := madtest.Peer(t, t.TempDir(), c.sock, c.host, argv...)
		cmd.Stdout, cmd.Stderr = &out, &out
		ok = cmd.Run() == nil
		for _, m := range ccRow.FindAllStringSubmatch(out.String(), -1) {
			rows = append(rows, m[1]+" "+m[2])
		}
		if len(rows) == 0 {
			t.Logf("%v: %s", argv, &out)
		}
		return rows, ok
	}
	const key = "0x1122334455667788"
	for _, tt := range []struct {
		command string // arguments, with {sw} and {ca} for LIDs
		want    string // rows that it prints, among others, one after the other
		fails   bool
	}{
		{command: "ibccquery CI {ca}", want: "CongestionInfo 0x0000, ControlTableCap 8"},
		{command: "ibccquery CI {sw}", want: "CongestionInfo 0x0001, ControlTableCap 0"},
		{command: "ibccquery CP {ca}", want: "ClassVersion 2, CapabilityMask 0x0000"},
		{command: "ibccconfig SS {sw} 0x1f 0x1FFFFFFFFF 0x12 0xf 8 7 2:5 513"},
		{command: "ibccquery SS {sw}",
			want: "Control_Map 0x0000001f, Victim_Mask 0000000000000000000000000000000000000000000000000000001fffffffff, " +
				"Credit_Mask 0000000000000000000000000000000000000000000000000000000000000012, Threshold 0x0f, Packet_Size 8, CS_Threshold 0x07, CS_ReturnDelay 0x8005, Marking_Rate 513"},
		{command: "ibccconfig SP {sw} 3 1 1 9 77 1234"},
		{command: "ibccquery SP {sw} 3",
			want: "Valid 1, Control_Type 1, Threshold 0x09, Packet_Size 77, Cong_Parm_Marking_Rate 1234"},
		{command: "ibccquery SP {sw} 2", want: "Valid 0, Control_Type 0, Threshold 0x00"},
		{command: "ibccconfig CS {ca} 1 0x5 150 4 5 6"},
		{command: "ibccquery CS {ca}",
			want: "Port_Control 0x0001, Control_Map 0x0005, SL 0, CCTI_Timer 150, CCTI_Increase 4, Trigger_Threshold 5, CCTI_Min 6, SL 1, CCTI_Timer 0, CCTI_Increase 0, " +
				"Trigger_Threshold 0, CCTI_Min 0, SL 2, CCTI_Timer 150"},
		{command: "ibccconfig CT {ca} 66 1 0:1 1:2 2:16383"},
		{command: "ibccquery CT {ca}", want: "CCTI_Limit 66, Entry 0, CCT_Shift 0, CCT_Multiplier 0"},
		{command: "ibccquery CT {ca}",
			want: "Entry 64, CCT_Shift 0, CCT_Multiplier 1, Entry 65, CCT_Shift 1, CCT_Multiplier 2, Entry 66, CCT_Shift 2, CCT_Multiplier 16383"},
		{command: "ibccquery SS {ca}", fails: true},
		{command: "ibccconfig CK {ca} " + key + " 1 5 0"},
		{command: "ibccquery CK {ca}",
			want: "CC_Key 0x0000000000000000, CC_KeyProtectBit 1, CC_KeyLeasePeriod 5, CC_KeyViolations 0"},
		{command: "ibccquery -c " + key + " CK {ca}", want: "CC_Key " + key},
		{command: "ibccconfig CS {ca} 0 0x5 151 4 5 6", fails: true},
		{command: "ibccconfig -c " + key + " CS {ca} 0 0x5 152 4 5 6"},
		{command: "ibccquery -c " + key + " CS {ca}",
			want: "Port_Control 0x0000, Control_Map 0x0005, SL 0, CCTI_Timer 152"},
	} {
		argv := strings.Fields(strings.NewReplacer("{sw}", sw, "{ca}", ca).Replace(tt.command))
		rows, ok := run(argv...)
		if ok == tt.fails || !strings.Contains(strings.Join(rows, ", ")+",", tt.want) {
			t.Errorf("%s: succeeds %t, prints %s", tt.command, ok, strings.Join(rows, ", "))
		}
	}
	c.server.Do(func(f *fabric.Fabric) {
		held, table := f.CACongestion(c.ca)
		sw := f.SwitchCongestion(c.sw.Node)
		if held.SL(2).CCTITimer() != 152 || table[1].Entry(2).Multiplier() != 16383 || sw.MarkingRate() != 513 {
			t.Errorf("they hold % x, % x, % x", held, table[1], sw)
		}
	})
}
