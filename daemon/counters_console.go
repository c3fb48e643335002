package daemon

import (
	"bytes"
	"context"
	"errors"
	"path/filepath"
	"slices"
	"time"

	"ibsm/atomicfile"
	"ibsm/conf"
	"ibsm/mad"
	"ibsm/opensm/console"
	osmlog "ibsm/opensm/log"
	"ibsm/opensm/perfdb"
	"ibsm/perf"
	"ibsm/topo"
	"ibsm/view"
)

// countersPatience bounds the wait for the reader of counters.
const countersPatience = 5 * time.Second

var (
	errNoReader = errors.New("no manager is running")
	errNoView   = errors.New("no subnet is known yet")
)

// do has the reader of counters call f between two steps.
func (c *counters) do(f func(*perf.Machine)) error {
	shell := c.control.Manager()
	if shell == nil || shell.Counters() == nil {
		return errNoReader
	}
	ctx, cancel := context.WithTimeout(context.Background(), countersPatience)
	defer cancel()
	if !shell.Counters().Do(ctx, f) {
		return errNoReader
	}
	return nil
}

// event gives the machine an event.
func (c *counters) event(e perf.Event) error {
	shell := c.control.Manager()
	if shell == nil || shell.Counters() == nil {
		return errNoReader
	}
	ctx, cancel := context.WithTimeout(context.Background(), countersPatience)
	defer cancel()
	if !shell.Counters().Event(ctx, e) {
		return errNoReader
	}
	return nil
}

// nodes are the nodes whose ports were read, by GUID.
func (c *counters) nodes() ([]perfdb.Node, error) {
	var ports, absent []perf.PortTotal
	reader := c.reader()
	err := c.do(func(m *perf.Machine) {
		ports, absent = make([]perf.PortTotal, 0, len(m.Keys())), m.AbsentTotals()
		for _, k := range m.Keys() {
			if t, ok := m.Total(k); ok {
				ports = append(ports, perf.PortTotal{Key: k, Total: t})
			}
		}
	})
	v, err := c.viewAfter(err)
	if err != nil {
		return nil, err
	}
	slices.SortFunc(ports, func(a, b perf.PortTotal) int { return a.Key.Compare(b.Key) })
	list := c.appendNodes(nil, v, reader, ports, false)
	list = c.appendNodes(list, v, reader, absent, true)
	slices.SortStableFunc(list, func(a, b perfdb.Node) int {
		return perf.Key{Node: a.GUID}.Compare(perf.Key{Node: b.GUID})
	})
	return list, nil
}

// viewAfter is the latest view, unless there is an error already or no view was published.
func (c *counters) viewAfter(err error) (*view.View, error) {
	v := c.latest()
	if err == nil && v == nil {
		err = errNoView
	}
	return v, err
}

// reader is the reader of counters; nil for none.
func (c *counters) reader() *perf.Reader {
	if shell := c.control.Manager(); shell != nil {
		return shell.Counters()
	}
	return nil
}

// appendNodes appends nodes with their ports, which are in the order of GUIDs and ports.
func (c *counters) appendNodes(list []perfdb.Node, v *view.View, reader *perf.Reader, ports []perf.PortTotal,
	gone bool) []perfdb.Node {
	for i := range ports {
		p := &ports[i]
		if len(list) == 0 || list[len(list)-1].GUID != p.Node {
			n := perfdb.Node{GUID: p.Node, Name: c.name(v, p.Node), Gone: gone, First: 1}
			if at := v.Topo.FindNode(p.Node); at != topo.None {
				n.Ports = int(v.Topo.Nodes[at].NumPorts)
			}
			list = append(list, n)
		}
		n := &list[len(list)-1]
		if p.Port == 0 {
			n.First = 0
		}
		n.Ports = max(n.Ports, int(p.Port))
		n.Read = append(n.Read, perfdb.Port{Num: p.Port, Reset: reader.Time(p.Since), Last: reader.Time(p.Until),
			N: p.N})
	}
	return list
}

// defaultCounterFile is the name in dump_files_dir.
const defaultCounterFile = "opensm_port_counters.log"

// counterFile is where the counters are dumped to, "" for nowhere.
func counterFile(l *conf.Loaded) string {
	if name := conf.EventDBDumpFile.In(l.Config); name != "" {
		return name
	}
	if dir := dumpDir(l); dir != "" {
		return filepath.Join(dir, defaultCounterFile)
	}
	return ""
}

