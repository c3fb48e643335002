package main_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"ibsm/ctl/page"
	"ibsm/mad"
	"ibsm/mad/sarec"
	"ibsm/rights"
	"ibsm/sim/fabric"
	"ibsm/topo/net"
)

// pageReader is an open page: it has the states of the map by changes alone.
type pageReader struct {
	mu      sync.Mutex // guards the following
	m       page.Map
	changes int
	bytes   int
}

// openPage reads the map, and then changes until ctx is done.
func (m *apiManager) openPage(ctx context.Context, token string) *pageReader {
	m.t.Helper()
	c := m.client("127.0.0.1", true)
	c.Timeout = 0
	status, text, err := m.call(ctx, c, "Bearer "+token, "GET", "/v1/map", "")
	p := &pageReader{}
	if err != nil || status != 200 || json.Unmarshal([]byte(text), &p.m) != nil {
		m.t.Fatalf("the map: status %d, %v, %.200s", status, err, text)
	}
	r, err := http.NewRequestWithContext(ctx, "GET", "https://"+m.addr+"/v1/changes?since="+p.m.Version, nil)
	if err != nil {
		m.t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+token)
	reply, err := c.Do(r)
	if err != nil || reply.StatusCode != 200 {
		m.t.Fatal(reply, err)
	}
	go func() {
		defer reply.Body.Close()
		lines := bufio.NewScanner(reply.Body)
		lines.Buffer(nil, 1<<20)
		for lines.Scan() {
			text, is := strings.CutPrefix(lines.Text(), "data: ")
			c := &page.Change{}
			if is && json.Unmarshal([]byte(text), c) == nil {
				p.take(c, len(text))
			}
		}
	}()
	return p
}

func (p *pageReader) take(c *page.Change, bytes int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.changes++
	p.bytes += bytes
	for i, states := range c.Trunks {
		p.m.Trunks[i].States = states
	}
}

// down is how many cables between switches are not well, after how many changes.
func (p *pageReader) down() (down, changes, bytes int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i := range p.m.Trunks {
		down += len(p.m.Trunks[i].States) - strings.Count(p.m.Trunks[i].States, "a")
	}
	return down, p.changes, p.bytes
}

// flap takes cables between switches down and up, a thousand a second, until ctx is done. It returns
// how often, and leaves all up.
func (s *apiSubnet) flap(ctx context.Context) (times int) {
	var cables []net.End
	s.server.Do(func(f *fabric.Fabric) {
		for i := 1; ; i++ {
			at, is := f.FindNode(fmt.Sprintf("spine-%02d", i))
			if !is {
				return
			}
			for at.Port = 1; at.Port <= f.NumPorts(at.Node); at.Port++ {
				if f.HasLink(at) {
					cables = append(cables, at)
				}
			}
		}
	})
	down := map[net.End]bool{}
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for ; ctx.Err() == nil; <-tick.C {
		s.server.Do(func(f *fabric.Fabric) {
			for range 10 {
				at := cables[times*7%len(cables)]
				if times++; down[at] {
					f.LinkUp(at)
				} else {
					f.LinkDown(at)
				}
				down[at] = !down[at]
			}
		})
	}
	s.server.Do(func(f *fabric.Fabric) {
		for at, is := range down {
			if is {
				f.LinkUp(at)
			}
		}
	})
	return times
}

// TestPageStorm: while a thousand cables a second go down or come up, ten pages get no more than five changes a second,
// hosts are answered, and afterwards each page shows that all cables are up. In full size the 99th percentile of the
// times in which hosts are answered is logged, with and without pages.
func TestPageStorm(t *testing.T) {
	t.Parallel()
	const pages = 10
	s := newAPISubnet(t, "fattree:k=8", 1)
	token := s.addUser("viewer", operatorPassword+"viewer", rights.Reader)
	m := s.run(0, 5)
	m.await("SUBNET UP")
	v := &attackVictim{apiSubnet: s, m: m}
	lasts := 2 * time.Second
	storm := func(during func()) (times int, took time.Duration) {
		ctx, cancel := context.WithTimeout(t.Context(), lasts)
		defer cancel()
		began := time.Now()
		done := make(chan int)
		go func() { done <- s.flap(ctx) }()
		during()
		times = <-done
		return times, time.Since(began)
	}
	without := ""
	if proof() {
		lasts = 15 * time.Second
		storm(func() { without = v.latencies() })
	}
	var open []*pageReader
	eventually(t, "the subnet is up again", func() bool {
		status, text, err := m.call(t.Context(), m.client("127.0.0.1", true), "Bearer "+token, "GET", "/v1/problems", "")
		return err == nil && status == 200 && !strings.Contains(text, `"spare"`)
	})
	for range pages {
		open = append(open, m.openPage(t.Context(), token))
	}
	answered, with := 0, ""
	times, took := storm(func() {
		p := request(mad.MethodGet, sarec.AttrClassPortInfo, 0)
		for began := time.Now(); time.Since(began) < lasts && !proof(); answered++ {
			v.mark(func(f *fabric.Fabric) mad.TID { return v.post(f, 0, &p) })
		}
		if proof() {
			with = v.latencies()
		}
	})
	most := int(took/(200*time.Millisecond)) + 2
	for i, p := range open {
		_, changes, bytes := p.down()
		if i == 0 {
			t.Logf("%d cables changed in %v: %d changes with %d bytes a page, %d answers to a host; p99 with pages %s, without %s",
				times, took.Round(time.Millisecond), changes, bytes, answered, with, without)
		}
		if changes < 1 || changes > most {
			t.Errorf("page %d: %d changes in %v, want 1 to %d", i, changes, took, most)
		}
	}
	if !proof() && answered < 20 {
		t.Errorf("%d answers to a host in %v", answered, took)
	}
	for _, p := range open {
		eventually(t, "a page shows all cables up", func() bool {
			down, _, _ := p.down()
			return down == 0
		})
	}
}
