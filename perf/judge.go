package perf

import (
	"math"
	"math/bits"
	"time"

	"ibsm/mad/pma"
)

// reading is what a port showed at a time.
type reading struct {
	at    time.Duration
	has   pma.Counters // those that were read
	short pma.Counters // those of them that PortCounters has shown, with its widths
	raw   [pma.NumCounters]uint64
}

// slack allows for the time that a request and its response take, and for firmware that copies
// its counters only now and then.
const slack = time.Second

// limit is the most that a counter can rise in a time on a link that carries so many words a
// second, with a tenth to spare; the largest number if that is not known.
func limit(c pma.Counter, words uint64, span time.Duration) uint64 {
	if words == 0 {
		return math.MaxUint64
	}
	data := float64(words) * (span + slack).Seconds() * 1.1
	switch c {
	case pma.PortXmitData, pma.PortRcvData:
	case pma.PortXmitPkts, pma.PortRcvPkts, pma.PortUnicastXmitPkts, pma.PortUnicastRcvPkts, pma.PortMulticastXmitPkts,
		pma.PortMulticastRcvPkts:
		data /= 5 // the shortest packet has 24 octets
	case pma.PortXmitWait:
		data *= 16 // in ticks of unknown length
	default:
		data *= 4 // an error in each octet
	}
	return uint64(min(data, 1<<63)) + 16
}

// resetAt is the value from which a counter of PortCounters is reset: three quarters of its
// largest.
func resetAt(c pma.Counter) uint64 { top := pma.MaxShort(c); return top - top/4 }

// track is what is known of a port's counters: the values from which counts go on.
type track struct {
	atWide      time.Duration // of the last one that had PortCountersExtended
	atSlim      time.Duration // of the last one that had PortCounters
	has         pma.Counters  // counters that base is known of
	short       pma.Counters  // of those, counters that PortCounters has shown
	resets      pma.Counters  // counters that we have reset, or tried to, since the last reading
	reboot      bool          // the node may have rebooted since
	base        [pma.NumCounters]uint64
	unconfirmed *unconfirmed // nil if every value is confirmed
}

// unconfirmed is of counters with values that contradict what was known.
type unconfirmed struct {
	which  pma.Counters
	seen   [pma.NumCounters]uint64        // the value that is unconfirmed
	seenAt [pma.NumCounters]time.Duration // when it was read
	since  [pma.NumCounters]time.Duration // when base was read
}

// Delta is what a port has counted between two readings.
type Delta struct {
	Note    Note
	Has     pma.Counters // counters whose count is known
	AtLeast pma.Counters // of those, counters of which more may have been counted
	// Restarted are those that others have reset. An Image does not keep it.
	Restarted pma.Counters
	At        time.Duration // of the reading
	Span      time.Duration // since the reading before
	N         [pma.NumCounters]uint64
}

// Share is the part of the time of a reading, 0 to 1, that a counter of words or of waiting stands for on a link that
// carries so many words a second; -1 if that is not known. PortXmitWait counts in ticks whose length the architecture
// leaves open: a tick is taken as the time that the link needs for a word, as with devices of NVIDIA.
func (d *Delta) Share(c pma.Counter, words uint64) float64 {
	all := float64(words) * d.Span.Seconds()
	if all <= 0 || !d.Has.Has(c) {
		return -1
	}
	return min(1, float64(d.N[c])/all)
}

// judge says what was counted since the reading before, and goes on from this one. words is
// what the link carries in a second, 0 if it is not known.
func (t *track) judge(r *reading, words uint64, d *Delta) {
	*d = Delta{At: r.at, Span: r.at - t.at()}
	if t.has == 0 {
		d.Note, d.Span = First, 0
	}
	rebooted := t.reboot && t.someFell(r)
	if rebooted {
		d.Note |= AfterReboot
	}
	restart := rebooted || t.someRestarted(r, words)
	for c := range r.has.All {
		if !t.has.Has(c) || t.short.Has(c) != r.short.Has(c) { // or it is another attribute's now
			t.base[c] = r.raw[c]
			d.Note |= t.saturation(c, r)
			continue
		}
		t.counter(c, r, words, restart, d)
	}
	if d.Note&ResetByOther != 0 { // others may have been reset as well, and have risen further since
		d.AtLeast |= d.Has
	}
	t.has |= r.has
	t.short = t.short&^r.has | r.short
	t.reboot = false
	if r.short != 0 {
		t.atSlim = r.at
	}
	if r.has != r.short {
		t.atWide = r.at
	}
	t.resets &^= r.has
	if t.unconfirmed != nil && t.unconfirmed.which == 0 {
		t.unconfirmed = nil
	}
}

// unconfirmedCounters are the counters whose values contradict what was known.
func (t *track) unconfirmedCounters() pma.Counters {
	if t.unconfirmed == nil {
		return 0
	}
	return t.unconfirmed.which
}

// saturation is the note on a counter of PortCounters that has its largest value.
func (t *track) saturation(c pma.Counter, r *reading) Note {
	if r.short.Has(c) && r.raw[c] == pma.MaxShort(c) {
		return Saturated
	}
	return 0
}

// at is when the port was read last.
func (t *track) at() time.Duration { return max(t.atWide, t.atSlim) }

// readAt is when the attribute that shows a counter was read last: an agent may have answered for
// one of two.
func (t *track) readAt(c pma.Counter, r *reading) time.Duration {
	if r.short.Has(c) {
		return t.atSlim
	}
	return t.atWide
}

// someFell reports whether a counter is lower than before that we have not reset.
func (t *track) someFell(r *reading) bool {
	for c := range (r.has & t.has &^ t.resets).All {
		if t.short.Has(c) == r.short.Has(c) && r.raw[c] < t.base[c] {
			return true
		}
	}
	return false
}

