package daemon

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ibsm/conf"
	"ibsm/mad"
	"ibsm/store"
)

// startsWith is the error with which a start would be refused, by the functions that a start calls.
func startsWith(l *conf.Loaded, port mad.GUID) error {
	if err := l.Report.Err(conf.Start); err != nil {
		return err
	}
	groups := readPortGroups(nil, l.Config)
	_, partitionsErr := selectPartitions(l, port, groups.files.portGroups(), nil)
	_, _, _, filesErr := selectFiles(l)
	opened, _, storeErr := store.Open(store.Config{Path: filepath.Join(stateDir(l), port.String(), storeFile),
		Port: port})
	if opened != nil {
		opened.Close()
	}
	_, log, logErr := openLog(l, os.Stdout, os.Stderr, func(string) {}, func(uint64) {})
	if log != nil {
		log.close()
	}
	return errors.Join(checkEngines(l.Config), partitionsErr, filesErr, storeErr, logErr)
}

// TestCheck: Check refuses what a start would refuse, and nothing else.
func TestCheck(t *testing.T) {
	const port mad.GUID = 0x7
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700),
			os.WriteFile(path, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
		return path
	}
	// storeOf makes a store of a port in the place of that of port.
	storeOf := func(name string, of mad.GUID, prefix mad.Prefix) string {
		s, _, err := store.Open(store.Config{Path: filepath.Join(dir, name, port.String(), storeFile), Port: of,
			Prefix: prefix})
		if err != nil || s.Close() != nil {
			t.Fatal(err)
		}
		return filepath.Join(dir, name)
	}
	file("text/"+port.String()+"/"+storeFile, "not a store")
	for _, c := range []struct{ text, key string }{ // key "" is a start that is not refused
		{"", ""},
		{"subnet_prefix x\n", "subnet_prefix"},
		{"lmc 9\n", "lmc"},
		{"m_key 0xg\n", "m_key"},
		{"routing_engine no_fallback\n", "routing_engine"},
		{"routing_engine updn\nroot_guid_file " + file("roots", "x\n") + "\n", "root_guid_file"},
		{"routing_engine updn\nroot_guid_file /no/such\n", "root_guid_file"},
		{"routing_engine updn\nroot_guid_file " + file("empty", "") + "\n", ""},
		{"routing_engine minhop\nroot_guid_file /no/such\n", ""}, // minhop does not read it
		{"routing_engine file\nlfts_file " + file("lfts", "Unicast lids\n") + "\n", "lfts_file"},
		{"routing_engine torus-2QoS\ntorus_config " + file("torus", "torus 5\n") + "\n", "torus_config"},
		{"pgrp_policy_file " + file("groups", "port-group\n") + "\n", "pgrp_policy_file"},
		{"qos TRUE\nqos_policy_file " + file("qos", "qos-ulps\n") + "\n", "qos_policy_file"},
		{"partition_config_file " + file("parts", "A=1 ALL;\n") + "\n", "partition_config_file"},
		{"partition_config_file /no/such\n", "partition_config_file"},
		{"topo_config_file " + file("plan", "x\n") + "\n", "topo_config_file"},
		{"keys_file /no/such\n", "keys_file"},
		{"log_file /no/such/log\n", "log_file"},
		{"log_file " + dir + "\n", "log_file"},
		{"state_dir " + storeOf("own", port, 0) + "\n", ""},
		{"subnet_prefix 0xfec0000000000008\nstate_dir " + storeOf("prefix", port, mad.DefaultPrefix) + "\n", ""},
		{"state_dir " + storeOf("other", port+1, 0) + "\n", "state_dir"},
		{"state_dir " + filepath.Join(dir, "text") + "\n", "state_dir"},
	} {
		text := c.text + fmt.Sprintf("guid %v\n", port)
		if !strings.Contains(text, "state_dir") {
			text += "state_dir " + filepath.Join(dir, "new") + "\n"
		}
		if !strings.Contains(text, "log_file") {
			text += "log_file " + filepath.Join(dir, "log") + "\n"
		}
		if !strings.Contains(text, "partition_config_file") {
			text += "partition_config_file " + file("good", "Default=0x7fff : ALL=full ;\n") + "\n"
		}
		l := loadToCheck([]string{"-F", file("opensm.conf", text)})
		report := slices.Concat(l.Report, check(l))
		var keys []string
		for _, f := range report {
			if f.Severity >= conf.Start {
				keys = append(keys, f.Key)
			}
		}
		start := startsWith(l, port)
		if (len(keys) > 0) != (start != nil) || c.key == "" != (len(keys) == 0) || c.key != "" &&
			!slices.Contains(keys, c.key) {
			t.Errorf("%q: refused for %q, want %q; a start says %v\n%v", c.text, keys, c.key, start, report)
		}
	}
}

// TestReloadChecksStart: a reload is refused if the next start would be, also for settings that it leaves to that
// start.
func TestReloadChecksStart(t *testing.T) {
	o := newFixture(t, "sweep_interval 5\n", ownParts)
	o.write("opensm.conf", "sweep_interval 6\nlog_file /no/such/log\n")
	r := o.reload(true)
	if got := conf.SweepInterval.In(o.own().Config).Seconds(); !r.Refused || got != 5 ||
		!strings.Contains(o.log.String(), "log file: stat /no/such") {
		t.Errorf("refused: %t, sweep_interval %v\n%s", r.Refused, got, o.log.String())
	}
	o.write("opensm.conf", "sweep_interval 6\nsubnet_prefix 0xfec0000000000008\n")
	// as OpenSM, until the next start
	if r := o.reload(true); r.Refused || conf.SubnetPrefix.In(o.own().Config) != uint64(mad.DefaultPrefix) {
		t.Errorf("another prefix: %+v", r)
	}
}

// TestPrefixGivenBack: a prefix that was chosen, and is not any more, does not stay because it is in the fabric; OpenSM
// writes the default one.
func TestPrefixGivenBack(t *testing.T) {
	o := newFixture(t, "subnet_prefix 0xfec0000000000008\n", ownParts)
	for range 2 { // the second start knows it of the store
		o.write("opensm.conf", "subnet_prefix 0xfe80000000000000\n")
		next := conf.Load([]string{"-F", filepath.Join(o.dir, "opensm.conf"), "-P",
			filepath.Join(o.dir, "partitions.conf"), "--state_dir", o.dir}, Environment)
		o.change(func(now *inForce) { now.own = next })
		o.again()
		if p := o.sent.Sweep.Settings.SubnetPrefix; !p.Given || p.Value != mad.DefaultPrefix {
			t.Errorf("%+v", p)
		}
	}
}
