package main

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"ibsm/cmd/cli"
	"ibsm/ctl"
	"ibsm/ctl/profile"
)

// remote is a manager that is asked over TLS, and over its socket.
type remote struct {
	socket, url, print, users string
	cmd                       *exec.Cmd
}

// startRemote starts a manager on a simulated fabric, with users of each role: a token of a role is in the file that
// token returns.
func startRemote(t *testing.T, fabric string, options ...string) *remote {
	t.Helper()
	r := &remote{users: filepath.Join(t.TempDir(), "users.toml")}
	for _, role := range []string{"reader", "operator", "admin"} {
		invoked(t, "api", "user", "add", role, "--role", role, "--file", r.users)
	}
	ops := []string{"api", "user", "add", "ops", "--role", "operator", "--password-stdin", "--certificate",
		"ops.example.com", "--file", r.users}
	if status := cli.Run(t.Context(), withInput("correct horse\n"), ops, io.Discard, os.Stderr, nil); status != 0 {
		t.Fatal("there is no user ops")
	}
	invoked(t, "api", "user", "add", "tenant", "--role", "tenant", "--partitions", "t7-*", "--hosts", "host-0*", "--file",
		r.users)
	r.socket, r.cmd = startManager(t, fabric, append(options, "--api_addr", "127.0.0.1:0", "--api_users_file", r.users)...)
	client := ctl.NewClient(r.socket)
	defer client.Close()
	served := &ctl.API{}
	if err := client.Get(t.Context(), "/v1/api", nil, served); err != nil {
		t.Fatal(err)
	}
	r.url, r.print = served.URL, served.Fingerprint
	return r
}

// withInput is ibsmctl with a text as its standard input.
func withInput(text string) *cobra.Command {
	root := program()
	root.SetIn(strings.NewReader(text))
	return root
}

// invoked runs ibsmctl, which must succeed.
func invoked(t *testing.T, args ...string) (stdout string) {
	t.Helper()
	out, errs, status := invoke(t, args...)
	if status != 0 {
		t.Fatalf("ibsmctl %s: status %d, %s", strings.Join(args, " "), status, errs)
	}
	return out
}

// token makes a token of a user, and returns the name of its file.
func (r *remote) token(t *testing.T, user string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "token")
	text := invoked(t, "api", "user", "token", user, "--file", r.users)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	r.awaitToken(t, strings.TrimSpace(text))
	return file
}

// awaitToken waits until the manager has read the users.
func (r *remote) awaitToken(t *testing.T, token string) {
	t.Helper()
	f, err := ctl.ParseFingerprint(r.print)
	if err != nil {
		t.Fatal(err)
	}
	client, err := ctl.NewTLSClient(ctl.Remote{URL: r.url, Fingerprints: []ctl.Fingerprint{f}, Token: token})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for ctx.Err() == nil {
		failed, _ := client.Get(ctx, "/v1/none", nil, nil).(*ctl.Failure)
		if failed != nil && failed.Status == http.StatusNotFound {
			return
		}
	}
	t.Fatal("the manager does not know the token")
}

// serverRow is how the test runs a verb over the socket and over TLS.
type serverRow struct {
	line   string
	after  string // run over the socket after each, so that the next one finds the same; "" for nothing
	varies bool   // numbers differ from run to run
	fails  bool
}

