package main_test

import (
	"context"
	"regexp"
	"slices"
	"strings"
	"testing"

	"ibsm/mad"
	"ibsm/mad/sarec"
	"ibsm/sim/ibsim"
)

// saqueries are saquery's kinds of record with each of their options, where the answer
// fits into one packet, which is all that ibsim lets through; the rig compares whole
// tables. $L is the LID of the host that asks, $S that of its switch, $P the port there,
// $M the LID of the manager's port, $G the GID of a port that has registered something, $A
// of the one that asks. --smkey 1 is the key of the SA.
var saqueries = []string{
	"CPI", "-c",
	"NR $L", "NR $S", "NR 999",
	"PIR $L", "PIR $L/1", "PIR $S/0", "PIR $S/$P", "PIR $S/$P/128", "PIR 999",
	"SL2VL $L", "SL2VL $L/0/0", "SL2VL $L/1", "SL2VL $L/1/2", "SL2VL $S/$P/0", "SL2VL $S/0/$P",
	"VLAR $L/1/1", "VLAR $L/1/3", "VLAR $S/$P/1", "VLAR $S/0/4", "VLAR $S/$P/9",
	"SWIR $S", "SWIR $L", "SWIR",
	"LFTR $S", "LFTR $S/0", "LFTR $S/9", "LFTR $L",
	"MFTR $S", "MFTR $S/0/0", "MFTR $S/0/9", "MFTR $S/9/0", "MFTR $L",
	"SMIR", "SMIR $M", "SMIR $L",
	"LR $L", "LR $S/$P", "LR $L/1 $S/$P", "LR $L $S", "LR $L/2",
	"GIR $L/0", "GIR $S/0", "GIR $L/9",
	"PKTR $L", "PKTR $L/1/0 --smkey 1", "PKTR $S/0/0 --smkey 1", "PKTR $L/1/99 --smkey 1",

	"IIR", "IIR --smkey 1", "-I", "-I --smkey 1", "IIR $G --smkey 1", "IIR fe80::99 --smkey 1",
	"SR", "SR --smkey 1", "-S", "-S --smkey 1",

	"MCMR", "MCMR --smkey 1", "-g", "-m 0xC001", "-m 0xC001 --smkey 1", "-m 0xCFFF",
	"MCMR --mlid 0xC000", "MCMR --mlid 0xCFFF", "MCMR --mgid ff12:401b:ffff::ffff:ffff", "MCMR --mgid ff12::99",
	"MCMR --mgid ff12::98",
	"MCMR --gid $G", "MCMR --gid $G --smkey 1", "MCMR --gid fe80::99", "MCMR --mgid ff12::99 --smkey 1",
	"MCMR --pkey 0xffff", "MCMR --pkey 0x8001", "MCMR --sl 0", "MCMR --sl 3", "MCMR --qkey 0x0b1b",
	"MCMR --qkey 0x1234",
	"MCMR --mtu 0x84", "MCMR --mtu 0x04", "MCMR --mtu 3", "MCMR --mtu 0x43", "MCMR --rate 0x83", "MCMR --rate 0x43",
	"MCMR --rate 2",
	"MCMR --tclass 0", "MCMR --tclass 7", "MCMR --flow_label 0", "MCMR --flow_label 7", "MCMR --hop_limit 0",
	"MCMR --hop_limit 7",
	"MCMR --scope 2", "MCMR --scope 5", "MCMR --join_state 1 --smkey 1", "MCMR --join_state 4 --smkey 1",
	"MCMR --proxy_join 0 --smkey 1",
	"MCMR --pkt_lifetime 0x92", "MCMR --pkt_lifetime 0x52",

	"PR --slid $L --dlid $M", "PR --slid $M --dlid $L", "PR --slid $L --dlid $S", "PR --slid $L --dlid $L",
	"PR --slid $L --dlid 999", "PR --slid $L --dlid $M --numb_path 1", "PR --slid $L --dlid $M --numb_path 0",
	"PR --slid $L --dlid $M --reversible 1", "PR --slid $L --dlid $M --pkey 0xffff",
	"PR --slid $L --dlid $M --pkey 0x8001",
	"PR --slid $L --dlid $M --sl 0", "PR --slid $L --dlid $M --sl 3", "PR --slid $L --dlid $M --qos_class 1",
	"PR --slid $L --dlid $M --mtu 0x83", "PR --slid $L --dlid $M --mtu 0x85", "PR --slid $L --dlid $M --mtu 3",
	"PR --slid $L --dlid $M --mtu 0x44", "PR --slid $L --dlid $M --mtu 6", "PR --slid $L --dlid $M --rate 0x82",
	"PR --slid $L --dlid $M --rate 2", "PR --slid $L --dlid $M --rate 0x43", "PR --slid $L --dlid $M --rate 0x3f",
	"PR --slid $L --dlid $M --pkt_lifetime 0x8a", "PR --slid $L --dlid $M --pkt_lifetime 0x52",
	"PR --slid $L --dlid $M --tclass 7", "PR --slid $L --dlid $M --flow_label 7",
	"PR --slid $L --dlid $M --hop_limit 7",
	"PR --slid $L --dlid $M --service_id 0x1234", "--src-to-dst $L:$M", "--src-to-dst $M:$S",
	"--sgid-to-dgid $A-$G", "PR --sgid $A --dgid $G", "PR --sgid $A --dlid $M", "PR --dgid ff12::99 --slid $L",
	"PR --dgid ff12::98 --slid $L",
	"PR --sgid fe80::99 --dlid $M", "PR --dgid fec0::99 --slid $L",
}

