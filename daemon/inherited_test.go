package daemon

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"ibsm/conf"
	"ibsm/conf/policyfile"
	"ibsm/ctl"
	"ibsm/ctl/server"
	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/manager"
	osmlog "ibsm/opensm/log"
	"ibsm/partitions"
	"ibsm/perf/sick"
	"ibsm/sa/mirror"
	"ibsm/store"
	"ibsm/sweep/routes"
)

// fixture is the configuration of a manager with its files and its store, and what was
// shown of it.
type fixture struct {
	*configuration
	t      *testing.T
	dir    string
	log    logBuffer
	state  *state
	policy *ctl.MirroredSettings
	keys   atomic.Pointer[server.Keys] // shown last; nil before the first
	sent   manager.Config              // last
}

// logBuffer is a log that is read while it is written.
type logBuffer struct {
	mutex sync.Mutex
	text  bytes.Buffer
}

func (b *logBuffer) Write(p []byte) (int, error) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	return b.text.Write(p)
}

func (b *logBuffer) Reset() {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	b.text.Reset()
}

func (b *logBuffer) String() string {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	return b.text.String()
}

// newFixture is the one of a manager with settings in a file and partitions in another.
func newFixture(t *testing.T, settings, parts string) *fixture {
	t.Helper()
	o := &fixture{t: t, dir: t.TempDir()}
	o.write("opensm.conf", settings)
	o.write("partitions.conf", parts)
	l := conf.Load([]string{"-F", filepath.Join(o.dir, "opensm.conf"), "-P", filepath.Join(o.dir, "partitions.conf"),
		"--state_dir", o.dir}, Environment)
	logger := slog.New(slog.NewTextHandler(&o.log, nil))
	stored, _, err := store.Open(store.Config{Path: filepath.Join(keptDir(l), mad.GUID(7).String(), storeFile),
		Prefix: mad.DefaultPrefix, Port: 7})
	if err != nil {
		t.Fatal(err)
	}
	o.state = newState(l, logger, func(string, error) {})
	o.state.store.Store(stored)
	o.configuration = newConfiguration(l, nil, logger, osmlog.NewHandler(io.Discard, osmlog.Options{}), &logOutput{},
		o.state, func(r server.Settings) {
			o.policy = r.Mirrored
			o.keys.Store(&r.Keys)
		}, func(sickRules) []ctl.Finding { return nil }, func(*sick.Saved) {})
	var ts tasks
	ts.atEnd(func() { stored.Close() })
	ts.run(context.Background(), o.run)
	t.Cleanup(ts.end)
	o.again()
	return o
}

// again begins as after a restart.
func (o *fixture) again() {
	o.t.Helper()
	var err error
	if o.sent, err = o.begin(7, nil); err != nil {
		o.t.Fatal(err)
	}
}

func (o *fixture) write(name, text string) {
	o.t.Helper()
	if err := os.WriteFile(filepath.Join(o.dir, name), []byte(text), 0o600); err != nil {
		o.t.Fatal(err)
	}
}

// hears takes another manager's policy, as that sends it.
func (o *fixture) hears(policy []byte) {
	o.mirrored(9, policy)
	o.take()
}

// take has the manager take what was sent.
func (o *fixture) take() {
	select {
	case o.sent = <-o.configs:
	default:
	}
}

// must holds what counts.
func (o *fixture) must(when string, lmc uint64, key uint16, differ ...string) {
	o.t.Helper()
	given := o.sent.Sweep.Settings.LMC
	if uint64(given.Value) != lmc || given.Given != (lmc != 0) {
		o.t.Errorf("%s: LMC %+v, want %d", when, given, lmc)
	}
	var keys []string
	for _, p := range o.sent.Sweep.Partitions.Policy.Partitions {
		keys = append(keys, fmt.Sprint(uint16(p.Key)))
	}
	if !slices.Contains(keys, fmt.Sprint(key)) {
		o.t.Errorf("%s: partitions %q, want %d among them", when, keys, key)
	}
	switch {
	case (o.policy != nil) != (differ != nil):
		o.t.Errorf("%s: %+v is shown", when, o.policy)
	case differ != nil && !slices.Equal(o.policy.Differ, differ):
		o.t.Errorf("%s: %q are shown to differ, want %q", when, o.policy.Differ, differ)
	}
}

