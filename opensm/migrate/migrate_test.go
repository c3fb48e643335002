package migrate

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"ibsm/mad"
	"ibsm/opensm/sadb"
)

const (
	port1 = "0xb83fd20300a00000"
	port2 = "0xb83fd20300a00010"
)

// host is one with files, units and processes in short forms: "NAME ACTIVE ENABLED PID" and "PID UNIT COMMAND", where
// UNIT is - for none.
func host(files map[string]string, units, processes []string) *Host {
	root := fstest.MapFS{}
	for name, text := range files {
		root[name] = &fstest.MapFile{Data: []byte(text)}
	}
	h := &Host{Files: root, PortNamed: portNamed}
	for _, u := range units {
		f := strings.Fields(u)
		unit := Unit{Name: f[0], Load: "loaded", Active: f[1], Enabled: f[2]}
		fmt.Sscan(f[3], &unit.MainPID)
		h.Units = append(h.Units, unit)
	}
	slices.SortFunc(h.Units, func(a, b Unit) int { return strings.Compare(a.Name, b.Name) })
	for _, p := range processes {
		f := strings.Fields(p)
		process := Process{Unit: strings.Trim(f[1], "-"), Args: f[2:], Program: ProgramOf(f[2:])}
		fmt.Sscan(f[0], &process.PID)
		h.Processes = append(h.Processes, process)
	}
	return h
}

// portNamed is the port of a device or an interface of a host that has ib0 and mlx5_0:1 at the first port.
func portNamed(name string) (mad.GUID, error) {
	if name == "ib0" || name == "mlx5_0:1" {
		return mad.ParseGUID(port1)
	}
	return 0, fmt.Errorf("umad: no device or interface %s: there are mlx5_0:1 (ib0)", name)
}

// lines are a plan in a line for each remark and step: kinds and commands, and of an edit the new text.
func lines(p Plan) (out []string) {
	for _, list := range []struct {
		head  string
		texts []string
	}{{"refused", p.Refused}, {"differs", p.Changes}, {"note", p.Notes}} {
		for _, t := range list.texts {
			out = append(out, list.head+": "+t)
		}
	}
	step := func(head string, steps []Step) {
		for _, s := range steps {
			text := strings.Join(s.Argv, " ")
			switch {
			case s.Kind == EditFile:
				text = s.File + ": " + strings.ReplaceAll(string(s.Content), "\n", ";")
			case s.Kind == SetAside:
				text = "mv " + s.File + " " + s.Aside
			case text == "" && s.File != "":
				text = s.File
			}
			out = append(out,
				fmt.Sprintf("%s %s %s", head, [...]string{"", "edit", "aside", "dump", "compare", "run", "reload",
					"gone", "dumped", "up", "same", "restart"}[s.Kind], text))
		}
	}
	step("do", p.Steps)
	step("undo", p.Undo)
	return out
}

// What the packages have on a host where OpenSM runs: Debian's opensm.service is a oneshot that has ended and starts an
// instance for each port; the main process of RHEL's is a shell.
var (
	debianUnits = []string{"opensm.service active enabled 0", "opensm@" + port1 + ".service active - 12",
		"ibsm.service inactive disabled 0"}
	debianRuns = "12 opensm@" + port1 + ".service /usr/sbin/opensm --guid " + port1 + " --log_file /var/log/opensm." +
		port1 + ".log"
	rhelUnits = []string{"opensm.service active enabled 10", "ibsm.service inactive disabled 0"}
	rhelRuns  = "12 opensm.service /usr/sbin/opensm"
)

const wantedLines = "sa_db_dump TRUE;sa_db_file /var/log/opensm-sa.dump;no_clients_rereg TRUE;"

// tail are the steps with which each plan of going to ibsm ends, and what undoes it on a host with OpenSM's package.
func tail(ends ...string) []string {
	return append(ends, "do run systemctl enable --now ibsm.service", "do up ", "do same ",
		"undo run systemctl disable --now ibsm.service", "undo run systemctl enable --now opensm.service")
}