// someRestarted reports whether a counter began again at zero for certain: others that fell a
// bit at the same time did so, too.
func (t *track) someRestarted(r *reading, words uint64) bool {
	for c := range (r.has & t.has &^ t.resets).All {
		base := t.base[c]
		if r.raw[c] < base && t.short.Has(c) == r.short.Has(c) &&
			isRestart(r.raw[c], base, words, limit(c, words, r.at-t.readAt(c, r)), false) {
			return true
		}
	}
	return false
}

// counter judges one counter that was known before. restart says that counters of the port
// began again.
func (t *track) counter(c pma.Counter, r *reading, words uint64, restart bool, d *Delta) {
	value, base := r.raw[c], t.base[c]
	since := t.readAt(c, r)
	unconfirmed := t.unconfirmed != nil && t.unconfirmed.which.Has(c)
	// as most are: whatever the link carries
	if value == base && !unconfirmed && !(r.short.Has(c) && (isData(c) || value == pma.MaxShort(c))) {
		t.forward(c, 0, d)
		return
	}
	if unconfirmed {
		since = t.unconfirmed.since[c]
	}
	most := limit(c, words, r.at-since)
	if r.short.Has(c) && base+min(most, 1<<40) >= pma.MaxShort(c) && isData(c) {
		d.Note |= MayOverflow // whatever it shows: some firmware wraps around
		d.AtLeast |= 1 << c
	}
	if full := t.saturation(c, r); full != 0 {
		d.Note |= full
		d.AtLeast |= 1 << c
	}
	switch {
	case value >= base && value-base <= most:
		t.forward(c, value-base, d)
	case value < base && isRestart(value, base, words, most, t.resets.Has(c) || restart):
		t.restarted(c, value, d)
	case unconfirmed && value >= t.unconfirmed.seen[c] &&
		value-t.unconfirmed.seen[c] <= limit(c, words, r.at-t.unconfirmed.seenAt[c]):
		d.Note |= Rebased
		d.AtLeast |= 1 << c
		d.Has |= 1 << c
		d.N[c] = value - t.unconfirmed.seen[c]
	default:
		t.contradiction(c, r, since, d)
		return
	}
	t.base[c] = value
	if unconfirmed {
		t.unconfirmed.which &^= 1 << c
	}
	if since == r.at-d.Span {
		return
	}
	if usual := limit(c, words, d.Span); d.N[c] > usual { // it was counted for longer than Span
		d.N[c] = usual
		d.AtLeast |= 1 << c
	}
}

// forward is a count as it should be. What we reset or what may have rebooted can have counted more
// before it began again.
func (t *track) forward(c pma.Counter, n uint64, d *Delta) {
	d.Has |= 1 << c
	d.N[c] = n
	switch {
	case t.resets.Has(c):
		d.Note |= ResetByUs
		d.AtLeast |= 1 << c
	case t.reboot:
		d.AtLeast |= 1 << c
	}
}

// restarted is a counter that went down because it began again at zero: it shows what was
// counted since, and what was counted before that is lost.
func (t *track) restarted(c pma.Counter, value uint64, d *Delta) {
	d.Has |= 1 << c
	d.AtLeast |= 1 << c
	d.N[c] = value
	switch {
	case t.reboot: // judge has noted it
	case t.resets.Has(c):
		d.Note |= ResetByUs
	default:
		d.Note |= ResetByOther
		d.Restarted |= 1 << c
	}
}

// contradiction is a value that nothing explains. Nothing is counted, and the next reading
// shows which value was wrong: the counter goes on from where it was, or from there.
func (t *track) contradiction(c pma.Counter, r *reading, since time.Duration, d *Delta) {
	if t.unconfirmed == nil {
		t.unconfirmed = &unconfirmed{}
	}
	t.unconfirmed.which |= 1 << c
	t.unconfirmed.since[c] = since
	t.unconfirmed.seen[c], t.unconfirmed.seenAt[c] = r.raw[c], r.at
	if r.raw[c] < t.base[c] {
		d.Note |= Backwards
	} else {
		d.Note |= Implausible
	}
}

// isRestart reports whether a value below the one before can have been counted from zero since:
// the link can carry it, and a reset or a reboot is known, or it is lower by more than an
// eighth. A smaller fall looks as if it went backwards. If it is not known what the link
// carries, the value must be less than half of what it was.
func isRestart(value, base, words, most uint64, expected bool) bool {
	part := base / 8
	if words == 0 {
		part = base / 2
	}
	return value <= most && (expected || value < base-part)
}

// isData reports whether a counter of PortCounters is of data or packets, of which a fast link
// carries more than 32 bits between two readings.
func isData(c pma.Counter) bool { return (pma.DataCounters | pma.Of(pma.PortXmitWait)).Has(c) }

// toReset are the counters of PortCounters that are due for a reset.
func (r *reading) toReset() (s pma.Counters) {
	for c := range (r.has & r.short).All {
		if r.raw[c] >= resetAt(c) {
			s |= 1 << c
		}
	}
	return s
}

// wasReset notes that we have reset counters, with the values that the response shows after it.
func (t *track) wasReset(s pma.Counters, after *pma.PortCounters) {
	t.resets |= s
	for c := range s.All {
		if after != nil && after.Counter(c) < t.base[c] {
			t.base[c] = after.Counter(c)
		}
	}
}

// fell reports whether every counter that had counted is lower than before: the node may have
// rebooted.
func (t *track) fell(r *reading) bool {
	fallen, all := 0, 0
	for c := range (r.has & t.has).All {
		if t.base[c] > 0 {
			all++
			if r.raw[c] < t.base[c] {
				fallen++
			}
		}
	}
	return all > 0 && fallen == all && bits.OnesCount32(uint32(t.resets)) == 0
}
