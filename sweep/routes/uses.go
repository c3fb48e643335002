package routes

import (
	"ibsm/routing"
	"ibsm/routing/lanes"
)

// countSLs is the number of SLs that a routing engine puts paths on.
func countSLs(s *routing.SLs) int {
	if s == nil {
		return 1
	}
	return s.Count
}

// uses is the wanted use of lanes by ports with the SLs of paths, nil where that is left as it was
// found: without QoS as long as all paths have SL 0, or SLs that are fitted to what was found. Tables of
// the routing engine take the place of its SL to VL mapping.
func (s *Settings) uses(sls *routing.SLs, fitted bool) *lanes.Uses {
	count := countSLs(sls)
	if !s.QoS && (count == 1 && sls.Lanes() == nil || fitted) {
		return nil
	}
	uses := s.Uses
	if count > 1 && !fitted && sls.Lanes() == nil {
		for k := range uses {
			uses[k] = uses[k].Serving(count)
		}
	}
	return &uses
}