func TestTo(t *testing.T) {
	const conf, rdma, dump = "etc/opensm/opensm.conf", "etc/rdma/opensm.conf", "var/log/opensm-sa.dump"
	compare1 := "do compare ibsm --dry-run --json --guid=" + port1
	without := func(pid string) string {
		return "note: OpenSM process " + pid +
			" was started without a configuration file, and reads none before its next start: it cannot write its registrations. " + again
	}
	sharing := "note: several OpenSM processes write /var/log/opensm-sa.dump, and only the last writer's registrations remain: registrations are not carried over. " + again
	for _, c := range []struct {
		name      string
		files     map[string]string
		units     []string
		processes []string
		want      []string
	}{
		{"Debian, PORTS=ALL", map[string]string{"etc/default/opensm": "PORTS=ALL\n", conf: "sm_priority 5\n"},
			debianUnits, []string{debianRuns},
			append([]string{"do edit /etc/opensm/opensm.conf: sm_priority 5;" + wantedLines, compare1,
				"do dump kill -HUP 12",
				"do run systemctl disable --now opensm.service", "do gone ", "do dumped /var/log/opensm-sa.dump"},
				tail()...)},
		{"Debian, PORTS with a GUID, all settings there",
			map[string]string{"etc/default/opensm": "PORTS=\"" + port1 + "\"\n",
				conf: strings.ReplaceAll(wantedLines, ";", "\n")}, debianUnits,
			[]string{debianRuns},
			append([]string{compare1, "do dump kill -HUP 12", "do run systemctl disable --now opensm.service",
				"do gone ", "do dumped /var/log/opensm-sa.dump"}, tail()...)},
		{"Debian as it is installed: no opensm.conf", map[string]string{"etc/default/opensm": "PORTS=ALL\n", dump: ""},
			debianUnits, []string{debianRuns},
			append([]string{without("12"), "do edit /etc/opensm/opensm.conf: " + wantedLines,
				"do aside mv /var/log/opensm-sa.dump /var/log/opensm-sa.dump.old", compare1,
				"do run systemctl disable --now opensm.service", "do gone "}, tail()...)},
		{"values that OpenSM's template has, and options of ibsm",
			map[string]string{"etc/default/opensm": "PORTS=ALL\n",
				conf:               "sa_db_file (null)\n\tsa_db_dump FALSE\n# no_clients_rereg TRUE",
				"etc/default/ibsm": "IBSM_OPTIONS='-s 20'"}, debianUnits, []string{debianRuns},
			append([]string{"note: process 12: sweep_interval would be 20, with OpenSM it is 10",
				"do edit /etc/opensm/opensm.conf: sa_db_file /var/log/opensm-sa.dump;sa_db_dump TRUE;# no_clients_rereg TRUE;no_clients_rereg TRUE;",
				compare1 + " -s 20", "do dump kill -HUP 12", "do run systemctl disable --now opensm.service",
				"do gone ", "do dumped /var/log/opensm-sa.dump"}, tail()...)},
		{"RHEL: HUP to OpenSM and not to its launcher", map[string]string{rdma: "sm_priority 5\n"}, rhelUnits,
			[]string{rhelRuns},
			append([]string{"do edit /etc/rdma/opensm.conf: sm_priority 5;" + wantedLines,
				"do compare ibsm --dry-run --json", "do dump kill -HUP 12",
				"do run systemctl disable --now opensm.service", "do gone ", "do dumped /var/log/opensm-sa.dump"},
				tail()...)},
		{"RHEL, GUIDS and PRIORITY",
			map[string]string{rdma: "", "etc/sysconfig/opensm": "GUIDS=" + port1 + "\nPRIORITY=7\n"}, rhelUnits,
			[]string{"12 opensm.service /usr/sbin/opensm -p 7 -g " + port1},
			append([]string{"do edit /etc/rdma/opensm.conf: " + wantedLines,
				compare1 + " --subnet_prefix=0xfe80000000000000 --priority=7", "do dump kill -HUP 12",
				"do run systemctl disable --now opensm.service", "do gone ", "do dumped /var/log/opensm-sa.dump"},
				tail()...)},
		{"RHEL, numbered files with folders of their own",
			map[string]string{rdma + ".1": "guid " + port1 + "\ndump_files_dir /var/log/a\n",
				rdma + ".2": "guid " + port2 + "\ndump_files_dir /var/log/b\n"}, rhelUnits,
			[]string{"12 opensm.service opensm -F /etc/rdma/opensm.conf.1",
				"13 opensm.service opensm -F /etc/rdma/opensm.conf.2"}, append([]string{
				"do edit /etc/rdma/opensm.conf.1: guid " + port1 +
					";dump_files_dir /var/log/a;sa_db_dump TRUE;sa_db_file /var/log/a/opensm-sa.dump;no_clients_rereg TRUE;", "do compare ibsm --dry-run --json --config=/etc/rdma/opensm.conf.1",
				"do dump kill -HUP 12",
				"do edit /etc/rdma/opensm.conf.2: guid " + port2 +
					";dump_files_dir /var/log/b;sa_db_dump TRUE;sa_db_file /var/log/b/opensm-sa.dump;no_clients_rereg TRUE;", "do compare ibsm --dry-run --json --config=/etc/rdma/opensm.conf.2",
				"do dump kill -HUP 13",
				"do run systemctl disable --now opensm.service", "do gone ", "do dumped /var/log/a/opensm-sa.dump",
				"do dumped /var/log/b/opensm-sa.dump"}, tail()...)},
		{"two instances share a file, which has the settings",
			map[string]string{"etc/default/opensm": "PORTS=ALL\n",
				conf: "sa_db_dump TRUE\nsm_priority 5\nno_clients_rereg TRUE\n"},
			append([]string{"opensm@" + port2 + ".service active - 13"}, debianUnits...),
			[]string{debianRuns, "13 opensm@" + port2 + ".service opensm --guid " + port2},
			append([]string{sharing,
				"do edit /etc/opensm/opensm.conf: # sa_db_dump TRUE;sm_priority 5;# no_clients_rereg TRUE;", compare1,
				"do compare ibsm --dry-run --json --guid=" + port2,
				"do run systemctl disable --now opensm.service", "do gone "}, tail()...)},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := lines(host(c.files, c.units, c.processes).To()); !slices.Equal(got, c.want) {
				t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(c.want, "\n"))
			}
		})
	}
}

