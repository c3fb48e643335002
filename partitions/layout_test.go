package partitions

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"ibsm/mad"
	"ibsm/partitions/partitionstest"
	"ibsm/sim/fabric"
	"ibsm/topo"
)

// modelPort is how OpenSM 3.3.23 lays out the P_Key table of a port, as TestLayout finds it to do.
type modelPort struct {
	table []mad.PKey
	at    map[mad.PKey]int // where this process put each key: accum_pkeys
	next  int              // behind the last of these
	both  bool             // allow_both_pkeys
	keep  bool             // keep_pkey_indexes
	size  int
}

// same reports whether OpenSM takes two keys for one.
func (l *modelPort) same(a, b mad.PKey) bool {
	return b.Valid() && (a == b || !l.both && a.Base() == b.Base())
}

// isDefault reports whether a key goes to index 0 without being asked for.
func (l *modelPort) isDefault(k mad.PKey) bool { return l.same(k, mad.DefaultPKey) }

// held is the index of a key in the table that was read, -1 for none.
func (l *modelPort) held(k mad.PKey) int {
	return slices.IndexFunc(l.table, func(h mad.PKey) bool { return l.keep && l.same(h, k) })
}

// forget forgets which key was put at an index.
func (l *modelPort) forget(at int) {
	for k, i := range l.at {
		if i != at {
			continue
		}
		delete(l.at, k)
		if l.next == at+1 {
			l.next = 0
			for _, j := range l.at {
				l.next = max(l.next, j+1)
			}
		}
		return
	}
}

// sweep makes the table of a sweep. The wanted keys come in OpenSM's order; first is the one of indx0, 0 for none.
func (l *modelPort) sweep(want []mad.PKey, first mad.PKey) {
	type entry struct {
		key mad.PKey
		at  int // -1: a new one
	}
	if !l.keep {
		l.at, l.next = nil, 0
	}
	if l.at == nil {
		l.at = map[mad.PKey]int{}
	}
	var pending []entry
	for _, k := range want {
		at := l.held(k)
		asked := first != 0 && l.same(k, first) || first == 0 && l.isDefault(k)
		stays := first == 0 && k.Base() == DefaultKey // at index 0
		if at > 0 && asked || at == 0 && !asked && !stays {
			l.forget(at)
			at = -1
		}
		if at < 0 {
			pending = append(pending, entry{k, at})
		} else {
			pending = slices.Insert(pending, 0, entry{k, at})
		}
	}
	table := make([]mad.PKey, max(l.size, len(l.table)))
	for len(pending) > 0 {
		e := pending[0]
		pending = pending[1:]
		was, known := l.at[e.key]
		if e.at < 0 && known {
			if first != 0 && l.same(e.key, first) || e.key != first && was == 0 {
				l.forget(was)
				pending = append(pending, e)
			} else {
				table[was] = e.key
			}
			continue
		}
		if e.at < 0 {
			e.at = l.place(e.key, first, table)
		}
		if e.at >= 0 {
			table[e.at] = e.key
			l.at[e.key] = e.at
			l.next = max(l.next, e.at+1)
		}
	}
	l.table = table
}

// place is the index of a new key, -1 where the table is full.
func (l *modelPort) place(k, first mad.PKey, table []mad.PKey) int {
	at := max(l.next, 1)
	if first == 0 && l.isDefault(k) || first != 0 && l.same(k, first) {
		at = 0
	}
	if at < l.size {
		return at
	}
	if l.isDefault(k) {
		return -1
	}
	for at = 1; at < l.size; at++ {
		if !table[at].Valid() {
			l.forget(at)
			return at
		}
	}
	return -1
}