// dump writes the counter file, or leaves it as it is where the counters cannot be had.
func (c *counters) dump(table bool) error {
	name := counterFile(c.current.own())
	if name == "" {
		return errors.New("no file for counters is configured: set event_db_dump_file or dump_files_dir")
	}
	nodes, err := c.nodes()
	var text bytes.Buffer
	for i := range nodes {
		if table {
			nodes[i].Table(&text)
		} else {
			nodes[i].Blocks(&text, "", false)
		}
	}
	if err == nil {
		err = atomicfile.Write(name, 0o666, text.Bytes())
	}
	if err != nil {
		c.logger.Error("osm_perfmgr_dump_counters: Failed to dump file", "reason", err)
	}
	return err
}

// console is the performance manager for OpenSM's console.
func (c *counters) console() console.PerfMgr {
	return console.PerfMgr{
		Status: c.status, Nodes: c.nodes, Redirects: c.redirects, Do: c.order, Dump: c.dump,
		SetSweepTime: func(seconds uint16) {
			c.current.setCounters(conf.PerfMgrSweepTime.Key(), uint64(seconds), c.reader())
		},
		ForgetAbsent: func() (nodes int, err error) {
			err = c.do(func(m *perf.Machine) {
				last := mad.GUID(0)
				for _, p := range m.AbsentTotals() {
					if p.Node != last {
						nodes, last = nodes+1, p.Node
					}
				}
			})
			if err == nil {
				err = c.event(&perf.ForgetAbsent{})
			}
			return nodes, err
		},
		ForgetRedirects: func(node mad.GUID) error { return c.event(&perf.ForgetRedirects{Node: node}) },
	}
}

func (c *counters) status() console.PerfStatus {
	s := counterSettings(c.current.own())
	st := console.PerfStatus{
		Enabled: s.Interval > 0, Redirect: s.Redirect, RemoveNodes: !s.KeepAbsent, QueryInfo: s.QueryInfo,
		Max:       s.Window,
		SweepTime: int(conf.PerfMgrSweepTime.In(c.current.own().Config) / time.Second),
	}
	_ = c.do(func(m *perf.Machine) { // without a manager nothing is read
		now := m.State()
		st.Sweeping, st.Outstanding = now.Sweeping, now.Waiting
	})
	return st
}

func (c *counters) redirects() (list []console.Redirect, err error) {
	var all []perf.Redirect
	err = c.do(func(m *perf.Machine) { all = m.Redirects() })
	v, err := c.viewAfter(err)
	if err != nil {
		return nil, err
	}
	for _, r := range all {
		row := console.Redirect{Node: r.Node, Name: c.name(v, r.Node), Port: r.Port, From: r.From, To: r.To.LID,
			QPN: r.To.QPN, PKey: mad.DefaultPKey}
		if n := v.Topo.FindNode(r.Node); n != topo.None {
			row.Port0 = v.Topo.Nodes[n].Type == mad.Switch && v.Topo.Nodes[n].SwitchInfo.EnhancedPort0()
		}
		list = append(list, row)
	}
	return list, nil
}

// order does what the console wants. Settings apply until their lines in the file change.
func (c *counters) order(o console.PerfOrder) error {
	switch o {
	case console.PerfSweep:
		if counterSettings(c.current.own()).Interval == 0 {
			return errors.New("the performance manager is disabled")
		}
		return c.event(&perf.SweepNow{})
	case console.PerfClear:
		if err := c.event(&perf.Clear{}); err != nil {
			return err
		}
		c.logger.Info(osmlog.CountersCleared)
		return nil
	}
	s := settingOf[o]
	c.current.setCounters(s.key, s.value, c.reader())
	return nil
}

// settingOf is what an order of the console is in the configuration.
var settingOf = map[console.PerfOrder]struct {
	key   *conf.Key
	value uint64
}{
	console.PerfEnable: {conf.PerfMgr.Key(), 1}, console.PerfDisable: {conf.PerfMgr.Key(), 0},
	console.PerfRemoveNodes: {conf.PerfMgrRemoveNodes.Key(), 1},
	console.PerfKeepNodes:   {conf.PerfMgrRemoveNodes.Key(), 0},
	console.PerfQueryInfo:   {conf.PerfMgrQueryCPI.Key(), 1}, console.PerfNoInfo: {conf.PerfMgrQueryCPI.Key(), 0},
}
