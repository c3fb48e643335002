package manager

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/mad/txn"
	"ibsm/sweep/discover"
	"ibsm/sweep/elect"
	"ibsm/sweep/proof"
	"ibsm/topo"
	"ibsm/view"
)

// election is the state machine of the election: it polls the other subnet managers, and decides
// with elect.Machine which one is master. The Core carries out its decisions, elect.Do.
type election struct {
	*elect.Machine
	authority authority
	reported  smp.SMState // the state that Entered reported last; notReported before the first
	nonces    *proof.Nonces
	askers    map[mad.GUID]proof.Nonce // of the latest Questions, by the port that asks
	route     mad.Route                // to the polled manager
	place     proof.Place              // where that is
	asked     [4]proof.Question        // of the last polls: an answer, or HANDOVER, may come late
	lid       mad.LID                  // its port's; 0 while it has none
	mkey      pollMKey                 // to show to the polled manager's port
	across    pollMKey                 // to show to the agent at the other end of its cable
	others    []discover.SM
	shown     []view.SM     // the same, as Stats shows them; never written again
	ignored   []mad.GUID    // those of them that do not apply; never written again
	metPeer   bool          // another manager that applies has been found since the start
	lost      []discover.SM // the managers that were known when the master was lost
	postponed int           // walks in a row after which taking over was postponed
	reached   int           // nodes that the largest of them found
	waits     waiting
	duplicate bool // another manager has our GUID; this was logged
	interval  time.Duration
}

// authority says whether a MASTER may write.
type authority uint8

const (
	unconfirmed authority = iota // no: the other managers must be asked first
	// yes: every other manager has been asked in this term, and since this one was last paused
	confirmed
)

// waiting says whether a manager waits for agents that do not answer to any M_Key it knows.
type waiting uint8

const (
	waitsNot  waiting = iota
	waitsMKey         // it does: others, which may know them, must not leave the mastership to it
	// it does not any more, and says so until the next walk: that walk ranks it with others that have waited as long
	hasWaited
)

const notReported smp.SMState = 0xff

// Tags of the election's requests.
const (
	tagPoll        uint64 = iota // Get(SMInfo) from the manager that is polled
	tagGuess                     // the same, with another M_Key than the one that its port has answered to
	tagPort                      // Get(PortInfo) from its port
	tagPeer                      // and from the port at the other end of its cable
	tagPeerGuess                 // the same, with another M_Key than the one that the agent has answered to
	tagOwn                       // Get(PortInfo) from our own port, before a priority-change trap
	tagTrap                      // the trap
	tagHandover                  // Set(SMInfo)
	tagAcknowledge               // Set(SMInfo)
	tagOpen                      // Set(PortInfo) that opens an agent to another manager
)

func newElection(cfg *Config) election {
	return election{Machine: elect.New(cfg.Elect), reported: notReported, interval: cfg.Elect.PollInterval,
		nonces: proof.NewNonces(cfg.Salt), askers: map[mad.GUID]proof.Nonce{}}
}

// use sets another configuration.
func (e *election) use(now time.Duration, cfg *Config) {
	e.interval = cfg.Elect.PollInterval
	e.Configure(now, cfg.Elect)
}

// portDown notes that no other manager can be reached.
func (e *election) portDown() {
	e.PortDown()
	e.authority = unconfirmed
}

// enter reports the state; is is false where it is the one that was reported last.
func (e *election) enter(fx *effects) (is bool) {
	s := e.State()
	if s == e.reported {
		return false
	}
	e.reported = s
	fx.do(Entered{s})
	return true
}

// mayWrite reports whether this manager is MASTER and knows of no other.
func (e *election) mayWrite() bool { return e.State() == smp.Master && e.authority == confirmed }

// stall is how long this manager may be paused before another one may have become master: one
// poll interval. A peer ibsm is polled every two seconds. A busy host may pause a process for
// half a second, and no manager is declared dead after one poll.
func (e *election) stall() time.Duration {
	const least, most = 500 * time.Millisecond, 2 * time.Second
	if e.interval > 0 {
		return max(least, min(e.interval, most))
	}
	return most
}

// tick returns the next decision that is due; ok is false if there is none.
func (e *election) tick(fx *effects) (do elect.Do, ok bool) {
	due, ok := e.Due()
	if !ok || due > fx.now {
		return elect.Nothing, false
	}
	polled := e.Polled()
	switch do = e.Tick(fx.now); {
	case do == elect.Poll || do == elect.Look:
	case do == elect.HandOver || e.TimedOut() == polled:
		fx.log(warn, "handing mastership over to a manager that does not mirror client registrations", "guid", polled)
	default:
		fx.log(warn, "the other subnet manager no longer answers", "guid", polled)
	}
	return do, true
}

