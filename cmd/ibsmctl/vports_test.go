package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"ibsm/mad"
	"ibsm/mad/madtest"
	"ibsm/mad/smp"
	"ibsm/sim/fabric"
	"ibsm/sim/ibsim"
	"ibsm/topo/net"
	"ibsm/topo/net/nettest"
)

// serveFunctions serves a switch with four hosts, each with four functions, whose layout is mixed, until the test ends.
// sets are the Sets that agents were sent.
func serveFunctions(t *testing.T) (s *ibsim.Server, hosts []int32, sets func() int) {
	t.Helper()
	n := nettest.Generate(t, "mesh:dims=1,hosts=4,functions=4")
	n.Profile = net.RealDevices
	var mu sync.Mutex
	count := 0
	f := fabric.New(n, fabric.Config{OnSet: func(fabric.Set) {
		mu.Lock()
		count++
		mu.Unlock()
	}})
	for i := range n.Nodes {
		if n.Nodes[i].Type != mad.CA {
			continue
		}
		hosts = append(hosts, int32(i))
		f.SetVPorts(int32(i), fabric.VPorts{Layout: smp.VPortIndexMixed})
	}
	sock := madtest.NewSocket()
	s, err := ibsim.Listen(ibsim.ServerConfig{SockName: sock, Fabric: f})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	t.Setenv("IBSIM_SOCKNAME", sock)
	t.Setenv("SIM_HOST", n.Nodes[hosts[0]].ID)
	return s, hosts, func() int {
		mu.Lock()
		defer mu.Unlock()
		return count
	}
}

// TestVPortsProbe: a port is probed without a manager, along a directed route, and nothing is set.
func TestVPortsProbe(t *testing.T) {
	s, hosts, sets := serveFunctions(t)
	for _, route := range []string{"0", "0,1,3"} {
		text, errs, status := invoke(t, "vports", "probe", route, "--ibsim")
		if status != 0 || !strings.HasSuffix(text, "\nThe port has layout mixed.\n") {
			t.Fatalf("%s: status %d\n%s%s", route, status, text, errs)
		}
	}
	text, errs, status := invoke(t, "vports", "probe", "0,1,2", "--ibsim", "--json")
	var got probed
	if err := json.Unmarshal([]byte(text), &got); status != 0 || err != nil {
		t.Fatalf("status %d, %v: %s", status, err, errs)
	}
	if !slices.Equal(got.Layouts, []string{"mixed"}) || got.IndexTop != 4 || got.Enabled || got.VendorID != 0x2c9 ||
		len(got.Requests) < 10 || len(got.Tests) < 10 {
		t.Errorf("JSON: %s", text)
	}
	i := slices.IndexFunc(got.Requests, func(r probeRequest) bool { return r.Attribute == "VirtualizationInfo" })
	if i < 0 || got.Requests[i].Data != "00800004"+strings.Repeat("00", 60) {
		t.Errorf("VirtualizationInfo in JSON: %+v", got.Requests)
	}
	if sets() != 0 {
		t.Errorf("%d Sets", sets())
	}

	// A port with an M_Key answers only to it.
	s.Do(func(f *fabric.Fabric) {
		at := net.End{Node: hosts[1], Port: 1}
		info := f.PortInfo(at)
		info.KeepStates()
		info.SetLID(9)
		info.SetMasterSMLID(1)
		info.SetMKey(0x1234)
		info.SetMKeyProtectBits(2)
		if st := f.Preset(at, smp.AttrPortInfo, 0, (*[64]byte)(&info)); st != 0 {
			t.Error(st)
		}
	})
	if _, errs, status = invoke(t, "vports", "probe", "0,1,2", "--ibsim"); status != 1 ||
		!strings.Contains(errs, "port 0,1,2: NodeInfo: no answer: there is no such port, or it demands an M_Key\n") {
		t.Errorf("without the M_Key: status %d: %s", status, errs)
	}
	file := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(file, []byte("0x1234\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if text, errs, status = invoke(t, "vports", "probe", "0,1,2", "--ibsim", "--m-key-file", file); status != 0 ||
		!strings.HasSuffix(text, "\nThe port has layout mixed.\n") || strings.Contains(text, "1234") {
		t.Errorf("with the M_Key: status %d: %s%s", status, text, errs)
	}
}

// TestVPortsProbeBesideManager: beside a manager, the port is found by its LID and by its GUID, too.
func TestVPortsProbeBesideManager(t *testing.T) {
	s, hosts, _ := serveFunctions(t)
	if _, errs, status := invoke(t, "vports", "probe", "0x1234567890abcdef", "--ibsim"); status != 1 ||
		!strings.Contains(errs, "no SA can be asked for GUID 0x1234567890abcdef") {
		t.Errorf("a GUID without a manager: status %d: %s", status, errs)
	}
	path, err := ibsm()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(path, "--ibsim", "--ctl_socket", filepath.Join(t.TempDir(), "s"), "-f", "stdout",
		"--state_dir", "none")
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { cmd.Process.Kill(); cmd.Wait() }()
	late := time.AfterFunc(patience, func() { cmd.Process.Kill() })
	lines, up := bufio.NewScanner(out), false
	for !up && lines.Scan() {
		up = strings.Contains(lines.Text(), "SUBNET UP")
	}
	late.Stop()
	if !up {
		t.Fatal("the manager ended before the subnet was up")
	}
	go func() {
		for lines.Scan() {
		}
	}()
	var lid mad.LID
	var guid mad.GUID
	s.Do(func(f *fabric.Fabric) {
		at := net.End{Node: hosts[2], Port: 1}
		info := f.PortInfo(at)
		lid, guid = info.LID(), f.PortGUID(at)
	})
	for _, port := range []string{fmt.Sprint(lid), fmt.Sprintf("%#x", uint16(lid)), guid.String()} {
		text, errs, status := invoke(t, "vports", "probe", port, "--ibsim")
		if status != 0 || !strings.HasSuffix(text, "\nThe port has layout mixed.\n") ||
			!strings.Contains(text, "GUID "+guid.String()) {
			t.Errorf("%s: status %d\n%s%s", port, status, text, errs)
		}
	}
	if _, errs, status := invoke(t, "vports", "probe", "0x1234567890abcdef", "--ibsim"); status != 1 ||
		!strings.Contains(errs, "knows no path to GUID 0x1234567890abcdef") {
		t.Errorf("an unknown GUID: status %d: %s", status, errs)
	}
}

func TestParseTarget(t *testing.T) {
	for text, want := range map[string]target{
		"0":                  {},
		"0,1,36":             {route: mad.MakeRoute(1, 36)},
		"17":                 {lid: 17},
		"0x11":               {lid: 17},
		"0xb83fd20300a00010": {guid: 0xb83fd20300a00010},
	} {
		want.text = text
		if got, err := parseTarget(text); err != nil || got != want {
			t.Errorf("%s: %+v, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "x", "1,2", "0,0", "0,255", "0,1,", "0,", "65535", "49152", "0x00000", "-1",
		"0" + strings.Repeat(",1", 64)} {
		if got, err := parseTarget(text); err == nil {
			t.Errorf("%q is read as %+v", text, got)
		}
	}
}
