package conf

import (
	"strings"
	"testing"
)

// TestShared: what a fabric is given goes from one configuration to another, as chosen or
// not; all else stays.
func TestShared(t *testing.T) {
	of := func(file string, args ...string) *Config {
		return Load(append([]string{"-F", "f"}, args...), nowhere(map[string]string{"f": file})).Config
	}
	master := of(
		"lmc 2\nsm_priority 3\nm_key 0x77\npart_enforce out\nqos TRUE\nsubnet_timeout 18\nm_key_lease_period 60\nqos_ca_max_vls 4\n", "-R", "ftree,minhop", "--ar_mode=disable", "-P", "/a")
	own := of("sm_priority 9\npacket_life_time 3\nallow_both_pkeys TRUE\n", "-P", "/b", "-l", "1")
	got, err := own.WithShared("the master's.toml", master.WriteShared())
	if err != nil {
		t.Fatal(err)
	}
	if d := master.SharedDifferences(got); d != nil {
		t.Errorf("they still differ in %q", d)
	}
	want := "lmc allow_both_pkeys ar_mode m_key_lease_period packet_life_time part_enforce qos qos_ca_max_vls routing_engine"
	if d := own.SharedDifferences(master); len(d) != len(strings.Fields(want)) {
		t.Errorf("they differ in %q, want %s", d, want)
	}
	for key, text := range map[string]string{
		"lmc": "2", "sm_priority": "9", "m_key": "0x0000000000000000", "part_enforce": "out",
		"routing_engine": "ftree,minhop", "ar_mode": "disable",
		"packet_life_time": "0x12", "allow_both_pkeys": "FALSE", "partition_config_file": "/b",
		"m_key_lease_period": "60", "qos_ca_max_vls": "4",
	} {
		if s := Find(key).Format(got.Setting(Find(key)).Value); s != text {
			t.Errorf("%s is %s, want %s", key, s, text)
		}
	}
	if s := got.Setting(LMC.Key()); s.Source != FromMaster || s.Position.File != "the master's.toml" ||
		!LMC.Chosen(got) {
		t.Errorf("%+v", s)
	}
	for _, key := range []string{"packet_life_time", "subnet_timeout"} {
		if got.Chosen(Find(key)) {
			t.Errorf("%s, which the master has not chosen, is chosen", key)
		}
	}
	if LMC.In(own) != 1 {
		t.Error("the configuration before was changed")
	}
}

// TestSharedWrong: what nobody has written is refused, and a setting that is not shared
// is not taken.
func TestSharedWrong(t *testing.T) {
	own := New()
	for _, text := range []string{"[subnet]\nlmc = 9\n", "[subnet]\nlmc = \"x\"\n", "[", "[routing]\nno_such = 1\n",
		strings.Repeat("#", MaxTOML+1)} {
		if _, err := own.WithShared("m.toml", []byte(text)); err == nil {
			t.Errorf("%.20q is taken", text)
		}
	}
	got, err := own.WithShared("m.toml",
		[]byte("[keys]\nm_key = \"0x1\"\n[election]\npriority = 15\n[partitions]\nfile = \"/etc/passwd\"\n"))
	if err != nil {
		t.Fatal(err)
	}
	if MKey.In(got) != 0 || SMPriority.In(got) != 0 || PartitionConfigFile.In(got) != PartitionConfigFile.In(own) {
		t.Error("settings that are not shared were taken")
	}
}