// wantedBy returns the wanted keys of each end port in OpenSM's order, and those of indx0.
func wantedBy(p *Policy, t *topo.Topo, both bool) (want map[mad.GUID][]mad.PKey, first map[mad.GUID]mad.PKey) {
	type item struct {
		*Member
		key mad.PKey
	}
	var items []item
	for i := range p.Partitions {
		for j := range p.Partitions[i].Members {
			items = append(items, item{&p.Partitions[i].Members[j], p.Partitions[i].Key})
		}
	}
	slices.SortStableFunc(items, func(a, b item) int {
		return cmp.Or(cmp.Compare(a.Position.Line, b.Position.Line), cmp.Compare(a.Position.Col, b.Position.Col))
	})
	want, first = map[mad.GUID][]mad.PKey{}, map[mad.GUID]mad.PKey{}
	for _, port := range t.EndPorts {
		guid := t.Ports[port].GUID
		keys := map[mad.PKey]Membership{}
		for _, it := range items {
			if !(&compiler{Tables: &Tables{Policy: p}, t: t}).names(it.Member, port) {
				continue
			}
			keys[it.key] = it.Membership
			key := it.key
			switch {
			case it.Membership == Both && !both:
				keys[it.key] = Full
				key |= mad.FullMember
			case it.Membership == Full:
				key |= mad.FullMember
			}
			if it.Index0 {
				first[guid] = key
			} else if first[guid].Base() == it.key {
				first[guid] = 0
			}
		}
		for key, m := range keys {
			if m != Full {
				want[guid] = append(want[guid], key)
			}
			if m != Limited {
				want[guid] = append(want[guid], key|mad.FullMember)
			}
		}
		order := func(k mad.PKey) int { return int(k&0xff)<<8 | int(k.Base()>>8) } // of its octets on the wire
		slices.SortFunc(want[guid], func(a, b mad.PKey) int {
			return cmp.Or(cmp.Compare(order(a), order(b)), cmp.Compare(a, b))
		})
	}
	return want, first
}

// TestLayout: modelPort is what OpenSM does, run after run with other files on the tables that the run before has left.
func TestLayout(t *testing.T) {
	cases := 8
	if os.Getenv("IBSM_PROOF") != "" {
		cases = 300
	}
	for seed := range uint64(cases) {
		rng := rand.New(rand.NewPCG(seed, 51))
		size := []uint16{64, 33, 4}[rng.IntN(3)]
		w := newWitness(t, fabric.Config{Caps: capOf(size)})
		ports := map[mad.GUID]*modelPort{}
		for guid, keys := range w.tables() {
			ports[guid] = &modelPort{table: keys, size: int(size)}
		}
		var guids []mad.GUID
		for _, p := range w.topo.EndPorts {
			guids = append(guids, w.topo.Ports[p].GUID)
		}
		for run := range 3 {
			c := partitionstest.Random(rng, guids)
			policy, errors, _ := Parse("partitions.conf", []byte(c.File)).Policy()
			if policy == nil {
				t.Fatalf("seed %d: %v\n%s", seed, errors, c.File)
			}
			if o := w.openSM(c.File, c.Conf()); o.crashed {
				t.Fatalf("seed %d: OpenSM crashed\n%s", seed, o.log)
			}
			want, first := wantedBy(policy, w.topo, c.Both)
			for guid, got := range w.tables() {
				l, before := ports[guid], fmt.Sprint(ports[guid].table)
				l.at, l.next, l.both, l.keep = nil, 0, c.Both, c.Keep
				l.sweep(want[guid], first[guid])
				if model := cut(l.table); !slices.Equal(model, cut(got)) {
					t.Errorf(
						"seed %d, run %d: port %v had %v, gets %v from OpenSM, expected %v; indx0 %v, size %d\n%s%s",
						seed, run, guid, before, cut(got), model, first[guid], size, c.File, c.Conf())
				}
				l.table = got
			}
		}
		w.close()
	}
}

// cut is a table up to its last valid entry.
func cut(keys []mad.PKey) []mad.PKey { return topo.NewPKeyTable(slices.Clone(keys)).Keys() }

// moved names the keys that are at an index in one table, and not there in the next although they are in it.
func moved(before, after []mad.PKey) (keys []mad.PKey) {
	for i, k := range before {
		if k.Valid() && slices.Contains(after, k) && (i >= len(after) || after[i] != k) {
			keys = append(keys, k)
		}
	}
	return keys
}

// runs is a subnet that OpenSM and ibsm manage in turn, OpenSM as modelPort does.
type runs struct {
	*topo.Topo
	*rand.Rand
	guids []mad.GUID
	ports map[mad.GUID]*modelPort
}

