package device

import (
	"math/rand/v2"
	"slices"
	"testing"

	"ibsm/mad"
	"ibsm/mad/txn"
)

func row(blocks int, fill uint8) []uint8 {
	return slices.Repeat([]uint8{fill}, blocks*BlockSize)
}

func TestRead(t *testing.T) {
	h := Read(row(4, 1), []int{1})
	for block, want := range []State{Known, Unknown, Known, Known, Unknown} {
		if got := h.State(block); got != want {
			t.Errorf("block %d is %v", block, got)
		}
	}
	if h.Complete() {
		t.Error("a table of which a block was not read is complete")
	}
	if !h.Take(1, Got) || !h.Complete() {
		t.Error("a table of which all has been read is not complete")
	}
	if h.Take(4, Contradicted) || h.Take(130, Contradicted) || !h.Complete() {
		t.Error("a block beyond the table can be contradicted")
	}
	var none *Blocks
	if none.Complete() || none.State(0) != Unknown || none.Row() != nil || (&Blocks{}).Complete() {
		t.Error("something is known of nothing")
	}
}

// A target has the blocks to be written InFlight: those that are not Known to hold what is
// wanted.
func TestTarget(t *testing.T) {
	want := row(40, 1)
	want[2*BlockSize] = 9
	other := slices.Clone(want)
	other[39*BlockSize] = 7
	for _, c := range []struct {
		name  string
		held  *Blocks
		write []int
	}{
		{"nothing known", nil, []int{0, 1, 2, 3, 38, 39}},
		{"the same", Read(slices.Clone(want), nil), nil},
		{"the same array", Read(want, nil), nil},
		{"the same, but not complete", Read(want, []int{1}), []int{1}},
		{"one block differs", Read(row(40, 1), nil), []int{2}},
		{"another block differs", Read(other, nil), []int{39}},
		{"shorter", Read(want[:38*BlockSize], nil), []int{38, 39}},
		{"longer", Read(append(slices.Clone(want), row(1, 5)...), nil), nil},
		{"longer, and not complete there", Read(append(slices.Clone(want), row(1, 5)...), []int{40}), nil},
	} {
		to := c.held.Target(want)
		var write []int
		for b := range 40 {
			if to.State(b) == InFlight && (b < 4 || b > 37) {
				write = append(write, b)
			}
		}
		if !slices.Equal(write, c.write) || to.Complete() != (len(write) == 0) {
			t.Errorf("%s: blocks %v would be written, want %v", c.name, write, c.write)
		}
		for b := range 40 {
			to.Take(b, Confirmed)
		}
		if !to.Complete() || len(to.Row()) != len(want) || &to.Row()[0] != &want[0] {
			t.Errorf("%s: after the writes the table does not share the row that was wanted", c.name)
		}
	}
}

// A target takes over that a block has ceased to be known while it was computed, and
// blocks that will be written anyway are not contradicted.
func TestFollow(t *testing.T) {
	live := Read(row(4, 1), nil)
	held := live.Snapshot()
	want := row(4, 1)
	want[BlockSize] = 2
	target := held.Target(want)
	live.Take(1, Contradicted)
	live.Take(3, Contradicted)
	if held.State(3) != Known {
		t.Error("a snapshot changes")
	}
	target.Follow(live)
	for b, want := range []State{Known, InFlight, Known, Unknown} {
		if got := target.State(b); got != want {
			t.Errorf("block %d is %v, want %v", b, got, want)
		}
	}
	if got := held.Target(want).Follow(nil); got.State(3) != Known {
		t.Error("a table that is not known any more contradicts")
	}
	again := live.Snapshot()
	live.Take(3, Got)
	if again.State(3) != Unknown || live.State(3) != Known {
		t.Error("a snapshot of a table with unknown blocks changes with it")
	}
}

// TestTransitions states for each event what may be concluded of a block. Expectations
// are IBA 14.2.1.2 (the response to a Set carries what the device holds), and that a
// packet may be lost, late or doubled on its way there and back.
func TestTransitions(t *testing.T) {
	for _, c := range []struct {
		event                             Event
		known, unknown, inFlight, refused State
		why                               string
	}{
		{Got, Known, Known, Known, Known, "a device says itself what it holds"},
		{Unread, Unknown, Unknown, Unknown, Unknown, "the task that asked for a block did not rely on it"},
		{Sent, InFlight, InFlight, InFlight, InFlight, "the Set may be executed from now on"},
		{Confirmed, Known, Known, Known, Known, "the response shows what the device holds after the Set"},
		{Differs, Unknown, Unknown, Unknown, Unknown, "the device holds another value"},
		{Rejected, Unknown, Unknown, Unknown, Refused, "an earlier attempt may have been executed"},
		{TimedOut, Unknown, Unknown, Unknown, Unknown, "the Set, or only its response, was lost"},
		{Contradicted, Unknown, Unknown, InFlight, Unknown,
			"an older Set was executed last, unless ours is still open"},
		{Rebooted, Unknown, Unknown, Unknown, Unknown, "tables do not outlive power"},
		{ForeignMaster, Unknown, Unknown, Unknown, Unknown, "it may write anything"},
	} {
		for s, want := range []State{c.known, c.unknown, c.inFlight, c.refused} {
			if got := State(s).After(c.event); got != want {
				t.Errorf("%v after %v is %v, want %v: %s", State(s), c.event, got, want, c.why)
			}
		}
	}
}

