package store

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"ibsm/mad"
	"ibsm/registry"
)

// history is a store's contents as a function of the number of Changes made: what
// writers write and readers expect.
type history struct {
	registry *registry.Registry
	lids     map[mad.GUID]LID
	text     []byte
}

func newHistory() *history {
	return &history{registry: registry.New(), lids: map[mad.GUID]LID{}}
}

// next makes the next n Changes and what else is put with them.
func (h *history) next(n int) Batch {
	var b Batch
	for range n {
		h.step(&b)
	}
	b.Registry = h.registry.Freeze()
	return b
}

func (h *history) step(b *Batch) {
	seq := int(h.registry.Seq()) + 1
	group, port := seq%20, 1+seq*7%100
	var c registry.Change
	switch {
	case seq <= 20:
		c = putGroup(group)
	case seq%97 == 0:
		c = registry.PutService{
			Service: registry.Service{ServiceKey: registry.ServiceKey{ID: uint64(seq % 300)},
				Lease: registry.InfiniteLease},
		}
	default:
		c = putMember(group, port)
		if _, joined := h.registry.Member(mgid(group), portGID(port)); joined {
			c = registry.DeleteMember{MGID: mgid(group), Port: portGID(port)}
		}
	}
	if err := h.registry.Apply(c); err != nil {
		panic(err)
	}
	b.Changes = append(b.Changes, c)
	guid := mad.GUID(1 + seq%500)
	if seq%3 == 0 { // as seq%500 goes round, any port comes and goes
		delete(h.lids, guid)
		b.Forget = append(b.Forget, guid)
		b.LIDs = slices.DeleteFunc(b.LIDs, func(l LID) bool { return l.Port == guid })
	} else {
		h.lids[guid] = LID{Port: guid, Base: mad.LID(1 + seq%40000)}
		b.LIDs = append(b.LIDs, h.lids[guid])
		b.Forget = slices.DeleteFunc(b.Forget, func(g mad.GUID) bool { return g == guid })
	}
	if seq%50 == 0 {
		h.text = bytes.Repeat([]byte{byte(seq)}, seq%9000)
		b.Configuration = h.text
	}
}

func (h *history) contents() *Contents {
	c := &Contents{Registry: h.registry, Configuration: h.text}
	for _, guid := range slices.Sorted(maps.Keys(h.lids)) {
		c.LIDs = append(c.LIDs, h.lids[guid])
	}
	return c
}

// at advances to a number.
func (h *history) at(seq uint64) *Contents {
	for h.registry.Seq() < seq {
		h.step(&Batch{})
	}
	return h.contents()
}

const crashWriter = "IBSM_TEST_STORE"

// TestMain makes this binary the process that TestKill kills.
func TestMain(m *testing.M) {
	if path := os.Getenv(crashWriter); path != "" {
		writeUntilKilled(path)
	}
	os.Exit(m.Run())
}

// writeUntilKilled goes on with a history and prints the number of each batch that is
// said to be on disk.
func writeUntilKilled(path string) {
	s, c, err := Open(testConfig(path))
	if err != nil {
		fmt.Println("error:", err)
		os.Exit(1)
	}
	h := newHistory()
	h.at(c.Registry.Seq())
	go func() { _ = s.Run(context.Background()) }()
	room := make(chan bool, 30)
	rng := rand.New(rand.NewPCG(c.Registry.Seq(), 1))
	for {
		room <- true
		b := h.next(1 + rng.IntN(100))
		if rng.IntN(30) == 0 {
			b.Changes = nil // replaces the registry: a new snapshot
		}
		s.Put(b, func(err error) {
			if err != nil {
				fmt.Println("error:", err)
			} else {
				fmt.Println(b.Registry.Seq())
			}
			<-room
		})
	}
}

// A writer killed at any moment leaves a file that bbolt finds no fault with and that
// holds everything that was acknowledged, and no batch in part.
func TestKill(t *testing.T) {
	t.Parallel()
	rounds := 20
	if os.Getenv("IBSM_PROOF") != "" {
		rounds = 3000
	}
	cfg := testConfig(filepath.Join(t.TempDir(), "store.db"))
	rng := rand.New(rand.NewPCG(5, 5))
	h := newHistory()
	acknowledged, total := uint64(0), uint64(0)
	for round := range rounds {
		if round%50 == 49 { // a history does not become ever longer to go through
			_ = os.Remove(cfg.Path)
			h, acknowledged = newHistory(), 0
		}
		last := acknowledged
		for _, line := range runAndKill(t, cfg.Path, rng.IntN(40)) {
			var seq uint64
			if _, err := fmt.Sscan(line, &seq); err != nil {
				t.Fatalf("round %d: the writer says %q", round, line)
			}
			acknowledged = max(acknowledged, seq)
		}
		if _, err := os.Stat(cfg.Path); err != nil && acknowledged == 0 {
			continue // killed before there was a file
		}
		check(t, cfg.Path)
		s, c := open(t, cfg)
		if c.Damage != nil || c.Registry.Seq() < acknowledged || c.Registry.Seq() < h.registry.Seq() {
			t.Fatalf("round %d: damage %v; change %d, acknowledged %d", round, c.Damage, c.Registry.Seq(), acknowledged)
		}
		same(t, c, h.at(c.Registry.Seq()))
		if err := s.Close(); err != nil || t.Failed() {
			t.Fatalf("round %d: %v", round, err)
		}
		total += acknowledged - last
	}
	t.Logf("%d rounds, %d changes acknowledged", rounds, total)
	if total < uint64(rounds) {
		t.Errorf("%d changes in %d rounds prove little", total, rounds)
	}
}

