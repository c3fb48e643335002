package sa

import (
	"time"

	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/mad/txn"
	"ibsm/registry"
	"ibsm/sa/mirror"
	"ibsm/topo"
	"ibsm/view"
)

// ReplyTimeout is how long the reply to a request that changed the registry waits until the
// change is on disk and in the switches' tables. After that the reply is sent anyway: Linux
// waits three seconds for a join.
const ReplyTimeout = time.Second

// Limits of a Registrar. Requests beyond them are refused with StatusNoResources or dropped,
// and counted.
const (
	maxPending       = 1 << 16 // replies that wait
	maxClientPending = 1 << 10 // of one LID
	maxGroups        = 1 << 17
	maxMembers       = 1 << 20
	// groups that one port GID has joined, and memberships that a port has made for other ports
	maxPortMembers   = 1 << 14
	maxServices      = 1 << 16
	maxPortServices  = 1 << 10 // that one port has registered, wherever they are
	maxSubscriptions = 1 << 18
	maxPortSubs      = 1 << 10 // of one subscriber
	maxEvents        = 1 << 14 // notices that wait to be compared with subscriptions
	maxReports       = 1 << 18 // Reports that wait
	maxPortReports   = 1 << 8  // for one subscriber
	matchesAStep     = 1 << 17 // subscriptions that one Step compares with notices
)

// RegistrarConfig of a Registrar. The zero value means the stated defaults.
type RegistrarConfig struct {
	// Groups are those of the configuration, which exist without members. An MLID or a
	// PacketLifeTime of 0 is filled in.
	Groups []registry.Group
	// Defaulted are those of Groups whose MTU and rate are the defaults of the settings. One that has members when this
	// manager becomes master keeps its own, until the configuration changes them.
	Defaulted map[mad.GID]bool
	// NewMTU and NewRate are those of groups that a join creates without naming them, as far as its port has them; 0
	// for the most that it has.
	NewMTU  mad.MTU
	NewRate mad.Rate
	// MLIDs says how MLIDs are chosen. Last is lowered to the highest MLID that the switches
	// support.
	MLIDs registry.MLIDPolicy
	// Began is the wall time at time 0, in seconds since 1970.
	Began int64
	// Grace is how long a port may be absent before what it has registered is dropped;
	// 5 minutes.
	Grace time.Duration
	// AnyJoin accepts joins whose values differ from the group's, and AnyIPoIB accepts new
	// groups of IP over InfiniBand whose values differ from the broadcast group's.
	AnyJoin, AnyIPoIB bool
	// DropSubscriptions removes the subscriptions of a port as soon as it is absent.
	DropSubscriptions bool
	// AssignedGUID are bits 39-32 of the alias GUIDs that the SA makes.
	AssignedGUID uint8
	// Reports are the time-outs and retries of Reports.
	Reports txn.Config
	// Mirror is the configuration of mirroring.
	Mirror mirror.Config
	// Salt is random: another one for each Registrar.
	Salt mirror.Salt
	// Callers says which groups the partitions of callers get.
	Callers CallerGroups
}

func (c RegistrarConfig) withDefaults(began int64) RegistrarConfig {
	c.Began = began
	if c.Grace <= 0 {
		c.Grace = 5 * time.Minute
	}
	return c
}

// Registrar is the half of the SA that changes the registry: it takes Set and
// Delete of MCMemberRecord, ServiceRecord, InformInfo and GUIDInfoRecord, and sends
// Reports to subscribers. It has no clock and does no I/O. It belongs to one
// goroutine, and so does its Registry.
type Registrar struct {
	cfg   RegistrarConfig
	reg   *registry.Registry
	stats *Stats
	count RegistrarStats

	view      *view.View // nil while this manager is not master
	responder *Responder // validates requests, as for the other half of the SA
	last      mad.LID    // the highest MLID that all switches forward

	now     time.Duration
	effects Effects
	asks    mad.GUID // the port whose request is served; 0 for none

	mirrored    mirrored
	handover    handover
	pending     pending
	orders      partitionOrders
	writing     map[blockKey][]mad.Datagram // replies that wait for a port's GUIDInfo
	guids       map[blockKey]guidWrite      // blocks that ports are not known to hold
	regrouped   regrouped
	reports     reports
	reset       []mad.GUID            // ports found in INIT, without a View yet
	vPortsReset []VPortAt             // likewise
	places      map[mad.GUID]mad.GUID // ports behind which vPorts were last up, until they are absent for long
	absent      absences
	tally       tally
	quietUntil  time.Duration    // until then no port is reported at its share of the MLIDs
	expiry      int64            // when the next lease ends, in seconds since 1970; 0 none
	withoutMLID map[mad.GID]bool // groups of the configuration that got no MLID, which was logged
	newTerms    map[mad.GID]bool // groups of the configuration whose MTU or rate a reload has changed
	nextMGID    uint32           // where to look for the next MGID that the SA makes
	nextGUID    uint32           // and for the next alias GUID
}

