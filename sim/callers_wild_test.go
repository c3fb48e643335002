package sim_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/manager"
	"ibsm/partitions"
	"ibsm/partitions/callers"
	"ibsm/registry"
	"ibsm/sa"
	"ibsm/sa/mirror"
	"ibsm/sim"
	"ibsm/sim/fabric"
	"ibsm/sweep"
	"ibsm/topo/net"
	"ibsm/topo/net/nettest"
)

// wildCallers are programs that put partitions at two managers, which are killed and started again, while the partition
// file changes.
type wildCallers struct {
	*harness
	rng      *rand.Rand
	hosts    []net.End
	places   [2]net.End
	managers [2]*watched // nil for one that is killed
	disks    [2]*sim.Disk
	file     *partitions.Policy
	orders   []*wildOrder
	follows  *watched        // the manager whose changes the other one has had all at some time of this term
	all      []*watched      // every manager that ever ran
	stable   map[net.End]int // the index of the P_Key that all hosts have all the time; -1 before it is there
	// masterPriority is the priority of managers that are master; 0 for that of other ones.
	masterPriority uint8
}

// wildOrder is an order, and what became of it.
type wildOrder struct {
	name    string
	number  uint64 // of the change; 0 for none
	after   string // the partition after the change, "" for none
	decided bool
	*pending
}

// maybe reports whether a change was made that its caller cannot know of.
func (o *wildOrder) maybe() bool {
	return o.decided && o.number > 0 && (!o.answered || errors.Is(o.Err, sa.ErrNotMaster))
}

// promised reports whether the caller got the answer that the change is made.
func (o *wildOrder) promised() bool {
	return o.answered && o.Err == nil && o.number > 0 && !o.Unmirrored
}

const (
	stableKey  = mad.PKey(0x1ff)
	stableName = "stable"
)

// content is a partition with its members as a text.
func content(s *registry.State, name string) string {
	p, is := s.PartitionNamed(name)
	if !is {
		return ""
	}
	text := fmt.Sprintf("%s %s %q", name, p.Key, p.Note)
	for m := range s.PartitionMembers(p.Key) {
		text += fmt.Sprintf(" %v=%d", m.Port, m.Membership)
	}
	return text
}

func newWildCallers(t *testing.T, seed uint64) *wildCallers {
	w := &wildCallers{rng: rand.New(rand.NewPCG(seed, 55)), stable: map[net.End]int{}}
	n := nettest.Generate(t, "fattree:k=4,levels=2")
	w.harness = newHarness(t, n, fabric.Config{Seed: seed, OnSet: func(s fabric.Set) {
		if s.Attr == smp.AttrPKeyTable {
			w.mustBeStable()
		}
	}})
	for at := range w.Fabric.EndPorts() {
		if w.Fabric.NodeType(at.Node) == mad.CA {
			w.hosts, w.stable[at] = append(w.hosts, at), -1
		}
	}
	for i := range w.places {
		w.places[i], w.disks[i] = host(n, 3*i), sim.NewDisk(time.Duration(w.rng.IntN(30))*time.Millisecond)
		w.start(i)
		w.pass(settling)
	}
	o := w.order(0, stableName, func(r *callers.Rules, s *registry.State) (*callers.Done, error) {
		want := callers.Wanted{Name: stableName, Key: stableKey}
		for _, at := range w.hosts {
			want.Members = append(want.Members, w.memberAt(at))
		}
		return r.Put(s, &want, callers.Match{})
	})
	w.pass(settling)
	if !o.promised() {
		t.Fatalf("answered %t, %v", o.answered, o.Err)
	}
	for at := range w.stable {
		if w.stable[at] = slices.Index(w.Fabric.PKeys(at), stableKey|mad.FullMember); w.stable[at] < 0 {
			t.Fatalf("%v has %v", at, w.Fabric.PKeys(at))
		}
	}
	return w
}

// mustBeStable: a P_Key that a port has before and after a change is never missing, and never at another index.
func (w *wildCallers) mustBeStable() {
	w.Helper()
	for at, index := range w.stable {
		if keys := w.Fabric.PKeys(at); index >= 0 && keys[index] != stableKey|mad.FullMember && !w.Failed() {
			w.Errorf("at %v %v has %v", w.Fabric.Now(), at, keys)
		}
	}
}

func (w *wildCallers) config(i int) manager.Config {
	cfg := registrarConfig()
	cfg.Elect.Priority, cfg.Elect.MasterPriority = uint8(9-3*i), w.masterPriority
	cfg.Sweep.Partitions = sweep.Partitions{Policy: w.file}
	cfg.Registrar.Callers.File = w.file
	return cfg
}

func (w *wildCallers) start(i int) {
	w.managers[i] = w.addKept(w.places[i], w.config(i), w.disks[i])
	w.all = append(w.all, w.managers[i])
}

func (w *wildCallers) kill(i int) {
	w.Kill(w.managers[i].Manager)
	w.managers[i] = nil
}

// master is the manager that answers, -1 for none.
func (w *wildCallers) master() int {
	return slices.IndexFunc(w.managers[:], func(m *watched) bool { return m != nil && m.View != nil })
}

