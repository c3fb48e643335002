package sim_test

import (
	"bufio"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"ibsm/mad"
	"ibsm/manager"
	"ibsm/sim"
	"ibsm/sim/fabric"
	"ibsm/sim/hosts"
	"ibsm/sweep"
	"ibsm/topo/net"
	"ibsm/topo/net/nettest"
)

// recordFile has a line for each World of each recorded run: its name, digests of what left
// the managers, and counts.
const recordFile = "testdata/recorded.txt"

// recording is where newHarness adds Worlds; nil while nothing is recorded.
var recording *record

// record is one run: its name, and its Worlds in the order in which they were made.
type record struct {
	name       string
	worlds     []*recorder
	transcript io.Writer
}

func (r *record) add(w *sim.World) {
	name := fmt.Sprintf("%s#%d", r.name, len(r.worlds)+1)
	if r.transcript != nil {
		fmt.Fprintf(r.transcript, "== %s\n", name)
	}
	r.worlds = append(r.worlds, newRecorder(w, r.transcript))
}

// lines are those of the record file, by name.
func (r *record) lines() map[string]string {
	out := map[string]string{}
	for i, w := range r.worlds {
		out[fmt.Sprintf("%s#%d", r.name, i+1)] = w.String()
	}
	return out
}

// scenario is a test that is recorded, for seeds 0 to seeds-1; the small size runs every
// stride-th of them, with stride 0 none. What takes no seed has one.
type scenario struct {
	name          string
	seeds, stride int
	run           func(t *testing.T)
}

// TestRecorded holds every packet, view and log event of the managers against the record:
// work that changes no behaviour changes none of them.
//
//   - IBSM_PROOF=1 runs all seeds, not a sample.
//   - IBSM_RECORD=write runs all seeds and writes the record in place of comparing.
//   - IBSM_TRANSCRIPT=FILE writes what the runs that -run selects have recorded as text, so
//     that the transcripts of two trees can be compared line by line.
func TestRecorded(t *testing.T) {
	write := os.Getenv("IBSM_RECORD") == "write"
	full := write || os.Getenv("IBSM_PROOF") != ""
	t.Setenv("IBSM_PROOF", "") // the sizes of the scenarios stay the same
	var transcript io.Writer
	if path := os.Getenv("IBSM_TRANSCRIPT"); path != "" {
		file, err := os.Create(path)
		if err != nil {
			t.Fatal(err)
		}
		buffered := bufio.NewWriter(file)
		t.Cleanup(func() {
			if err := buffered.Flush(); err != nil {
				t.Error(err)
			}
		})
		transcript = buffered
	}
	want, got := readRecord(t), map[string]string{}
	names := map[string]bool{}
	for _, s := range scenarios {
		for seed := 0; seed < s.seeds; seed++ {
			name := s.name
			if s.seeds > 1 {
				name = fmt.Sprintf("%s/%d", s.name, seed)
			}
			names[name] = true
			if !full && (s.stride == 0 || seed%s.stride != 0) {
				continue
			}
			t.Run(name, func(t *testing.T) {
				lines := s.record(t, name, seed, transcript)
				maps.Copy(got, lines)
				if write {
					maps.DeleteFunc(want, func(line, _ string) bool { return nameOf(line) == name })
					maps.Copy(want, lines)
					return
				}
				compareRecords(t, name, want, lines)
			})
		}
	}
	for line := range want {
		if !names[nameOf(line)] && !write {
			t.Errorf("%s has %s, which is no scenario", recordFile, line)
		}
	}
	if write {
		maps.DeleteFunc(want, func(line, _ string) bool { return !names[nameOf(line)] })
		writeRecord(t, want)
	}
}

// record runs a scenario with one seed and returns its lines.
func (s *scenario) record(t *testing.T, name string, seed int, transcript io.Writer) map[string]string {
	t.Setenv("IBSM_SEED", "")
	if s.seeds > 1 {
		t.Setenv("IBSM_SEED", fmt.Sprint(seed))
	}
	nettest.SetProfile(t, net.Ideal)
	rec := &record{name: name, transcript: transcript}
	recording = rec
	defer func() { recording = nil }()
	t.Run("run", s.run)
	if len(rec.worlds) == 0 {
		t.Error("nothing is recorded")
	}
	return rec.lines()
}

// nameOf is the name of the run that a line belongs to.
func nameOf(line string) string {
	name, _, _ := strings.Cut(line, "#")
	return name
}

