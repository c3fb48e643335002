package main_test

import (
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// counterRows has a manager write its counter file until so many ports are in it and no more come for two
// sweeps of a second, and reads it: the cells but for the times, by GUID and port, and the heads.
func counterRows(t *testing.T, c *consoleClient, file string, ports int) (rows map[string][]string, head []string) {
	t.Helper()
	before, settled := -1, time.Time{}
	for late := time.Now().Add(patience()); ; time.Sleep(100 * time.Millisecond) {
		if said := c.say("perfmgr dump_counters mach"); said != "" {
			t.Fatalf("dump_counters: %s", said)
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		rows = map[string][]string{}
		for line := range strings.Lines(string(text)) {
			switch cells := strings.Split(strings.TrimSuffix(line, "\n"), "\t"); {
			case cells[0] == "Name":
				head = cells
			case len(cells) > 7:
				for _, at := range cells[4:7] {
					if _, err := time.Parse("Mon Jan _2 15:04:05 2006", at); err != nil {
						t.Errorf("%s: %v", line, err)
					}
				}
				rows[cells[1]+"/"+cells[3]] = append(slices.Clone(cells[:4]), cells[7:]...)
			}
		}
		if len(rows) > before {
			before, settled = len(rows), time.Now().Add(2*time.Second)
		}
		if len(rows) >= ports && time.Now().After(settled) {
			return rows, head
		}
		if time.Now().After(late) {
			t.Fatalf("%d of %d ports in %s", len(rows), ports, file)
		}
	}
}

// errorsFrom and dataFrom are the first columns of rows that are counters of errors and of data.
const errorsFrom, dataFrom = 4, 4 + 13

// TestCounterFile: on Debian's ibsim, which counts by itself, OpenSM and ibsm write the same counter file
// and print the same blocks, but for packets that were counted meanwhile.
func TestCounterFile(t *testing.T) {
	t.Parallel()
	s := startIbsim(t, oddities.file(t))
	file := s.path("counters")
	s.conf = "perfmgr TRUE\nperfmgr_sweep_time_s 1\nperfmgr_log_errors FALSE\nevent_db_dump_file " + file + "\nconsole loopback\nconsole_port " + freePort(t) + "\n" + oddities.conf(t)
	host := s.net.managerHost()
	s.console(`PerformanceSet "%s"[1] PortCounters.SymbolErrorCounter=7`, host)
	s.console(`PerformanceSet "%s"[1] PortCounters.PortRcvErrors=300`, host)
	s.console(`PerformanceSet "%s"[1] PortCounters.ExcessiveBufferOverrunErrors=3`, host)
	read := func(m *manager, ports int) (rows map[string][]string, head []string, blocks map[string]string) {
		p := m.bringUp(s)
		defer p.stop()
		c := dialConsole(t, p)
		rows, head = counterRows(t, c, file, ports)
		if said := c.say("perfmgr dump_counters"); said != "" {
			t.Errorf("%s: %s", m.name, said)
		}
		human, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		blocks = map[string]string{"file": comparableBlocks(string(human)), "pe": comparableBlocks(c.say("perfmgr print_errors"))}
		first := slices.Sorted(maps.Keys(rows))[0]
		guid, port, _ := strings.Cut(first, "/")
		for _, command := range []string{"pc", "pc " + guid, "pc " + guid + ":" + port, "pe " + guid, "pc " + guid + ":99", "pc " + rows[first][0]} {
			blocks[command] = comparableBlocks(c.say("perfmgr " + command))
		}
		return rows, head, blocks
	}
	theirs, theirHead, theirBlocks := read(&opensm, 8)
	ours, head, blocks := read(&ibsm, len(theirs))
	if !slices.Equal(head, theirHead) {
		t.Errorf("head %q, OpenSM's %q", head, theirHead)
	}
	for command, want := range theirBlocks {
		if blocks[command] != want {
			t.Errorf("%s: %s", command, firstDifference(blocks[command], want))
		}
	}
	for port, want := range theirs {
		got := ours[port]
		if got == nil || !slices.Equal(got[:dataFrom], want[:dataFrom]) {
			t.Errorf("%s: %q, OpenSM's %q", port, got, want)
			continue
		}
		for i := dataFrom; i < len(want); i++ {
			n, _ := strconv.ParseUint(got[i], 10, 64)
			least, _ := strconv.ParseUint(want[i], 10, 64)
			if n < least || n > least+1<<20 {
				t.Errorf("%s: %s is %d, OpenSM's %d", port, head[i+3], n, least)
			}
		}
	}
	for port := range ours {
		if theirs[port] == nil {
			t.Errorf("OpenSM does not read %s", port)
		}
	}
}

// comparableBlocks are blocks without times and counts of packets.
func comparableBlocks(text string) string {
	text = regexp.MustCompile(`(Last \w+( Update)? +: ).*`).ReplaceAllString(text, "$1")
	return regexp.MustCompile(`(_(data|pkts) +: )\d+ \([0-9.KMGTPE]+B?\)`).ReplaceAllString(text, "$1")
}

// TestCounterLog: the lines about counters in the log, when errors are counted, when somebody resets them,
// and when a node goes; OpenSM writes the same, but for the byte order of one GUID.
func TestCounterLog(t *testing.T) {
	t.Parallel()
	for _, m := range []*manager{&opensm, &ibsm} {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			s := startIbsim(t, abs(t, "../../testdata/fabrics/captured.net"))
			file := s.path("counters")
			s.conf = "perfmgr TRUE\nperfmgr_sweep_time_s 1\nperfmgr_xmit_wait_log TRUE\nperfmgr_xmit_wait_threshold 50\nsweep_interval 1\n" +
				"event_db_dump_file " + file + "\nconsole loopback\nconsole_port " + freePort(t) + "\n"
			p := m.start(s, "H1", "-s", "1")
			defer p.stop()
			p.await("SUBNET UP")
			c := dialConsole(t, p)
			counterRows(t, c, file, 8)
			set := func(field string, n int) { s.console(`PerformanceSet "H2"[1] PortCounters.%s=%d`, field, n) }
			far := `0x[0-9a-f]+`
			if m == &ibsm {
				far = `0x200000`
			}
			line := func(number, what string, n int) string {
				return fmt.Sprintf(`0x01 -> perfmgr_log_errors: ERR %s: %s : %d : node "H2" \(NodeGUID: 0x[0-9a-f]+\) : port 1`, number, what, n)
			}
			peer := ` connected to "SW1" \(NodeGUID: ` + far + `\) : port \d+\n`
			set("SymbolErrorCounter", 20)
			awaitLine(t, p, line("5431", "SymbolErrorCounter", 20)+peer)
			set("SymbolErrorCounter", 25)
			awaitLine(t, p, line("5431", "SymbolErrorCounter", 5)+peer)
			set("VL15Dropped", 3)
			awaitLine(t, p, line("543C", "VL15Dropped", 3)+peer)
			set("PortXmitWait", 49)
			set("PortRcvErrors", 1)
			awaitLine(t, p, line("5434", "PortRcvErrors", 1)+peer)
			set("PortXmitWait", 109)
			awaitLine(t, p, line("543D", "XmitWait", 60)+`\n`)
			set("SymbolErrorCounter", 0)
			awaitLine(t, p, `0x01 -> perfmgr_check_oob_clear: PerfMgr: ERR 540A: Detected an out of band error clear on H2 \(0x[0-9a-f]+\) port 1\n`)
			if said := c.say("perfmgr clear_counters"); said != "" {
				t.Error(said)
			}
			p.await("0x02 -> PerfMgr counters cleared")
			s.console(`Unlink "H2"[1]`)
			awaitLine(t, p, `0x01 -> perfmgr_query_counters: ERR 5407: Node "H2" \(guid 0x[0-9a-f]+\) no longer exists so removing from PerfMgr monitoring\n`)
		})
	}
}

// awaitLine waits until a manager has written what an expression matches.
func awaitLine(t *testing.T, p *process, expression string) {
	t.Helper()
	re := regexp.MustCompile(expression)
	for late := time.Now().Add(patience()); !re.MatchString(p.text()); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(late) {
			t.Fatalf("no %s", expression)
		}
	}
}

// firstDifference is the first line in which two texts differ.
func firstDifference(got, want string) string {
	ours, theirs := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range max(len(ours), len(theirs)) {
		a, b := "", ""
		if i < len(ours) {
			a = ours[i]
		}
		if i < len(theirs) {
			b = theirs[i]
		}
		if a != b {
			return fmt.Sprintf("line %d of %d and %d is %q, OpenSM's %q", i+1, len(ours), len(theirs), a, b)
		}
	}
	return ""
}