// TestByHand: a process without a unit is stopped and started again by itself; an option that no file has would be lost
// with ibsm.
func TestByHand(t *testing.T) {
	got := lines(host(map[string]string{"etc/opensm/opensm.conf": ""}, []string{"ibsm.service inactive disabled 0"},
		[]string{"12 - opensm -R updn -B"}).To())
	for _, want := range []string{"differs: process 12: routing_engine would be not set, with OpenSM it is updn",
		"do run kill 12", "undo restart opensm -R updn -B"} {
		if !slices.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, strings.Join(got, "\n"))
		}
	}
}

// TestWithin: a unit whose control group merely contains a manager, as of cron, a container or a script, is never
// stopped: the process is ended by itself. A unit of the site whose main process is the manager is stopped and started
// like OpenSM's own.
func TestWithin(t *testing.T) {
	config := map[string]string{"etc/opensm/opensm.conf": "", "etc/default/opensm": "PORTS=" + port1 + "\n"}
	packages := []string{"opensm.service inactive disabled 0", "ibsm.service inactive disabled 0"}
	opensm, ibsm := " opensm -g "+port1, " ibsm --launch"
	inactive := []string{"kill 12", "restart" + opensm}
	for _, c := range []struct {
		name    string
		unit    string // "" for one that systemd does not know
		process string
		want    []string // commands that stop and start again
	}{
		{"a child of the unit's main process", "rig.service active static 10", "12 rig.service" + opensm, inactive},
		{"a unit without a main process", "cron.service active enabled 0", "12 cron.service" + opensm, inactive},
		{"a unit that has gone", "", "12 gone.service" + opensm, inactive},
		{"a unit of the site", "site-sm.service active enabled 12", "12 site-sm.service" + opensm,
			[]string{"systemctl disable --now site-sm.service", "systemctl enable --now site-sm.service"}},
		{"one that is not started at a boot", "site-sm.service active disabled 12", "12 site-sm.service" + opensm,
			[]string{"systemctl stop site-sm.service", "systemctl start site-sm.service"}},
		{"of systemd-run", "run-r7.service active transient 12", "12 run-r7.service" + opensm, inactive},
		{"ibsm, a child", "rig.service active enabled 10", "12 rig.service" + ibsm,
			[]string{"kill 12", "restart" + ibsm}},
		{"ibsm of the site", "site-sm.service active enabled 12", "12 site-sm.service" + ibsm,
			[]string{"systemctl disable --now site-sm.service", "systemctl enable --now site-sm.service"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			units := packages
			if c.unit != "" {
				units = append([]string{c.unit}, packages...)
			}
			h := host(config, units, []string{c.process})
			plan, next := h.To(), "ibsm.service"
			if strings.HasSuffix(c.process, ibsm) {
				plan, next = h.Back(), "opensm.service"
			}
			var got []string
			for _, s := range append(slices.Clone(plan.Steps), plan.Undo...) {
				command := strings.Join(s.Argv, " ")
				switch {
				case s.Kind == Restart:
					got = append(got, "restart "+command)
				case s.Kind == Run && !strings.HasSuffix(command, next):
					got = append(got, command)
				}
			}
			unit := strings.Fields(c.process)[1]
			noted := slices.ContainsFunc(plan.Notes, func(n string) bool {
				return strings.HasPrefix(n, "process 12 belongs to "+unit)
			})
			if !slices.Equal(got, c.want) || noted != strings.HasPrefix(got[0], "kill") {
				t.Errorf("%q, notes %q; want %q", got, plan.Notes, c.want)
			}
			if mentions := strings.Contains(strings.Join(h.Lines(), "\n"), "unit "+unit); mentions == noted {
				t.Errorf("among the units of managers: %v", h.Lines())
			}
		})
	}
}

