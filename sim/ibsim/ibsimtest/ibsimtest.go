// Package ibsimtest attaches tests to a running simulator.
package ibsimtest

import (
	"testing"

	"ibsm/mad"
	"ibsm/sim/ibsim"
)

// Dial attaches to a node of the simulator at a socket until the test ends.
func Dial(t testing.TB, sock, node string) mad.Port {
	t.Helper()
	port, err := ibsim.Dial(t.Context(), ibsim.Config{SockName: sock, Node: node})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { port.Close() })
	return port
}
