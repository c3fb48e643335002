package main_test

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"ibsm/mad"
	"ibsm/mad/madtest"
	"ibsm/mad/sarec"
	"ibsm/registry"
	"ibsm/sim/fabric"
	"ibsm/topo/net/nettest"
)

// hostFolders are those in which OpenSM and ibsm have files, where nobody names others.
var hostFolders = []string{"/etc", "/var/log", "/var/cache", "/var/lib", "/run"}

// hostRoot is a host: programs that run there find its files at their own paths.
type hostRoot struct {
	t     *testing.T
	dir   string
	kept  string // folder of state store and caches in place of the usual ones; "" for these
	store string // state_dir in place of the usual one; "" for that
}

func newHostRoot(t *testing.T) hostRoot {
	t.Helper()
	madtest.Need(t, "unshare")
	if r := run(t, "", nil, "unshare", "-Urm", "mount", "-t", "tmpfs", "none", "/etc"); r.status != 0 {
		t.Skip("this system gives no mount namespace: " + r.stderr)
	}
	h := hostRoot{t: t, dir: t.TempDir()}
	for _, folder := range append([]string{"/var/lib/ibsm", "/run/ibsm", "/etc/opensm"}, hostFolders...) {
		if err := os.MkdirAll(h.path(folder), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return h
}

// path is where a file of the host is.
func (h hostRoot) path(name string) string { return filepath.Join(h.dir, name) }

func (h hostRoot) write(name, text string) {
	h.t.Helper()
	if err := os.MkdirAll(filepath.Dir(h.path(name)), 0o755); err != nil {
		h.t.Fatal(err)
	}
	if err := os.WriteFile(h.path(name), []byte(text), 0o644); err != nil {
		h.t.Fatal(err)
	}
}

// files are all files of OpenSM and ibsm, by their paths on the host.
func (h hostRoot) files() (names []string) {
	h.t.Helper()
	for _, folder := range hostFolders[1:] {
		err := filepath.WalkDir(h.path(folder), func(path string, d os.DirEntry, err error) error {
			if err == nil && !d.IsDir() {
				names = append(names, strings.TrimPrefix(path, h.dir))
			}
			return err
		})
		if err != nil {
			h.t.Fatal(err)
		}
	}
	return names
}

// command is a program that runs on the host.
func (h hostRoot) command(argv ...string) []string {
	var mounts strings.Builder
	for _, folder := range hostFolders {
		fmt.Fprintf(&mounts, "mount --bind %s %s && ", h.path(folder), folder)
	}
	return append([]string{"unshare", "-Urm", "sh", "-c", mounts.String() + `exec "$@"`, "sh"}, argv...)
}

// start starts a manager of the subnet on the host, with the files that a manager of a port has.
func (h hostRoot) start(w *testSubnet, argv ...string) {
	h.t.Helper()
	// On ibsim, which keeps nothing, ibsm has caches and a store only where they are asked for.
	env := []string{"IBSIM_SOCKNAME=" + w.socket, "SIM_HOST=" + w.hosts[0],
		"OSM_CACHE_DIR=" + cmp.Or(h.kept, "/var/cache/opensm")}
	if argv[0] == "opensm" {
		env, argv = env[:2], append([]string{"ibsim-run"}, argv...)
	}
	w.manager = start(h.t, nil, h.dir, env, h.command(argv...)...)
	h.t.Cleanup(w.manager.kill) // before the server of the subnet ends
}

// ups is how often the log of a port says that the subnet is up.
func (h hostRoot) ups(guid string) int {
	text, _ := os.ReadFile(h.path("/var/log/opensm." + guid + ".log"))
	return strings.Count(string(text), "SUBNET UP")
}

// swept waits for a sweep that something starts.
func (h hostRoot) swept(guid string, begin func()) {
	h.t.Helper()
	before := h.ups(guid)
	begin()
	eventually(h.t, "the log says SUBNET UP", func() bool { return h.ups(guid) > before })
}

// opensmAt starts OpenSM at a port as the unit opensm@GUID of Debian's package does.
func (h hostRoot) opensmAt(w *testSubnet, guid string) {
	h.t.Helper()
	h.swept(guid, func() { h.start(w, "opensm", "--guid", guid, "--log_file", "/var/log/opensm."+guid+".log") })
}

// ibsmAt starts ibsm at a port as the unit ibsm@GUID does.
func (h hostRoot) ibsmAt(w *testSubnet, guid string) {
	h.t.Helper()
	h.swept(guid, func() {
		h.start(w, program(h.t, "ibsm"), "--ibsim", "--instance", guid, "--state_dir",
			cmp.Or(h.kept, h.store, "/var/lib/ibsm"))
	})
}

// join has a client join the broadcast group.
func (w *testSubnet) join(client int) {
	w.t.Helper()
	p := request(mad.MethodSet, sarec.AttrMCMemberRecord, sarec.MCMemberMGID|sarec.MCMemberPortGID|
		sarec.MCMemberJoinState)
	rec := (*sarec.MCMemberRecord)(p.SAData()[:56])
	rec.SetMGID(registry.BroadcastMGID(mad.DefaultPKey, 2))
	rec.SetPortGID(w.clientGIDs()[client])
	rec.SetJoinState(1)
	if a := w.register(question{client, p}); a.Status() != mad.StatusOK {
		w.t.Fatalf("host %d cannot join: %s", client, inWords(a))
	}
}

// allLIDs are the LIDs of hosts, by their numbers.
func (w *testSubnet) allLIDs() (lids []mad.LID) {
	for _, end := range w.ends {
		lids = append(lids, w.lid(end))
	}
	return lids
}

// power turns a host off or on. One that comes back has forgotten its LID.
func (w *testSubnet) power(host int, on bool) {
	w.t.Helper()
	w.server.Do(func(f *fabric.Fabric) {
		if on {
			f.NodeUp(w.ends[host].Node)
		} else {
			f.NodeDown(w.ends[host].Node)
		}
	})
	if on {
		eventually(w.t, fmt.Sprintf("host %d has a LID", host), func() bool {
			lid := w.lid(w.ends[host])
			return lid != 0 && lid <= mad.MaxUnicastLID
		})
	}
}

// withRegistrations are settings by which registrations go from one manager to the next.
const withRegistrations = "sa_db_dump TRUE\nsa_db_file /var/log/opensm-sa.dump\nforce_log_flush TRUE\n"

// TestThereAndBack: from the unit opensm@GUID to ibsm@GUID and back, with the paths that both have. A
// host that is absent while ibsm is master keeps its LID, and one that OpenSM has never seen keeps
// that which ibsm gave it: OpenSM reads what ibsm wrote, guid2lid and opensm-sa.dump. So do
// members, and nobody is asked to register again.
func TestThereAndBack(t *testing.T) {
	t.Parallel()
	const spec = "fattree:k=4,levels=2"
	guid := hostPorts(t, spec)[0]
	h, w := newHostRoot(t), newTestSubnet(t, nettest.Generate(t, spec))
	h.write("/etc/default/opensm", "PORTS="+guid+"\n")
	h.write("/etc/opensm/opensm.conf", withRegistrations+"no_clients_rereg TRUE\n")
	h.write("/etc/opensm/partitions.conf", "Default=0x7fff, ipoib : ALL=full ;\n")
	const absent, unknown = 3, 4
	w.power(unknown, false)
	h.opensmAt(w, guid)
	w.join(0)
	w.join(1)
	first := w.allLIDs()
	w.power(absent, false)
	h.swept(guid, func() { w.manager.signal(syscall.SIGHUP) })
	w.manager.stop()
	w.reregister()

	h.ibsmAt(w, guid)
	w.power(unknown, true)
	given := w.lid(w.ends[unknown])
	if given == first[absent] {
		t.Errorf("a host that is new has LID %d of one that is absent", given)
	}
	w.join(2)
	w.power(absent, true)
	w.manager.stop()
	w.power(absent, false)
	w.power(unknown, false)

	h.opensmAt(w, guid)
	if asked := w.reregister(); asked {
		t.Error("hosts are asked to register again")
	}
	w.power(unknown, true)
	w.power(absent, true)
	first[unknown] = given
	if last := w.allLIDs(); !slices.Equal(last, first) {
		t.Errorf("LIDs %v, before %v", last, first)
	}
	w.join(3)
	w.manager.stop()
	text, err := os.ReadFile(h.path("/var/log/opensm-sa.dump"))
	if err != nil || strings.Count(string(text), "mcm_port:") != 4 {
		t.Errorf("OpenSM has not the four members, but\n%s", text)
	}
	if folders, _ := filepath.Glob(h.path("/var/*/opensm/0x*")); len(folders) > 0 {
		t.Errorf("the only manager has folders of its own: %v", folders)
	}
}

// TestSecondManager: a host gets a second manager, and has one again, without a store: no absent host
// loses its LID, for files of both times are read.
func TestSecondManager(t *testing.T) {
	t.Parallel()
	const spec = "fattree:k=4,levels=2"
	guid := hostPorts(t, spec)[0]
	h, w := newHostRoot(t), newTestSubnet(t, nettest.Generate(t, spec))
	h.store = "none"
	h.write("/etc/default/opensm", "PORTS="+guid+"\n")
	h.ibsmAt(w, guid)
	lids := w.allLIDs()
	const first, second = 1, 4
	for _, ports := range []string{guid + " 0x1", guid} {
		w.manager.stop()
		w.power(first, false)
		w.power(second, false)
		h.write("/etc/default/opensm", fmt.Sprintf("PORTS=%q\n", ports))
		h.ibsmAt(w, guid)
		w.power(second, true) // which would have the lower LID of the first, if that were free
		w.power(first, true)
		if now := w.allLIDs(); !slices.Equal(now, lids) {
			t.Errorf("with PORTS=%q LIDs %v, at first %v", ports, now, lids)
		}
	}
}

// twoSubnets are two fabrics of one kind with GUIDs of their own, and a host with a port in
// each.
func twoSubnets(t *testing.T, spec string, lids bool) (h hostRoot, subnets []*testSubnet, guids []string) {
	t.Helper()
	h = newHostRoot(t)
	for i := range 2 {
		n := nettest.Generate(t, spec)
		shift := mad.GUID(i) << 32
		for j := range n.Nodes {
			node := &n.Nodes[j]
			node.GUID, node.SystemImageGUID = node.GUID+shift, node.SystemImageGUID+shift
			for k := range node.Ports {
				if node.Ports[k].GUID != 0 {
					node.Ports[k].GUID += shift
				}
			}
			port := &node.Ports[0]
			if node.Type == mad.CA {
				port = &node.Ports[1]
			}
			if lids {
				port.LID = mad.LID(j + 1)
			}
		}
		w := newTestSubnet(t, n)
		w.server.Do(func(f *fabric.Fabric) {
			for at := range f.EndPorts() {
				if f.NodeType(at.Node) == mad.CA {
					guids = append(guids, f.PortGUID(at).String())
					return
				}
			}
		})
		subnets = append(subnets, w)
	}
	h.write("/etc/default/opensm", fmt.Sprintf("PORTS=%q\n", strings.Join(guids, " ")))
	h.write("/etc/opensm/opensm.conf", withRegistrations)
	h.write("/etc/opensm/partitions.conf", "Default=0x7fff, ipoib : ALL=full ;\n")
	return h, subnets, guids
}

// both starts the managers of both ports at once, as the unit opensm does.
func (h hostRoot) both(subnets []*testSubnet, guids []string, start func(w *testSubnet, guid string)) {
	h.t.Helper()
	h.swept(guids[0], func() { h.swept(guids[1], func() { start(subnets[0], guids[0]); start(subnets[1], guids[1]) }) })
}

// TestTwoSubnetsThereAndBack: the same with two ports in two subnets, as OpenSM gives LIDs there: all its instances
// read and write one guid2lid, so that no LID is in use twice. ibsm keeps it so, and keeps that file for both. The one
// opensm-sa.dump is of one of the subnets: both programs ask hosts to register again.
func TestTwoSubnetsThereAndBack(t *testing.T) {
	t.Parallel()
	h, subnets, guids := twoSubnets(t, "fattree:k=4,levels=2", false)
	const absent, unknown = 3, 4
	var first [2][]mad.LID
	for i, w := range subnets { // one after the other: two that begin together do not see each other's LIDs
		w.power(unknown, false)
		h.opensmAt(w, guids[i])
		w.join(0)
		first[i] = w.allLIDs()
		w.power(absent, false)
		h.swept(guids[i], func() { w.manager.signal(syscall.SIGHUP) })
	}
	for _, w := range subnets {
		w.manager.stop()
	}

	for i, w := range subnets {
		w.reregister()
		h.ibsmAt(w, guids[i])
		if !w.reregister() {
			t.Errorf("ibsm does not ask the hosts of subnet %d to register again", i)
		}
		w.join(0)
		w.power(unknown, true)
	}
	given := map[mad.LID]string{}
	for i, w := range subnets {
		first[i][unknown] = w.lid(w.ends[unknown])
		for host, lid := range first[i] {
			if given[lid] != "" {
				t.Errorf("LID %d is that of host %d in subnet %d and %s", lid, host, i, given[lid])
			}
			given[lid] = fmt.Sprintf("of host %d in subnet %d", host, i)
		}
		w.join(1)
	}
	for i, w := range subnets {
		w.manager.stop()
		w.reregister()
		w.power(unknown, false)
		text, err := os.ReadFile(h.path("/var/log/opensm." + guids[i] + "/opensm-sa.dump"))
		if err != nil || strings.Count(string(text), "mcm_port:") != 2 {
			t.Errorf("subnet %d has not its two members, but %v\n%s", i, err, text)
		}
	}
	h.both(subnets, guids, func(w *testSubnet, guid string) {
		h.start(w, "opensm", "--guid", guid, "--log_file", "/var/log/opensm."+guid+".log")
	})
	for i, w := range subnets {
		if !w.reregister() {
			t.Errorf("hosts of subnet %d are not asked to register again", i)
		}
		w.power(unknown, true)
		w.power(absent, true)
		if last := w.allLIDs(); !slices.Equal(last, first[i]) {
			t.Errorf("LIDs of subnet %d are %v, before %v", i, last, first[i])
		}
	}
}

// TestEqualLIDsBack: where the same LIDs are in use in both subnets, as two managers give them that begin
// together, OpenSM moves no host: ibsm leaves these LIDs out of the guid2lid that both OpenSM read. With a
// record of one of the two, OpenSM would move the other.
func TestEqualLIDsBack(t *testing.T) {
	t.Parallel()
	h, subnets, guids := twoSubnets(t, "fattree:k=4,levels=2", true)
	var before [2][]mad.LID
	for i, w := range subnets { // without what the other knows
		h.kept = "/run/" + guids[i]
		h.ibsmAt(w, guids[i])
		before[i] = w.allLIDs()
		w.manager.stop()
	}
	h.kept = ""
	for i, w := range subnets {
		h.ibsmAt(w, guids[i])
		if last := w.allLIDs(); !slices.Equal(last, before[i]) {
			t.Errorf("LIDs of subnet %d are %v, before %v", i, last, before[i])
		}
	}
	if !slices.Equal(before[0], before[1]) {
		t.Fatalf("LIDs %v and %v: this test is about equal ones", before[0], before[1])
	}
	for _, w := range subnets {
		w.manager.stop()
	}
	left, err := os.ReadFile(h.path("/var/cache/opensm/guid2lid"))
	if err != nil {
		t.Fatal(err)
	}
	// each as if both began at once: the first one to write would leave its LIDs to the other
	for i, w := range subnets {
		h.write("/var/cache/opensm/guid2lid", string(left))
		h.opensmAt(w, guids[i])
		if last := w.allLIDs(); !slices.Equal(last, before[i]) {
			t.Errorf("LIDs of subnet %d are %v, before %v", i, last, before[i])
		}
		w.manager.stop()
	}
}

// fileTable is the table of files in docs/opensm.md: the paths of each column, of files that are
// there in any case after a sweep as master, and of further ones.
type fileTable struct{ always, further [3]map[string]bool } // the only manager, each of several, OpenSM

var documentedPath = regexp.MustCompile("`(/(?:var|run)/[^`]*)`")

// documentedFiles reads the table. GUID and NAME stand for the port.
func documentedFiles(t *testing.T, guid string) (table fileTable) {
	t.Helper()
	text, err := os.ReadFile("../../docs/opensm.md")
	if err != nil {
		t.Fatal(err)
	}
	for i := range table.always {
		table.always[i], table.further[i] = map[string]bool{}, map[string]bool{}
	}
	_, rows, found := strings.Cut(string(text), "| file | the only manager | each of several | OpenSM |")
	for row := range strings.Lines(rows) {
		cells := strings.Split(row, "|")
		if len(cells) < 8 {
			if strings.TrimSpace(row) == "" && len(table.always[0]) > 0 {
				break
			}
			continue
		}
		paths := [3][]string{}
		for i := range paths {
			for _, m := range documentedPath.FindAllStringSubmatch(cells[2+i], -1) {
				paths[i] = append(paths[i], m[1])
			}
		}
		switch several := strings.TrimSpace(cells[3]); {
		case strings.HasPrefix(several, "the same in"):
			folder := paths[1][0]
			paths[1] = nil
			for _, p := range paths[0] {
				paths[1] = append(paths[1], folder+filepath.Base(p))
			}
		case strings.HasPrefix(several, "the same"):
			paths[1] = paths[0]
		case strings.HasSuffix(several, "and OpenSM's"):
			paths[1] = append(paths[1], paths[2]...)
		}
		written := cells[6]
		for i := range paths {
			to := table.further[i]
			if strings.Contains(written, "both") || i < 2 && strings.Contains(written, "ibsm") {
				if len(paths[i]) == 1 || i == 1 {
					to = table.always[i]
				}
			}
			if strings.Contains(written, " if ") {
				to = table.further[i]
			}
			for _, p := range paths[i] {
				to[strings.NewReplacer("GUID", guid, "NAME", guid).Replace(p)] = true
			}
		}
	}
	if !found || len(table.always[0]) < 10 {
		t.Fatalf("the table in docs/opensm.md has %d files", len(table.always[0]))
	}
	return table
}

// check compares the files of a host with a column of the table, but for logs, which another table has.
func (table *fileTable) check(h hostRoot, who string, column int) {
	h.t.Helper()
	for _, name := range h.files() {
		if !table.always[column][name] && !table.further[column][name] && !strings.HasSuffix(name, ".log") {
			h.t.Errorf("%s has the file %s, which docs/opensm.md does not have", who, name)
		}
	}
	for _, name := range table.missing(h, column) {
		h.t.Errorf("%s has no %s, which docs/opensm.md has", who, name)
	}
}

// missing are the files that a column of the table has and the host not.
func (table *fileTable) missing(h hostRoot, column int) []string {
	h.t.Helper()
	missing := maps.Clone(table.always[column])
	for _, name := range h.files() {
		delete(missing, name)
	}
	return slices.Sorted(maps.Keys(missing))
}

// await waits until the host has the files of a column. A manager that ends writes no dump which it has not begun.
func (table *fileTable) await(h hostRoot, who string, column int) {
	h.t.Helper()
	eventually(h.t, who+" has its files", func() bool { return len(table.missing(h, column)) == 0 })
}

// TestDocumentedFiles: the table of files in docs/opensm.md has the files that OpenSM and ibsm write, as the only
// manager of a host and as one of several.
func TestDocumentedFiles(t *testing.T) {
	t.Parallel()
	const everything = withRegistrations + "log_flags 0x43\n"
	t.Run("only", func(t *testing.T) {
		t.Parallel()
		const spec = "fattree:k=4,levels=2"
		guid := hostPorts(t, spec)[0]
		table := documentedFiles(t, guid)
		for who, column := range map[string]int{"OpenSM": 2, "ibsm": 0} {
			h, w := newHostRoot(t), newTestSubnet(t, nettest.Generate(t, spec))
			h.write("/etc/default/opensm", "PORTS="+guid+"\n")
			h.write("/etc/opensm/opensm.conf", everything)
			h.write("/etc/opensm/partitions.conf", "Default=0x7fff, ipoib : ALL=full ;\n")
			if who == "OpenSM" {
				h.opensmAt(w, guid)
			} else {
				h.ibsmAt(w, guid)
			}
			w.join(0)
			h.swept(guid, func() { w.manager.signal(syscall.SIGHUP) })
			socket := h.path("/run/ibsm/" + guid + ".sock")
			if _, err := os.Lstat(socket); (err == nil) != (who == "ibsm") {
				t.Errorf("%s: control socket: %v", who, err)
			}
			table.await(h, who, column)
			w.manager.stop()
			delete(table.always[0], "/run/ibsm/"+guid+".sock") // which is gone now
			table.check(h, who, column)
		}
	})
	t.Run("several", func(t *testing.T) {
		t.Parallel()
		h, subnets, guids := twoSubnets(t, "fattree:k=4,levels=2", false)
		h.write("/etc/opensm/opensm.conf", everything)
		table := documentedFiles(t, guids[0])
		second := documentedFiles(t, guids[1])
		maps.Copy(table.always[1], second.always[1])
		maps.Copy(table.further[1], second.further[1])
		for i, w := range subnets {
			h.ibsmAt(w, guids[i])
			w.join(0)
			h.swept(guids[i], func() { w.manager.signal(syscall.SIGHUP) })
		}
		table.await(h, "ibsm", 1)
		for i, w := range subnets {
			w.manager.stop()
			delete(table.always[1], "/run/ibsm/"+guids[i]+".sock")
		}
		table.check(h, "ibsm, as one of several,", 1)
	})
}
