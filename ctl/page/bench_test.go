package page

import (
	"encoding/json"
	"testing"

	"ibsm/ctl"
)

// BenchmarkRefresh: the map of 11,664 hosts is made again after a change, with its problems.
func BenchmarkRefresh(b *testing.B) {
	f := newFake(b, "fattree:k=36")
	feed := newFeed(f, nil, nil)
	c, err := feed.since("")
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		b.StopTimer()
		f.change(func() { f.links[40000%len(f.links)].State = ctl.Absent })
		feed.cost, feed.read = 0, feed.read.AddDate(-1, 0, 0)
		b.StartTimer()
		if next, err := feed.since(c.Version); err != nil || next == nil {
			b.Fatal(next, err)
		}
	}
}

// BenchmarkMap: the reply with the map of 11,664 hosts.
func BenchmarkMap(b *testing.B) {
	f := newFake(b, "fattree:k=36")
	c, err := newFeed(f, nil, nil).mapOf()
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		text, err := json.Marshal(&c.Map)
		if err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(len(text)), "bytes")
	}
}
