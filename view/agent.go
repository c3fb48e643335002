package view

import (
	"ibsm/mad"
	"ibsm/routing"
	"ibsm/topo"
)

// Agent is the address of the agent of QP1 that owns a LID, with the SL of the path to it from this manager's port. The
// SL is 0 without routes, as on a standby, and where the routing engine gives paths none.
func (v *View) Agent(lid mad.LID) mad.Addr {
	to := mad.Addr{LID: lid, QPN: 1}
	if sls := v.pathSLs(); sls != nil && v.Topo.Self != topo.None {
		to.SL = sls.Of(v.LIDs.Base[v.Topo.EndPort(v.Topo.Self)], lid)
	}
	return to
}

// SameAgents reports whether both have the same ports, and Agent is the same for each.
func (v *View) SameAgents(o *View) bool {
	return v.Topo == o.Topo && v.LIDs == o.LIDs && v.pathSLs().Equal(o.pathSLs())
}

// pathSLs are those that the routing engine gives to paths; nil for none.
func (v *View) pathSLs() *routing.SLs {
	if v.Tables == nil {
		return nil
	}
	return v.Tables.SLs
}
