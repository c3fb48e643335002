package conf

import (
	"math"
	"strings"
	"testing"
	"time"
)

// findings is what a line or file leads to: severity and text of all findings.
func findings(r Report) string {
	var all []string
	for _, f := range r {
		all = append(all, f.String())
	}
	return strings.Join(all, "\n")
}

// badFile is a file, and a part of each finding it must lead to.
type badFile struct {
	src  string
	want []string
}

func (m badFile) test(t *testing.T, name string) {
	t.Helper()
	f := ReadFile(name, []byte(m.src))
	if len(f.Report) != len(m.want) {
		t.Errorf("%q: %d findings, want %d:\n%s", m.src, len(f.Report), len(m.want), findings(f.Report))
		return
	}
	for i, w := range m.want {
		if got := f.Report[i].String(); !strings.Contains(got, w) {
			t.Errorf("%q: %s\nwant %s", m.src, got, w)
		}
	}
}

func TestErrorsOpenSM(t *testing.T) {
	for _, m := range []badFile{
		{"\n\t lmc  9", []string{"f.conf:2:8: error: lmc \"9\": value out of range; expected a number, 0 to 7"}},
		{"lmc 010", []string{"f.conf:1:5: error: lmc"}},
		{"sm_priority 010", []string{"f.conf:1:13: warning: sm_priority 010: a leading 0 makes it octal, 8"}},
		{"sm_priority 16", []string{"error: sm_priority \"16\": value out of range"}},
		{"sm_priority x", []string{"error: sm_priority \"x\": expected numeric input"}},
		{"daemon =  true \ra",
			[]string{
				`error: daemon "=  true \ra": OpenSM reads this as FALSE: opensm.conf uses no =; write daemon true \ra; expected TRUE or FALSE; using FALSE`,
			}},
		{"guid 0002c9030000abcd",
			[]string{"error: guid \"0002c9030000abcd\": expected numeric input: a hexadecimal number begins with 0x"}},
		{"subnet_prefix -1", []string{"error: subnet_prefix \"-1\": value out of range"}},
		{"subnet_prefix x1", []string{"error: subnet_prefix \"x1\": expected numeric input"}},
		{"m_key", []string{"f.conf:1:1: error: m_key \"\""}},
		{"m_key_protection_level 4", []string{"error: m_key_protection_level"}},
		{"sweep_interval = 5",
			[]string{
				"error: sweep_interval \"= 5\": expected numeric input: opensm.conf uses no =; write sweep_interval 5",
			}},
		{"sweep_interval=5",
			[]string{
				"warning: Unrecognized token: \"sweep_interval=5\": not a key of OpenSM; opensm.conf uses no =: write sweep_interval and its value",
			}},
		{"sweep_intervall 5",
			[]string{
				"f.conf:1:1: warning: Unrecognized token: \"sweep_intervall\": not a key of OpenSM; did you mean sweep_interval?",
			}},
		{"exit_on_fatal true",
			[]string{"error: exit_on_fatal \"true\": OpenSM reads this as FALSE; expected TRUE or FALSE"}},
		{"qos 1", []string{"OpenSM reads this as FALSE"}},
		{"qos yes", []string{"OpenSM reads this as FALSE"}},
		{"qos", []string{"OpenSM reads this as FALSE"}},
		{"qos no\nqos false\nqos 0", nil},
		{"allow_both_pkeys true", []string{"error: allow_both_pkeys \"true\": OpenSM reads this as FALSE"}},
		{"routing_engine ftre,minhop",
			[]string{"error: routing_engine \"ftre,minhop\": \"ftre\" is unknown; did you mean ftree?"}},
		{"part_enforce inn", []string{"error: part_enforce \"inn\": unknown value; did you mean in?"}},
		{"console telnet", []string{"error: console \"telnet\": unknown value"}},
		{"virt_enabled 2", nil},
		{"virt_enabled 3", []string{"error: virt_enabled"}},
		{"virt_something 2",
			[]string{"note: virt_something is a key of NVIDIA's OpenSM, without effect: about virtual ports"}},
		{"sharp_anything 2", []string{"note: sharp_anything is a key of NVIDIA's OpenSM"}},
		{"guid mlx5_0:1", nil},
		{"guid ib0", nil},
		{"guid b83fd20300a00000",
			[]string{
				"error: guid \"b83fd20300a00000\": expected numeric input: a hexadecimal number begins with 0x; expected a number, 0 to 0xffffffffffffffff, or a device",
			}},
		{"guid mlx5_0:1:2", []string{"error: guid \"mlx5_0:1:2\": expected numeric input; expected a number"}},
		{"fdr10 255", []string{"note: fdr10 255: the default of NVIDIA's OpenSM"}},
		{"ar_mode 1", []string{"warning: ar_mode 1: numbers are values of NVIDIA's manager"}},
		{"ar_mode disable", nil},
		{"cc_ca_cong_setting_ccti_timer 16 1", []string{"invalid SL specified"}},
		{"cc_ca_cong_setting_ccti_timer 3", []string{"value must be specified in addition to SL"}},
		{"cc_sw_cong_setting_victim_mask 0xg", []string{"invalid hex digit in bitmask"}},
		{"cc_sw_cong_setting_victim_mask " + strings.Repeat("f", 65), []string{"invalid length bitmask"}},
		{"cc_cct 1", []string{"invalid CCT entry"}},
		{"log_prefix a\x00b", []string{"error: log_prefix \"a\\x00b\": zero byte"}},
		{"log_prefix\x00a", []string{"error: log_prefix \"\\x00a\": zero byte"}},
		{"log_prefix " + strings.Repeat("a", maxLine),
			[]string{"warning: line of", "OpenSM cuts lines of this length"}},
		{"qos TRUE # " + strings.Repeat("a", maxLine), []string{"warning: line of"}},
		{"impose lmc", []string{"error: impose lmc: the file does not set this key"}},
		{"impose lmcc", []string{"error: impose \"lmcc\": not a key of OpenSM; did you mean lmc?"}},
		{"impose lmc\nlmc 0", nil},
		{"# lmc 9\n\n   \nlmc 1 # comment\nlmc \"2\"\nlmc '3'", nil},
		{"x 1\ny 2", []string{"f.conf:1:1", "f.conf:2:1"}},
	} {
		m.test(t, "f.conf")
	}
	if text := ReadFile("f.conf", []byte("sweep=5")).Report.Err(Strict); text == nil ||
		strings.Contains(text.Error(), "uses no =") {
		t.Errorf("sweep=5, of which there is no key: %v", text)
	}
}