// serverRows are rows of the verbs that ask a manager. FILE is a partition file, which is the same before each run.
var serverRows = map[string][]serverRow{
	"status": {
		{line: "status", varies: true},
		{line: "status --wait"},
		{line: "status --json", varies: true},
	},
	"top":           {{line: "top --once --interval 500ms", varies: true}},
	"sms":           {{line: "sms"}, {line: "sms --json", varies: true}},
	"nodes":         {{line: "nodes --type switch"}, {line: "nodes --json"}},
	"page":          {{line: "page further", fails: true}}, // it serves until it is interrupted: see TestPageProxy
	"hosts":         {{line: "hosts"}, {line: "hosts host-0[1-4] --json"}},
	"ports":         {{line: "ports --node leaf-01"}},
	"links":         {{line: "links"}},
	"links sick":    {{line: "links sick", fails: true}},
	"links isolate": {{line: "links isolate leaf-01:3", after: "links heal leaf-01:3"}},
	"links heal":    {{line: "links heal leaf-01:3"}},
	"why": {
		{line: "why"},
		{line: "why host-01 host-16 --service-id 1"},
		{line: "why nobody", fails: true},
	},
	"path":                {{line: "path host-01 host-16"}},
	"diff":                {{line: "diff"}},
	"generations":         {{line: "generations"}},
	"groups":              {{line: "groups"}},
	"services":            {{line: "services"}},
	"subscriptions":       {{line: "subscriptions"}},
	"sa-stats":            {{line: "sa-stats", varies: true}},
	"counters":            {{line: "counters host-01", varies: true, fails: true}},
	"counters top":        {{line: "counters top errors", varies: true, fails: true}},
	"counters congestion": {{line: "counters congestion", varies: true, fails: true}},
	"counters clear":      {{line: "counters clear"}},
	"congestion-control":  {{line: "congestion-control"}},
	"sweep":               {{line: "sweep --light", varies: true}},
	"capture":             {{line: "capture CAPTURE", varies: true}},
	"reroute":             {{line: "reroute", varies: true}},
	"plan":                {{line: "plan"}, {line: "plan --without spine-01"}},
	"drain":               {{line: "drain spine-01", after: "undrain --all"}},
	"undrain":             {{line: "undrain --all"}},
	"routes quality":      {{line: "routes quality"}},
	"rails":               {{line: "rails"}},
	"topology learn":      {{line: "topology learn"}},
	"topology check":      {{line: "topology check PLAN"}, {line: "topology check", fails: true}},
	"draw":                {{line: "draw"}},
	"dump": {
		{line: "dump routes"},
		{line: "dump --format slurm"},
		{line: "dump guids --node-name-map NAMES"},
	},
	"log-level":        {{line: "log-level"}},
	"config show":      {{line: "config show"}},
	"config reload":    {{line: "config reload"}},
	"partitions":       {{line: "partitions"}},
	"partitions check": {{line: "partitions check FILE"}},
	"partitions show": {
		{line: "partitions show"},
		{line: "partitions show t7-a --wait 1m"},
		{line: "partitions show FILE"},
	},
	"partitions fmt":    {{line: "partitions fmt FILE"}},
	"partitions export": {{line: "partitions export FILE"}, {line: "partitions export --callers"}},
	"partitions create": {{line: "partitions create b host-03 --file FILE"}},
	"partitions delete": {{line: "partitions delete a --file FILE"}},
	"partitions rename": {{line: "partitions rename a b --file FILE"}},
	"partitions add":    {{line: "partitions add a host-04=full --file FILE"}},
	"partitions remove": {{line: "partitions remove a host-02 --file FILE"}},
	"partitions set": {
		{line: "partitions set a ipoib --file FILE"},
		{line: "partitions set t7-a --add host-05", after: "partitions set t7-a --remove host-05", varies: true},
	},
	"partitions unset":   {{line: "partitions unset a ipoib --file FILE"}},
	"partitions list":    {{line: "partitions list"}, {line: "partitions list --json"}},
	"partitions history": {{line: "partitions history", varies: true}},
	"partitions put":     {{line: "partitions put t7-b host-06", after: "partitions rm t7-b", varies: true}},
	"partitions rm": {
		{line: "partitions rm t7-a", after: "partitions put t7-a host-01 host-02=limited", varies: true},
	},
	"partitions undo": {
		{line: "partitions undo --file FILE", fails: true},
		{line: "partitions undo 99999", fails: true},
	},
	"partitions diff":    {{line: "partitions diff FILE"}, {line: "partitions diff"}},
	"partitions apply":   {{line: "partitions apply --dry-run"}, {line: "partitions apply", varies: true}},
	"partitions why":     {{line: "partitions why host-01 t7-a"}},
	"port-groups":        {{line: "port-groups"}},
	"qos check":          {{line: "qos check QOS"}},
	"qos show":           {{line: "qos show"}, {line: "qos show QOS"}},
	"security":           {{line: "security", fails: true}},
	"security offenders": {{line: "security offenders"}},
	"security plan":      {{line: "security plan", fails: true}},
	"security rotate":    {{line: "security rotate", fails: true}},
	"api fingerprint":    {{line: "api fingerprint"}},
	"api log":            {{line: "api log"}, {line: "api log --json"}},
	"events":             {{line: "events --since 1"}},
}

// anyNumber is a number or a time.
var anyNumber = regexp.MustCompile(`[0-9][0-9.:]*|n?µs|ms`)

