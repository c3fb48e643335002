package main_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
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
	{"joins", (*simulator).joinMany, 0},
}

func stormLength() time.Duration {
	if proof() {
		return 30 * time.Second
	}
	return 6 * time.Second
}

// stormJoins is how many multicast groups a host asks for.
func stormJoins() int {
	if proof() {
		return 250_000
	}
	return 3000
}

// joinUnread has a host ask for multicast groups without reading an answer. Both servers stop taking
// what it sends then, ibsim what anybody sends, until it leaves.
func (s *simulator) joinUnread() {
	s.t.Helper()
	p := s.dialRegistrant()
	defer p.Close()
	ctx, cancel := context.WithTimeout(s.t.Context(), 2*stormLength())
	defer cancel()
	defer context.AfterFunc(ctx, func() { p.Close() })()
	s.t.Logf("%d of %d joins were taken", sendJoins(p, s.joinFrame()), stormJoins())
	<-ctx.Done()
}

// joinMany has a host ask for as many groups, all of which reach the manager's port: as with an adapter,
// answers that nobody waits for are dropped at the host. Meanwhile another host asks who is master.
func (s *simulator) joinMany() {
	s.t.Helper()
	p := s.dialRegistrant()
	var answers, givenBack atomic.Int64
	go func() {
		for ds := make([]mad.Datagram, 64); ; {
			n, err := p.Recv(ds)
			if err != nil {
				return
			}
			for i := range ds[:n] {
				if ds[i].TimedOut {
					givenBack.Add(1)
				} else {
					answers.Add(1)
				}
			}
		}
	}()
	began, sent, frame := time.Now(), make(chan int, 1), s.joinFrame()
	go func() { sent <- sendJoins(p, frame) }()
	asked, refused, count := 0, 0, -1
	for count < 0 {
		select {
		case count = <-sent:
		case <-time.After(100 * time.Millisecond):
		}
		if asked++; judgeMaster(s) != nil {
			refused++
		}
	}
	took := time.Since(began)
	for last := int64(-1); last != answers.Load(); time.Sleep(2 * time.Second) {
		last = answers.Load()
	}
	p.Close()
	s.t.Logf("%d of %d joins in %v: %d answers, %d given back; sminfo meanwhile: %d of %d were answered",
		count, stormJoins(), took.Round(time.Second/10), answers.Load(), givenBack.Load(), asked-refused, asked)
	if count < stormJoins() {
		s.t.Error("not all joins were sent")
	}
}

func (s *simulator) dialRegistrant() *ibsim.Port {
	s.t.Helper()
	p, err := ibsim.Dial(s.t.Context(), ibsim.Config{SockName: s.socket, Node: s.registrant()})
	if err != nil {
		s.t.Fatal(err)
	}
	return p
}

// joinFrame is a request to join a group that there is not yet.
func (s *simulator) joinFrame() (d mad.Datagram) {
	s.t.Helper()
	var rec sarec.MCMemberRecord
	rec.SetPortGID(s.portGID(s.registrant()))
	rec.SetQKey(0x1234)
	rec.SetPKey(mad.DefaultPKey)
	rec.SetPacketLifeTime(sarec.Exactly, 18)
	rec.SetScope(2)
	rec.SetJoinState(1)
	d.Addr = mad.Addr{LID: s.lidOf(s.net.managerHost()), QPN: 1}
	d.Packet.SetHeader(mad.ClassSA, mad.MethodSet, sarec.AttrMCMemberRecord, 0)
	d.Packet.SetComponentMask(sarec.MCMemberMGID | sarec.MCMemberPortGID | sarec.MCMemberQKey | sarec.MCMemberPKey |
		sarec.MCMemberTClass |
		sarec.MCMemberSL | sarec.MCMemberFlowLabel | sarec.MCMemberJoinState | sarec.MCMemberPacketLifeTimeSelector |
		sarec.MCMemberPacketLifeTime | sarec.MCMemberScope)
	copy(d.Packet.SAData()[:], rec[:])
	return d
}

// sendJoins asks for groups until the port is closed, and returns for how many it has asked.
func sendJoins(p *ibsim.Port, d mad.Datagram) (sent int) {
	rec := (*sarec.MCMemberRecord)(d.Packet.SAData()[:])
	for ; sent < stormJoins(); sent++ {
		rec.SetMGID(mad.GID{0: 0xff, 1: 0x12, 12: 0x88, 13: byte(sent >> 16), 14: byte(sent >> 8), 15: byte(sent)})
		d.Packet.SetTID(mad.TID(sent + 1))
		if _, err := p.Send([]mad.Datagram{d}); err != nil {
			break // closed
		}
	}
	return sent
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
					if m != &ibsm && server.name == "ibsim" && storm.name == "joins" {
						t.Skip("ibsim and a wrapped OpenSM wait for each other to read, for ever")
					}
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
						t.Errorf(
							"%d ports were removed, OpenSM removes %d; the own port was down %d times; changes:\n%s",
							removed, storm.givenUp, down, strings.Join(changes, "\n"))
					}
				})
			}
		}
	}
}
