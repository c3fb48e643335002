package lash

// nameAxes names the directions of links: those of the seed, and from there on what follows for others.
func (m *mesh) nameAxes() {
	m.nameSeed()
	for changed := true; changed; {
		changed = false
		for s := range m.nodes {
			changed = m.nameOpposites(s) || changed
		}
		for s := range m.nodes {
			changed = m.nameBack(s) || changed
		}
		for s := range m.nodes {
			changed = m.nameCorners(s) || changed
		}
	}
}

// nameSeed gives the links of the seed an axis each; two whose ends are not as far from each other as
// those of different dimensions are opposite.
func (m *mesh) nameSeed() {
	node := &m.nodes[m.seed]
	unnamed := func(other int) int {
		for i, axis := range node.axes {
			if axis == 0 && i != other && (other < 0 || node.distance[other][i] != 2) {
				return i
			}
		}
		return -1
	}
	for d := range m.dimensions {
		i := unnamed(-1)
		if i < 0 {
			return
		}
		node.axes[i] = 2*d + 1
		if j := unnamed(i); j >= 0 {
			node.axes[j] = 2*d + 2
		}
	}
}

// opposite is the opposite of an axis at a switch: the axis itself where the dimension has one
// neighbour only, 0 if the switch has no link along it.
func (m *mesh) opposite(s, axis int) int {
	node := &m.nodes[s]
	for i := range node.distance {
		if node.axes[i] != axis {
			continue
		}
		for j, d := range node.distance[i] {
			if j != i && d != 2 {
				return 1 + ((axis - 1) ^ 1)
			}
		}
		return axis
	}
	return 0
}

// name names a link unless it has a name, and reports whether it has done so.
func (m *mesh) name(s int32, i, axis int) bool {
	if m.nodes[s].axes[i] != 0 || axis == 0 {
		return false
	}
	m.nodes[s].axes[i] = axis
	return true
}

// nameOpposites names the link opposite of one with a name, where it can only be that.
func (m *mesh) nameOpposites(s int) (changed bool) {
	node, n := &m.nodes[s], len(m.links[s])
	if n < len(m.links[m.seed]) && n <= 2 { // part of a chain
		return false
	}
	for i := range node.distance {
		if node.axes[i] == 0 {
			continue
		}
		across, several := -1, false
		for j, d := range node.distance[i] {
			if j != i && d != 2 {
				across, several = j, across >= 0
			}
		}
		if across >= 0 && !several && node.distance[i][across] <= 4 {
			changed = m.name(int32(s), across, m.opposite(m.seed, node.axes[i])) || changed
		}
	}
	return changed
}

// nameBack names the other direction of links with a name.
func (m *mesh) nameBack(s int) (changed bool) {
	node := &m.nodes[s]
	for i := range node.distance {
		if to := m.links[s][i].to; node.axes[i] != 0 && node.back[i] >= 0 && m.nodes[to].distance != nil {
			changed = m.name(to, node.back[i], m.opposite(m.seed, node.axes[i])) || changed
		}
	}
	return changed
}

// nameCorners names the links to the switch at the fourth corner of a square.
func (m *mesh) nameCorners(s int) (changed bool) {
	node := &m.nodes[s]
	for i := range node.distance {
		for j, d := range node.distance[i] {
			if i == j || d != 2 || node.axes[i] == 0 || node.axes[j] == 0 {
				continue
			}
			a, b := m.links[s][i].to, m.links[s][j].to
			if k, l := m.corner(int32(s), a, b); k >= 0 {
				changed = m.name(a, k, node.axes[j]) || changed
				changed = m.name(b, l, node.axes[i]) || changed
			}
		}
	}
	return changed
}

// corner is the links of two neighbours of a switch to another neighbour that they have; -1 if they
// have none.
func (m *mesh) corner(s, a, b int32) (fromA, fromB int) {
	for k, x := range m.links[a] {
		if x.to == s {
			continue
		}
		for l, y := range m.links[b] {
			if y.to == x.to {
				return k, l
			}
		}
	}
	return -1, -1
}
