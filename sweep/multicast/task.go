package multicast

import (
	"cmp"
	"context"
	"iter"
	"maps"
	"slices"

	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/registry"
	"ibsm/routing"
	"ibsm/routing/mcast"
	"ibsm/sweep/device"
	"ibsm/topo"
)

// Task computes which trees change, and which blocks must be written for that. It runs outside the core, on values that
// no other goroutine writes meanwhile.
type Task struct {
	topo        *topo.Topo
	graph       *mcast.Graph    // nil: Run makes it
	state       *registry.State // to compute from
	old         *registry.State // that mfts were computed from; nil: Run checks every tree
	placed      *topo.VPorts    // likewise; not used without old
	mfts        *mcast.MFTs     // nil when this manager has just become master
	held        []*device.MFT   // by SwitchIdx
	numBlocks   int             // Machine.numBlocks
	left        []tableBlock
	includeInit bool           // trees may use links in INIT
	trunk       *routing.Trunk // Tables.Trunk
	ranks       []int32        // Tables.Ranks
}

// Result is the outcome of a Task.
type Result struct {
	task       *Task
	graph      *mcast.Graph // of the task
	mfts       *mcast.MFTs
	removes    []tableBlock // written first
	adds       []tableBlock // written then
	transition blockEntries // whose old and new links together might close a loop
	unreached  map[mad.LID]int
	err        error // the proof of a tree failed
}

// Run computes the trees that changes affect. A cancelled context gives nil.
func (j *Task) Run(ctx context.Context) *Result {
	out := &Result{task: j, graph: j.graph, unreached: map[mad.LID]int{}, transition: blockEntries{}}
	if out.graph == nil {
		out.graph = mcast.NewGraph(j.topo, j.ranks, j.use)
	}
	grower := mcast.NewGrower(out.graph)
	var inherited map[mad.LID]*mcast.Tree
	if j.mfts == nil {
		inherited = j.inherited()
	}
	var changed, before []*mcast.Tree
	for _, mlid := range j.touched() {
		if ctx.Err() != nil {
			return nil
		}
		old := j.mfts.Tree(mlid)
		tree := j.tree(grower, mlid, cmp.Or(old, inherited[mlid]), out)
		if tree != old && (old != nil || len(tree.Branches) > 0) {
			changed, before = append(changed, tree), append(before, old)
		}
	}
	out.mfts = j.mfts
	if len(changed) > 0 {
		out.mfts = j.mfts.With(changed...)
	}
	var blocks []tableBlock
	if j.old == nil || usedBlocks(j.state) > usedBlocks(j.old) {
		blocks = j.allBlocks(out.mfts)
	} else {
		blocks = j.blocksOf(append(changed, before...))
	}
	j.findTransitions(out, blocks)
	for _, c := range blocks {
		want := out.mfts.Block(c.s, c.position, c.block)
		first := out.withoutAdditions(c, j.held[c.s], want)
		if !j.held[c.s].Holds(c.block, c.position, &first) {
			out.removes = append(out.removes, c)
		}
		if first != want {
			out.adds = append(out.adds, c)
		}
	}
	return out
}

// inherited are the trees of the previous master, as the switches hold them: those that still work stay. They need not
// be trees.
func (j *Task) inherited() map[mad.LID]*mcast.Tree {
	trees := map[mad.LID]*mcast.Tree{}
	for s, held := range j.held {
		for i := range held.Rows() * mcast.BlockSize {
			mlid := mad.MinMulticastLID + mad.LID(i)
			ports := held.Ports(mlid)
			if ports.Empty() || held.Unread(mcast.BlockOf(mlid)) {
				continue
			}
			t := trees[mlid]
			if t == nil {
				t = &mcast.Tree{MLID: mlid}
				trees[mlid] = t
			}
			t.Branches = append(t.Branches, mcast.Branch{Switch: topo.SwitchIdx(s), Ports: ports})
		}
	}
	return trees
}

// withoutAdditions is the value that a block gets first: the target, without the new links of
// entries in transition.
func (g *Result) withoutAdditions(c tableBlock, held *device.MFT, want [mad.DataSize]byte) [mad.DataSize]byte {
	if transition := g.transition[c.block]; transition != 0 {
		return blend(transition, common(held.Value(c.block, c.position), want), want)
	}
	return want
}

// touched are the multicast LIDs whose trees may change.
func (j *Task) touched() []mad.LID {
	mlids := j.state.TouchedMLIDs(j.old)
	has := map[mad.LID]bool{}
	for _, mlid := range mlids {
		has[mlid] = true
	}
	if j.old != nil {
		for mlid := range j.moved() {
			if !has[mlid] {
				mlids = append(mlids, mlid)
			}
		}
		slices.Sort(mlids)
		return mlids
	}
	for t := range j.mfts.Trees() {
		if !has[t.MLID] {
			mlids = append(mlids, t.MLID)
		}
	}
	return mlids
}

