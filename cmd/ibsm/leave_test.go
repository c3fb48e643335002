package main_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"ibsm/ctl"
	"ibsm/topo/net/nettest"
)

// endPatience is more than a manager takes to end after a signal.
const endPatience = 20 * time.Second

// end ends a master that knows of its standby, and returns how long it took until
// that was master.
func end(t *testing.T, master, standby *process, socket string) time.Duration {
	t.Helper()
	eventually(t, "the master knows its standby", func() bool {
		client := ctl.NewClient(socket)
		defer client.Close()
		var st ctl.Status
		err := client.Get(t.Context(), "/v1/status", nil, &st)
		return err == nil && len(st.SMs) > 1
	})
	standby.skip()
	began := time.Now()
	master.signal(syscall.SIGTERM)
	standby.await("Entering MASTER state")
	took := time.Since(began)
	t.Logf("another manager is master after %v", took)
	<-master.done
	if master.err != nil || time.Since(began) > endPatience {
		t.Errorf("the old master has ended after %v: %v", time.Since(began), master.err)
	}
	if !strings.Contains(master.text(), "handing mastership over") ||
		strings.Contains(master.text(), "did not accept mastership") {
		t.Errorf("it has not handed over")
	}
	return took
}

// TestEndHandsOver: a master that is ended hands over to its standby, which ranks
// lower: nothing that is registered is lost, and nobody is asked to register again.
func TestEndHandsOver(t *testing.T) {
	t.Parallel()
	s := newSuccession(t)
	second := s.manage(1, 1)
	second.await("mirroring the client registrations of the master")
	end(t, s.manager, second, s.sockets[0])
	second.await("SUBNET UP")
	s.mustGoOn("handed over", 1)
}

// TestEndHandsOverToOpenSM: OpenSM, which polls for a minute, is handed the mastership at
// once, and takes it though the one that ends ranks higher.
func TestEndHandsOverToOpenSM(t *testing.T) {
	t.Parallel()
	n := nettest.Generate(t, "fattree:k=4")
	conf := filepath.Join(t.TempDir(), "opensm.conf")
	if err := os.WriteFile(conf, []byte("force_log_flush TRUE\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Run("served", func(t *testing.T) {
		w, socket := newTestSubnetOf(t, n, 2), filepath.Join(t.TempDir(), "ctl")
		first := w.start(w.hosts[0], program(t, "ibsm"), "--ibsim", "-f", "stdout", "-s", "0", "-p", "9",
			"--ctl_socket", socket)
		first.await("SUBNET UP")
		second := w.start(w.hosts[1], "ibsim-run", "opensm", "-F", conf, "-f", "stdout", "-s", "0", "-p", "3")
		second.await("Entering STANDBY state")
		if took := end(t, first, second, socket); took > endPatience {
			t.Errorf("after %v", took)
		}
		second.await("SUBNET UP")
	})
	t.Run("ibsim", func(t *testing.T) {
		s, socket := startIbsim(t, generated("fattree:k=4").file(t)), filepath.Join(t.TempDir(), "ctl")
		first := ibsm.start(s, s.net.hosts()[0], "-p", "9", "--ctl_socket", socket)
		first.await("SUBNET UP")
		second := opensm.start(s, s.net.hosts()[1], "-F", conf, "-p", "3")
		second.await("Entering STANDBY state")
		if took := end(t, first, second, socket); took > endPatience {
			t.Errorf("after %v", took)
		}
		second.await("SUBNET UP")
		examine(t, s)
	})
}