// compareRecords says which kind of digest of which World of a run differs.
func compareRecords(t *testing.T, name string, want, got map[string]string) {
	t.Helper()
	for _, line := range slices.Sorted(maps.Keys(got)) {
		if want[line] == "" {
			t.Errorf("%s is not in %s", line, recordFile)
			continue
		}
		was, is := strings.Fields(want[line]), strings.Fields(got[line])
		for i := range min(len(was), len(is)) {
			if was[i] != is[i] {
				t.Errorf("%s: %s, recorded is %s", line, is[i], was[i])
			}
		}
	}
	for line := range want {
		if nameOf(line) == name && got[line] == "" {
			t.Errorf("%s is recorded and did not happen", line)
		}
	}
	if t.Failed() {
		t.Logf("the run as text: IBSM_PROOF=1 IBSM_TRANSCRIPT=/tmp/transcript go test ./sim -run '^TestRecorded$/^%s$'", strings.ReplaceAll(name, "/", "$/^"))
	}
}

func readRecord(t *testing.T) map[string]string {
	lines := map[string]string{}
	data, err := os.ReadFile(recordFile)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	for text := range strings.Lines(string(data)) {
		name, digests, _ := strings.Cut(strings.TrimSpace(text), " ")
		lines[name] = digests
	}
	return lines
}