// moved are the multicast LIDs of groups with members that are vPorts and are behind other ports than before, or behind
// one or none at all now.
func (j *Task) moved() map[mad.LID]bool {
	if j.placed == j.topo.VPorts {
		return nil
	}
	before := *j.topo
	before.VPorts = j.placed
	place := func(t *topo.Topo, guid mad.GUID) topo.PortIdx {
		if e := t.FindEnd(guid); e != topo.None {
			return t.Physical(e)
		}
		return topo.None
	}
	mlids, own := map[mad.LID]bool{}, j.topo.Ports[j.topo.Self].Info.GidPrefix()
	check := func(guid mad.GUID) {
		if guid == 0 || place(&before, guid) == place(j.topo, guid) {
			return
		}
		for _, prefix := range slices.Compact([]mad.Prefix{own, mad.DefaultPrefix}) {
			for m := range j.state.MembershipsOf(mad.MakeGID(prefix, guid)) {
				if g, is := j.state.Group(m.MGID); is {
					mlids[g.MLID] = true
				}
			}
		}
	}
	for of, i := range changedVPorts(j.placed, j.topo.VPorts) {
		check(of.At(i).GUID)
		for _, guid := range of.Aliases[i] {
			check(guid)
		}
	}
	return mlids
}

// changedVPorts are the vPorts of two lists that are not in the other one with the same GUIDs, up or not as there.
func changedVPorts(old, now *topo.VPorts) iter.Seq2[*topo.VPorts, topo.VPortIdx] {
	return func(yield func(*topo.VPorts, topo.VPortIdx) bool) {
		i, j, n, m := topo.VPortIdx(0), topo.VPortIdx(0), topo.VPortIdx(old.Len()), topo.VPortIdx(now.Len())
		for i < n || j < m {
			order := 0
			switch {
			case i == n:
				order = 1
			case j == m:
				order = -1
			default:
				a, b := old.At(i), now.At(j)
				order = cmp.Or(cmp.Compare(a.Port, b.Port), cmp.Compare(a.Index, b.Index))
				if order == 0 && a.GUID == b.GUID && a.Up() == b.Up() && slices.Equal(old.Aliases[i], now.Aliases[j]) {
					i, j = i+1, j+1
					continue
				}
			}
			if order <= 0 {
				if i++; !yield(old, i-1) {
					return
				}
			}
			if order >= 0 {
				if j++; !yield(now, j-1) {
					return
				}
			}
		}
	}
}

// use says what trees may do with the link at a port.
func (j *Task) use(p topo.PortIdx) mcast.Use {
	port := &j.topo.Ports[p]
	node := &j.topo.Nodes[port.Node]
	least := smp.PortArmed
	if j.includeInit {
		least = smp.PortInit
	}
	switch {
	case port.Unhealthy || port.Info.PortState() < least || j.held[node.Switch].Avoided():
		return mcast.Shun
	case node.Missed > 0: // it cannot be written, but goes on forwarding
		return mcast.Keep
	}
	return mcast.Extend
}

// tree computes one tree and proves it.
func (j *Task) tree(grower *mcast.Grower, mlid mad.LID, old *mcast.Tree, out *Result) *mcast.Tree {
	m := j.members(mlid)
	grow := func(old *mcast.Tree) (*mcast.Tree, []topo.PortIdx) {
		if j.trunk != nil {
			return grower.GrowAlong(j.trunk, mlid, m, old)
		}
		return grower.Grow(mlid, m, old)
	}
	tree, unreached := grow(old)
	err := mcast.Check(j.topo, tree, m, unreached)
	if err != nil {
		tree, unreached = grow(nil)
		if err = mcast.Check(j.topo, tree, m, unreached); err != nil {
			tree, out.err = &mcast.Tree{MLID: mlid}, err
		}
	}
	out.unreached[mlid] = len(unreached)
	return tree
}

// members are the ports that use a multicast LID, of all groups that share it: for vPorts those in front of them.
// Members that are not in the subnet are skipped.
func (j *Task) members(mlid mad.LID) (m mcast.Members) {
	for g := range j.state.OnMLID(mlid) {
		for member := range j.state.Members(g.MGID) {
			guid := member.Port.GUID()
			p := j.topo.FindEnd(guid)
			if p == topo.None {
				slot, found := j.state.Alias(guid)
				if !found {
					continue
				}
				if p = j.topo.FindPort(slot.Port); p == topo.None {
					continue
				}
			}
			p = j.topo.Physical(p)
			if member.JoinState.Receives() {
				m.Receivers = append(m.Receivers, p)
			} else {
				m.Senders = append(m.Senders, p)
			}
		}
	}
	return m
}

