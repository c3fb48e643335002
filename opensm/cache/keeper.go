package cache

import (
	"errors"
	"log/slog"
	"maps"
	"sync"

	"ibsm/mad"
	"ibsm/priority"
	"ibsm/topo"
	"ibsm/view"
)

// Keeper keeps the files of a directory current in a goroutine of its own, that of Run,
// so that nobody waits for a disk. What comes faster than it can be written is written
// once. Put, Forget and Close are for one goroutine at a time.
type Keeper struct {
	logger *slog.Logger
	// Unwritten is called with each outcome of writing: an error, or nil. It is set before Run; nil for no such call.
	Unwritten func(error)
	wake      chan struct{} // has room for one; closed by Close

	mu    sync.Mutex // guards the next four
	lids  map[mad.GUID]LIDRange
	view  *view.View // not written yet
	topo  *topo.Topo // of the view put last; nil when it could not be written
	dirty bool       // another process may have written the files

	// What follows is Run's.
	files  *Files
	shared *Shared // nil for the only manager of a host
	mkeys  map[mad.GUID]mad.MKey
	found  known  // of the view written last
	both   int    // ports without a record in shared, as logged last
	logged string // the error logged last
}

// Share has the Keeper keep OpenSM's own files too, together with those of other managers of
// the host. It is called before Run.
func (k *Keeper) Share(s *Shared) { k.shared = s }

// NewKeeper returns a Keeper of files, which holds the LIDs and M_Keys that are known
// already and logs write errors. All of it is the Keeper's from
// now on.
func NewKeeper(files *Files, lids map[mad.GUID]LIDRange, mkeys map[mad.GUID]mad.MKey, logger *slog.Logger) *Keeper {
	k := &Keeper{files: files, lids: lids, mkeys: mkeys, logger: logger, wake: make(chan struct{}, 1)}
	if k.lids == nil {
		k.lids = map[mad.GUID]LIDRange{}
	}
	if k.mkeys == nil {
		k.mkeys = map[mad.GUID]mad.MKey{}
	}
	return k
}

// PutLIDs has LIDs that have changed written, soon. A Min of 0 forgets a port.
func (k *Keeper) PutLIDs(changed map[mad.GUID]LIDRange) {
	if len(changed) == 0 {
		return
	}
	k.put(func() {
		for port, r := range changed {
			if r.Min == 0 {
				delete(k.lids, port)
			} else {
				k.lids[port] = r
			}
		}
	})
}

// PutView has the M_Keys and links of a view written, soon. A nil view changes nothing,
// nor does one with the same Topo as the last, if that could be written.
func (k *Keeper) PutView(v *view.View) {
	if v == nil {
		return
	}
	k.mu.Lock()
	same := v.Topo.SharesPorts(k.topo)
	k.mu.Unlock()
	if !same {
		k.put(func() { k.view, k.topo = v, v.Topo })
	}
}

// MarkDirty has all files written again with the next change or view: another manager may have written them since.
// Until then they stay as they are, because a new master may have to read guid2lid first (honor_guid2lid_file).
func (k *Keeper) MarkDirty() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.dirty, k.topo = true, nil
}

func (k *Keeper) put(change func()) {
	k.mu.Lock()
	change()
	k.mu.Unlock()
	select {
	case k.wake <- struct{}{}:
	default:
	}
}

// Close ends Run once everything is written.
func (k *Keeper) Close() { close(k.wake) }

// Run writes until Close.
func (k *Keeper) Run() {
	for range k.wake {
		priority.Compute(k.write)
	}
}

// write logs an error once as long as it stays the same.
func (k *Keeper) write() {
	k.mu.Lock()
	lids, v, dirty := maps.Clone(k.lids), k.view, k.dirty
	k.view, k.dirty = nil, false
	k.mu.Unlock()
	if dirty {
		k.files.forget()
	}
	err := k.files.WriteLIDs(lids)
	if v != nil {
		k.learnMKeys(v, lids)
		k.found.running, k.found.links = running(v.Topo), links(v)
		err = errors.Join(err, k.files.WriteMKeys(k.mkeys), k.files.WriteNeighbors(k.found.links))
	}
	if k.shared != nil && k.found.links != nil {
		if dirty {
			k.shared.Files.forget()
		}
		err = errors.Join(err, k.share(lids))
	}
	text := ""
	if err != nil {
		text = err.Error()
		k.mu.Lock()
		k.topo = nil
		k.mu.Unlock()
	}
	if k.Unwritten != nil {
		k.Unwritten(err)
	}
	if text != k.logged {
		if text != "" {
			k.logger.Error("cannot write OpenSM's cache files", "dir", k.files.Dir, "reason", text)
		} else {
			k.logger.Info("OpenSM's cache files are written again", "dir", k.files.Dir)
		}
	}
	k.logged = text
}

// share writes OpenSM's own files, and logs what is left out of them when that changes.
func (k *Keeper) share(lids map[mad.GUID]LIDRange) error {
	k.found.lids, k.found.mkeys = lids, k.mkeys
	both, err := k.shared.merge(&k.found)
	if err == nil && both != k.both {
		k.both = both
		k.logger.Warn(
			"ports whose LIDs are in use in another subnet of this host, too, are not in OpenSM's own guid2lid",
			"ports", both, "dir", k.shared.Files.Dir)
	}
	return err
}

// running are the GUIDs of the ports of a subnet that can have LIDs.
func running(t *topo.Topo) map[mad.GUID]bool {
	guids := make(map[mad.GUID]bool, len(t.EndPorts))
	for _, p := range t.EndPorts {
		guids[t.Ports[p].GUID] = true
	}
	return guids
}

// learnMKeys takes over the M_Keys that ports show, and forgets those of ports that have
// no LIDs any more.
func (k *Keeper) learnMKeys(v *view.View, lids map[mad.GUID]LIDRange) {
	maps.DeleteFunc(k.mkeys, func(port mad.GUID, _ mad.MKey) bool { _, known := lids[port]; return !known })
	for _, p := range v.Topo.EndPorts {
		port := &v.Topo.Ports[p]
		if hidden := port.Info.MKey() == 0 && port.Info.MKeyProtectBits() != 0; !hidden {
			k.mkeys[port.GUID] = port.Info.MKey()
		}
	}
}

// links are those of a subnet, each from both ends, and those that agents had when they left it, unless another link
// has one of the ports now.
func links(v *view.View) []Link {
	t, n := v.Topo, 0
	for i := range t.Ports {
		if t.Ports[i].Peer != topo.None {
			n++
		}
	}
	all := make([]Link, 0, n+2*len(v.Left))
	end := func(p topo.PortIdx) End {
		port := &t.Ports[p]
		if node := &t.Nodes[port.Node]; node.Switch != topo.None {
			return End{node.GUID, port.Num}
		}
		return End{port.GUID, port.Num}
	}
	for i := range t.Ports {
		if peer := t.Ports[i].Peer; peer != topo.None {
			all = append(all, Link{end(topo.PortIdx(i)), end(peer)})
		}
	}
	used := map[End]bool{}
	if len(v.Left) > 0 {
		for _, l := range all {
			used[l.Near] = true
		}
	}
	for _, l := range v.Left {
		near, far := End(l.Here), End(l.Far)
		if !used[near] && !used[far] {
			used[near], used[far] = true, true
			all = append(all, Link{near, far}, Link{far, near})
		}
	}
	return all
}
