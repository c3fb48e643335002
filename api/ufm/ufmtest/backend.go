package ufmtest

import (
	"context"
	"fmt"
	"iter"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"ibsm/api/ufm"
	"ibsm/ctl"
	"ibsm/ctl/server"
	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/partitions"
	"ibsm/partitions/callers"
	"ibsm/registry"
	"ibsm/rights"
	"ibsm/topo"
	topology "ibsm/topo/net"
	"ibsm/view"
	"ibsm/view/viewtest"
)

// Backend is partitions and a subnet without a manager. It is a ctl.PartitionSource, and of a ctl.Source what UFM's
// calls need. It is safe for concurrent use.
type Backend struct {
	ctl.Source // nil: methods that are not needed
	View       *view.View
	Rules      callers.Rules // without User and Now

	mu      sync.Mutex // guards the following
	reg     *registry.Registry
	now     int64
	standby bool
	orders  int
}

// New is a Backend with a subnet and a partition file; "" for none.
func New(tb testing.TB, v *view.View, file string) *Backend {
	tb.Helper()
	b := &Backend{View: v, reg: registry.New(), now: 1_764_350_000}
	if file != "" {
		policy, errs, _ := partitions.Parse("partitions.conf", []byte(file)).Policy()
		if errs != nil {
			tb.Fatal(errs)
		}
		b.Rules.File = policy
	}
	b.Rules.Range = [2]mad.PKey{0x4000, 0x4fff}
	v.Partitions = partitions.Compile(b.Rules.File, partitions.Settings{}, v.Topo, partitions.Indexes{})
	return b
}

// Host is an adapter of a Subnet with one port.
type Host struct {
	GUID   mad.GUID // of the node and of the port
	System mad.GUID
	Desc   string
	LID    mad.LID
	Down   bool
}

// Subnet is hosts at two leaf switches with a spine, in turn.
func Subnet(tb testing.TB, hosts ...Host) *view.View {
	tb.Helper()
	n := &topology.Net{}
	width := len(hosts)/2 + 3
	for i, name := range []string{"MF0;leaf-1:MQM9700/U1", "leaf-2", "spine"} {
		guid := mad.GUID(0xfc6a1c0300000001) + mad.GUID(i)
		ports := make([]topology.Port, width+1)
		for p := range ports {
			ports[p] = topology.Port{Peer: topology.NoEnd, Width: mad.Width4x, Speed: mad.HDR}
		}
		ports[0].GUID = guid
		n.Nodes = append(n.Nodes, topology.Node{ID: name, Desc: name, Type: mad.Switch, GUID: guid,
			SystemImageGUID: guid, Ports: ports})
	}
	cable := func(a, b topology.End) {
		n.Nodes[a.Node].Ports[a.Port].Peer, n.Nodes[b.Node].Ports[b.Port].Peer = b, a
	}
	for leaf := range int32(2) {
		cable(topology.End{Node: leaf, Port: 1}, topology.End{Node: 2, Port: uint8(leaf + 1)})
	}
	for i, h := range hosts {
		n.Nodes = append(n.Nodes, topology.Node{ID: h.Desc, Desc: h.Desc, Type: mad.CA, GUID: h.GUID,
			SystemImageGUID: h.System, Ports: []topology.Port{{Peer: topology.NoEnd},
				{GUID: h.GUID, Peer: topology.NoEnd, Width: mad.Width4x, Speed: mad.HDR}}})
		cable(topology.End{Node: int32(i % 2), Port: uint8(i/2 + 2)}, topology.End{Node: int32(3 + i), Port: 1})
	}
	v := viewtest.Of(tb, n, 0)
	for i := range v.Topo.Ports {
		if p := &v.Topo.Ports[i]; p.Peer != topo.None {
			p.Info.SetPortState(smp.PortActive)
			p.Info.SetNeighborMTU(mad.MTU4096)
		}
	}
	lids := slices.Clone(v.LIDs.Base)
	for _, h := range hosts {
		p := v.Topo.FindPort(h.GUID)
		lids[p] = h.LID
		if h.Down {
			v.Topo.Ports[p].Info.SetPortState(smp.PortDown)
			v.Topo.Ports[p].Info.SetPortPhysicalState(smp.PhysPolling)
		}
	}
	v.LIDs = topo.NewLIDs(lids, v.LIDs.LMC)
	return v
}

// NICoSubnet is the subnet of the transcript of NICo.
func NICoSubnet(tb testing.TB) *view.View {
	return Subnet(tb,
		Host{GUID: 0xb83fd20300485b2e, System: 0xb83fd20300485b2e, Desc: "gpu-01 HCA-1/1", LID: 17},
		Host{GUID: 0xb83fd20300485b2f, System: 0xb83fd20300485b2e, Desc: "gpu-01 HCA-2/1", LID: 18},
		Host{GUID: 0xb83fd20300485b30, System: 0xb83fd20300485b3e, Desc: "gpu-02 HCA-1/1", LID: 19, Down: true})
}

// NICoFile is the partition file of the transcript of NICo.
const NICoFile = "Default=0x7fff, ipoib: ALL=limited, SELF=full;\n"

