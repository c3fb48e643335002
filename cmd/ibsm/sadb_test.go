package main_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"ibsm/mad"
	"ibsm/mad/sarec"
	"ibsm/registry"
	"ibsm/topo/net/nettest"
)

// dumper is a directory for a manager's dump files, with a configuration that has it
// write what is registered there.
type dumper struct{ dir, conf string }

func newDumper(t *testing.T) dumper {
	t.Helper()
	d := dumper{dir: t.TempDir()}
	d.conf = filepath.Join(d.dir, "opensm.conf")
	if err := os.WriteFile(d.conf, []byte("force_log_flush TRUE\nsa_db_dump TRUE\ndump_files_dir "+d.dir+"\n"),
		0o666); err != nil {
		t.Fatal(err)
	}
	return d
}

func (d dumper) file() string { return filepath.Join(d.dir, "opensm-sa.dump") }

// dumpDiffers is what two managers write differently: the Q_Key of QP1, which is 0 on a simulator; the
// time, and what is left of a lease then; the creator of a group, if he has left; how long
// a subscriber takes; and the index of the P_Key by which a request came, which ibsim's umad2sim leaves as
// it finds it in memory.
var dumpDiffers = regexp.MustCompile(
	`remote_qkey=\w+|pkey_ix=\w+|modified_time=\w+|lease_period=0x[0-9a-e]\w*|(qkey=.*)?port_gid=\S+ (qkey=\w+ mlid)|qpn_resp_time_val=\w+`)

// records are those of the file in order. Those of members have their group's MGID before
// them; blocks of GUIDs without an alias are left out.
func (d dumper) records(t *testing.T) (all []string) {
	t.Helper()
	text, err := os.ReadFile(d.file())
	if err != nil {
		t.Fatal(err)
	}
	group := ""
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(dumpDiffers.ReplaceAllString(line, "$2"))
		switch kind, rest, _ := strings.Cut(line, ":"); {
		case line == "" || kind == "GUIDInfo Record" && strings.Count(line, "=0x0000000000000000") == 8:
			continue
		case strings.HasPrefix(kind, "MC Group"):
			group, _, _ = strings.Cut(rest, " mlid")
		case kind == "mcm_port":
			line = group + line
		}
		all = append(all, line)
	}
	slices.Sort(all)
	return all
}

// registerWithOpenSM has clients register what OpenSM's SA database has room for, and
// returns questions to which the answers show it.
func registerWithOpenSM(w *testSubnet) (questions []question) {
	w.t.Helper()
	lids, gids := w.addresses()
	d := &differ{random: rand.New(rand.NewPCG(7, 0xd1f)), lids: lids, gids: gids,
		known: map[mad.AttrID][][mad.SADataSize]byte{}, hosts: len(w.clients), hostGIDs: w.clientGIDs()}
	for range 100 {
		w.register(d.registration())
	}
	grant := func(q question) {
		w.t.Helper()
		if a := w.register(q); a.Status() != mad.StatusOK {
			w.t.Fatalf("%s\nis answered %s", inWords(&q.packet), inWords(a))
		}
	}
	groups := []mad.GID{registry.BroadcastMGID(mad.DefaultPKey, 2), {0: 0xff, 1: 0x15, 3: 0x1b, 15: 9},
		{0: 0xff, 1: 0x12, 3: 0x1b, 15: 8}}
	for i, state := range []uint8{1, 9, 3, 4, 2} {
		for _, mgid := range groups {
			p := request(mad.MethodSet, sarec.AttrMCMemberRecord, sarec.MCMemberMGID|sarec.MCMemberPortGID|
				sarec.MCMemberJoinState)
			rec := (*sarec.MCMemberRecord)(p.SAData()[:56])
			rec.SetMGID(mgid)
			rec.SetPortGID(d.hostGIDs[i])
			rec.SetJoinState(state)
			if mgid != groups[0] {
				rec.SetQKey(0x1234)
				rec.SetPKey(mad.DefaultPKey)
				rec.SetFlowLabel(0x12345)
				rec.SetHopLimit(9)
				p.SetComponentMask(p.ComponentMask() | sarec.MCMemberQKey | sarec.MCMemberPKey | sarec.MCMemberTClass |
					sarec.MCMemberSL | sarec.MCMemberFlowLabel | sarec.MCMemberHopLimit)
			}
			grant(question{i, p})
			p = request(mad.MethodGet, sarec.AttrMCMemberRecord, sarec.MCMemberMGID|sarec.MCMemberPortGID)
			rec = (*sarec.MCMemberRecord)(p.SAData()[:56])
			rec.SetMGID(mgid)
			rec.SetPortGID(d.hostGIDs[i])
			p.SetSMKey(1)
			questions = append(questions, question{9, p})
		}
	}
	p := request(mad.MethodSet, sarec.AttrServiceRecord, sarec.ServiceServiceID|sarec.ServiceServiceGID|
		sarec.ServiceServicePKey|sarec.ServiceServiceLease|
		sarec.ServiceServiceKey|sarec.ServiceServiceName|sarec.ServiceAllServiceData)
	rec := (*sarec.ServiceRecord)(p.SAData()[:176])
	rec.SetServiceID(0x123456789abcdef0)
	rec.SetServiceGID(d.hostGIDs[2])
	rec.SetServicePKey(mad.DefaultPKey)
	rec.SetServiceLease(3600)
	rec.SetServiceKey([16]byte{1, 15: 16})
	rec.SetServiceName([64]byte{'a', ' ', '"', 0xff})
	rec.SetServiceData([64]byte{1, 2, 16: 3, 32: 4, 48: 5})
	grant(question{2, p})
	p = request(mad.MethodSet, sarec.AttrGUIDInfoRecord, sarec.GUIDInfoLID|sarec.GUIDInfoBlockNum|
		sarec.GUIDInfoGUID0<<1|sarec.GUIDInfoGUID0<<3)
	guids := (*sarec.GUIDInfoRecord)(p.SAData()[:72])
	guids.SetLID(w.lid(w.ends[4]))
	guids.GUIDInfo()[8+7], guids.GUIDInfo()[24+7] = 0x77, 0x79
	grant(question{4, p})
	p.SetMethod(mad.MethodGet)
	p.SetComponentMask(sarec.GUIDInfoLID | sarec.GUIDInfoBlockNum)
	return append(questions, question{4, p})
}

