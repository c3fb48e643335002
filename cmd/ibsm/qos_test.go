package main_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"ibsm/mad"
	"ibsm/mad/sarec"
	"ibsm/topo/net/nettest"
)

// TestQoSAsOpenSM: by random policies and partitions, random requests for paths have the same answers from OpenSM and
// from ibsm, also where switches drop one SL and hosts another: status, SL, MTU, rate, lifetime, P_Key and everything
// else.
func TestQoSAsOpenSM(t *testing.T) {
	first, count := uint64(1), 12
	if proof() {
		count = 500
	}
	if text := os.Getenv("IBSM_SEED"); text != "" {
		n, err := strconv.ParseUint(text, 0, 64)
		if err != nil {
			t.Fatal(err)
		}
		first, count = n, 1
	}
	dir := t.TempDir()
	write := func(name, text string) string {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		return path
	}
	const spec = "fattree:k=4"
	theirs, ours := equalSubnets(t, spec, "qos TRUE", "log_flags 0x07",
		// SL 5 and 9 are dropped
		"qos_swe_sl2vl 0,1,2,3,4,15,6,7,0,1,2,3,4,5,6,7", "qos_ca_sl2vl 0,1,2,3,4,5,6,7,0,15,2,3,4,5,6,7",
		"partition_config_file "+write("partitions.conf", "Default=0x7fff, ipoib: ALL=full;\n"),
		"qos_policy_file "+write("qos-policy.conf", "qos-ulps\ndefault: 0\nend-qos-ulps\n"))
	ours.acknowledges = true
	// reread has both managers read their files again.
	reread := func() {
		t.Helper()
		for _, w := range []*testSubnet{theirs, ours} {
			w.manager.skip()
			w.manager.signal(syscall.SIGHUP)
		}
		ours.manager.await("QoS policy in force")
		for _, w := range []*testSubnet{theirs, ours} {
			w.manager.await("SUBNET UP") // or of a sweep that was under way
		}
		eventually(t, "ibsm has swept with the new files", func() bool {
			return ours.partitionKeys() == theirs.partitionKeys() && !ours.swept().IsZero()
		})
	}
	answered, refused, same, excused := 0, 0, 0, map[string]int{}
	for seed := first; seed < first+uint64(count); seed++ {
		g := newQoSGenerator(theirs, nettest.Generate(t, spec), seed)
		parts, policy := g.partitions(), g.policy()
		write("partitions.conf", parts)
		write("qos-policy.conf", policy)
		reread()
		if log := theirs.manager.text(); strings.Contains(log, "ERR AC0") {
			t.Fatalf("seed %d: OpenSM refuses the policy:\n%s\n%s\n%s", seed, tail(log), parts, policy)
		}
		questions := make([]question, 200)
		for i := range questions {
			questions[i] = g.question()
		}
		want, got := slices.Clone(theirs.ask(questions)), make([]*mad.Packet, len(questions))
		for i := range questions { // one by one: answers by RMPP may come after later ones
			if want[i] == nil { // it is late
				want[i] = theirs.register(questions[i])
			}
			got[i] = ours.register(questions[i])
		}
		bad := 0
		for i := range questions {
			a, b := pathsIn(want[i]), pathsIn(got[i])
			switch {
			case a != b && qosDiffers(&questions[i].packet, a, b) != "":
				excused[qosDiffers(&questions[i].packet, a, b)]++
			case a != b:
				if bad++; bad <= 3 {
					t.Errorf("seed %d: %s\nOpenSM %s\nibsm   %s", seed, inWords(&questions[i].packet), a, b)
				}
			case strings.Contains(a, "SL"):
				answered++
			default:
				refused++
			}
		}
		if bad > 0 {
			t.Fatalf("seed %d: %d of %d answers differ\n%s\n%s", seed, bad, len(questions), parts, policy)
		}
		same++
	}
	t.Logf("%d policies: %d answers with paths, %d without, all the same", same, answered, refused)
	for reason, n := range excused {
		t.Logf("%d differ: %s", n, reason)
	}
	if answered < 40*count || refused < 10*count {
		t.Error("nearly all requests have the same fate")
	}
}

// qosDiffers is why two answers may differ, "" if they may not.
func qosDiffers(q *mad.Packet, theirs, ours string) string {
	data := q.SAData()
	toItself := q.AttrID() == sarec.AttrPathRecord && string(data[8:24]) == string(data[24:40])
	if q.AttrID() == sarec.AttrMultiPathRecord {
		toItself = string(data[24:40]) == string(data[40:56]) || string(data[24:40]) == string(data[56:72])
	}
	if toItself && strings.Count(theirs, "SL") < strings.Count(ours, "SL") && strings.Contains(ours, "lifetime 0, ") {
		return "a limited member of a partition has a path to itself there; OpenSM lets it talk to full members only"
	}
	return ""
}

// pathsIn are the paths of an answer in words.
func pathsIn(p *mad.Packet) string {
	if p == nil {
		return "nothing"
	}
	if p.Status() == mad.StatusNoRecords {
		return "no path"
	}
	if p.Status() != mad.StatusOK {
		return fmt.Sprint("status ", p.Status())
	}
	var b strings.Builder
	data := p.SAData()
	for at := 0; at+64 <= len(data); at += 64 {
		rec := sarec.PathRecord(data[at : at+64])
		if rec == (sarec.PathRecord{}) {
			break
		}
		_, mtu := rec.MTU()
		_, rate := rec.Rate()
		_, life := rec.PacketLifeTime()
		fmt.Fprintf(&b, "%d to %d: SL %d, MTU %d, rate %d, lifetime %d, P_Key %v, reversible %t; ", rec.SLID(),
			rec.DLID(), rec.SL(), mtu, rate, life, rec.PKey(), rec.Reversible())
	}
	if b.Len() == 0 {
		return "no path"
	}
	return b.String()
}

// TestQoSFileAtStart: a start fails with a policy file that cannot be used, and says where; without QoS nobody reads
// it.
func TestQoSFileAtStart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, text := range map[string]string{"good": "qos-ulps\n default: 1\nend-qos-ulps\n",
		"broken": "qos-ulps\n default: 16\nend-qos-ulps\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		options string
		status  int
		says    string
	}{
		{"-Q -Y good", 0, ""},
		{"-Q", 0, ""},
		{"-Y missing", 0, ""},
		{"-Q -Y broken", 1,
			"ibsm: error: the QoS policy file cannot be used: fix it, or start without -Q: broken:2:11: 16 is out of range; expected 0 to 15"},
		{"-Q -Y missing", 1, "missing: open missing: no such file"},
	} {
		argv := append([]string{program(t, "ibsm"), "--fabric", "fattree:k=4,levels=2", "-o"},
			strings.Fields(c.options)...)
		if r := run(t, dir, caches(t), argv...); r.status != c.status || !strings.Contains(r.stderr, c.says) {
			t.Errorf("%s: exit status %d, want %d and %q\n%s", c.options, r.status, c.status, c.says, r.stderr)
		}
	}
}
