package registry

import (
	"math/rand/v2"
	"slices"
	"testing"

	"ibsm/mad"
)

// onMLIDs is everything that decides about the trees of MLIDs.
func onMLIDs(s *State) map[mad.LID][]Member {
	all := map[mad.LID][]Member{}
	for mlid := range s.MLIDs() {
		all[mlid] = nil
		for g := range s.OnMLID(mlid) {
			for m := range s.Members(g.MGID) {
				if at, is := s.Alias(m.Port.GUID()); is {
					m.Port = mad.MakeGID(0, at.Port)
				}
				all[mlid] = append(all[mlid], m)
			}
		}
	}
	return all
}

// TouchedMLIDs names all that differ, whatever has changed, and nothing else.
func TestTouchedMLIDs(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	r := New()
	port := func(i int) mad.GID { return mad.MakeGID(mad.DefaultPrefix, mad.GUID(i+1)) }
	const groups = 500
	for i := range uint32(groups) {
		apply(t, r, PutGroup{plainGroup(i, 0xc000+mad.LID(i))})
		for range 20 {
			apply(t, r, PutMember{
				Member{MGID: plainGroup(i, 0).MGID, Port: port(rng.IntN(1000)), JoinState: FullMember},
			})
		}
	}
	old := r.Freeze()
	if got := old.TouchedMLIDs(nil); len(got) != groups || old.TopMLID() != got[groups-1] || New().TopMLID() != 0 {
		t.Errorf("%d MLIDs up to %v", len(got), old.TopMLID())
	}
	if got := r.Freeze().TouchedMLIDs(old); len(got) != 0 {
		t.Errorf("nothing has changed, but %d MLIDs are touched", len(got))
	}
	for step := range 100 {
		for range rng.IntN(3) + 1 {
			n := uint32(rng.IntN(groups))
			g := plainGroup(n, 0xc000+mad.LID(n))
			switch _, is := r.Group(g.MGID); {
			case !is:
				apply(t, r, PutGroup{g})
			case step%7 == 0:
				apply(t, r, DeleteGroup{g.MGID})
			case step%11 == 0:
				g.MLID += groups
				apply(t, r, PutGroup{g})
			case step == 50:
				apply(t, r, PutAlias{Alias{Slot{port(1).GUID(), 1}, port(2).GUID()}})
			default:
				apply(t, r, PutMember{
					Member{MGID: g.MGID, Port: port(rng.IntN(1000)), JoinState: JoinState(1 + rng.IntN(15))},
				})
			}
		}
		now := r.Freeze()
		touched := now.TouchedMLIDs(old)
		before, after := onMLIDs(old), onMLIDs(now)
		for mlid := mad.MinMulticastLID; mlid < mad.MinMulticastLID+2*groups; mlid++ {
			if !slices.Equal(before[mlid], after[mlid]) && !slices.Contains(touched, mlid) {
				t.Fatalf("step %d: MLID %v has changed and is not named", step, mlid)
			}
		}
		if len(touched) > 6 && step != 50 { // three changes, each of no more than two
			t.Errorf("step %d: %d MLIDs are named", step, len(touched))
		}
		if !slices.IsSorted(touched) {
			t.Error("out of order")
		}
		old = now
	}
}
