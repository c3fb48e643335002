package sim_test

import (
	"cmp"
	"os/exec"
	"strings"
	"testing"

	"ibsm/mad/madtest"
)

// mutant is a rule that is broken in one place, in a file of the module.
type mutant struct {
	name, file, old, new string
	test                 string // package and name of the test that finds it; "" for elections
}

// mutants are rules of the election.
var mutants = []mutant{
	{"a higher master is not handed to", "sweep/elect/elect.go",
		"case above != nil:\n\t\tm.standBy(now, above.GUID())\n\t\tm.watch.isSM = true\n\t\tif",
		"case above != nil && false:\n\t\tm.standBy(now, above.GUID())\n\t\tm.watch.isSM = true\n\t\tif", ""},
	{"a master that was found is not stood by", "sweep/elect/elect.go",
		"case master != nil:\n\t\tm.standBy(now, master.GUID())",
		"case master != nil && false:\n\t\tm.standBy(now, master.GUID())", ""},
	{"the higher GUID wins", "sweep/elect/elect.go", "return o.GUID() < m.cfg.GUID", "return o.GUID() > m.cfg.GUID",
		""},
	{"polls are never given up", "sweep/elect/poll.go", "if m.misses > max(m.cfg.PollRetries, 0) {", "if false {", ""},
	{"a target is waited for for ever", "sweep/elect/target.go", "preparing, now+targetTimeout",
		"preparing, now+1000*targetTimeout", ""},
	{"a target that timed out is waited for again", "sweep/elect/elect.go", " && above.GUID() != m.TimedOut():", ":",
		""},
	{"HANDOVER is not taken", "sweep/elect/control.go", "case mod == smp.ControlHandover && m.state != smp.NotActive:",
		"case mod == smp.ControlHandover && false:", ""},
	{"a manager that was paused asks nobody", "manager/core.go", "if paused > c.elect.stall() && paused < now {",
		"if false {", ""},
	{"the time that a manager computes is taken for a pause", "manager/core.go", "max(c.fx.now, c.waits)", "c.fx.now",
		"./sim TestBusy"},
	{"PortStateChange is cleared for other masters, too", "sweep/discover/switches.go",
		"return was != topo.None && m.cfg.Prev.Nodes[was].Missed == 0", "return was != topo.None || true",
		"./sweep/discover TestClearOfOthers"},
	{"nobody is asked", "sweep/discover/ports.go", "Has(smp.IsSM) && !m.cfg.IgnoreOtherSM {",
		"Has(smp.IsSM) && false {", ""},
	{"the way to the master is forgotten", "manager/election.go", "e.route, e.lid, e.place = found.SMs[i].Route,",
		"_, e.lid, e.place = found.SMs[i].Route,", ""},
	{"a change of partitions is answered before a standby has it", "sa/mirror/source.go",
		"if p.has.term != s.term || p.has.seq < seq {", "if p.has.seq < seq && false {", "./sim TestCallersMirrored"},
	{"changes that the master lacks are not offered", "sa/partition_order.go", "\tr.mirrored.follower.Offer(changes)\n",
		"\t_ = changes\n", "./sim TestCallersApart"},
	{"without a file the P_Keys of others are removed", "partitions/tables.go", "k.Valid() && !c.Policy.owns(k)",
		"k.Valid() && false && !c.Policy.owns(k)", "./sim TestCallers"},
	{"requests outlive the mastership term", "manager/decisions.go", "c.cancelled = c.fx.table.Cancel(c.cancelled[:0])",
		"c.cancelled = c.cancelled[:0]", ""},
}