// TestServer: each verb prints over TLS what it prints over the socket, or says that it asks no manager over the
// network. A verb that is new needs a row, or onHost.
func TestServer(t *testing.T) {
	dir := t.TempDir()
	own := filepath.Join(dir, "own.conf")
	write := func(file, text string) { writeFile(t, file, text) }
	write(own, "Default=0x7fff : ALL=full;\n")
	conf := filepath.Join(dir, "opensm.conf")
	qos := filepath.Join(dir, "qos")
	write(conf, "drain_file "+filepath.Join(dir, "drain.conf")+"\nqos TRUE\nqos_policy_file "+qos+"\n")
	write(qos, "qos-levels\n qos-level\n  name: DEFAULT\n  sl: 0\n end-qos-level\nend-qos-levels\n")
	r := startRemote(t, "fattree:k=4", "-P", own, "-F", conf, "--state_dir", "none")
	invoked(t, "--socket", r.socket, "partitions", "put", "t7-a", "host-01", "host-02=limited")
	invoked(t, "--socket", r.socket, "partitions", "show", "t7-a", "--wait", "1m")
	files := map[string]string{"FILE": filepath.Join(dir, "file.conf"), "CAPTURE": filepath.Join(dir, "capture"),
		"NAMES": filepath.Join(dir, "names"), "PLAN": filepath.Join(dir, "plan"), "QOS": qos}
	write(files["NAMES"], "0xb83fd20300400000 \"a leaf\"\n")
	write(files["PLAN"], invoked(t, "--socket", r.socket, "topology", "learn"))
	token := r.token(t, "admin")
	over := map[string][]string{"socket": {"--socket", r.socket},
		"TLS": {"--server", r.url, "--fingerprint", r.print, "--token-file", token}}
	run := func(row serverRow, way string) (out, errs string, status int) {
		t.Helper()
		edits, err := filepath.Glob(files["FILE"] + ".~*")
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range edits {
			os.Remove(name)
		}
		write(files["FILE"], "Default=0x7fff : ALL=full;\na=0x10,ipoib : host-02=full, host-03;\n")
		args := strings.Fields(row.line)
		for i, arg := range args {
			if name, is := files[arg]; is {
				args[i] = name
			}
		}
		out, errs, status = invoke(t, append(over[way], args...)...)
		if row.after != "" {
			invoked(t, append(over["socket"], strings.Fields(row.after)...)...)
		}
		if row.varies {
			out, errs = anyNumber.ReplaceAllString(out, "N"), anyNumber.ReplaceAllString(errs, "N")
		}
		return out, errs, status
	}
	var verbs func(cmd *cobra.Command)
	verbs = func(cmd *cobra.Command) {
		path := strings.TrimPrefix(cmd.CommandPath(), "ibsmctl ")
		rows := serverRows[path]
		switch {
		case cmd.Hidden:
			return
		case rows == nil && !cmd.HasSubCommands():
			refusesServer(t, cmd, r.url)
		}
		for _, row := range rows {
			out, errs, status := run(row, "TLS")
			want, wantErrs, wantStatus := run(row, "socket")
			// what the row before has changed may take a sweep
			for late := time.Now().Add(time.Minute); (out != want || errs != wantErrs) && time.Now().Before(late); {
				out, errs, status = run(row, "TLS")
				want, wantErrs, wantStatus = run(row, "socket")
			}
			if out != want || errs != wantErrs || status != wantStatus {
				t.Errorf("ibsmctl %s over TLS: status %d\n%s%sover the socket: status %d\n%s%s", row.line, status, out, errs,
					wantStatus, want, wantErrs)
			}
			if (status != 0) != row.fails {
				t.Errorf("ibsmctl %s: status %d, %s%s", row.line, status, out, errs)
			}
		}
		for _, verb := range cmd.Commands() {
			verbs(verb)
		}
	}
	verbs(program())
}

// clientCertificate writes a certificate for a DNS name, its key, and the certificate of its authority.
func clientCertificate(t *testing.T, dir, name string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	end := time.Now().Add(time.Hour)
	ca := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"}, IsCA: true,
		BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign, NotAfter: end}
	leaf := &x509.Certificate{SerialNumber: big.NewInt(2), DNSNames: []string{name}, NotAfter: end,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}
	for file, c := range map[string]*x509.Certificate{"ca.pem": ca, "client.pem": leaf} {
		der, err := x509.CreateCertificate(rand.Reader, c, ca, &key.PublicKey, key)
		if err != nil {
			t.Fatal(err)
		}
		writeFile(t, filepath.Join(dir, file), string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})))
	}
	writeFile(t, filepath.Join(dir, "client.key"), string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY",
		Bytes: secret})))
}

