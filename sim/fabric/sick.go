package fabric

import (
	"math"
	"math/rand/v2"
	"time"

	"ibsm/mad/pma"
	"ibsm/topo/net"
)

// What comes of bad bits is a model, not physics: so many symbol errors make the link recover
// once, and after so many recoveries one fails, and the link goes down and trains again.
const (
	symbolsPerRecovery = 1000
	recoveriesPerDown  = 100
)

// sick is a port that receives bad bits.
type sick struct {
	rate    float64 // bad bits by bit
	since   time.Duration
	symbols float64 // symbol errors since the rate was set
	lost    float64 // packets that a Load has lost, the part that is not a whole one
	serial  uint64  // of the event that takes the link down
	random  *rand.Rand
}

// SetBitErrorRate has a port receive so many bad bits for each bit, 0 to 1, as from a worn
// cable. They count as symbol errors all the time, also on an idle link, make the link recover
// and go down again and again, and spoil packets: these are counted where they come in, are
// passed on by switches as bad, and are not delivered. The other direction has a rate of its
// own.
func (f *Fabric) SetBitErrorRate(at net.End, rate float64) {
	i := f.must(at)
	f.accrue(i)
	p := &f.ports[i]
	p.sick = rate > 0
	if !p.sick {
		delete(f.sick, i)
		return
	}
	if f.sick == nil {
		f.sick = map[int32]*sick{}
	}
	f.sick[i] = &sick{rate: rate, since: f.now, random: rand.New(rand.NewPCG(f.cfg.Seed, uint64(i)))}
	f.planDown(i)
}

// symbolRate is how many symbol errors a second a port has.
func (f *Fabric) symbolRate(i int32, s *sick) float64 { return s.rate * f.bitRate(i) }

// accrue counts the traffic, symbol errors and recoveries of a port up to now.
func (f *Fabric) accrue(i int32) {
	if w := f.traffic[i]; w != nil {
		f.accrueTraffic(i, w)
	}
	s := f.sick[i]
	if s == nil {
		return
	}
	before := s.symbols
	s.symbols += f.symbolRate(i, s) * (f.now - s.since).Seconds()
	s.since = f.now
	if more := uint64(s.symbols) - uint64(before); more > 0 {
		f.count(i, pma.SymbolErrorCounter, more)
		f.count(i, pma.LinkErrorRecoveryCounter, uint64(s.symbols)/symbolsPerRecovery-uint64(before)/symbolsPerRecovery)
	}
}

// planDown schedules the moment at which recovery fails, as long as the link is up.
func (f *Fabric) planDown(i int32) {
	const down = symbolsPerRecovery * recoveriesPerDown
	s := f.sick[i]
	if s == nil {
		return
	}
	f.serial++
	s.serial = f.serial
	rate := f.symbolRate(i, s)
	if rate == 0 {
		return
	}
	seconds := ((math.Floor(s.symbols/down)+1)*down - s.symbols) / rate
	if seconds > 1e8 { // years
		return
	}
	e := f.queue.push(f.now + time.Duration(seconds*1e9) + 1)
	e.kind, e.port, e.serial = evSick, i, s.serial
}

// recoveryFailed takes the link of a port down.
func (f *Fabric) recoveryFailed(i int32, serial uint64) {
	if s := f.sick[i]; s == nil || s.serial != serial {
		return
	}
	f.accrue(i)
	f.count(i, pma.LocalLinkIntegrityErrors, 1)
	f.retrain(i)
}

// receivedSMP is received for one SMP on a directed route.
func (f *Fabric) receivedSMP(in int32) bool {
	p := &f.ports[in]
	f.mads[p.peer].sent++
	f.mads[in].received++
	return !p.sick || f.spoiled(in, &flight{}) == 0
}

// received counts what crossed a cable, spoils what a sick port receives, and reports whether
// anything good is left. What a switch passes on bad counts at the ports it comes to.
func (f *Fabric) received(in int32, t *flight) bool {
	f.crossed(f.ports[in].peer, in, t)
	if t.bad == 0 && !f.ports[in].sick {
		return true
	}
	if t.bad > 0 {
		f.count(in, pma.PortRcvRemotePhysicalErrors, t.bad)
	}
	t.bad += f.spoiled(in, t)
	return t.bad < t.packets()
}

// spoiled counts the good packets of a flight that come in bad by a port, and says how many
// they are.
func (f *Fabric) spoiled(in int32, t *flight) (n uint64) {
	s := f.sick[in]
	if s == nil {
		return 0
	}
	if n = s.spoil(t); n > 0 {
		f.count(in, pma.PortRcvErrors, n)
		f.countDetail(in, pma.AttrPortRcvErrorDetails, pma.PortLocalPhysicalErrors, n)
	}
	return n
}

// spoil is how many of the good packets of a flight get a bad bit.
func (s *sick) spoil(t *flight) uint64 {
	good := t.packets() - t.bad
	words := float64(madWords)
	if t.load.Packets > 0 {
		words = float64(t.load.Words) / float64(t.load.Packets)
	}
	chance := -math.Expm1(words * 32 * math.Log1p(-min(s.rate, 1)))
	if good == 1 {
		if s.random.Float64() < chance {
			return 1
		}
		return 0
	}
	s.lost += chance * float64(good)
	whole := min(uint64(s.lost), good)
	s.lost -= float64(whole)
	return whole
}