// mkeyMutants are rules by which ports get M_Keys and nobody is locked out, and the tests that find where they are
// broken.
var mkeyMutants = []mutant{
	{"a port that hides its M_Key has the new one", "sweep/program/mkey.go",
		"if smp.HidesMKey(info) { // it has answered to any", "if false {", "./sweep TestKeepsMKey"},
	{"the other racks are set after one of which no port took its M_Key", "sweep/program/mkey.go",
		"\t\tp.Plan.StopMKeys()\n", "", "./sim TestPortMKeysRefused"},
	{"what another manager writes between a Set and its Get is not supported", "sweep/program/mkey.go",
		"if p.mkeys.sent[r.Port] {\n\t\tunsupported.Tried(at)",
		"if p.mkeys.sent[r.Port] {\n\t\tunsupported.Learn(&device.MKeys, at, (*device.Data)(&sent), (*device.Data)(info))", "./sweep TestWrittenBetween"},
	{"the M_Key of the number before is not tried", "sweep/plan/mkeys.go",
		"\t\t\tadd(mad.MKey(k.Ports.With(number-1, uint64(port))))\n", "", "./sweep/plan TestCandidate"},
	{"the M_Key of the next number is not tried", "sweep/plan/mkeys.go",
		"\t\tadd(mad.MKey(k.Ports.With(number+1, uint64(port))))\n", "", "./sweep/plan TestCandidate"},
	{"an M_Key that somebody else has set is cleared", "sweep/plan/mkeys.go", "\treturn !ours\n",
		"\treturn false && !ours\n", "./sim TestPortMKeysOfOthers"},
	{"an M_Key of another seed stays", "sweep/plan/mkeys.go", "!k.Ports.On() || k.Wanted(port) != 0 {",
		"!k.Ports.On() {", "./sim TestPortMKeysWild"},
	{"what is read back is asked with the M_Key that the port had", "sweep/plan/plan.go", "st.Op == ReadMKey {",
		"st.Op == ReadMKey && false {", "./sweep TestWrittenBetween"},
	{"leases are not renewed", "sweep/mkeys/lease.go", "(*q)[0].due <= now {", "(*q)[0].due <= 0*now {",
		"./sweep TestLeasesRenewed"},
	{"a manager that knows nothing of the subnet does not wait for leases", "manager/other_sms.go",
		"c.elect.waits, limit = waitsMKey, maxUnproved", "c.elect.waits, limit = waitsMKey, 0*maxUnproved",
		"./sim TestPortMKeysWaits"},
	{"ports that were opened to a manager stay open", "sweep/mkeys/mkeys.go", "return until <= now })\n\tif len(left)",
		"return until <= now && false })\n\tif len(left)", "./sim TestPortMKeysKnock"},
	{"a manager that does not know the subnet is not let in", "manager/traps.go", "knocks && p != topo.None {",
		"knocks && p != topo.None && false {", "./sim TestPortMKeysKnock"},
	{"a master that shows no SM_Key to a wrong M_Key is lost", "manager/election.go",
		"return !e.mkey.single && info.SMKey() == 0", "return false && info.SMKey() == 0",
		"./sim TestPortMKeysBesideOne"},
	{"the next rotation begins before the last one has ended", "daemon/mkeys.go", "\tif left > 0 {",
		"\tif left > 0 && false {", "./daemon TestRotateMKeys"},
	{"a store that is older than a port's M_Key has the last word", "sweep/plan/mkeys.go",
		"overtaken := known && was.Old && k.overtaken(port, recorded)", "overtaken := false",
		"./sweep/plan TestCandidate"},
}

// TestMutants: every rule that is broken is found, most of them by the elections, or where a manager that
// ranks higher comes to a master.
func TestMutants(t *testing.T) { mustBeFound(t, mutants) }

// TestMKeyMutants: every broken rule of M_Keys is found.
func TestMKeyMutants(t *testing.T) { mustBeFound(t, mkeyMutants) }

func mustBeFound(t *testing.T, mutants []mutant) {
	for _, m := range mutants {
		t.Run(m.name, func(t *testing.T) {
			where, which, _ := strings.Cut(cmp.Or(m.test, "./sim TestElections|TestHandoverWithoutMirror"), " ")
			tests := exec.CommandContext(t.Context(), "go", "test", "-run", "^("+which+")$", "-failfast", where)
			tests.Dir = ".."
			madtest.FindMutant(t, tests, m.file, m.old, m.new)
		})
	}
}