func writeFile(t *testing.T, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestServerRights: users do what their role lets them, with each form of credential, and get an error in words.
func TestServerRights(t *testing.T) {
	dir := t.TempDir()
	clientCertificate(t, dir, "ops.example.com")
	r := startRemote(t, "fattree:k=4", "--api_client_ca_file", filepath.Join(dir, "ca.pem"))
	invoked(t, "--socket", r.socket, "partitions", "put", "t7-a", "host-01")
	invoked(t, "--socket", r.socket, "partitions", "put", "t8-a", "host-02")
	writeFile(t, filepath.Join(dir, "password"), "correct horse\n")
	writeFile(t, filepath.Join(dir, "wrong"), "ibsm_wrong\n")
	profiles, server := filepath.Join(dir, "profiles"), fmt.Sprintf("servers = %q\nfingerprint = %q\n", r.url, r.print)
	text := "[none]\n" + server + "[password]\n" + server + "user = \"ops\"\npassword_file = \"password\"\n" +
		"[certificate]\n" + server + "certificate = \"client.pem\"\nkey = \"client.key\"\n" +
		"[wrong]\n" + server + "token_file = \"wrong\"\n"
	for _, role := range []string{"reader", "tenant"} {
		text += fmt.Sprintf("[%s]\n%stoken_file = %q\n", role, server, r.token(t, role))
	}
	writeFile(t, profiles, text)
	t.Setenv(profile.FileEnv, profiles)
	const allowed = "light sweep requested"
	for _, c := range []struct {
		server, verb string
		want         string // a regular expression of standard output
		says         string // part of standard error; "" for success
	}{
		{"reader", "partitions list", "t7-a(.|\n)*t8-a", ""},
		{"reader", "sweep --light", "^$", "user reader may not do this: POST /v1/sweep\nhint: the role reader has no right to operate"},
		{"tenant", "partitions list", "^NAME .*\nt7-a .*\n$", ""},
		{"tenant", "hosts", "^HOST .*\n(host-0.*\n){9}$", ""},
		{"tenant", "status", "^$", "user tenant may not do this: GET /v1/status\nhint: the role tenant has no right to read"},
		{"tenant", "partitions put t7-b host-03", "^t7-b created", ""},
		{"tenant", "partitions put t7-b host-10", "^$", "host-10"},
		{"tenant", "partitions rm t8-a", "^$", "t8-a"},
		{"password", "sweep --light", allowed, ""},
		{"certificate", "sweep --light", allowed, ""},
		{"wrong", "sweep --light", "^$", "unknown token\nhint: set token_file in the profile"},
		{"none", "sweep --light", "^$", "no header Authorization\nhint: set token_file in the profile"},
	} {
		out, errs, status := invoke(t, append([]string{"--server", c.server}, strings.Fields(c.verb)...)...)
		if !regexp.MustCompile(c.want).MatchString(out) || !strings.Contains(errs, c.says) ||
			(errs == "") != (c.says == "") || (status == 0) != (c.says == "") {
			t.Errorf("%s: ibsmctl %s: status %d, it printed\n%s%swant %s\n%s", c.server, c.verb, status, out, errs, c.want,
				c.says)
		}
	}
	token, err := os.ReadFile(r.token(t, "operator"))
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv(tokenEnv, strings.TrimSpace(string(token)))
	for server, says := range map[string]string{"none": "", r.url: "", "wrong": "unknown token"} {
		args := []string{"--server", server, "sweep", "--light"}
		if server == r.url {
			args = append(args, "--fingerprint", r.print)
		}
		out, errs, status := invoke(t, args...)
		if (status == 0) != (says == "") || !strings.Contains(errs, says) || strings.Contains(errs, string(token)) {
			t.Errorf("%s with %s: status %d, %s%s", server, tokenEnv, status, out, errs)
		}
	}
}

// refusesServer: a verb without a row says that it takes no --server.
func refusesServer(t *testing.T, cmd *cobra.Command, url string) {
	t.Helper()
	args := append(strings.Fields(cmd.CommandPath())[1:], "--server", url)
	for range 4 {
		if _, errs, status := invoke(t, args...); status == 2 && strings.Contains(errs, "--server") {
			return
		}
		args = append(args, "x")
	}
	t.Errorf("%s neither refuses --server nor has a row in serverRows", cmd.CommandPath())
}
