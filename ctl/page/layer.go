package page

import (
	"context"
	"fmt"
	"net/http"
	"slices"

	"ibsm/ctl"
	"ibsm/rights"
)

// Layer is a number for each cable of the map, in the order of MapTrunk.States, and for each square of a host, in the
// order of MapSwitch.Ports. -1 is one that is not known.
type Layer struct {
	Layout string      `json:"layout"` // of the map that it belongs to
	Unit   string      `json:"unit"`   // of the numbers: share, routes, errors or members
	Text   string      `json:"text"`   // what the numbers are, in words
	Age    float64     `json:"age"`    // seconds since the counters were read; 0 for what is not counted
	Most   float64     `json:"most"`   // the greatest number
	Trunks [][]float64 `json:"trunks"`
	Hosts  [][]float64 `json:"hosts"`
}

// layer answers with a layer.
func (p *Page) layer(r *http.Request) (any, error) {
	c, err := p.feed.mapOf()
	if err != nil {
		return nil, err
	}
	leave, err := p.enter(r)
	if err != nil {
		return nil, err
	}
	defer leave()
	switch kind := r.PathValue("layer"); kind {
	case "load":
		return p.load(r.Context(), c)
	case "errors":
		return p.errors(r.Context(), c)
	case "partition":
		return p.span(r, c)
	default:
		return nil, fmt.Errorf("%w: there is no layer %.80q: layers are load, errors and partition", ctl.ErrNotFound, kind)
	}
}

// layer makes a layer of a number for each link; ok is false where it is not known.
func (c *chart) layer(of func(from, to end) (float64, bool)) *Layer {
	l := &Layer{Layout: c.Layout, Trunks: make([][]float64, len(c.cables)), Hosts: make([][]float64, len(c.squares))}
	fill := func(links []cable) []float64 {
		all := make([]float64, len(links))
		for i, link := range links {
			n, ok := of(link.from.at(), link.to.at())
			if !ok {
				n = -1
			}
			all[i], l.Most = n, max(l.Most, n)
		}
		return all
	}
	for i, links := range c.cables {
		l.Trunks[i] = fill(links)
	}
	for i, links := range c.squares {
		l.Hosts[i] = fill(links)
	}
	return l
}

// load is the traffic of links where counters are read, and the number of routes over them where they are not.
func (p *Page) load(ctx context.Context, c *chart) (*Layer, error) {
	if counted, err := p.counted(ctx); err == nil {
		l := c.layer(func(from, to end) (float64, bool) {
			n, ok := counted.utilization[from]
			m, also := counted.utilization[to]
			return max(n, m), ok || also
		})
		l.Unit, l.Age = "share", counted.age
		l.Text = "traffic: share of what the link can carry, in the busier direction, since the reading before"
		return l, nil
	}
	sub := p.cfg.Source.Subnet()
	if sub == nil {
		return nil, errUnknown
	}
	links, err := sub.Rows(ctl.Links, ctl.Filter{Routes: true})
	if err != nil {
		return nil, err
	}
	routes := map[end]float64{}
	for row := range links {
		if link := row.(*ctl.Link); link.Routes != nil {
			routes[end{link.From.Node, link.From.Port}] = float64(max(link.Routes.In, link.Routes.Out))
		}
	}
	l := c.layer(func(from, to end) (float64, bool) {
		n, ok := routes[from]
		return n, ok
	})
	l.Unit = "routes"
	l.Text = "routes over the link, in the direction that has more: counters are not read, as perfmgr is off"
	return l, nil
}

// errors are what error counters have counted.
func (p *Page) errors(ctx context.Context, c *chart) (*Layer, error) {
	counted, err := p.counted(ctx)
	if err != nil {
		return nil, err
	}
	l := c.layer(func(from, to end) (float64, bool) {
		n, ok := counted.errors[from]
		m, also := counted.errors[to]
		return n + m, ok || also
	})
	l.Unit, l.Age, l.Text = "errors", counted.age, "errors at both ends of the link, since their totals began"
	return l, nil
}

// counts are the counters of ports, as far as the map shows them.
type counts struct {
	utilization, errors map[end]float64
	age                 float64
}

func (p *Page) counted(ctx context.Context) (*counts, error) {
	if p.cfg.Counters == nil {
		return nil, fmt.Errorf("%w: this manager has no performance manager", ctl.ErrNotFound)
	}
	st, err := p.cfg.Counters.CounterStatus(ctx)
	if err != nil {
		return nil, err
	}
	if !st.Enabled || st.Age < 0 {
		return nil, fmt.Errorf("%w: counters are not read yet, or perfmgr is off", ctl.ErrNotNow)
	}
	rows, err := p.cfg.Counters.Counters(ctx, "", true)
	if err != nil {
		return nil, err
	}
	out := &counts{map[end]float64{}, map[end]float64{}, st.Age}
	for row := range rows {
		at := end{row.Node, row.Port}
		if row.Utilization >= 0 {
			out.utilization[at] = row.Utilization
		}
		if !row.Read.IsZero() {
			out.errors[at] = float64(row.Errors)
		}
	}
	return out, nil
}

// span is which hosts are members of a partition: 1 for a full member, 0.5 for a limited one, 0 for none.
func (p *Page) span(r *http.Request, c *chart) (*Layer, error) {
	name := r.URL.Query().Get("partition")
	if p.cfg.Partitions == nil || name == "" {
		return nil, fmt.Errorf("%w: parameter partition=%.80q: expected the name of a partition", ctl.ErrBadRequest, name)
	}
	part, err := p.cfg.Partitions.Partition(r.Context(), rights.Of(r.Context()), name, false)
	if err != nil {
		return nil, err
	}
	guids, ports := map[string]float64{}, map[end]float64{}
	for _, m := range part.Members {
		n := 1.0
		if m.Membership == "limited" {
			n = 0.5
		}
		if m.GUID != "" {
			guids[m.GUID] = n
		}
		for _, port := range m.Ports {
			guids[port.GUID] = n
		}
	}
	sub := p.cfg.Source.Subnet()
	if sub == nil {
		return nil, errUnknown
	}
	rows, err := sub.Rows(ctl.Ports, ctl.Filter{})
	if err != nil {
		return nil, err
	}
	for row := range rows {
		port := row.(*ctl.Port)
		if n, is := guids[port.GUID]; is && port.Type != "switch" {
			ports[end{port.Node, port.Num}] = n
		}
	}
	l := c.layer(func(from, to end) (float64, bool) {
		return max(ports[from], ports[to]), true
	})
	l.spread(c)
	l.Unit, l.Text = "members", "members of partition "+name
	return l, nil
}

// spread marks the cables between switches that both have members, or lie between such switches.
func (l *Layer) spread(c *chart) {
	has := make([]bool, len(l.Hosts))
	for s, all := range l.Hosts {
		has[s] = slices.ContainsFunc(all, func(n float64) bool { return n > 0 })
	}
	above := map[int]int{} // neighbours with members
	for i := range c.Trunks {
		t := &c.Trunks[i]
		if has[t.A] {
			above[t.B]++
		}
		if has[t.B] {
			above[t.A]++
		}
	}
	for i := range c.Trunks {
		t := &c.Trunks[i]
		if has[t.A] && (has[t.B] || above[t.B] > 1) || has[t.B] && above[t.A] > 1 {
			for k := range l.Trunks[i] {
				l.Trunks[i][k] = 1
			}
		}
	}
}
