package main

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"ibsm/mad/madtest"
	"ibsm/sim/fabric"
	"ibsm/sim/fabric/fabrictest"
	"ibsm/sim/hosts"
	"ibsm/sim/ibsim"
)

// quirkTable is what OpenSM makes of devices with quirks, beside which sim judges ibsm.
const quirkTable = "../../sim/testdata/opensm_quirks.txt"

// quirkTableHead says how the table was made.
const quirkTableHead = `# How many packets arrive, of those that eight adapters send each other, under OpenSM 3.3.23 (Debian) on ` + fabrictest.QuirkSpec + `,
# where all devices of a model but the manager's adapter have a quirk: setup | model | quirk in the words of "ibfabric serve" | packets.
# Without a quirk all arrive, 56, and 112 in two partitions. Where the quirk is of multicast, seven adapters are members of
# IPoIB's broadcast group, and the packets are copies of what they send to it: all are 42. Written by
# IBSM_QUIRKS=write go test ./cmd/ibfabric -run TestQuirksOpenSM; with IBSM_CELLS=TEXT only the cells with TEXT are.
`

// quirkConf is the opensm.conf of a setup. Time-outs are short: nothing is lost.
func quirkConf(setup, dir string) string {
	conf := "force_log_flush TRUE\nrouting_engine minhop\nsweep_interval 1\ntransaction_timeout 100\ntransaction_retries 2\nmax_wire_smps 16\n"
	switch setup {
	case "qos":
		conf += "qos TRUE\nqos_max_vls 8\nqos_high_limit 4\nqos_vlarb_high 0:4\nqos_vlarb_low 0:4,1:11,2:12\nqos_sl2vl 0,1,2,1,2,0,1,2,0,1,2,0,1,2,0,1\n"
	case "partitions":
		conf += "partition_config_file " + filepath.Join(dir, "partitions.conf") + "\n"
	case "m_keys":
		conf += fmt.Sprintf("m_key %#x\nm_key_lease_period 60\nm_key_protection_level 2\n",
			uint64(fabrictest.QuirkMKey))
	}
	return conf
}

// quirkUnderOpenSM is how many packets arrive when OpenSM has come to rest.
func quirkUnderOpenSM(t *testing.T, c fabrictest.QuirkCell) int {
	t.Helper()
	n := fabrictest.QuirkNet(t)
	f := fabric.New(n, fabric.Config{Seed: 1, Caps: deviceCaps(n, false)})
	var crowd *hosts.Crowd
	if c.Multicasts() {
		var err error
		if crowd, err = hosts.New(f, 1, fabrictest.Members(f)); err != nil {
			t.Fatal(err)
		}
	}
	for node := range n.Nodes {
		if c.Has(n, int32(node)) {
			f.SetDefect(int32(node), c.Defect())
		}
	}
	dir, sock := t.TempDir(), madtest.NewSocket()
	server, err := ibsim.Listen(ibsim.ServerConfig{SockName: sock, Fabric: f})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- server.Run(ctx) }()
	defer func() { cancel(); <-ended }()
	conf, log := filepath.Join(dir, "opensm.conf"), filepath.Join(dir, "log")
	for name, text := range map[string]string{conf: quirkConf(c.Setup, dir),
		filepath.Join(dir, "partitions.conf"): fabrictest.QuirkPartitions} {
		if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	cmd := madtest.Peer(t, dir, sock, n.Nodes[fabrictest.Manager(n).Node].ID, "opensm", "-F", conf, "-f", log)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	exited := make(chan error)
	go func() { cmd.Wait(); close(exited) }()
	defer func() { cmd.Process.Kill(); <-exited }()
	awaitRest(log, exited)
	if crowd != nil {
		return copiesUnderOpenSM(server, c, crowd)
	}
	arrive := 0
	server.Do(func(f *fabric.Fabric) { arrive, _ = c.Pairs(f) })
	return arrive
}