// TestCacheDir: LIDs of absent hosts are where OpenSM's environment says; ibsm would look elsewhere.
func TestCacheDir(t *testing.T) {
	h := host(map[string]string{"etc/opensm/opensm.conf": ""}, rhelUnits, []string{rhelRuns})
	for dir, want := range map[string]int{"/var/cache/opensm/": 0, "/srv/opensm": 1} {
		h.Processes[0].Env = []string{"OSM_CACHE_DIR=" + dir}
		if p := h.To(); len(p.Changes) != want {
			t.Errorf("%s: %q", dir, p.Changes)
		}
	}
}

// TestPortNames: PORTS and GUIDS may have devices and interfaces for ibsm. One that does not exist is named; OpenSM,
// which takes only GUIDs, is not started with one.
func TestPortNames(t *testing.T) {
	config := func(ports string) map[string]string {
		return map[string]string{"etc/default/opensm": "# ports\nPORTS='" + ports + "'\n", "etc/opensm/opensm.conf": ""}
	}
	for _, name := range []string{"ib0", "mlx5_0:1"} {
		got := lines(host(config(name), debianUnits, []string{debianRuns}).To())
		if want := "do compare ibsm --dry-run --json --guid=" + name; !slices.Contains(got, want) {
			t.Errorf("no %q in %q", want, got)
		}
	}
	refused(t, host(config("ib0 ib7"), debianUnits, []string{debianRuns}).To(),
		"/etc/default/opensm:2: no device or interface ib7: there are mlx5_0:1 (ib0)")
	units, runs := []string{"opensm.service inactive disabled 0", "ibsm.service active enabled 20"},
		[]string{"20 ibsm.service ibsm --launch"}
	refused(t, host(config("ib0 ib7"), units, runs).Back(),
		"/etc/default/opensm:2: OpenSM accepts GUIDs, but no device or interface such as ib0: write "+port1,
		"/etc/default/opensm:2: OpenSM accepts GUIDs, but no device or interface such as ib7: write its GUID")
	refused(t, host(map[string]string{"etc/opensm/opensm.conf": "guid ib0\n"}, units, runs).Back(),
		"/etc/opensm/opensm.conf:1:6: OpenSM accepts GUIDs, but no device or interface such as ib0: write "+port1)
}

// TestToRefused: what a host lacks is named, and every reason.
func TestToRefused(t *testing.T) {
	config := map[string]string{"etc/default/opensm": "PORTS=" + port2 + "\n", "etc/opensm/opensm.conf": ""}
	refused(t, host(nil, []string{"opensm.service inactive enabled 0"}, nil).To(), "ibsm.service is not installed",
		"OpenSM does not run")
	refused(t, host(config, debianUnits[:2], []string{debianRuns}).To(), "ibsm.service is not installed",
		"ibsm.service would start no manager on port "+port1)
	own := map[string]string{"etc/opensm/opensm.conf": "", "etc/ibsm/ibsm.toml": "[sa]\ndb_dump = true\n"}
	refused(t, host(own, rhelUnits, []string{rhelRuns}).To(),
		"ibsm reads /etc/ibsm/ibsm.toml instead of /etc/opensm/opensm.conf: add to it sa.db_file (sa_db_file) /var/log/opensm-sa.dump, quirks.no_reregister")
	refused(t, host(own, rhelUnits, []string{"20 ibsm.service ibsm --launch"}).Back(), "ibsm reads /etc/ibsm/ibsm.toml")
	refused(t, host(config, debianUnits, []string{"20 ibsm.service /usr/sbin/ibsm --launch"}).To(),
		"ibsm runs already (process 20)", "OpenSM does not run")
}

