package net

import "fmt"

// dragonfly has groups of a switches, all cabled to each other within the group;
// each switch has p hosts and h cables to other groups. With a*h+1 groups every
// pair of groups shares one cable; with fewer, as many as there are ports for.
var dragonfly = kind{
	name:  "dragonfly",
	about: "fully cabled groups of switches, each pair of groups joined",
	keys: []key{
		{"a", number(1, 254), "4", "switches of a group"},
		{"p", number(1, 254), "2", "hosts on each switch"},
		{"h", number(1, 254), "2", "cables of a switch to other groups"},
		{"groups", number(2, 64517), "", "groups (default: a*h+1, the maximum)"},
	},
	shape: shapeDragonfly,
}

func shapeDragonfly(s *Spec) (plan, error) {
	a, p, h := s.int("a", 0), s.int("p", 0), s.int("h", 0)
	groups := s.int("groups", a*h+1)
	if groups > a*h+1 {
		return plan{}, s.errorf("groups=%d: a=%d and h=%d allow at most %d groups", groups, a, h, a*h+1)
	}
	ports := p + a - 1 + h
	if err := s.fits(ports); err != nil {
		return plan{}, err
	}
	build := func(b *builder) {
		b.addSwitches(groups*a, ports, p, func(sw int) string {
			return fmt.Sprintf("group-%s switch-%s", numbered(sw/a, groups), numbered(sw%a, a))
		})
		for group := range groups {
			for i := range a {
				for j := i + 1; j < a; j++ {
					b.cable(group*a+i, p+j, group*a+j, p+i+1)
				}
			}
		}
		joinGroups(b, groups, a*h, func(group, global int) (sw, num int) {
			return group*a + global/h, p + a + global%h
		})
	}
	return plan{groups * a, groups * a * p, build}, nil
}

// dragonflyPlus has groups of l leaves with p hosts each and s spines, each leaf cabled to each spine of its group;
// each spine has h cables to spines of other groups, as the switches of a dragonfly have.
var dragonflyPlus = kind{
	name:  "dragonfly+",
	about: "groups of leaves and spines, each pair of groups joined",
	keys: []key{
		{"l", number(1, 254), "4", "leaves of a group"},
		{"s", number(1, 254), "4", "spines of a group"},
		{"p", number(1, 254), "4", "hosts on each leaf"},
		{"h", number(1, 254), "2", "cables of a spine to other groups"},
		{"groups", number(2, 64517), "", "groups (default: s*h+1, the maximum)"},
	},
	shape: shapeDragonflyPlus,
}

func shapeDragonflyPlus(s *Spec) (plan, error) {
	leaves, spines, p, h := s.int("l", 0), s.int("s", 0), s.int("p", 0), s.int("h", 0)
	groups := s.int("groups", spines*h+1)
	if groups > spines*h+1 {
		return plan{}, s.errorf("groups=%d: s=%d and h=%d allow at most %d groups", groups, spines, h, spines*h+1)
	}
	if err := s.fits(max(p+spines, leaves+h)); err != nil {
		return plan{}, err
	}
	size := leaves + spines
	build := func(b *builder) {
		for sw := range groups * size {
			group, i := "group-"+numbered(sw/size, groups), sw%size
			if i < leaves {
				b.addSwitch(group+" leaf-"+numbered(i, leaves), p+spines)
			} else {
				b.addSwitch(group+" spine-"+numbered(i-leaves, spines), leaves+h)
			}
		}
		for group := range groups {
			for i := range leaves {
				b.addHosts(group*size+i, p)
				for j := range spines {
					b.cable(group*size+i, p+j+1, group*size+leaves+j, i+1)
				}
			}
		}
		joinGroups(b, groups, spines*h, func(group, global int) (sw, num int) {
			return group*size + leaves + global/h, leaves + 1 + global%h
		})
	}
	return plan{groups * size, groups * leaves * p, build}, nil
}

// joinGroups cables the groups. A group numbers its global ports; port d-1 of a round leads to the group d places
// further on, which reaches it by its own port that leads as far round the other way. port is the switch and port
// number of a global port.
func joinGroups(b *builder, groups, ports int, port func(group, global int) (sw, num int)) {
	others := groups - 1
	for round := range ports / others {
		for group := range groups {
			for d := 1; group+d < groups; d++ {
				sw, num := port(group, round*others+d-1)
				to, toNum := port(group+d, round*others+groups-d-1)
				b.cable(sw, num, to, toNum)
			}
		}
	}
}
