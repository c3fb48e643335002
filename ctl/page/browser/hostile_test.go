package browser

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// hostile are names that hosts and switches give themselves, and a part of each as it must be shown: the manager has a
// question mark for what is no ASCII.
var hostile = map[string]string{
	"<img src=x onerror=window.hacked=1>": "<img src=x onerror=window.hacked=1>",
	"<script>window.hacked=1</script>":    "<script>window.hacked=1</script>",
	"'><svg/onload=window.hacked=1>":      "'><svg/onload=window.hacked=1>",
	"&lt;b&gt;${window.hacked=1}{{1}}":    "&lt;b&gt;${window.hacked=1}{{1}}",
	"javascript:window.hacked=1":          "javascript:window.hacked=1",
	"a\u202egnp.exe\u2066x":               "a?gnp.exe?x",
	strings.Repeat("\xff\xfe", 32):        "????????",
	"__proto__ constructor":               "__proto__ constructor",
	"=HYPERLINK(1)":                       "=HYPERLINK(1)",
}

// TestHostileNames: names are shown as text in every view, and no script of theirs runs.
func TestHostileNames(t *testing.T) {
	out, err := exec.Command(filepath.Join(programs, "ibfabric"), "gen", "fattree:k=4").Output()
	if err != nil {
		t.Fatal(err)
	}
	text, targets := string(out), []string{"host-01 mlx5_0", "host-02 mlx5_0", "host-03 mlx5_0", "host-04 mlx5_0",
		"leaf-01", "leaf-03", "agg-05", "spine-01", "spine-02"}
	i := 0
	for name := range hostile {
		text = strings.ReplaceAll(text, `"`+targets[i]+`"`, `"`+name+`"`)
		i++
	}
	file := filepath.Join(t.TempDir(), "hostile.topo")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	s := serve(t, file)
	link := s.pageLink()
	b := browser(t, 1400, 900)
	b.open(link)
	b.has("Nothing is wrong")
	s.order("node down agg-07")
	b.has("agg-07")
	b.open("#/tables/nodes")
	b.until(`document.querySelector("tbody tr")`)
	for _, shown := range hostile {
		b.until("document.body.textContent.includes(" + quote(shown) + ")")
	}
	guids := strings.Fields(b.eval(`[...document.querySelectorAll("tbody tr")].map(r => r.lastElementChild.textContent).join(" ")`))
	if len(guids) != 36 {
		t.Fatalf("%d nodes", len(guids))
	}
	for _, at := range []string{"#/problems", "#/tables/links", "#/tables/ports", "#/map", "#/generations", "#/generations?from=2",
		"#/managers", "#/tables/hosts?filter=img", "#/tables/%3Cimg%20src=x%20onerror=window.hacked=1%3E",
		"#/partitions/%3Cscript%3Ewindow.hacked=1%3C%2Fscript%3E", "#/why?port=%3Cscript%3Ewindow.hacked=1%3C/script%3E"} {
		b.allow("404 (Not Found)")
		b.open(at)
		b.until(`document.querySelector("main").textContent.length > 30`)
	}
	b.open("#/map")
	b.until(`document.querySelector("canvas")?.dataset.items > 20`)
	for _, guid := range guids {
		b.open("#/map?sel=" + guid + ":0")
		b.until(`document.querySelector("aside:not([hidden])")?.textContent.includes("description")`)
	}
	for name := range hostile {
		b.eval(`(() => { const t = document.getElementById("text"); t.value = ` + quote(strings.ToValidUTF8(name, "?")) + `;
			t.dispatchEvent(new Event("input")); })()`)
		b.until(`!document.getElementById("found").hidden`)
		b.press(kb.Escape)
	}
	b.eval(`(async () => { const { svg } = await import("/page/paint.js"); const { Model, scene } = await import("/page/scene.js");
		const { get } = await import("/page/api.js"); const { palette } = await import("/page/paint.js");
		const m = new Model(await get("/v1/map"));
		window.svg = svg(scene(m, {x: 0, y: 0, k: 2, w: 2000, h: 2000}, {layer: null, marks: []}), palette(), 2000, 2000, "<x>");
	})(), ""`)
	if got := b.eval(`(import("/page/dom.js").then(d => window.cleaned = d.clean("a\u202eb\u2066c\u0000d\ufeffe é 漢")), "")`); got != "" {
		t.Error(got)
	}
	b.until(`window.cleaned === "a\ufffdb\ufffdc\ufffdd\ufffde é 漢"`)
	b.until(`window.svg`)
	if text := b.eval("window.svg"); strings.Contains(text, "<img") || strings.Contains(text, "<script") {
		t.Error("the SVG has elements of names")
	}
	if got := b.eval(`new DOMParser().parseFromString(window.svg, "image/svg+xml").querySelector("parsererror")`); got != "null" {
		t.Error("the SVG is not well-formed")
	}
	if got := b.eval("window.hacked"); got != "undefined" {
		t.Error("a script of a name has run")
	}
	for _, tag := range []string{"main img", "main script", "svg", "[onerror]", "[onload]", `a[href^="javascript"]`} {
		if n := b.eval(`document.querySelectorAll(` + quote(tag) + `).length`); n != "0" {
			t.Errorf("%s elements match %s", n, tag)
		}
	}
}