// order gives a manager an order.
func (w *wildCallers) order(i int, name string,
	decide func(*callers.Rules, *registry.State) (*callers.Done, error)) *wildOrder {
	o := &wildOrder{name: name}
	o.pending = w.harness.order(w.managers[i], false, func(s *registry.State, now int64) (*callers.Done, error) {
		done, err := decide(callerRules(w.file, now), s)
		if err != nil {
			return done, err
		}
		o.decided = true
		if len(done.Changes) > 0 {
			after, err := registry.Restore(0, func(yield func(registry.Change, error) bool) {
				for c := range s.Changes() {
					if !yield(c, nil) {
						return
					}
				}
			})
			if err != nil {
				w.Fatal(err)
			}
			for _, c := range done.Changes {
				if err := after.Apply(c); err != nil {
					w.Fatal(err)
				}
			}
			o.number, o.after = done.Partition.Number, content(&after.State, name)
			if o.number != s.PartitionNumber()+1 {
				w.Errorf("change %d follows change %d", o.number, s.PartitionNumber())
			}
		}
		return done, nil
	})
	w.orders = append(w.orders, o)
	return o
}

// call is a random order of a caller.
func (w *wildCallers) call() {
	i := w.rng.IntN(2)
	if m := w.master(); m >= 0 && w.rng.IntN(8) > 0 {
		i = m
	}
	if w.managers[i] == nil {
		return
	}
	n := w.rng.IntN(5)
	name := string(rune('a' + n))
	var some, others []callers.Member
	for _, at := range w.hosts {
		m := w.memberAt(at)
		m.Membership = pick(w.rng, partitions.Full, partitions.Full, partitions.Limited)
		if w.rng.IntN(3) == 0 {
			some = append(some, m)
		} else if w.rng.IntN(3) == 0 {
			others = append(others, m)
		}
	}
	kind, key, note := w.rng.IntN(8), mad.PKey(0x100+n), fmt.Sprint(len(w.orders))
	if w.rng.IntN(6) == 0 {
		key += 0x10
	}
	w.order(i, name, func(r *callers.Rules, s *registry.State) (*callers.Done, error) {
		switch kind {
		case 0:
			return r.Delete(s, name, callers.Match{})
		case 1, 2, 3:
			return r.Edit(s, name, &callers.Edit{Add: some, Remove: others}, callers.Match{})
		}
		return r.Put(s, &callers.Wanted{Name: name, Key: key, Note: note, Members: some}, callers.Match{})
	})
}

// edit gives both managers another partition file.
func (w *wildCallers) edit() {
	text := pick(w.rng, "", "Default=0x7fff, ipoib: ALL=full;\n", "Default=0x7fff: ALL=full;\nmine=0x101: ALL;\n",
		"Default=0x7fff: ALL=full;\nb=0x33: ALL=full;\n")
	if w.file = nil; text != "" {
		policy, errs, _ := partitions.Parse("partitions.conf", []byte(text)).Policy()
		if len(errs) > 0 {
			w.Fatal(errs)
		}
		w.file = policy
	}
	for i, m := range w.managers {
		if m != nil {
			w.Configure(m.Manager, w.config(i))
		}
	}
}

// harm kills a manager, or starts one that was killed. The last one that was killed has all that was promised.
func (w *wildCallers) harm() {
	if dead := slices.Index(w.managers[:], nil); dead >= 0 {
		w.start(dead)
		return
	}
	if i := w.rng.IntN(2); i != w.master() || w.follows == w.managers[i] {
		w.kill(i)
	}
}

// follow notes when the standby has all changes: from then on no change is promised that it has not. One that has just
// begun, or whose master has, does not have them yet.
func (w *wildCallers) follow() {
	m := w.master()
	if m < 0 || w.managers[1-m] == nil || w.follows != nil && w.follows != w.managers[m] {
		w.follows = nil
		return
	}
	master, standby := w.managers[m].Registrar(), w.managers[1-m].Registrar()
	of := standby.MirrorStats().Follower
	known := slices.ContainsFunc(master.MirrorStats().Standbys, func(s mirror.Standby) bool {
		return s.GUID == w.Fabric.PortGUID(w.places[1-m])
	})
	if known && of.Master == w.Fabric.PortGUID(w.places[m]) && of.Heard > 0 &&
		standby.State().Seq() == master.State().Seq() {
		w.follows = w.managers[m]
	}
}

// TestCallersAnyOrder: whatever eight callers, edits of the file, killed managers and takeovers do, what was promised
// is so in the end, changes have numbers without a gap, tables are as some order of the changes gives them, and no port
// lacks a P_Key meanwhile that it has all the time.
func TestCallersAnyOrder(t *testing.T) {
	for _, seed := range seedsOf(t, 20, 500) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			defer repeat(t, seed)
			w := newWildCallers(t, seed)
			for range 60 {
				w.follow()
				switch w.rng.IntN(12) {
				case 0:
					w.edit()
				case 1, 2:
					for range w.rng.IntN(6) {
						w.call()
					}
					w.pass(time.Duration(w.rng.IntN(25)) * time.Millisecond) // while they are written and mirrored
					w.harm()
				default:
					for range 1 + w.rng.IntN(8) {
						w.call()
					}
				}
				w.pass(time.Duration(w.rng.ExpFloat64() * float64(pick(w.rng, 0, time.Millisecond, 200*time.Millisecond,
					3*time.Second))))
			}
			for i, m := range w.managers {
				if m == nil {
					w.start(i)
				}
			}
			w.pass(convergence)
			w.judge()
		})
	}
}