// done handles the outcome of a request, except a poll or a HANDOVER.
func (e *election) done(fx *effects, o *txn.Outcome, own *ownPort) (do elect.Do) {
	port, polled := (*smp.PortInfo)(&o.Data), e.Polled()
	switch {
	case o.Tag == tagPeer || o.Tag == tagPeerGuess:
		if e.across.heard(o, tagPeerGuess); isOK(o) && port.PortState() == smp.PortDown {
			if do = e.Unplugged(fx.now); do != elect.Nothing {
				fx.log(warn, "the port of the other subnet manager has lost its link", "guid", polled)
			}
		}
	case !isOK(o):
	// the manager, which does not answer to a wrong M_Key, may be well
	case o.Tag == tagPort && e.mkey.isWrong(port) && port.CapabilityMask().Has(smp.IsSM):
	case o.Tag == tagPort:
		if lid := port.LID(); lid.IsUnicast() {
			e.lid = lid // it may have had none, or another, when it was met
		}
		if do = e.Port(fx.now, port.CapabilityMask().Has(smp.IsSM)); do != elect.Nothing {
			fx.log(warn, "the other subnet manager has ended: IsSM is cleared", "guid", polled)
		}
	case o.Tag == tagOwn:
		own.holds(port)
		e.sendTrap(fx, port)
	}
	return do
}

// hidesSMKey reports whether an answer to a poll lacks our SM_Key because the poll showed a wrong M_Key, as OpenSM
// answers then.
func (e *election) hidesSMKey(info *smp.SMInfo) bool {
	return !e.mkey.single && info.SMKey() == 0 && !proof.HasCode(info) && info.GUID() == e.Polled() && e.Ignores(info)
}

// question is the data of Get(SMInfo) to the manager at a place, and the Question in it. Without a secret it asks for
// no proof.
func (e *election) question(place proof.Place) (data smp.SMInfo, q proof.Question) {
	data = e.Question()
	if q = (proof.Question{Asker: data.GUID(), Place: place}); e.HasSecret() {
		q.Nonce = e.nonces.Next()
	}
	q.Put(&data)
	return data, q
}

// walkNonces are those of the Questions of walks and light sweeps, nil where these ask for no proof.
func (e *election) walkNonces() *proof.Nonces {
	if e.HasSecret() {
		return e.nonces
	}
	return nil
}

// verifyPoll reports whether the answer to a poll is a proof.
func (e *election) verifyPoll(info *smp.SMInfo) bool {
	return slices.ContainsFunc(e.asked[:], func(q proof.Question) bool { return e.Verify(&q, info) })
}

// verify looks for proofs in the answers of the managers that a walk found.
func (e *election) verify(sms []discover.SM) {
	for i := range sms {
		sms[i].Proved = e.Verify(&sms[i].Asked, &sms[i].Info)
	}
}

// poll sends Get(SMInfo) to the polled manager.
func (e *election) poll(fx *effects, key mad.MKey, tag uint64) {
	req := urgent(ownerElection, tag, e.route, mad.MethodGet, smp.AttrSMInfo, 0, key)
	copy(e.asked[1:], e.asked[:])
	req.Data, e.asked[0] = e.question(e.place)
	fx.request(req)
}

// look reads whether the port of the polled manager still has IsSM.
func (e *election) look(fx *effects, key mad.MKey) {
	fx.request(urgent(ownerElection, tagPort, e.route, mad.MethodGet, smp.AttrPortInfo, 0, key))
}

// lookAcross reads whether the port at the other end of its cable has a link.
func (e *election) lookAcross(fx *effects, key mad.MKey, tag uint64) {
	if ports := e.route.Ports(); len(ports) > 0 {
		fx.request(urgent(ownerElection, tag, mad.MakeRoute(ports[:len(ports)-1]...), mad.MethodGet, smp.AttrPortInfo,
			uint32(ports[len(ports)-1]), key))
	}
}

// askOwnPort reads the LIDs of our own port. A priority-change trap follows, by which the polled
// master learns that this manager ranks higher.
func (e *election) askOwnPort(fx *effects, key mad.MKey) {
	fx.request(urgent(ownerElection, tagOwn, mad.Route{}, mad.MethodGet, smp.AttrPortInfo, 0, key))
}