func TestErrorsTOML(t *testing.T) {
	for _, m := range []badFile{
		{"[subnet]\nlmc = 9",
			[]string{"f.toml:2:7: error: subnet.lmc = 9: value out of range; expected a number, 0 to 7"}},
		{"[log]\nprefix = \"a\\u0000b\"", []string{"zero byte"}},
		{"[subnet]\nlmc = \"3\"", []string{"error: subnet.lmc = \"3\": wrong type"}},
		{"[subnet]\nlmcc = 3", []string{"f.toml:2:8: error: unknown key \"subnet.lmcc\"; did you mean subnet.lmc?"}},
		{"lmc = 3", []string{
			"f.toml:1:7: error: unknown key \"lmc\": the key lmc of opensm.conf is subnet.lmc in ibsm.toml",
		}},
		{"subnet = 5", []string{"f.toml:1:10: error: subnet = 5: expected a group of keys: [subnet] in a line of its own, " +
			"and each key in a line below it"}},
		{"[[subnet]]\nlmc = 3", []string{"expected a group of keys"}},
		{"[subnets]\nlmc = 3", []string{"error: unknown key \"subnets\""}},
		{"[sweep]\ninterval = 10",
			[]string{"error: sweep.interval = 10: wrong type; expected a time such as \"10s\", in whole seconds"}},
		{"[transactions]\ntimeout = 10", []string{"a time such as \"200ms\", in whole milliseconds"}},
		{"[sweep]\ninterval = \"1500ms\"", []string{"not a multiple of 1s"}},
		{"[sweep]\ninterval = \"-1s\"", []string{"value out of range"}},
		{"[sweep]\ninterval = \"ten\"", []string{"not a time"}},
		{"[log]\nmax_size = \"100MB\"", []string{"not a size; expected a size such as \"100MiB\""}},
		{"[port]\nguid = \"2c9\"", []string{"error: port.guid = \"2c9\": expected 0x"}},
		{"[port]\nguid = -1", []string{"error: port.guid = -1: value out of range"}},
		{"[routing]\nengines = [\"ftree\", \"updwn\"]", []string{"\"updwn\" is unknown; did you mean updn?"}},
		{"[routing]\nengines = [\"ar_updn\"]",
			[]string{"\"ar_updn\" is a routing engine of NVIDIA's subnet manager; write updn"}},
		{"[routing]\nengines = [\"none\"]",
			[]string{"\"none\" (no routes) is not supported: OpenSM 3.3.23 crashes with it"}},
		{"[routing]\nengines = [\"ftree,updn\"]", []string{"error: routing.engines"}},
		{"[routing]\nengines = \"ftree\"", []string{"wrong type"}},
		{"[plugins]\nnames = [\"a b\"]", []string{"an element has blanks"}},
		{"[qos]\nenabled = \"TRUE\"", []string{"error: qos.enabled = \"TRUE\": wrong type; expected true or false"}},
		{"[qos.adapters]\nvlarb_high = [\"0:4\", 3]\nsl2vl = [0, 1]", nil},
		{"[congestion.adapter]\nccti_min = [1, 256]", []string{"value out of range"}},
		{"[subnet]\nlmc = 1979-05-27", []string{"wrong type"}},
		{"[subnet\nlmc = 1", []string{"f.toml:2:8"}},
		{"x = 0b\n\x01", []string{"f.toml:1:5: error: not a binary number: '0b '"}},
		{"[subnet]\nlmc = 1\nlmc = 2", []string{"f.toml:3:"}},
		{"[subnet]\nlmc = 1\n[sweep]\ninterval = \"1m30s\"\n[port]\nguid = 0x0002c903", nil},
	} {
		m.test(t, "f.toml")
	}
}

