package page

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/csv"
	"encoding/hex"
	"encoding/json"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path"
	"regexp"
	"strings"
	"testing"
	"time"

	"ibsm/ctl"
)

// TestFiles: all files are served with a policy that permits nothing from elsewhere, and name nothing elsewhere. Those
// of others have the licence and the sums that are noted.
func TestFiles(t *testing.T) {
	s := serve(t, newFake(t, "fattree:k=4"))
	outside := regexp.MustCompile(`https?://[^ "'` + "`" + `]*`)
	inline := regexp.MustCompile(`(?i)<script(?:>| [^>]*>)\s*[^<\s]|\son\w+=|\sstyle=|<style|innerHTML|outerHTML|insertAdjacent|document\.write|\beval\(|new Function`)
	files := 0
	err := fs.WalkDir(web, "web", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		short := strings.TrimPrefix(name, "web/")
		if path.Base(short) == "SHA256SUMS.txt" {
			return nil
		}
		files++
		status, text, h := get(t, s, "/page/"+short)
		if status != 200 || text == "" || h.Get("Content-Security-Policy") != policy || h.Get("X-Frame-Options") != "DENY" ||
			h.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s: status %d, %v", short, status, h)
		}
		if strings.HasPrefix(short, "third_party/") {
			return nil
		}
		for _, u := range outside.FindAllString(text, -1) {
			if u != "http://www.w3.org/2000/svg" {
				t.Errorf("%s names %s", short, u)
			}
		}
		if hit := inline.FindString(text); hit != "" {
			t.Errorf("%s has %q", short, hit)
		}
		return nil
	})
	if err != nil || files < 15 {
		t.Errorf("%d files: %v", files, err)
	}
	sums, err := fs.ReadFile(web, "web/third_party/SHA256SUMS.txt")
	if err != nil {
		t.Fatal(err)
	}
	listed := map[string]string{}
	for line := range strings.Lines(string(sums)) {
		if sum, name, is := strings.Cut(strings.TrimSpace(line), "  "); is {
			listed[name] = sum
		}
	}
	err = fs.WalkDir(web, "web/third_party", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || d.Name() == "SHA256SUMS.txt" {
			return err
		}
		text, err := fs.ReadFile(web, name)
		sum := sha256.Sum256(text)
		if short := strings.TrimPrefix(name, "web/third_party/"); listed[short] != hex.EncodeToString(sum[:]) {
			t.Errorf("%s has another sum than SHA256SUMS.txt says", short)
		} else if _, err := fs.Stat(web, path.Dir(name)+"/LICENSE.txt"); err != nil {
			t.Errorf("%s has no licence: %v", short, err)
		}
		return err
	})
	if err != nil || len(listed) == 0 {
		t.Errorf("%d sums: %v", len(listed), err)
	}
	for _, name := range []string{"", "none.js", "../page.go", "%2e%2e/page.go", "third_party", "main.go"} {
		if status, text, _ := get(t, s, "/page/"+name); status != 404 && !strings.Contains(text, `id="main"`) {
			t.Errorf("/page/%s: %d %.80s", name, status, text)
		}
	}
	if status, text, _ := get(t, s, "/"); status != 200 || !strings.Contains(text, `id="main"`) {
		t.Errorf("/: %d %s", status, text)
	}
}

// follow reads changes since a version, and passes them on.
func follow(t *testing.T, s *httptest.Server, since string) <-chan *Change {
	t.Helper()
	return followWith(t.Context(), t, s, since)
}

// followWith is follow until a context is done.
func followWith(ctx context.Context, t *testing.T, s *httptest.Server, since string) <-chan *Change {
	t.Helper()
	req, _ := http.NewRequestWithContext(ctx, "GET", s.URL+"/v1/changes?since="+url.QueryEscape(since), nil)
	resp, err := http.DefaultClient.Do(req)
	if err != nil || resp.StatusCode != 200 {
		t.Fatal(resp, err)
	}
	changes := make(chan *Change, 1000)
	go func() {
		defer resp.Body.Close()
		for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
			if text, is := strings.CutPrefix(lines.Text(), "data: "); is {
				c := &Change{}
				if json.Unmarshal([]byte(text), c) == nil {
					changes <- c
				}
			}
		}
		close(changes)
	}()
	return changes
}

