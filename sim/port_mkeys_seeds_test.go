package sim_test

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"time"

	"ibsm/keys"
	"ibsm/mad/smp"
	"ibsm/manager"
	"ibsm/sa"
	"ibsm/sa/mirror"
	"ibsm/topo/net"
)

// seedKeeper is what a manager without a keys_file has of the seed of M_Keys, by the rules of daemon/seed.go and daemon/mkeys.go. Its zero value is one that has
// never run.
type seedKeeper struct {
	value  keys.Secret // drawn at the start, or in use
	inUse  bool        // ports may get M_Keys of it
	number uint32      // of M_Keys
	files  seedFiles   // in its state directory
	older  seedFiles   // in a copy of that
	full   bool        // nothing can be written to the directory
}

// seedFiles are the seed and the number in a state directory, the zero values where there is none.
type seedFiles struct {
	seed   keys.Secret
	number uint32
}

// seedTick is how often a manager looks whether a seed is needed, or has yet to be written.
const seedTick = time.Second

// What becomes of seeds, as noted.
const (
	diesBefore  = "dies before it has kept the seed that it makes"
	diesKept    = "dies when it has kept the seed that it makes"
	diesUsing   = "dies while ports get M_Keys of the seed that it has made"
	seedMade    = "makes a seed"
	seedSent    = "gets the seed of the master"
	seedUnkept  = "gets the seed of the master, and cannot keep it"
	seedFull    = "makes no seed, as it cannot keep it"
	seedWritten = "keeps the seed that it has in memory"
	seedLost    = "has lost the seed that ports have M_Keys of"
	seedOlder   = "starts with an older seed than that of the ports"
)

// allOfSeeds are those that a run of many seeds has to come to.
var allOfSeeds = []string{diesBefore, diesKept, diesUsing, seedMade, seedSent, seedUnkept, seedFull, seedWritten, seedLost, seedOlder}

// drawSeed makes a secret of the numbers of a run.
func drawSeed(rng *rand.Rand) keys.Secret {
	s, err := keys.New(randomBytes{rng})
	if err != nil {
		panic(err)
	}
	return s
}

type randomBytes struct{ *rand.Rand }

func (r randomBytes) Read(b []byte) (int, error) {
	var word [8]byte
	for i := range b {
		if i%len(word) == 0 {
			binary.BigEndian.PutUint64(word[:], r.Uint64())
		}
		b[i] = word[i%len(word)]
	}
	return len(b), nil
}

// start begins with what is in the directory, and draws a seed where there is none.
func (s *seedKeeper) start(rng *rand.Rand) {
	s.value, s.inUse, s.number = s.files.seed, s.files.seed != keys.Secret{}, s.files.number
	if !s.inUse {
		s.value = drawSeed(rng)
	}
}

// write writes what is in use to the directory, and reports whether it could.
func (s *seedKeeper) write() bool {
	if !s.full {
		s.files = seedFiles{s.value, s.number}
	}
	return !s.full
}

// ports are the M_Keys by which a manager looks for ports.
func (s *seedKeeper) ports() keys.Ports {
	return s.value.Ports(s.number).Beside(subnetSecret.MKey(), 0)
}

// config is the configuration of a manager. What it sends to its standbys is the number and the seed.
func (s *seedKeeper) config(perPort bool) manager.Config {
	if perPort && s.inUse {
		s.number = max(s.number, 1)
	}
	cfg := portMKeys(1)
	set := &cfg.Sweep.Settings
	set.PortMKeys, set.MKeyPerPort = keys.Ports{}, perPort && s.inUse
	if s.inUse && s.number > 0 || perPort {
		set.PortMKeys = s.ports()
	}
	set.Keyless = set.PortMKeys.On() && !s.inUse
	cfg.Elect.SMKey = secretSMKey
	cfg.Registrar.Groups = sa.DefaultGroups()
	cfg.Registrar.Mirror = mirror.Config{SMKey: secretSMKey, MKey: set.MKey.Value, Policy: []byte("no seed")}
	if s.inUse && s.number > 0 {
		cfg.Registrar.Mirror.Policy = fmt.Appendf(nil, "%d\n%s", s.number, s.value.Text())
	}
	return cfg
}