// The outcome of a Set is an event of the block that it sent.
func TestAnswered(t *testing.T) {
	sent := [64]byte{63: 1}
	for _, c := range []struct {
		o    txn.Outcome
		want Event
	}{
		{txn.Outcome{Result: txn.Replied, Data: sent}, Confirmed},
		{txn.Outcome{Result: txn.Replied, Data: [64]byte{63: 2}}, Differs},
		{txn.Outcome{Result: txn.Replied, Data: sent, Status: mad.StatusBadField}, Rejected},
		{txn.Outcome{Result: txn.TimedOut, Data: sent}, TimedOut},
	} {
		if got := Answered(&c.o, sent[:]); got != c.want {
			t.Errorf("%v, %v: %v, want %v", c.o.Result, c.o.Status, got, c.want)
		}
	}
}

// lossy is a device behind a network that loses and delays packets.
type lossy struct {
	*rand.Rand
	holds   [blocks]uint8 // the first byte stands for the block
	packets []packet
}

const blocks = 5

// packet is a Set on its way to the device, or its response on the way back.
type packet struct {
	set      int // number of the request
	block    int
	value    uint8
	response bool
}

// send puts a packet on its way, unless it is lost.
func (d *lossy) send(p packet) {
	if d.IntN(4) > 0 {
		d.packets = append(d.packets, p)
	}
}

// deliver brings any packet to its end; a Set is executed and answered. It returns what has
// come back.
func (d *lossy) deliver() (p packet, came bool) {
	if len(d.packets) == 0 {
		return p, false
	}
	i := d.IntN(len(d.packets))
	p = d.packets[i]
	d.packets = slices.Delete(d.packets, i, i+1)
	if p.response {
		return p, true
	}
	d.holds[p.block] = p.value
	p.response = true
	d.send(p)
	return p, false
}

// TestLossy: when all packets have come to their end, and the blocks whose Sets were
// acknowledged after more than one attempt have been read again, a block is Known only
// where the device holds its value. After a time-out nothing is on its way any more.
func TestLossy(t *testing.T) {
	caught := 0
	for seed := range uint64(2000) {
		d := &lossy{Rand: rand.New(rand.NewPCG(seed, 1))}
		held := Read(row(blocks, 0), nil)
		check := map[int]bool{}
		stray := func(p packet) {
			if held.State(p.block) == Known && held.Block(p.block)[0] != p.value {
				held.Take(p.block, Contradicted)
				caught++
			}
		}
		drain := func() {
			for len(d.packets) > 0 {
				if p, came := d.deliver(); came {
					stray(p)
				}
			}
		}
		set := 0
		for range 6 {
			want := slices.Clone(held.Row())
			for range 2 {
				b, v := d.IntN(blocks), uint8(d.IntN(4))
				copy(want[b*BlockSize:], row(1, v))
			}
			held = held.Target(want).Follow(held)
			for b := range blocks {
				if held.State(b) == Known {
					continue
				}
				set++
				held.Take(b, Sent)
				answered := false
				for attempt := 0; attempt < 3 && !answered; attempt++ {
					d.send(packet{set: set, block: b, value: held.Block(b)[0]})
					for range d.IntN(6) {
						if p, came := d.deliver(); came && p.set == set && !answered {
							answered = true
							held.Take(b, Confirmed)
							check[b] = check[b] || attempt > 0
						} else if came {
							stray(p)
						}
					}
				}
				if !answered {
					drain()
					held.Take(b, TimedOut)
				}
			}
		}
		drain()
		for b := range check {
			if held.State(b) == Known && held.Block(b)[0] != d.holds[b] {
				held.Take(b, Contradicted)
				caught++
			}
		}
		for b := range blocks {
			if held.State(b) == Known && held.Block(b)[0] != d.holds[b] {
				t.Fatalf("seed %d: block %d is believed to hold %d and holds %d", seed, b, held.Block(b)[0], d.holds[b])
			}
		}
	}
	if caught == 0 {
		t.Error("no older block was ever put back")
	}
}
