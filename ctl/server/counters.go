package server

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"slices"
	"time"

	"ibsm/ctl"
	"ibsm/mad"
	"ibsm/mad/pma"
	"ibsm/perf"
	"ibsm/topo"
)

// counted is the reader of counters, and the subnet whose ports it reads: that of this term as master, or
// of the last one.
type counted struct {
	*perf.Reader
	subnet *subnet
}

// Reader is the reader of counters; nil while no manager runs.
func (d *Server) Reader() *perf.Reader {
	if s := d.shell.Load(); s != nil {
		return s.Counters()
	}
	return nil
}

var (
	errOff      = fmt.Errorf("%w: no counters have been read", ctl.ErrNotNow)
	errNoAnswer = fmt.Errorf("%w: the reader of counters does not answer", ctl.ErrNotNow)
)

// counted finds the reader; the error says that nothing was read yet.
func (d *Server) counted() (c counted, err error) {
	c.Reader = d.Reader()
	if c.Reader == nil {
		return c, fmt.Errorf("%w: the manager is waiting for its port", ctl.ErrNotNow)
	}
	if c.subnet = d.subnet(); c.subnet == nil {
		v := c.View()
		if v == nil {
			return c, errOff
		}
		c.subnet = newSubnet(v, nil)
	}
	return c, nil
}

// do has the reader call f between two steps.
func (c *counted) do(ctx context.Context, f func(m *perf.Machine)) error {
	ctx, cancel := context.WithTimeout(ctx, orderPatience)
	defer cancel()
	if !c.Do(ctx, f) {
		return errNoAnswer
	}
	return nil
}

// age is how long ago something was, in seconds.
func (c *counted) age(at time.Duration) float64 { return time.Since(c.Time(at)).Seconds() }

// CounterStatus is where the performance manager stands.
func (d *Server) CounterStatus(ctx context.Context) (*ctl.CounterStatus, error) {
	c := counted{Reader: d.Reader()}
	if c.Reader == nil {
		return nil, fmt.Errorf("%w: the manager is waiting for its port", ctl.ErrNotNow)
	}
	st := &ctl.CounterStatus{Age: -1}
	err := c.do(ctx, func(m *perf.Machine) {
		s := m.State()
		st.Enabled, st.Interval, st.Sweeping = s.Settings.Interval > 0, s.Settings.Interval.Seconds(), s.Sweeping
		st.Ports, st.Outstanding, st.Absent, st.Bytes, st.Images = s.Ports, s.Waiting, s.Absent, s.Bytes,
			len(m.History().Images())
		st.Sweeps, st.Late, st.Asked, st.Unanswered, st.Resets, st.Findings = s.Stats.Sweeps, s.Stats.Late,
			s.Stats.Asked, s.Stats.Unanswered, s.Stats.Resets, s.Stats.Findings
		if last := m.History().Last(); last != nil {
			st.Age, st.Took, st.Answered = c.age(last.End), (last.End - last.Begin).Seconds(), last.Answered
		}
	})
	return st, err
}

// CounterTotals are the totals of the ports of nodes that wanted accepts, nil for all; nil if nothing was
// read.
func (d *Server) CounterTotals(ctx context.Context, wanted func(mad.GUID) bool) (t *perf.Totals) {
	c := counted{Reader: d.Reader()}
	if c.Reader == nil || c.do(ctx, func(m *perf.Machine) { t = m.Totals(wanted) }) != nil || len(t.Ports) == 0 {
		return nil
	}
	return t
}

// chosen are the ports of a text, nil for all.
func (c *counted) chosen(port string) (_ map[perf.Key]bool, err error) {
	if port == "" {
		return nil, nil
	}
	var ports []topo.PortIdx
	if v := c.subnet.vPortNamed(port); v != topo.None { // the counters are those of its port
		ports = []topo.PortIdx{c.subnet.view.Topo.Physical(v)}
	} else if ports, err = c.subnet.findPorts(port); err != nil {
		return nil, err
	}
	t, keys := c.subnet.view.Topo, map[perf.Key]bool{}
	for _, p := range ports {
		if n := t.Ports[p].Node; t.Ports[p].Num == 0 && t.Nodes[n].Type == mad.Switch && isLID(port) {
			ports = append([]topo.PortIdx{p}, c.subnet.portsOf(n)...) // the LID is that of all its ports
			break
		}
	}
	if len(ports) > 1 {
		keys[perf.Key{Node: t.Nodes[t.Ports[ports[0]].Node].GUID}] = true // port 0, if it has counters
	}
	for _, p := range ports {
		keys[perf.Key{Node: t.Nodes[t.Ports[p].Node].GUID, Port: t.Ports[p].Num}] = true
	}
	return keys, nil
}

// portBatch is how many ports are looked at between two steps of the machine.
const portBatch = 128

