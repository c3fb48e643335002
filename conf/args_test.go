package conf

import (
	"errors"
	"io/fs"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// nowhere is an environment with these files.
func nowhere(files map[string]string) Environment {
	return Environment{
		Getenv: func(string) string { return "" },
		ReadFile: func(name string) ([]byte, error) {
			src, ok := files[name]
			if !ok {
				return nil, fs.ErrNotExist
			}
			return []byte(src), nil
		},
	}
}

func TestParseArgs(t *testing.T) {
	for _, c := range []struct {
		args  string
		given string // options as given, joined by commas
		stray string
		wrong string // in the report
	}{
		{args: "-s 5 --sweep 6 --sweep=7 -sweep 8 -sweep=9 -s10",
			given: "-s 5,--sweep 6,--sweep 7,--sweep 8,--sweep 9,-s 10"},
		{args: "-or", given: "-o,-r"},
		{args: "-once", given: "--once"},
		{args: "--rout updn", given: "--routing_engine updn"},
		{args: "-rf x", given: "-r,-f x"},
		{args: "-lf x", given: "--lfts_file x"},
		{args: "-D0x43", given: "-D 0x43"},
		{args: "-vvv -V", given: "-v,-v,-v,-V"},
		{args: "-x -y", given: "-x,-y"},
		{args: "-Rupdn,minhop", given: "-R updn,minhop"},
		{args: "-J p -O q --dimn q", given: "-J p,-O q,--dimn_ports_file q"},
		{args: "a -o b -- -r", given: "-o", stray: "a b -r"},
		{args: "- -o", given: "-o", stray: "-"},
		{args: "-s -1", given: "-s -1"},
		{args: "--fabric fattree:k=8 --dry-run", given: "--fabric fattree:k=8,--dry-run"},
		{args: "-fabric x", given: "-f abric", stray: "x"},
		{args: "--fab x", wrong: "unrecognized option --fab", stray: "x"},
		{args: "--ro x", wrong: "option --ro is ambiguous: --routing_engine, --root_guid_file", stray: "x"},
		{args: "--swep_interval 5",
			wrong: "unrecognized option --swep_interval; did you mean --sweep, which sets sweep_interval?", stray: "5"},
		{args: "--babbling_port_policy",
			wrong: "unrecognized option --babbling_port_policy; babbling_port_policy is a setting of the configuration file"},
		{args: "--sweeep 5", wrong: "unrecognized option --sweeep; did you mean --sweep?", stray: "5"},
		{args: "--routing-engin x", wrong: "did you mean --routing_engine?", stray: "x"},
		{args: "--once=1", wrong: "option --once takes no argument"},
		{args: "-s", wrong: "option -s needs an argument: SECONDS"},
		{args: "--lmc", wrong: "option --lmc needs an argument: N"},
		{args: "-oj", given: "-o", wrong: "unrecognized option -j in -oj"},
	} {
		given, stray, report := ParseArgs(strings.Fields(c.args))
		var got []string
		for _, g := range given {
			got = append(got, g.String())
		}
		if strings.Join(got, ",") != c.given || strings.Join(stray, " ") != c.stray {
			t.Errorf("%s: options %q, stray %q; want %q and %q", c.args, got, stray, c.given, c.stray)
		}
		if err := report.Err(Start); (err == nil) != (c.wrong == "") || err != nil &&
			!strings.Contains(err.Error(), c.wrong) {
			t.Errorf("%s: %v; want %q", c.args, err, c.wrong)
		}
		if c.wrong != "" && report.Status(Start) != 2 {
			t.Errorf("%s: exit status %d", c.args, report.Status(Start))
		}
	}
}

func TestOptions(t *testing.T) {
	for _, c := range []struct {
		args   string
		key    string
		want   string
		status int // of a refused start
	}{
		{"-g 2c9", "guid", "0x00000000000002c9", 0},
		{"-g 0x2c9", "guid", "0x00000000000002c9", 0},
		{"-g mlx5_0", "guid", "mlx5_0", 0},
		{"-g mlx5_0:1", "guid", "mlx5_0:1", 0},
		{"-g mlx5_0/1", "guid", "mlx5_0/1", 0},
		{"--guid=ibp65s0", "guid", "ibp65s0", 0},
		{"-g b0", "guid", "0x00000000000000b0", 0}, // as with OpenSM: hexadecimal digits are a GUID
		{"-g ../x", "guid", "0x0000000000000000", 2},
		{"-g mlx5_0:x", "guid", "0x0000000000000000", 2},
		{"-g 2cg", "guid", "0x0000000000000000", 2},
		{"-k 10", "sm_key", "0x0000000000000010", 0},
		{"--cc_key 0x1", "cc_key", "0x0000000000000001", 0},
		{"-l 8", "lmc", "0", 255},
		{"-l x", "lmc", "0", 2},
		{"-p 16", "sm_priority", "0", 255},
		{"--sm_sl 16", "sm_sl", "0", 255},
		{"--lash_start_vl 16", "lash_start_vl", "0", 255},
		{"--nue_max_num_vls 16", "nue_max_num_vls", "1", 255},
		{"-H 3", "max_reverse_hops", "3", 0},
		{"-H 0x3", "max_reverse_hops", "0", 2},
		{"-s 4294", "sweep_interval", "4294", 0},
		{"-s 4295", "sweep_interval", "10", 0},
		{"-s 10s", "sweep_interval", "10", 0},
		{"-p /etc/opensm/partitions.conf --priority 11", "sm_priority", "11", 0}, // OpenSM starts, too
		{"-t 0", "transaction_timeout", "200", 0},
		{"-n 0", "max_wire_smps", "2147483647", 0},
		{"-e", "accum_log_file", "FALSE", 0},
		{"-y", "exit_on_fatal", "FALSE", 0},
		{"-v", "log_flags", "0x07", 0},
		{"-v -v", "log_flags", "0x0f", 0},
		{"-V", "force_log_flush", "TRUE", 0},
		{"-d 0", "ignore_other_sm", "TRUE", 0},
		{"-d 10", "ignore_other_sm", "FALSE", 0},
		{"-N -Z in", "part_enforce", "off", 0},
		{"-Z maybe", "part_enforce", "both", 2},
		{"-q telnet", "console", "off", 0},
		{"-R ftree,updn", "routing_engine", "ftree,updn", 0},
		{"-R ftre", "routing_engine", null, 2},
		{"-p 3 -p 4", "sm_priority", "4", 0},
		{"--ar_mode disable", "ar_mode", "disable", 0},
		{"--ar_mode enable", "ar_mode", "keep", 2},
	} {
		l := Load(strings.Fields(c.args), nowhere(nil))
		if got := Find(c.key).Format(l.Setting(Find(c.key)).Value); got != c.want ||
			l.Report.Status(Start) != c.status {
			t.Errorf("%s: %s %s, exit status %d; want %s and %d", c.args, c.key, got, l.Report.Status(Start), c.want,
				c.status)
		}
	}
}

// TestWordForNumber: a word in the place of a number has the same consequence on the command line and in a file: it
// ends the start only of a setting on which keys, partitions, LIDs or routes depend.
func TestWordForNumber(t *testing.T) {
	for i := range table {
		k := &table[i]
		if !k.Kind.numeric() || k.Arg == "" || k.Own {
			continue
		}
		option := Load([]string{"--" + k.Long, "/etc/opensm/x"}, nowhere(nil)).Report
		file := Load(nil, nowhere(map[string]string{"/etc/opensm/opensm.conf": k.Name + " /etc/opensm/x"})).Report
		if got, want := option.Err(Start) != nil, file.Err(Start) != nil; got != want || option.Err(Invalid) == nil ||
			file.Err(Invalid) == nil {
			t.Errorf("%s: the start is refused for the option: %t, for the file: %t\n%v\n%v", k.Name, got, want, option,
				file)
		}
	}
	err := Load([]string{"-p", "/etc/opensm/partitions.conf"}, nowhere(nil)).Report.Err(Invalid)
	if err == nil || !strings.HasSuffix(err.Error(), "; value ignored; -P takes a file: --Pconfig") {
		t.Errorf("-p with a file: %v", err)
	}
}

func TestPrecedence(t *testing.T) {
	files := nowhere(map[string]string{
		"a":                       "lmc 1\nsm_priority 1\ndump_files_dir /file",
		"b":                       "lmc 2",
		"/etc/opensm/opensm.conf": "sm_priority 9",
		"/etc/rdma/opensm.conf":   "sm_priority 10",
	})
	files.Getenv = func(name string) string { return map[string]string{"OSM_TMP_DIR": "/env"}[name] }
	for _, c := range []struct{ args, priority, lmc, dir string }{
		{"-F b -p 3 --config a", "3", "1", "/file"}, // the last -F wins, wherever it stands
		{"-F b", "0", "2", "/env"},
		{"--dump_files_dir /option -F a", "1", "1", "/option"},
		{"", "9", "0", "/env"},
		{"-F missing", "0", "0", "/env"},
	} {
		l := Load(strings.Fields(c.args), files)
		for key, want := range map[string]string{"sm_priority": c.priority, "lmc": c.lmc, "dump_files_dir": c.dir} {
			if got := Find(key).Format(l.Setting(Find(key)).Value); got != want {
				t.Errorf("%s: %s is %s, want %s", c.args, key, got, want)
			}
		}
	}
	if l := Load([]string{"-F", "missing"}, files); l.Report.Err(Start) == nil || l.Report.Status(Start) != 1 {
		t.Error("a start with a file that is named and missing is not refused")
	}
	many := nowhere(map[string]string{"many": strings.Repeat("nosuchkey 1\n", maxFindings-1)})
	if l := Load([]string{"-F", "many", "stray", "stray", "-l", "9"}, many); l.Report.Status(Start) != 255 {
		t.Error("a wrong option is lost among warnings")
	}
	files.ReadFile = func(string) ([]byte, error) { return nil, errors.New("no permission") }
	if l := Load(nil, files); l.Report.Err(Start) == nil {
		t.Error("a file that cannot be read is passed over")
	}
}

// TestArgsSameAsOpenSM gives random command lines to both.
func TestArgsSameAsOpenSM(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	empty := write(t, "empty.conf", nil)
	clean, refused := 0, 0
	for range rounds(100) {
		args := randomArgs(random)
		if strings.ContainsAny(strings.Join(args, ""), "\x00\n") {
			continue // no program can be given the one, and OpenSM does not write the other
		}
		given, _, report := ParseArgs(args)
		l := Load(append([]string{"-F", empty}, args...), nowhere(map[string]string{empty: ""}))
		own := slices.ContainsFunc(given, func(g Given) bool {
			return g.Own || g.Long == "help" || g.Long == "version" || g.Long == "config" ||
				g.Long == "create-config" || g.Short == 'J'
		})
		if own || report.Err(Start) == nil && l.Report.Err(Reload) != nil || slices.Contains(args, "--") {
			continue
		}
		said, theirs := opensm(t, append([]string{"-F", empty}, args...)...)
		if report.Err(Start) != nil {
			refused++
			// OpenSM takes more than 16 hexadecimal digits for the largest number, as if it asked which port.
			if said := report.Err(Start).Error(); theirs != "" && !strings.Contains(said, "-J") &&
				!strings.Contains(said, "hexadecimal digits") {
				t.Fatalf("%q: refused (%v), and OpenSM takes it:\n%s", args, said, theirs)
			}
			continue
		}
		clean++
		judge, _ := FromFile("theirs.conf", []byte(theirs))
		for i := range table {
			k := &table[i]
			got, want := l.settings[i].Value, judge.settings[i].Value
			if k.Kind == String {
				want = written(theirs, k.Name)
			}
			if k.Name == "guid" && want.Num == 1<<64-1 {
				want.Num = 0 // -g 0 asks which port, and OpenSM writes that so
			}
			faulty := k.Name == "cc_key" || unwritten(k, got) // OpenSM turns the bytes of a CC_Key round
			if got != want && !k.Own && !faulty {
				t.Fatalf("%q: %s: %+v, OpenSM has %+v\nand said\n%s", args, k.Name, got, want, said)
			}
		}
	}
	if clean < rounds(100)/10 || refused < rounds(100)/20 {
		t.Errorf("only %d command lines without a fault and %d with one", clean, refused)
	}
}

func randomArgs(random *rand.Rand) (args []string) {
	for range 1 + random.IntN(4) {
		o := &options[random.IntN(len(options))]
		if o.Own || o.Long == "help" || o.Long == "version" || o.Long == "config" || o.Long == "create-config" {
			continue
		}
		value := "3"
		if k := Find(o.Key); k != nil && o.Arg != "" {
			if value = randomText(random, k); value == "" {
				value = "x"
			}
		}
		name := "--" + o.Long
		switch random.IntN(6) {
		case 0:
			name = name[1:]
		case 1:
			name = name[:2+1+random.IntN(len(name)-2)]
		case 2:
			if o.Short != 0 {
				name = "-" + string(o.Short)
			}
		case 3:
			if o.Short != 0 && o.Arg == "" {
				name = "-o" + string(o.Short)
			}
		}
		switch {
		case o.Arg == "":
			args = append(args, name)
		case random.IntN(3) == 0:
			args = append(args, name+"="+value)
		default:
			args = append(args, name, value)
		}
		if random.IntN(10) == 0 {
			last := len(args) - 1
			args[last] = string(mutate(random, []byte(args[last])))
		}
	}
	return args
}

// TestUsualFiles: RHEL's packages have OpenSM's files in /etc/rdma. What a file or an option
// names stays.
func TestUsualFiles(t *testing.T) {
	const opensm, rdma = "/etc/opensm/partitions.conf", "/etc/rdma/partitions.conf"
	for _, c := range []struct {
		name  string
		files []string
		args  string
		want  string
	}{
		{"none", nil, "", opensm},
		{"Debian", []string{opensm}, "", opensm},
		{"RHEL", []string{rdma}, "", rdma},
		{"RHEL, with its opensm.conf", []string{"/etc/rdma/opensm.conf", rdma}, "", rdma},
		{"both", []string{opensm, rdma}, "", opensm},
		{"both, and RHEL's opensm.conf", []string{"/etc/rdma/opensm.conf", opensm, rdma}, "", rdma},
		{"both, and both opensm.conf", []string{"/etc/opensm/opensm.conf", "/etc/rdma/opensm.conf", opensm, rdma}, "",
			opensm},
		{"named", []string{rdma}, "-P " + opensm, opensm},
		{"named in a file", []string{rdma, "f"}, "-F f", opensm},
	} {
		files := map[string]string{}
		for _, f := range c.files {
			files[f] = ""
		}
		if _, named := files["f"]; named {
			files["f"] = "partition_config_file " + opensm + "\n"
		}
		l := Load(strings.Fields(c.args), nowhere(files))
		if got := PartitionConfigFile.In(l.Config); got != c.want || l.Report.Err(Start) != nil {
			t.Errorf("%s: %s, want %s; %v", c.name, got, c.want, l.Report)
		}
	}
	files := nowhere(map[string]string{"/etc/rdma/prefix-routes.conf": "", "/etc/rdma/per-module-logging.conf": ""})
	l := Load(nil, files)
	if a, b := PrefixRoutesFile.In(l.Config), PerModuleLoggingFile.In(l.Config); a != "/etc/rdma/prefix-routes.conf" ||
		b != "/etc/rdma/per-module-logging.conf" {
		t.Errorf("other files: %s, %s", a, b)
	}
}

// TestPortByName: a device or an interface as guid is the same in both formats, and a GUID stays one.
func TestPortByName(t *testing.T) {
	for _, name := range []string{"mlx5_0", "mlx5_0:1", "mlx5_0/1", "ib0", "0x0002c90300000001"} {
		c, report := FromFile("opensm.conf", []byte("guid "+name+"\n"))
		toml, err := c.WriteTOML()
		again, second := FromFile("ibsm.toml", toml)
		if report.Err(Strict) != nil || err != nil || second.Err(Strict) != nil ||
			GUID.Key().Format(again.Setting(GUID.Key()).Value) != name {
			t.Errorf("%s: %v, %v, %v; %s", name, report, err, second,
				GUID.Key().Format(again.Setting(GUID.Key()).Value))
		}
		if named := GUIDDevice.In(c) != ""; named == (GUID.In(c) != 0) {
			t.Errorf("%s: GUID %#x, name %q", name, GUID.In(c), GUIDDevice.In(c))
		}
	}
}