// TestSADB: what hosts have registered with OpenSM goes by its SA database to ibsm and
// back: the same groups with the same MLIDs, members, subscriptions, services and alias
// GUIDs, in the files and in answers.
func TestSADB(t *testing.T) {
	t.Parallel()
	n := nettest.Generate(t, "fattree:k=4")
	w := newTestSubnet(t, n)
	files := []dumper{newDumper(t), newDumper(t), newDumper(t)}
	byOpenSM := func(d dumper, more ...string) []string {
		return append([]string{"ibsim-run", "opensm", "-F", d.conf, "-f", "stdout", "-s", "0", "-R", "minhop"}, more...)
	}
	w.bringUp(byOpenSM(files[0])...)
	questions := registerWithOpenSM(w)
	answers := []string{answersTo(w, questions)}
	w.manager.stop()

	w.bringUp(program(t, "ibsm"), "--ibsim", "-F", files[1].conf, "-f", "stdout", "-s", "0", "-R", "minhop", "-S",
		files[0].file())
	answers = append(answers, answersTo(w, questions))
	w.manager.stop()

	w.bringUp(byOpenSM(files[2], "-S", files[1].file())...)
	answers = append(answers, answersTo(w, questions))
	again := request(mad.MethodSet, sarec.AttrMCMemberRecord, sarec.MCMemberMGID|sarec.MCMemberPortGID|
		sarec.MCMemberJoinState)
	rec := (*sarec.MCMemberRecord)(again.SAData()[:56])
	rec.SetMGID(registry.BroadcastMGID(mad.DefaultPKey, 2))
	rec.SetPortGID(w.clientGIDs()[0])
	rec.SetJoinState(1)
	w.register(question{0, again}) // which he is: OpenSM writes no file without a change
	w.manager.stop()
	want := files[0].records(t)
	if len(want) < 40 {
		t.Fatalf("OpenSM wrote %d records:\n%s", len(want), strings.Join(want, "\n"))
	}
	for i, name := range []string{"OpenSM", "ibsm", "OpenSM after ibsm"} {
		if got := files[i].records(t); !slices.Equal(got, want) {
			t.Errorf("%s has not what OpenSM had: %s", name, onlyInOne(got, want))
		}
		if answers[i] != answers[0] {
			t.Errorf("%s answers\n%s\nOpenSM\n%s", name, answers[i], answers[0])
		}
	}
}

// answersTo are the answers to questions, in words.
func answersTo(w *testSubnet, questions []question) string {
	w.t.Helper()
	var b strings.Builder
	for i, a := range w.ask(questions) {
		fmt.Fprintln(&b, i, inWords(a))
	}
	return b.String()
}

