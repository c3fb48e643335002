package manager

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"ibsm/mad"
	"ibsm/mad/smi"
	"ibsm/registry"
	"ibsm/sa"
	"ibsm/store"
)

// TestMembersAreAskedToRegister: members of a group whose values have changed since the last
// term are named to the core once the first view is there.
func TestMembersAreAskedToRegister(t *testing.T) {
	v := servedView()
	port := v.Topo.Ports[v.LIDs.PortOf(1)].GUID
	group := sa.DefaultGroups()[0]
	group.MLID, group.QKey, group.PacketLifeTime = 0xc000, 0x77, 18
	reg := registry.New()
	for _, c := range []registry.Change{
		registry.PutGroup{Group: group},
		registry.PutMember{Member: registry.Member{MGID: group.MGID, Port: mad.MakeGID(mad.DefaultPrefix, port),
			JoinState: registry.FullMember}},
	} {
		if err := reg.Apply(c); err != nil {
			t.Fatal(err)
		}
	}
	s := &Shell{Restored: &store.Contents{Registry: reg},
		Config: Config{Registrar: sa.RegistrarConfig{Groups: sa.DefaultGroups()}}}
	r := newRegistrar(s, newInbox(&s.sa.stats, time.Now()), func(ds []mad.Datagram) (int, error) {
		return len(ds), nil
	}, time.Now())
	r.step(t.Context(), sa.ViewPublished{View: v})
	select {
	case ev := <-r.heard:
		if asked, is := ev.(Reregister); !is || !slices.Equal(asked.Ports, []mad.GUID{port}) {
			t.Errorf("%+v, want port %v", ev, port)
		}
	default:
		t.Error("nobody is asked to register again")
	}
}

// TestSendFails: a port that sends no more ends the manager with its error, unless it is
// ending already.
func TestSendFails(t *testing.T) {
	port := &clients{closed: make(chan struct{})}
	close(port.closed)
	for _, ending := range []bool{false, true} {
		ctx, cancel := context.WithCancel(t.Context())
		if ending {
			cancel()
		}
		l := &loop{qp0: smi.New(port)}
		l.act(ctx, Send{make([]mad.Datagram, 1)})
		if l.done == ending || (l.err != nil) == ending || !ending && !errors.Is(l.err, errPortClosed) {
			t.Errorf("ending %t: done %t, %v", ending, l.done, l.err)
		}
		cancel()
	}
}