func TestSeverities(t *testing.T) {
	for _, c := range []struct {
		src                   string
		start, reload, strict bool // is it refused?
	}{
		{"lmc 9", true, true, true},
		{"sm_priority 16", false, true, true},
		{"nosuchkey 1", false, false, true},
		{"virt_something 2", false, false, false},
		{"event_plugin_name a\nevent_plugin_options b", false, false, true},
	} {
		_, r := FromFile("f.conf", []byte(c.src))
		if start, reload, strict := r.Err(Start) != nil, r.Err(Reload) != nil, r.Err(Strict) != nil; start != c.start ||
			reload != c.reload || strict != c.strict {
			t.Errorf("%s: refused at start %v, reload %v, strict %v", c.src, start, reload, strict)
		}
		if len(r) == 0 {
			t.Errorf("%s: nothing is said", c.src)
		}
	}
}

// TestChosen is the rule of Config.Chosen.
func TestChosen(t *testing.T) {
	for _, c := range []struct {
		name, file, src, args string
		want                  bool
	}{
		{"nothing", "f.conf", "", "", false},
		{"OpenSM's default in opensm.conf", "f.conf", "lmc 0", "", false},
		{"another value there", "f.conf", "lmc 1", "", true},
		{"imposed", "f.conf", "lmc 0\nimpose lmc", "", true},
		{"the default in ibsm.toml", "f.toml", "[subnet]\nlmc = 0", "", true},
		{"the default as an option", "f.conf", "", "-l 0", true},
	} {
		l := Load(append([]string{"-F", c.file}, strings.Fields(c.args)...), nowhere(map[string]string{c.file: c.src}))
		if got := LMC.Chosen(l.Config); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}

// TestByHand: a default of a key with ByHand is chosen in a file that a person has written, not in one that OpenSM has.
func TestByHand(t *testing.T) {
	none, _ := FromFile("f.conf", nil)
	whole, err := none.WriteOpenSM()
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		src  string
		want bool
	}{"one line": {"use_optimized_slvl FALSE", true}, "all lines": {string(whole), false}} {
		if config, _ := FromFile("f.conf", []byte(c.src)); UseOptimizedSLVL.Chosen(config) != c.want {
			t.Errorf("%s: chosen %v", name, !c.want)
		}
	}
}