func writeRecord(t *testing.T, lines map[string]string) {
	var out []byte
	for _, name := range slices.Sorted(maps.Keys(lines)) {
		out = fmt.Appendf(out, "%s %s\n", name, lines[name])
	}
	if err := os.MkdirAll(filepath.Dir(recordFile), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(recordFile, out, 0o666); err != nil {
		t.Fatal(err)
	}
}

// everyKind are fabrics of each generator.
var everyKind = []string{
	"fattree:k=4", "torus:dims=3x3", "mesh:dims=4x3", "hypercube:dim=3", "dragonfly:a=4,p=2,h=1", "hyperx:dims=3x3,hosts=2",
	"random:switches=12,degree=4,hosts=2", "tree:depth=3,fanout=3", "fattree:k=8,levels=2,missing-links=4", "torus:dims=3x2x2,hosts=2",
	"dragonfly+:l=3,s=2,p=1,h=2,groups=3",
}

// sweepsOnEveryKind takes a manager on a fabric of each kind through bring-up under loss,
// light and heavy sweeps, reroutes, plans, partitions, hosts that boot and ask for paths, a
// handover, a failover, and a takeover by one that has nothing but the fabric.
func sweepsOnEveryKind(t *testing.T) {
	seed := seeds(t)[0]
	rng := rand.New(rand.NewPCG(seed, 0x7ec0))
	spec := everyKind[seed%uint64(len(everyKind))]
	if nettest.Profile(t) == net.RealDevices {
		spec += []string{"", ",sharp=off", ",sharp=on"}[seed%3]
	}
	n := nettest.Generate(t, fmt.Sprintf("%s,seed=%d", spec, rng.Uint32()))
	b := newHarness(t, n, fabric.Config{Seed: rng.Uint64(), Latency: pick(rng, latency, 50*time.Microsecond, time.Millisecond),
		TrainTime: pick(rng, 0, 30*time.Millisecond), Caps: randomCaps(rng)})
	b.ComputeTime = pick(rng, 0, 5*time.Millisecond, 300*time.Millisecond)
	b.Fabric.SetFaults(fabric.Faults{Loss: pick(rng, 0, 0.01), Duplicate: pick(rng, 0, 0.05), Reorder: pick(rng, 0, 0.05), ReorderBy: time.Millisecond})
	low, high := registrarConfig(), registrarConfig()
	low.Elect.Priority, high.Elect.Priority = 3, 9
	low.Sweep.Settings.LMC = sweep.Given(pick[uint8](rng, 0, 0, 1, 2))
	m := b.addKept(host(n, 0), low, sim.NewDisk(time.Millisecond))
	b.pass(30 * time.Second)
	crowd := b.bootHosts(t, rng)
	for _, s := range []manager.Sweep{manager.Light, manager.Heavy, manager.Plan, manager.Reroute, manager.PlanReroute} {
		b.changeFabric(rng, m.Station.At().Node)
		b.Ask(m.Manager, s)
		b.pass(time.Duration(rng.Int64N(int64(15 * time.Second))))
	}
	for range 3 {
		b.Partition(m.Manager, sweep.Partitions{Policy: (&tenants{harness: b, rng: rng}).someone()})
		b.pass(time.Duration(rng.Int64N(int64(5 * time.Second))))
	}
	second := b.addKept(host(n, 3), high, sim.NewDisk(time.Millisecond))
	b.pass(time.Minute)
	crowd.Ask(20)
	b.changeFabric(rng, second.Station.At().Node)
	b.pass(5 * time.Second)
	b.Kill(second.Manager)
	b.pass(2 * time.Minute)
	b.Kill(m.Manager)
	b.changeFabric(rng, host(n, 1).Node)
	b.add(host(n, 1), high)
	b.pass(time.Minute)
	b.Leave(b.Managers[len(b.Managers)-1])
	b.pass(5 * time.Second)
}

// bootHosts puts hosts at all ports from the sixth on, and has them register and ask for
// paths.
func (b *harness) bootHosts(t *testing.T, rng *rand.Rand) *hosts.Crowd {
	var at []net.End
	for i := range b.net.Nodes {
		if b.net.Nodes[i].Type == mad.CA {
			at = append(at, net.End{Node: int32(i), Port: 1})
		}
	}
	crowd, err := hosts.New(b.Fabric, rng.Uint64(), at[5:])
	if err != nil {
		t.Fatal(err)
	}
	crowd.Begin(hosts.Boot{Over: 2 * time.Second, Paths: 3, Every: 500 * time.Millisecond, Own: rng.IntN(2) == 0})
	for end := b.Fabric.Now() + 10*time.Second; b.Fabric.Now() < end; {
		crowd.Step()
		b.Run(b.Fabric.Now()+5*time.Millisecond, nil)
	}
	return crowd
}

// changeFabric has a link flap or fail for a while, or a node reboot, but not own.
func (b *harness) changeFabric(rng *rand.Rand, own int32) {
	at, node := uplinkOf(b.Fabric, rng), int32(rng.IntN(b.Fabric.NumNodes()))
	b.Fabric.LinkDown(at)
	b.pass(pick(rng, 0, 100*time.Millisecond, 12*time.Second))
	b.Fabric.LinkUp(at)
	if node != own && rng.IntN(2) == 0 {
		b.Fabric.Reboot(node)
	}
}

// onRealDevices runs a scenario on fabrics of real devices; the others run on ideal ones.
func onRealDevices(run func(t *testing.T)) func(t *testing.T) {
	return func(t *testing.T) {
		nettest.SetProfile(t, net.RealDevices)
		run(t)
	}
}

// scenarios are all that is recorded: runs of random seeds first, then every other test of
// this package that has a World but those of unrecorded, as TestRecordedTests makes sure. Fuzzers
// and benchmarks are not recorded. The names are those of the record, and of tests without Test.
var scenarios = []scenario{
	{"SweepsOnEveryKind", 300, 23, sweepsOnEveryKind},
	{"SweepsOfEveryEngine", 30, 2, sweepsOfEveryEngine},
	{"Seeds", 150, 25, TestSeeds},
	{"SeedsOfTwo", 120, 30, TestSeedsOfTwo},
	{"SeedsOfRestarts", 120, 30, TestSeedsOfRestarts},
	{"SeedsOfGroups", 150, 31, TestSeedsOfGroups},
	{"Elections", 300, 31, TestElections},
	{"HandoverLosesNothing", 60, 17, TestHandoverLosesNothing},
	{"LeaveLosesNothing", 60, 19, TestLeaveLosesNothing},
	{"StandbyOfAnotherKind", 30, 13, TestStandbyOfAnotherKind},
	{"StandbyTakesOverWhatIsRegistered", 60, 19, TestStandbyTakesOverWhatIsRegistered},
	{"RegistrationsOutliveTheManager", 60, 19, TestRegistrationsOutliveTheManager},
	{"Partitions", 40, 13, TestPartitions},
	{"PartitionsUnderFire", 60, 19, TestPartitionsUnderFire},

	{"HostileHost", 20, 20, TestHostileHost},
	{"LanesAreLost", 20, 20, TestLanesAreLost},
	{"PortMKeysWild", 60, 31, TestPortMKeysWild},

	{"RealDevices", 30, 10, onRealDevices(sweepsOnEveryKind)},
	{"RealDevicesSeeds", 20, 10, onRealDevices(TestSeeds)},
	{"RealDevicesElections", 20, 10, onRealDevices(TestElections)},
	{"RealDevicesPartitions", 20, 10, onRealDevices(TestPartitions)},

	{"AdaptiveRoutingIsLeftAlone", 1, 1, TestAdaptiveRoutingIsLeftAlone},
	{"AdaptiveRoutingIsNotReported", 1, 1, TestAdaptiveRoutingIsNotReported},
	{"AdaptiveRoutingIsTurnedOff", 1, 1, TestAdaptiveRoutingIsTurnedOff},
	{"AdaptiveRoutingStaysOn", 1, 1, TestAdaptiveRoutingStaysOn},
	{"VendorAttributes", 1, 1, TestVendorAttributes},
	{"BringUp", 1, 1, TestBringUp},
	{"SwitchWithoutTable", 1, 1, TestSwitchWithoutTable},
	{"HostRefusesPortInfo", 1, 1, TestHostRefusesPortInfo},
	{"RefusedField", 1, 1, TestRefusedField},
	{"RefusedOnce", 1, 1, TestRefusedOnce},
	{"FieldNotHeld", 1, 1, TestFieldNotHeld},
	{"PlainSpeeds", 1, 1, TestPlainSpeeds},
	{"TwoManagers", 1, 1, TestTwoManagers},
	{"Handover", 1, 1, TestHandover},
	{"TwoMasters", 1, 1, TestTwoMasters},
	{"OwnPortDown", 1, 1, TestOwnPortDown},
	{"Once", 1, 1, TestOnce},
	{"DryRun", 1, 1, TestDryRun},
	{"Failover", 1, 1, TestFailover},
	{"FDR10", 1, 1, TestFDR10},
	{"ForcedLinks", 1, 1, TestForcedLinks},
	{"ForcedLinksRefused", 1, 1, TestForcedLinksRefused},
	{"EchoedNoChange", 1, 1, TestEchoedNoChange},
	{"StandbyOfTheUnresponsive", 1, 1, TestStandbyOfTheUnresponsive},
	{"StandbyIncomplete", 1, 1, TestStandbyIncomplete},
	{"SubscriptionsEndWithTheirMaster", 1, 1, TestSubscriptionsEndWithTheirMaster},
	{"Garbage", 1, 1, TestGarbage},
	{"HandoverWithoutMirror", 1, 1, TestHandoverWithoutMirror},
	{"HandoverToOthers", 1, 1, TestHandoverToOthers},
	{"LinkLostDuringFullWalk", 1, 1, TestLinkLostDuringFullWalk},
	{"TrapsDuringFullWalk", 1, 1, TestTrapsDuringFullWalk},
	{"ChangesOfAWalkGivenUp", 1, 1, TestChangesOfAWalkGivenUp},
	{"FullWalksPutOff", 1, 1, TestFullWalksPutOff},
	{"Inactive", 1, 1, TestInactive},
	{"InactiveConfigured", 1, 1, TestInactiveConfigured},
	{"InactiveOnce", 1, 1, TestInactiveOnce},
	{"LeaveToOthers", 1, 1, TestLeaveToOthers},
	{"LeaveAlone", 1, 1, TestLeaveAlone},
	{"LeaveToUnmet", 1, 1, TestLeaveToUnmet},
	{"LeaveAsStandby", 1, 1, TestLeaveAsStandby},
	{"LMCOfPort0", 1, 1, TestLMCOfPort0},
	{"MirrorFailed", 1, 1, TestMirrorFailed},
	{"MirrorAfterHandover", 1, 1, TestMirrorAfterHandover},
	{"LostLink", 1, 1, TestLostLink},
	{"RebootedSwitch", 1, 1, TestRebootedSwitch},
	{"RebootWithinSweep", 1, 1, TestRebootWithinSweep},
	{"UnresponsiveHost", 1, 1, TestUnresponsiveHost},
	{"UnresponsiveSwitch", 1, 1, TestUnresponsiveSwitch},
	{"GivenUpSwitch", 1, 1, TestGivenUpSwitch},
	{"LateBlock", 1, 1, TestLateBlock},
	{"LIDsAreKept", 1, 1, TestLIDsAreKept},
	{"OwnLinkLost", 1, 1, TestOwnLinkLost},
	{"OtherMKey", 1, 1, TestOtherMKey},
	{"MKeyFromFiles", 1, 1, TestMKeyFromFiles},
	{"ControlByMKey", 1, 1, TestControlByMKey},
	{"OtherMKeyUnderLoss", 1, 1, TestOtherMKeyUnderLoss},
	{"MulticastMovesWithoutLoops", 1, 1, TestMulticastMovesWithoutLoops},
	{"MulticastTakeover", 1, 1, TestMulticastTakeover},
	{"MulticastJoinIsQuick", 1, 1, TestMulticastJoinIsQuick},
	{"MulticastForwardsNothing", 1, 1, TestMulticastForwardsNothing},
	{"MulticastDefectiveSwitch", 1, 1, TestMulticastDefectiveSwitch},
	{"MulticastTop", 1, 1, TestMulticastTop},
	{"MulticastManyGroups", 1, 1, TestMulticastManyGroups},
	{"MulticastGroupThatWent", 1, 1, TestMulticastGroupThatWent},
	{"MulticastGroupOfFirstSweep", 1, 1, TestMulticastGroupOfFirstSweep},
	{"MulticastTopLowered", 1, 1, TestMulticastTopLowered},
	{"MulticastEverywhere", 1, 1, TestMulticastEverywhere},
	{"DuplicateHost", 1, 1, TestDuplicateHost},
	{"DuplicatePort", 1, 1, TestDuplicatePort},
	{"DuplicateSwitch", 1, 1, TestDuplicateSwitch},
	{"Loopback", 1, 1, TestLoopback},
	{"Port0StaysInInit", 1, 1, TestPort0StaysInInit},
	{"BasePort0", 1, 1, TestBasePort0},
	{"Order", 1, 1, TestOrder},
	{"ActiveLinksStay", 1, 1, TestActiveLinksStay},
	{"ClocksDiffer", 1, 1, TestClocksDiffer},
	{"HostSlept", 1, 1, TestHostSlept},
	{"DiskFull", 1, 1, TestDiskFull},
	{"OldStore", 1, 1, TestOldStore},
	{"GarbageInTheExchange", 1, 1, TestGarbageInTheExchange},
	{"DuplicateGUID", 1, 1, TestDuplicateGUID},
	{"DuplicateGUIDAtOnce", 1, 1, TestDuplicateGUIDAtOnce},
	{"PartitionsTakenOver", 1, 1, TestPartitionsTakenOver},
	{"PartitionsFull", 1, 1, TestPartitionsFull},
	{"BadKeys", 1, 1, TestBadKeys},
	{"LatePKeys", 1, 1, TestLatePKeys},
	{"Plan", 1, 1, TestPlan},
	{"PlanOfStandby", 1, 1, TestPlanOfStandby},
	{"Stats", 1, 1, TestStats},
	{"PlanShowsMulticast", 1, 1, TestPlanShowsMulticast},
	{"MastersPolicyStays", 1, 1, TestMastersPolicyStays},
	{"ForeignMaster", 1, 1, TestForeignMaster},
	{"QuickWalk", 1, 1, TestQuickWalk},
	{"QuickWalkFindsTheSame", 1, 1, TestQuickWalkFindsTheSame},
	{"Unchanged", 1, 1, TestUnchanged},
	{"Memory", 1, 1, TestMemory},
	{"NoDescription", 1, 1, TestNoDescription},
	{"Reconfigure", 1, 1, TestReconfigure},
	{"ReconfigurePriority", 1, 1, TestReconfigurePriority},
	{"SweepsByTheClock", 1, 1, TestSweepsByTheClock},
	{"RefusingNode", 1, 1, TestRefusingNode},
	{"RefusingNewNode", 1, 1, TestRefusingNewNode},
	{"MembersFollowTheirGroup", 1, 1, TestMembersFollowTheirGroup},
	{"MembersAreAskedUntilTheyKnow", 1, 1, TestMembersAreAskedUntilTheyKnow},
	{"Renamed", 1, 1, TestRenamed},
	{"RenamedAndMore", 1, 1, TestRenamedAndMore},
	{"RenamedBeforeActive", 1, 1, TestRenamedBeforeActive},
	{"LateBlockWithoutReply", 1, 1, TestLateBlockWithoutReply},
	{"Restart", 1, 1, TestRestart},
	{"RestartAfterAWhile", 1, 1, TestRestartAfterAWhile},
	{"RestartAfterPowerCut", 1, 1, TestRestartAfterPowerCut},
	{"RestartAfterStandby", 1, 1, TestRestartAfterStandby},
	{"HonorGUID2LID", 1, 1, TestHonorGUID2LID},
	{"Resting", 1, 1, TestResting},
	{"Describe", 1, 1, TestDescribe},
	{"LinkLostBesideSilence", 1, 1, TestLinkLostBesideSilence},
	{"SilenceAndQuickSweeps", 1, 1, TestSilenceAndQuickSweeps},
	{"TrapStorm", 1, 1, TestTrapStorm},
	{"FlappingSwitch", 1, 1, TestFlappingSwitch},
	{"ManyPortsLost", 1, 1, TestManyPortsLost},
	{"Takeover", 1, 1, TestTakeover},
	{"TakeoverWithUnresponsiveHost", 1, 1, TestTakeoverWithUnresponsiveHost},
	{"IsolatedMaster", 1, 1, TestIsolatedMaster},
	{"TakeoverAdopts", 1, 1, TestTakeoverAdopts},
	{"ActiveLinksKeepLanes", 1, 1, TestActiveLinksKeepLanes},
	{"ForeignMKey", 1, 1, TestForeignMKey},
	{"UnhealthyPort", 1, 1, TestUnhealthyPort},
	{"Babbler", 1, 1, TestBabbler},
	{"TrapsLogged", 1, 1, TestTrapsLogged},
	{"PortsLogged", 1, 1, TestPortsLogged},

	{"AdaptiveRoutingIsKept", 1, 1, TestAdaptiveRoutingIsKept},
	{"PrivateTables", 1, 1, TestPrivateTables},
	{"AdaptiveRoutingLosesLinks", 1, 0, TestAdaptiveRoutingLosesLinks},
	{"AdaptiveRoutingLosesLinksBetweenPauses", 1, 0, TestAdaptiveRoutingLosesLinksBetweenPauses},
	{"AdaptiveRoutingOfAnotherManager", 1, 0, TestAdaptiveRoutingOfAnotherManager},
	{"AdaptiveRoutingAfterReboots", 1, 0, TestAdaptiveRoutingAfterReboots},
	{"AdaptiveRoutingPausedInProgram", 1, 0, TestAdaptiveRoutingPausedInProgram},
	{"ManagerAtBasePort0", 1, 1, TestManagerAtBasePort0},
	{"HoldBack", 1, 1, TestHoldBack},
	{"HeldBackSwitch", 1, 1, TestHeldBackSwitch},
	{"OwnCable", 1, 1, TestOwnCable},
	{"PlanOfOtherSubnet", 1, 1, TestPlanOfOtherSubnet},
	{"HoldBackAtColdStart", 1, 1, TestHoldBackAtColdStart},
	{"OwnLeafRefused", 1, 1, TestOwnLeafRefused},
	{"NamesOfPlan", 1, 1, TestNamesOfPlan},
	{"EngineRefuses", 1, 1, TestEngineRefuses},
	{"EngineReload", 1, 1, TestEngineReload},
	{"EngineReloadKeeps", 1, 1, TestEngineReloadKeeps},
	{"EngineFailover", 1, 1, TestEngineFailover},
	{"EngineUnknown", 1, 1, TestEngineUnknown},
	{"AutoEngine", 1, 1, TestAutoEngine},
	{"Compare", 1, 1, TestCompare},
	{"Reboot", 1, 1, TestReboot},
	{"CountersRestart", 1, 1, TestCountersRestart},
	{"CountersSL", 1, 1, TestCountersSL},
	{"CreditLoop", 1, 1, TestCreditLoop},
	{"CreditLoopTakenOver", 1, 1, TestCreditLoopTakenOver},
	{"Certificate", 1, 1, TestCertificate},
	{"CertificateEnded", 1, 1, TestCertificateEnded},
	{"CertificateOfTrees", 1, 1, TestCertificateOfTrees},
	{"ReloadWithoutChoice", 1, 1, TestReloadWithoutChoice},
	{"ReloadOfAuto", 1, 1, TestReloadOfAuto},
	{"RestartOfAuto", 1, 1, TestRestartOfAuto},
	{"TakeoverOfAuto", 1, 1, TestTakeoverOfAuto},
	{"UnroutedSwitchIsOneFault", 1, 1, TestUnroutedSwitchIsOneFault},
	{"DiagnoseFaults", 1, 1, TestDiagnoseFaults},
	{"DiagnoseLater", 1, 1, TestDiagnoseLater},
	{"DiagnoseAdaptiveRouting", 1, 1, TestDiagnoseAdaptiveRouting},
	{"DiagnoseAll", 1, 1, TestDiagnoseAll},
	{"Drain", 1, 1, TestDrain},
	{"AdaptiveRoutingEnables", 1, 1, TestAdaptiveRoutingEnables},
	{"AdaptiveRoutingIsDisabledCold", 1, 1, TestAdaptiveRoutingIsDisabledCold},
	{"AdaptiveRoutingIsDisabledInOrder", 1, 1, TestAdaptiveRoutingIsDisabledInOrder},
	{"AdaptiveRoutingLostBefore", 1, 1, TestAdaptiveRoutingLostBefore},
	{"GRHAgents", 1, 1, TestGRHAgents},
	{"GRHKept", 1, 1, TestGRHKept},
	{"LeasesAtFailover", 1, 1, TestLeasesAtFailover},
	{"LeasesUnderFlapping", 1, 1, TestLeasesUnderFlapping},
	{"LeasesWithoutSweeps", 1, 1, TestLeasesWithoutSweeps},
	{"NoLongerAdaptive", 1, 1, TestNoLongerAdaptive},
	{"PlansAtOnce", 1, 1, TestPlansAtOnce},
	{"PlansLeave", 1, 1, TestPlansLeave},
	{"PrivateTablesKeepLanes", 1, 1, TestPrivateTablesKeepLanes},
	{"RebootAtEachStepOfAll", 1, 1, TestRebootAtEachStepOfAll},
	{"SMSLWithoutLane", 1, 1, TestSMSLWithoutLane},
	{"ShortestLease", 1, 1, TestShortestLease},
	{"LeasesLostInTurn", 1, 1, TestLeasesLostInTurn},
	{"LeasesOfLostRoutes", 1, 1, TestLeasesOfLostRoutes},
	{"LeasesBesideUnresponsive", 1, 0, TestLeasesBesideUnresponsive},
	{"LeasesAfterALostRead", 1, 0, TestLeasesAfterALostRead},
	{"LeasesBesideUnresponsiveAndLinks", 1, 0, TestLeasesBesideUnresponsiveAndLinks},
	{"LostGUIDs", 1, 1, TestLostGUIDs},
	{"GUIDsAcrossPortDown", 1, 1, TestGUIDsAcrossPortDown},
	{"TrapsWhileTakingOver", 1, 1, TestTrapsWhileTakingOver},
	{"Drift", 1, 1, TestDrift},
	{"DriftWithdrawn", 1, 1, TestDriftWithdrawn},
	{"OneRerouteInWindow", 1, 0, TestOneRerouteInWindow},
	{"NoSecondReroute", 1, 0, TestNoSecondReroute},
	{"NothingToCompare", 1, 1, TestNothingToCompare},
	{"OnceUnanswered", 1, 1, TestOnceUnanswered},
	{"LoopsAreCut", 1, 1, TestLoopsAreCut},
	{"GRH", 1, 1, TestGRH},
	{"GRHPaths", 1, 1, TestGRHPaths},
	{"PortGroups", 1, 1, TestPortGroups},
	{"RenamedMember", 1, 1, TestRenamedMember},
	{"Regrouped", 1, 1, TestRegrouped},
	{"FlippingMember", 1, 1, TestFlippingMember},
	{"GroupsKeepRoutes", 1, 1, TestGroupsKeepRoutes},
	{"UnmatchedGroups", 1, 1, TestUnmatchedGroups},
	{"ComputeGroup", 1, 1, TestComputeGroup},
	{"HalfDead", 1, 1, TestHalfDead},
	{"HalfDeadPort", 1, 1, TestHalfDeadPort},
	{"Lies", 1, 0, TestLies},
	{"InquiryAnsweredInOtherName", 1, 1, TestInquiryAnsweredInOtherName},
	{"ManagersMet", 1, 1, TestManagersMet},
	{"Impostor", 1, 1, TestImpostor},
	{"ManagersBesideImpostor", 1, 1, TestManagersBesideImpostor},
	{"ControlFromOthers", 1, 1, TestControlFromOthers},
	{"FalseQuestions", 1, 1, TestFalseQuestions},
	{"ForgedTraps", 1, 1, TestForgedTraps},
	{"MirrorNeedsSecret", 1, 1, TestMirrorNeedsSecret},
	{"SecretsAreNotShown", 1, 1, TestSecretsAreNotShown},
	{"UnaskedReplies", 1, 1, TestUnaskedReplies},
	{"PortMKeysTwoIgnorant", 1, 0, TestPortMKeysTwoIgnorant},
	{"OwnTrouble", 1, 0, TestOwnTrouble},
	{"StandbyInTrouble", 1, 0, TestStandbyInTrouble},
	{"BootedUnderLoss", 1, 1, TestBootedUnderLoss},
	{"Lanes", 1, 1, TestLanes},
	{"LanesOfEngine", 1, 1, TestLanesOfEngine},
	{"PlanShowsLanes", 1, 1, TestPlanShowsLanes},
	{"Maintenance", 1, 1, TestMaintenance},
	{"MirrorShowsNothing", 1, 1, TestMirrorShowsNothing},
	{"MirrorReplayed", 1, 0, TestMirrorReplayed},
	{"TrapsUnderMKey", 1, 1, TestTrapsUnderMKey},
	{"RepressShowsMKey", 1, 1, TestRepressShowsMKey},
	{"AttackedPortStaysProtected", 1, 1, TestAttackedPortStaysProtected},
	{"MulticastTablesNotShown", 1, 1, TestMulticastTablesNotShown},
	{"MulticastDoesNotTurn", 1, 0, TestMulticastDoesNotTurn},
	{"DuplicateSwitchOfDirector", 1, 1, TestDuplicateSwitchOfDirector},
	{"PlanShowsTrunk", 1, 1, TestPlanShowsTrunk},
	{"RepairBesidePlan", 1, 0, TestRepairBesidePlan},
	{"PortMKeysCounters", 1, 1, TestPortMKeysCounters},
	{"PortMKeysUnresponsiveNode", 1, 1, TestPortMKeysUnresponsiveNode},
	{"PortMKeysOnceAlone", 1, 1, TestPortMKeysOnceAlone},
	{"PortMKeysRotatedTakeover", 1, 1, TestPortMKeysRotatedTakeover},
	{"PortMKeysRotatedStandby", 1, 1, TestPortMKeysRotatedStandby},
	{"PortMKeysLostPoll", 1, 1, TestPortMKeysLostPoll},
	{"PortMKeysTwoWait", 1, 1, TestPortMKeysTwoWait},
	{"PortMKeysExplicitBack", 1, 1, TestPortMKeysExplicitBack},
	{"PortMKeysOnStandby", 1, 1, TestPortMKeysOnStandby},
	{"PortMKeysBesideOne", 1, 1, TestPortMKeysBesideOne},
	{"PortMKeys", 1, 1, TestPortMKeys},
	{"PortMKeysTakeover", 1, 1, TestPortMKeysTakeover},
	{"PortMKeysUnderTraffic", 1, 1, TestPortMKeysUnderTraffic},
	{"PortMKeysWithoutSecret", 1, 0, TestPortMKeysWithoutSecret},
	{"PortMKeysNewHost", 1, 1, TestPortMKeysNewHost},
	{"PortMKeysNobodyHasSeed", 1, 1, TestPortMKeysNobodyHasSeed},
	{"PortMKeysKnock", 1, 1, TestPortMKeysKnock},
	{"PortMKeysOfOthers", 1, 1, TestPortMKeysOfOthers},
	{"PortMKeysRefused", 1, 1, TestPortMKeysRefused},
	{"PortMKeysLevel1", 1, 1, TestPortMKeysLevel1},
	{"PortMKeysWaits", 1, 1, TestPortMKeysWaits},
	{"PortMKeysUnresponsiveHosts", 1, 1, TestPortMKeysUnresponsiveHosts},
	{"PortMKeysPolls", 1, 1, TestPortMKeysPolls},
	{"PortMKeysSteady", 1, 1, TestPortMKeysSteady},
	{"RefusedPortInfoAndItsLink", 1, 1, TestRefusedPortInfoAndItsLink},
	{"RenamedAndIsSM", 1, 1, TestRenamedAndIsSM},
	{"ReplyKinds", 1, 1, TestReplyKinds},
	{"SecondWalk", 1, 1, TestSecondWalk},
	{"ChangeBeforeCleared", 1, 0, TestChangeBeforeCleared},
	{"ChangeClearedByDuplicate", 1, 1, TestChangeClearedByDuplicate},
	{"SickLinks", 1, 0, TestSickLinks},
	{"HealthyLinks", 1, 1, TestHealthyLinks},
	{"SlowAgents", 1, 1, TestSlowAgents},
	{"SlowAgentsOfASlowHost", 1, 0, TestSlowAgentsOfASlowHost},
	{"SlowestAgents", 1, 1, TestSlowestAgents},
	{"SlowAgentsLater", 1, 1, TestSlowAgentsLater},
	{"SlowAgent", 1, 1, TestSlowAgent},
	{"UnresponsiveHosts", 1, 1, TestUnresponsiveHosts},
	{"SteadyEngine", 1, 0, TestSteadyEngine},
	{"SteadyFound", 1, 1, TestSteadyFound},
	{"RebootAtEachStep", 1, 0, TestRebootAtEachStep},
	{"SplitPorts", 1, 1, TestSplitPorts},
	{"UnhealthyPortsHealInTime", 1, 1, TestUnhealthyPortsHealInTime},
	{"PlanWithout", 1, 1, TestPlanWithout},
	{"PlanWithoutOurOwn", 1, 1, TestPlanWithoutOurOwn},
}
