package callers

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"ibsm/mad"
	"ibsm/partitions"
	"ibsm/registry"
)

// TestHistory: each change is remembered with what it did.
func TestHistory(t *testing.T) {
	k := newKept(t, "")
	k.put(Wanted{Name: "red", Members: ports(1, 2)})
	k.Now++
	k.put(Wanted{Name: "red", Members: ports(2, 3, 4)})
	k.put(Wanted{Name: "red", Members: ports(2, 3, 4)})
	k.do(k.Delete(&k.State, "red", Match{}))
	var got []string
	for e := range k.PartitionEdits() {
		got = append(got, fmt.Sprintf("%d %d %s %s +%d -%d", e.Number, e.Since, e.Name, e.Kind, e.Put, e.Removed))
	}
	want := []string{"1 1000000 red created +2 -0", "2 1000001 red changed +2 -1", "3 1000001 red deleted +0 -3"}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestUndo: taking the last change of a partition back gives what was before, and taking that back what was after.
func TestUndo(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 3))
	k := newKept(t, "")
	undone := map[registry.EditKind]int{}
	for step := range 2000 {
		name := string(rune('a' + rng.IntN(4)))
		before := k.all()
		var members []Member
		for g := range 9 {
			if rng.IntN(2) == 0 {
				members = append(members, Member{Port: mad.GUID(1 + g), Index0: rng.IntN(5) == 0,
					Membership: partitions.Membership(1 + rng.IntN(3))})
			}
		}
		var done *Done
		var err error
		if rng.IntN(4) == 0 {
			done, err = k.Delete(&k.State, name, Match{})
		} else {
			done, err = k.Put(&k.State, &Wanted{Name: name, Key: mad.PKey(1 + rng.IntN(5)), Note: fmt.Sprint(step),
				Members: members}, Match{})
		}
		if err != nil || len(done.Changes) == 0 {
			continue
		}
		k.do(done, nil)
		after, number := k.all(), done.Partition.Number
		if rng.IntN(2) == 0 {
			continue
		}
		e, _ := k.PartitionEdit(number)
		undone[e.Kind]++
		back := k.do(k.Undo(&k.State, number))
		if got := k.all(); !slices.Equal(got, before) || back.Partition.Number != number+1 {
			t.Fatalf("step %d: %v taken back is\n%s\nbefore\n%s", step, e.Kind, strings.Join(got, "\n"), strings.Join(before, "\n"))
		}
		if rng.IntN(2) == 0 {
			k.do(k.Undo(&k.State, number+1))
			if got := k.all(); !slices.Equal(got, after) {
				t.Fatalf("step %d: taken back twice\n%s\nafter\n%s", step, strings.Join(got, "\n"), strings.Join(after, "\n"))
			}
		}
	}
	if len(undone) != 3 {
		t.Errorf("taken back were %v", undone)
	}
}

// TestUndoRefused: a change is not taken back when something has come after it.
func TestUndoRefused(t *testing.T) {
	k := newKept(t, "")
	k.put(Wanted{Name: "red", Key: 1, Members: ports(1)})
	k.put(Wanted{Name: "red", Members: ports(2)})
	k.put(Wanted{Name: "blue", Key: 2})
	k.do(k.Delete(&k.State, "blue", Match{}))
	k.put(Wanted{Name: "blue", Key: 3})
	many := make([]Member, 2000)
	for i := range many {
		many[i].Port = mad.GUID(1 + i)
	}
	k.put(Wanted{Name: "large", Key: 4, Members: many})
	for number, says := range map[uint64]string{1: "since, by change 2", 3: "has been deleted since, by change 4",
		4: "P_Key 0x0003 has the name \"blue\" now", 6: "too long", 99: "not among the last ones"} {
		_, err := k.Undo(&k.State, number)
		if r := refusalOf(t, err); !strings.Contains(r.Text, says) {
			t.Errorf("change %d: %s", number, r.Text)
		}
	}
	k.File = policyOf(t, "mine=0x1: ALL;")
	_, err := k.Undo(&k.State, 2)
	if r := refusalOf(t, err); r.Kind != Conflict || !strings.Contains(r.Text, "partitions.conf") {
		t.Errorf("a partition of the file: %s", r.Text)
	}
}
