package browser

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/fetch"
	"github.com/chromedp/chromedp"
)

// users writes a file of users, each with a password that is its name and a tail, and returns it.
func users(t testing.TB, roles ...string) (file string) {
	t.Helper()
	file = filepath.Join(t.TempDir(), "users.toml")
	for _, role := range roles {
		args := []string{"api", "user", "add", role, "--role", role, "--password-stdin", "--file", file}
		if role == "tenant" {
			args = append(args, "--partitions", "t7-*", "--hosts", "*")
		}
		ctl(t, passwordOf(role)+"\n", args...)
	}
	return file
}

func passwordOf(user string) string { return user + " correct horse" }

// ctl runs ibsmctl, and returns what it prints.
func ctl(t testing.TB, input string, args ...string) string {
	t.Helper()
	cmd := exec.Command(filepath.Join(programs, "ibsmctl"), args...)
	cmd.Stdin = strings.NewReader(input)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("ibsmctl %v: %v\n%s", args, err, out)
	}
	return string(out)
}

// outputOf is what a program prints.
func outputOf(t testing.TB, program string, args ...string) string {
	t.Helper()
	out, err := exec.Command(filepath.Join(programs, program), args...).Output()
	if err != nil {
		t.Fatalf("%s %v: %v", program, args, err)
	}
	return string(out)
}

// freePort is a port of the loopback that nobody listens at.
func freePort(t testing.TB) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// TestTakeover: a standby says who is master; when the master is killed the page goes on with the next one, and says
// who that is.
func TestTakeover(t *testing.T) {
	file := users(t, "reader")
	first, second := freePort(t), freePort(t)
	conf := filepath.Join(t.TempDir(), "opensm.conf")
	if err := os.WriteFile(conf, []byte("sminfo_polling_timeout 300\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	options := func(addr string) []string {
		return []string{"--api_addr", "http://" + addr, "--api_users_file", file, "--api_audit_file", "none", "-F", conf}
	}
	s := serve(t, "fattree:k=4", options(first)...)
	kill := s.stop
	s.eventually("the first manager is master", func() bool { return s.is(s.sock, "MASTER") })
	standby := s.manager(s.fabric, "host-02 mlx5_0", options(second)...)
	s.eventually("the second manager is standby", func() bool { return s.is(standby, "STANDBY") })

	token := filepath.Join(t.TempDir(), "token")
	out := ctl(t, "", "api", "user", "token", "reader", "--file", file)
	if err := os.WriteFile(token, []byte(strings.TrimSpace(out)+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	link := s.linkOf("--server", "http://"+first+",http://"+second, "--token-file", token, "page")
	alone := s.linkOf("--socket", standby, "page")
	b := browser(t, 1200, 800)
	b.allow("502", "ERR_INCOMPLETE_CHUNKED_ENCODING", "503")
	b.open(alone)
	b.has("STANDBY", "The master is", "it does not know the subnet")
	b.picture("standby")
	b.open(link)
	b.open("#/managers")
	b.has("MASTER", "(this one)", "next master")
	master := b.eval(`document.querySelector("tbody td").innerText.split(" ")[0]`)
	kill()
	b.until(fmt.Sprintf(`document.querySelector("tbody td")?.innerText.includes("(this one)") &&
		!document.querySelector("tbody td").innerText.startsWith(%q) && !document.querySelector("#notice:not([hidden])")`, master))
	b.has("MASTER")
	b.open("#/map")
	b.until(`document.querySelector("canvas")?.dataset.items > 20`)
}

// TestKilled: where no manager can be reached, the page says since when, and who was master.
func TestKilled(t *testing.T) {
	s := serve(t, "fattree:k=4")
	link := s.pageLink()
	b := browser(t, 1200, 800)
	b.allow("502", "ERR_INCOMPLETE_CHUNKED_ENCODING")
	b.open(link)
	b.has("Nothing is wrong")
	b.open("#/managers")
	b.has("(this one)") // so that the page knows who is master
	b.open("#/problems")
	b.has("Nothing is wrong")
	s.stop()
	b.has("what is shown may be old", "The master was ", "port 0x")
	b.until(`document.getElementById("state").className.includes("unknown")`)
	b.until(`!document.querySelector(".badge.good")`)
	b.picture("killed")
}

// TestUsers: the API serves the page to its users, by their rights: the browser asks for the password.
func TestUsers(t *testing.T) {
	addr := freePort(t)
	s := serve(t, "fattree:k=4", "--api_addr", "http://"+addr, "--api_users_file", users(t, "reader", "tenant"),
		"--api_audit_file", "none")
	s.eventually("the manager is master", func() bool { return s.is(s.sock, "MASTER") })
	open := func(user string) *tab {
		b := browser(t, 1200, 800)
		chromedp.ListenTarget(b.ctx, func(event any) {
			switch e := event.(type) {
			case *fetch.EventAuthRequired:
				go chromedp.Run(b.ctx, fetch.ContinueWithAuth(e.RequestID, &fetch.AuthChallengeResponse{
					Response: fetch.AuthChallengeResponseResponseProvideCredentials, Username: user,
					Password: passwordOf(user)}))
			case *fetch.EventRequestPaused:
				go chromedp.Run(b.ctx, fetch.ContinueRequest(e.RequestID))
			}
		})
		b.run(fetch.Enable().WithHandleAuthRequests(true))
		b.open("http://" + addr + "/")
		return b
	}
	reader := open("reader")
	reader.has("Nothing is wrong")
	reader.open("#/map")
	reader.until(`document.querySelector("canvas")?.dataset.items > 20`)
	tenant := open("tenant")
	tenant.allow("403")
	tenant.has("user tenant may not do this", "Your partitions")
	tenant.open("#/partitions")
	tenant.has("No partition")
}
