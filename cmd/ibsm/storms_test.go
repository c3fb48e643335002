package main_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"ibsm/mad"
	"ibsm/mad/sarec"
	"ibsm/sim/ibsim"
)

// servers are those that a fabric is served by.
var servers = []struct {
	name  string
	start func(t *testing.T, file string) *simulator
}{
	{"ibsim", startIbsim},
	{"serve", startServe},
}

// startServe serves the fabric of a net file by ibfabric serve.
func startServe(t *testing.T, file string) *simulator {
	t.Helper()
	s := &simulator{t: t, dir: t.TempDir(), socket: newSocket(), net: readNet(t, file)}
	s.proc = start(t, nil, s.dir, nil, program(t, "ibfabric"), "serve", file, "--devices", "ideal", "--sock", s.socket)
	s.proc.await("clients attach")
	return s
}

// storms are ways in which a manager hears nobody for a while, though nothing is wrong with the fabric.
var storms = []struct {
	name string
	blow func(s *simulator)
	// givenUp is how many of the 36 end ports Debian's OpenSM gives up, by the lines "Removed port" of
	// its log, with sweeps every two seconds: IBSM_OPENSM=1 measures it.
	givenUp int
}{
	{"a server that stops", func(s *simulator) {
		s.proc.signal(syscall.SIGSTOP)
		time.Sleep(stormLength())
		s.proc.signal(syscall.SIGCONT)
	}, 0},
	{"a client that never reads", (*simulator).joinUnread, 0},
}

func stormLength() time.Duration {
	if proof() {
		return 30 * time.Second
	}
	return 6 * time.Second
}

// joinUnread has a host ask for very many multicast groups without reading an answer.
func (s *simulator) joinUnread() {
	s.t.Helper()
	count := 3000
	if proof() {
		count = 250_000
	}
	ctx, cancel := context.WithTimeout(s.t.Context(), 2*stormLength())
	defer cancel()
	lid := s.lidOf(s.net.managerHost())
	p, err := ibsim.Dial(ctx, ibsim.Config{SockName: s.socket, Node: s.registrant()})
	if err != nil {
		s.t.Fatal(err)
	}
	defer p.Close()
	defer context.AfterFunc(ctx, func() { p.Close() })() // where the server waits for it to read
	var rec sarec.MCMemberRecord
	rec.SetPortGID(s.portGID(s.registrant()))
	rec.SetQKey(0x1234)
	rec.SetPKey(mad.DefaultPKey)
	rec.SetPacketLifeTime(sarec.Exactly, 18)
	rec.SetScope(2)
	rec.SetJoinState(1)
	sent := 0
	for ; sent < count && ctx.Err() == nil; sent++ {
		rec.SetMGID(mad.GID{0: 0xff, 1: 0x12, 12: 0x88, 13: byte(sent >> 16), 14: byte(sent >> 8), 15: byte(sent)})
		d := mad.Datagram{Addr: mad.Addr{LID: lid, QPN: 1}}
		d.Packet.SetHeader(mad.ClassSA, mad.MethodSet, sarec.AttrMCMemberRecord, 0)
		d.Packet.SetComponentMask(sarec.MCMemberMGID | sarec.MCMemberPortGID | sarec.MCMemberQKey | sarec.MCMemberPKey | sarec.MCMemberTClass |
			sarec.MCMemberSL | sarec.MCMemberFlowLabel | sarec.MCMemberJoinState | sarec.MCMemberPacketLifeTimeSelector |
			sarec.MCMemberPacketLifeTime | sarec.MCMemberScope)
		d.Packet.SetTID(mad.TID(sent + 1))
		copy(d.Packet.SAData()[:], rec[:])
		if _, err := p.Send([]mad.Datagram{d}); err != nil {
			break // closed
		}
	}
	s.t.Logf("%d of %d joins were sent", sent, count)
	if sent == count {
		<-ctx.Done()
	}
}

// lidOf is the LID of a host's port 1.
func (s *simulator) lidOf(host string) mad.LID {
	s.t.Helper()
	p, err := ibsim.Dial(s.t.Context(), ibsim.Config{SockName: s.socket, Node: host})
	if err != nil {
		s.t.Fatal(err)
	}
	defer p.Close()
	lid, _, err := p.Link(s.t.Context())
	if err != nil {
		s.t.Fatal(err)
	}
	return lid
}

// TestStorms: a server that does not serve for a while, be it stopped or waiting for a client that
// never reads, costs no port: none is removed in the log, no link is lost, and LIDs and routes are as
// before. With IBSM_OPENSM set OpenSM goes through the same, for the number of ports that may be given up.
func TestStorms(t *testing.T) {
	needFabcheck(t)
	t.Parallel()
	managers := []*manager{&ibsm}
	if os.Getenv("IBSM_OPENSM") != "" {
		managers = append(managers, &opensm)
	}
	for _, m := range managers {
		for _, server := range servers {
			for _, storm := range storms {
				t.Run(strings.Join([]string{m.name, server.name, storm.name}, "/"), func(t *testing.T) {
					t.Parallel()
					s := server.start(t, generated("fattree:k=4").file(t))
					p := m.bringUp(s, "-s", "2")
					time.Sleep(3 * time.Second)
					s.snapshot("before")
					said := len(p.text())
					storm.blow(s)
					for end := time.Now().Add(patience()); judgeMaster(s) != nil; {
						if time.Now().After(end) {
							t.Fatal("no master any more")
						}
					}
					time.Sleep(15 * time.Second) // sweeps that follow
					removed := strings.Count(p.text()[said:], "Removed port")
					down := strings.Count(p.text()[said:], "SM port is down")
					t.Logf("%s: %d ports removed, %d times \"SM port is down\"", m.name, removed, down)
					changes := s.changes(filepath.Join(s.dir, "before"), "lid", "lft", "port", "link")
					if m != &ibsm {
						t.Logf("changes: %q", changes)
						return
					}
					if removed > storm.givenUp || down > 0 || changes != nil {
						t.Errorf("%d ports were removed, OpenSM removes %d; the own port was down %d times; changes:\n%s", removed, storm.givenUp, down, strings.Join(changes, "\n"))
					}
				})
			}
		}
	}
}
