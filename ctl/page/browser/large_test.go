package browser

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// status is a value of /proc/PID/status in kilobytes.
func status(t testing.TB, pid, name string) int {
	t.Helper()
	text, err := os.ReadFile("/proc/" + pid + "/status")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if rest, is := strings.CutPrefix(line, name+":"); is {
			n, err := strconv.Atoi(strings.Fields(rest)[0])
			if err != nil {
				t.Fatal(err)
			}
			return n
		}
	}
	t.Fatalf("no %s", name)
	return 0
}

// ofBrowser is the resident memory of all processes of a browser in kilobytes.
// renderer is that of the largest process that shows pages.
func ofBrowser(t testing.TB, b *tab) (sum, renderer int) {
	t.Helper()
	own := strconv.Itoa(chromedp.FromContext(b.ctx).Browser.Process().Pid)
	parents := map[string]string{}
	files, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, f := range files {
		if text, err := os.ReadFile(f); err == nil {
			fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
			parents[filepath.Base(filepath.Dir(f))] = fields[1]
		}
	}
	for pid := range parents {
		for p := pid; p != "" && p != "0"; p = parents[p] {
			if p == own {
				text, _ := os.ReadFile("/proc/" + pid + "/smaps_rollup")
				for line := range strings.Lines(string(text)) {
					if rest, is := strings.CutPrefix(line, "Pss:"); is {
						n, _ := strconv.Atoi(strings.Fields(rest)[0])
						sum += n
						if args, _ := os.ReadFile("/proc/" + pid + "/cmdline"); strings.Contains(string(args), "--type=renderer") {
							renderer = max(renderer, n)
						}
					}
				}
				break
			}
		}
	}
	return sum, renderer
}

// TestLarge prints what a page of a large subnet costs: the first picture, frames, memory, bytes, and many changes.
func TestLarge(t *testing.T) {
	if os.Getenv("IBSM_PROOF") != "1" {
		t.Skip("IBSM_PROOF=1 selects the full size")
	}
	spec := os.Getenv("IBSM_FABRIC")
	if spec == "" {
		spec = "fattree:k=36"
	}
	s := serve(t, spec)
	for began := time.Now(); !s.is(s.sock, "MASTER"); time.Sleep(time.Second) {
		if time.Since(began) > 5*time.Minute {
			t.Fatal("the manager is not master within five minutes")
		}
	}
	link := s.pageLink()
	pid := s.pid
	for _, order := range []string{"down", "up", "down", "up"} { // with the memory that sweeps take
		before := outputOf(t, "ibsmctl", "--socket", s.sock, "generations")
		s.order(`link ` + order + ` "leaf-005" 20`)
		s.eventually("the sweep of a link that is "+order, func() bool {
			return outputOf(t, "ibsmctl", "--socket", s.sock, "generations") != before
		})
	}
	before := status(t, pid, "VmRSS")
	b := browser(t, 1400, 900)
	b.open(link)
	b.until(`/nothing|weakened|wrong/.test(document.getElementById("state").textContent)`)
	b.open("about:blank")
	b.open(strings.Split(link, "#")[0] + "#/map")
	b.until(`document.querySelector("canvas")?.dataset.items > 5`)
	t.Logf("first picture of the map %s ms after navigation, %s items", b.eval(`(() => { const f = performance.getEntriesByName("first-map")[0];
		return f ? Math.round(f.startTime) : "?"; })()`), b.eval(`document.querySelector("canvas").dataset.items`))

	for _, zoom := range []struct {
		what  string
		by    int
		layer string
	}{{"all", 0, ""}, {"pods", 4, ""}, {"switches", 4, ""}, {"ports", 4, ""}, {"all with routes", 0, "load"},
		{"pods with routes", 4, "load"}} {
		if zoom.layer != "" && zoom.by == 0 {
			b.open("#/map?layer=" + zoom.layer)
			b.has("routes over the link")
			b.run(click(`button[aria-label^="fit"]`))
		}
		b.run(chromedp.Evaluate(fmt.Sprintf(`(async () => {
			const c = document.querySelector("canvas"); window.frames2 = []; window.most = 0; window.moved = false;
			const key = (k) => c.dispatchEvent(new KeyboardEvent("keydown", {key: k, bubbles: true}));
			for (let i = 0; i < %d; i++) key("+");
			const next = () => new Promise(done => requestAnimationFrame(done));
			for (let i = 0; i < 60; i++) {
				key(["ArrowLeft", "ArrowUp", "ArrowRight", "ArrowDown", "+", "-"][i %% 6]);
				await next(); await next();
				window.frames2.push(Number(c.dataset.ms)); window.most = Math.max(window.most, Number(c.dataset.items));
			}
			window.moved = true;
		})()`, zoom.by), nil))
		b.until(`window.moved`)
		var ms []float64
		for _, f := range strings.Split(b.eval(`window.frames2.join(" ")`), " ") {
			n, _ := strconv.ParseFloat(f, 64)
			ms = append(ms, n)
		}
		slices.Sort(ms)
		if n, _ := strconv.Atoi(b.eval("window.most")); n < 1 || n > 5000 {
			t.Errorf("%s: %d items", zoom.what, n)
		}
		t.Logf("%s: script time a frame median %.1f ms, 95th %.1f ms, worst %.1f ms; at most %s items", zoom.what, ms[len(ms)/2],
			ms[len(ms)*95/100], ms[len(ms)-1], b.eval("window.most"))
	}
	sum, renderer := ofBrowser(t, b)
	t.Logf("browser: %d MB, of these %d MB for the page, heap of scripts %s MB", sum/1024, renderer/1024, b.eval(`Math.round(performance.memory.usedJSHeapSize / 1e6)`))
	t.Logf("manager: %d MB before, %d MB with one page", before/1024, status(t, pid, "VmRSS")/1024)
	b.picture("k36-map")
	b.open("#/map")
	b.until(`document.getElementById("state").textContent === "nothing wrong"`)
	began := time.Now()
	s.order(`link down "leaf-005" 20`)
	b.until(`document.getElementById("state").textContent === "1 weakened"`)
	t.Logf("a pulled link is shown after %v", time.Since(began).Round(time.Millisecond))
	for range 9 {
		ctx, cancel := chromedp.NewContext(b.ctx)
		defer cancel()
		if err := chromedp.Run(ctx, chromedp.Navigate(strings.Split(link, "#")[0]+"#/map")); err != nil {
			t.Log(err)
		}
	}
	time.Sleep(5 * time.Second)
	t.Logf("manager: %d MB with ten pages", status(t, pid, "VmRSS")/1024)
}