// Counters are those of a port, of the ports of a node, or of all; brief without the single counters.
func (d *Server) Counters(ctx context.Context, port string, brief bool) (iter.Seq[*ctl.PortCounters], error) {
	c, err := d.counted()
	if err != nil {
		return nil, err
	}
	chosen, err := c.chosen(port)
	if err != nil {
		return nil, err
	}
	var last *perf.Image
	if err := c.do(ctx, func(m *perf.Machine) { last = m.History().Last() }); err != nil {
		return nil, err
	}
	if last == nil {
		return nil, errOff
	}
	var keys []perf.Key
	for k := range last.All {
		if chosen == nil || chosen[k] {
			keys = append(keys, k)
		}
	}
	if len(keys) == 0 {
		return nil, fmt.Errorf("%w: the counters of %q are not read", ctl.ErrNotFound, port)
	}
	slices.SortFunc(keys, perf.Key.Compare)
	return func(yield func(*ctl.PortCounters) bool) {
		for some := range slices.Chunk(keys, portBatch) {
			rows := make([]*ctl.PortCounters, 0, len(some))
			if c.do(ctx, func(m *perf.Machine) {
				for _, k := range some {
					rows = append(rows, c.row(m, last, k, brief))
				}
			}) != nil {
				return
			}
			for _, row := range rows {
				if !yield(row) {
					return
				}
			}
		}
	}, nil
}

// row is a port.
func (c *counted) row(m *perf.Machine, last *perf.Image, k perf.Key, brief bool) *ctl.PortCounters {
	row := &ctl.PortCounters{PortOf: c.portOf(k), Utilization: -1, Waiting: -1, Sent: -1, Received: -1}
	d, _ := last.Port(k)
	row.Reading, row.Answered = d.Note.String(), d.Note&(perf.NoAnswer|perf.Refused) == 0
	values, has, at, ok := m.Values(k)
	total, _ := m.Total(k)
	if !ok {
		return row
	}
	row.Read, row.Age, row.Span, row.Since = c.Time(at), c.age(at), d.Span.Seconds(), c.Time(total.Since)
	for counter := range (total.AtLeast | d.AtLeast | pma.ShortCounters&^has).All {
		row.Incomplete = append(row.Incomplete, counter.String())
	}
	row.Complete = row.Answered && d.Note&perf.Partial == 0 && row.Incomplete == nil
	row.Utilization, row.Waiting = c.shares(k, &d)
	row.Sent, row.Received = rate(&d, pma.PortXmitData), rate(&d, pma.PortRcvData)
	for counter := range (has & pma.ErrorCounters).All {
		row.Errors += total.N[counter]
	}
	if brief {
		return row
	}
	for counter := range has.All {
		row.Counters = append(row.Counters, ctl.Counter{Name: counter.String(), Value: values[counter],
			Total:   total.N[counter],
			AtLeast: (total.AtLeast | d.AtLeast).Has(counter), Rose: d.N[counter],
			Error: pma.ErrorCounters.Has(counter)})
	}
	return row
}

// rate is what a counter of data counted in a reading in bytes a second, -1 if that is not known.
func rate(d *perf.Delta, c pma.Counter) float64 {
	if d.Span <= 0 || !d.Has.Has(c) {
		return -1
	}
	return 4 * float64(d.N[c]) / d.Span.Seconds()
}

// portOf is a port, with the description of its node and the other end of its link, if it has not gone.
func (c *counted) portOf(k perf.Key) ctl.PortOf {
	row, t := ctl.PortOf{Node: k.Node.String(), Port: k.Port}, c.subnet.view.Topo
	p := k.In(t)
	if p == topo.None {
		return row
	}
	row.Desc = t.Nodes[t.Ports[p].Node].Desc.String()
	if peer := t.Ports[p].Peer; peer != topo.None {
		e := c.subnet.end(peer)
		row.Peer = &e
	}
	return row
}

// shares are what a port carried of what its link can carry, and waited of the time, in a reading; -1 if
// that is not known.
func (c *counted) shares(k perf.Key, d *perf.Delta) (utilization, waiting float64) {
	t := c.subnet.view.Topo
	p := k.In(t)
	if p == topo.None {
		return -1, -1
	}
	words := perf.Words(t, p)
	return max(d.Share(pma.PortXmitData, words), d.Share(pma.PortRcvData, words)), d.Share(pma.PortXmitWait, words)
}

// ranked is a port with what it is ranked by.
type ranked struct {
	key   perf.Key
	grave uint64 // times that the link went down or was retrained
	n     uint64 // errors of the port itself
	all   uint64 // errors together
	share float64
	count [pma.NumCounters]uint64
}