// next is the next change.
func next(t *testing.T, changes <-chan *Change) *Change {
	t.Helper()
	select {
	case c := <-changes:
		if c == nil {
			t.Fatal("the stream has ended")
		}
		return c
	case <-time.After(20 * time.Second):
		t.Fatal("no change within 20 s")
	}
	return nil
}

// TestChanges: a stream has what has changed since the map, once; one that begins again has what it missed, in one
// change however many there were; another process's version begins anew.
func TestChanges(t *testing.T) {
	f := newFake(t, "fattree:k=8")
	s := serve(t, f)
	var m Map
	_, text, _ := get(t, s, "/v1/map")
	if err := json.Unmarshal([]byte(text), &m); err != nil {
		t.Fatal(err)
	}
	changes := follow(t, s, m.Version)
	trunk := func(c *Change) (n int) {
		for _, states := range c.Trunks {
			n += strings.Count(states, "d")
		}
		return n
	}
	between := func(n int) (all []*ctl.Link) {
		for _, l := range f.links {
			if l.From.Type == "switch" && l.To.Type == "switch" && len(all) < n {
				all = append(all, l)
			}
		}
		return all
	}
	f.change(func() { between(1)[0].State = ctl.Absent })
	c := next(t, changes)
	if c.Reset || c.Layout != m.Layout || len(c.Switches) != 0 || trunk(c) != 1 || c.Version == m.Version {
		t.Errorf("a link is down: %+v", c)
	}
	last := c.Version
	for range 50 {
		f.change(func() {
			for _, l := range between(100) {
				if l.State == ctl.Absent {
					l.State = "Active"
				} else {
					l.State = ctl.Absent
				}
			}
		})
	}
	f.change(func() {
		for _, l := range between(100) {
			l.State = ctl.Absent
		}
	})
	again := follow(t, s, last)
	got := 0
	for c = next(t, again); ; c = next(t, again) {
		if got = max(got, trunk(c)); got >= 99 {
			break
		}
	}
	if c = next(t, follow(t, s, "other-1")); !c.Reset {
		t.Errorf("a version of another process: %+v", c)
	}
	if c = next(t, follow(t, s, "")); c.Reset || c.Trunks != nil || c.State != "MASTER" {
		t.Errorf("without a version: %+v", c)
	}
	f.change(func() { f.standby, f.state.State = true, "STANDBY" })
	for c = next(t, again); c.State != "STANDBY"; c = next(t, again) {
	}
	if c.Layout != "" || c.Generation != 0 {
		t.Errorf("a standby: %+v", c)
	}
}

// TestStreams: no more than so many streams are open at a time, and one that ends makes room.
func TestStreams(t *testing.T) {
	s := serve(t, newFake(t, "fattree:k=4"))
	open := func() *http.Response {
		resp, err := http.Get(s.URL + "/v1/changes")
		if err != nil {
			t.Fatal(err)
		}
		return resp
	}
	var all []*http.Response
	for range maxStreams {
		all = append(all, open())
		if status := all[len(all)-1].StatusCode; status != 200 {
			t.Fatal(status)
		}
	}
	r := open()
	r.Body.Close()
	if r.StatusCode != http.StatusServiceUnavailable || r.Header.Get("Retry-After") == "" {
		t.Errorf("one stream too many: %s", r.Status)
	}
	for _, r := range all {
		r.Body.Close()
	}
	for began := time.Now(); ; time.Sleep(10 * time.Millisecond) {
		r := open()
		r.Body.Close()
		if r.StatusCode == 200 {
			return
		}
		if time.Since(began) > 20*time.Second {
			t.Fatal("streams that have ended leave no room")
		}
	}
}

