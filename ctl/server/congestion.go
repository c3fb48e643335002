package server

import (
	"context"
	"fmt"
	"sync"
	"time"

	"ibsm/ctl"
	"ibsm/mad"
	"ibsm/perf"
	"ibsm/perf/congestion"
	"ibsm/routing"
	"ibsm/topo"
)

// congestionWatch is what ports wait for, image by image. The goroutine of the reader of counters follows; others look.
type congestionWatch struct {
	// Of the goroutine of the reader:
	tables *routing.Tables     // that routes are made of
	routes *routing.Forwarding // of the view that is read

	mu      sync.Mutex // guards the following
	tracker congestion.Tracker
	last    time.Time     // of the last image; zero before the first
	span    time.Duration // from the image before to that one
}

// isOld reports whether no image has come for so long that nothing is known of now. The caller has locked.
func (w *congestionWatch) isOld() bool { return time.Since(w.last) > 3*w.span+time.Minute }

// Congested follows what ports wait for by an image, and says what begins and ends with it.
func (d *Server) Congested(im *perf.Image) (began, ended []congestion.Event) {
	reader := d.Reader()
	if reader == nil {
		return nil, nil
	}
	v := reader.View()
	if v == nil || v.Tables == nil {
		return nil, nil
	}
	w := &d.congestion
	if w.tables != v.Tables {
		w.tables, w.routes = v.Tables, routing.NewForwarding(v.Topo, v.LIDs, v.Tables)
	}
	trees := congestion.Find(congestion.In{Topo: v.Topo, Forwarding: w.routes, Ports: congestion.Uses(v.Topo, im)},
		congestion.Defaults)
	w.mu.Lock()
	defer w.mu.Unlock()
	at := reader.Time(im.End)
	if !w.last.IsZero() {
		w.span = at.Sub(w.last)
	}
	w.last = at
	return w.tracker.Take(at, v.Topo, trees)
}

// Congestions are those under way, and those that have ended.
func (d *Server) Congestions(context.Context) (*ctl.Congestions, error) {
	c, err := d.counted()
	if err != nil {
		return nil, err
	}
	w := &d.congestion
	w.mu.Lock()
	open, ended := w.tracker.Events()
	last := w.last
	if w.isOld() { // perfmgr is off, for example
		open, ended = nil, append(open, ended...)
	}
	w.mu.Unlock()
	list := &ctl.Congestions{Age: -1, Open: []ctl.Congestion{}, Ended: []ctl.Congestion{}}
	if !last.IsZero() {
		list.Age = time.Since(last).Seconds()
	}
	for i := range open {
		list.Open = append(list.Open, c.congestion(&open[i]))
	}
	for i := range ended {
		list.Ended = append(list.Ended, c.congestion(&ended[i]))
	}
	return list, nil
}

func (c *counted) congestion(e *congestion.Event) ctl.Congestion {
	row := ctl.Congestion{Cause: e.Cause.String(), Root: c.portOf(e.Root), Since: e.Since, Until: e.Until,
		Weight: e.Weight, Ports: e.Ports, Waiting: []ctl.PortOf{}}
	for _, k := range e.Waiting {
		row.Waiting = append(row.Waiting, c.portOf(k))
	}
	return row
}

// waitingOn is the congestion under way that a port waits for; ok is false for none.
func (d *Server) waitingOn(k perf.Key) (e congestion.Event, ok bool) {
	w := &d.congestion
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.isOld() {
		return e, false
	}
	return w.tracker.Of(k)
}

// congested is the remark that a port on the route between two others waits.
func (d *doctor) congested(from, to topo.PortIdx) []ctl.Reason {
	t := d.view.Topo
	for _, h := range d.walk(from, to, d.lidOf(to)).path.Hops {
		guid, err := mad.ParseGUID(h.Node)
		k := perf.Key{Node: guid, Port: h.Out}
		p := k.In(t)
		if err != nil || p == topo.None || h.Out == 0 {
			continue
		}
		e, waits := d.waits(k)
		if !waits {
			continue
		}
		text := fmt.Sprintf("%s waits since %s", d.called(p), e.Since.Local().Format(time.DateTime))
		if root := e.Root.In(t); root != topo.None && e.Root != k {
			text += " for " + d.called(root)
		}
		return []ctl.Reason{because("congested", text+": "+e.Cause.String(), "ibsmctl counters congestion")}
	}
	return nil
}