func newRuns(t *testing.T, seed uint64) *runs {
	r := &runs{Topo: witnessTopo(t), Rand: rand.New(rand.NewPCG(seed, 52)), ports: map[mad.GUID]*modelPort{}}
	size := []int{64, 33, 5, 3}[r.IntN(4)]
	for _, p := range r.EndPorts {
		port := &r.Ports[p]
		r.Nodes[port.Node].Info.SetPartitionCap(uint16(size))
		port.PKeys = topo.NewPKeyTable([]mad.PKey{mad.DefaultPKey})
		r.guids = append(r.guids, port.GUID)
		r.ports[port.GUID] = &modelPort{size: size}
	}
	return r
}

// tables are those of all end ports, and set restores them.
func (r *runs) tables() (tables []*topo.PKeyTable) {
	for _, p := range r.EndPorts {
		tables = append(tables, r.Ports[p].PKeys)
	}
	return tables
}

func (r *runs) set(tables []*topo.PKeyTable) {
	for i, p := range r.EndPorts {
		r.Ports[p].PKeys = tables[i]
	}
}

// openSM makes the tables of a sweep of OpenSM, and names the keys that it moves. It was just started, or is the
// process of the sweep before.
func (r *runs) openSM(c *partitionstest.Case, policy *Policy, started bool) (keys []mad.PKey) {
	want, first := wantedBy(policy, r.Topo, c.Both)
	for _, p := range r.EndPorts {
		port := &r.Ports[p]
		l := r.ports[port.GUID]
		if l.both, l.keep = c.Both, c.Keep; started {
			l.at, l.next = nil, 0
		}
		l.table = slices.Clone(port.PKeys.Keys())
		l.sweep(want[port.GUID], first[port.GUID])
		keys = append(keys, moved(port.PKeys.Keys(), l.table)...)
		port.PKeys = topo.NewPKeyTable(slices.Clone(l.table))
	}
	return keys
}

// ibsm makes the tables of a sweep of ibsm, and names the keys that it moves without being asked to: where the file
// asks for a key at index 0, it and the key that is there may move.
func (r *runs) ibsm(c *partitionstest.Case, policy *Policy) (unasked, all []mad.PKey) {
	_, first := wantedBy(policy, r.Topo, c.Both)
	out := Compile(policy, Settings{AllowBoth: c.Both, ForgetIndexes: !c.Keep}, r.Topo, nil)
	for _, p := range r.EndPorts {
		port := &r.Ports[p]
		keys := moved(port.PKeys.Keys(), out.Want[p].Keys())
		all = append(all, keys...)
		asked := first[port.GUID]
		unasked = append(unasked, slices.DeleteFunc(keys, func(k mad.PKey) bool {
			return asked != 0 && (k == asked || k == port.PKeys.Key(0))
		})...)
		port.PKeys = out.Want[p]
	}
	return unasked, all
}

// TestTablesOfOpenSM: ibsm takes over every table that OpenSM leaves without moving a key, and OpenSM moves none
// when it comes back. With another file ibsm moves only what the file asks for.
func TestTablesOfOpenSM(t *testing.T) {
	count := 3000
	if os.Getenv("IBSM_PROOF") != "" {
		count = 200_000
	}
	for seed := range uint64(count) {
		r := newRuns(t, seed)
		var c partitionstest.Case
		var policy *Policy
		next := func() {
			c = partitionstest.Random(r.Rand, r.guids)
			policy, _, _ = Parse("partitions.conf", []byte(c.File)).Policy()
		}
		judge := func(what string, keys []mad.PKey) {
			if len(keys) > 0 {
				t.Errorf("seed %d: %s moves %v\n%s%s", seed, what, keys, c.File, c.Conf())
			}
		}
		if next(); seed%4 == 0 { // ibsm brought the subnet up
			r.ibsm(&c, policy)
			if keys := r.openSM(&c, policy, true); c.Keep {
				judge("OpenSM after ibsm", keys)
			}
		}
		for range 1 + r.IntN(3) {
			next()
			r.openSM(&c, policy, r.IntN(2) == 0)
		}
		left := r.tables()
		anyway := r.openSM(&c, policy, true) // at times OpenSM moves keys of its own tables when it starts again
		r.set(left)
		_, all := r.ibsm(&c, policy)
		judge("ibsm after OpenSM", all)
		if keys := r.openSM(&c, policy, true); len(anyway) == 0 {
			judge("OpenSM on its way back", keys)
		}
		next()
		unasked, _ := r.ibsm(&c, policy)
		judge("ibsm with another file", unasked)
		if t.Failed() {
			return
		}
	}
}
