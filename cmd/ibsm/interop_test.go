package main_test

import (
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"ibsm/mad"
)

// polling makes a standby of either kind see the death of its master within three seconds, and not take a master that
// gets no processor for a second for dead.
const polling = "force_log_flush TRUE\nsminfo_polling_timeout 500\npolling_retry_number 5\n"

// pair is two managers on one fabric, the second of which starts when the first has
// brought it up.
type pair struct {
	name          string
	first, second *manager
	priorities    [2]string
	lower         int  // the one at the port with the lower GUID
	hands         bool // the second becomes master
	settings      string
}

var pairs = []pair{
	{name: "OpenSM stays master", first: &opensm, second: &ibsm, priorities: [2]string{"5", "3"}},
	{name: "ibsm stays master", first: &ibsm, second: &opensm, priorities: [2]string{"5", "3"}},
	{name: "OpenSM hands over", first: &opensm, second: &ibsm, priorities: [2]string{"3", "5"}, hands: true},
	{name: "ibsm hands over", first: &ibsm, second: &opensm, priorities: [2]string{"3", "5"}, hands: true},
	{name: "OpenSM hands over to the lower GUID", first: &opensm, second: &ibsm, priorities: [2]string{"4", "4"},
		lower: 1, hands: true},
	{name: "ibsm hands over to the lower GUID", first: &ibsm, second: &opensm, priorities: [2]string{"4", "4"},
		lower: 1, hands: true},
	{name: "OpenSM has the lower GUID", first: &opensm, second: &ibsm, priorities: [2]string{"4", "4"}},
	{name: "ibsm has the lower GUID", first: &ibsm, second: &opensm, priorities: [2]string{"4", "4"}},
	{name: "two of ibsm, the higher stays master", first: &ibsm, second: &ibsm, priorities: [2]string{"5", "3"}},
	{name: "two of ibsm, the lower hands over", first: &ibsm, second: &ibsm, priorities: [2]string{"3", "5"},
		hands: true},
	{name: "two of ibsm, the lower GUID stays master", first: &ibsm, second: &ibsm, priorities: [2]string{"4", "4"}},
	{name: "two of ibsm, the higher GUID hands over", first: &ibsm, second: &ibsm, priorities: [2]string{"4", "4"},
		lower: 1, hands: true},
	{name: "OpenSM stays master, secret", first: &opensm, second: &ibsm, priorities: [2]string{"5", "3"},
		settings: secretSMKey},
	{name: "ibsm stays master, secret", first: &ibsm, second: &opensm, priorities: [2]string{"5", "3"},
		settings: secretSMKey},
	{name: "OpenSM hands over, secret", first: &opensm, second: &ibsm, priorities: [2]string{"3", "5"}, hands: true,
		settings: secretSMKey},
	{name: "ibsm hands over, secret", first: &ibsm, second: &opensm, priorities: [2]string{"3", "5"}, hands: true,
		settings: secretSMKey},
	{name: "two of ibsm, the lower hands over, secret", first: &ibsm, second: &ibsm, priorities: [2]string{"3", "5"},
		hands: true, settings: secretSMKey},
}

// secretSMKey is a setting of both managers.
const secretSMKey = "sm_key 0x5ec4e75ec4e7\n"

