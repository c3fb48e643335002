package mirror_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"ibsm/mad"
	"ibsm/registry"
	"ibsm/sa/mirror"
)

// offered are Changes that make partitions with many members.
func offered(t *testing.T, members int) (*registry.State, []byte) {
	t.Helper()
	reg := registry.New()
	changes := []registry.Change{registry.PutPartition{Partition: registry.Partition{Key: 5, Name: "red", Number: 7}}}
	for i := range members {
		changes = append(changes, registry.PutPartitionMember{PartitionMember: registry.PartitionMember{
			MemberKey: registry.MemberKey{Key: 5, Port: mad.GUID(1 + i)}, Membership: 2, Number: 7}})
	}
	var text []byte
	for _, c := range changes {
		if err := reg.Apply(c); err != nil {
			t.Fatal(err)
		}
		text = c.AppendTo(text)
	}
	return reg.Freeze(), text
}

// TestOffer: an offer of any length gets to the master once, while packets are lost and answers come.
func TestOffer(t *testing.T) {
	for _, members := range []int{0, 3, 20_000} {
		for seed := range uint64(3) {
			t.Run(fmt.Sprint(members, " members, seed ", seed), func(t *testing.T) {
				p := newPair(t, seed)
				p.loss = 0.1 * float64(seed)
				p.pass(time.Second)
				want, text := offered(t, members)
				p.follower.Offer(text)
				var got []*registry.State
				for i := range 300 {
					if p.pass(50 * time.Millisecond); i%10 == 0 {
						p.put(10 + i) // the master has something to say meanwhile
					}
					if s := p.source.Offered(); s != nil {
						got = append(got, s)
					}
				}
				if len(got) == 0 || p.follower.Stats().Offers != 1 || len(got) > 1 && p.loss == 0 {
					t.Fatalf("offered %d times, acknowledged %d", len(got), p.follower.Stats().Offers)
				}
				for _, s := range got {
					if !slices.Equal(slices.Collect(s.Changes()), slices.Collect(want.Changes())) {
						t.Error("another offer got there")
					}
				}
			})
		}
	}
}

// TestOfferRefused: an offer that was changed on its way, or is repeated, is none; and nobody without the keys makes
// one.
func TestOfferRefused(t *testing.T) {
	_, text := offered(t, 1)
	isOffer := func(d *mad.Datagram) bool {
		return d.Packet.IsRMPP() && d.Packet.Method() == mad.MethodGetTable && d.Packet[25] == 1
	}
	p := newPair(t, 1)
	p.pass(time.Second)
	p.tamperUp = func(d *mad.Datagram) {
		if isOffer(d) {
			d.Packet[120] ^= 1
		}
	}
	p.follower.Offer(text)
	p.pass(3 * time.Second)
	if s := p.source.Offered(); s != nil || p.source.Stats().Untrusted == 0 {
		t.Errorf("an offer that was changed is taken, %+v", p.source.Stats())
	}
	var seen []mad.Datagram
	p.tamperUp = func(d *mad.Datagram) {
		if isOffer(d) {
			seen = append(seen, *d)
		}
	}
	p.pass(5 * time.Second)
	if p.source.Offered() == nil || len(seen) == 0 {
		t.Fatal("the offer does not get there")
	}
	p.pass(time.Minute) // the transfer is forgotten
	before := p.source.Stats()
	for i := range seen {
		seen[i].Addr = mad.Addr{LID: standbyLID, QPN: 1}
		p.source.Receive(p.now, &seen[i], standbyGUID)
	}
	if p.source.Offered() != nil || p.source.Stats().Offers != before.Offers {
		t.Error("an offer that is repeated is taken")
	}
	other := newPair(t, 2)
	foreign := keys
	foreign.SMKey++
	other.follower = mirror.NewFollower(foreign, 0, mirror.Salt{3})
	other.follower.Follow(0, mirror.Master{GUID: masterGUID, LID: masterLID, Self: standbyGUID})
	other.follower.Offer(text)
	other.pass(5 * time.Second)
	if other.source.Offered() != nil {
		t.Error("a manager with other keys makes an offer")
	}
}
