package registry

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"iter"

	"ibsm/mad"
)

// Values of a Filter that stand for any.
const (
	AnyLID      mad.LID = 0xffff // in LIDBegin
	AnyType     uint16  = 0xffff
	AnyTrap     uint16  = 0xffff
	AnyProducer uint32  = 0xffffff
)

// Filter says which events an InformInfo asks for (IBA 13.4.8.3).
type Filter struct {
	GID      mad.GID // of the issuer; 0 to go by LID
	LIDBegin mad.LID // of the issuer, or AnyLID
	LIDEnd   mad.LID // 0 for LIDBegin alone
	Generic  bool
	Type     uint16
	Trap     uint16 // TrapNumber, or DeviceID of traps that are not generic
	Producer uint32 // ProducerType, or VendorID of traps that are not generic; 24 bits
}

// Event is what filters look at in a Notice.
type Event struct {
	IssuerGID mad.GID
	IssuerLID mad.LID
	Generic   bool
	Type      uint8
	Trap      uint16 // or DeviceID
	Producer  uint32 // or VendorID
}

// Matches reports whether an event is of the kind that the filter asks for.
func (f *Filter) Matches(e *Event) bool {
	if f.GID != (mad.GID{}) {
		if f.GID != e.IssuerGID {
			return false
		}
	} else if f.LIDBegin != AnyLID && (e.IssuerLID < f.LIDBegin || e.IssuerLID > max(f.LIDBegin, f.LIDEnd)) {
		return false
	}
	return f.Generic == e.Generic &&
		(f.Type == AnyType || f.Type == uint16(e.Type)) &&
		(f.Trap == AnyTrap || f.Trap == e.Trap) &&
		(f.Producer == AnyProducer || f.Producer == e.Producer)
}

// SubscriptionKey identifies a subscription. The address is not part of it: a
// subscriber that got another LID replaces its subscription.
type SubscriptionKey struct {
	Subscriber mad.GID
	QPN        uint32 // that subscribed, 24 bits
	Filter
}

// Subscription is an InformInfo and where Reports of it go.
type Subscription struct {
	SubscriptionKey
	Destination
}

// Destination is where Reports go. What depends on the tables of one of our ports is not
// in it: those change, and so do masters.
type Destination struct {
	Addr mad.Addr // its QPN is that of the key; PKeyIndex and GRH.GIDIndex are 0
	PKey mad.PKey // that the InformInfo came by; 0 where that is not known
}

func compareSubscriptions(a, b SubscriptionKey) int {
	if c := compareGIDs(a.Subscriber, b.Subscriber); c != 0 {
		return c
	}
	if c := cmp.Compare(a.QPN, b.QPN); c != 0 {
		return c
	}
	if c := compareGIDs(a.GID, b.GID); c != 0 {
		return c
	}
	a1, a2 := a.numbers()
	b1, b2 := b.numbers()
	return cmp.Or(cmp.Compare(a1, b1), cmp.Compare(a2, b2))
}

// numbers is all of a filter but its GID, as two numbers to compare.
func (f *Filter) numbers() (uint64, uint32) {
	producer := f.Producer << 1
	if f.Generic {
		producer |= 1
	}
	return uint64(f.LIDBegin)<<48 | uint64(f.LIDEnd)<<32 | uint64(f.Type)<<16 | uint64(f.Trap), producer
}

// Subscription returns where Reports of a subscription go.
func (s *State) Subscription(k SubscriptionKey) (Destination, bool) { return s.subscriptions.get(k) }

// Subscriptions iterates over all subscriptions in order of subscriber.
func (s *State) Subscriptions() iter.Seq[Subscription] {
	return func(yield func(Subscription) bool) {
		for k, d := range s.subscriptions.all() {
			if !yield(Subscription{k, d}) {
				return
			}
		}
	}
}

// SubscriptionsOf iterates over the subscriptions of a port, in order.
func (s *State) SubscriptionsOf(subscriber mad.GID) iter.Seq[Subscription] {
	return func(yield func(Subscription) bool) {
		for k, d := range s.subscriptions.from(SubscriptionKey{Subscriber: subscriber}) {
			if k.Subscriber != subscriber || !yield(Subscription{k, d}) {
				return
			}
		}
	}
}

// Matching iterates over the subscriptions that ask for an event. Whether the subscriber
// may know of it is another question.
func (s *State) Matching(e *Event) iter.Seq[Subscription] {
	return func(yield func(Subscription) bool) {
		for _, l := range s.subscriptions.leaves {
			for i := range l.entries {
				if k := &l.entries[i].key; k.Matches(e) && !yield(Subscription{*k, l.entries[i].value}) {
					return
				}
			}
		}
	}
}

// PutSubscription adds a subscription or gives it another destination.
type PutSubscription struct{ Subscription }

// DeleteSubscription ends a subscription.
type DeleteSubscription struct{ SubscriptionKey }

// Kind is KindPutSubscription, or KindPutSubscriptionGRH.
func (c PutSubscription) Kind() Kind {
	if c.Addr.GRH.Present {
		return KindPutSubscriptionGRH
	}
	return KindPutSubscription
}