func refused(t *testing.T, p Plan, why ...string) {
	t.Helper()
	if !slices.EqualFunc(p.Refused, why, strings.HasPrefix) {
		t.Errorf("refused %q, want %q", p.Refused, why)
	}
}

func TestBack(t *testing.T) {
	units := []string{"opensm.service inactive disabled 0", "ibsm.service active enabled 20"}
	runs := []string{"20 ibsm.service ibsm --launch"}
	set := strings.ReplaceAll(wantedLines, ";", "\n")
	ends := []string{"do gone ", "do dumped /var/log/opensm-sa.dump", "do run systemctl enable --now opensm.service",
		"do up /var/log/opensm-subnet.lst", "do same /var/log/opensm-subnet.lst"}
	undo := []string{"undo run systemctl disable --now opensm.service", "undo run systemctl enable --now ibsm.service"}
	for _, c := range []struct {
		name  string
		files map[string]string
		units []string
		runs  []string
		want  []string
	}{
		{"as migrate to has left it",
			map[string]string{"etc/opensm/opensm.conf": set, "etc/default/opensm": "PORTS=ALL\n"}, units, runs,
			slices.Concat([]string{"do run systemctl disable --now ibsm.service"}, ends, undo)},
		{"a host where OpenSM has never run",
			map[string]string{"etc/default/opensm": "PORTS=ALL\n", "etc/opensm/partitions.conf": ""}, units, runs,
			slices.Concat([]string{"do edit /etc/opensm/opensm.conf: " + wantedLines, "do reload ibsmctl config reload",
				"do run systemctl disable --now ibsm.service"}, ends, undo)},
		{"several managers", map[string]string{"etc/opensm/opensm.conf": set, "etc/default/opensm": "PORTS='" + port1 +
			" " + port2 + "'\n"}, units, runs, slices.Concat([]string{
			"note: several OpenSM processes write /var/log/opensm-sa.dump, and only the last writer's registrations remain: registrations are not carried over. " + again,
			"do edit /etc/opensm/opensm.conf: # " + strings.ReplaceAll(strings.TrimSuffix(wantedLines, ";"), ";",
				";# ") + ";", "do run systemctl disable --now ibsm.service", "do gone "},
			ends[2:], undo)},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := lines(host(c.files, c.units, c.runs).Back()); !slices.Equal(got, c.want) {
				t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(c.want, "\n"))
			}
		})
	}
	refused(t, host(nil, units[1:], runs).Back(), "OpenSM's package is not installed")
	names := map[string]string{"etc/opensm/opensm.conf": set,
		"etc/opensm/partitions.conf": "Default=0x7fff: ALL=full;\nA=1: SELF=full,\n  rack1-*;\n"}
	refused(t, host(names, units, runs).Back(),
		"/etc/opensm/partitions.conf has lines that OpenSM does not accept, such as line 3")
	refused(t, host(nil, units, []string{debianRuns}).Back(), "OpenSM runs already (process 12)", "ibsm does not run")
}

// TestParseUnits: what systemctl show prints, here of systemd 252 with Debian's package; a unit of which there is
// nothing is not-found.
func TestParseUnits(t *testing.T) {
	const shown = "Id=opensm.service\nLoadState=loaded\nActiveState=active\nUnitFileState=enabled\nMainPID=0\n\n" +
		"MainPID=12\nId=opensm@" + port1 + ".service\nLoadState=loaded\nActiveState=active\nUnitFileState=\n\n" +
		"Id=opensmd.service\nLoadState=not-found\nActiveState=inactive\nUnitFileState=\nMainPID=0\n"
	want := []Unit{{"opensm.service", "loaded", "active", "enabled", 0},
		{"opensm@" + port1 + ".service", "loaded", "active", "", 12},
		{"opensmd.service", "not-found", "inactive", "", 0}}
	if got := ParseUnits(shown); !slices.Equal(got, want) {
		t.Errorf("got %+v", got)
	}
	for group, unit := range map[string]string{
		"0::/system.slice/system-opensm.slice/opensm@" + port1 + ".service\n": "opensm@" + port1 + ".service",
		"0::/system.slice/opensm.service\n":                                   "opensm.service",
		"4:cpu:/\n1:name=systemd:/system.slice/opensm.service\n":              "opensm.service",
		"0::/user.slice/user-0.slice/session-3.scope\n":                       "",
		"0::/user.slice/user-0.slice/user@0.service/app.slice/x.service\n":    "",
		"": "",
	} {
		if got := UnitOf(group); got != unit {
			t.Errorf("%q: %q", group, got)
		}
	}
}