// TestTable: words select rows, a column sorts them, and a page is a part of them; CSV has them all, and no cell that a
// spreadsheet computes.
func TestTable(t *testing.T) {
	f := newFake(t, "fattree:k=8")
	f.nodes[3].Desc, f.nodes[4].Desc = `=HYPERLINK("http://x")`, "<script>alert(1)</script>"
	s := serve(t, f)
	ask := func(query string) *Table {
		t.Helper()
		status, text, _ := get(t, s, "/v1/table/nodes?"+query)
		table := &Table{}
		if err := json.Unmarshal([]byte(text), table); status != 200 || err != nil {
			t.Fatalf("%s: %d %.200s %v", query, status, text, err)
		}
		return table
	}
	all := ask("count=1000")
	if all.Total != len(f.nodes) || len(all.Rows) != len(f.nodes) || all.Matched != all.Total ||
		all.Columns[len(all.Columns)-1].Name != "guid" {
		t.Errorf("all: %d rows, %+v", len(all.Rows), all.Columns)
	}
	if got := ask("count=3&offset=5&sort=-lid"); len(got.Rows) != 3 || got.Rows[0].Cells[2] != "203" ||
		got.Rows[2].Cells[2] != "201" || got.Offset != 5 {
		t.Errorf("sorted: %+v", got.Rows)
	}
	if got := ask("filter=SPINE+type:switch"); got.Matched != 16 || got.Rows[0].Node == "" {
		t.Errorf("filtered: %d, %+v", got.Matched, got.Rows)
	}
	if got := ask("filter=nothing-like-it"); got.Matched != 0 || got.Rows == nil {
		t.Errorf("none: %+v", got)
	}
	_, text, h := get(t, s, "/v1/table/nodes?format=csv")
	rows, err := csv.NewReader(strings.NewReader(text)).ReadAll()
	if err != nil || len(rows) != len(f.nodes)+1 || rows[4][1] != `'=HYPERLINK("http://x")` ||
		!strings.HasPrefix(h.Get("Content-Type"), "text/csv") {
		t.Errorf("CSV: %v, %d rows, %q", err, len(rows), rows[4])
	}
	for query, want := range map[string]int{"sort=none": 400, "count=1001": 400, "offset=-1": 400, "format=x": 400, "other=1": 400,
		"filter=" + strings.Repeat("x", maxText+1): 400} {
		if status, text, _ := get(t, s, "/v1/table/nodes?"+query); status != want {
			t.Errorf("%.40s: %d %s", query, status, text)
		}
	}
	if status, _, _ := get(t, s, "/v1/table/none"); status != 404 {
		t.Errorf("a table that there is not: %d", status)
	}
	for list := range subnetLists {
		if status, text, _ := get(t, s, "/v1/table/"+string(list)+"?filter=a"); status != 200 {
			t.Errorf("%s: %d %s", list, status, text)
		}
	}
	for _, list := range []string{"problems", "managers"} {
		if status, text, _ := get(t, s, "/v1/table/"+list); status != 200 {
			t.Errorf("%s: %d %s", list, status, text)
		}
	}
}

// TestFind: nodes are found by name, host, GUID, LID and GID, the one whose name is the text first.
func TestFind(t *testing.T) {
	f := newFake(t, "fattree:k=8")
	s := serve(t, f)
	host := f.nodes[100]
	for text, want := range map[string]string{
		"leaf-05": "leaf-05", "LEAF-05": "leaf-05", "host-017": "host-017 mlx5_0", host.GUID: host.Desc, host.GUID[2:]: host.Desc,
		"101": host.Desc, "0x65": host.Desc, "fe80::" + gid(host.GUID): host.Desc, "eaf-05": "leaf-05",
	} {
		_, reply, _ := get(t, s, "/v1/find?text="+url.QueryEscape(text))
		var r struct{ Found []Found }
		if err := json.Unmarshal([]byte(reply), &r); err != nil || len(r.Found) == 0 || r.Found[0].Name != want ||
			r.Found[0].Node == "" || (len(r.Found[0].Links) > 0) != strings.HasPrefix(want, "host") {
			t.Errorf("%s: want %s first: %.200s", text, want, reply)
		}
	}
	if _, reply, _ := get(t, s, "/v1/find?text=nothing-like-it"); !strings.Contains(reply, `"found":[]`) {
		t.Error(reply)
	}
	if status, _, _ := get(t, s, "/v1/find?text="+strings.Repeat("x", maxText+1)); status != 400 {
		t.Errorf("a long text: %d", status)
	}
}

// gid is the end of a GID with a GUID.
func gid(guid string) string {
	d := guid[2:]
	return d[:4] + ":" + d[4:8] + ":" + d[8:12] + ":" + d[12:]
}
