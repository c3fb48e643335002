package main_test

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ibsm/ctl"
	"ibsm/mad"
	"ibsm/sim/fabric"
)

// TestCallersFailover: what was answered is read at once on the master and on the standby, and after a kill of the
// master at the next one; numbers have no gap; members keep their P_Keys all the time.
func TestCallersFailover(t *testing.T) {
	kills, changes := 3, 30
	if proof() {
		kills, changes = 100, 100
	}
	s := newSuccession(t)
	s.manager.kill()
	conf := filepath.Join(s.dir, "opensm.conf")
	if err := os.WriteFile(conf, []byte("master_sm_priority 14\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var at [2]*ctl.Client
	var managers [2]*process
	start := func(i int) {
		managers[i] = s.manage(i, 3, "-F", conf)
		if at[i] != nil {
			at[i].Close()
		}
		at[i] = ctl.NewClient(s.sockets[i])
		t.Cleanup(at[i].Close)
	}
	state := func(i int) string {
		st := &ctl.Status{}
		if at[i].Get(t.Context(), "/v1/status", nil, st) != nil {
			return ""
		}
		return st.State
	}
	c := &callerChanges{t: t, guid: s.memberGUID()}
	start(0)
	managers[0].await("SUBNET UP")
	start(1)
	master := 0
	for range kills {
		managers[1-master].await("mirroring the client registrations of the master")
		for range changes {
			c.put(at[master])
			c.read(at[master])
			if c.mirrored {
				c.read(at[1-master])
			}
		}
		c.refused(at[1-master])
		for c.put(at[master]); !c.mirrored; {
			c.put(at[master])
		}
		managers[master].kill()
		killed := master
		c.read(at[1-killed])
		master = 1 - killed
		eventually(t, "the standby takes over", func() bool { return state(master) == "MASTER" })
		c.read(at[master])
		eventually(t, "the partition is ready", func() bool {
			p, err := at[master].NamedPartition(t.Context(), "red", 1)
			return err == nil && p.Ready
		})
		s.holds(mad.PKey(0x8300))
		start(killed)
		eventually(t, "the other one stands by", func() bool { return state(killed) == "STANDBY" })
	}
	t.Logf("%d changes, %d kills; %d changes were not acknowledged within two seconds", c.number, kills, c.late)
}

// memberGUID is the GUID of a port of a host without a manager.
func (s *succession) memberGUID() (guid mad.GUID) {
	s.server.Do(func(f *fabric.Fabric) { guid = f.PortGUID(s.ends[0]) })
	return guid
}

// holds checks that the port has a P_Key.
func (s *succession) holds(key mad.PKey) {
	s.t.Helper()
	s.server.Do(func(f *fabric.Fabric) {
		if keys := f.PKeys(s.ends[0]); !slices.Contains(keys, key) {
			s.t.Errorf("a member has %v", keys)
		}
	})
}

// callerChanges are the changes of a partition, and what was answered last.
type callerChanges struct {
	t      *testing.T
	guid   mad.GUID
	number uint64
	note   string

	mirrored bool
	late     int // changes that were not mirrored in time: processes may wait long for a processor
}

func (c *callerChanges) put(at *ctl.Client) {
	c.t.Helper()
	c.note = fmt.Sprint("change ", c.number+1)
	done, err := at.ChangePartition(c.t.Context(), http.MethodPut, "red", nil, fmt.Appendf(nil,
		`{"pkey":"0x300","note":%q,"members":[{"guid":"%v"},{"guid":"0x%x"}]}`, c.note, c.guid, 0x1000+c.number))
	if err != nil || done.Number != c.number+1 {
		c.t.Fatalf("change %d: %+v, %v", c.number+1, done, err)
	}
	c.number++
	if c.mirrored = done.Mirrored; !c.mirrored {
		c.late++
	}
	if c.late > 10 {
		c.t.Fatalf("of %d changes %d were not mirrored in time", c.number, c.late)
	}
}

func (c *callerChanges) read(at *ctl.Client) {
	c.t.Helper()
	p, err := at.NamedPartition(c.t.Context(), "red", 0)
	if err != nil || p.Number != c.number || p.Note != c.note || len(p.Members) != 2 {
		c.t.Fatalf("change %d is read as %+v, %v", c.number, p, err)
	}
}

// refused checks that a standby takes no change.
func (c *callerChanges) refused(at *ctl.Client) {
	c.t.Helper()
	done, err := at.ChangePartition(c.t.Context(), http.MethodPut, "red", nil, []byte(`{}`))
	if err == nil || !strings.Contains(err.Error(), "not master") {
		c.t.Fatalf("a standby answers %+v, %v", done, err)
	}
}
