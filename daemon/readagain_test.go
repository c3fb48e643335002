package daemon

import (
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"ibsm/conf"
	"ibsm/ctl"
	"ibsm/ctl/server"
	"ibsm/perf/sick"
)

// lfts and matrix are OpenSM's dumps of a switch.
const (
	lftsText   = "Unicast lids [0-8] of switch Lid 2 guid 0x0000000000200000 ('s'):\n0x0001 001\n0x0002 000\n2 lids dumped\n"
	matrixText = "Switch: guid 0x0000000000200000\n0x0002: 00 ff ff\n0x0003: 01 ff 01\n"
	groupsText = "port-group\nname: a\nport-guid: 0x1\nend-port-group\n"
)

// TestFilesReadAgain: a file that is emptied, has gone, ends within a line, is no regular file any more or is too large
// changes nothing at a reload: the one in force stays, and the caller learns why. OpenSM, which reads most of them only
// at a start, takes another engine then, or none (docs/opensm.md).
func TestFilesReadAgain(t *testing.T) {
	for _, c := range []struct{ key, text, other string }{
		{"root_guid_file", "0x10\n0x11\n", "routing_engine updn"},
		{"ids_guid_file", "0x10 1\n", "routing_engine updn"},
		{"cn_guid_file", "0x10\n", "routing_engine ftree"},
		{"io_guid_file", "0x10\n", "routing_engine ftree"},
		{"guid_routing_order_file", "0x10\n", "routing_engine minhop"},
		{"port_prof_ignore_file", "0x10 1\n", "routing_engine minhop"},
		{"port_search_ordering_file", "0x10 1 2\n", "routing_engine minhop"},
		{"hop_weights_file", "0x10 1 2\n", "routing_engine minhop"},
		{"torus_config", "torus 3 3 3\nxp_link 0x1 0x2\nyp_link 0x1 0x3\nzp_link 0x1 0x4\n",
			"routing_engine torus-2QoS"},
		{"topo_config_file", "ibsm-topology 1\ncable a:1 - b:2 # no devices\n", ""},
		{"held_back_sw_file", "0x10\n", ""},
		{"lfts_file", lftsText, "routing_engine file"},
		{"lid_matrix_dump_file", matrixText, "routing_engine file"},
		{"pgrp_policy_file", groupsText, ""},
		{"prefix_routes_file", "fec0000000000001 1235\n", ""},
		{"qos_policy_file", goodQoS, "qos TRUE"},
	} {
		t.Run(c.key, func(t *testing.T) {
			name := filepath.Join(t.TempDir(), c.key)
			must := func(errs ...error) {
				if err := errors.Join(errs...); err != nil {
					t.Fatal(err)
				}
			}
			write := func(text string) { must(os.WriteFile(name, []byte(text), 0o600)) }
			write(c.text)
			o := newFixture(t, c.key+" "+name+"\n"+c.other+"\n", ownParts)
			check := func(when string, do func(), why string) {
				t.Helper()
				do()
				found := o.reload(true).Findings
				o.take()
				refused := func(f ctl.Finding) bool {
					return f.Key == c.key && isRefused(f) && strings.Contains(f.Text, why)
				}
				if !slices.ContainsFunc(found, refused) {
					t.Errorf("%s: the caller of the reload learns of %+v", when, found)
				}
				now := o.current.Load()
				texts := [][]byte{now.files[c.key].text, now.routes.text, now.qos.text}
				if !slices.ContainsFunc(texts, func(text []byte) bool { return string(text) == c.text }) {
					t.Errorf("%s: the file before is not in force", when)
				}
			}
			check("emptied", func() { write("") }, "the file has no entry")
			check("only comments and blanks", func() {
				write("# was here\n \n\t# and here\n")
			}, "the file has no entry")
			check("ends within a line", func() { write(c.text[:len(c.text)-2]) }, "the last line, ")
			check("gone", func() { os.Remove(name) }, "the file does not exist")
			check("a FIFO", func() { must(syscall.Mkfifo(name, 0o600)) }, name+" is a FIFO: ")
			check("a device", func() { must(os.Remove(name), os.Symlink("/dev/zero", name)) }, name+" is a device: ")
			check("a directory", func() { must(os.Remove(name), os.Mkdir(name, 0o700)) }, name+" is a directory: ")
			check("too large", func() {
				must(os.Remove(name))
				write("")
				must(os.Truncate(name, 1<<40))
			}, name+" has more than the ")
			write(c.text)
			if found := o.reload(true).Findings; slices.ContainsFunc(found, isRefused) {
				t.Errorf("written again: %+v", found)
			}
		})
	}
}

// TestFilesTakenAway: what has no file any more because its setting was taken away is not in force any more.
func TestFilesTakenAway(t *testing.T) {
	name := filepath.Join(t.TempDir(), "prefix-routes.conf")
	if err := os.WriteFile(name, []byte("fec0000000000001 1235\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	o := newFixture(t, "prefix_routes_file "+name+"\n", ownParts)
	o.write("opensm.conf", "prefix_routes_file (null)\n")
	found := o.reload(true).Findings
	o.take()
	if len(o.sent.PrefixRoutes) > 0 || slices.ContainsFunc(found, isRefused) {
		t.Errorf("%v are in force, %+v", o.sent.PrefixRoutes, found)
	}
}

// TestSickRulesReadAgain is TestFilesReadAgain for the rules for sick links.
func TestSickRulesReadAgain(t *testing.T) {
	name := filepath.Join(t.TempDir(), "rules")
	config, _ := conf.FromFile("opensm.conf", []byte("sick_rules_file "+name+"\n"))
	l := &conf.Loaded{Config: config}
	c := &counters{daemon: &daemon{control: server.New(server.Config{}), logger: slog.New(slog.DiscardHandler)}}
	for _, text := range []string{"", "# none\n", sick.Defaults[:len(sick.Defaults)-2]} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if found := c.useRules(readSickRules(&inForce{own: l, rules: []byte(sick.Defaults)}, l)); !slices.ContainsFunc(
			found, isRefused) {
			t.Errorf("%q is taken: %+v", text, found)
		}
	}
}