// copiesUnderOpenSM is how many copies arrive when the hosts have joined. Where not all do, it waits for as long as
// OpenSM takes to try once more.
func copiesUnderOpenSM(server *ibsim.Server, c fabrictest.QuirkCell, crowd *hosts.Crowd) (arrive int) {
	server.Do(func(*fabric.Fabric) { crowd.Begin(hosts.Boot{}) })
	look, late := time.NewTicker(10*time.Millisecond), time.After(joinPatience)
	defer look.Stop()
	for all := 1; arrive < all; {
		server.Do(func(f *fabric.Fabric) {
			crowd.Step()
			arrive, all = c.Pairs(f)
		})
		select {
		case <-late:
			return arrive
		case <-look.C:
		}
	}
	return arrive
}

// joinPatience is how long hosts may take to join, and OpenSM to set its tables.
const joinPatience = 6 * time.Second

// quirkPatience is how long OpenSM may take: with some quirks it waits, or sets the same ports again and again.
const quirkPatience = 20 * time.Second

// awaitRest waits until OpenSM has swept without an error, or three times, or has ended.
func awaitRest(log string, exited <-chan error) {
	look, late := time.NewTicker(lookFor), time.After(quirkPatience)
	defer look.Stop()
	for !rests(log) {
		select {
		case <-exited:
			return
		case <-late:
			return
		case <-look.C:
		}
	}
}

// rests reports whether OpenSM has swept without an error, or three times.
func rests(log string) bool {
	text, _ := os.ReadFile(log) // it may not be there yet
	return bytes.Contains(text, []byte("SUBNET UP")) || bytes.Count(text, []byte("Errors during initialization")) >= 3
}

// TestQuirksOpenSM: the table has what OpenSM makes of devices with quirks: of a few that are drawn, with IBSM_PROOF of
// 200.
func TestQuirksOpenSM(t *testing.T) {
	if os.Getenv("IBSM_QUIRKS") == "write" {
		writeQuirkTable(t)
	}
	cells, count := fabrictest.QuirkCells(), 12
	if os.Getenv("IBSM_PROOF") != "" {
		count = 200
	}
	table := fabrictest.ReadQuirkTable(t, quirkTable)
	if len(table) != len(cells) {
		t.Errorf("the table has %d cells, not %d", len(table), len(cells))
	}
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	random.Shuffle(len(cells), func(i, j int) { cells[i], cells[j] = cells[j], cells[i] })
	for c, got := range quirksUnderOpenSM(t, cells[:count]) {
		if want, known := table[c]; !known || got != want {
			t.Errorf("%v: %d packets arrive, the table has %d", c, got, want)
		}
	}
}

// quirksUnderOpenSM are the cells with the packets that arrive, some at a time: OpenSM waits more than it works.
func quirksUnderOpenSM(t *testing.T, cells []fabrictest.QuirkCell) map[fabrictest.QuirkCell]int {
	var all sync.WaitGroup
	var mu sync.Mutex
	arrive, next := map[fabrictest.QuirkCell]int{}, make(chan fabrictest.QuirkCell)
	for range 4 {
		all.Go(func() {
			for c := range next {
				n := quirkUnderOpenSM(t, c)
				mu.Lock()
				arrive[c] = n
				mu.Unlock()
			}
		})
	}
	for _, c := range cells {
		next <- c
	}
	close(next)
	all.Wait()
	return arrive
}

// writeQuirkTable makes the table, or the part of it that has the text of IBSM_CELLS.
func writeQuirkTable(t *testing.T) {
	cells, text := fabrictest.QuirkCells(), os.Getenv("IBSM_CELLS")
	arrive := map[fabrictest.QuirkCell]int{}
	if text != "" {
		arrive = fabrictest.ReadQuirkTable(t, quirkTable)
	}
	maps.Copy(arrive, quirksUnderOpenSM(t, slices.DeleteFunc(slices.Clone(cells), func(c fabrictest.QuirkCell) bool {
		return !strings.Contains(c.String(), text)
	})))
	table := quirkTableHead
	for _, c := range cells {
		table += fmt.Sprintf("%v | %d\n", c, arrive[c])
	}
	if err := os.WriteFile(quirkTable, []byte(table), 0o666); err != nil || t.Failed() {
		t.Fatal(err)
	}
}