func TestAccessors(t *testing.T) {
	c, r := FromFile("f.conf",
		[]byte("sweep_interval 5\nlog_max_size 3\nrouting_engine ftree, updn\nqos_high_limit 7\nguid 0x2c9\n"+
			"reassign_lids TRUE\nroot_guid_file (null)\ncc_ca_cong_setting_ccti_min 4 9\nmax_smps_timeout 7"))
	if err := r.Err(Reload); err != nil {
		t.Fatal(err)
	}
	if SweepInterval.In(c) != 5*time.Second || duration("max_smps_timeout").In(c) != 7*time.Microsecond ||
		TransactionTimeout.In(c) != 200*time.Millisecond {
		t.Error("durations")
	}
	if LogMaxSize.In(c) != 3<<20 || int64(c.Setting(Find("qos_high_limit")).Value.Num) != 7 ||
		int64(c.Setting(Find("qos_ca_high_limit")).Value.Num) != -1 || GUID.In(c) != 0x2c9 || !ReassignLIDs.In(c) {
		t.Error("numbers")
	}
	if l := RoutingEngine.In(c); len(l) != 2 || l[1] != "updn" || list("qos_sl2vl").In(c) != nil ||
		text("root_guid_file").In(c) != "" ||
		slNumbers(c.Setting(Find("cc_ca_cong_setting_ccti_min")).Value)[4] != 9 {
		t.Error("texts and lists")
	}
	if !GUID.Chosen(c) || SMPriority.Chosen(c) || GUID.Key().Name != "guid" {
		t.Error("the rows of accessors")
	}
}

// TestAccessorTypes: an accessor of another type than its setting ends the program when it
// starts.
func TestAccessorTypes(t *testing.T) {
	for _, c := range []struct {
		name string
		make func()
	}{
		{"no such setting", func() { boolean("no_such_setting") }},
		{"a number as a switch", func() { boolean("guid") }},
		{"too few bits", func() { number[uint8]("guid") }},
		{"too many bits", func() { number[uint64]("lmc") }},
		{"signed", func() { number[uint32]("qos_high_limit") }},
		{"a size that is a number", func() { size("console_port") }},
		{"a time code as a time", func() { duration("subnet_timeout") }},
		{"a list as a text", func() { text("routing_engine") }},
		{"a text as a list", func() { list("log_file") }},
	} {
		t.Run(c.name, func(t *testing.T) {
			defer func() {
				if recover() == nil {
					t.Error("it was made")
				}
			}()
			c.make()
		})
	}
}

