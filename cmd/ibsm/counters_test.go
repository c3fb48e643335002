package main_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"ibsm/ctl"
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
	s.conf = "perfmgr TRUE\nperfmgr_sweep_time_s 1\nperfmgr_log_errors FALSE\nevent_db_dump_file " + file +
		"\nconsole loopback\nconsole_port " + freePort(t) + "\n" + oddities.conf(t)
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
		blocks = map[string]string{"file": comparableBlocks(string(human)),
			"pe": comparableBlocks(c.say("perfmgr print_errors"))}
		first := slices.Sorted(maps.Keys(rows))[0]
		guid, port, _ := strings.Cut(first, "/")
		for _, command := range []string{"pc", "pc " + guid, "pc " + guid + ":" + port, "pe " + guid,
			"pc " + guid + ":99", "pc " + rows[first][0]} {
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
				return fmt.Sprintf(
					`0x01 -> perfmgr_log_errors: ERR %s: %s : %d : node "H2" \(NodeGUID: 0x[0-9a-f]+\) : port 1`,
					number, what, n)
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
			awaitLine(
				t, p, `0x01 -> perfmgr_check_oob_clear: PerfMgr: ERR 540A: Detected an out of band error clear on H2 \(0x[0-9a-f]+\) port 1\n`)
			if said := c.say("perfmgr clear_counters"); said != "" {
				t.Error(said)
			}
			p.await("0x02 -> PerfMgr counters cleared")
			s.console(`Unlink "H2"[1]`)
			awaitLine(
				t, p, `0x01 -> perfmgr_query_counters: ERR 5407: Node "H2" \(guid 0x[0-9a-f]+\) no longer exists so removing from PerfMgr monitoring\n`)
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

// countingServers are servers of a fabric whose counters the tests add to.
var countingServers = []struct {
	name  string
	start func(t *testing.T) *simulator
	add   func(s *simulator, node string, port int, counter string, n int)
}{
	{"ibsim", func(t *testing.T) *simulator { return startIbsim(t, abs(t, "../../testdata/fabrics/captured.net")) },
		func(s *simulator, node string, port int, counter string, n int) {
			s.console(`PerformanceSet "%s"[%d] PortCounters.%s=%d`, node, port, counter, n)
		}},
	{"serve", func(t *testing.T) *simulator {
		return startCounting(t, abs(t, "../../testdata/fabrics/captured.net"))
	}, addCount},
}

// command is one for ibfabric serve, which obeys.
func (s *simulator) command(format string, args ...any) {
	s.t.Helper()
	s.proc.skip()
	fmt.Fprintf(s.stdin, format+"\n", args...)
	s.proc.await("ok")
}

// addCount has a port of ibfabric serve count.
func addCount(s *simulator, node string, port int, counter string, n int) {
	s.t.Helper()
	s.command("count %s %d %s %d", node, port, counter, n)
}

// startCounting serves the fabric of a net file by ibfabric serve, with devices like real ones.
func startCounting(t *testing.T, file string) *simulator {
	t.Helper()
	s := &simulator{t: t, dir: t.TempDir(), socket: newSocket(), net: readNet(t, file)}
	stdin, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer stdin.Close()
	t.Cleanup(func() { w.Close() })
	s.stdin = w
	s.proc = start(t, stdin, s.dir, nil, program(t, "ibfabric"), "serve", file, "--sock", s.socket)
	s.proc.await("clients attach")
	return s
}

// portNow is what ibsmctl says of a port, by name of the counter.
type portNow struct {
	lid    string // of its agent
	port   int
	values map[string]uint64
}

// countersOf are what a manager shows of the counters of all ports, which it has read after now.
func countersOf(t *testing.T, s *simulator, socket string) []ctl.PortCounters {
	t.Helper()
	client := ctl.NewClient(socket)
	defer client.Close()
	sweeps := func() uint64 {
		st := &ctl.CounterStatus{}
		if err := client.Get(t.Context(), "/v1/counters/status", nil, st); err != nil {
			t.Fatal(err)
		}
		return st.Sweeps
	}
	// one may be under way
	for had, late := sweeps(), time.Now().Add(patience()); sweeps() < had+2; time.Sleep(50 * time.Millisecond) {
		if time.Now().After(late) {
			t.Fatal("the manager reads no counters")
		}
	}
	var reply struct{ Ports []ctl.PortCounters }
	text := run(t, s.dir, nil, program(t, "ibsmctl"), "--socket", socket, "--json", "counters").stdout
	if err := json.Unmarshal([]byte(text), &reply); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return reply.Ports
}

// countersNow are those of all ports, by port GUID and port, as the manager read them after now.
func countersNow(t *testing.T, s *simulator, socket string) map[string]portNow {
	t.Helper()
	ports := countersOf(t, s, socket)
	var list struct{ Ports []ctl.Port }
	if err := json.Unmarshal(
		[]byte(run(t, s.dir, nil, program(t, "ibsmctl"), "--socket", socket, "--json", "ports").stdout),
		&list); err != nil {
		t.Fatal(err)
	}
	type place struct {
		node string
		port uint8
	}
	at := map[place]ctl.Port{}
	for _, p := range list.Ports {
		at[place{p.Node, p.Num}] = p
	}
	all := map[string]portNow{}
	for _, p := range ports {
		port := at[place{p.Node, p.Port}]
		lid := max(port.LID, at[place{p.Node, 0}].LID) // that of port 0 is a switch's
		now := portNow{fmt.Sprint(lid), int(p.Port), map[string]uint64{}}
		if !p.Answered {
			t.Errorf("%s port %d did not answer: %s", p.Node, p.Port, p.Reading)
		}
		for _, c := range p.Counters {
			now.values[c.Name] = c.Value
		}
		all[fmt.Sprintf("%s/%d", port.GUID, p.Port)] = now
	}
	return all
}

// TestCountersAgree: Debian's perfquery, in the forms that show the counters which are read, Debian's
// ibqueryerrors and ibsmctl counters say the same of every port, on ibsim, which counts by itself, and on
// ibfabric serve.
func TestCountersAgree(t *testing.T) {
	t.Parallel()
	for _, server := range countingServers {
		t.Run(server.name, func(t *testing.T) {
			t.Parallel()
			s := server.start(t)
			s.conf = "perfmgr TRUE\nperfmgr_sweep_time_s 1\nperfmgr_log_errors FALSE\n"
			socket := s.path("s")
			p := ibsm.bringUp(s, "--ctl_socket", socket)
			defer p.stop()
			for i, counter := range []string{"SymbolErrorCounter", "LinkErrorRecoveryCounter", "LinkDownedCounter",
				"PortRcvErrors", "PortRcvRemotePhysicalErrors",
				"PortRcvSwitchRelayErrors", "PortXmitDiscards", "PortXmitConstraintErrors", "PortRcvConstraintErrors",
				"LocalLinkIntegrityErrors",
				"ExcessiveBufferOverrunErrors", "VL15Dropped", "PortXmitWait"} {
				server.add(s, "H2", 1, counter, 13-i)
				server.add(s, "SW1", 2, counter, i+1)
			}
			before := countersNow(t, s, socket)
			seen := map[string]map[string]map[string]uint64{} // by form and port
			for _, form := range []string{"", "-x"} {
				seen[form] = map[string]map[string]uint64{}
				for name, port := range before {
					args := []string{"perfquery", port.lid, strconv.Itoa(port.port)}
					if form != "" {
						args = slices.Insert(args, 1, form)
					}
					r := s.run("H3", args...)
					if r.status != 0 {
						t.Errorf("%v: %s", args, r.stderr)
					}
					seen[form][name] = printedCounters(r.stdout)
				}
			}
			listed := s.run("H3", "ibqueryerrors", "--suppress", "PortXmitWait").stdout
			after := countersNow(t, s, socket)
			for form, ports := range seen {
				for name, values := range ports {
					compareCounters(t, "perfquery "+form+" of "+name, values, before[name].values, after[name].values,
						form == "-x" && server.name == "serve", form == "")
				}
			}
			compareErrors(t, listed, before, "0x0000000000100011/1", "0x0000000000200000/2")

			// The list of ports with errors begins anew where their counters were cleared, and only there.
			counters := func(args ...string) string {
				return run(t, s.dir, nil, append([]string{program(t, "ibsmctl"), "--socket", socket, "counters"},
					args...)...).stdout
			}
			listedNow := func(node string) bool { return strings.Contains(counters("top", "errors"), "\n"+node+" ") }
			server.add(s, "H2", 1, "SymbolErrorCounter", 40)
			server.add(s, "SW1", 2, "SymbolErrorCounter", 40)
			eventually(t, "new errors are listed", func() bool { return listedNow("H2") && listedNow("SW1") })
			counters("clear", "H2:1")
			if listedNow("H2") || !listedNow("SW1") {
				t.Errorf("after clear H2:1:\n%s", counters("top", "errors"))
			}
			server.add(s, "H2", 1, "SymbolErrorCounter", 50)
			eventually(t, "errors after clear are listed", func() bool { return listedNow("H2") })
		})
	}
}

// printedCounters are the values that perfquery prints.
func printedCounters(text string) map[string]uint64 {
	values := map[string]uint64{}
	for _, m := range regexp.MustCompile(`(?m)^([A-Za-z0-9]+):\.+([0-9]+)$`).FindAllStringSubmatch(text, -1) {
		values[m[1]], _ = strconv.ParseUint(m[2], 10, 64)
	}
	return values
}

// printedLong are what perfquery -x prints of 64 bits on every device that has them; the others it reads
// from PortCounters or not at all.
var printedLong = []string{"PortXmitData", "PortRcvData", "PortXmitPkts", "PortRcvPkts", "PortUnicastXmitPkts",
	"PortUnicastRcvPkts", "PortMulticastXmitPkts", "PortMulticastRcvPkts"}

// compareCounters: what was read between two readings of the manager is between their values. In the
// long form Debian's libumad2sim garbles what is behind 224 octets of a packet of ibfabric serve; in
// the short one perfquery 44 prints VL15Dropped as QP1Dropped, and data as far as 32 bits go.
func compareCounters(t *testing.T, what string, values, before, after map[string]uint64, garbled, short bool) {
	t.Helper()
	compared := 0
	for counter, low := range before {
		n, has := values[counter]
		if !has || counter == "QP1Dropped" || garbled && (counter == "VL15Dropped" || counter == "PortXmitWait") ||
			!short && !slices.Contains(printedLong, counter) {
			continue
		}
		compared++
		if high := after[counter]; n < low || n > high {
			t.Errorf("%s: %s is %d, ibsmctl shows %d and %d", what, counter, n, low, high)
		}
	}
	if least := 4; compared < least {
		t.Errorf("%s: %d counters compared", what, compared)
	}
}

// compareErrors: ibqueryerrors lists the counters that ibsmctl shows, of the ports of listed and of those where a
// packet was discarded meanwhile.
func compareErrors(t *testing.T, text string, ports map[string]portNow, listed ...string) {
	t.Helper()
	for _, row := range regexp.MustCompile(`(?m)^ +GUID (0x[0-9a-f]+) port (\d+): (.*)$`).FindAllStringSubmatch(text,
		-1) {
		guid, _ := strconv.ParseUint(row[1], 0, 64)
		name := fmt.Sprintf("0x%016x/%s", guid, row[2])
		port, known := ports[name]
		if !known {
			t.Errorf("ibqueryerrors lists %s", row[0])
			continue
		}
		listed = slices.DeleteFunc(listed, func(want string) bool { return want == name })
		for _, c := range regexp.MustCompile(`\[(\w+) == (\d+)`).FindAllStringSubmatch(row[3], -1) {
			if n, _ := strconv.ParseUint(c[2], 10, 64); port.values[c[1]] != n {
				t.Errorf("%s port %s: ibqueryerrors prints %s == %d, ibsmctl %d", row[1], row[2], c[1], n,
					port.values[c[1]])
			}
		}
	}
	if len(listed) > 0 {
		t.Errorf("ibqueryerrors does not list %v:\n%s", listed, text)
	}
}

// TestCountersStandby: a standby reads the counters as the master does, and goes on as master.
func TestCountersStandby(t *testing.T) {
	t.Parallel()
	s := startIbsim(t, abs(t, "../../testdata/fabrics/captured.net"))
	master := ibsm.start(s, "H1", "-p", "10")
	master.await("SUBNET UP")
	s.conf = "perfmgr TRUE\nperfmgr_sweep_time_s 1\n"
	socket := s.path("s")
	standby := ibsm.start(s, "H2", "--ctl_socket", socket)
	defer standby.stop()
	standby.await("Entering STANDBY state")
	if ports := countersOf(t, s, socket); len(ports) != 20 {
		t.Errorf("a standby reads %d ports, want 20", len(ports))
	}
	s.console(`PerformanceSet "H3"[1] PortCounters.SymbolErrorCounter=20`)
	awaitLine(t, standby, `ERR 5431: SymbolErrorCounter : 20 : node "H3" .* connected to "SW\d"`)
	master.stop()
	standby.await("SUBNET UP")
	if ports := countersOf(t, s, socket); len(ports) != 20 {
		t.Errorf("as master it reads %d ports, want 20", len(ports))
	}
}

// TestSickRulesAtStart: a manager that starts with errors in the rules judges by the default ones.
func TestSickRulesAtStart(t *testing.T) {
	t.Parallel()
	s := startCounting(t, generated("fattree:k=4").file(t))
	rules := s.path("rules")
	if err := os.WriteFile(rules, []byte("rule bad\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	s.conf = "perfmgr TRUE\nperfmgr_sweep_time_s 1\nsick_rules_file " + rules + "\n"
	socket := s.path("s")
	p := ibsm.bringUp(s, "--ctl_socket", socket)
	defer p.stop()
	countersOf(t, s, socket)
	if got := run(t, s.dir, nil, program(t, "ibsmctl"), "--socket", socket, "links",
		"sick").stdout; !regexp.MustCompile(`^0 sick links by [2-9] rules, `).MatchString(got) {
		t.Errorf("%s", got)
	}
}

// TestSickLinks: an operator finds the bad cables: in the log, and by ibsmctl links sick, with the end that
// receives badly; a reload changes the rules, and a file with an error does not.
func TestSickLinks(t *testing.T) {
	t.Parallel()
	s := startCounting(t, generated("fattree:k=4").file(t))
	rules := s.path("rules")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(rules, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	write("# none of these is reached\nrecoveries LinkErrorRecoveryCounter 100 1h\n")
	s.conf = "perfmgr TRUE\nperfmgr_sweep_time_s 1\nsick_rules_file " + rules + "\n"
	socket := s.path("s")
	state := []string{"--ctl_socket", socket, "--state_dir", s.path("state")}
	p := ibsm.bringUp(s, state...)
	defer func() { p.stop() }()
	sick := func() string {
		return run(t, s.dir, nil, program(t, "ibsmctl"), "--socket", socket, "links", "sick").stdout
	}
	countersOf(t, s, socket) // the first readings
	addCount(s, "leaf-02", 3, "LinkErrorRecoveryCounter", 9)
	countersOf(t, s, socket)
	if got := sick(); !strings.HasPrefix(got, "0 sick links by 1 rule, ") {
		t.Errorf("below the limit: %s", got)
	}
	write("recoveries LinkErrorRecoveryCounter 3\n")
	p.signal(syscall.SIGHUP)
	p.await(rules + ":1:37: expected a name, counters, a limit, a time and an action, not 3 words")
	p.await("the rules for sick links have errors: the previous rules stay in force")
	if got := run(t, s.dir, nil, program(t, "ibsmctl"), "--socket", socket, "config",
		"reload").stdout; !strings.Contains(got, rules+":1:37: error: ") {
		t.Errorf("ibsmctl config reload says nothing of the errors: %s", got)
	}
	write("recoveries LinkErrorRecoveryCounter 3 1h\nbit-errors SymbolErrorCounter 1e-12/bit 12m\n")
	p.signal(syscall.SIGHUP)
	p.await("configuration reloaded")
	countersOf(t, s, socket)
	addCount(s, "leaf-02", 3, "LinkErrorRecoveryCounter", 4)
	addCount(s, "leaf-01", 1, "SymbolErrorCounter", 5000)
	addCount(s, "leaf-01", 2, "PortRcvRemotePhysicalErrors", 60000)
	awaitLine(
		t, p, `0x01 -> a link is sick node=leaf-02 guid=0x[0-9a-f]+ port=3 from="agg-01 port 2" rule=recoveries counted=4 most=3`)
	awaitLine(
		t, p, `0x01 -> a link is sick node=leaf-01 guid=0x[0-9a-f]+ port=1 from="host-01 mlx5_0 port 1" rule=bit-errors counted=5000 most=\d+`)
	want := `^2 sick links by 2 rules, from counters read \d+s ago

leaf-02 port 3 receives errors from agg-01 port 2: recoveries
  LinkErrorRecoveryCounter 4 in 1h0m0s, more than 3 \(3\)
  since .*; reported only

leaf-01 port 1 receives errors from host-01 mlx5_0 port 1: bit-errors
  SymbolErrorCounter 5000 in 12m0s, more than \d+ \(1e-12/bit\)
  since .*; reported only
$`
	why := `(?s)sick link: 2 ports\n.*    leaf-01 .*port 1: .* bit-errors.*\n    leaf-02 .*port 3: .*recoveries`
	if got := run(t, s.dir, nil, program(t, "ibsmctl"), "--socket", socket, "why").stdout; !regexp.MustCompile(
		why).MatchString(got) {
		t.Errorf("ibsmctl why does not name the sick links:\n%s", got)
	}
	if got := sick(); !regexp.MustCompile(want).MatchString(got) {
		t.Errorf("ibsmctl links sick:\n%s", got)
	}
	// What would be done, and what is done: the link of a host stays in use.
	order := func(args ...string) string {
		t.Helper()
		r := run(t, s.dir, nil, append([]string{program(t, "ibsmctl"), "--socket", socket}, args...)...)
		if r.status != 0 {
			t.Errorf("%q: %s", args, r.stderr)
		}
		return r.stdout
	}
	shows := func(what, text string) {
		t.Helper()
		for tries := 0; !regexp.MustCompile(text).MatchString(sick()); tries++ {
			if tries == 100 {
				t.Fatalf("%s: %s", what, sick())
			}
			time.Sleep(100 * time.Millisecond)
		}
	}
	write("recoveries LinkErrorRecoveryCounter 3 1h avoid\nbit-errors SymbolErrorCounter 1e-12/bit 12m avoid\n")
	order("config", "reload")
	addCount(s, "leaf-02", 3, "LinkErrorRecoveryCounter", 4)
	addCount(s, "leaf-01", 1, "SymbolErrorCounter", 5000)
	shows("a dry run",
		`(?s)since .*; routes would avoid it with sick_links avoid\n.*since .*; kept in use: it is the link of a host\n`)
	s.conf += "sick_links avoid\n"
	if err := os.WriteFile(s.path("ibsm.conf"), []byte(s.conf), 0o666); err != nil {
		t.Fatal(err)
	}
	order("config", "reload")
	shows("avoided", `(?s)since .*; routes avoid it\n.*1 link out of use\n  leaf-02 port 3 to agg-01 port 2: routes avoid it since .*, returns at .* at the earliest\n`)
	if got := order("why", "leaf-02:3"); !strings.Contains(got, "it is sick and out of use") {
		t.Errorf("ibsmctl why: %s", got)
	}
	if got := order("status"); !regexp.MustCompile(`sick links +1 link out of use: ibsmctl links sick`).MatchString(
		got) {
		t.Errorf("ibsmctl status: %s", got)
	}
	if got := order("links", "isolate", "leaf-03:3", "--for", "1h"); !regexp.MustCompile(
		`^routes avoid leaf-03 port 3 to agg-0\d port \d until `).MatchString(got) {
		t.Errorf("ibsmctl links isolate: %s", got)
	}
	shown := func(what, text string) {
		t.Helper()
		if got := sick(); !regexp.MustCompile(text).MatchString(got) {
			t.Errorf("%s, at once: %s", what, got)
		}
	}
	shown("isolated", `(?s)2 links out of use\n.*  leaf-03 port 3 to .*, by hand, returns at `)
	order("links", "heal", "leaf-02:3")
	shown("healed", `^1 sick link by (?s).*1 link out of use\n  leaf-03 port 3`)
	if r := run(t, s.dir, nil, program(t, "ibsmctl"), "--socket", socket, "links", "isolate",
		"leaf-01:1"); r.status == 0 || !strings.Contains(r.stderr, "does not lead to another switch") {
		t.Errorf("the link of a host: %s", r.stderr)
	}
	// A manager that is killed knows what was found, and what is out of use.
	p.kill()
	p = ibsm.bringUp(s, state...)
	shows("after a restart",
		`^1 sick link by (?s).*leaf-01 port 1 receives errors.*1 link out of use\n  leaf-03 port 3 to .*: routes avoid it since .*, by hand, returns at `)
	order("links", "heal", "leaf-03:3")
	shown("all healed", `it is the link of a host\n$`)
	if got := order("links", "heal", "leaf-01:1"); !strings.HasPrefix(got, "routes may use leaf-01 port 1 to host-01") {
		t.Errorf("ibsmctl links heal: %s", got)
	}
	shown("also that of a host", `^0 sick links by `)
}