// saDifference is lines that differ from OpenSM's, and why ours are right.
type saDifference struct {
	query, line *regexp.Regexp
	reason      string
}

var saDifferences = []saDifference{
	{regexp.MustCompile(`^(CPI|-c)$`), regexp.MustCompile(`^Capability mask`),
		"OpenSM claims Get and Set of Notice, which it does not answer, and does not claim NDR, whose rates it answers"},
	{regexp.MustCompile(`^PKTR .*/99`), regexp.MustCompile(`.`),
		"OpenSM answers with zeros for a block that is not there"},
	{regexp.MustCompile(`^PIR \$S`), regexp.MustCompile(`^LocalPort:`),
		"a switch names the port that the manager's packet came in by; of two cables side by side either may be the one"},
	{regexp.MustCompile(`^SMIR`), regexp.MustCompile(`^ActCount`), "each manager counts what it does"},
}

// TestSAQuery: where ibsm has taken over from OpenSM, saquery prints what it printed
// before, record by record in any order.
func TestSAQuery(t *testing.T) {
	t.Parallel()
	s := startIbsim(t, example("net.2sw2path4hca").file(t))
	s.conf = "subnet_timeout 17\n" // ibsim keeps none that could be taken over
	theirs := opensm.bringUp(s)
	names := namesToAsk(s)
	registerAll(s, names)
	want := askSA(s, names)
	theirs.stop()
	ours := ibsm.bringUp(s)
	registerAll(s, names)
	got := askSA(s, names)
	ours.stop()
	records := map[string]int{} // by kind
	for i, q := range saqueries {
		kind, _, _ := strings.Cut(q, " ")
		records[kind] += len(want[i])
		if !slices.Equal(got[i], want[i]) {
			t.Errorf("saquery %s: ibsm answers\n%s\nOpenSM\n%s", names.Replace(q), strings.Join(got[i], "\n"),
				strings.Join(want[i], "\n"))
		}
	}
	for kind, n := range records {
		if n == 0 {
			t.Errorf("OpenSM has no answer to any saquery %s", kind)
		}
	}
}

// namesToAsk finds what the names in saqueries stand for.
func namesToAsk(s *simulator) *strings.Replacer {
	s.t.Helper()
	asks := s.net.witnessHost()
	lid := s.find(asks, `Lid:\.+(\d+)`, "smpquery", "-D", "portinfo", "0")[1]
	link := s.find(asks, `(?s)FromLID\.+(\d+)\s+FromPort\.+(\d+)\s+ToPort\.+(\d+)\s+ToLID\.+(\d+)`, "saquery", "LR",
		lid)
	return strings.NewReplacer("$L", lid, "$S", link[4], "$P", link[3],
		"$M", s.find(asks, `sm lid (\d+)`, "sminfo")[1],
		"$A", s.portGID(asks).String(), "$G", s.portGID(s.registrant()).String())
}

// portGID is that of a host's port.
func (s *simulator) portGID(host string) mad.GID {
	s.t.Helper()
	guid, err := mad.ParseGUID(s.find(host, `PortGuid:\.+(0x\w+)`, "smpquery", "-D", "nodeinfo", "0")[1])
	if err != nil {
		s.t.Fatal(err)
	}
	return mad.MakeGID(mad.DefaultPrefix, guid)
}

// registrant is the host whose clients register something; the one that asks is at the
// same switch.
func (s *simulator) registrant() string { return s.net.attachable()[2] }

// find is what a pattern finds in the output of a program.
func (s *simulator) find(host, pattern string, argv ...string) []string {
	s.t.Helper()
	r := s.run(host, argv...)
	m := regexp.MustCompile(pattern).FindStringSubmatch(r.stdout)
	if m == nil {
		s.t.Fatalf("%v prints nothing like %s: %s%s", argv, pattern, r.stdout, r.stderr)
	}
	return m
}