// Kind is KindDeleteSubscription.
func (DeleteSubscription) Kind() Kind { return KindDeleteSubscription }

const (
	subscriptionKeySize = gidSize + 4 + gidSize + 2 + 2 + 1 + 2 + 2 + 4
	destinationSize     = 2 + 1 + 1 + 2 // the QPN is in the key
	grhSize             = gidSize + 4 + 1 + 1
)

// AppendTo implements Change.
func (c PutSubscription) AppendTo(b []byte) []byte {
	b = c.SubscriptionKey.appendTo(append(b, byte(c.Kind())))
	b = binary.BigEndian.AppendUint16(b, uint16(c.Addr.LID))
	b = binary.BigEndian.AppendUint16(append(b, c.Addr.SL, c.Addr.PathBits), uint16(c.PKey))
	g := &c.Addr.GRH
	if !g.Present {
		return b
	}
	b = binary.BigEndian.AppendUint32(append(b, g.GID[:]...), g.FlowLabel)
	return append(b, g.TrafficClass, g.HopLimit)
}

// AppendTo implements Change.
func (c DeleteSubscription) AppendTo(b []byte) []byte {
	return c.SubscriptionKey.appendTo(append(b, byte(KindDeleteSubscription)))
}

func (k *SubscriptionKey) appendTo(b []byte) []byte {
	b = binary.BigEndian.AppendUint32(append(b, k.Subscriber[:]...), k.QPN)
	b = append(b, k.GID[:]...)
	b = binary.BigEndian.AppendUint16(b, uint16(k.LIDBegin))
	b = binary.BigEndian.AppendUint16(b, uint16(k.LIDEnd))
	b = binary.BigEndian.AppendUint16(appendFlag(b, k.Generic), k.Type)
	b = binary.BigEndian.AppendUint16(b, k.Trap)
	return binary.BigEndian.AppendUint32(b, k.Producer)
}

func (r *reader) subscriptionKey() SubscriptionKey {
	return SubscriptionKey{r.gid(), r.u32(), Filter{
		GID: r.gid(), LIDBegin: mad.LID(r.u16()), LIDEnd: mad.LID(r.u16()), Generic: r.flag(),
		Type: r.u16(), Trap: r.u16(), Producer: r.u32(),
	}}
}

// putSubscription reads one without a GRH.
func (r *reader) putSubscription() PutSubscription {
	k := r.subscriptionKey()
	addr := mad.Addr{LID: mad.LID(r.u16()), QPN: k.QPN, SL: r.u8(), PathBits: r.u8()}
	return PutSubscription{Subscription{k, Destination{Addr: addr, PKey: mad.PKey(r.u16())}}}
}

func (r *reader) putSubscriptionGRH() PutSubscription {
	c := r.putSubscription()
	c.Addr.GRH = mad.GRH{Present: true, GID: r.gid(), FlowLabel: r.u32(), TrafficClass: r.u8(), HopLimit: r.u8()}
	return c
}

func (c DeleteSubscription) check() error {
	if c.QPN >= 1<<24 || c.Producer >= 1<<24 {
		return fmt.Errorf("subscription of %s: QPN 0x%x or producer 0x%x is longer than 24 bits", c.Subscriber, c.QPN,
			c.Producer)
	}
	return nil
}

func (c PutSubscription) check() error {
	switch {
	case c.Subscriber.IsMulticast() || c.Subscriber.GUID() == 0:
		return fmt.Errorf("subscription of %s: not the GID of a port", c.Subscriber)
	case !c.Addr.LID.IsUnicast() || c.Addr.SL > 15 || c.Addr.PathBits > 127 || c.Addr.QPN != c.QPN:
		return fmt.Errorf("subscription of %s: address with LID %s, SL %d, path bits %d, QPN 0x%x is not the address of a port",
			c.Subscriber, c.Addr.LID, c.Addr.SL, c.Addr.PathBits, c.Addr.QPN)
	case c.Addr.PKeyIndex != 0 || c.Addr.GRH.GIDIndex != 0:
		return fmt.Errorf("subscription of %s: P_Key index %d, GID index %d: expected 0, because the tables of a port change",
			c.Subscriber, c.Addr.PKeyIndex, c.Addr.GRH.GIDIndex)
	case !c.Addr.GRH.Present && c.Addr.GRH != (mad.GRH{}) || c.Addr.GRH.FlowLabel >= 1<<20:
		return fmt.Errorf("subscription of %s: inconsistent GRH %+v", c.Subscriber, c.Addr.GRH)
	}
	return DeleteSubscription{c.SubscriptionKey}.check()
}

func (c PutSubscription) apply(r *Registry) error {
	r.subscriptions.put(r.owner, c.SubscriptionKey, c.Destination)
	return nil
}

func (c DeleteSubscription) apply(r *Registry) error {
	if !r.subscriptions.remove(r.owner, c.SubscriptionKey) {
		return fmt.Errorf("subscription of %s: deleted, but it does not exist", c.Subscriber)
	}
	return nil
}