// Effects are what the caller must do, in this order.
type Effects struct {
	// Changes are for the store, and State is the registry after them; nil if there are
	// none. Without Changes, State replaces the previous one. Queries are answered from
	// State before anything in Send leaves.
	Changes []registry.Change
	State   *registry.State
	GUIDs   []GUIDBlock    // to write to ports; GUIDsWritten reports each outcome
	Send    []mad.Datagram // replies, Reports, and to other managers
	// Reregister are ports whose clients have to register again.
	Reregister []mad.GUID
	// Crowded is a port that has created groups on as many MLIDs as are free, 0 for none. It
	// is reported once a minute at most.
	Crowded mad.GUID
	Heard   Heard // has a Master when the one that is followed sent an update
	// Complete is the handover target when it has everything. From then on requests of
	// clients are dropped, until the next PrepareHandover.
	Complete mad.GUID
	// OtherVersion is a standby that speaks another version of the mirror's protocol, so that it is not mirrored to.
	OtherVersion mirror.OtherVersion
	// Answered are orders about partitions, whose callers may ask about State at once.
	Answered []PartitionAnswered
}

// GUIDBlock is the wanted value of a block of a port's GUIDs.
type GUIDBlock struct {
	Port  mad.GUID
	Block uint8
	GUIDs smp.GUIDInfo
}

// NewRegistrar returns the owner of a registry, which may be empty.
// Requests are counted in stats, together with those of Responders.
func NewRegistrar(cfg RegistrarConfig, reg *registry.Registry, stats *Stats) *Registrar {
	r := &Registrar{
		cfg: cfg.withDefaults(cfg.Began), reg: reg, stats: stats,
		mirrored: mirrored{source: mirror.NewSource(cfg.Mirror, cfg.Salt),
			follower: mirror.NewFollower(cfg.Mirror, cfg.Began, cfg.Salt), reader: mirror.NewReader(cfg.Mirror)},
		pending: newPending(), regrouped: newRegrouped(), writing: map[blockKey][]mad.Datagram{},
		guids:   map[blockKey]guidWrite{},
		places:  map[mad.GUID]mad.GUID{},
		reports: newReports(txn.New(cfg.Reports), 0), absent: newAbsences(), tally: newTally(&reg.State),
		nextMGID: 1, nextGUID: 1,
	}
	r.pending.durable, r.pending.forwarded = reg.Seq(), reg.Seq()
	_, r.expiry = reg.Expired(0)
	return r
}

// State is the present registry.
func (r *Registrar) State() *registry.State { return r.reg.Freeze() }

// Step takes an event at a time, which must not run backwards. The Effects are valid
// until the next Step.
func (r *Registrar) Step(now time.Duration, ev Event) *Effects {
	r.now = now
	r.effects = Effects{Changes: r.effects.Changes[:0], GUIDs: r.effects.GUIDs[:0], Send: r.effects.Send[:0],
		Answered: r.effects.Answered[:0]}
	seq := r.reg.Seq()
	r.take(ev)
	r.timers()
	r.settle()
	r.report()
	switch {
	case r.mirrored.adopted: // Changes do not lead here from the State before
		r.mirrored.adopted, r.effects.Changes, r.effects.State = false, r.effects.Changes[:0], r.reg.Freeze()
	case r.reg.Seq() != seq:
		r.effects.State = r.reg.Freeze()
	}
	r.mirrorOut()
	r.handOver()
	return &r.effects
}

