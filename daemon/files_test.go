package daemon

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ibsm/conf"
	"ibsm/ctl"
	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/partitions"
	"ibsm/routing"
	"ibsm/routing/lash"
	"ibsm/routing/routingtest"
	"ibsm/routing/torus"
	"ibsm/routing/updn"
	"ibsm/sweep/engines"
)

// rootFile is a root_guid_file that a test may write anew, and the settings that name it.
func rootFile(t *testing.T, text string) (write func(string), settings string) {
	t.Helper()
	name := filepath.Join(t.TempDir(), "roots")
	write = func(text string) {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(text)
	return write, "routing_engine updn,lash\nconnect_roots TRUE\nlash_start_vl 2\nroot_guid_file " + name + "\n"
}

// mustRoute fails the test unless the manager has the engines of that file with these roots.
func (o *fixture) mustRoute(when string, roots ...mad.GUID) {
	o.t.Helper()
	want, _ := engines.New([]string{"updn", "lash"},
		&engines.Settings{Updn: updn.Settings{Roots: roots, ConnectRoots: true}, Lash: lash.Settings{StartVL: 2}})
	if !o.sent.Sweep.Engines.Equal(want) {
		o.t.Errorf("%s: the roots are not %v", when, roots)
	}
}

// TestEngineFiles: what the files of engines say applies, not how they are written. A file with an
// error changes nothing, and the log has its position and OpenSM's words.
func TestEngineFiles(t *testing.T) {
	write, settings := rootFile(t, "0x10\n0x11\n")
	o := newFixture(t, settings, ownParts)
	o.mustRoute("at first", 0x10, 0x11)
	reload := func() {
		o.log.Reset()
		o.reload(true)
		o.take()
	}
	for _, c := range []struct {
		when, text, says string
		roots            []mad.GUID
	}{
		{"otherwise written", "# the same\n0x11\n16\n0x10\n", "GUID 0x0000000000000010 is also on line 3",
			[]mad.GUID{0x10, 0x10, 0x11}},
		{"an error", "0x12\n spine\n", "roots:2:2: expected a GUID", []mad.GUID{0x10, 0x10, 0x11}},
		{"OpenSM's words", "x\n", "updn_lid_matrices: ERR AA02: cannot parse root guids file",
			[]mad.GUID{0x10, 0x10, 0x11}},
		{"another root", "0x12\n", "", []mad.GUID{0x12}},
		{"emptied", "", "roots: root_guid_file: the file has no entry", []mad.GUID{0x12}},
	} {
		write(c.text)
		reload()
		o.mustRoute(c.when, c.roots...)
		o.mustSay(c.says)
	}
	write("x\n")
	isError := func(f ctl.Finding) bool {
		return f.Line == 1 && f.Column == 1 && f.Severity == conf.Refusal.String() && f.Key == "root_guid_file"
	}
	if found := o.reload(true).Findings; !slices.ContainsFunc(found, isError) {
		t.Errorf("the caller of the reload learns of %+v", found)
	}
}

// TestEngineFilesAtStart: a start is refused with a file that cannot be used, unless no engine reads
// it.
func TestEngineFilesAtStart(t *testing.T) {
	write, settings := rootFile(t, "0x10\nx\n")
	load := func(text string) *conf.Loaded {
		name := filepath.Join(t.TempDir(), "opensm.conf")
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return conf.Load([]string{"-F", name}, Environment)
	}
	if _, _, err := selectedFiles(load(settings)); err == nil ||
		!strings.Contains(err.Error(), "roots:2:1: expected a GUID") {
		t.Error(err)
	}
	write("0x10\n0x10\n")
	l := load(settings)
	if _, warnings, err := selectedFiles(l); err != nil || len(warnings) != 1 {
		t.Error(warnings, err)
	}
	l.Strict = true
	if _, _, err := selectedFiles(l); err == nil || !strings.Contains(err.Error(), "--strict") {
		t.Error(err)
	}
	// The file that nobody has named may be missing (OpenSM: ERR 4E11 of parse_config in osm_torus.c, and the next
	// engine).
	for _, list := range []string{"torus-2QoS", "torus-2QoS updn"} {
		l := load("routing_engine " + list + "\n")
		files, warnings, err := selectedFiles(l)
		if err != nil || len(files) > 0 || len(warnings) != 1 ||
			!strings.Contains(warnings.Error(), "torus-2QoS cannot be used; auto routes a torus without a file") {
			t.Errorf("%s: %v, %v, %v", list, files, warnings, err)
		}
		tables, err := chain(l.Config, files)[0].Route(t.Context(), routingtest.Problem(t, "torus:dims=3x3"))
		if tables != nil || err == nil || !strings.Contains(err.Error(), "no file describes the torus") {
			t.Errorf("%s routes without a file: %v", list, err)
		}
	}
	if _, _, err := selectedFiles(load("routing_engine torus-2QoS\ntorus_config /no/such\n")); err == nil {
		t.Error("a file that is named may be missing")
	}
	if _, _, err := selectedFiles(load("routing_engine updn\nids_guid_file /no/such\n")); err == nil ||
		!strings.Contains(err.Error(), "/no/such: ids_guid_file: ") {
		t.Error(err)
	}
	write("0x10\n")
	compute := strings.NewReplacer("updn", "dfsssp", "root_guid_file", "cn_guid_file").Replace(settings)
	files, _, err := selectedFiles(load(compute))
	if s := files.settings(load(compute).Config); err != nil || !s.SSSP.Compute[0x10] || s.SSSP.IO != nil ||
		s.Updn.Roots != nil {
		t.Errorf("%+v, %v", s, err)
	}
	for _, engine := range []string{"tree", "auto"} {
		storage := strings.NewReplacer("updn", engine, "root_guid_file", "io_guid_file").Replace(settings)
		if files, _, err := selectedFiles(load(storage)); err != nil ||
			!files.settings(load(storage).Config).Tree.IO[0x10] {
			t.Errorf("%s: %v, %v", engine, files, err)
		}
		missing := readEngineFiles(load("routing_engine tree\nio_guid_file /no/such\n").Config)
		if len(missing.errors) != 1 || slices.Contains(missing.unreadable, "") {
			t.Errorf("%v, %q", missing.errors, missing.unreadable)
		}
	}
	if files, _, err := selectedFiles(load("routing_engine lash\nroot_guid_file /no/such\n")); err != nil ||
		len(files) > 0 {
		t.Error(files, err)
	}
}

// TestInheritEngineFiles: a standby has the contents of its master's files, whatever its own files
// say, and with its own files of equal contents nothing differs.
func TestInheritEngineFiles(t *testing.T) {
	_, settings := rootFile(t, "0x10\n")
	master := newFixture(t, settings, ownParts)
	policy := master.sent.Registrar.Mirror.Policy
	write, own := rootFile(t, "0x20\n")
	for _, c := range []struct {
		own    string
		differ []string
	}{{own, []string{"root_guid_file"}},
		{"", []string{"routing_engine", "connect_roots", "lash_start_vl", "root_guid_file"}}} {
		o := newFixture(t, c.own, ownParts)
		o.hears(policy)
		o.mustRoute("as standby", 0x10)
		if o.policy == nil || !slices.Equal(o.policy.Differ, c.differ) {
			t.Errorf("what differs is shown as %+v, want %q", o.policy, c.differ)
		}
		o.entered(smp.Master)
		o.mustRoute("as master", 0x10)
		if string(o.sent.Registrar.Mirror.Policy) != string(policy) {
			t.Error("its standbys get another policy")
		}
		if c.own != "" {
			write("# as at the master\n0x10\n")
			o.reload(false)
			if d := o.policy.Differ; len(d) != 0 {
				t.Errorf("%q differ", d)
			}
			write("0x20\n")
			o.reload(true)
			o.take()
			o.mustRoute("after a reload", 0x20)
		}
	}
	none := newFixture(t, "routing_engine updn,lash\nconnect_roots TRUE\nlash_start_vl 2\n", ownParts)
	o := newFixture(t, own, ownParts)
	o.hears(none.sent.Registrar.Mirror.Policy)
	if want, _ := engines.New([]string{"updn", "lash"}, engineSettings(o.own().Config)); !o.sent.Sweep.Engines.Equal(
		want) {
		t.Error("the master detects roots, and the standby would not")
	}
}

// TestEngineFilesRefused: what no manager sends is refused as a whole.
func TestEngineFilesRefused(t *testing.T) {
	good := (&policyText{of: 9, source: partitions.FromNothing,
		engines: keptFiles{"root_guid_file": {text: []byte("0x1\n")}, "ids_guid_file": {text: []byte("0x1 1\n")},
			"lfts_file": {text: nil}}}).encode()
	if _, err := newMasterPolicy(good); err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{"root_guid_file 5\n0x1\n", "root_guid_file -1\n0x1\n", "root_guid_file 2\nx\n",
		"torus_config 2\nx\n", "root_guid_file\n", "root_guid_file 4\n0x1\nroot_guid_file 4\n0x1\n", "\n"} {
		texts, err := splitFiles([]byte(bad))
		if err == nil {
			err = keptFiles{}.parse(texts, nil)
		}
		if err == nil {
			t.Errorf("%q is taken", bad)
		}
	}
}

// TestDrainFile: what is drained is reloaded and mirrored, whatever the engine is; an error changes nothing, and a file
// that is not there drains nothing.
func TestDrainFile(t *testing.T) {
	name := filepath.Join(t.TempDir(), "drain.conf")
	write := func(text string) {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	mustDrain := func(o *fixture, when string, want ...routing.SwitchPort) {
		t.Helper()
		if got := o.sent.Sweep.Drained; !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", when, got, want)
		}
	}
	master := newFixture(t, "drain_file "+name+"\n", ownParts)
	mustDrain(master, "no file")
	a, b := routing.SwitchPort{Switch: 0x10}, routing.SwitchPort{Switch: 0x11, Port: 3}
	for _, c := range []struct {
		text, says string
		want       []routing.SwitchPort
	}{
		{"0x10\n0x11 3\n", "", []routing.SwitchPort{a, b}},
		{"0x10 x\n", "drain.conf:1:6: expected a port", []routing.SwitchPort{a, b}},
		{"0x11 3 # leaf\n", "", []routing.SwitchPort{b}},
	} {
		write(c.text)
		master.log.Reset()
		master.reload(true)
		master.take()
		mustDrain(master, c.text, c.want...)
		master.mustSay(c.says)
	}
	standby := newFixture(t, "", ownParts)
	standby.hears(master.sent.Registrar.Mirror.Policy)
	mustDrain(standby, "as standby", b)
	standby.entered(smp.Master)
	mustDrain(standby, "as master", b)
	if err := os.Remove(name); err != nil {
		t.Fatal(err)
	}
	master.reload(true)
	master.take()
	mustDrain(master, "the file is gone")
}

// TestCablingFiles: the plan of the cabling, whether it is enforced, and the switches that are held back are reloaded
// and mirrored; an error changes nothing.
func TestCablingFiles(t *testing.T) {
	dir := t.TempDir()
	plan, switches := filepath.Join(dir, "topoconfig.conf"), filepath.Join(dir, "held.conf")
	write := func(name, text string) {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	must := func(o *fixture, when string, cables int, enforced bool, held ...mad.GUID) {
		t.Helper()
		got := o.sent.Sweep.Cabling
		if n := 0; got.Plan != nil {
			if n = len(got.Plan.Cables); n != cables {
				t.Errorf("%s: a plan of %d cables, want %d", when, n, cables)
			}
		} else if cables > 0 {
			t.Errorf("%s: no plan", when)
		}
		if got.Enforced != enforced || !slices.Equal(got.HeldBack, held) {
			t.Errorf("%s: enforced %v, held back %v", when, got.Enforced, got.HeldBack)
		}
	}
	write(switches, "")
	settings := "topo_config_file " + plan + "\nheld_back_sw_file " + switches + "\n"
	missing := newFixture(t, settings, ownParts)
	must(missing, "no plan, which is not enforced", 0, false)
	write(plan, "0x1,1,0x2,1,Any,Active\n")
	master := newFixture(t, settings+"topo_config_enabled TRUE\n", ownParts)
	must(master, "at the start", 1, true)
	for _, c := range []struct {
		plan, held, says string
		cables           int
		want             []mad.GUID
	}{
		{"0x1,1,0x2,1,Any,Active\n0x1,2,0x2,2,Any,Active\n", "0x10 # a spare one\n0x11\n", "", 2,
			[]mad.GUID{0x10, 0x11}},
		{"0x1,1,0x2,1,Any,Active\n0x1,x,0x2,2,Any,Active\n", "0x10\n", "topoconfig.conf:2:5: port", 2,
			[]mad.GUID{0x10, 0x11}},
		{"ibsm-topology 1\ncable a:1 - b:1\n", "spine-1\n", "held.conf:1:1: expected a GUID", 2,
			[]mad.GUID{0x10, 0x11}},
		{"ibsm-topology 1\ncable a:1 - b:1\n", "0x10\n", "", 1, []mad.GUID{0x10}},
	} {
		write(plan, c.plan)
		write(switches, c.held)
		master.log.Reset()
		master.reload(true)
		master.take()
		must(master, c.plan, c.cables, true, c.want...)
		master.mustSay(c.says)
	}
	standby := newFixture(t, "", ownParts)
	standby.hears(master.sent.Registrar.Mirror.Policy)
	must(standby, "as standby", 1, true, 0x10)
	standby.entered(smp.Master)
	must(standby, "as master", 1, true, 0x10)
	if strings.Contains(standby.log.String(), "topo_config_enabled has no effect") {
		t.Error("a standby warns of a file that it has from the master")
	}
	if err := os.Remove(plan); err != nil {
		t.Fatal(err)
	}
	master.log.Reset()
	master.reload(true)
	master.take()
	must(master, "the file is gone", 1, true, 0x10)
	master.mustSay("topo_config_file: the file does not exist")
}

// TestEnforcedWithItsPlan: a reload takes topo_config_enabled and the plan together, or neither.
func TestEnforcedWithItsPlan(t *testing.T) {
	dir := t.TempDir()
	old, other := filepath.Join(dir, "old.conf"), filepath.Join(dir, "new.conf")
	write := func(name string, cables ...string) {
		if err := os.WriteFile(name, []byte(strings.Join(cables, "\n")+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	const first, second, bad = "0x1,1,0x2,1,Any,Active", "0x1,2,0x2,2,Any,Active", "0x1,x,0x2,3,Any,Active"
	write(old, first)
	o := newFixture(t, "topo_config_file "+old+"\n", ownParts)
	reload := func(when, settings string, enforced bool, cables int) {
		t.Helper()
		o.write("opensm.conf", settings)
		o.reload(true)
		o.take()
		if got := o.sent.Sweep.Cabling; got.Enforced != enforced || len(got.Plan.Cables) != cables {
			t.Errorf("%s: enforced %v, a plan of %d cables", when, got.Enforced, len(got.Plan.Cables))
		}
		if got := conf.TopoConfigEnabled.In(o.own().Config); got != enforced {
			t.Errorf("%s: shown as %v", when, got)
		}
	}
	write(other, first, bad)
	to := "topo_config_file " + other + "\ntopo_config_enabled TRUE\n"
	reload("the plan has an error", to, false, 1)
	o.mustSay("topo_config_enabled is not changed")
	reload("it still has", to, false, 1)
	write(other, first, second)
	reload("it is corrected, and the configuration is the same", to, true, 2)
	write(other, first, bad)
	reload("to be off, and the plan has an error", "topo_config_file "+other+"\ntopo_config_enabled FALSE\n", true, 2)
	write(other, first)
	reload("the configuration has an error", "topo_config_enabled FALSE\nlog_max_size x\nsm_priority 99\n", true, 2)
	reload("both are good", "topo_config_file "+other+"\ntopo_config_enabled FALSE\n", false, 1)
}

// TestTorusFile: torus_config is reloaded and mirrored as the files of other engines are.
func TestTorusFile(t *testing.T) {
	const five = "torus 5 5 1\nxp_link 0x201 0x203\nyp_link 0x201 0x204\n"
	name := filepath.Join(t.TempDir(), "torus-2QoS.conf")
	write := func(text string) {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	mustRoute := func(o *fixture, when, text string) {
		t.Helper()
		parsed, _, errs := torus.Parse("torus", []byte(text))
		if len(errs) > 0 {
			t.Fatal(errs)
		}
		if want, _ := engines.New([]string{"torus-2QoS"},
			&engines.Settings{Torus: parsed}); !o.sent.Sweep.Engines.Equal(want) {
			t.Errorf("%s: the torus is not %q", when, text)
		}
	}
	write(five)
	master := newFixture(t, "routing_engine torus-2QoS\ntorus_config "+name+"\n", ownParts)
	mustRoute(master, "at first", five)
	for _, c := range []struct{ when, text, says, want string }{
		{"otherwise written", "# the same\n" + strings.ReplaceAll(five, " ", "\t"), "", five},
		{"an error", "torus 5 5 1\nxp_link 0x201 x\n", "torus-2QoS.conf:2:", five},
		{"cut off", "torus 5", "torus_config: the last line, 1, has no line end", five},
		{"another radix", strings.Replace(five, "5 5", "6 5", 1), "", strings.Replace(five, "5 5", "6 5", 1)},
	} {
		write(c.text)
		master.log.Reset()
		master.reload(true)
		master.take()
		mustRoute(master, c.when, c.want)
		master.mustSay(c.says)
	}
	standby := newFixture(t, "", ownParts)
	standby.hears(master.sent.Registrar.Mirror.Policy)
	mustRoute(standby, "as standby", strings.Replace(five, "5 5", "6 5", 1))
	standby.entered(smp.Master)
	mustRoute(standby, "as master", strings.Replace(five, "5 5", "6 5", 1))
}

// TestCablingWarnings: a plan of a real fabric with a node whose GUID is 0 counts, and the log has which node is left
// out.
func TestCablingWarnings(t *testing.T) {
	const plan = "switchguid=0x20\nSwitch 4 \"s\"\n[1] \"a\"\n[2] \"b\"\n\ncaguid=0\nCa 1 \"b\"\n[1] \"s\"[2]\n\ncaguid=0x10\nCa 1 \"a\"\n[1] \"s\"[1]\n"
	apply, warnings, err := parseCabling("plan", []byte(plan), nil)
	if err != nil || warnings.Error() != "plan:7:1: GUID 0 for \"b\": it is left out" {
		t.Fatalf("%v, warnings %v", err, warnings)
	}
	var s fileSettings
	if apply(&s); s.Cabling == nil || len(s.Cabling.Cables) != 1 {
		t.Errorf("%+v", s.Cabling)
	}
}
