package sa

import (
	"cmp"
	"fmt"
	"net/netip"

	"ibsm/mad"
	"ibsm/mad/sarec"
	osmlog "ibsm/opensm/log"
	"ibsm/sa/path"
	"ibsm/topo"
)

// pathRefused logs why there is no path between two ports, where partitions are the reason, or the
// group that does not exist. Where nothing is logged it costs no memory: any host can ask as often as it likes.
func (a *Responder) pathRefused(r *request, stats *Stats) {
	sender := a.view.Topo.EndGUID(r.from)
	if !stats.Refusals.logs(sender) {
		return
	}
	rec := (*sarec.PathRecord)(r.data[:])
	w := refused{}
	if dgid := rec.DGID(); r.comps.Has(sarec.PathDGID) && dgid.IsMulticast() {
		if _, exists := a.reg.Group(dgid); !exists {
			w.lines = append(w.lines, fmt.Sprintf(osmlog.PathNoMGroup, netip.AddrFrom16(dgid)))
		}
	} else if src, dst := a.pathEnds(r, rec); src != topo.None && dst != topo.None {
		x, y := a.view.Topo.EndPKeys(src), a.view.Topo.EndPKeys(dst)
		xNum, yNum := a.numOf(src), a.numOf(dst)
		from, fromDesc := named(a.view.Topo, src)
		to, toDesc := named(a.view.Topo, dst)
		key := rec.PKey()
		common, shared := mad.PKey(0), x == nil || y == nil
		if !shared {
			common, shared = x.Common(y)
		}
		_, one := x.Find(key)
		_, other := y.Find(key)
		switch {
		case r.comps.Has(sarec.PathPKey) && x != nil && y != nil && !(one && other):
			w.lines = append(w.lines, fmt.Sprintf(osmlog.PathPKey, from, fromDesc, xNum, to, toDesc, yNum,
				uint16(key)))
		case !shared && common == 0:
			w.lines = append(w.lines, fmt.Sprintf(osmlog.PathNoPKey, from, fromDesc, xNum, to, toDesc, yNum))
		default:
			w.lines = append(w.lines, a.levelRefused(r, src, dst)...)
		}
	}
	if w.lines != nil {
		stats.Refusals.add(sender, &w)
	}
}

// levelRefused logs why there is no path where the QoS level or a table of SLs is the reason.
func (a *Responder) levelRefused(r *request, src, dst topo.EndIdx) []string {
	rec := (*sarec.PathRecord)(r.data[:])
	d := a.paths.Decide(src, dst, rec, r.comps)
	x, y := a.numOf(src), a.numOf(dst)
	from, fromDesc := named(a.view.Topo, src)
	to, toDesc := named(a.view.Topo, dst)
	level := ""
	if d.Level != nil {
		level = cmp.Or(d.Level.Name, fmt.Sprintf("SimpleQoSLevel_SL%d", d.Level.SL)) // of a line of qos-ulps
	}
	switch {
	case d.Refusal == path.PKeyNotInLevel:
		return []string{fmt.Sprintf(osmlog.PathLevelPKey, level, uint16(rec.PKey()), from, fromDesc, x, to, toDesc,
			y)}
	case d.Refusal == path.NoPKeyOfLevel:
		return []string{fmt.Sprintf(osmlog.PathNoLevelKey, from, fromDesc, to, toDesc, level)}
	case d.Refusal == path.OtherSL && d.Level != nil && d.Level.SL != rec.SL():
		return []string{fmt.Sprintf(osmlog.PathLevelSL, rec.SL(), level, d.Level.SL, fromDesc, x, toDesc, y)}
	case d.Refusal == path.SLDropped:
		return []string{fmt.Sprintf(osmlog.PathVL15, d.SL, fromDesc, x, toDesc, y)}
	}
	return nil
}

// pathEnds are the ports that a request for a path names, topo.None for one that there is not.
func (a *Responder) pathEnds(r *request, rec *sarec.PathRecord) (src, dst topo.EndIdx) {
	end := func(byGID, byLID bool, gid mad.GID, lid mad.LID, otherwise topo.EndIdx) topo.EndIdx {
		switch {
		case byGID:
			return a.view.Topo.FindEnd(gid.GUID())
		case byLID:
			return a.view.EndOfLID(lid)
		}
		return otherwise
	}
	src = end(r.comps.Has(sarec.PathSGID), r.comps.Has(sarec.PathSLID), rec.SGID(), rec.SLID(), r.from)
	dst = end(r.comps.Has(sarec.PathDGID), r.comps.Has(sarec.PathDLID), rec.DGID(), rec.DLID(), topo.None)
	return src, dst
}
