package server

import (
	"context"
	"slices"
	"sync"
	"time"

	"ibsm/ctl"
	"ibsm/disjoint"
	"ibsm/perf"
	"ibsm/perf/sick"
	"ibsm/topo"
)

// linkJudge is the watch over links. The goroutine of the reader of counters judges; others look.
type linkJudge struct {
	mu     sync.Mutex
	rules  []sick.Rule
	watch  *sick.Watch
	reader *perf.Reader  // whose images are judged
	began  time.Duration // of the first one
	ended  time.Duration // of the last one
}

// SetSickRules sets the rules by which links are judged. What was counted before is judged no more, unless
// they are the same.
func (d *Server) SetSickRules(rules []sick.Rule) {
	j := &d.links
	j.mu.Lock()
	defer j.mu.Unlock()
	if !slices.Equal(j.rules, rules) {
		j.rules, j.watch = rules, nil
	}
}

// Judge judges links by an image, and returns the findings that are new, and those that have ended.
func (d *Server) Judge(im *perf.Image) (found, ended []sick.Finding) {
	reader := d.Reader()
	if reader == nil || reader.View() == nil {
		return nil, nil
	}
	t := reader.View().Topo
	j := &d.links
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.watch == nil || j.reader != reader {
		j.watch, j.reader, j.began = sick.New(j.rules), reader, im.End
	}
	j.ended = im.End
	return j.watch.Take(im.End, im.All, func(k perf.Key) sick.Link { return linkOf(t, k) })
}

// linkOf is the link of a port.
func linkOf(t *topo.Topo, k perf.Key) (l sick.Link) {
	p := k.In(t)
	if p == topo.None {
		return l
	}
	if peer := t.Ports[p].Peer; peer != topo.None {
		l.Peer = perf.KeyOf(t, peer)
	}
	l.Bits = perf.Words(t, p) * 32
	return l
}

// maxSickLinks bounds the links of an answer: those of the earlier rules come first.
const maxSickLinks = 1000

// SickLinks are the links that are beyond a limit, at most maxSickLinks.
func (d *Server) SickLinks(context.Context) (*ctl.SickLinks, error) {
	c, err := d.counted()
	if err != nil {
		return nil, err
	}
	out := &ctl.SickLinks{Rules: []ctl.SickRule{}, Age: -1, Links: []ctl.SickLink{}}
	j := &d.links
	j.mu.Lock() // the reader of counters waits for it: only copies are made
	rules, began, ended := j.rules, j.began, j.ended
	judged := j.watch != nil && j.reader == c.Reader
	var found []sick.Finding
	if judged {
		found = j.watch.Findings()
	}
	j.mu.Unlock()
	for i := range rules {
		r := &rules[i]
		row := ctl.SickRule{Name: r.Name, Limit: r.Limit(), Window: r.Window.Seconds()}
		for counter := range r.Counters.All {
			row.Counters = append(row.Counters, counter.String())
		}
		out.Rules = append(out.Rules, row)
	}
	if !judged {
		return out, nil
	}
	out.Since, out.Age = c.Time(began), c.age(ended)
	out.More = max(0, len(found)-maxSickLinks)
	found = found[:len(found)-out.More]
	only := c.onlyWays(found)
	for i := range found {
		f := &found[i]
		out.Links = append(out.Links, ctl.SickLink{PortOf: c.portOf(f.Port), Rule: f.Rule.Name, Counted: f.Counted, Most: f.Most,
			Since: c.Time(f.Since), Last: c.Time(f.Last), Relapses: f.Relapses, Only: only[i]})
	}
	return out, nil
}

// onlyWays says of each finding whether somebody could not be reached without its link and those of the
// findings before it that could be left out: an adapter by that port, or a switch. All other links join switches first,
// then those of the findings from the last one on: a link is the only way where it joins switches that were apart.
func (c *counted) onlyWays(found []sick.Finding) []bool {
	t, only := c.subnet.view.Topo, make([]bool, len(found))
	first := map[topo.PortIdx]int{} // the first finding of a link, by the lower of its ports
	links := make([]topo.PortIdx, len(found))
	for i := range found {
		links[i] = topo.PortIdx(topo.None)
		if p := found[i].Port.In(t); p != topo.None && t.Ports[p].Peer != topo.None {
			links[i] = min(p, t.Ports[p].Peer)
			if _, known := first[links[i]]; !known {
				first[links[i]] = i
			}
		}
	}
	sets := disjoint.New(len(t.Switches))
	join := func(p topo.PortIdx) bool { return sets.Join(int32(t.SwitchOf(p)), int32(t.SwitchOf(t.Ports[p].Peer))) }
	for p := range t.Ports {
		at := topo.PortIdx(p)
		if _, is := first[at]; !is && t.BetweenSwitches(at) && at < t.Ports[at].Peer {
			join(at)
		}
	}
	for i, p := range slices.Backward(links) {
		if p != topo.None && first[p] == i {
			only[i] = !t.BetweenSwitches(p) || join(p)
		}
	}
	for i, p := range links {
		if p != topo.None {
			only[i] = only[first[p]]
		}
	}
	return only
}
