package ufm_test

import (
	"bytes"
	"crypto/tls"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"ibsm/api/users/userstest"
	"ibsm/rights"
)

// files writes what programs need as files: the server's certificate, and the user's with its key.
func (b *bench) files() (server, certificate, key string) {
	b.Helper()
	conn, err := tls.Dial("tcp", b.server.Addr(), &tls.Config{InsecureSkipVerify: true})
	if err != nil {
		b.Fatal(err)
	}
	own := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: conn.ConnectionState().PeerCertificates[0].Raw})
	conn.Close()
	cert, secret := userstest.PEM(b.T, b.certificate)
	dir := b.TempDir()
	var names []string
	for name, text := range map[string][]byte{"1-server.crt": own, "2-client.crt": cert, "3-client.key": secret} {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			b.Fatal(err)
		}
	}
	for _, name := range []string{"1-server.crt", "2-client.crt", "3-client.key"} {
		names = append(names, filepath.Join(dir, name))
	}
	return names[0], names[1], names[2]
}

// url is the server's address with a name of its certificate.
func (b *bench) url() string {
	_, port, err := net.SplitHostPort(b.server.Addr())
	if err != nil {
		b.Fatal(err)
	}
	return "https://localhost:" + port
}

// TestRequests: Python's requests sends the orders of calls of the clients, with each way of authentication. A client
// that tries ten old passwords gets in with the eleventh in less time than a wrong one takes at least, and each of
// them is hashed once.
func TestRequests(t *testing.T) {
	if err := exec.Command("python3", "-c", "import requests").Run(); err != nil {
		t.Skipf("needs python3-requests: %v", err)
	}
	b := nico(t, rights.User{Name: "reader", Role: rights.Reader})
	ca, certificate, key := b.files()
	const passes, least = 4, 0.050 // seconds: a wrong password takes longer
	input, err := json.Marshal(map[string]any{"url": b.url(), "user": b.user, "password": userstest.Password,
		"token": b.token, "reader": "reader", "ca": ca, "certificate": certificate, "key": key, "passes": passes,
		"least": least})
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "python3", "testdata/clients.py")
	cmd.Stdin = bytes.NewReader(input)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	t.Logf("%s", bytes.TrimSpace(out))
	const each = 2 * 11 // passwords of two users
	if c := b.server.Counts(); c.Checks != each || c.Busy > 0 || c.Wrong != 10*passes+10 {
		t.Errorf("%d passwords were hashed, %d were not for lack of time, %d were wrong; want %d, 0, %d", c.Checks, c.Busy,
			c.Wrong, each, 10*passes+10)
	}
}

// TestCurl: ib-kubernetes' order with curl, over both versions of HTTP, with each way of authentication.
func TestCurl(t *testing.T) {
	if _, err := exec.LookPath("curl"); err != nil {
		t.Skip(err)
	}
	b := nico(t)
	ca, certificate, key := b.files()
	for _, version := range []string{"1.1", "2"} {
		for name, credential := range map[string][]string{
			"password":    {"-u", b.user + ":" + userstest.Password},
			"token":       {"-H", "Authorization: Bearer " + b.token},
			"basic-token": {"-u", b.token + ":"},
			"certificate": {"--cert", certificate, "--key", key},
		} {
			t.Run(name+"-"+version, func(t *testing.T) {
				curl := func(call, body string) string {
					t.Helper()
					method, path, _ := strings.Cut(call, " ")
					args := append([]string{"-sS", "-q", "--noproxy", "*", "--http" + version, "--cacert", ca, "-X", method,
						"-H", "Content-Type: application/json; charset=utf-8", "-w", " %{http_code} %{http_version}",
						b.url() + "/ufmRest/" + path}, credential...)
					if body != "" {
						args = append(args, "--data", body)
					}
					out, err := exec.CommandContext(t.Context(), "curl", args...).CombinedOutput()
					reply, is := strings.CutSuffix(string(out), fmt.Sprintf(" 200 %s", version))
					if err != nil || !is {
						t.Fatalf("%s: %v: %s", call, err, out)
					}
					return reply
				}
				curl("GET app/ufm_version", "")
				curl("POST resources/pkeys", `{"pkey": "0x02FB", "index0": true, "ip_over_ib": true, "membership": "full", `+
					`"guids": ["`+vf1+`"]}`)
				if list := curl("GET resources/pkeys/?guids_data=true", ""); !strings.Contains(list, vf1) {
					t.Errorf("%s is not listed: %s", vf1, list)
				}
				curl("POST actions/remove_guids_from_pkey", list("0x02FB", vf1))
				if list := curl("GET resources/pkeys/?guids_data=true", ""); strings.Contains(list, vf1) {
					t.Errorf("%s is still listed: %s", vf1, list)
				}
			})
		}
	}
}
