package browser

import (
	"time"

	"os"
	"path/filepath"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
)

// dark shows the page as users see it who prefer dark colours.
func dark(is bool) chromedp.Action {
	value := "light"
	if is {
		value = "dark"
	}
	return emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: value}})
}

// TestPictures writes pictures of all kinds of subnets, light and dark, on a wide screen and on a phone.
func TestPictures(t *testing.T) {
	if os.Getenv("IBSM_PICTURES") == "" {
		t.Skip("IBSM_PICTURES names no folder")
	}
	for name, spec := range map[string]string{"tree": "fattree:k=8", "torus": "torus:dims=4x4x4", "dragonfly": "dragonfly",
		"pods": "pods:cables=4", "real": "../../../../shared/data/ndr-582.topo", "large": "fattree:k=24",
		"rails": rails(t, 4, 16, 16)} {
		if only := os.Getenv("IBSM_FABRIC"); only != "" && only != name {
			continue
		}
		t.Run(name, func(t *testing.T) {
			s := serve(t, spec)
			link := s.pageLink()
			b := browser(t, 1400, 900)
			b.open(link)
			b.until(`/nothing|weakened/.test(document.getElementById("state").textContent)`)
			b.eachLook(func(look string) {
				b.open("#/problems")
				b.until(`document.querySelector(".summary .age")`)
				b.picture(name + "-problems-" + look)
				b.open("#/map")
				b.until(`document.querySelector("canvas")?.dataset.items > 5`)
				b.run(chromedp.Sleep(settle))
				b.picture(name + "-map-" + look)
				t.Logf("%s: %s items, %s left, %s ms", look, b.eval(`document.querySelector("canvas").dataset.items`),
					b.eval(`document.querySelector("canvas").dataset.left`), b.eval(`document.querySelector("canvas").dataset.ms`))
			})
		})
	}
}

// eachLook calls a function for a wide screen and a phone, light and dark, with the name of each.
func (b *tab) eachLook(do func(look string)) {
	b.Helper()
	for _, size := range []struct {
		name string
		w, h int64
	}{{"wide", 1400, 900}, {"phone", 390, 780}} {
		for _, theme := range []string{"light", "dark"} {
			b.run(chromedp.EmulateViewport(size.w, size.h), dark(theme == "dark"))
			do(size.name + "-" + theme)
		}
	}
}

// faulty opens the page of a subnet with a host that is off and a link that is down.
func faulty(t *testing.T, width, height int, options ...string) *tab {
	t.Helper()
	s := serve(t, "fattree:k=8", options...)
	link := s.pageLink()
	b := browser(t, width, height)
	b.open(link)
	b.has("Nothing is wrong")
	for _, order := range []string{`link down "leaf-05" 5`, `node down "host-020 mlx5_0"`} {
		s.order(order)
	}
	b.until(`document.querySelectorAll(".problems li").length >= 2`)
	return b
}

// settle is for pictures alone.
const settle = 400 * time.Millisecond

// TestBest writes the pictures of the documents: some problems, and the path between two hosts.
func TestBest(t *testing.T) {
	if os.Getenv("IBSM_PICTURES") == "" {
		t.Skip("IBSM_PICTURES names no folder")
	}
	b := faulty(t, 1000, 640)
	b.has("host-020", "leaf-05 port 5")
	b.run(chromedp.Sleep(settle))
	b.picture("page-problems")
	b.run(chromedp.EmulateViewport(1400, 820))
	b.open("#/map?from=host-001&to=host-100")
	b.has("arrived, 6 links")
	b.run(chromedp.Sleep(settle))
	b.picture("page-map")
}

// TestViewPictures writes pictures of all views of a subnet with problems, light and dark, on a wide screen and on a
// phone.
func TestViewPictures(t *testing.T) {
	if os.Getenv("IBSM_PICTURES") == "" {
		t.Skip("IBSM_PICTURES names no folder")
	}
	file := filepath.Join(t.TempDir(), "partitions.conf")
	text := "Default=0x7fff, ipoib: ALL=full;\nred=0x10, ipoib: host-001, host-100=full, 0x0200000000000001=full;\n"
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	b := faulty(t, 1400, 900, "-P", file)
	b.eachLook(func(look string) {
		for name, at := range map[string]string{"problems": "problems", "ports": "tables/ports?filter=state:down",
			"hosts": "tables/hosts", "changes": "generations", "diff": "generations?from=2", "partitions": "partitions",
			"partition": "partitions/red", "managers": "managers", "why": "why?port=host-001&other=host-020",
			"span": "map?layer=partition&partition=red", "selected": "map?layer=load&from=host-001&to=host-100"} {
			b.open("#/" + at)
			b.run(chromedp.Sleep(settle))
			b.picture("view-" + name + "-" + look)
		}
	})
}