// registerAll has a client make a group, offer a service and subscribe to a trap, and
// another, at the host that asks, join the group.
func registerAll(s *simulator, names *strings.Replacer) {
	s.t.Helper()
	sa := mad.LID(number(names.Replace("$M")))
	gid := s.portGID(s.registrant())
	const join = sarec.MCMemberMGID | sarec.MCMemberPortGID | sarec.MCMemberQKey | sarec.MCMemberPKey |
		sarec.MCMemberTClass |
		sarec.MCMemberSL | sarec.MCMemberFlowLabel | sarec.MCMemberJoinState | sarec.MCMemberPacketLifeTimeSelector |
		sarec.MCMemberPacketLifeTime | sarec.MCMemberScope
	var group sarec.MCMemberRecord
	group.SetMGID(mad.GID{0: 0xff, 1: 0x12, 15: 0x99})
	group.SetPortGID(gid)
	group.SetQKey(0x1234)
	group.SetPKey(mad.DefaultPKey)
	group.SetPacketLifeTime(sarec.Exactly, 18)
	group.SetScope(2)
	group.SetJoinState(1)
	var service sarec.ServiceRecord
	service.SetServiceID(0x1234)
	service.SetServiceGID(gid)
	service.SetServicePKey(mad.DefaultPKey)
	service.SetServiceLease(0xffffffff)
	service.SetServiceName([64]byte{'a', 'b', 'c'})
	service.SetServiceData([64]byte{0: 1, 63: 9})
	var inform sarec.InformInfo
	inform.SetLIDRangeBegin(0xffff)
	inform.SetIsGeneric(1)
	inform.SetSubscribe(1)
	inform.SetType(0xffff)
	inform.SetTrapNumber(128)
	inform.SetProducerType(2)
	s.register(s.registrant(), sa, sarec.AttrMCMemberRecord, join, group[:])
	s.register(s.registrant(), sa, sarec.AttrServiceRecord, sarec.ServiceServiceID|sarec.ServiceServiceGID|
		sarec.ServiceServicePKey|
		sarec.ServiceServiceLease|sarec.ServiceServiceName|sarec.ServiceAllServiceData, service[:])
	s.register(s.registrant(), sa, sarec.AttrInformInfo, 0, inform[:])
	group.SetPortGID(s.portGID(s.net.witnessHost()))
	s.register(s.net.witnessHost(), sa, sarec.AttrMCMemberRecord, join, group[:])
}

// register sends a Set from a host to the SA and waits until it is granted.
func (s *simulator) register(host string, sa mad.LID, attr mad.AttrID, comps mad.ComponentMask, rec []byte) {
	s.t.Helper()
	p, err := ibsim.Dial(s.t.Context(), ibsim.Config{SockName: s.socket, Node: host})
	if err != nil {
		s.t.Fatal(err)
	}
	defer p.Close()
	defer context.AfterFunc(s.t.Context(), func() { p.Close() })()
	d := mad.Datagram{Addr: mad.Addr{LID: sa, QPN: 1}}
	d.Packet.SetHeader(mad.ClassSA, mad.MethodSet, attr, 0)
	d.Packet.SetComponentMask(comps)
	d.Packet.SetTID(mad.TID(attr))
	copy(d.Packet.SAData()[:], rec)
	if _, err := p.Send([]mad.Datagram{d}); err != nil {
		s.t.Fatal(err)
	}
	in := make([]mad.Datagram, 1)
	for !in[0].TimedOut && (!in[0].Packet.IsResponse() || in[0].Packet.AttrID() != attr) {
		if _, err := p.Recv(in); err != nil {
			s.t.Fatal(err)
		}
	}
	if in[0].TimedOut || in[0].Packet.Status() != mad.StatusOK {
		s.t.Fatalf("Set of %s at %s: timed out: %t, %v", sarec.AttrName(attr), host, in[0].TimedOut,
			in[0].Packet.Status())
	}
}

// askSA is what saquery prints for each of saqueries: its records in order, or why there
// are none.
func askSA(s *simulator, names *strings.Replacer) (answers [][]string) {
	for _, q := range saqueries {
		argv := append([]string{"saquery"}, strings.Fields(names.Replace(q))...)
		r := s.run(s.net.witnessHost(), argv...)
		answers = append(answers, saRecords(q, r.stdout+r.stderr))
	}
	return answers
}

var recordBegins = regexp.MustCompile(`Record (group )?dump:$`)

// saRecords cuts what saquery prints into records and puts them in order. Lines that may
// differ are left out.
func saRecords(query, text string) (records []string) {
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		switch {
		case line == "" || mayDiffer(query, line):
		case records == nil || recordBegins.MatchString(line):
			records = append(records, line)
		default:
			records[len(records)-1] += "\n" + line
		}
	}
	slices.Sort(records)
	return records
}

func mayDiffer(query, line string) bool {
	return slices.ContainsFunc(saDifferences, func(d saDifference) bool {
		return d.query.MatchString(query) && d.line.MatchString(line)
	})
}
