package main_test

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"

	"ibsm/mad"
	"ibsm/mad/sarec"
)

// TestSameAnswers: the same hosts register the same things with OpenSM and with ibsm, and
// random Gets of all records are answered alike, but for the differences listed.
func TestSameAnswers(t *testing.T) {
	seed, count := uint64(1), 4000
	if proof() {
		count = 100_000
	}
	if text := os.Getenv("IBSM_SEED"); text != "" {
		n, err := strconv.ParseUint(text, 0, 64)
		if err != nil {
			t.Fatal(err)
		}
		seed = n
	}
	t.Logf("seed %d (IBSM_SEED), %d requests", seed, count)
	theirs, ours := equalSubnets(t, "fattree:k=4")
	lids, gids := theirs.addresses()
	d := &differ{random: rand.New(rand.NewPCG(seed, 0xd1f)), lids: lids, gids: gids,
		known: map[mad.AttrID][][mad.SADataSize]byte{}, hosts: len(theirs.clients), hostGIDs: theirs.clientGIDs()}
	r := report{t: t, excused: map[string]int{}, unlike: map[string]int{}}
	granted := 0
	for range 100 {
		q := d.registration()
		a, b := theirs.register(q), ours.register(q)
		r.compare(d, []question{q}, []*mad.Packet{a}, []*mad.Packet{b})
		if a.Status() == mad.StatusOK {
			granted++
		}
	}
	const batch = 50
	for range (count + batch - 1) / batch {
		questions := make([]question, batch)
		for i := range questions {
			questions[i] = d.question()
		}
		r.compare(d, questions, theirs.ask(questions), ours.ask(questions))
	}
	t.Logf("%7d registrations were granted", granted)
	r.print()
	for _, s := range shapes {
		if n := len(d.known[s.attr]); s.answered && n == 0 {
			t.Errorf("OpenSM has not answered a single Get(%s) with a record", sarec.AttrName(s.attr))
		}
	}
}

// report is what came of the comparison.
type report struct {
	t       *testing.T
	same    int
	excused map[string]int
	unlike  map[string]int
}

// compare takes the answers to some questions.
func (r *report) compare(d *differ, questions []question, theirs, ours []*mad.Packet) {
	for i := range questions {
		q, a, b := &questions[i].packet, theirs[i], ours[i]
		if a != nil && a.Status() == mad.StatusOK && len(d.known[q.AttrID()]) < 500 {
			known := *a.SAData()
			clear(known[passed:])
			d.known[q.AttrID()] = append(d.known[q.AttrID()], known)
		}
		switch name := judge(q, a, b); name {
		case "":
			r.same++
		case unlisted:
			kind := fmt.Sprintf("%v %s: OpenSM %v, ibsm %v", q.Method(), sarec.AttrName(q.AttrID()), status(a),
				status(b))
			if r.unlike[kind]++; r.unlike[kind] == 1 {
				r.t.Errorf("from host %d\nasked  %s\nOpenSM %s\nibsm   %s", questions[i].from, inWords(q), inWords(a),
					inWords(b))
			}
		default:
			r.excused[name]++
		}
	}
}

func (r *report) print() {
	r.t.Logf("%7d answers are the same", r.same)
	for _, d := range differences {
		r.t.Logf("%7d differ: %s: %s", r.excused[d.name], d.name, d.reason)
	}
	for kind, n := range r.unlike {
		r.t.Errorf("%7d unlike: %s", n, kind)
	}
}

// passed is how many bytes of SA data umad2sim passes: 224 of each packet.
const passed = 168

// differ makes random questions from one seed.
type differ struct {
	random   *rand.Rand
	lids     []mad.LID
	gids     []mad.GID
	known    map[mad.AttrID][][mad.SADataSize]byte // records that were answered
	hosts    int
	hostGIDs []mad.GID
}

// shape is what questions of an attribute are made of.
type shape struct {
	attr     mad.AttrID
	answered bool // some question should be answered with a record
	size     int  // of the record in bytes
	comps    int  // number of its components
	lid      bool // the record begins with a LID
	gids     []int
	// small are offsets of bytes in which small numbers are likely.
	small []int
}