// hears takes what the master sends.
func (w *wild) hears(i int, policy []byte) {
	var number uint32
	if n, err := fmt.Sscanf(string(policy), "%d\n", &number); n != 1 || err != nil {
		return // it has no seed
	}
	text := policy[len(fmt.Sprintln(number)):]
	seed, err := keys.Parse("the seed of the master", text)
	if err != nil {
		w.Fatal(err)
	}
	s := &w.seeds[i]
	s.number = max(s.number, number)
	if s.value != seed || !s.inUse {
		s.value, s.inUse = seed, true
		if s.write() {
			w.seed(i, seedSent)
		} else {
			w.seed(i, seedUnkept)
		}
	}
	w.Configure(w.managers[i].Manager, w.config(i))
}

// seed notes what becomes of a seed.
func (w *wild) seed(i int, what string) {
	w.note("manager %d %s", i, what)
	w.ofSeeds[what]++
}

// tend does for each manager what is due once a seedTick.
func (w *wild) tend() {
	for i := range w.managers {
		m, s := w.managers[i], &w.seeds[i]
		switch {
		case m == nil:
		case s.inUse:
			if s.files == (seedFiles{s.value, s.number}) {
				continue
			}
			if was := s.files.seed; s.write() && was != s.value {
				w.seed(i, seedWritten)
			}
		case w.perPort && len(m.states) > 0 && m.last() == smp.Master && m.View != nil && len(m.View.Topo.Nodes) > 1:
			w.makeSeed(i)
		}
	}
}

// makeSeed has a master keep the seed that it has drawn, and then use it. It may die at each step.
func (w *wild) makeSeed(i int) {
	s := &w.seeds[i]
	dies := ""
	if w.wildly {
		dies = pick(w.rng, diesBefore, diesKept, diesUsing, "", "", "")
	}
	dead := func(where string) bool {
		if dies == where {
			w.seed(i, dies)
			w.kill(i)
		}
		return dies == where
	}
	if dead(diesBefore) {
		return
	}
	if s.full {
		w.ofSeeds[seedFull]++ // it tries again
		return
	}
	if s.files.seed = s.value; dead(diesKept) {
		return
	}
	w.seed(i, seedMade)
	s.inUse = true
	w.Configure(w.managers[i].Manager, w.config(i))
	if dies == diesUsing {
		w.harness.pass(time.Duration(w.rng.IntN(15)) * time.Millisecond)
		dead(diesUsing)
	}
}

// pass lets time pass, in which managers tend their seeds.
func (w *wild) pass(d time.Duration) {
	for end := w.Fabric.Now() + d; w.Fabric.Now() < end; {
		next := end
		if w.seeds != nil {
			next = min(end, w.tended+seedTick)
		}
		w.harness.pass(next - w.Fabric.Now())
		if w.seeds != nil && next == w.tended+seedTick {
			w.tended = next
			w.tend()
		}
	}
}

// restoreSeed prepares the state directory of a manager that is about to start: as it is, as it was when it was copied, or empty.
func (w *wild) restoreSeed(i int, older, empty bool) {
	s := &w.seeds[i]
	switch {
	case older:
		s.files = s.older
	case empty:
		s.files = seedFiles{}
	}
	s.start(w.rng)
	held := false // by a port, of this seed
	some := false
	p := s.ports()
	for _, at := range w.endPorts() {
		info := w.Fabric.PortInfo(at)
		key := uint64(info.MKey())
		if key == 0 || key == subnetSecret.MKey() {
			continue
		}
		some = true
		if _, is := p.Made(uint64(w.Fabric.PortGUID(at)), key); is {
			held = true
		}
	}
	switch {
	case !some || held:
	case s.inUse:
		w.seed(i, seedOlder)
	default:
		w.seed(i, seedLost)
	}
}

// mustHoldSeed fails the test where ports have other M_Keys than those of a master's seed. Two masters with different seeds, which do not hear each other, have a part
// of the subnet each. One that became master while another gave its own port an M_Key has nothing but itself, and makes no seed: a manager without the
// secret cannot take part while there is a master (docs/security.md).
func (w *wild) mustHoldSeed(masters []int) {
	w.Helper()
	var all []keys.Ports
	for _, i := range masters {
		s, m := &w.seeds[i], w.managers[i]
		if alone := m.View != nil && len(m.View.Topo.Nodes) == 1; alone && !s.inUse && len(masters) > 1 {
			continue
		}
		if !s.inUse || s.number == 0 {
			w.Errorf("manager %d is master, and has no seed in use", i)
		}
		if s.files != (seedFiles{s.value, s.number}) {
			w.Errorf("manager %d has not kept its seed", i)
		}
		all = append(all, s.ports())
	}
	w.mustHoldMKeysOf(all...)
}

// at is the port of a manager.
func (w *wild) at(i int) net.End { return host(w.net, 5*i) }