// runAndKill kills a writer some time after its first lines, and returns the whole lines
// that it printed.
func runAndKill(t *testing.T, path string, lines int) []string {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), crashWriter+"="+path)
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	var said []string
	in := bufio.NewReader(out)
	for n := 0; ; n++ {
		if n == lines {
			_ = cmd.Process.Kill()
		}
		line, err := in.ReadString('\n')
		if err != nil {
			break
		}
		said = append(said, strings.TrimSpace(line))
	}
	_ = cmd.Wait()
	return said
}

// Power is lost while a transaction is written: of its pages any may be on disk, its
// meta page not or in part. The file then holds what it held before; or, when all of it
// was there, what was being written.
func TestCrashImages(t *testing.T) {
	t.Parallel()
	cfg := testConfig(filepath.Join(t.TempDir(), "store.db"))
	image := testConfig(filepath.Join(t.TempDir(), "store.db"))
	states, images := 16, 6
	if os.Getenv("IBSM_PROOF") != "" {
		states, images = 300, 40
	}
	rng := rand.New(rand.NewPCG(9, 9))
	s, _ := open(t, cfg)
	h, past := newHistory(), newHistory()
	read := func() []byte {
		b, err := os.ReadFile(cfg.Path)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	before := read()
	for state := range states {
		b := h.next(1 + rng.IntN(2000))
		if state%7 == 6 {
			b.Changes = nil // replaces the registry: a new snapshot
		}
		s.Put(b, nil)
		flush(t, s)
		after := read()
		for range images {
			b, done := crash(rng, before, after)
			if err := os.WriteFile(image.Path, b, 0o600); err != nil {
				t.Fatal(err)
			}
			check(t, image.Path)
			s, c := open(t, image)
			_ = s.Close()
			was := past.contents()
			if done || c.Registry.Seq() == h.registry.Seq() {
				was = h.contents()
			}
			same(t, c, was)
			if c.Damage != nil || t.Failed() {
				t.Fatalf("state %d: damage %v", state, c.Damage)
			}
		}
		before = after
		past.at(h.registry.Seq())
	}
}

// crash is a file between two of its states, and whether it must be as the second.
func crash(rng *rand.Rand, before, after []byte) (image []byte, done bool) {
	image = slices.Clone(before)
	if len(after) > len(before) && rng.IntN(2) == 0 {
		image = append(image, make([]byte, len(after)-len(before))...)
	}
	changed := func(at int) bool { return !bytes.Equal(page(before, at), page(after, at)) }
	all := rng.IntN(2) == 0
	if all {
		image = append(image[:min(len(image), len(after))], make([]byte, max(0, len(after)-len(image)))...)
	}
	for at := 2 * pageSize; at < len(image); at += pageSize {
		if changed(at) && (all || rng.IntN(2) == 0) {
			copy(image[at:], page(after, at))
		}
	}
	if !all {
		return image, false
	}
	// The data is there; of the meta page the first bytes, a sector, or all.
	torn := []int{0, 512, 16 + rng.IntN(64), pageSize}[rng.IntN(4)]
	for at := 0; at < 2*pageSize; at += pageSize {
		if changed(at) {
			copy(image[at:], page(after, at)[:torn])
		}
	}
	return image, torn >= 80
}

func page(b []byte, at int) []byte {
	if at >= len(b) {
		return nil
	}
	return b[at:][:pageSize]
}

// A rewrite that was cut short leaves a file beside the store that nobody minds.
func TestCrashInRewrite(t *testing.T) {
	cfg := testConfig(filepath.Join(t.TempDir(), "store.db"))
	want := filled(t, cfg)
	whole, err := os.ReadFile(cfg.Path)
	if err == nil {
		err = os.WriteFile(cfg.Path+".new", whole[:len(whole)/2], 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	s, c := open(t, cfg)
	same(t, c, want)
	s.settle(errors.New("a failure of the disk"))
	flush(t, s)
	_ = s.Close()
	_, c = open(t, cfg)
	same(t, c, want)
	if left, _ := filepath.Glob(cfg.Path + "*"); len(left) != 2 {
		t.Errorf("left: %v", left)
	}
}

// BenchmarkJoin is what it costs to make a join durable: alone, and with others that
// came while the one before was written.
func BenchmarkJoin(b *testing.B) {
	for _, n := range []int{1, 10, 100, 1000} {
		b.Run(fmt.Sprintf("batch-%d", n), func(b *testing.B) {
			s, c := open(b, testConfig(filepath.Join(b.TempDir(), "store.db")))
			r := c.Registry
			for g := range 100 {
				s.Put(register(b, r, putGroup(g)), nil)
			}
			flush(b, s)
			joins, port, began := 0, 0, time.Now()
			for b.Loop() {
				var changes []registry.Change
				for range n {
					port++
					changes = append(changes, putMember(port%100, 1+port/100))
				}
				s.Put(register(b, r, changes...), nil)
				flush(b, s)
				joins += n
			}
			b.ReportMetric(float64(joins)/time.Since(began).Seconds(), "joins/s")
		})
	}
}
