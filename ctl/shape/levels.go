package shape

// setLevels puts the switches on levels by their distance from the leafs. Leafs are the
// switches that have hosts, but for those with less than a quarter as many as another: a host for
// administration on a spine does not make a leaf of it.
func (f *Fabric) setLevels() {
	most := 0
	for i := range f.Switches {
		most = max(most, len(f.Switches[i].Hosts))
	}
	few := max((most+3)/4, 1)
	var queue []int
	for i := range f.Switches {
		if s := &f.Switches[i]; len(s.Hosts) >= few {
			s.Level = 1
			queue = append(queue, i)
		}
	}
	for ; len(queue) > 0; queue = queue[1:] {
		s := &f.Switches[queue[0]]
		for _, i := range s.Trunks {
			if o := &f.Switches[f.Trunks[i].Other(queue[0])]; o.Level == 0 {
				o.Level = s.Level + 1
				queue = append(queue, f.Trunks[i].Other(queue[0]))
			}
		}
	}
	f.findEmptyLeafs()
	f.judgeLevels()
}

// findEmptyLeafs brings down the leafs on which there are hardly any hosts: seen from the
// others they are as far away as what is above the spines. Their names give them away.
func (f *Fabric) findEmptyLeafs() {
	kinds := [2]map[string]bool{{}, {}} // of names on levels 1 and 2
	for i := range f.Switches {
		if s := &f.Switches[i]; s.Level == 1 || s.Level == 2 {
			kinds[s.Level-1][Kind(s.Name)] = true
		}
	}
	for i := range f.Switches {
		s := &f.Switches[i]
		if k := Kind(s.Name); s.Level == 0 || s.Level > 2 && kinds[0][k] && !kinds[1][k] {
			s.Level = 1
		}
	}
}

// judgeLevels counts the levels. Where more than a tenth of the cables between switches
// stay on one they say nothing.
func (f *Fabric) judgeLevels() {
	level, all := 0, 0
	for i := range f.Trunks {
		t := &f.Trunks[i]
		all += len(t.Links)
		if f.Switches[t.A].Level == f.Switches[t.B].Level {
			level += len(t.Links)
		}
	}
	flat := 10*level > all
	for i := range f.Switches {
		s := &f.Switches[i]
		if flat {
			s.Level = 1
		} else {
			f.Levels = max(f.Levels, s.Level)
		}
	}
}
