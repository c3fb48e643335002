package main_test

import (
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
)

// consolePrompt ends each answer.
const consolePrompt = "OpenSM $ "

// consoleClient talks to the console of a manager.
type consoleClient struct {
	t    *testing.T
	conn net.Conn
}

// dialConsole waits until a manager says where its console is, and goes there.
func dialConsole(t *testing.T, p *process) *consoleClient {
	t.Helper()
	p.rewind()
	p.await("Console listening on port ")
	port := strings.TrimSpace(p.await("\n"))
	conn, err := net.Dial("tcp", "127.0.0.1:"+port)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	conn.SetDeadline(time.Now().Add(patience()))
	c := &consoleClient{t, conn}
	if greeting := c.answer(); greeting != "" {
		t.Errorf("greeting %q", greeting)
	}
	return c
}

// say is the answer to a command line.
func (c *consoleClient) say(line string) string {
	c.t.Helper()
	if _, err := io.WriteString(c.conn, line+"\n"); err != nil {
		c.t.Fatal(err)
	}
	return c.answer()
}

// answer reads up to the next prompt.
func (c *consoleClient) answer() string {
	c.t.Helper()
	var text strings.Builder
	for b := make([]byte, 4096); ; {
		n, err := c.conn.Read(b)
		text.Write(b[:n])
		if before, ok := strings.CutSuffix(text.String(), consolePrompt); ok {
			return before
		}
		if err != nil {
			c.t.Fatalf("after %q: %v", tail(text.String()), err)
		}
	}
}

// freePort is a TCP port that was free a moment ago.
func freePort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return fmt.Sprint(l.Addr().(*net.TCPAddr).Port)
}

// consoleCommands are those whose answers are the same to the letter, but for what
// comparable takes away.
var consoleCommands = []string{
	"help", "nosuch", "HELP", "", "help nosuch", "help help", "help quit", "help querylid", "  help   version  ",
	"help resweep", "version",
	"loglevel", "loglevel 300", "loglevel -1", "loglevel 0x83", "loglevel x83", "loglevel", "permodlog",
	"priority", "priority 20", "priority -1", "priority 0x10", "priority abc", "priority 3x", "priority",
	"resweep", "resweep foo", "querylid", "querylid 1", "querylid 0x2", "querylid 03", "querylid 99", "querylid 65537",
	"querylid abc",
	"portstatus", "portstatus ca", "portstatus switch", "portstatus router",
	"switchbalance", "switchbalance verbose", "switchbalance verbose $switch", "switchbalance $switch",
	"switchbalance 0x999",
	"lidbalance", "lidbalance $switch", "lidbalance 0x999",
	"dump_portguid", "dump_portguid .*", "dump_portguid h1 S", "dump_portguid ^h[12]$", "dump_portguid [",
	"dump_portguid file", "dump_portguid (a|b)+ [[:upper:]]", "dump_portguid file /dev/null",
	"perfmgr", "pm", "pm nonsense", "pm pc", "pm pc nobody", "pm print_errors 0x77", "pm clear_counters",
	"pm clear_rm_nodes", "pm set_rm_nodes",
	"pm clear_query_cpi", "pm set_query_cpi", "pm sweep_time", "pm sweep_time 0", "pm sweep_time 70", "perfmgr",
	"pm clear_inactive", "pm dump_redir", "pm clear_redir",
	"sweep off", "sweep on", "logflush on", "logflush off", "status",
}

// firstLineOnly are commands of which OpenSM's answer goes on with help in words of its own.
var firstLineOnly = []string{"sweep", "sweep foo", "logflush", "portstatus foo", "switchbalance x", "switchbalance 0",
	"lidbalance 0x2g", "help sweep", "help status", "help loglevel",
	"help portstatus", "help switchbalance", "help dump_portguid", "help update_desc", "help dump_conf", "help reroute",
	"help permodlog", "help priority", "status nonsense", "help perfmgr", "help pm"}

// comparable is an answer without what must differ: who the program is, times, counts of
// packets.
func comparable(answer string) string {
	for _, c := range []struct{ what, with string }{
		{`(?m)^(.*OpenSM 3\.3\.23).*$`, "$1"},
		{`in \d+ us`, "in N us"},
		{`(?m)^   ((QP0|SA) .*) : \d+$`, "   $1 : N"},
	} {
		answer = regexp.MustCompile(c.what).ReplaceAllString(answer, c.with)
	}
	return answer
}

