package daemon

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ibsm/conf"
	"ibsm/routing"
	"ibsm/routing/routingtest"
)

// TestGroupsWithOpenSM: OpenSM complains of a file in which a group stands, and its subnet comes up: a routing order
// ends there for it, of root files it uses nothing, and sssp leaves the subnet to min-hop. In its configuration
// pgrp_policy_file does no harm.
func TestGroupsWithOpenSM(t *testing.T) {
	file := routingtest.File(t, "fattree:k=4,levels=3")
	in := routingtest.Problem(t, "fattree:k=4,levels=3,devices=ideal")
	spines, _, ports := guidsOf(&in)
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	groups := write("groups", "port-group\nname: spines\nport-regexp: ^spine\nend-port-group\n")
	for _, c := range []struct {
		engine, option, key string
		text                string
		by, as              string // the engine and the file that have the same effect; "" is no file
		says                string
	}{
		{"updn", "-a", "root_guid_file", spines[0].String() + "\n" + spines[1].String() + "\nspines # by name\n",
			"updn", "", "ERR AA02: cannot parse root guids file"},
		{"updn", "-a", "root_guid_file", "spines\n", "updn", "", "ERR AA02: cannot parse root guids file"},
		{"ftree", "-a", "root_guid_file", "spines\n", "ftree", "", "ERR AB2A: cannot parse root guids file"},
		{"minhop", "-X", "guid_routing_order_file", ports[9].String() + "\nall_cas\n" + ports[3].String() + "\n",
			"minhop", ports[9].String() + "\n", "ERR 3A0D: cannot parse guid routing order file"},
		{"sssp", "-u", "cn_guid_file", ports[0].String() + "\nALL_CAS\n", "minhop", "",
			"ERR AD33: Problem parsing compute node guid file"},
		{"sssp", "-G", "io_guid_file", "ALL_CAS\n", "minhop", "", "ERR AD35: Problem parsing I/O guid file"},
	} {
		t.Run(c.engine+" "+c.key, func(t *testing.T) {
			settings := "force_log_flush TRUE\npgrp_policy_file " + groups + "\n"
			run, err := routingtest.Try(t, file, c.engine, "-F", write("opensm.conf", settings), c.option,
				write("list", c.text))
			if err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(run.Log, c.says) || !strings.Contains(run.Log, "SUBNET UP") {
				t.Errorf("OpenSM does not say %q:\n%s", c.says, complaints(run.Log))
			}
			ours := "routing_engine " + c.by + "\n"
			if c.as != "" {
				ours += c.key + " " + write("as", c.as) + "\n"
			}
			l := conf.Load([]string{"-F", write("ours.conf", ours)}, Environment)
			files, _, err := selectedFiles(l)
			if err != nil {
				t.Fatal(err)
			}
			in := routing.In{Topo: run.Topo, LIDs: run.LIDs}
			tables, err := chain(l.Config, files)[0].Route(t.Context(), in)
			if err != nil {
				t.Fatal(err)
			}
			run.Compare(t, tables)
		})
	}
}

// complaints are the lines of a log that have an error.
func complaints(log string) string {
	var lines []string
	for line := range strings.Lines(log) {
		if strings.Contains(line, "ERR") {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "")
}