// TestUnitOfParent: where the control group says nothing, a process is of the unit whose main process it is, or is
// among its parents.
func TestUnitOfParent(t *testing.T) {
	h := host(nil, rhelUnits, []string{"12 - opensm"})
	h.Processes[0].Parents = []int{11, 10}
	if h.assignUnits(); h.Processes[0].Unit != "opensm.service" {
		t.Errorf("unit %q", h.Processes[0].Unit)
	}
}

// TestCompare: what is lost is named; what has come since is no loss.
func TestCompare(t *testing.T) {
	file := func(mlid, member, more string) Registrations {
		reg, found := sadb.Read("f",
			[]byte("MC Group "+mlid+
				" : mgid=0xff12401bffff0000:0x00000000ffffffff port_gid=0xfe80000000000000:0x1 qkey=0x00000b1b mlid="+
				mlid+
				" mtu=0x84 tclass=0x00 pkey=0xffff rate=0x83 pkt_life=0x92 sl_flow_hop=0x00000000 scope_state=0x21 proxy_join=0x0\n\n"+
				"mcm_port: port_gid=0xfe80000000000000:"+member+" scope_state=0x21 proxy_join=0x0\n\n"+more))
		if found != nil {
			t.Fatal(found)
		}
		return Of(reg)
	}
	before := file("0xc000", port1, "")
	if before.String() != "1 group, 1 member, 0 services" {
		t.Errorf("%v", before)
	}
	more := file("0xc000", port1, "mcm_port: port_gid=0xfe80000000000000:"+port2+" scope_state=0x21 proxy_join=0x0\n\n")
	if lost := before.Lost(more); lost != nil {
		t.Errorf("lost %q", lost)
	}
	if lost := more.Lost(before); len(lost) != 1 || !strings.HasSuffix(lost[0], "is missing") {
		t.Errorf("lost %q", lost)
	}
	if lost := before.Lost(file("0xc001", port1, "")); len(lost) != 1 ||
		!strings.Contains(lost[0], "has MLID 0xc001 instead of MLID 0xc000") {
		t.Errorf("lost %q", lost)
	}
	both := file("0xc001", port1, "") // the same group in two subnets of a host
	both.Add(before)
	if both.Add(before); len(both.Lost(before)) != 1 || both.Count("group") != 1 ||
		!strings.Contains(both.Lost(before)[0], "instead of MLID 0xc000, MLID 0xc001") {
		t.Errorf("of two subnets: %v", both.Lost(before))
	}
	if moved := (LIDs{port1: 3, port2: 4}).Moved(LIDs{port1: 5}); len(moved) != 1 || moved[0] != "port "+port1+
		" has LID 5 instead of 3" {
		t.Errorf("moved %q", moved)
	}
}