// writable reports whether a switch can be written: it answered in the last sweep.
func (j *Task) writable(s topo.SwitchIdx) bool {
	return j.topo.Nodes[j.topo.Switches[s]].Missed == 0
}

// blocksOf are the blocks in which trees have branches, and those left from the last round.
func (j *Task) blocksOf(trees []*mcast.Tree) (blocks []tableBlock) {
	blocks = append(blocks, j.left...)
	for _, t := range trees {
		if t == nil {
			continue
		}
		for _, b := range t.Branches {
			for position := range j.held[b.Switch].Positions {
				blocks = append(blocks, tableBlock{b.Switch, mcast.BlockOf(t.MLID), position})
			}
		}
	}
	return sortBlocks(blocks)
}

// allBlocks are all blocks that differ from their targets.
func (j *Task) allBlocks(mfts *mcast.MFTs) (blocks []tableBlock) {
	wanted := make([]map[uint16]bool, len(j.held)) // blocks with entries, by switch
	for t := range mfts.Trees() {
		for _, b := range t.Branches {
			if wanted[b.Switch] == nil {
				wanted[b.Switch] = map[uint16]bool{}
			}
			wanted[b.Switch][mcast.BlockOf(t.MLID)] = true
		}
	}
	empty, reached := [mad.DataSize]byte{}, exposed(j.topo, j.held, j.numBlocks)
	for s, held := range j.held {
		if !j.writable(topo.SwitchIdx(s)) {
			continue
		}
		n := usedBlocks(j.state)
		if held.Found == device.AnotherSM {
			n = j.numBlocks
		}
		n = max(min(n, held.Blocks), held.Rows())
		for block := range uint16(n) {
			if held.Unread(block) && !wanted[s][block] && !reached[s].Has(block) {
				continue
			}
			for position := range held.Positions {
				want := empty
				if wanted[s][block] {
					want = mfts.Block(topo.SwitchIdx(s), position, block)
				}
				if !held.Holds(block, position, &want) {
					blocks = append(blocks, tableBlock{topo.SwitchIdx(s), block, position})
				}
			}
		}
	}
	return sortBlocks(blocks)
}

// usedBlocks is the number of blocks up to the last that has groups, at least one.
func usedBlocks(s *registry.State) int {
	if top := s.TopMLID(); top != 0 {
		return int(mcast.BlockOf(top)) + 1
	}
	return 1
}

// findTransitions finds the multicast LIDs whose trees lose links and gain others that close
// a loop with them: while only some switches have been written, a packet might circulate.
func (j *Task) findTransitions(out *Result, blocks []tableBlock) {
	extra, missing := blockEntries{}, blockEntries{}
	for _, c := range blocks {
		is, want := j.held[c.s].Value(c.block, c.position), out.mfts.Block(c.s, c.position, c.block)
		more, less := compare(&is, &want)
		extra[c.block] |= more
		missing[c.block] |= less
	}
	masks := make([]mcast.PortMask, len(j.held))
	for block := range maps.Keys(extra) {
		both := extra[block] & missing[block]
		for i := range mad.LID(mcast.BlockSize) {
			mlid := mad.MinMulticastLID + mad.LID(block)*mcast.BlockSize + i
			if both&(1<<i) != 0 && j.circular(mlid, out.mfts.Tree(mlid), masks) {
				out.transition.add(mlid)
			}
		}
	}
}

// circular reports whether the links that switches may use now and their target links
// together close a loop.
func (j *Task) circular(mlid mad.LID, tree *mcast.Tree, masks []mcast.PortMask) bool {
	root := make([]topo.SwitchIdx, len(masks))
	for s := range masks {
		masks[s], root[s] = j.held[s].Ports(mlid).Or(tree.Ports(topo.SwitchIdx(s))), topo.SwitchIdx(s)
	}
	find := func(s topo.SwitchIdx) topo.SwitchIdx {
		for root[s] != s {
			root[s] = root[root[s]]
			s = root[s]
		}
		return s
	}
	for s, n := range j.topo.Switches {
		for num := range masks[s].Ports() {
			if num == 0 || num > j.topo.Nodes[n].NumPorts {
				continue
			}
			peer := j.topo.Ports[j.topo.Port(n, num)].Peer
			if peer == topo.None || !j.topo.IsSwitchPort(peer) {
				continue
			}
			r := j.topo.SwitchOf(peer)
			if int(r) < s && masks[r].Has(j.topo.Ports[peer].Num) {
				continue // it was visited from its other end
			}
			if find(topo.SwitchIdx(s)) == find(r) {
				return true
			}
			root[find(topo.SwitchIdx(s))] = find(r)
		}
	}
	return false
}
