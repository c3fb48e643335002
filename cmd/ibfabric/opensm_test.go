package main

import (
	"bufio"
	"bytes"
	"fmt"
	"hash/crc64"
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"ibsm/mad/madtest"
	"ibsm/sim/ibsim"
)

// patience bounds each wait for another program.
const patience = 10 * time.Minute

// lookFor is how often one looks whether a program got somewhere.
const lookFor = 20 * time.Millisecond

// startOpenSM brings the fabric up and leaves OpenSM running. At the end of the test
// it is asked to go, as it would by an operator.
func startOpenSM(t *testing.T, sock, node string) {
	t.Helper()
	dir := t.TempDir()
	conf, log := filepath.Join(dir, "opensm.conf"), filepath.Join(dir, "log")
	if err := os.WriteFile(conf, []byte("force_log_flush TRUE\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	cmd := madtest.Peer(t, dir, sock, node, "opensm", "-F", conf, "-f", log, "-s", "0", "-R", "minhop")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	t.Cleanup(func() {
		cmd.Process.Signal(syscall.SIGTERM)
		select {
		case <-ended:
		case <-time.After(patience):
			t.Error("opensm does not end on SIGTERM")
		}
		if t.Failed() {
			text, _ := os.ReadFile(log)
			t.Logf("opensm at %s wrote:\n%s", sock, text[max(0, len(text)-4000):])
		}
	})
	look := time.NewTicker(lookFor)
	defer look.Stop()
	for !saysUp(log) {
		select {
		case err := <-ended:
			text, _ := os.ReadFile(log)
			t.Fatalf("opensm ended: %v\n%s", err, text)
		case <-look.C:
		}
	}
}

// output is what a client prints; it must succeed.
func output(t *testing.T, sock, node string, argv ...string) string {
	t.Helper()
	var out, errs bytes.Buffer
	cmd := madtest.Peer(t, t.TempDir(), sock, node, argv...)
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		t.Errorf("%v: %v\n%s", argv, err, errs.String())
	}
	return out.String()
}

// TestOpenSMTables: OpenSM programs the same tables on our fabric as on ibsim's, as
// dump_fts reads them from the switches.
func TestOpenSMTables(t *testing.T) {
	specs := []string{"fattree:k=4", "fattree:k=8,missing-links=5%,seed=3", "torus:dims=4x4,hosts=2",
		"dragonfly:a=4,p=2,h=2",
		"random:switches=20,degree=4,hosts=3,seed=5"}
	if os.Getenv("IBSM_PROOF") != "" {
		specs = append(specs, "torus:dims=6x6x6,hosts=4", "fattree:k=36,pods=9", "fattree:k=36")
	}
	for _, spec := range specs {
		t.Run(spec, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "net")
			if status := run([]string{"gen", spec + ",devices=ideal", "-o", file}, io.Discard, os.Stderr); status != 0 {
				t.FailNow()
			}
			n, err := loadNet(file)
			if err != nil {
				t.Fatal(err)
			}
			host := firstHost(n)
			server, ours := startServer(t, file)
			startOpenSM(t, ours, host)
			got := dumpTables(t, ours, host)
			if answer, err := (&console{server: server}).command("probe 10000"); !strings.HasPrefix(answer,
				"arrived 10000 of") {
				t.Errorf("%s %v", answer, err)
			}
			if stats := server.Stats(); stats != (ibsim.ServerStats{}) {
				t.Errorf("the server had to do without: %+v", stats)
			}
			theirs := madtest.StartIbsim(t, file)
			startOpenSM(t, theirs, host)
			want := dumpTables(t, theirs, host)
			if len(want) < 9 || len(got) != len(want) {
				t.Fatalf("%d tables, ibsim has %d", len(got), len(want))
			}
			if maps.Equal(got, want) {
				return
			}
			// Read again what may have been misread: the log shows whose tables moved.
			gotAgain, wantAgain := dumpTables(t, ours, host), dumpTables(t, theirs, host)
			for name := range want {
				report := t.Errorf
				if gotAgain[name] == wantAgain[name] {
					report = t.Logf
				}
				if got[name] != want[name] || gotAgain[name] != wantAgain[name] {
					report("%s: %s, then %s; on ibsim %s, then %s", name, got[name], gotAgain[name], want[name],
						wantAgain[name])
				}
			}
		})
	}
}

// dumpTables has dump_fts read all unicast tables, and keeps of each its size and a
// sum: those of the largest fabric are more than a gigabyte of text.
func dumpTables(t *testing.T, sock, node string) map[string]string {
	t.Helper()
	cmd := madtest.Peer(t, t.TempDir(), sock, node, "dump_fts", "-n")
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	tables := map[string]string{}
	name, entries, sum := "", 0, crc64.New(crc64.MakeTable(crc64.ECMA))
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if strings.HasPrefix(lines.Text(), "Unicast lids") {
			name, entries = lines.Text(), 0
			sum.Reset()
		}
		entries++
		sum.Write(lines.Bytes())
		tables[name] = fmt.Sprintf("%d lines, sum %x", entries, sum.Sum64())
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("dump_fts: %v", err)
	}
	return tables
}

