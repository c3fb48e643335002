package browser

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// programs is the folder of ibsm, ibsmctl and ibfabric.
var programs string

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	if _, err := exec.LookPath("chromium"); err != nil {
		fmt.Println("skipped: there is no chromium; .ci/deps installs it")
		return 0
	}
	var err error
	if programs, err = os.MkdirTemp("", "ibsm-page"); err != nil {
		fmt.Println(err)
		return 1
	}
	defer os.RemoveAll(programs)
	build := exec.Command("go", "build", "-trimpath", "-o", programs+"/", "./cmd/...")
	build.Dir = "../../.."
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Printf("%v\n%s", err, out)
		return 1
	}
	return m.Run()
}

// start starts a program until the test ends, and returns what stops it before.
func start(t testing.TB, env []string, name string, args ...string) (out *bufio.Reader, stop func(), pid int) {
	t.Helper()
	cmd := exec.Command(filepath.Join(programs, name), args...)
	cmd.Env = append(os.Environ(), env...)
	cmd.Stderr = os.Stderr
	pipe, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	stop = sync.OnceFunc(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
	t.Cleanup(stop)
	return bufio.NewReader(pipe), stop, cmd.Process.Pid
}

// subnet is a served fabric with a manager.
type subnet struct {
	testing.TB
	dir    string
	fabric string // the name of its socket
	sock   string // control socket of the manager
	stop   func() // kills the manager
	pid    string // of the manager
}

// serve serves a fabric, and starts a manager with further options.
func serve(t testing.TB, spec string, options ...string) *subnet {
	t.Helper()
	s := &subnet{TB: t, dir: t.TempDir()}
	name := fmt.Sprintf("page-%d-%s", os.Getpid(), filepath.Base(s.dir))
	out, _, _ := start(t, nil, "ibfabric", "serve", spec, "--sock", name, "--control", filepath.Join(s.dir, "fabric"))
	go drain(out)
	s.eventually("the fabric is served", func() bool {
		_, err := os.Stat(filepath.Join(s.dir, "fabric"))
		return err == nil
	})
	s.fabric = name
	s.sock = s.manager(name, "", options...)
	return s
}

// manager starts a manager at a host, the first one without a name, and returns its socket when the subnet is up, or
// another manager is master.
func (s *subnet) manager(fabric, host string, options ...string) string {
	s.Helper()
	dir := s.TempDir()
	sock := filepath.Join(dir, "sock")
	env := []string{"IBSIM_SOCKNAME=" + fabric, "OSM_TMP_DIR=" + dir}
	if host != "" {
		env = append(env, "SIM_HOST="+host)
	}
	args := append([]string{"--ibsim", "--ctl_socket", sock, "--log_file", filepath.Join(dir, "log"), "--sweep", "2"},
		options...)
	out, stop, pid := start(s, env, "ibsm", args...)
	s.stop, s.pid = stop, strconv.Itoa(pid)
	for { // before that it answers requests for the subnet with status 503, which browsers log
		line, err := out.ReadString('\n')
		if err != nil {
			s.Fatalf("the manager at %q has ended: %v", host, err)
		}
		if strings.Contains(line, "SUBNET UP") || strings.Contains(line, "STANDBY") {
			break
		}
	}
	go drain(out)
	return sock
}

func drain(r *bufio.Reader) {
	for {
		if _, err := r.ReadString('\n'); err != nil {
			return
		}
	}
}

// order sends a command to the fabric.
func (s *subnet) order(text string) {
	s.Helper()
	conn, err := net.Dial("unix", filepath.Join(s.dir, "fabric"))
	if err != nil {
		s.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprintln(conn, text)
	answer := bufio.NewReader(conn)
	for {
		line, err := answer.ReadString('\n')
		switch {
		case strings.TrimSpace(line) == "ok":
			return
		case err != nil || strings.HasPrefix(line, "error"):
			s.Fatalf("%s: %s %v", text, line, err)
		}
	}
}

// eventually waits up to half a minute.
func (s *subnet) eventually(what string, is func() bool) {
	s.Helper()
	eventually(s, what, is)
}

func eventually(t testing.TB, what string, is func() bool) {
	t.Helper()
	for began := time.Now(); !is(); time.Sleep(20 * time.Millisecond) {
		if time.Since(began) > 30*time.Second {
			t.Fatalf("not within 30 s: %s", what)
		}
	}
}

// pageLink starts ibsmctl page, and returns the link that it prints.
func (s *subnet) pageLink(options ...string) string {
	s.Helper()
	return s.linkOf(append([]string{"--socket", s.sock, "page"}, options...)...)
}

// is reports whether a manager says that it is in a state.
func (s *subnet) is(sock, state string) bool {
	out, err := exec.Command(filepath.Join(programs, "ibsmctl"), "--socket", sock, "status").Output()
	return err == nil && strings.Contains(string(out), "state     "+state) &&
		(state != "MASTER" || strings.Contains(string(out), "SUBNET UP"))
}

// linkOf starts ibsmctl page with all its arguments.
func (s *subnet) linkOf(args ...string) string {
	s.Helper()
	out, _, _ := start(s, nil, "ibsmctl", args...)
	line, err := out.ReadString('\n')
	link, is := strings.CutPrefix(strings.TrimSpace(line), "open ")
	if err != nil || !is {
		s.Fatalf("ibsmctl page: %q %v", line, err)
	}
	go drain(out)
	return link
}

// tab is a page in a browser. What the console says, and requests to elsewhere, are failures at the end.
type tab struct {
	testing.TB
	ctx  context.Context
	mu   sync.Mutex
	host string
	said []string
	may  []string // parts of texts that the console may have
}

// browser starts a browser with a window.
func browser(t testing.TB, width, height int, options ...chromedp.ExecAllocatorOption) *tab {
	t.Helper()
	flags := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.NoSandbox, chromedp.WindowSize(width, height),
		chromedp.ExecPath("chromium"), chromedp.Flag("force-color-profile", "srgb"))
	ctx, cancel := chromedp.NewExecAllocator(context.Background(), append(flags, options...)...)
	t.Cleanup(cancel)
	b := &tab{TB: t}
	b.ctx, cancel = chromedp.NewContext(ctx)
	t.Cleanup(cancel)
	if err := chromedp.Run(b.ctx); err != nil { // without a time limit, which would end the browser
		t.Fatal(err)
	}
	b.watch()
	b.run(network.Enable(), log.Enable(), chromedp.EmulateViewport(int64(width), int64(height)))
	t.Cleanup(b.quiet)
	return b
}

// watch listens to the console and the network.
func (b *tab) watch() {
	chromedp.ListenTarget(b.ctx, func(event any) {
		b.mu.Lock()
		defer b.mu.Unlock()
		switch e := event.(type) {
		case *runtime.EventConsoleAPICalled:
			if e.Type == runtime.APITypeError || e.Type == runtime.APITypeWarning {
				for _, a := range e.Args {
					b.said = append(b.said, "console: "+string(a.Value)+a.Description)
				}
			}
		case *runtime.EventExceptionThrown:
			b.said = append(b.said, "exception: "+e.ExceptionDetails.Error())
		case *log.EventEntryAdded:
			if e.Entry.Level == log.LevelError || e.Entry.Level == log.LevelWarning {
				b.said = append(b.said, "log: "+e.Entry.Text+" "+e.Entry.URL)
			}
		case *network.EventRequestWillBeSent:
			u, err := url.Parse(e.Request.URL)
			if b.host != "" && (err != nil || u.Scheme == "http" && u.Host != b.host || u.Scheme == "https") {
				b.said = append(b.said, "a request to elsewhere: "+e.Request.URL)
			}
		}
	})
}

// allow lets the console have texts.
func (b *tab) allow(parts ...string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.may = append(b.may, parts...)
}

// quiet fails if the console has a text that it may not have.
func (b *tab) quiet() {
	b.mu.Lock()
	defer b.mu.Unlock()
said:
	for _, text := range b.said {
		for _, part := range b.may {
			if strings.Contains(text, part) {
				continue said
			}
		}
		b.Errorf("the browser says: %s", text)
	}
}

func (b *tab) run(actions ...chromedp.Action) {
	b.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, 30*time.Second)
	defer cancel()
	if err := chromedp.Run(ctx, actions...); err != nil {
		b.Fatalf("%v; the page has: %.600s", err, b.eval(`document.body ? document.body.innerText : ""`))
	}
}