// TestReconcile has the cross checks whose results -c does not show.
func TestReconcile(t *testing.T) {
	for _, c := range []struct{ src, key, want, says string }{
		{"m_key_protection_level 1\nm_key_lease_period 2", "m_key_lease_period", "3",
			"too short to read a port 3 times"},
		{"m_key_protection_level 1\nm_key_lease_period 3", "m_key_lease_period", "3", ""},
		{"m_key_protection_level 1\nm_key_lease_period 5\ntransaction_timeout 500", "m_key_lease_period", "6",
			"before the lease ends"},
		{"m_key_protection_level 1\nm_key_lease_period 60\nsweep_interval 0", "sweep_interval", "0", ""},
		{"m_key_protection_level 1\nm_key_lease_period 60\nsweep_interval 100", "m_key_lease_period", "60", ""},
		{"m_key_protection_level 1\nm_key_lease_period 60", "m_key_lease_period", "60", ""},
		{"transaction_timeout 900", "long_transaction_timeout", "900", "less than transaction_timeout"},
		{"no_partition_enforcement TRUE\npart_enforce in", "part_enforce", "off", "takes precedence"},
		{"max_wire_smps 0", "max_wire_smps", "2147483647", ""},
		{"max_wire_smps 128", "max_wire_smps", "128", ""},
		{"max_wire_smps 129", "max_wire_smps", "129", "warning: max_wire_smps = 129 is above the maximum; using 128"},
		{"use_original_extended_sa_rates_only TRUE\nmax_rate_enum 20", "max_rate_enum", "18", "limited"},
		{"qos TRUE\nqos_sl2vl 0,1", "qos", "TRUE", "2 VLs listed"},
		{"qos TRUE\nqos_sl2vl 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,16", "qos", "TRUE", "expected 0 to 15"},
		{"qos TRUE\nqos_ca_vlarb_low 0:4,15:1", "qos", "TRUE", "expected vl:weight"},
		{"qos TRUE\nqos_ca_vlarb_low 0", "qos", "TRUE", "expected vl:weight"},
		{"allowed_sm_guids 0x10,spine", "allowed_sm_guids", "0x10,spine",
			"f.conf:1:18: error: allowed_sm_guids: \"spine\" is not a port GUID"},
		{"topo_config_enabled TRUE", "topo_config_enabled", "TRUE",
			"f.conf:1:21: warning: topo_config_enabled has no effect without topo_config_file"},
		{"partition_pkeys 0x8000-0x8010", "partition_pkeys", "0x8000-0x8010",
			"f.conf:1:17: error: partition_pkeys: \"0x8000-0x8010\" is no range of P_Keys"},
		{"partition_pkeys 0x20-0x10", "partition_pkeys", "0x20-0x10", "is no range of P_Keys"},
		{"partition_pkeys 16-0x20", "partition_pkeys", "16-0x20", ""},
		{"allowed_sm_guids 0", "allowed_sm_guids", "0", "error: allowed_sm_guids: \"0\" is not a port GUID"},
		{"allowed_sm_guids 0x10,0x0002c90300000001\nmaster_sm_priority 14", "master_sm_priority", "14", ""},
		{"qos FALSE\nqos_ca_vlarb_low 0", "qos", "FALSE",
			"f.conf:2:18: error: qos_ca_vlarb_low: \"0\": expected vl:weight"},
		{"qos_swe_vlarb_high 0:256", "qos", "FALSE",
			"f.conf:1:20: error: qos_swe_vlarb_high: \"0:256\": expected vl:weight"},
		{"qos_rtr_vlarb_low 0:1" + strings.Repeat(",1:2", 64), "qos", "FALSE",
			"f.conf:1:19: error: qos_rtr_vlarb_low: 65 pairs listed; expected 64 at most"},
		{"qos_rtr_vlarb_low 0:1" + strings.Repeat(",1:2", 63), "qos_rtr_vlarb_low", "0:1" + strings.Repeat(",1:2", 63),
			""},
		{"qos_max_vls 8", "qos_max_vls", "8", "f.conf:1:13: note: qos_max_vls has no effect"},
		{"event_plugin_name x\nsm_priority 1\nevent_plugin_options y", "event_plugin_name", "x",
			"f.conf:1:19: warning: no effect in this version: event_plugin_name\nf.conf:3:22: warning: no effect in this version: event_plugin_options"},
		{"cc_cct 0:1" + strings.Repeat(",1:2", 128), "cc_cct", "0:1" + strings.Repeat(",1:2", 128),
			"f.conf:1:8: warning: cc_cct has 129 entries; using the first 128"},
		{"cc_cct 0:1" + strings.Repeat(",1:2", 127), "cc_cct", "0:1" + strings.Repeat(",1:2", 127), ""},
		{"cc_max_outstanding_mads 2049", "cc_max_outstanding_mads", "2049",
			"f.conf:1:25: warning: cc_max_outstanding_mads = 2049 is above the maximum; using 2048"},
	} {
		config, r := FromFile("f.conf", []byte(c.src))
		if c.says == "" {
			for _, f := range r {
				if f.Severity > Note {
					t.Errorf("%s: %v", c.src, f)
				}
			}
		}
		if got := Find(c.key).Format(config.Setting(Find(c.key)).Value); got != c.want ||
			!strings.Contains(findings(r), c.says) {
			t.Errorf("%s: %s is %s, want %s and %q\n%s", c.src, c.key, got, c.want, c.says, findings(r))
		}
	}
}

// TestParseSize: sizes with a unit, up to what fits.
func TestParseSize(t *testing.T) {
	for text, want := range map[string]int64{"0MiB": 0, "100MiB": 100, "3 GiB": 3 << 10, "2TiB": 2 << 20,
		"8796093022207TiB": 8796093022207 << 20, "9223372036854775807MiB": math.MaxInt64,
		"8796093022208TiB": -1, "9223372036854775808MiB": -1, "-1MiB": -1, "1": -1, "GiB": -1, "1KiB": -1} {
		if n, err := parseSize(text); (err != nil) != (want < 0) || err == nil && n != want {
			t.Errorf("%q: %d, %v, want %d", text, n, err, want)
		}
	}
}