func (o *fixture) mustSay(want string) {
	o.t.Helper()
	if !strings.Contains(o.log.String(), want) {
		o.t.Errorf("the log does not say %q:\n%s", want, o.log.String())
	}
	o.log.Reset()
}

const (
	masterSettings = "lmc 1\nsm_priority 9\n"
	masterParts    = "a=0x0001 : ALL=full;\n"
	ownSettings    = "sm_priority 3\npart_enforce out\n"
	ownParts       = "b=0x0002 : ALL=full;\n"
)

// TestRoutesRecordFollows: a standby has the master's record of routes, keeps it, and sends it on; its own computation
// replaces it. A version without records reads the number of M_Keys beside it.
func TestRoutesRecordFollows(t *testing.T) {
	tree, other := routes.Record{Engine: "tree", Sum: 5}, routes.Record{Engine: "dfsssp", Sum: 6}
	must := func(when string, o *fixture, want routes.Record) {
		t.Helper()
		p, err := decodePolicy(o.sent.Registrar.Mirror.Policy)
		if err != nil || p.routes != want || o.sent.Sweep.Routes != want || o.state.routes() != want {
			t.Errorf("%s: %v; standbys get %+v, the manager %v, kept is %v", when, err, p, o.sent.Sweep.Routes,
				o.state.routes())
		}
	}
	master, standby := newFixture(t, masterSettings, masterParts), newFixture(t, masterSettings, masterParts)
	computed := func(o *fixture, r routes.Record) {
		o.state.put((&manager.Persist{Routes: &r}).Batch()) // as the manager does
		o.routed(r)
		o.take()
	}
	master.entered(smp.Master)
	computed(master, tree)
	must("as master", master, tree)
	if !master.sent.Unchanged {
		t.Error("a sweep follows although nothing has changed but the record")
	}
	if master.routed(tree); len(master.configs) > 0 {
		t.Error("the same record is sent again")
	}
	standby.hears(master.sent.Registrar.Mirror.Policy)
	must("as standby", standby, tree)
	before := standby.log.String()
	computed(master, other)
	standby.hears(master.sent.Registrar.Mirror.Policy)
	must("later", standby, other)
	if got := standby.log.String(); got != before {
		t.Errorf("the log says %q after %q", got, before)
	}
	standby.again()
	must("started again", standby, other)
	standby.entered(smp.Master)
	computed(standby, tree)
	must("after a takeover", standby, tree)
	computed(standby, routes.Record{})
	must("of an engine that was chosen", standby, routes.Record{})
	standby.entered(smp.Standby)
	standby.hears(master.sent.Registrar.Mirror.Policy) // as before it was master
	must("as standby again", standby, other)

	p := policyText{mkeys: mkeyNumber{3, 4}, routes: tree}
	for _, p := range []policyText{{of: 1, routes: tree}, {of: 1, mkeys: mkeyNumber{3, 4}}, p} {
		if got, err := decodePolicy(p.encode()); err != nil || got.mkeys != p.mkeys || got.routes != p.routes {
			t.Errorf("%+v is read as %+v, %v", p, got, err)
		}
	}
}

// TestInherit: a standby has the master's partitions and settings, all else stays its own;
// as master it keeps them until its own files are read again.
func TestInherit(t *testing.T) {
	master := newFixture(t, masterSettings, masterParts)
	policy := master.sent.Registrar.Mirror.Policy
	o := newFixture(t, ownSettings, ownParts)
	o.must("at first", 0, 2)
	o.hears(policy)
	o.must("as standby", 1, 1, "lmc", "part_enforce", "partition_config_file")
	o.mustSay("own files differ from the master's")
	if o.sent.Elect.Priority != 3 || !bytes.Equal(o.sent.Registrar.Mirror.Policy, policy) {
		t.Errorf("priority %d, sent to standbys %q", o.sent.Elect.Priority, o.sent.Registrar.Mirror.Policy)
	}
	o.log.Reset()
	o.hears(policy)
	if o.log.String() != "" {
		t.Errorf("what is known is logged again: %s", o.log.String())
	}

	o.write("opensm.conf", ownSettings+"sm_priority 4\n")
	o.reload(true)
	o.take()
	o.must("read again as standby", 1, 1, "lmc", "part_enforce", "partition_config_file")
	o.entered(smp.Master)
	o.mustSay("uses the partitions and settings of the previous master")
	o.reload(false) // SIGCONT
	o.take()
	o.must("as master", 1, 1, "lmc", "part_enforce", "partition_config_file")

	o.write("partitions.conf", "broken=")
	o.reload(true)
	o.take()
	o.must("read again with an error", 1, 1, "lmc", "part_enforce", "partition_config_file")
	o.mustSay("of the previous master stay in force")
	o.write("partitions.conf", ownParts)
	o.reload(true)
	o.take()
	o.must("read again", 0, 2)
	o.mustSay("from now on this manager uses its own files")
}

