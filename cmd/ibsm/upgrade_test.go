package main_test

import (
	"os"
	"strings"
	"syscall"
	"testing"
)

// older is an ibsm of an older version, whose path IBSM_OLDER gives. Versions up to 0.1.0 are
// known to work.
func older(t *testing.T) string {
	path := os.Getenv("IBSM_OLDER")
	if path == "" {
		t.Skip("needs an older ibsm: IBSM_OLDER=PATH")
	}
	return path
}

// TestUpgradeByHandover: managers of two versions hand over to each other, in either order.
// Where the versions mirror each other, nobody is asked to register again. Where they do not,
// clients are asked, and a newer standby has said so before.
func TestUpgradeByHandover(t *testing.T) {
	old, now := older(t), program(t, "ibsm")
	for name, programs := range map[string][2]string{"to the newer": {old, now}, "to the older": {now, old}} {
		t.Run(name, func(t *testing.T) {
			s := newSuccessionOf(t, programs[0], programs[1])
			second := s.manage(1, 1)
			second.await("Entering STANDBY state")
			incomplete := false
			if programs[1] == now {
				second.await("mirroring ")
				incomplete = strings.Contains(second.await("guid="), "may be incomplete")
			}
			end(t, s.manager, second, s.sockets[0])
			second.await("SUBNET UP")
			asked := s.reregister()
			if programs[1] == now && asked != incomplete {
				t.Errorf("the standby said that nothing is mirrored: %v; clients were asked to register again: %v", incomplete, asked)
			}
			if !asked {
				s.mustGoOn("handed over", 1)
			}
		})
	}
}

// TestUpgradeInPlace: a newer version takes up the state of an older one that was killed at the
// same port.
func TestUpgradeInPlace(t *testing.T) {
	s := newSuccessionOf(t, older(t), program(t, "ibsm"))
	s.manager.signal(syscall.SIGKILL)
	<-s.manager.done
	s.ibsm[0] = program(t, "ibsm")
	s.manage(0, 3).await("SUBNET UP")
	s.mustGoOn("restarted", 0)
}