var shapes = []shape{
	{attr: sarec.AttrClassPortInfo, answered: true, size: 72, comps: 0},
	{attr: sarec.AttrNodeRecord, answered: true, size: 108, comps: 14, lid: true},
	{attr: sarec.AttrPortInfoRecord, answered: true, size: 64, comps: 50, lid: true, small: []int{2}},
	{attr: sarec.AttrSLtoVLMappingTableRecord, answered: true, size: 16, comps: 3, lid: true, small: []int{2, 3}},
	{attr: sarec.AttrSwitchInfoRecord, answered: true, size: 28, comps: 3, lid: true},
	{attr: sarec.AttrLinearForwardingTableRecord, answered: true, size: 72, comps: 2, lid: true, small: []int{3}},
	{attr: sarec.AttrMulticastForwardingTableRecord, size: 72, comps: 3, lid: true, small: []int{3}},
	{attr: sarec.AttrSMInfoRecord, answered: true, size: 28, comps: 7, lid: true},
	{attr: sarec.AttrInformInfoRecord, answered: true, size: 60, comps: 2, gids: []int{0}, small: []int{17}},
	{attr: sarec.AttrLinkRecord, answered: true, size: 8, comps: 4, lid: true, small: []int{2, 3}},
	{attr: sarec.AttrGUIDInfoRecord, answered: true, size: 72, comps: 11, lid: true, small: []int{2}},
	{attr: sarec.AttrServiceRecord, answered: true, size: 168, comps: 36, gids: []int{8}},
	{attr: sarec.AttrPKeyTableRecord, answered: true, size: 72, comps: 3, lid: true, small: []int{3, 4}},
	{attr: sarec.AttrPathRecord, answered: true, size: 64, comps: 23, gids: []int{8, 24}},
	{attr: sarec.AttrVLArbitrationTableRecord, answered: true, size: 72, comps: 3, lid: true, small: []int{2, 3}},
	{attr: sarec.AttrMCMemberRecord, answered: true, size: 56, comps: 18, gids: []int{16}},
	{attr: sarec.AttrMultiPathRecord, size: 56, comps: 20},
	{attr: sarec.AttrInformInfo, size: 36, comps: 0},
	{attr: 0x0099, size: 16, comps: 0},
}

func pick[T any](r *rand.Rand, from []T) T { return from[r.IntN(len(from))] }

// question is a random one.
func (d *differ) question() question {
	s := &shapes[d.random.IntN(len(shapes))]
	p := request(mad.MethodGet, s.attr, d.components(s))
	*p.SAData() = d.record(s)
	if d.random.IntN(4) == 0 {
		p.SetSMKey(1) // OpenSM's default, and so ours
	}
	if d.random.IntN(50) == 0 {
		p.SetAttrMod(pick(d.random, []uint32{1, 1 << 31, d.random.Uint32()}))
	}
	return question{d.random.IntN(d.hosts), p}
}

// components are few, mostly, so that something matches.
func (d *differ) components(s *shape) (comps mad.ComponentMask) {
	if s.attr == sarec.AttrPathRecord && d.random.IntN(4) > 0 {
		comps = sarec.PathDGID | sarec.PathSGID
		if d.random.IntN(3) == 0 {
			comps = pick(d.random, []mad.ComponentMask{sarec.PathDLID | sarec.PathSLID, sarec.PathDGID | sarec.PathSLID,
				sarec.PathDLID | sarec.PathSGID})
		}
	} else if s.comps > 0 && d.random.IntN(3) > 0 {
		comps = 1
	}
	if s.comps == 0 || s.attr == sarec.AttrSLtoVLMappingTableRecord {
		return comps // OpenSM answers nobody any more when a port is asked for that a node does not have
	}
	for range d.random.IntN(4) {
		comps |= 1 << d.random.IntN(s.comps)
	}
	if d.random.IntN(30) == 0 {
		comps = mad.ComponentMask(d.random.Uint64()) & (1<<s.comps - 1)
	}
	return comps
}

// record is one that was answered, changed a little, or one with likely values.
func (d *differ) record(s *shape) (data [mad.SADataSize]byte) {
	if known := d.known[s.attr]; len(known) > 0 && d.random.IntN(3) > 0 {
		data = pick(d.random, known)
		if d.random.IntN(2) == 0 {
			return data
		}
	}
	if s.lid {
		binary.BigEndian.PutUint16(data[:], uint16(d.lid()))
	}
	if s.attr == sarec.AttrPathRecord {
		binary.BigEndian.PutUint16(data[40:], uint16(d.lid()))
		binary.BigEndian.PutUint16(data[42:], uint16(d.lid()))
		data[54], data[55], data[56] = byte(d.random.IntN(256)), byte(d.random.IntN(256)), byte(d.random.IntN(256))
		data[49] = byte(d.random.IntN(4)) | byte(d.random.IntN(2))<<7
		binary.BigEndian.PutUint16(data[50:], pick(d.random, []uint16{0xffff, 0x7fff, 0x8001}))
	}
	for _, at := range s.gids {
		gid := pick(d.random, d.gids)
		copy(data[at:], gid[:])
	}
	for _, at := range s.small {
		data[at] = byte(d.random.IntN(6))
	}
	if d.random.IntN(3) == 0 {
		data[d.random.IntN(s.size)] = byte(d.random.IntN(256))
	}
	return data
}