// TestInheritAgreeing: files that mean what the master's do raise no alarm, and when they are
// made so the alarm ends.
func TestInheritAgreeing(t *testing.T) {
	master := newFixture(t, masterSettings, masterParts)
	o := newFixture(t, "lmc 1\n", ownParts)
	o.hears(master.sent.Registrar.Mirror.Policy)
	o.must("other partitions", 1, 1, "partition_config_file")
	o.log.Reset()
	o.write("partitions.conf", "# as at the master\n"+masterParts)
	o.reload(true)
	o.take()
	o.must("the same", 1, 1, []string{}...)
	o.mustSay("own files are identical to the master's")
}

// TestInheritPartitionsApplied: an operator who applies this manager's own partitions at a new master
// has them, with the settings of the master before.
func TestInheritPartitionsApplied(t *testing.T) {
	master := newFixture(t, masterSettings, masterParts)
	o := newFixture(t, ownSettings, ownParts)
	o.hears(master.sent.Registrar.Mirror.Policy)
	o.entered(smp.Master)
	o.applyPartitions(false)
	o.take()
	o.must("applied", 1, 2, "lmc", "part_enforce")
	next := newFixture(t, ownSettings, masterParts)
	next.hears(o.sent.Registrar.Mirror.Policy)
	next.must("a standby of it", 1, 2, "lmc", "part_enforce", "partition_config_file")
	if next.current.Load().from.of != 7 {
		t.Errorf("that it has from %v", next.current.Load().from.of)
	}
}

// TestInheritNothing: where the master sends nothing that this manager can use, its
// own files count, and the log says so.
func TestInheritNothing(t *testing.T) {
	policy := newFixture(t, masterSettings, masterParts).sent.Registrar.Mirror.Policy
	for name, bad := range map[string][]byte{
		"nothing":           {},
		"no policy":         []byte("lmc 1\n"),
		"another version":   bytes.Replace(policy, []byte("policy 1"), []byte("policy 2"), 1),
		"cut off":           policy[:60],
		"a wrong setting":   bytes.Replace(policy, []byte("lmc = 1"), []byte("lmc = 9"), 1),
		"a wrong partition": append(slices.Clone(policy), "oops="...),
		"an unknown source": (&policyText{of: 9, source: 77}).encode(),
		"an unknown engine": (&policyText{of: 9, source: partitions.FromNothing,
			shared: []byte("[routing]\nengines = [\"maxhop\", \"no_fallback\"]\n")}).encode(),
	} {
		o := newFixture(t, ownSettings, ownParts)
		o.hears(policy)
		o.hears(bad)
		o.must(name, 0, 2)
		o.mustSay("after a failover this manager uses its own files")
	}
	o := newFixture(t, ownSettings, ownParts)
	o.hears(policy)
	o.foreignMaster(9)
	o.take()
	o.must("a master of another kind", 0, 2)
	o.mustSay("the master is not ibsm")
}

// TestOwnFilesAfterRestart: a manager that is started again uses its own files, also after it was
// killed with those of a master that it had mirrored.
func TestOwnFilesAfterRestart(t *testing.T) {
	policy := newFixture(t, masterSettings, masterParts).sent.Registrar.Mirror.Policy
	o := newFixture(t, ownSettings, ownParts)
	o.hears(policy)
	o.entered(smp.Master)
	o.must("before", 1, 1, "lmc", "part_enforce", "partition_config_file")
	contents := o.state.store.Load().Contents()
	next := newConfiguration(o.current.Load().own, nil, o.logger, osmlog.NewHandler(io.Discard, osmlog.Options{}),
		&logOutput{}, o.state, func(r server.Settings) {
			o.policy = r.Mirrored
			o.keys.Store(&r.Keys)
		}, func(sickRules) []ctl.Finding { return nil }, func(*sick.Saved) {})
	var ts tasks
	ts.run(context.Background(), next.run)
	defer ts.end()
	var err error
	if o.sent, err = next.begin(7, contents.Partitions); err != nil {
		t.Fatal(err)
	}
	o.must("after a kill", 0, 2)
}

