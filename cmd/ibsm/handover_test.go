package main_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ibsm/ctl"
	"ibsm/mad"
	"ibsm/mad/sarec"
	"ibsm/sim/fabric"
	"ibsm/topo/net/nettest"
)

// succession is a fabric with two managers, whose files differ, and hosts that have
// joined a group.
type succession struct {
	*testSubnet
	dir     string
	files   [2]string
	sockets [2]string
	keys    []string // P_Keys of all end ports under the first manager
}

// newSuccession starts the first manager, and has hosts join.
func newSuccession(t *testing.T) *succession {
	n := nettest.Generate(t, "fattree:k=4")
	s := &succession{testSubnet: newTestSubnetOf(t, n, 2), dir: t.TempDir()}
	for i := range 2 {
		s.files[i] = filepath.Join(s.dir, fmt.Sprint("partitions", i))
		s.sockets[i] = filepath.Join(s.dir, fmt.Sprint("s", i))
		s.write(i, fmt.Sprintf("Default=0x7fff : ALL=full;\nown%d=%d : ALL=full;\n", i, i+1))
	}
	s.manager = s.manage(0, 3)
	s.manager.await("SUBNET UP")
	for i := range s.clients {
		join := request(mad.MethodSet, sarec.AttrMCMemberRecord, sarec.MCMemberMGID|sarec.MCMemberPortGID|
			sarec.MCMemberJoinState|
			sarec.MCMemberQKey|sarec.MCMemberPKey|sarec.MCMemberTClass|sarec.MCMemberSL|sarec.MCMemberFlowLabel)
		rec := (*sarec.MCMemberRecord)(join.SAData()[:])
		rec.SetMGID(mad.GID{0xff, 0x15, 0xa0, 0x1b, 15: 7})
		rec.SetQKey(0x0b1b)
		rec.SetPKey(0x8001)
		rec.SetPortGID(s.clientGIDs()[i])
		rec.SetJoinState(1)
		if p := s.register(question{from: i, packet: join}); p.Status() != mad.StatusOK {
			t.Fatalf("join: status %#x", uint16(p.Status()))
		}
	}
	s.reregister()
	s.keys = s.pkeys()
	return s
}

func (s *succession) write(manager int, partitions string) {
	s.t.Helper()
	if err := os.WriteFile(s.files[manager], []byte(partitions), 0o600); err != nil {
		s.t.Fatal(err)
	}
}

// manage starts a manager, with further options. Each has its store, which outlives it.
func (s *succession) manage(manager, priority int, more ...string) *process {
	s.t.Helper()
	return s.start(s.hosts[manager], append([]string{program(s.t, "ibsm"), "--ibsim", "-f", "stdout", "-s", "0", "-k",
		"5ec", "-p", fmt.Sprint(priority), "-P", s.files[manager],
		"--ctl_socket", s.sockets[manager], "--state_dir", filepath.Join(s.dir, fmt.Sprint("state", manager))},
		more...)...)
}

func (s *succession) pkeys() (keys []string) {
	s.server.Do(func(f *fabric.Fabric) {
		for at := range f.EndPorts() {
			keys = append(keys, fmt.Sprint(at, f.PKeys(at)))
		}
	})
	return keys
}

// mustGoOn holds that a new master has changed nothing and asked nobody.
func (s *succession) mustGoOn(when string, manager int) {
	s.t.Helper()
	if now := s.pkeys(); !slices.Equal(now, s.keys) {
		s.t.Errorf("%s: ports had %q and have %q", when, s.keys, now)
	}
	if s.reregister() {
		s.t.Errorf("%s: clients were asked to register again", when)
	}
	client := ctl.NewClient(s.sockets[manager])
	defer client.Close()
	var list struct{ Members []any }
	if err := client.Get(s.t.Context(), "/v1/members", nil, &list); err != nil || len(list.Members) != len(s.clients) {
		s.t.Errorf("%s: %d members, %v", when, len(list.Members), err)
	}
}

// differing names the settings in which the files of a manager differ from what it uses.
func (s *succession) differing(manager int) string {
	s.t.Helper()
	client := ctl.NewClient(s.sockets[manager])
	defer client.Close()
	var st ctl.Status
	if err := client.Get(s.t.Context(), "/v1/status", nil, &st); err != nil {
		s.t.Fatal(err)
	}
	if st.MirroredSettings == nil {
		return ""
	}
	return strings.Join(st.MirroredSettings.Differ, ",")
}

// TestHandover: a manager that ranks higher is handed the mastership with all that is
// registered and the partitions of the one before. That takes over again when it is
// killed. The partitions change when the operator has a manager read its own file.
func TestHandover(t *testing.T) {
	t.Parallel()
	s := newSuccession(t)
	first, second := s.manager, s.manage(1, 9)
	second.await("own files differ from the master's")
	second.await("Entering MASTER state")
	second.await("SUBNET UP")
	first.await("Entering STANDBY state")
	first.await("own files are identical to the master's")
	s.mustGoOn("handed over", 1)
	if differ := s.differing(1); differ != "partition_config_file" {
		t.Errorf("shown to differ: %q", differ)
	}
	first.skip()
	second.kill()
	first.await("Entering MASTER state")
	first.await("SUBNET UP")
	s.mustGoOn("taken over", 0)

	// With its own files it goes on when it reads them again, and when it is started again, also
	// after it was killed.
	third := s.manage(1, 9)
	third.await("Entering MASTER state")
	third.await("SUBNET UP")
	s.mustGoOn("handed over again", 1)
	first.kill()
	third.kill()
	third = s.manage(1, 9)
	third.await("SUBNET UP")
	if slices.Equal(s.pkeys(), s.keys) || s.differing(1) != "" {
		t.Errorf("its own file is not in force: %q", s.differing(1))
	}
}
