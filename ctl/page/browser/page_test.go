package browser

import (
	"strings"
	"testing"
	"time"
)

// TestViews opens each view, by the link of ibsmctl page, and follows a pulled link through the page.
func TestViews(t *testing.T) {
	s := serve(t, "fattree:k=8")
	link := s.pageLink()
	b := browser(t, 1400, 900)
	b.open(link)
	b.has("Nothing is wrong", "that hurt nobody now")
	b.run(click("summary"))
	b.has("no other manager would take over")
	b.until(`document.getElementById("state").textContent === "nothing wrong"`)
	b.picture("problems-good")
	b.open("#/map")
	b.until(`document.querySelector("canvas")?.dataset.items > 100`)
	b.picture("map")

	began := time.Now()
	s.order(`link down "leaf-05" 5`)
	b.until(`document.getElementById("state").textContent === "1 weakened"`)
	t.Logf("a pulled link was shown after %v", time.Since(began).Round(time.Millisecond))
	b.open("#/problems")
	b.has("leaf-05 port 5 to agg-05 port 1")
	b.picture("problems-link")
	b.run(click(`.problems li a[href^="#/map"]`))
	b.until(`location.hash.startsWith("#/map?sel=")`)
	b.has("leaf-05 to agg-05", "Down or gone")
	b.picture("map-link")
	b.open("#/tables/ports?filter=leaf-05+state:down")
	b.has("1 to 1 of 1 that match", "leaf-05")
	b.open("#/tables/nodes?sort=-lid")
	b.has("of 208")
	b.picture("table")
	b.open("#/partitions")
	b.has("No partition is configured")
	b.open("#/generations")
	b.has("the first of this master", "link")
	b.picture("generations")
	b.open("#/managers")
	b.has("MASTER", "(this one)")
	b.until(`document.querySelector(".uplot canvas")`)
	b.picture("managers")
	b.open("#/map?from=host-001&to=host-100")
	b.has("arrived, 6 links")
	b.picture("map-path")
	b.open("#/map?layer=load")
	b.has("routes over the link")
	b.picture("map-load")
	b.open("#/why?port=host-001&other=host-100")
	b.has("works")
	s.order(`node down "host-020 mlx5_0"`)
	b.open("#/problems")
	b.has("1 host cut off", "host-020 mlx5_0")
	b.run(click(`.problems li.cutoff a[href^="#/map"]`))
	b.has("leaf-05 port 4", "Down or gone", "host-020 mlx5_0")
	if n := strings.Count(b.eval("location.href"), "token"); n > 0 {
		t.Error("the token stays in the address")
	}
}