func (w *wildCallers) judge() {
	w.Helper()
	m := w.master()
	if m < 0 || w.managers[1-m].last() != smp.Standby {
		w.Fatalf("the master is %d", m)
	}
	state := w.managers[m].Registrar().State()
	changes := func(s *registry.State) (all []string) {
		for p := range s.Partitions() {
			all = append(all, fmt.Sprint(content(s, p.Name), " ", p.Number))
		}
		return all
	}
	if got, want := changes(w.managers[1-m].Registrar().State()), changes(state); !slices.Equal(got, want) {
		w.Errorf("the standby has\n%s\nthe master\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	promised, made := map[uint64]*wildOrder{}, map[uint64]bool{}
	last := map[string]*wildOrder{} // by name, of those that were promised
	for _, o := range w.orders {
		if o.promised() {
			if other := promised[o.number]; other != nil {
				w.Errorf("change %d is promised twice: %q and %q", o.number, other.after, o.after)
			}
			promised[o.number] = o
			if had := last[o.name]; had == nil || had.number < o.number {
				last[o.name] = o
			}
		}
		if o.promised() || o.maybe() || o.answered && o.Unmirrored {
			made[o.number] = true
		}
	}
	joins, gaps := 0, []uint64(nil) // a join is a change that nobody has ordered
	for _, m := range w.all {
		joins += int(m.Registrar().Stats().Joined)
	}
	for n := uint64(1); n <= state.PartitionNumber(); n++ {
		if !made[n] {
			gaps = append(gaps, n)
		}
	}
	if len(gaps) > joins {
		w.Errorf("nobody has made changes %d of %d, of which at most %d were joins", gaps, state.PartitionNumber(), joins)
	}
	for name, o := range last {
		now := content(state, name)
		p, _ := state.PartitionNamed(name)
		later := slices.ContainsFunc(w.orders, func(l *wildOrder) bool {
			return l.name == name && l.number > o.number && l.after == now && (l.maybe() || l.answered && l.Unmirrored)
		})
		ordered := slices.ContainsFunc(w.orders, func(l *wildOrder) bool {
			return l.name == name && l.number > 0 && l.number == p.Number && l.after == now
		})
		joined := joins > 0 && !ordered && w.hasMembers(state, o)
		if !later && !joined && (now != o.after || now != "" && p.Number != o.number) {
			w.Errorf("%s was promised by change %d as %q, and is %q by change %d", name, o.number, o.after, now, p.Number)
		}
	}
	w.judgeTables(state)
}

// hasMembers reports whether a partition has all members that an order gave it.
func (w *wildCallers) hasMembers(state *registry.State, o *wildOrder) bool {
	now := content(state, o.name)
	for p := range state.Partitions() {
		if strings.HasPrefix(p.Name, o.name+"-") && strings.HasPrefix(o.after, fmt.Sprint(o.name, " ", p.Key)) {
			now = content(state, p.Name) // a join has given it another name
		}
	}
	for _, word := range strings.Fields(o.after) {
		if member, _, is := strings.Cut(word, "="); is && !strings.Contains(now, member) {
			return false
		}
	}
	return true
}

// judgeTables: each host has the P_Keys of the partitions that it is in, and of no other that callers may put.
func (w *wildCallers) judgeTables(state *registry.State) {
	w.Helper()
	for _, at := range w.hosts {
		var want []mad.PKey
		for p := range state.Partitions() {
			if w.file != nil && slices.ContainsFunc(w.file.Partitions, func(f partitions.Partition) bool {
				return f.Key == p.Key || f.Name == p.Name
			}) {
				continue // the file wins
			}
			m, is := state.PartitionMember(registry.MemberKey{Key: p.Key, Port: w.Fabric.PortGUID(at)})
			if is && m.Membership == registry.Membership(partitions.Limited) {
				want = append(want, p.Key)
			} else if is {
				want = append(want, p.Key|mad.FullMember)
			}
		}
		if w.file != nil && w.file.Find(0x101) != nil {
			want = append(want, 0x101)
		}
		var got []mad.PKey
		for _, k := range w.Fabric.PKeys(at) {
			_, is := state.Partition(k)
			_, was := state.FormerPartition(k)
			left := k == 0x101 && w.file == nil && !is && !was // of a file that there is no more
			if k.Base() >= 0x100 && k.Base() < 0x200 && !left {
				got = append(got, k)
			}
		}
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			w.Errorf("%v has %v, want %v", at, w.Fabric.PKeys(at), want)
		}
	}
}