// TestParse: opensm-subnet.lst of OpenSM 3.3.23, and what saquery -m prints on a fabric and, cut off, on ibsim.
func TestParse(t *testing.T) {
	const subnet = "{ SW Ports:04 SystemGUID:b83fd20300400000 NodeGUID:b83fd20300400000 PortGUID:b83fd20300400000 VenID:0002C9 DevID:D2F0 Rev:00000000 {leaf-01} LID:0002 PN:01 } " +
		"{ CA-SM Ports:01 SystemGUID:b83fd20300a00000 NodeGUID:b83fd20300a00000 PortGUID:b83fd20300a00000 VenID:000002C9 DevID:101B0000 Rev:00000000 {host-01 mlx5_0} LID:001A PN:01 } PHY=4x LOG=ACT SPD=50\n"
	if l := ParseSubnet([]byte(subnet)); len(l) != 2 || l["0xb83fd20300400000"] != 2 || l[port1] != mad.LID(26) {
		t.Errorf("LIDs %v", l)
	}
	member := func(mgid, port string) string {
		return "MCMemberRecord member dump:\n\t\tMGID...................." + mgid +
			"\n\t\tMlid....................0xC000\n\t\tPortGid................." + port +
			"\n\t\tScopeState..............0x21\n"
	}
	one := member("ff12:401b:ffff::ffff:ffff", "fe80::b83f:d203:a0:20")
	got, whole := ParseMembers(one)
	if want := (Registrations{
		"member fe80:0000:0000:0000:b83f:d203:00a0:0020 of group ff12:401b:ffff:0000:0000:0000:ffff:ffff": "",
	}); !whole || len(want.Lost(got)) > 0 || len(got) != 1 {
		t.Errorf("members %v, %v", got, whole)
	}
	if got, whole := ParseMembers(one + member("::", "::")); whole || len(got) != 1 {
		t.Errorf("members %v, %v", got, whole)
	}
}

// TestSendOnly: a member that only sends is none of those that must stay, nor is its group. The texts are of OpenSM
// 3.3.23 and saquery with IPoIB of Linux 6.1, which joins so whatever it sends to.
func TestSendOnly(t *testing.T) {
	const receives = "member fe80:0000:0000:0000:0002:5500:ca00:0011 of group ff12:601b:ffff:0000:0000:0000:0000:0001"
	const answer = `MCMemberRecord member dump:
		MGID....................ff12:601b:ffff::1
		Mlid....................0xC001
		PortGid.................fe80::2:5500:ca00:11
		ScopeState..............0x1
		ProxyJoin...............0x0
		NodeDescription.........vhca node1 HCA-1
MCMemberRecord member dump:
		MGID....................ff12:601b:ffff::2
		Mlid....................0xC005
		PortGid.................fe80::2:5500:ca00:11
		ScopeState..............0x8
		ProxyJoin...............0x0
		NodeDescription.........vhca node1 HCA-1
`
	members, whole := ParseMembers(answer)
	if _, is := members[receives]; !is || len(members) != 1 || !whole {
		t.Errorf("saquery: %v, %v", members, whole)
	}
	const dump = `MC Group 0xc001 : mgid=0xff12601bffff0000:0x0000000000000001 port_gid=0xfe80000000000000:0x00025500ca000011 ` +
		`qkey=0x00000b1b mlid=0xc001 mtu=0x84 tclass=0x00 pkey=0xffff rate=0x83 pkt_life=0x80 sl_flow_hop=0x00000000 scope_state=0x01 proxy_join=0x0

mcm_port: port_gid=0xfe80000000000000:0x00025500ca000011 scope_state=0x01 proxy_join=0x0

MC Group 0xc005 : mgid=0xff12601bffff0000:0x0000000000000002 port_gid=0xfe80000000000000:0x00025500ca000011 ` +
		`qkey=0x00000b1b mlid=0xc005 mtu=0x84 tclass=0x00 pkey=0xffff rate=0x83 pkt_life=0x80 sl_flow_hop=0x00000000 scope_state=0x08 proxy_join=0x0

mcm_port: port_gid=0xfe80000000000000:0x00025500ca000011 scope_state=0x08 proxy_join=0x0

`
	reg, found := sadb.Read("f", []byte(dump))
	if r := Of(reg); found != nil || len(r.Members().Lost(members)) > 0 ||
		r.String() != "1 group, 1 member, 0 services" {
		t.Errorf("file: %v, %v", r, found)
	}
}

// TestWrote: a file that OpenSM leaves as it is, is the present state only if this process has written it, or has read
// at its start that it should.
func TestWrote(t *testing.T) {
	start := time.Unix(1000, 0)
	before, after := start.Add(-time.Minute), start.Add(time.Minute)
	for _, c := range []struct {
		conf         string
		dump, config time.Time
		want         bool
	}{
		{"sa_db_dump TRUE\n", before, before, true},
		{"sa_db_dump TRUE\n", before, after, false},
		{"", before, before, false},
		{"", after, before, true},
		{"sa_db_dump TRUE\n", time.Time{}, before, false},
	} {
		m := host(map[string]string{"etc/opensm/opensm.conf": c.conf}, nil, []string{"12 - opensm"}).Managers()[0]
		m.Started = start
		if got := m.Wrote(c.dump, c.config); got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
}