// sendTrap sends trap 144 with the flag of a changed priority (IBA 14.2.5.1), to the port at which the walk found the
// master: our port may still name another one, even ourselves. Its M_Key is 0 (14.2.4), because other agents must not
// see the M_Key of our port.
func (e *election) sendTrap(fx *effects, own *smp.PortInfo) {
	to := cmp.Or(e.lid, own.MasterSMLID())
	if !own.LID().IsUnicast() || to == 0 || e.Polled() == 0 {
		return // the master has not discovered our port yet, which then holds LID 0 or 65535
	}
	var n smp.Notice
	n.SetIsGeneric(true)
	n.SetType(smp.NoticeInformational)
	n.SetProducerType(smp.ProducerCA)
	n.SetTrapNumber(smp.TrapLocalChange)
	n.SetIssuerLID(own.LID())
	d := n.LocalChange()
	d.SetLID(own.LID())
	d.SetCapabilityMask(own.CapabilityMask())
	d.SetOtherLocalChanges(true)
	d.SetChangeFlags(smp.ChangedSMPriority)
	req := txn.Request{Owner: ownerElection, Tag: tagTrap, Class: mad.ClassLIDRouted, Addr: mad.Addr{LID: to},
		Method: mad.MethodTrap, Attr: smp.AttrNotice,
		Data: n}
	fx.request(&req)
}

// order sends Set(SMInfo) to the manager at a port that is or was polled. state is the state of the sender that allows
// it. A manager that has shown the SM_Key is shown it; one that has proved that it knows it gets a code.
func (e *election) order(fx *effects, key mad.MKey, mod uint32, to mad.GUID, state smp.SMState, actCount uint32) {
	tag := tagHandover
	if mod == smp.ControlAcknowledge {
		tag = tagAcknowledge
	}
	req := urgent(ownerElection, tag, e.route, mad.MethodSet, smp.AttrSMInfo, mod, key)
	own := e.Info()
	own.SetSMState(state)
	own.SetActCount(actCount)
	if e.HasSecret() {
		i := slices.IndexFunc(e.others, func(o discover.SM) bool { return o.Port == to })
		switch {
		case i < 0 || e.others[i].Info.SMKey() != own.SMKey():
			own.SetSMKey(0)
		case e.others[i].Proved:
			e.Order(mod, to, e.askers[to], &own)
		}
	}
	req.Data = own
	fx.request(req)
}

// answer sends our SMInfo back by the path of the request. A secret SM_Key is shown only to a sender that has shown it,
// which shown says, or the data of the request, and an SM_Key at all only to one that knows the M_Key, if there is one.
// A Question gets a proof.
func (e *election) answer(fx *effects, d *mad.Datagram, status mad.Status, own *ownPort, shown bool, actCount uint32) {
	reply := response(d, mad.MethodGetResp)
	data := (*smp.SMInfo)(d.Packet.Data())
	info := e.Answer(data)
	info.SetActCount(actCount)
	if e.waits == waitsMKey {
		info.SetSMState(smp.NotActive)
	}
	shown = shown || !e.HasSecret() || d.Packet.Method() == mad.MethodSet && data.SMKey() == info.SMKey()
	if !shown || own.mkey != 0 && d.Packet.MKey() != own.mkey {
		info.SetSMKey(0)
	}
	if q, asks := proof.In(data); asks && e.HasSecret() && d.Packet.Method() == mad.MethodGet && own.isAt(&q) {
		e.Prove(&q, &info)
	}
	*reply.Packet.Data() = info
	reply.Packet.SetStatus(status)
	fx.reply(reply)
}

// locate stores the route to the polled manager, and reports whether a walk found one.
func (e *election) locate(found *discover.Result) (known bool) {
	if found == nil {
		return false
	}
	for i := range found.SMs {
		if found.SMs[i].Port == e.Polled() {
			e.route, e.lid, e.place = found.SMs[i].Route, found.SMs[i].LID, found.SMs[i].Asked.Place
			e.mkey, e.across = pollMKey{}, pollMKey{}
			known = true
		}
	}
	return known
}

// locateMet does so for one that is known as others are.
func (e *election) locateMet() {
	for i := range e.others {
		if e.others[i].Info.GUID() == e.Polled() {
			e.route, e.lid, e.place = e.others[i].Route, e.others[i].LID, e.others[i].Asked.Place
		}
	}
}

// met stores the managers that a walk found.
func (e *election) met(sms []discover.SM) {
	e.others = slices.Clone(sms)
	maps.DeleteFunc(e.askers, func(port mad.GUID, _ proof.Nonce) bool { return !e.knows(port) })
	e.shown = make([]view.SM, len(sms))
	for i := range sms {
		e.shown[i] = viewOf(&sms[i].Info, sms[i].LID)
	}
	slices.SortFunc(e.shown, func(a, b view.SM) int { return cmp.Compare(a.GUID, b.GUID) })
	e.sortOut()
}