// TestInterop: of two managers the right one is master; when the standby is killed the master
// goes on, and when the master is killed the standby takes over. No LID and no route moves.
func TestInterop(t *testing.T) {
	needFabcheck(t)
	t.Parallel()
	for _, p := range pairs {
		t.Run(p.name, func(t *testing.T) {
			s := startIbsim(t, generated("fattree:k=4").file(t))
			conf := s.path("polling.conf")
			if err := os.WriteFile(conf, []byte(polling+p.settings), 0o666); err != nil {
				t.Fatal(err)
			}
			// The hosts of a generated net have rising GUIDs.
			hosts := s.net.hosts()[:2]
			if p.lower == 1 {
				slices.Reverse(hosts)
			}
			// the one engine that both have by default
			first := p.first.start(s, hosts[0], "-F", conf, "-R", "minhop", "-p", p.priorities[0])
			first.await("SUBNET UP")
			s.snapshot("first")
			second := p.second.start(s, hosts[1], "-F", conf, "-R", "minhop", "-p", p.priorities[1])
			master, standby, at := first, second, hosts[0]
			if p.hands {
				second.await("Entering MASTER state")
				if p.second != &opensm { // ibsim drops the TrapRepress on which OpenSM then waits
					second.await("SUBNET UP")
				}
				first.await("Entering STANDBY state")
				master, standby, at = second, first, hosts[1]
			} else {
				second.await("Entering STANDBY state")
			}
			keeps := func(when string) {
				t.Helper()
				if changes := s.changes("first", "node", "link", "lid", "lft"); changes != nil {
					t.Errorf("%s the fabric is different: %q", when, changes)
				}
			}
			keeps("with both")
			standby.skip()
			s.killAnswered(master, s.lidOf(at), standby)
			standby.await("Entering MASTER state")
			standby.await("SUBNET UP")
			keeps("after the death of the master")
			examine(t, s)
		})
	}
}

// killAnswered kills a manager at a LID when it has answered all that another one has asked. ibsim
// gives no time-out for what it has handed to a process that dies before it reads it, and Debian's
// OpenSM would wait for that answer for ever.
func (s *simulator) killAnswered(p *process, at mad.LID, asking *process) {
	s.t.Helper()
	asking.signal(syscall.SIGSTOP)
	if r := s.run(s.net.witnessHost(), "sminfo", strconv.Itoa(int(at))); r.status != 0 {
		s.t.Fatalf("%s does not answer: %s", p.name, r.stderr)
	}
	p.kill()
	asking.signal(syscall.SIGCONT)
}

// TestStandbyDies: the master does not mind.
func TestStandbyDies(t *testing.T) {
	needFabcheck(t)
	t.Parallel()
	for _, p := range pairs[:2] {
		t.Run(p.name, func(t *testing.T) {
			s := startIbsim(t, generated("fattree:k=4").file(t))
			hosts := s.net.hosts()
			master := p.first.start(s, hosts[0], "-p", "5")
			master.await("SUBNET UP")
			standby := p.second.start(s, hosts[1], "-p", "3")
			standby.await("Entering STANDBY state")
			s.snapshot("both")
			master.skip()
			lid := strconv.Itoa(int(s.lidOf(hosts[1])))
			standby.kill()
			// By a question to the dead port ibsim notices the death, and clears IsSM. Requests that ibsim gets
			// meanwhile may be lost, and the client then waits for ever for the reply to its last one.
			asking := start(t, nil, s.dir, s.env(s.net.witnessHost()), "ibsim-run", "sminfo", "-t", "100", lid)
			asking.await("mad_rpc: _do_madrpc failed")
			asking.kill()
			s.console("Unlink %q", hosts[2])
			master.await("SUBNET UP")
			s.console("ReLink %q", hosts[2])
			master.await("SUBNET UP")
			mask := func(argv ...string) string {
				found := regexp.MustCompile(`(?i)CapMask:?\.+(0x[0-9a-f]+)`).FindStringSubmatch(
					s.run(s.net.witnessHost(), argv...).stdout)
				if found == nil {
					t.Fatalf("%v shows no CapabilityMask", argv)
				}
				return strings.ToLower(found[1])
			}
			eventually(t, "the master's SA has the CapabilityMask of the port", func() bool {
				return mask("saquery", "PIR", lid) == mask("smpquery", "portinfo", lid)
			})
			examine(t, s)
			if changes := s.changes("both", "node", "lid"); changes != nil {
				t.Errorf("the fabric is different: %q", changes)
			}
		})
	}
}
