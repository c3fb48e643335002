package browser

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// walk is a user who looks for an answer, with the clicks that it took.
type walk struct {
	*tab
	clicks int
}

// click clicks on the first visible link, button or heading of details with a text.
func (w *walk) click(text string) {
	w.Helper()
	w.clicks++
	w.until(fmt.Sprintf(`(() => { const e = [...document.querySelectorAll("a, button, summary")].find(
		(e) => e.innerText.trim() === %q && e.offsetParent); e?.click(); return e; })()`, text))
}

// took checks how many clicks an answer took, and begins the next one.
func (w *walk) took(question string, most int) {
	w.Helper()
	if w.clicks > most {
		w.Errorf("%s: %d clicks, want at most %d", question, w.clicks, most)
	}
	w.picture("question-" + question)
	w.clicks = 0
}

// TestQuestions answers the questions of docs/page.md with the clicks that stand there: the bad cable, why one host
// does not reach another, what has changed, who manages, which members of a partition wait.
func TestQuestions(t *testing.T) {
	dir := t.TempDir()
	partitions, conf := filepath.Join(dir, "partitions.conf"), filepath.Join(dir, "opensm.conf")
	for file, text := range map[string]string{partitions: `Default=0x7fff: ALL=limited, SELF=full;
red=0x10: host-001, host-018, host-020, host-030=full, 0x0200000000000001=full;
blue=0x20: host-003, host-004=full;
`, conf: "sm_key 0x123456789\nsminfo_polling_timeout 1000\n"} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	options := []string{"-P", partitions, "-F", conf}
	s := serve(t, "fattree:k=8", append(options, "--perfmgr", "--perfmgr_sweep_time_s", "1")...)
	s.manager(s.fabric, "host-020 mlx5_0", options...)
	link := s.pageLink()
	b := &walk{tab: browser(t, 1400, 900)}
	b.open(link)
	b.has("Nothing is wrong")
	b.until(`!document.body.innerText.includes("counters are not read")`)
	for _, order := range []string{`link down "leaf-05" 2`,
		`defect "leaf-08" Set LinearForwardingTable 0x1c`, `reboot "leaf-08"`} {
		s.order(order)
	}
	s.eventually("the bad cable is found", func() bool { // a cable is bad that goes on counting
		s.order(`count "leaf-07" 3 SymbolErrorCounter 50`)
		return b.eval(`document.body.innerText.includes("SymbolErrorCounter")`) == "true"
	})
	b.has("leaf-07 port 3 to host-027 mlx5_0 port 1", "SymbolErrorCounter", "repair the link")
	b.until(`document.querySelector(".problems li.slowed a")`)
	b.took("cable", 0)
	b.clicks++
	b.run(click(`.problems li.slowed a[href^="#/map"]`))
	b.has("host-027 mlx5_0", "sick link", "SymbolErrorCounter")
	b.took("cable-map", 1)

	for _, c := range []struct{ other, question, reason string }{
		{"host-003", "partition", "they share no partition in which at least one of them is a full member"},
		{"host-018", "down", "port 1 was last linked to leaf-05 port 2"},
		{"host-030", "route", "the forwarding table of the switch is incomplete"},
	} {
		b.click("Why")
		b.until(`document.activeElement.id === "port"`)
		b.run(chromedp.SendKeys("#port", "host-001", chromedp.ByID),
			chromedp.SendKeys("#other", c.other+kb.Enter, chromedp.ByID))
		b.has("does not work", c.reason)
		b.took("why-"+c.question, 1)
	}
	b.open("#/map?from=host-001&to=host-003")
	b.has("arrived, 2 links", "does not work")

	b.click("Changes")
	b.click("what has changed since the manager has started")
	b.has("host-018 mlx5_0", "gone", "1 node")
	b.click("1 node")
	b.until(`document.querySelectorAll("tbody tr").length === 1`)
	b.took("changes", 3)
	b.run(chromedp.Evaluate(`{ const now = Date.now; Date.now = () => now() + 36 * 3600 * 1000; }`, nil))
	b.click("Changes")
	b.has("Nothing has changed since yesterday")

	b.click("Managers")
	b.has("leaf-01 (this one)", "MASTER", "host-020 mlx5_0", "STANDBY, next master", "complete")
	b.clicks = 1
	b.took("managers", 1)

	b.click("Partitions")
	b.has("ready, 2 wait")
	b.click("red")
	b.has("2 of 5 members do not have the P_Key", "0x0200000000000001",
		"no port with this GUID has been seen", "host-018", "no host with this name has been seen")
	b.took("partition", 2)
}
