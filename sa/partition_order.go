package sa

import (
	"errors"
	"log/slog"
	"strings"
	"time"

	"ibsm/mad"
	"ibsm/partitions"
	"ibsm/partitions/callers"
	"ibsm/registry"
	"ibsm/routing/qos"
)

// MirrorTimeout is how long the answer to an order about partitions waits until the change is on disk and at the
// standbys that mirror.
const MirrorTimeout = 2 * time.Second

// maxPartitionOrders is how many of them may wait for that.
const maxPartitionOrders = 1 << 12

// PartitionOrder is an order of a caller about partitions. Decide makes the Changes of the present State; it is called
// once at most, and must not keep the State. Answer is called once, and must not block.
type PartitionOrder struct {
	Decide func(state *registry.State, now int64) (*callers.Done, error)
	Answer func(PartitionAnswer)
	// Mirrored refuses the order where no standby has all registrations, and takes it back where none gets the change.
	Mirrored bool
}

func (PartitionOrder) event() {}

// PartitionAnswer is what became of a PartitionOrder.
type PartitionAnswer struct {
	Done *callers.Done
	// Unmirrored says that a standby did not acknowledge the change in time.
	Unmirrored bool
	Err        error // a callers.Refusal, or one of the errors below
}

// Errors of orders about partitions. After ErrNotMaster and ErrNotStored the order may have been carried out or not.
var (
	ErrNotMaster   = errors.New("this manager is not master, or is handing the mastership over")
	ErrNotMirrored = errors.New(
		"partitions_mirror is required, and no standby has acknowledged the change: nothing is changed")
	ErrNotStored = errors.New("the change is in force, but not in the store yet: the disk is slow, or cannot be written")
	ErrBusy      = errors.New("too many orders about partitions are waiting")
)

// CallerGroups says which groups the partitions of callers get.
type CallerGroups struct {
	File     *partitions.Policy  // of the partition file; nil where there is none
	QoS      bool                // groups have SLs
	Defaults partitions.Defaults // where callers give no MTU or rate
	Paths    *qos.Policy         // gives SLs to partitions; nil for none
}

// partitionOrders are the orders about partitions that wait, in the order in which they came.
type partitionOrders struct {
	waiting []waitingOrder
	set     *callers.Set // of the present State
	// of the set, for wellKnown
	groups    []registry.Group
	defaulted map[mad.GID]bool
	term      registry.PartitionTerm // of this manager as master, without First
	// apart are the partitions that this manager had before it followed a master which lacks changes of them; nil for
	// none.
	apart *registry.State
}

type waitingOrder struct {
	PartitionOrder
	done   *callers.Done
	before *registry.State // of a Mirrored one that changes something
	seq    uint64
	due    time.Duration
}

// PartitionAnswered has an order be answered.
type PartitionAnswered struct {
	To     func(PartitionAnswer)
	Answer PartitionAnswer
}

func (r *Registrar) answerOrder(to func(PartitionAnswer), a PartitionAnswer) {
	r.effects.Answered = append(r.effects.Answered, PartitionAnswered{to, a})
}

// order carries an order out, and has the answer wait.
func (r *Registrar) order(o *PartitionOrder) {
	refused := func(err error) { r.answerOrder(o.Answer, PartitionAnswer{Err: err}) }
	switch {
	case r.view == nil || r.handover.drops():
		refused(ErrNotMaster)
		return
	case len(r.orders.waiting) >= maxPartitionOrders:
		r.count.Full++
		refused(ErrBusy)
		return
	case o.Mirrored && !r.mirrored.source.Followed():
		r.count.Unmirrored++
		refused(ErrNotMirrored)
		return
	}
	done, err := o.Decide(&r.reg.State, r.wall())
	if err != nil {
		refused(err)
		return
	}
	w := waitingOrder{PartitionOrder: *o, done: done, due: r.now + MirrorTimeout}
	if len(done.Changes) > 0 {
		if o.Mirrored {
			w.before = r.reg.Freeze()
		}
		was, is := r.reg.Partition(done.Partition.Key)
		r.noteTerm(done.Partition.Number)
		if !r.apply(done.Changes...) {
			refused(errors.New("the registry refuses the change: this is a defect of ibsm"))
			return
		}
		now, stays := r.reg.Partition(done.Partition.Key)
		if now.Number, now.Since = was.Number, was.Since; now != was || is != stays { // not the members alone
			r.callersChanged()
		}
	}
	w.seq = r.reg.Seq()
	r.orders.waiting = append(r.orders.waiting, w)
}

