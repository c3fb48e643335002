package manager

import (
	"fmt"

	osmlog "ibsm/opensm/log"
	"ibsm/routing"
	"ibsm/routing/verify"
	"ibsm/sweep"
)

// tellOverflows tells of ports that cannot hold all their P_Keys, each once as long as it
// lasts.
func (c *Core) tellOverflows(r *sweep.Computed) {
	now := map[string]bool{}
	for _, o := range r.Partitions.Overflows {
		text := r.Partitions.Tell(o, r.Topo)
		if now[text] = true; !c.overflows[text] {
			c.log(erro, text)
		}
	}
	c.overflows = now
}

// tellUnforced tells of links whose width and speed cannot be forced, when they are others
// than it told of last.
func (c *Core) tellUnforced(r *sweep.Computed) {
	links := r.Plan.Unforced()
	text := ""
	if len(links) > 0 {
		p := &r.Topo.Ports[links[0]]
		text = fmt.Sprintf("links that would not come up again with force_link_width, force_link_speed and force_link_speed_ext keep what they have: %d, as port %d of %q",
			len(links), p.Num, c.name(&r.Topo.Nodes[p.Node]))
	}
	if text != c.unforced && text != "" {
		c.log(warn, text)
	}
	c.unforced = text
}

// report tells what a Job came to before anything is written.
func (c *Core) report(r *sweep.Computed) {
	for _, guid := range r.Lost {
		c.log(warn, "node given up: it has not answered for several sweeps", "guid", guid)
	}
	for _, l := range r.Conflicts {
		c.log(warn, "port gets another LID: the one it has is not free", "guid", l.Port, "lid", l.LID, "owner", l.Owner)
	}
	for _, guid := range r.Exhausted {
		c.log(erro, "no LID is left for a port", "guid", guid)
	}
	for _, k := range r.Reclaimed {
		c.log(info, "no LIDs are free: those of an absent port are given away", "guid", k.Port, "lid", k.Base)
	}
	if r.AR > 0 {
		c.log(erro, "adaptive routing is on: no route is written; choose with --ar_mode=disable", "switches", r.AR)
	}
	if r.Err != nil {
		c.log(erro, r.Err.Error())
	}
	c.tellOverflows(r)
	c.tellUnforced(r)
	if r.Unused {
		c.log(warn, "links were added, but the routes are another manager's and stay as they are; ask for a reroute to use them")
	}
	if r.Unavoidable > 0 {
		c.log(warn, "unhealthy links are used all the same: without them the subnet would be cut", "links", r.Unavoidable)
	}
	if r.Mended != nil {
		c.log(warn, "routes looped and were cut", "pairs", r.Mended.Count[verify.Loop])
	}
	if r.Report == nil {
		return
	}
	lost, cut := "", ""
	if n := r.Report.Unreached(); n > 0 {
		if lost = c.example(r, false); lost != c.lost {
			c.log(erro, "routes do not arrive although cables lead there", "pairs", n, "example", lost)
		}
	}
	if n := r.Report.Count[verify.Cut]; n > 0 {
		if cut = c.example(r, true); cut != c.cut {
			c.log(warn, "the subnet is cut: no cables between some switches and LIDs", "pairs", n, "example", cut)
		}
	}
	c.lost, c.cut = lost, cut
	c.log(info, osmlog.TablesConfigured(c.cfg.Sweep.EngineName), "kept", r.Keep != routing.KeepNone, "longest", r.Report.Longest)
}

// example is one route that is cut, or does not arrive.
func (c *Core) example(r *sweep.Computed, cut bool) string {
	for _, f := range r.Report.Examples {
		if (f.Kind == verify.Cut) == cut {
			n := &r.Topo.Nodes[r.Topo.Switches[f.Switch]]
			return fmt.Sprintf("%v from switch %v %q to LID %v", f.Kind, n.GUID, c.name(n), f.LID)
		}
	}
	return ""
}
