package net

import "fmt"

// pods is a fat tree of three levels as large sites have it: each spine of a pod is cabled to one group of cores, the
// same one in each pod. Corners are pods of management nodes. All spines of a corner are cabled to one group of cores,
// each corner to another one; some of its leaves hang on these spines, the outer ones on two spines of an ordinary pod.
// So no way leads up and then down from most outer leaves to those of the corner. Odd leaves hang on a core each.
var pods = kind{
	name:  "pods",
	about: "fat tree of pods, in which each spine reaches one group of cores; and of corners: management pods that reach only one group",
	keys: []key{
		{"pods", number(1, 200), "4", "ordinary pods"},
		{"leaves", number(1, 200), "4", "leaves of a pod"},
		{"spines", number(1, 200), "4", "spines of a pod, and groups of cores"},
		{"cores", number(1, 200), "2", "cores of a group"},
		{"cables", number(1, 64), "1", "cables between a spine and each core of its group"},
		{"hosts", number(1, 200), "6", "hosts on each leaf of a pod"},
		{"corners", number(0, 200), "1", "management pods"},
		{"corner-spines", number(1, 200), "2", "spines of a corner"},
		{"inner", number(0, 200), "2", "leaves of a corner that are cabled to its spines"},
		{"outer", number(0, 200), "2", "leaves of a corner that are cabled to two spines of an ordinary pod"},
		{"guests", number(1, 200), "3", "hosts on each leaf of a corner"},
		{"corner-cables", number(1, 64), "2", "cables between a spine of a corner and each of its leaves and cores"},
		{"outer-cables", number(1, 64), "2", "cables between an outer leaf and each of its two spines"},
		{"odd", number(0, 200), "0", "leaves with two cables to a core, with as many hosts as a leaf of a corner"},
	},
	shape: shapePods,
}

// podTree is what pods have.
type podTree struct {
	pods, leaves, spines, cores, cables, hosts            int
	corners, cornerSpines, inner, outer, guests, cornered int
	outerCables                                           int
	odd                                                   int
}

func shapePods(s *Spec) (plan, error) {
	n := func(name string) int { return s.int(name, 0) }
	t := podTree{
		pods: n("pods"), leaves: n("leaves"), spines: n("spines"), cores: n("cores"), cables: n("cables"),
		hosts:   n("hosts"),
		corners: n("corners"), cornerSpines: n("corner-spines"), inner: n("inner"), outer: n("outer"),
		guests: n("guests"), cornered: n("corner-cables"), outerCables: n("outer-cables"), odd: n("odd"),
	}
	if t.corners > t.spines {
		return plan{}, s.errorf("corners=%d: expected at most %d, the number of groups of cores", t.corners, t.spines)
	}
	if t.outer > 0 && t.spines < 2 {
		return plan{}, s.errorf("outer=%d: an outer leaf is cabled to two spines, but each pod has one", t.outer)
	}
	links, ports := t.links(), make([]int, t.switches())
	for sw := range ports {
		ports[sw] = t.hostsOf(sw)
	}
	for _, l := range links {
		ports[l[0]]++
		ports[l[1]]++
	}
	most := 0
	for _, count := range ports {
		most = max(most, count)
	}
	if err := s.fits(most); err != nil {
		return plan{}, err
	}
	hosts := t.pods*t.leaves*t.hosts + (t.corners*(t.inner+t.outer)+t.odd)*t.guests
	return plan{t.switches(), hosts, func(b *builder) {
		for sw := range ports {
			b.addSwitch(t.name(sw), most)
		}
		for sw := range ports {
			b.addHosts(sw, t.hostsOf(sw))
		}
		for _, l := range links {
			b.link(l[0], l[1])
		}
	}}, nil
}

// Switches are numbered kind by kind.

func (t *podTree) spine(pod, i int) int { return t.pods*t.leaves + pod*t.spines + i }
func (t *podTree) core(group, i int) int {
	return t.pods*(t.leaves+t.spines) + group*t.cores + i
}
func (t *podTree) cornerSpine(corner, i int) int {
	return t.core(t.spines, 0) + corner*t.cornerSpines + i
}
func (t *podTree) cornerLeaf(corner, i int) int {
	return t.cornerSpine(t.corners, 0) + corner*(t.inner+t.outer) + i
}
func (t *podTree) oddLeaf(i int) int { return t.cornerLeaf(t.corners, 0) + i }
func (t *podTree) switches() int     { return t.oddLeaf(t.odd) }

func (t *podTree) hostsOf(sw int) int {
	switch {
	case sw < t.spine(0, 0):
		return t.hosts
	case sw >= t.cornerLeaf(0, 0):
		return t.guests
	}
	return 0
}

func (t *podTree) name(sw int) string {
	in := func(what string, first, of, groups int) string {
		return fmt.Sprintf("%s-%s-%s", what, numbered((sw-first)/of, groups), numbered((sw-first)%of, of))
	}
	switch {
	case sw < t.spine(0, 0):
		return in("leaf", 0, t.leaves, t.pods)
	case sw < t.core(0, 0):
		return in("spine", t.spine(0, 0), t.spines, t.pods)
	case sw < t.cornerSpine(0, 0):
		return in("core", t.core(0, 0), t.cores, t.spines)
	case sw < t.cornerLeaf(0, 0):
		return in("corner-spine", t.cornerSpine(0, 0), t.cornerSpines, t.corners)
	case sw < t.oddLeaf(0):
		return in("corner-leaf", t.cornerLeaf(0, 0), t.inner+t.outer, t.corners)
	}
	return "odd-leaf-" + numbered(sw-t.oddLeaf(0), t.odd)
}

// links are the cables between switches.
func (t *podTree) links() (links [][2]int) {
	add := func(a, z, cables int) {
		for range cables {
			links = append(links, [2]int{a, z})
		}
	}
	for pod := range t.pods {
		for spine := range t.spines {
			for leaf := range t.leaves {
				add(pod*t.leaves+leaf, t.spine(pod, spine), 1)
			}
			for core := range t.cores {
				add(t.spine(pod, spine), t.core(spine, core), t.cables)
			}
		}
	}
	for corner := range t.corners {
		for spine := range t.cornerSpines {
			for leaf := range t.inner {
				add(t.cornerLeaf(corner, leaf), t.cornerSpine(corner, spine), t.cornered)
			}
			for core := range t.cores {
				add(t.cornerSpine(corner, spine), t.core(corner, core), t.cornered)
			}
		}
		for i := range t.outer {
			leaf, at := t.cornerLeaf(corner, t.inner+i), corner*t.outer+i
			add(leaf, t.spine(at%t.pods, (t.corners+2*at)%t.spines), t.outerCables)
			add(leaf, t.spine(at%t.pods, (t.corners+2*at+1)%t.spines), t.outerCables)
		}
	}
	for i := range t.odd {
		add(t.oddLeaf(i), t.core(i%t.spines, i/t.spines%t.cores), 2)
	}
	return links
}