// open opens a link, or what is behind # of the page that is open.
func (b *tab) open(link string) {
	b.Helper()
	if strings.HasPrefix(link, "#") {
		b.eval("location.hash = " + quote(link))
		return
	}
	u, err := url.Parse(link)
	if err != nil {
		b.Fatal(err)
	}
	b.mu.Lock()
	b.host = u.Host
	b.mu.Unlock()
	b.run(chromedp.Navigate(link))
}

func quote(text string) string { return fmt.Sprintf("%q", text) }

// eval is the value of an expression as a text.
func (b *tab) eval(expression string) string {
	var value string
	ctx, cancel := context.WithTimeout(b.ctx, 10*time.Second)
	defer cancel()
	if err := chromedp.Run(ctx, chromedp.Evaluate("String("+expression+")", &value)); err != nil {
		b.Helper()
		b.Errorf("%s: %v", expression, err)
	}
	return value
}

// until waits for an expression to be true.
func (b *tab) until(expression string) {
	b.Helper()
	began := time.Now()
	for b.eval("!!("+expression+")") != "true" {
		if time.Sleep(20 * time.Millisecond); time.Since(began) > 30*time.Second {
			b.Fatalf("not within 30 s: %s; at %s the page has: %.1500s", expression, b.eval("location.hash"),
				b.eval("document.body.innerText"))
		}
	}
}

// has waits for a text in the page.
func (b *tab) has(texts ...string) {
	b.Helper()
	for _, text := range texts {
		b.until("document.body.innerText.includes(" + quote(text) + ")")
	}
}

// press presses keys, one after the other.
func (b *tab) press(keys ...string) {
	b.Helper()
	for _, k := range keys {
		b.run(chromedp.KeyEvent(k))
	}
}

// picture writes what is visible to a file of the folder that IBSM_PICTURES names.
func (b *tab) picture(name string) {
	b.Helper()
	dir := os.Getenv("IBSM_PICTURES")
	if dir == "" {
		return
	}
	var png []byte
	b.run(chromedp.CaptureScreenshot(&png))
	if err := os.WriteFile(filepath.Join(dir, name+".png"), png, 0o644); err != nil {
		b.Fatal(err)
	}
}