// TopCounters are the ports that have most of something.
func (d *Server) TopCounters(ctx context.Context, by ctl.Top, most int) (*ctl.TopPorts, error) {
	c, err := d.counted()
	if err != nil {
		return nil, err
	}
	var images []*perf.Image
	cleared := map[perf.Key]time.Duration{}
	if err := c.do(ctx, func(m *perf.Machine) {
		if images = m.History().Images(); by != ctl.TopErrors || len(images) == 0 {
			return
		}
		for _, k := range m.Keys() {
			if t, known := m.Total(k); known && t.Since > images[0].End {
				cleared[k] = t.Since
			}
		}
	}); err != nil {
		return nil, err
	}
	if len(images) == 0 {
		return nil, errOff
	}
	newest := images[len(images)-1]
	top := &ctl.TopPorts{By: by, Age: c.age(newest.End), Ports: []ctl.TopPort{}}
	var list []ranked
	if by == ctl.TopErrors {
		list = errorsOf(images, cleared)
		top.Seconds = (newest.End - images[0].Begin).Seconds()
	} else {
		list, top.Seconds = c.sharesOf(newest, by == ctl.TopCongestion)
	}
	slices.SortStableFunc(list, func(a, b ranked) int {
		return cmp.Or(cmp.Compare(b.share, a.share), cmp.Compare(b.grave, a.grave), cmp.Compare(b.n, a.n),
			cmp.Compare(b.all, a.all), a.key.Compare(b.key))
	})
	top.More = max(0, len(list)-most)
	for i := range list[:min(most, len(list))] {
		top.Ports = append(top.Ports, c.top(&list[i], by))
	}
	return top, nil
}

// errorsOf are the ports that counted errors in images, but for those of images that began before a port was cleared.
func errorsOf(images []*perf.Image, cleared map[perf.Key]time.Duration) (list []ranked) {
	at := map[perf.Key]int{}
	for _, im := range images {
		for k, d := range im.All {
			if im.Begin < cleared[k] {
				continue
			}
			for counter := range (d.Has & (pma.ErrorCounters | pma.Of(pma.QP1Dropped))).All {
				if d.N[counter] == 0 {
					continue
				}
				i, known := at[k]
				if !known {
					i = len(list)
					at[k] = i
					list = append(list, ranked{key: k})
				}
				list[i].count[counter] += d.N[counter]
			}
		}
	}
	for i := range list {
		r := &list[i]
		for counter := range pma.AllCounters.All {
			r.all += r.count[counter]
			switch counter {
			case pma.LinkDownedCounter, pma.LinkErrorRecoveryCounter:
				r.grave += r.count[counter]
			case pma.PortRcvRemotePhysicalErrors, pma.PortXmitDiscards, pma.PortRcvSwitchRelayErrors, pma.VL15Dropped,
				pma.QP1Dropped:
			default:
				r.n += r.count[counter]
			}
		}
	}
	return list
}

// sharesOf are the ports that carried something in an image, or waited, and what they counted; and the
// seconds that most of them are about.
func (c *counted) sharesOf(im *perf.Image, waiting bool) (list []ranked, seconds float64) {
	for k, d := range im.All {
		used, waited := c.shares(k, d)
		share := used
		if waiting {
			share = waited
		}
		seconds = max(seconds, d.Span.Seconds())
		if share > 0 {
			list = append(list, ranked{key: k, share: share, count: d.N})
		}
	}
	return list, seconds
}

// top is a port of a rank, with the reasons.
func (c *counted) top(r *ranked, by ctl.Top) ctl.TopPort {
	row := ctl.TopPort{PortOf: c.portOf(r.key), Share: r.share, Reasons: []string{}}
	switch by {
	case ctl.TopTraffic:
		row.Reasons = append(row.Reasons, fmt.Sprintf("sent %d octets in %d packets, received %d in %d",
			4*r.count[pma.PortXmitData], r.count[pma.PortXmitPkts], 4*r.count[pma.PortRcvData],
			r.count[pma.PortRcvPkts]))
	case ctl.TopCongestion:
		row.Reasons = append(row.Reasons, reason(pma.PortXmitWait, r.count[pma.PortXmitWait]))
		if n := r.count[pma.PortXmitDiscards]; n > 0 {
			row.Reasons = append(row.Reasons, reason(pma.PortXmitDiscards, n))
		}
	default:
		row.Errors = r.all
		for _, m := range perf.Meanings() {
			if n := r.count[m.Counter]; n > 0 {
				row.Reasons = append(row.Reasons, reason(m.Counter, n))
			}
		}
	}
	return row
}

// reason is what a counter means.
func reason(counter pma.Counter, n uint64) string {
	m, _ := perf.MeaningOf(counter)
	return fmt.Sprintf("%v %d: %s; %s", counter, n, m.Means, m.Do)
}

// ClearCounters counts from zero.
func (d *Server) ClearCounters(ctx context.Context, port string) (*ctl.ClearedCounters, error) {
	c, err := d.counted()
	if err != nil {
		return nil, err
	}
	chosen, err := c.chosen(port)
	if err != nil {
		return nil, err
	}
	done := &ctl.ClearedCounters{}
	var clear perf.Clear
	if chosen != nil {
		clear.Of = func(k perf.Key) bool { return chosen[k] }
	}
	ctx, cancel := context.WithTimeout(ctx, orderPatience)
	defer cancel()
	if !c.Event(ctx, &clear) {
		return nil, errNoAnswer
	}
	err = c.do(ctx, func(m *perf.Machine) {
		for _, k := range m.Keys() {
			if clear.Of == nil || clear.Of(k) {
				done.Ports++
			}
		}
	})
	return done, err
}