// TestPolicyOfOtherVersion: a policy of another version is refused with both versions and what to do.
func TestPolicyOfOtherVersion(t *testing.T) {
	policy := newFixture(t, masterSettings, masterParts).sent.Registrar.Mirror.Policy
	_, err := newMasterPolicy(bytes.Replace(policy, []byte("policy 1"), []byte("policy 2"), 1))
	if want := "its version is 2 but this manager expects 1: run the same version of ibsm on all managers"; err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}

// TestInheritSources: a master without a partition file, or with a broken one, is followed
// in what it does then.
func TestInheritSources(t *testing.T) {
	for source, want := range map[partitions.Source]*partitions.Policy{
		partitions.FromNothing: nil, partitions.FromCaution: partitions.Closed(),
		partitions.FromFallback: partitions.Default(),
	} {
		from, err := newMasterPolicy((&policyText{of: 9, source: source}).encode())
		if err != nil {
			t.Fatal(err)
		}
		if got := from.chosen.ForTables(); (got == nil) != (want == nil) || got != nil &&
			len(got.Partitions[0].Members) != len(want.Partitions[0].Members) {
			t.Errorf("%v: %+v", source, got)
		}
	}
}

// TestPolicyTooLong: standbys get the largest partition file. One that is too long for them together with a QoS policy
// is logged once.
func TestPolicyTooLong(t *testing.T) {
	fill := func(text string, size int) string {
		const comment = "# a comment that makes it long\n"
		return text + strings.Repeat(comment, (size-len(text))/len(comment))
	}
	parts := fill(masterParts, partitions.MaxFile)
	if o := newFixture(t, masterSettings, parts); len(o.sent.Registrar.Mirror.Policy) > mirror.MaxPolicy ||
		strings.Contains(o.log.String(), "too long") {
		t.Errorf("the largest partition file: %s", o.log.String())
	}
	qosPolicy := filepath.Join(t.TempDir(), "qos-policy.conf")
	if err := os.WriteFile(qosPolicy, []byte(fill(goodQoS, policyfile.MaxFile)), 0o600); err != nil {
		t.Fatal(err)
	}
	o := newFixture(t, masterSettings+"qos TRUE\nqos_policy_file "+qosPolicy+"\n", parts)
	o.mustSay("the files for standbys are too long")
	o.reload(true)
	if strings.Contains(o.log.String(), "too long") {
		t.Error("it is logged twice")
	}
	if len(o.sent.Registrar.Mirror.Policy) <= mirror.MaxPolicy {
		t.Error("it is not too long")
	}
}

// FuzzPolicy: whatever another manager sends is refused, or can be gone on with.
func FuzzPolicy(f *testing.F) {
	f.Add((&policyText{of: 9, shared: []byte("[subnet]\nlmc = 1\n"), source: partitions.FromFile,
		file: []byte(masterParts)}).encode())
	f.Add((&policyText{of: 9, source: partitions.FromNothing}).encode())
	f.Add((&policyText{of: 9, shared: []byte("[qos]\nenabled = true\n"), qos: []byte(goodQoS),
		source: partitions.FromNothing}).encode())
	f.Add([]byte("ibsm policy 1 0x0000000000000009 2 0 -1 0 0 0 0 0\n"))
	f.Add([]byte("ibsm policy 1 0x0000000000000009 1 999999999999999999999 0 0 0 0 0 0\n"))
	f.Add([]byte("ibsm policy 2 0x0000000000000009 1 0 0 0 0 0 0 0\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		from, err := newMasterPolicy(b)
		if err != nil {
			return
		}
		again, err := newMasterPolicy(from.encode())
		if err != nil || again.of != from.of || !again.chosen.ForTables().Equal(from.chosen.ForTables()) ||
			string(again.qos.text) != string(from.qos.text) {
			t.Errorf("%q is read as %q: %v", b, from.encode(), err)
		}
		if _, chosen := from.over(&conf.Loaded{Config: conf.New()}, nil); chosen == nil || chosen.Policy == nil {
			t.Error("no policy")
		}
	})
}
