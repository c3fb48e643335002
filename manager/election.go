package manager

import (
	"cmp"
	"slices"
	"time"

	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/mad/txn"
	"ibsm/sweep/discover"
	"ibsm/sweep/elect"
	"ibsm/view"
)

// election is the state machine of the election: it polls the other subnet managers, and decides
// with elect.Machine which one is master. The Core carries out its decisions, elect.Do.
type election struct {
	*elect.Machine
	authority authority
	reported  smp.SMState // the state that Entered reported last; notReported before the first
	route     mad.Route   // to the polled manager
	lid       mad.LID     // its port's; 0 while it has none
	mkey      pollMKey    // to show to the polled manager's port
	across    pollMKey    // to show to the agent at the other end of its cable
	others    []discover.SM
	shown     []view.SM  // the same, as Stats shows them; never written again
	ignored   []mad.GUID // those of them that do not apply; never written again
	metPeer   bool       // another manager that applies has been found since the start
	postponed int        // walks in a row after which taking over was postponed
	reached   int        // nodes that the largest of them found
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
	return election{Machine: elect.New(cfg.Elect), reported: notReported, interval: cfg.Elect.PollInterval}
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

// hidesSMKey reports whether an answer to a poll lacks our SM_Key because the poll showed a wrong M_Key: see answer.
func (e *election) hidesSMKey(info *smp.SMInfo) bool {
	return !e.mkey.single && info.SMKey() == 0 && info.GUID() == e.Polled() && e.Ignores(info)
}

// poll sends Get(SMInfo) to the polled manager.
func (e *election) poll(fx *effects, key mad.MKey, tag uint64) {
	req := urgent(ownerElection, tag, e.route, mad.MethodGet, smp.AttrSMInfo, 0, key)
	req.Data = e.Question()
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

// order sends Set(SMInfo) to the manager that is or was polled. state is the state of the sender
// that allows it.
func (e *election) order(fx *effects, key mad.MKey, mod uint32, state smp.SMState, actCount uint32) {
	tag := tagHandover
	if mod == smp.ControlAcknowledge {
		tag = tagAcknowledge
	}
	req := urgent(ownerElection, tag, e.route, mad.MethodSet, smp.AttrSMInfo, mod, key)
	own := e.Info()
	own.SetSMState(state)
	own.SetActCount(actCount)
	req.Data = own
	fx.request(req)
}

// answer sends our SMInfo back by the path of the request. It has the SM_Key only for a manager
// that knows the M_Key, if there is one: else any host could read it.
func (e *election) answer(fx *effects, d *mad.Datagram, status mad.Status, own *ownPort, actCount uint32) {
	reply := response(d, mad.MethodGetResp)
	info := e.Answer((*smp.SMInfo)(d.Packet.Data()))
	info.SetActCount(actCount)
	if e.waits == waitsMKey {
		info.SetSMState(smp.NotActive)
	}
	if own.mkey != 0 && d.Packet.MKey() != own.mkey {
		info.SetSMKey(0)
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
			e.route, e.lid = found.SMs[i].Route, found.SMs[i].LID
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
			e.route, e.lid = e.others[i].Route, e.others[i].LID
		}
	}
}

// met stores the managers that a walk found.
func (e *election) met(sms []discover.SM) {
	e.others = slices.Clone(sms)
	e.shown = make([]view.SM, len(sms))
	for i := range sms {
		e.shown[i] = viewOf(&sms[i].Info, sms[i].LID)
	}
	slices.SortFunc(e.shown, func(a, b view.SM) int { return cmp.Compare(a.GUID, b.GUID) })
	e.sortOut()
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

// heard stores the SMInfo of another manager.
func (e *election) heard(info *smp.SMInfo) {
	for i := range e.others {
		if o := &e.others[i]; o.Info.GUID() == info.GUID() {
			o.Info = *info
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