// TestTenClients: OpenSM and ten diagnostic programs at a time, from hosts, a switch
// and OpenSM's own port.
func TestTenClients(t *testing.T) {
	spec, nodes, cables := "fattree:k=6", 45+54, 2*162
	if os.Getenv("IBSM_PROOF") != "" {
		spec, nodes, cables = "fattree:k=36", 1620+11664, 2*34992
	}
	n, err := loadNet(spec)
	if err != nil {
		t.Fatal(err)
	}
	host := firstHost(n)
	server, sock := startServer(t, spec)
	startOpenSM(t, sock, host)
	found := regexp.MustCompile(`(?m)^(Switch|Ca)\t`)
	programs := []struct {
		argv []string
		good func(out string) bool
	}{
		{[]string{"ibnetdiscover"}, func(out string) bool { return len(found.FindAllString(out, -1)) == nodes }},
		{[]string{"iblinkinfo"}, func(out string) bool { return strings.Count(out, "Active/  LinkUp)") == cables }},
		{[]string{"sminfo"}, func(out string) bool { return strings.Contains(out, "SMINFO_MASTER") }},
		{[]string{"smpquery", "nodeinfo", "2"}, func(out string) bool {
			return strings.Contains(out, "NodeType:........................")
		}},
		{[]string{"perfquery", "1", "1"}, func(out string) bool { return strings.Contains(out, "PortXmitData:") }},
		{[]string{"saquery", "-p", "--src-to-dst", "1:3"}, func(out string) bool {
			return strings.Contains(out, "dlid....................3")
		}},
		{[]string{"ibtracert", "1", "5"}, func(out string) bool { return strings.Contains(out, "\nTo ") }},
		{[]string{"osmtest", "-f", "c", "-i", "inventory"}, func(out string) bool {
			return strings.Contains(out, `"Create Inventory" PASS`)
		}},
		{[]string{"ibnetdiscover", "-p"}, func(out string) bool { return strings.Count(out, "\n") >= cables }},
		{[]string{"smpquery", "-D", "portinfo", "0,1", "1"}, func(out string) bool {
			return strings.Contains(out, "LinkState:.......................Active")
		}},
	}
	var all sync.WaitGroup
	for i, p := range programs {
		node := []string{host, n.Nodes[0].ID, n.Nodes[len(n.Nodes)-1-i].ID}[i%3]
		if p.argv[0] == "osmtest" {
			node = n.Nodes[len(n.Nodes)-1].ID // it wants a port of an adapter
		}
		all.Go(func() {
			if out := output(t, sock, node, p.argv...); !p.good(out) {
				t.Errorf("%v at %s says:\n%s", p.argv, node, out[:min(len(out), 2000)])
			}
		})
	}
	all.Wait()
	if s := server.Stats(); s.Malformed+s.Refused+s.Late+s.Dropped > 0 {
		t.Errorf("%+v", s)
	}
}

// TestFaults: what the commands do reaches OpenSM by traps alone, for it sweeps at no
// other time, and what it does about it carries packets again.
func TestFaults(t *testing.T) {
	n, err := loadNet("fattree:k=4")
	if err != nil {
		t.Fatal(err)
	}
	server, sock := startServer(t, "fattree:k=4")
	startOpenSM(t, sock, firstHost(n))
	c := &console{server: server}
	await := func(line, want string) {
		t.Helper()
		look := time.NewTicker(lookFor)
		defer look.Stop()
		late := time.After(time.Minute)
		for answer := ""; !strings.HasPrefix(answer, want); {
			select {
			case <-late:
				t.Fatalf("%s: %s\nwant %s", line, answer, want)
			case <-look.C:
				answer, _ = c.command(line)
			}
		}
	}
	for _, fault := range []struct {
		lines []string
		links int // that are left
	}{
		{[]string{"link down leaf-02 3"}, 47},
		{[]string{"link up leaf-02 3"}, 48},
		{[]string{"reboot leaf-03"}, 48},
		{[]string{`reboot "host-09 mlx5_0"`}, 48},
		{[]string{"node down agg-02"}, 44},
		{[]string{"node up agg-02"}, 48},
		{[]string{"recable leaf-02 1 leaf-02 2"}, 47}, // a cable from a switch to itself, and two hosts without
		{[]string{"recable leaf-02 1 H-b83fd20300a00020 1", "recable leaf-02 2 H-b83fd20300a00030 1"}, 48},
	} {
		for _, line := range fault.lines {
			if _, err := c.command(line); err != nil {
				t.Fatalf("%s: %v", line, err)
			}
		}
		await("state", fmt.Sprintf("active %d of %d links", fault.links, fault.links))
		await("probe 1000", "arrived 1000 of 1000")
	}
	counters, _ := c.command("counters")
	if !strings.Contains(counters, "smp TrapRepress Notice") {
		t.Errorf("no trap was answered:\n%s", counters)
	}
}
