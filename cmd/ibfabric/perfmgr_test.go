package main

import (
	"bufio"
	"fmt"
	stdnet "net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"ibsm/mad"
	"ibsm/mad/madtest"
	"ibsm/mad/pma"
	"ibsm/sim/fabric"
	"ibsm/topo/net"
)

// columns are the counters in the table of OpenSM's performance manager, from column 7 on.
var columns = []pma.Counter{pma.SymbolErrorCounter, pma.LinkErrorRecoveryCounter, pma.LinkDownedCounter,
	pma.PortRcvErrors,
	pma.PortRcvRemotePhysicalErrors, pma.PortRcvSwitchRelayErrors, pma.PortXmitDiscards, pma.PortXmitConstraintErrors,
	pma.PortRcvConstraintErrors, pma.LocalLinkIntegrityErrors, pma.ExcessiveBufferOverrunErrors, pma.VL15Dropped,
	pma.PortXmitWait,
	pma.PortXmitData, pma.PortRcvData, pma.PortXmitPkts, pma.PortRcvPkts, pma.PortUnicastXmitPkts,
	pma.PortUnicastRcvPkts,
	pma.PortMulticastXmitPkts, pma.PortMulticastRcvPkts}

// TestOpenSMPerfmgr: the performance manager of Debian's OpenSM, which reads real devices, reads
// ours, too: its file has, for every port, what was counted while it ran.
func TestOpenSMPerfmgr(t *testing.T) {
	n, err := loadNet("fattree:k=4")
	if err != nil {
		t.Fatal(err)
	}
	n.Profile = net.RealDevices
	server, sock := serveNet(t, n, false)
	dir := t.TempDir()
	l, err := stdnet.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	console := l.Addr().String()
	_, port, _ := stdnet.SplitHostPort(console)
	l.Close()
	conf, log, dump := filepath.Join(dir, "opensm.conf"), filepath.Join(dir, "log"), filepath.Join(dir, "counters")
	text := "force_log_flush TRUE\nperfmgr TRUE\nperfmgr_sweep_time_s 1\nperfmgr_log_errors FALSE\nconsole loopback\nconsole_port " + port + "\nevent_db_dump_file " + dump + "\n"
	if err := os.WriteFile(conf, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	opensm := madtest.Peer(t, dir, sock, firstHost(n), "opensm", "-F", conf, "-f", log)
	if err := opensm.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		opensm.Process.Signal(syscall.SIGTERM)
		opensm.Wait()
	})
	late := time.Now().Add(patience)
	await(t, late, func() bool { return len(dumpCounters(console, dump)) >= 100 })
	truth := map[string][pma.NumCounters]uint64{}
	server.Do(func(f *fabric.Fabric) {
		for at := range f.Ports() {
			if at.Port == 0 {
				continue
			}
			for i, c := range columns[:13] {
				f.Count(at, c, uint64(int(at.Node)+int(at.Port)+i)%8)
			}
			f.Count(at, pma.PortXmitData, 1<<40)
			var all [pma.NumCounters]uint64
			for c := range pma.AllCounters.All {
				all[c] = f.Counter(at, c)
			}
			info := f.NodeInfo(at)
			truth[fmt.Sprintf("%v/%d", info.NodeGUID(), at.Port)] = all
		}
	})
	var wrong []string
	await(t, late, func() bool {
		wrong = compareDump(dumpCounters(console, dump), truth)
		return len(wrong) == 0 || time.Now().After(late.Add(-patience+30*time.Second))
	})
	for _, line := range wrong {
		t.Error(line)
	}
}

// await looks until something is so.
func await(t *testing.T, late time.Time, is func() bool) {
	t.Helper()
	look := time.NewTicker(10 * lookFor)
	defer look.Stop()
	for !is() {
		if time.Now().After(late) {
			t.Fatal("it took too long")
		}
		<-look.C
	}
}

// dumpCounters has OpenSM write its file, and reads it: counters by node and port.
func dumpCounters(console, file string) map[string][]uint64 {
	conn, err := stdnet.DialTimeout("tcp", console, time.Second)
	if err != nil {
		return nil
	}
	fmt.Fprintf(conn, "perfmgr dump_counters mach\nquit\n")
	conn.SetReadDeadline(time.Now().Add(2 * time.Second))
	for lines := bufio.NewScanner(conn); lines.Scan(); {
	}
	conn.Close()
	text, err := os.ReadFile(file)
	if err != nil {
		return nil
	}
	rows := map[string][]uint64{}
	for line := range strings.Lines(string(text)) {
		cells := strings.Split(strings.TrimSpace(line), "\t")
		if len(cells) != 7+len(columns) || cells[0] == "Name" {
			continue
		}
		guid, _ := strconv.ParseUint(cells[1], 0, 64)
		row := make([]uint64, len(columns))
		for i := range columns {
			row[i], _ = strconv.ParseUint(cells[7+i], 10, 64)
		}
		rows[fmt.Sprintf("%v/%s", mad.GUID(guid), cells[3])] = row
	}
	return rows
}

// compareDump says what is not as it was counted. OpenSM began to count when it was up; packets
// are counted on.
func compareDump(rows map[string][]uint64, truth map[string][pma.NumCounters]uint64) (wrong []string) {
	for port, all := range truth {
		row := rows[port]
		if row == nil {
			wrong = append(wrong, "no row of "+port)
			continue
		}
		for i, c := range columns {
			low, high := all[c], all[c]
			if i >= 13 {
				low, high = low>>40<<40, high+1<<30
			}
			if row[i] < low || row[i] > high {
				wrong = append(wrong, fmt.Sprintf("%s: %v is %d, counted %d", port, c, row[i], all[c]))
			}
		}
	}
	return wrong
}