// masterLost stores the managers that are known, before walks that find others.
func (e *election) masterLost() { e.lost = slices.Clone(e.others) }

// accountsFor reports whether a walk has seen of each manager that was known when the master was lost that it has ended
// where it was, or has heard it, and has heard all others at ports with IsSM.
func (e *election) accountsFor(found *discover.Result) bool {
	b := found.Builder
	heard := func(port mad.GUID) bool {
		return slices.ContainsFunc(found.SMs, func(o discover.SM) bool { return o.Port == port })
	}
	ended := func(o *discover.SM) bool {
		n, is := b.Find(o.Asked.Place.Node)
		if !is || b.Dropped(n) || o.Asked.Place.Port > b.Node(n).NumPorts {
			return false
		}
		from := topo.End{Node: n, Port: o.Asked.Place.Port}
		if at, is := b.PortOwner(o.Port); is && !b.Dropped(at.Node) && b.Port(at) != nil {
			peer := b.Peer(from)
			isThere := peer == at || at.Port == 0 && peer.Node == at.Node
			return isThere && !b.Port(at).CapabilityMask().Has(smp.IsSM)
		}
		info := b.Port(from)
		return info != nil && info.PortState() == smp.PortDown
	}
	for i := range e.lost {
		if o := &e.lost[i]; !e.Ignores(&o.Info) && !heard(o.Port) && !ended(o) {
			return false
		}
	}
	for n := range int32(b.Len()) {
		for num := range int(b.Node(n).NumPorts) + 1 {
			at := topo.End{Node: n, Port: uint8(num)}
			info, isEnd := b.Port(at), b.Node(n).Type != mad.Switch || num == 0
			if info != nil && isEnd && !b.Dropped(n) && at != b.Self() && info.CapabilityMask().Has(smp.IsSM) &&
				!heard(b.PortGUID(at)) {
				return false
			}
		}
	}
	return len(e.lost) > 0
}

// sortOut notes which of the others do not apply, and whether one does.
func (e *election) sortOut() {
	e.ignored = nil
	for i := range e.others {
		if e.Ignores(&e.others[i].Info) {
			e.ignored = append(e.ignored, e.others[i].Port)
		}
	}
	e.metPeer = e.metPeer || slices.ContainsFunc(e.others, func(o discover.SM) bool {
		return o.Info.SMState() != smp.NotActive && !slices.Contains(e.ignored, o.Port)
	})
}

// awaitsStandby reports whether another manager has been there, or the list of allowed ports names another one.
func (e *election) awaitsStandby(own mad.GUID, allowed []mad.GUID) bool {
	return e.metPeer || slices.ContainsFunc(allowed, func(g mad.GUID) bool { return g != own })
}

// maxAskers bounds the ports whose Questions are remembered beside those of known managers.
const maxAskers = 64

// asks stores the nonce of a manager that asks, which may not be known yet.
func (e *election) asks(q *proof.Question) {
	if _, has := e.askers[q.Asker]; has || len(e.askers) < maxAskers+len(e.others) {
		e.askers[q.Asker] = q.Nonce
	}
}

// heard stores the SMInfo of another manager, which is proved or not.
func (e *election) heard(info *smp.SMInfo, proved bool) {
	for i := range e.others {
		if o := &e.others[i]; o.Info.GUID() == info.GUID() {
			o.Info, o.Proved = *info, proved
		}
	}
	e.sortOut()
	for i := range e.shown {
		if r := &e.shown[i]; r.GUID == info.GUID() {
			if now := viewOf(info, r.LID); now != *r {
				e.shown = slices.Clone(e.shown)
				e.shown[i] = now
			}
		}
	}
}

// infos are the SMInfo of the other managers.
func infos(sms []discover.SM) []smp.SMInfo {
	all := make([]smp.SMInfo, len(sms))
	for i := range sms {
		all[i] = sms[i].Info
	}
	return all
}

func viewOf(info *smp.SMInfo, lid mad.LID) view.SM {
	return view.SM{GUID: info.GUID(), LID: lid, Priority: info.Priority(), State: uint8(info.SMState()),
		ActCount: info.ActCount()}
}

// self is this manager, with the LID of its port.
func (e *election) self(lid mad.LID, actCount uint32) view.SM {
	own := e.Info()
	sm := viewOf(&own, lid)
	sm.ActCount = actCount
	return sm
}
