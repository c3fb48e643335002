package callers

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"ibsm/mad"
	"ibsm/registry"
)

// copied is the same registry.
func (k *kept) copied() *kept {
	k.Helper()
	next, err := registry.Restore(k.Seq(), func(yield func(registry.Change, error) bool) {
		for c := range k.Changes() {
			if !yield(c, nil) {
				return
			}
		}
	})
	if err != nil {
		k.Fatal(err)
	}
	return &kept{T: k.T, Registry: next, Rules: k.Rules}
}

// branch is the registry of a manager that goes on by itself, in a term of its own.
func (k *kept) branch(manager mad.GUID) *kept {
	k.Helper()
	b := k.copied()
	b.do(&Done{Changes: []registry.Change{registry.PutPartitionTerm{PartitionTerm: registry.PartitionTerm{
		First: k.PartitionNumber() + 1, Manager: manager, Began: uint64(k.Now)}}}}, nil)
	return b
}

// all are the partitions as texts.
func (k *kept) all() (texts []string) {
	for p := range k.Partitions() {
		texts = append(texts, fmt.Sprintf("%s=%s:%s", p.Name, p.Key, strings.Join(k.members(p.Name), ",")))
	}
	return texts
}

func guid(n int) string { return fmt.Sprintf("%v=full", mad.GUID(n)) }

// TestJoin: what one half of a subnet has changed is taken, of what both have changed the newer with the members of
// both.
func TestJoin(t *testing.T) {
	root := newKept(t, "").branch(1)
	for i, name := range []string{"same", "ours", "theirs", "both", "deleted-here", "deleted-there", "deleted-twice"} {
		root.put(Wanted{Name: name, Key: mad.PKey(1 + i), Members: ports(1)})
	}
	own, other := root.branch(2), root.branch(3)
	if Lacks(&own.State, &other.State) || Common(&own.State, &other.State) != 7 {
		t.Fatalf("common is %d", Common(&own.State, &other.State))
	}
	own.put(Wanted{Name: "ours", Members: ports(2)})
	own.put(Wanted{Name: "both", Members: ports(1, 2)})
	own.do(own.Delete(&own.State, "deleted-here", Match{}))
	own.do(own.Delete(&own.State, "deleted-twice", Match{}))
	own.put(Wanted{Name: "new", Key: 0x20, Members: ports(2)})
	other.put(Wanted{Name: "theirs", Members: ports(3)})
	other.do(other.Delete(&other.State, "deleted-there", Match{}))
	other.do(other.Delete(&other.State, "deleted-twice", Match{}))
	other.put(Wanted{Name: "new", Key: 0x21, Members: ports(3)})
	other.put(Wanted{Name: "deleted-here", Members: ports(1, 3)})
	other.put(Wanted{Name: "both", Note: "newest", Members: ports(1, 3)})
	if !Lacks(&own.State, &other.State) || !Lacks(&other.State, &own.State) {
		t.Fatal("nobody lacks anything")
	}
	changes, differ := Join(&own.State, &other.State, registry.PartitionTerm{Manager: 2, Began: 9}, 77)
	joined := own
	joined.do(&Done{Changes: changes}, nil)
	want := []string{"same=0x0001:" + guid(1), "ours=0x0002:" + guid(2), "theirs=0x0003:" + guid(3),
		"both=0x0004:" + guid(1) + "," + guid(2) + "," + guid(3), "deleted-here=0x0005:" + guid(1) + "," + guid(3),
		"new=0x0020:" + guid(2), "new-0021=0x0021:" + guid(3)}
	if got := joined.all(); !slices.Equal(got, want) {
		t.Errorf("joined to\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if p, _ := joined.PartitionNamed("both"); p.Note != "newest" || p.Number != 14 || p.Since != 77 {
		t.Errorf("both is %+v", p)
	}
	if p, _ := joined.PartitionNamed("theirs"); p.Number != 14 {
		t.Errorf("theirs is %+v, whose number is that of another change here", p)
	}
	if p, _ := joined.PartitionNamed("ours"); p.Number != 8 {
		t.Errorf("ours is %+v", p)
	}
	if !slices.Equal(differ, []string{"both", "new (P_Key 0x0021 is now new-0021)"}) {
		t.Errorf("they differ in %q", differ)
	}
	if again, _ := Join(&joined.State, &root.State, registry.PartitionTerm{}, 78); len(again) > 0 {
		t.Errorf("an earlier state changes %v", again)
	}
}

// TestJoinDescendant: a state that has all changes and more is taken as it is; an earlier one changes nothing.
func TestJoinDescendant(t *testing.T) {
	for seed := range uint64(50) {
		rng := rand.New(rand.NewPCG(seed, 8))
		older := newKept(t, "").branch(1)
		k := older
		for range rng.IntN(30) {
			if rng.IntN(5) == 0 {
				k = k.branch(mad.GUID(rng.IntN(9)))
				k.Now++
			}
			if rng.IntN(4) == 0 {
				older = k.copied()
			}
			name := string(rune('a' + rng.IntN(4)))
			if rng.IntN(3) == 0 {
				k.do(k.Delete(&k.State, name, Match{}))
			} else if done, err := k.Put(&k.State, &Wanted{Name: name, Key: mad.PKey(1 + rng.IntN(6)),
				Members: ports(mad.GUID(1 + rng.IntN(5)))}, Match{}); err == nil {
				k.do(done, nil)
			}
		}
		changes, differ := Join(&older.State, &k.State, registry.PartitionTerm{}, 1)
		if older.do(&Done{Changes: changes}, nil); len(differ) > 0 {
			t.Errorf("seed %d: they differ in %v", seed, differ)
		}
		changed := func(k *kept) (all []registry.Change) { // but for terms, which come with their first change
			for c := range k.Changes() {
				if c.Kind() != registry.KindPutPartitionTerm {
					all = append(all, c)
				}
			}
			return all
		}
		if got, want := changed(older), changed(k); !slices.Equal(got, want) {
			t.Errorf("seed %d: %v, want %v", seed, got, want)
		}
		if changes, _ := Join(&k.State, &older.State, registry.PartitionTerm{}, 1); len(changes) > 0 {
			t.Errorf("seed %d: joined twice: %v", seed, changes)
		}
	}
}