// callersChanged gives the partitions of callers their groups, after they or the configuration have changed.
func (r *Registrar) callersChanged() {
	r.orders.set = callers.Of(&r.reg.State, r.orders.set)
	var groups []registry.Group
	defaulted := map[mad.GID]bool{}
	if r.orders.set != nil {
		of := callers.Part(r.orders.set.Beside(r.cfg.Callers.File))
		groups, defaulted = of.WellKnown(r.cfg.Callers.QoS, r.cfg.Callers.Defaults)
		if r.cfg.Callers.Paths != nil {
			groups = r.cfg.Callers.Paths.ForGroups(groups)
		}
	}
	r.orders.groups, r.orders.defaulted = groups, defaulted
	r.wellKnown()
}

// settleOrders answers the orders whose changes are on disk and at the standbys, and those that have waited too long.
func (r *Registrar) settleOrders() {
	n := 0
	for ; n < len(r.orders.waiting); n++ {
		w := &r.orders.waiting[n]
		stored, mirrored := w.seq <= r.pending.durable, r.mirrored.source.Acknowledged(w.seq)
		if (!stored || !mirrored) && r.now < w.due {
			break
		}
		if !mirrored && w.Mirrored {
			r.takeBack(n)
			return
		}
		answer := PartitionAnswer{Done: w.done, Unmirrored: !mirrored}
		if !stored {
			answer.Err = ErrNotStored
		}
		if !mirrored {
			r.count.Unmirrored++
		}
		r.answerOrder(w.Answer, answer)
	}
	r.orders.drop(n)
}

// takeBack takes back the orders from the nth that waits: no standby has the change of that one.
func (r *Registrar) takeBack(n int) {
	for i := n; i < len(r.orders.waiting); i++ {
		r.count.Unmirrored++
		r.answerOrder(r.orders.waiting[i].Answer, PartitionAnswer{Err: ErrNotMirrored})
	}
	if before := r.orders.waiting[n].before; before != nil {
		for _, c := range r.reg.PartitionsTo(before) {
			// ports may have the P_Keys of partitions that go: these are removed as long as they are remembered
			if _, forgets := c.(registry.DeleteFormerPartition); !forgets {
				r.apply(c)
			}
		}
		r.callersChanged()
	}
	r.orders.drop(len(r.orders.waiting))
}

// drop forgets the first n orders that wait.
func (o *partitionOrders) drop(n int) {
	if o.waiting = o.waiting[n:]; len(o.waiting) == 0 {
		o.waiting = nil
	}
}

// dropOrders answers all orders that wait when this manager ceases to be master.
func (r *Registrar) dropOrders() {
	for i := range r.orders.waiting {
		r.answerOrder(r.orders.waiting[i].Answer, PartitionAnswer{Err: ErrNotMaster})
	}
	r.orders.drop(len(r.orders.waiting))
}

// noteTerm notes the term in which a change is made.
func (r *Registrar) noteTerm(number uint64) {
	last := registry.PartitionTerm{}
	for t := range r.reg.PartitionTerms() {
		last = t
	}
	t := r.orders.term
	if last.Manager != t.Manager || last.Began != t.Began {
		t.First = number
		r.apply(registry.PutPartitionTerm{PartitionTerm: t})
	}
}

// keepApart keeps the partitions that this manager has and the master that it follows lacks, and offers them.
func (r *Registrar) keepApart(of *registry.State) {
	own := r.orders.apart
	if own == nil {
		own = r.reg.Freeze()
	}
	if r.orders.apart = nil; !callers.Lacks(of, own) {
		r.mirrored.follower.Offer(nil)
		return
	}
	r.orders.apart = own
	var changes []byte
	for c := range own.PartitionChanges() {
		changes = c.AppendTo(changes)
	}
	r.mirrored.follower.Offer(changes)
}

// joinApart joins partitions that this manager lacks: those of a standby, or its own of an earlier time.
func (r *Registrar) joinApart(other *registry.State) {
	changes, differ := callers.Join(&r.reg.State, other, r.orders.term, r.wall())
	if len(changes) == 0 {
		return
	}
	r.apply(changes...)
	r.callersChanged()
	r.count.Joined++
	text := "another manager had changes of callers' partitions that this one had not: they are joined"
	if len(differ) > 0 {
		text += "; both had changed " + strings.Join(differ, ", ")
	}
	r.stats.Refusals.log(slog.LevelWarn, text)
}