// TestOtherSites: a page of another site gets nothing of the page into a frame, and none of its data.
func TestOtherSites(t *testing.T) {
	s := serve(t, "fattree:k=4")
	link := s.pageLink()
	own, _, _ := strings.Cut(link, "/#")
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		io.WriteString(w, `<iframe id=f src="`+own+`/"></iframe><p id=said></p><script>
			const said = []; const say = (x) => { said.push(x); document.getElementById("said").textContent = said.join(" "); };
			for (const [path, mode] of [["/v1/status", "cors"], ["/v1/status", "no-cors"], ["/page/main.js", "no-cors"]])
				fetch("`+own+`" + path, {mode, credentials: "include"}).then(r => say(mode + (r.type === "opaque" ? "=opaque" : "=" + r.status)), () => say(mode + "=refused"));
			const s = document.createElement("script"); s.src = "`+own+`/page/main.js"; s.type = "module"; document.head.append(s);
		</script>`)
	}))
	t.Cleanup(other.Close)
	b := browser(t, 800, 600)
	b.open(link)
	b.has("Nothing is wrong")
	b.allow("localhost", "127.0.0.1", "Refused to", "CORS", "403", "ERR_", "elsewhere", "frame")
	b.open(strings.Replace(other.URL, "127.0.0.1", "localhost", 1))
	b.until(`document.getElementById("said").textContent.split(" ").length === 3`)
	if got := b.eval(`document.getElementById("said").textContent`); strings.Contains(got, "200") ||
		!strings.Contains(got, "cors=refused") {
		t.Errorf("another site gets %s", got)
	}
	if n := b.eval(`document.getElementById("f").contentDocument === null || document.getElementById("f").contentDocument.body.innerHTML.length`); n != "true" && n != "0" {
		t.Errorf("the frame has %s", n)
	}
	// the link works once, also in another browser
	again := browser(t, 800, 600)
	again.allow("403")
	again.open(link)
	again.has("this link has been used")
}

// TestKeyboard: keys alone find a host, show it, zoom, choose what is not well, and go through all views.
func TestKeyboard(t *testing.T) {
	s := serve(t, "fattree:k=8")
	link := s.pageLink()
	b := browser(t, 1400, 900)
	b.open(link)
	b.has("Nothing is wrong")
	s.order(`link down "leaf-05" 5`)
	b.press("/")
	b.until(`document.activeElement.id === "text"`)
	b.press("h", "o", "s", "t", "-", "0", "1", "7")
	b.has("host-017 mlx5_0")
	b.press(kb.ArrowDown, kb.Enter)
	b.until(`location.hash.includes("sel=")`)
	b.has("leaf-05 port 1", "path from here")
	tab := func(condition string) {
		t.Helper()
		for range 200 {
			if b.eval("!!("+condition+")") == "true" {
				return
			}
			b.press(kb.Tab)
		}
		t.Fatalf("Tab does not come to %s", condition)
	}
	tab(`document.activeElement.tagName === "CANVAS"`)
	for _, key := range []string{"+", "-", kb.ArrowLeft, kb.ArrowDown, "0"} {
		before := b.eval("location.hash")
		b.press(key)
		b.until("location.hash !== " + quote(before))
	}
	b.press("n")
	b.has("leaf-05 to agg-05")
	before := b.eval("location.hash")
	b.press(kb.Escape)
	b.until(`!location.hash.includes("sel=")`)
	b.run(chromedp.NavigateBack())
	b.until("location.hash === " + quote(before))
	b.has("leaf-05 to agg-05")
	for _, view := range []string{"Tables", "Changes", "Partitions", "Managers", "Problems"} {
		tab(`document.activeElement.textContent === "` + view + `"`)
		b.press(kb.Enter)
		b.until(`document.querySelector("nav a[aria-current]").textContent === "` + view + `"`)
		b.run(chromedp.Evaluate(`document.activeElement.blur()`, nil))
	}
	tab(`document.activeElement.textContent === "on the map"`)
	b.press(kb.Enter)
	b.has("leaf-05 to agg-05")
}

// TestAccessible: axe-core finds no violation in any view, light or dark, wide or on a phone.
func TestAccessible(t *testing.T) {
	packed, err := os.ReadFile("testdata/axe-core/axe.min.js.gz")
	if err != nil {
		t.Fatal(err)
	}
	r, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		t.Fatal(err)
	}
	axe, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	s := serve(t, "fattree:k=4")
	link := s.pageLink()
	b := browser(t, 1400, 900)
	b.open(link)
	b.has("Nothing is wrong")
	s.order(`link down "leaf-05" 3`)
	b.run(chromedp.Evaluate(string(axe), nil))
	for _, theme := range []bool{false, true} {
		width := map[bool]int64{false: 1400, true: 390}[theme]
		b.run(dark(theme), chromedp.EmulateViewport(width, 800))
		for _, at := range []string{"#/problems", "#/problems?hurts=risk", "#/map", "#/map?from=host-01&to=host-16&layer=load",
			"#/tables/ports?filter=leaf", "#/generations", "#/generations?from=2", "#/partitions", "#/managers",
			"#/why?port=host-01&other=host-16"} {
			b.open(at)
			b.until(`document.querySelector("h1") && !document.querySelector("main").innerText.includes("undefined")`)
			time.Sleep(150 * time.Millisecond) // what is still asked for changes what is looked at, not the result
			b.eval(`(window.axed = null, axe.run().then(r => window.axed = r.violations.map(v =>
				v.id + ": " + v.nodes.slice(0, 3).map(n => n.html + " " + n.failureSummary).join(" | ")).join("\n") || "none"), "")`)
			b.until(`window.axed`)
			if got := b.eval("window.axed"); got != "none" {
				t.Errorf("%s, %d wide, dark %t: %s", at, width, theme, got)
			}
		}
	}
}