// timers does what is due.
func (r *Registrar) timers() {
	if r.view == nil {
		if x, ended := r.mirrored.reader.Expire(r.now); ended {
			r.read(x)
		}
		return
	}
	if r.expiry != 0 && r.expiry <= r.wall() {
		var changes []registry.Change
		changes, r.expiry = r.reg.Expired(r.wall())
		r.count.Expired += uint64(len(changes))
		r.apply(changes...)
	}
	for {
		port, ok := r.absent.due(r.now - r.cfg.Grace)
		if !ok {
			break
		}
		r.drop(port)
		r.count.Absent++
	}
	r.rewriteGUIDs()
}

// Deadline is when the caller must call Step even without an event; false for never.
func (r *Registrar) Deadline() (at time.Duration, ok bool) {
	if r.view == nil {
		return r.mirrored.deadline()
	}
	earlier := func(t time.Duration, set bool) {
		if set && (!ok || t < at) {
			at, ok = t, true
		}
	}
	earlier(time.Duration(r.expiry-r.cfg.Began)*time.Second, r.expiry != 0)
	since, waits := r.absent.first()
	earlier(since+r.cfg.Grace, waits)
	earlier(r.pending.deadline())
	if len(r.orders.waiting) > 0 {
		earlier(r.orders.waiting[0].due, true)
	}
	earlier(r.nextRewrite())
	earlier(r.reports.deadline(r.now))
	earlier(r.mirrored.deadline())
	earlier(r.handover.until, r.handover.state == draining)
	return at, ok
}

// wall is the time in seconds since 1970.
func (r *Registrar) wall() int64 { return r.cfg.Began + int64(r.now/time.Second) }

// apply applies changes, and sends Reports of groups that they create and delete. It returns
// false if the registry refuses one.
func (r *Registrar) apply(changes ...registry.Change) bool {
	for _, c := range changes {
		mgid, grouped := groupOf(c)
		before := r.reg.FullMembers(mgid)
		group, _ := r.reg.Group(mgid)
		r.tally.count(&r.reg.State, c)
		if err := r.reg.Apply(c); err != nil {
			r.tally = newTally(&r.reg.State)
			r.count.Refused++
			return false
		}
		r.effects.Changes = append(r.effects.Changes, c)
		if !grouped {
			continue
		}
		switch after := r.reg.FullMembers(mgid); {
		case before == 0 && after > 0:
			group, _ = r.reg.Group(mgid)
			r.groupEvent(smp.TrapGroupCreated, &group)
		case before > 0 && after == 0:
			r.groupEvent(smp.TrapGroupDeleted, &group)
		}
	}
	return true
}

// groupOf is the group whose members a change may affect.
func groupOf(c registry.Change) (mgid mad.GID, ok bool) {
	switch c := c.(type) {
	case registry.DeleteGroup:
		return c.MGID, true
	case registry.PutMember:
		return c.MGID, true
	case registry.DeleteMember:
		return c.MGID, true
	}
	return mgid, false
}

// portGID is the GID of a port or vPort.
func (r *Registrar) portGID(p topo.EndIdx) mad.GID {
	return mad.MakeGID(r.view.Subnet.Prefix, r.view.Topo.EndGUID(p))
}

// onSubnet reports whether a GID has the subnet's prefix or the default one, which ports have
// after power-up.
func (r *Registrar) onSubnet(g mad.GID) bool {
	return g.Prefix() == mad.DefaultPrefix || g.Prefix() == r.view.Subnet.Prefix
}

// portOf is the port or vPort with a GUID or alias GUID, topo.None if there is none.
func (r *Registrar) portOf(guid mad.GUID) topo.EndIdx {
	return r.responder.portOf(guid)
}

// holds reports whether a port or vPort is in the partition of a key. One whose table is not known
// counts as a member of all.
func (r *Registrar) holds(p topo.EndIdx, key mad.PKey) bool {
	table := r.view.Topo.EndPKeys(p)
	if table == nil {
		return true
	}
	_, found := table.Find(key)
	return found
}
