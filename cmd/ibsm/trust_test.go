package main_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"ibsm/mad"
	"ibsm/mad/sarec"
	"ibsm/sa"
	"ibsm/topo/net/nettest"
)

type trustedQuery struct {
	query    string
	answered bool
}

// trusted are queries of saquery, each with whether the enhanced trust model answers it without the SA_Key. $L is the
// LID of the host that asks, $M the manager's, $S a switch's. The query of ClassPortInfo is a Get, all others are
// GetTable.
var trusted = []trustedQuery{
	{"CPI", true}, {"SMIR", true}, {"PR --slid $L --dlid $M", true}, {"--src-to-dst $L:$M", true},
	{"PR --slid $M --dlid $L", false}, {"PR", false}, {"PR --dlid $M", false},
	{"NR", false}, {"NR $M", false}, {"PIR $M", false}, {"LR", false}, {"SWIR", false}, {"LFTR $S", false},
	{"PKTR $M/1/0", false}, {"GIR $M/0", false},
	{"MCMR", false}, {"-g", false}, {"SR", false}, {"IIR", false}, {"SL2VL $M", false}, {"VLAR $M/1/1", false},
}

// unsent are the rows of sa.Needs that saquery cannot ask for: TestTrustTable does.
var unsent = []string{
	"PathRecord Get", "MCMemberRecord Get", "MCMemberRecord Set", "MCMemberRecord Delete", "ServiceRecord Get",
	"ServiceRecord Set", "ServiceRecord Delete",
	"InformInfo Set", "SMInfoRecord Get", "GUIDInfoRecord Set", "GUIDInfoRecord Delete",
}

// sent are those that it asks for, by the query.
var sent = map[string]string{"PathRecord GetTable": "PR --slid $L --dlid $M", "ClassPortInfo Get": "CPI",
	"SMInfoRecord GetTable": "SMIR"}

// TestTrust: saquery without the key sees what a host needs, and nothing else; with the key it sees all; with a
// guessed one nothing. The manager names who asked, and osmtest, which shows the key, passes.
func TestTrust(t *testing.T) {
	t.Parallel()
	s := startIbsim(t, example("net.2sw2path4hca").file(t))
	ours := ibsm.bringUp(s)
	names := namesToAsk(s)
	ours.stop()
	s.conf = "sa_enhanced_trust_model TRUE\nsa_check_sgid_spoofing TRUE\nsa_rate_threshold 1000\nsa_key 0x5ec\n"
	for _, need := range sa.Needs {
		row := fmt.Sprintf("%s %v", sarec.AttrName(need.Attr), need.Method)
		if query, is := sent[row]; is == slices.Contains(unsent, row) ||
			is && !slices.ContainsFunc(trusted, func(q trustedQuery) bool {
				return q.answered && q.query == query
			}) {
			t.Errorf("saquery is not tried with %s", row)
		}
	}
	socket := filepath.Join(t.TempDir(), "ctl")
	ibsm.bringUp(s, "--ctl_socket", socket)
	ctl := func(verb ...string) result {
		return run(t, s.dir, nil, append([]string{program(t, "ibsmctl"), "--socket", socket}, verb...)...)
	}
	asks := s.net.witnessHost()
	silence := regexp.MustCompile(`Query SA failed: Connection timed out|Unable to connect`)
	for _, q := range trusted {
		for key, answered := range map[string]bool{"": q.answered, " --smkey 0x5ec": true, " --smkey 0x5ed": false} {
			wait := "100" // ms; an answer may take longer on a busy host
			if answered {
				wait = "5000"
			}
			argv := append([]string{"saquery", "-t", wait}, strings.Fields(names.Replace(q.query+key))...)
			if r := s.run(asks, argv...); silence.MatchString(r.stdout+r.stderr) == answered {
				t.Errorf("saquery %s: status %d\n%s%s", names.Replace(q.query+key), r.status, r.stdout, r.stderr)
			}
		}
	}
	shown := ctl("security")
	for _, want := range []string{
		`fails +m_key `, `fails +sm_key `, `holds +sa_key `, `holds +sa_enhanced_trust_model `,
		`holds +sa_check_sgid_spoofing `,
		`holds +sa_rate_threshold .*1000`, `fails +default partition `, `left as found +congestion control keys`,
	} {
		if !regexp.MustCompile(want).MatchString(shown.stdout) {
			t.Errorf("ibsmctl security does not say %q:\n%s%s", want, shown.stdout, shown.stderr)
		}
	}
	if shown.status != 1 {
		t.Errorf("ibsmctl security: exit status %d with rules that fail", shown.status)
	}
	if r := ctl("security", "offenders"); !regexp.MustCompile(`untrusted +\d+`).MatchString(r.stdout) ||
		!regexp.MustCompile(`bad SM_Key +\d+`).MatchString(r.stdout) {
		t.Errorf("ibsmctl security offenders:\n%s%s", r.stdout, r.stderr)
	}
}