// Source is what a Handler answers from.
type Source interface {
	ctl.Source
	ctl.PartitionSource
}

// Handler answers the calls of a user without a listener.
func Handler(from Source, u *rights.User) http.Handler {
	log := slog.New(slog.DiscardHandler)
	m, guard := http.NewServeMux(), ctl.Guard{}
	for _, rt := range ufm.New(ufm.Config{Partitions: from, Source: from, Logger: log}).Routes() {
		m.HandleFunc(rt.String(), guard.Handler(&rt))
	}
	return ctl.New(ctl.Config{Source: from, Logger: log}).Patient(http.HandlerFunc(
		func(w http.ResponseWriter, r *http.Request) {
			m.ServeHTTP(w, r.WithContext(rights.With(r.Context(), u)))
		}))
}

// Standby makes it a manager that refuses changes, or one that does not.
func (b *Backend) Standby(is bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.standby = is
}

// Orders is the number of orders that were carried out, whether they changed something or not.
func (b *Backend) Orders() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.orders
}

// Changes is the number of the last change.
func (b *Backend) Changes() uint64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.reg.PartitionNumber()
}

// Conf is the partitions of callers as partitions.conf.
func (b *Backend) Conf() string { return string(callers.Export(b.state())) }

func (b *Backend) state() *registry.State {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.reg.Freeze()
}

// ChangePartition implements ctl.PartitionSource.
func (b *Backend) ChangePartition(o *ctl.PartitionOrder) (*ctl.PartitionChanged, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.standby {
		return nil, fmt.Errorf("%w: this manager is not master", ctl.ErrNotNow)
	}
	b.now++
	rules := b.Rules
	rules.User, rules.Now = o.By, b.now
	done, err := o.Decide(&rules, &b.reg.State)
	if err == nil && o.Strict {
		err = b.strict(done)
	}
	if err != nil {
		return nil, err
	}
	b.orders++
	for _, c := range done.Changes {
		if err := b.reg.Apply(c); err != nil {
			return nil, err
		}
	}
	p := &done.Partition
	return &ctl.PartitionChanged{Name: p.Name, PKey: p.Key.String(), Number: p.Number, ETag: ctl.ETag(p.Number),
		Created: done.Created, Deleted: done.Deleted, Changed: len(done.Changes) > 0, Mirrored: true}, nil
}

// strict refuses hosts that are not known.
func (b *Backend) strict(done *callers.Done) error {
	for _, c := range done.Changes {
		m, is := c.(registry.PutPartitionMember)
		if !is || m.Host == "" {
			continue
		}
		if !slices.ContainsFunc(b.View.Topo.Nodes, func(n topo.Node) bool {
			return ctl.HostName(n.Desc.String()) == m.Host
		}) {
			return &callers.Refusal{Kind: callers.Conflict, Field: "host",
				Text: fmt.Sprintf("strict: no host named %q has been seen", m.Host)}
		}
	}
	return nil
}

// Partition implements ctl.PartitionSource.
func (b *Backend) Partition(_ context.Context, by *rights.User, name string, _ bool) (*ctl.Partition, error) {
	found, err := b.Partitions(&ctl.PartitionQuery{By: by, Name: name, Members: true})
	if err != nil {
		return nil, err
	}
	for p := range found {
		return p, nil
	}
	return nil, fmt.Errorf("%w: there is no partition %q", ctl.ErrNotFound, name)
}

// Partitions implements ctl.PartitionSource.
func (b *Backend) Partitions(q *ctl.PartitionQuery) (iter.Seq[*ctl.Partition], error) {
	return server.ShowPartitions(b.View, b.state(), b.Rules.File, q)
}

// ExportPartitions implements ctl.PartitionSource.
func (b *Backend) ExportPartitions() ([]byte, error) { return []byte(b.Conf()), nil }

// PartitionHistory implements ctl.PartitionSource: the times of the changes that a user may see.
func (b *Backend) PartitionHistory(by *rights.User) (all []ctl.PartitionEdit, _ error) {
	for e := range b.state().PartitionEdits() {
		if by.Partition(e.Name, e.Key) {
			all = append(all, ctl.PartitionEdit{Number: e.Number, Time: time.Unix(e.Since, 0)})
		}
	}
	return all, nil
}

// Status implements ctl.Source.
func (b *Backend) Status() *ctl.Status { return &ctl.Status{Started: time.Unix(1_764_000_000, 0)} }

// Subnet implements ctl.Source. A standby knows none.
func (b *Backend) Subnet() ctl.Subnet {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.standby {
		return nil
	}
	return server.Show(b.View)
}

// Members are those of a partition of callers, as partitions.conf has them, in a line.
func (b *Backend) Members(key mad.PKey) string {
	var all []string
	for m := range b.state().PartitionMembers(key) {
		text := m.Host
		if text == "" {
			text = m.Port.String()
		}
		if text += "=" + partitions.Membership(m.Membership).String(); m.Index0 {
			text += " indx0"
		}
		all = append(all, text)
	}
	return strings.Join(all, ", ")
}