func (d *differ) lid() mad.LID {
	if d.random.IntN(20) == 0 {
		return mad.LID(d.random.IntN(1 << 16))
	}
	return pick(d.random, d.lids)
}

func status(p *mad.Packet) string {
	if p == nil {
		return "no answer"
	}
	return p.Status().String()
}

// registration is a random Set of what clients register: a group that is made or joined,
// a service, a subscription.
func (d *differ) registration() question {
	r := d.random
	from := r.IntN(d.hosts)
	gid := d.hostGIDs[from]
	var p mad.Packet
	switch r.IntN(4) {
	case 0, 1:
		p = request(mad.MethodSet, sarec.AttrMCMemberRecord, sarec.MCMemberMGID|sarec.MCMemberPortGID|
			sarec.MCMemberJoinState)
		rec := (*sarec.MCMemberRecord)(p.SAData()[:56])
		rec.SetMGID(mad.GID{0xff, pick(r, []byte{0x12, 0x15}), 0x40, 0x1b, 0xff, 0xff, 15: byte(1 + r.IntN(6))})
		rec.SetPortGID(gid)
		rec.SetJoinState(pick(r, []uint8{1, 1, 1, 2, 4, 0, 15}))
		rec.SetPKey(pick(r, []mad.PKey{0xffff, 0xffff, 0xffff, 0x8001}))
		rec.SetQKey(0x0b1b)
		rec.SetMTU(sarec.Selector(r.IntN(4)), mad.MTU(r.IntN(7)))
		rec.SetRate(sarec.Selector(r.IntN(4)), mad.Rate(r.IntN(20)))
		rec.SetPacketLifeTime(sarec.Exactly, 18) // OpenSM does not compare it with a group's
		rec.SetScope(rec.MGID()[1] & 15)
		rec.SetSL(uint8(r.IntN(3)))
		p.SetComponentMask(p.ComponentMask() | sarec.MCMemberScope | sarec.MCMemberPacketLifeTimeSelector |
			sarec.MCMemberPacketLifeTime)
		if r.IntN(3) > 0 {
			p.SetComponentMask(p.ComponentMask() | sarec.MCMemberPKey | sarec.MCMemberQKey | sarec.MCMemberSL |
				sarec.MCMemberFlowLabel | sarec.MCMemberTClass)
		}
		if r.IntN(3) == 0 {
			// Selectors and their values go together, so that the subnets stay alike.
			p.SetComponentMask(
				p.ComponentMask() | pick(r, []mad.ComponentMask{sarec.MCMemberMTUSelector | sarec.MCMemberMTU,
					sarec.MCMemberRateSelector | sarec.MCMemberRate, sarec.MCMemberHopLimit, sarec.MCMemberProxyJoin,
					sarec.MCMemberMLID}))
		}
	case 2:
		p = request(mad.MethodSet, sarec.AttrServiceRecord, 0x13)
		if r.IntN(2) == 0 {
			p.SetComponentMask(p.ComponentMask() | sarec.ServiceServicePKey | sarec.ServiceServiceLease)
		}
		rec := (*sarec.ServiceRecord)(p.SAData()[:176])
		rec.SetServiceID(uint64(1 + r.IntN(5)))
		rec.SetServiceGID(gid)
		rec.SetServicePKey(pick(r, []mad.PKey{0xffff, 0xffff, 0x8001}))
		rec.SetServiceLease(pick(r, []uint32{0xffffffff, 3600}))
		copy(p.SAData()[48:], fmt.Sprintf("service %d", r.IntN(5)))
	default:
		p = request(mad.MethodSet, sarec.AttrInformInfo, 0)
		rec := (*sarec.InformInfo)(p.SAData()[:36])
		rec.SetLIDRangeBegin(0xffff)
		rec.SetIsGeneric(1)
		rec.SetSubscribe(pick(r, []uint8{1, 1, 1, 0}))
		rec.SetType(0xffff)
		rec.SetTrapNumber(pick(r, []uint16{64, 65, 66, 67, 128, 0xffff, 257}))
		rec.SetQPN(1)
		rec.SetProducerType(pick(r, []uint32{4, 4, 1, 2}))
	}
	if r.IntN(6) == 0 {
		p.SetSMKey(1)
	}
	return question{from, p}
}