// naming has a request name a port, where a condition of sa.Needs asks for one, and a destination, where that is not 0.
func naming(p mad.Packet, lid mad.LID, gid mad.GID, to mad.LID) mad.Packet {
	switch data := p.SAData(); p.AttrID() {
	case sarec.AttrPathRecord:
		rec, comps := (*sarec.PathRecord)(data[:]), mad.ComponentMask(sarec.PathSGID)
		rec.SetSGID(gid)
		if to != 0 {
			rec.SetDLID(to)
			comps |= sarec.PathDLID
		}
		p.SetComponentMask(comps)
	case sarec.AttrMCMemberRecord:
		(*sarec.MCMemberRecord)(data[:]).SetPortGID(gid)
	case sarec.AttrServiceRecord:
		(*sarec.ServiceRecord)(data[:]).SetServiceGID(gid)
	case sarec.AttrGUIDInfoRecord:
		(*sarec.GUIDInfoRecord)(data[:]).SetLID(lid)
	}
	return p
}

// TestTrustTable: a client asks a manager for every record by every method. With another SA_Key than the manager's it
// has no answer; without one it has an answer if sa.Needs has the record and the method and its condition is fulfilled,
// and to whatever else only with the key. A row that is added to sa.Needs is tried, or fails.
func TestTrustTable(t *testing.T) {
	t.Parallel()
	w := newTestSubnet(t, nettest.Generate(t, "fattree:k=4"))
	w.acknowledges = true
	conf := filepath.Join(t.TempDir(), "opensm.conf")
	const key = 0x5ec
	if err := os.WriteFile(conf,
		[]byte("sa_enhanced_trust_model TRUE\nsa_etm_allow_untrusted_guidinfo_rec TRUE\nsa_key 0x5ec\n"),
		0o600); err != nil {
		t.Fatal(err)
	}
	w.bringUp(program(t, "ibsm"), "--ibsim", "-F", conf, "-f", "stdout", "-s", "0")
	const from, other = 1, 2 // of the clients
	gids, own, another := w.clientGIDs(), w.lid(w.ends[from]), w.lid(w.ends[other])
	type pair struct {
		need   sa.Need
		listed bool
		// questions: with the key, with another one, and without; -1 for none
		shown, guessed, itself, anothers, anywhere int
	}
	var pairs []pair
	var questions []question
	add := func(p mad.Packet, key uint64) int {
		p.SetSMKey(key)
		questions = append(questions, question{from, p})
		return len(questions) - 1
	}
	for attr := mad.AttrID(0); attr < 0x100; attr++ {
		if sarec.AttrName(attr) == fmt.Sprintf("0x%04x", uint16(attr)) && attr != 0x77 { // it has no name
			continue
		}
		for _, m := range []mad.Method{mad.MethodGet, mad.MethodSet, mad.MethodGetTable, mad.MethodDelete} {
			p := pair{need: sa.Need{Attr: attr, Method: m}, anothers: -1, anywhere: -1}
			for _, need := range sa.Needs {
				if need.Attr == attr && need.Method == m {
					p.need, p.listed = need, true
				}
			}
			blank := request(m, attr, 0)
			named, anothers := naming(blank, own, gids[from], another), naming(blank, another, gids[other], own)
			p.shown, p.guessed, p.itself = add(named, key), add(named, key+1), add(named, 0)
			if p.listed && p.need.If != sa.Always {
				if named == blank || named == anothers {
					t.Errorf("%s %v is answered %v, and no request names another port", sarec.AttrName(attr), m,
						p.need.If)
				}
				p.anothers = add(anothers, 0)
			}
			if p.need.If == sa.ToOne {
				p.anywhere = add(naming(blank, own, gids[from], 0), 0)
			}
			pairs = append(pairs, p)
		}
	}
	registers := naming(request(mad.MethodSet, sarec.AttrServiceRecord, 0), own, gids[from], 0)
	registers.SetSMKey(key)
	w.lastly = &question{from, registers}
	var answers []*mad.Packet
	for some := range slices.Chunk(questions, 30) { // more can be dropped at the manager's port before it is read
		answers = append(answers, w.ask(some)...)
	}
	tried, known := map[sa.Need]bool{}, 0
	for _, p := range pairs {
		must := func(how string, i int, want bool) {
			if i >= 0 && want && answers[i] == nil { // it may come late: tables are made beside the other answers
				answers[i] = w.register(questions[i])
			}
			if i >= 0 && (answers[i] != nil) != want {
				t.Errorf("%s %v %s: %s, want an answer: %v", sarec.AttrName(p.need.Attr), p.need.Method, how,
					inWords(answers[i]), want)
			}
		}
		if answers[p.shown] != nil {
			known++
		}
		if p.listed {
			tried[p.need] = true
			must("with the key", p.shown, true)
		}
		must("with another key", p.guessed, false)
		must("without the key", p.itself, p.listed)
		must("without the key, of another port", p.anothers, false)
		must("without the key and a destination", p.anywhere, false)
	}
	for _, need := range sa.Needs {
		if !tried[need] {
			t.Errorf("%s %v was not tried", sarec.AttrName(need.Attr), need.Method)
		}
	}
	if t.Logf("%d pairs, of which %d are answered with the key; %d rows", len(pairs), known,
		len(sa.Needs)); known < 40 {
		t.Errorf("with the key %d pairs are answered", known)
	}
}