// onlyInOne is what only one of two sorted lists has.
func onlyInOne(a, b []string) string {
	var text strings.Builder
	for _, line := range a {
		if !slices.Contains(b, line) {
			text.WriteString("\n+ " + line)
		}
	}
	for _, line := range b {
		if !slices.Contains(a, line) {
			text.WriteString("\n- " + line)
		}
	}
	return text.String()
}

// TestSADBReregister: a database that is whole leaves it to no_clients_rereg whether clients
// are asked to register again; after one that is not, or is of another subnet, they are.
func TestSADBReregister(t *testing.T) {
	t.Parallel()
	const member = "MC Group 0xc001 : mgid=0xff12001b00000000:0x1 port_gid=0x0:0x0 qkey=0x1 mlid=0xc001 mtu=0x84 tclass=0x0 pkey=0xffff rate=0x83 pkt_life=0x92 sl_flow_hop=0x0 scope_state=0x21 proxy_join=0x0\n" +
		"mcm_port: port_gid=0xfe80000000000000:0x11 scope_state=0x21 proxy_join=0x0\n" +
		// a host that is there
		"mcm_port: port_gid=0xfe80000000000000:0xb83fd20300a00010 scope_state=0x21 proxy_join=0x0\n"
	for _, tt := range []struct {
		name, text    string
		asked, loaded bool
	}{
		{"whole", member, false, true},
		{"broken", member + "Service Record: id=0x1\n", true, true},
		{"of another subnet", strings.Replace(member, "b83fd203", "b83fd204", 1), true, false},
		{"missing", "", true, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			n := nettest.Generate(t, "fattree:k=4,levels=2")
			w, d := newTestSubnet(t, n), newDumper(t)
			file := filepath.Join(t.TempDir(), "sa.dump")
			if tt.text != "" {
				if err := os.WriteFile(file, []byte(tt.text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			conf, err := os.OpenFile(d.conf, os.O_APPEND|os.O_WRONLY, 0)
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(conf, "no_clients_rereg TRUE\nsa_db_file %s\n", file)
			if err := conf.Close(); err != nil {
				t.Fatal(err)
			}
			w.bringUp(program(t, "ibsm"), "--ibsim", "-F", d.conf, "-f", "stdout", "-s", "0")
			if got := w.reregister(); got != tt.asked {
				t.Errorf("clients were asked to register again: %t", got)
			}
			w.manager.stop()
			if loaded := slices.ContainsFunc(d.records(t), func(r string) bool {
				return strings.Contains(r, "MC Group 0xc001")
			}); loaded != tt.loaded {
				t.Errorf("the group was loaded: %t", loaded)
			}
		})
	}
}

// TestSADBAtTakeover: on ibsim a standby of OpenSM can read none of its tables, and says so;
// when OpenSM dies it goes on with what is in OpenSM's SA database then, and asks clients to
// register again.
func TestSADBAtTakeover(t *testing.T) {
	t.Parallel()
	n := nettest.Generate(t, "fattree:k=4")
	w := newTestSubnetOf(t, n, 2)
	theirs, ours := newDumper(t), newDumper(t)
	w.bringUp("ibsim-run", "opensm", "-F", theirs.conf, "-f", "stdout", "-s", "0", "-R", "minhop", "-p", "9")
	conf, err := os.OpenFile(ours.conf, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprint(conf, polling+"mirror_with_default_keys TRUE\n")
	if err := conf.Close(); err != nil {
		t.Fatal(err)
	}
	standby := w.start(w.hosts[1], program(t, "ibsm"), "--ibsim", "-F", ours.conf, "-f", "stdout", "-s", "0", "-R",
		"minhop", "-S", theirs.file())
	standby.await("Entering STANDBY state")
	questions := registerWithOpenSM(w)
	answers := answersTo(w, questions)
	standby.await("may be incomplete")
	if line := standby.await("\n"); !strings.Contains(line, "the response is not an RMPP transfer, as on ibsim") {
		t.Errorf("logged %s", line)
	}
	resweep(w.manager) // which writes the file at its end
	resweep(w.manager)
	want := theirs.records(t)
	w.reregister()
	w.manager.kill()
	standby.await("SUBNET UP")
	if !w.reregister() {
		t.Error("clients were not asked to register again")
	}
	if got := answersTo(w, questions); got != answers {
		t.Errorf("ibsm answers\n%s\nOpenSM\n%s", got, answers)
	}
	standby.stop()
	if got := ours.records(t); !slices.Equal(got, want) {
		t.Errorf("ibsm has not what OpenSM had: %s", onlyInOne(got, want))
	}
}
