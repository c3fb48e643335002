package mirror

import (
	"bytes"
	"testing"

	"ibsm/mad"
	"ibsm/registry"
)

// TestSince: of the Changes of an answer those count that are not known, and all of them must
// lead from the number that it names to the other: what is cut off must not be missed.
func TestSince(t *testing.T) {
	var changes []byte
	for n := range 3 {
		changes = registry.DeleteGroup{MGID: mad.GID{0: 0xff, 15: byte(n)}}.AppendTo(changes)
	}
	for _, c := range []struct {
		before, known, now uint64
		want               int // Changes, -1 for an error
	}{{5, 5, 8, 3}, {5, 7, 8, 1}, {5, 8, 8, 0}, {5, 5, 9, -1}, {5, 5, 7, -1}} {
		a := answer{before: c.before, now: position{seq: c.now}, changes: changes}
		got, err := a.since(c.known)
		if (err != nil) != (c.want < 0) || err == nil && len(got) != c.want {
			t.Errorf("%+v: %d changes, %v", c, len(got), err)
		}
	}
}

// TestKind: a message begins with the version of the exchange and its kind; a message of another version or kind is not
// read.
func TestKind(t *testing.T) {
	b := (&question{number: 5}).append(nil)
	if !bytes.Equal(b[:8], []byte{Version, byte(kindQuestion), 0, 0, 0, 0, 0, 0}) {
		t.Errorf("it begins with % x", b[:8])
	}
	if q, err := readQuestion(b); err != nil || q.number != 5 {
		t.Errorf("%+v, %v", q, err)
	}
	for i := range 2 {
		other := bytes.Clone(b)
		other[i]++
		if _, err := readQuestion(other); err == nil {
			t.Errorf("% x is read", other[:8])
		}
	}
}

// TestMissingPartsStay: of a reading without an answer to anything all is as it was.
func TestMissingPartsStay(t *testing.T) {
	was := registry.New()
	for _, c := range []registry.Change{
		registry.PutGroup{Group: registry.Group{MGID: mad.GID{0: 0xff, 1: 0x12, 15: 1}, MLID: mad.MinMulticastLID,
			PKey: mad.DefaultPKey, MTU: mad.MTU2048, Rate: 3}},
		registry.PutMember{
			Member: registry.Member{MGID: mad.GID{0: 0xff, 1: 0x12, 15: 1}, Port: mad.MakeGID(mad.DefaultPrefix, 5),
				JoinState: registry.FullMember},
		},
		registry.PutService{
			Service: registry.Service{
				ServiceKey: registry.ServiceKey{ID: 7, GID: mad.MakeGID(mad.DefaultPrefix, 5), PKey: mad.DefaultPKey},
				Name:       [64]byte{'x'}, Lease: registry.InfiniteLease,
			},
		},
		registry.PutAlias{Alias: registry.Alias{Slot: registry.Slot{Port: 5, Index: 1}, GUID: 6}},
		registry.PutGRHPort{Port: 5},
		registry.PutNeighbor{At: registry.End{GUID: 9, Port: 1}, Far: registry.End{GUID: 5, Port: 1}},
	} {
		if err := was.Apply(c); err != nil {
			t.Fatal(err)
		}
	}
	if got, want := (&Reading{}).Registry(was.Freeze(), 1).Counts(), was.Counts(); got != want ||
		want.Services+want.Aliases+want.Members+want.GRHPorts+want.Neighbors != 5 {
		t.Errorf("%+v, want %+v", got, want)
	}
}
