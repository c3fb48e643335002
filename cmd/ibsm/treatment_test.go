package main_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// treatment is how one kind of OpenSM's inputs is dealt with.
type treatment struct {
	input   string
	args    string
	conf    string // of -F; "" for no file
	env     string
	status  int
	says    string // a regular expression for all that is printed and logged; "" for nothing on standard error
	quiet   bool   // standard error is empty
	setting string // line of the configuration that -c writes; "" to run to SUBNET UP
	file    string // that is written in the folder
}

// treatments are the decisions about what OpenSM takes. That each option is taken has
// conf's TestPeerHelp; a master beside -o has TestOnceStatus; the caches, dump files, log
// lines and signals have tests of their own.
var treatments = []treatment{
	{input: "long forms with one dash", args: "-sweep 7", setting: "sweep_interval 7", quiet: true},
	{input: "abbreviation", args: "--subnet fe80000000000007", setting: "subnet_prefix 0xfe80000000000007",
		quiet: true},
	{input: "argument behind an equals sign", args: "--priority=9", setting: "sm_priority 9", quiet: true},
	{input: "-N", args: "-N -Z in", setting: "no_partition_enforcement TRUE"},
	{input: "--dimn_ports_file", args: "--dimn_ports_file x", setting: "port_search_ordering_file x"},
	{input: "-J", args: "-J pid", quiet: true},
	{input: "-d 5", args: "-d 5", says: `warning: command line: -d 5: Unknown debug option 5 ignored`},
	{input: "-d 10", args: "-d 10", says: `warning: command line: -d 10: Unknown debug option 10 ignored`},
	{input: "-t 0", args: "-t 0", setting: "transaction_timeout 200", says: `-t 0: value out of range`},
	{input: "--help", args: "--help", status: 2, says: `(?m)^Usage:`},
	{input: "option that is none", args: "--nonsense", status: 2, says: `unrecognized option --nonsense`},
	{input: "no such port", args: "-g 0x1", status: 1, says: `no port of the fabric has GUID`},
	{input: "-l out of range", args: "-l 8", status: 255, says: `LMC must be 7 or less`},
	{input: "-p out of range", args: "-p 16", status: 255, says: `priority must be between 0 and 15`},
	{input: "--sm_sl out of range", args: "--sm_sl 16", status: 255, says: `SL must be between 0 and 15`},
	{input: "--lash_start_vl out of range", args: "--lash_start_vl 16", status: 255,
		says: `vl must be between 0 and 15`},
	{input: "--nue_max_num_vls out of range", args: "--nue_max_num_vls 16", status: 255,
		says: `must be between 0 and 15`},
	{input: "--version", args: "--version", says: `OpenSM [0-9.]+`},
	{input: "unknown key", conf: "nosuchkey 1\n", says: `warning: .*Unrecognized token: "nosuchkey"`},
	{input: "same units", conf: "sweep_interval 20\nsminfo_polling_timeout 3000\n",
		setting: "sminfo_polling_timeout 3000", quiet: true},
	{input: "same checks", conf: "lmc 8\n", status: 1, says: `lmc "8"`},
	{input: "yes", conf: "force_heavy_sweep yes\n", setting: "force_heavy_sweep FALSE",
		says: `OpenSM reads this as FALSE`},
	{input: "true", conf: "sm_inactive true\n", setting: "sm_inactive FALSE", says: `OpenSM reads this as FALSE`},
	{input: "1", conf: "connect_roots 1\n", status: 1, says: `OpenSM reads this as FALSE`},
	{input: "tuning of OpenSM's inside",
		conf: "single_thread TRUE\nmax_msg_fifo_timeout 5\nlong_transaction_timeout 900\nfsync_high_avail_files FALSE\nuse_mfttop FALSE\n", quiet: true},
	{input: "event plug-in", conf: "event_plugin_name x\n",
		says: `0x01 -> .*no effect in this version: event_plugin_name`},
	{input: "console socket", conf: "console socket\n", setting: "console off",
		says: `error: .*console = socket: .*console_open TRUE`},
	{input: "console socket, confirmed", args: "-q socket --console-open", setting: "console socket", quiet: true},
	{input: "console socket, confirmed in the file alone", args: "-q socket", conf: "console_open TRUE\n",
		setting: "console_open TRUE", quiet: true},
	{input: "console local", args: "-q local", setting: "console local", quiet: true},
	{input: "console of a run of one sweep", args: "-q loopback -C 1", quiet: true},
	{input: "perfmgr", conf: "perfmgr TRUE\n", quiet: true},
	{input: "congestion control", conf: "congestion_control TRUE\n", quiet: true},
	{input: "log flags of single modules, without the file", conf: "per_module_logging_file x\n", quiet: true},
	{input: "keys of an engine that does not run", conf: "torus_config x\nlash_start_vl 1\n", says: `SUBNET UP`},
	{input: "OSM_TMP_DIR", env: "OSM_TMP_DIR=elsewhere", setting: "dump_files_dir elsewhere", quiet: true},
	{input: "OSM_CACHE_DIR", env: "OSM_CACHE_DIR=kept", quiet: true, file: "kept/guid2lid"},
	{input: "OSM_UMAD_MAX_PENDING", env: "OSM_UMAD_MAX_PENDING=1", quiet: true},
}

// TestTreatment: each input has the effect that was decided.
func TestTreatment(t *testing.T) {
	t.Parallel()
	for _, c := range treatments {
		t.Run(c.input, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			args := append(strings.Fields(c.args), "-F", "sm.conf")
			if c.setting != "" {
				args = append(args, "-c", "written.conf")
			} else {
				args = append(args, "--fabric", "fattree:k=4,levels=2", "-o", "-f", "stdout")
			}
			if err := os.WriteFile(filepath.Join(dir, "sm.conf"), []byte(c.conf), 0o600); err != nil {
				t.Fatal(err)
			}
			env := append(caches(t), c.env)
			r := run(t, dir, env, append([]string{program(t, "ibsm")}, args...)...)
			if r.status != c.status {
				t.Errorf("status %d, want %d", r.status, c.status)
			}
			if said := r.stdout + r.stderr; !regexp.MustCompile(c.says).MatchString(said) || c.quiet && r.stderr != "" {
				t.Errorf("want %q, quiet %v, on standard error %q", c.says, c.quiet, r.stderr)
			}
			if up := strings.Contains(r.stdout, "SUBNET UP"); c.status == 0 && c.setting == "" &&
				c.args != "--version" && !up {
				t.Error("the subnet did not come up")
			}
			written, _ := os.ReadFile(filepath.Join(dir, "written.conf"))
			if c.setting != "" && !strings.Contains(string(written), "\n"+c.setting+"\n") {
				t.Errorf("%q is not in the configuration", c.setting)
			}
			if _, err := os.Stat(filepath.Join(dir, c.file)); err != nil {
				t.Error(err)
			}
			if t.Failed() {
				t.Logf("it wrote\n%s%s", tail(r.stdout), r.stderr)
			}
		})
	}
}
