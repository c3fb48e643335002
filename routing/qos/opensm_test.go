package qos

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ibsm/mad/madtest"
	"ibsm/sim/fabric"
	"ibsm/sim/ibsim"
	"ibsm/topo/net"
)

// opensmTakes lets OpenSM read a policy, and reports whether it takes it.
func opensmTakes(t *testing.T, file string) bool {
	t.Helper()
	n, err := net.Generate("fattree:k=2,levels=2,devices=ideal")
	if err != nil {
		t.Fatal(err)
	}
	sock := madtest.NewSocket()
	server, err := ibsim.Listen(
		ibsim.ServerConfig{SockName: sock, MaxClients: 8, Fabric: fabric.New(n, fabric.Config{})})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- server.Run(ctx) }()
	defer func() { cancel(); <-served }()
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	cmd := madtest.Peer(t, dir, sock, "", "opensm", "-o", "-Q", "-Y", write("qos-policy.conf", file), "-F",
		write("opensm.conf", "force_log_flush TRUE\n"),
		"-P", write("partitions.conf", "Default=0x7fff: ALL=full;\nPart1=1: ALL=full;\n"), "-f",
		filepath.Join(dir, "log"), "-R", "minhop")
	out, err := cmd.CombinedOutput()
	log, _ := os.ReadFile(filepath.Join(dir, "log"))
	if err != nil || !strings.Contains(string(log), "SUBNET UP") {
		t.Fatalf("OpenSM: %v\n%s\n%s", err, out, log)
	}
	return !strings.Contains(string(log), "ERR AC0")
}

// accepted are errors in files that OpenSM takes all the same, and why they are errors here.
var accepted = []struct{ text, why string }{
	{"16 is out of range; expected 0 to 15", "requests of that level have no path with OpenSM"},
	{"64 is out of range; expected 0 to 63", "OpenSM answers with bits of the selector changed"},
	{"is not a number of at most 64 bits", "OpenSM takes the largest number instead"},
	{"0x1000 is too large; expected at most 0xfff", "no request has such a QoS class"},
}

// TestFilesAsOpenSM: OpenSM takes the files that this package takes, and refuses the others, unless they
// are listed.
func TestFilesAsOpenSM(t *testing.T) {
	every := 5
	if os.Getenv("IBSM_PROOF") != "" {
		every = 1
	}
	for _, file := range []string{full, continued} {
		if !opensmTakes(t, file) {
			t.Errorf("OpenSM refuses\n%s", file)
		}
	}
	for _, c := range dubious {
		_, _, warnings := Parse(nil, "p", []byte(c.file))
		refused := strings.Contains(warnings.Error(), "OpenSM refuses the file")
		if takes := opensmTakes(t, c.file); takes == refused {
			t.Errorf("%q: OpenSM takes it: %t, the warnings say\n%v", c.file, takes, warnings)
		}
	}
	explained := map[string]int{}
	for i, c := range broken {
		if i%every != 0 || !opensmTakes(t, c.file) {
			continue
		}
		why := ""
		for _, a := range accepted {
			if strings.Contains(c.want, a.text) {
				why = a.why
			}
		}
		if explained[why]++; why == "" {
			t.Errorf("%q: OpenSM takes it, here it is an error: %s", c.file, c.want)
		}
	}
	t.Logf("OpenSM takes of those with errors: %v", explained)
}