// TestConsole: the console's answers are OpenSM's, on the same fabric.
func TestConsole(t *testing.T) {
	t.Parallel()
	seen := ""
	nets := []source{oddities, narrow, generated("fattree:k=4"), generated("random:switches=10,degree=3,hosts=2")}
	for _, f := range nets {
		t.Run(f.name, func(t *testing.T) {
			s := startIbsim(t, f.file(t))
			s.conf = "console loopback\nconsole_port " + freePort(t) +
				"\nlmc 2\nsweep_interval 10\nper_module_logging_file /nonexistent\n"
			s.conf += f.conf(t)
			answers := func(m *manager) map[string]string {
				p := m.bringUp(s)
				defer p.stop()
				c, all := dialConsole(t, p), map[string]string{}
				first := regexp.MustCompile("0x[0-9a-f]{16}").FindString(c.say("switchbalance verbose"))
				for i, command := range consoleCommands {
					all[fmt.Sprint(i, " ", command)] = comparable(c.say(strings.ReplaceAll(command, "$switch", first)))
				}
				for _, command := range firstLineOnly {
					first, _, _ := strings.Cut(c.say(command), "\n")
					all[command] = first
				}
				return all
			}
			want := answers(&opensm)
			got := answers(&ibsm)
			for command, theirs := range want {
				seen += theirs
				if got[command] != theirs {
					t.Errorf("%s\n-- got:\n%s-- OpenSM:\n%s", command, got[command], theirs)
				}
			}
		})
	}
	for _, what := range []string{"Unbalanced Switch:", "Unbalanced Remote", "Unbalanced Port", "Possible issues:",
		"reduced width", "reduced speed"} {
		if !strings.Contains(seen, what) {
			t.Errorf("none of the fabrics has OpenSM say %q", what)
		}
	}
}

// TestConsoleActs: what a client has done is in force, and in the log.
func TestConsoleActs(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := start(t, nil, dir, caches(t), program(t, "ibsm"), "--fabric", "fattree:k=4,levels=2", "-f", "stdout", "-s",
		"0", "-q", "loopback", "-C", "0",
		"-D", "0x07", "--dump_files_dir", dir)
	p.await("SUBNET UP")
	c := dialConsole(t, p)
	p.skip()
	for _, act := range []struct{ line, says string }{
		{"resweep light", ""}, {"resweep heavy", "SUBNET UP"}, {"reroute", "SUBNET UP"},
		{"sweep off", ""}, {"resweep heavy", ""}, {"sweep on", "SUBNET UP"}, {"priority 5", "SUBNET UP"},
		{"update_desc", ""},
		{"dump_portguid file guids .*", ""}, {"loglevel 1", ""},
	} {
		c.say(act.line)
		if act.line == "sweep off" && !strings.Contains(c.say("status"), "Sweeping enabled               : 0\n") {
			t.Error("the status says that sweeps go on")
		}
		p.await(act.line)
		p.await(act.says)
	}
	c.say("loglevel 3")
	for command, want := range map[string]string{"status": "SM Priority          : 5\n",
		"dump_conf": "\nsm_priority 5\n", "loglevel": "0x83"} {
		if got := c.say(command); !strings.Contains(got, want) {
			t.Errorf("%s: %q, want %q", command, tail(got), want)
		}
	}
	if text, err := os.ReadFile(filepath.Join(dir, "guids")); err != nil || strings.Count(string(text), "0x") < 8 {
		t.Errorf("port GUIDs in a file: %q, %v", text, err)
	}
	if _, err := io.WriteString(c.conn, "quit\n"); err != nil {
		t.Error(err)
	}
	if rest, err := io.ReadAll(c.conn); len(rest) > 0 || err != nil {
		t.Errorf("after quit: %q, %v", rest, err)
	}
	p.stop()
}

// TestConsoleLocal: commands come from standard input, and when that ends the manager
// goes on.
func TestConsoleLocal(t *testing.T) {
	t.Parallel()
	in, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	p := start(t, in, t.TempDir(), caches(t), program(t, "ibsm"), "--fabric", "fattree:k=4,levels=2", "-f", "stdout",
		"-q", "local")
	in.Close()
	p.await("SUBNET UP")
	p.rewind()
	p.await(consolePrompt)
	fmt.Fprintln(w, "quit")
	fmt.Fprintln(w, "version")
	p.await("OpenSM 3.3.23 (ibsm")
	p.await(consolePrompt)
	w.Close()
	p.signal(syscall.SIGHUP)
	p.await("SUBNET UP")
	p.stop()
}

// narrow is a net with links that are less than they could be.
var narrow = source{"narrow", func(t *testing.T) string {
	const text = `
switchguid=0x900
Switch 8 "a"
[1] "b"[1] w=3
[2] "b"[2] s=3
[3] "h1"[1] s=7
[4] "h3"[1] w=3

switchguid=0x1ff
Switch 8 "b"
[1] "a"[1] w=1
[2] "a"[2] s=1
[3] "h2"[1] w=3

Hca 1 "h1"
[1] "a"[3] s=3

Hca 2 "h2"
[1] "b"[3] w=1

Hca 2 "h3"
[1] "a"[4] w=1
`
	file := filepath.Join(t.TempDir(), "narrow.net")
	if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	return file
}}
