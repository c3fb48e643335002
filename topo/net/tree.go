package net

// tree is a plain tree of switches: one way between any two hosts.
var tree = kind{
	name:  "tree",
	about: "tree of switches, hosts on the lowest",
	keys: []key{
		{"depth", number(1, 16), "3", "levels of switches"},
		{"fanout", number(1, 253), "4", "switches below each one"},
		{"hosts", number(1, 253), "", "hosts on each of the lowest switches (default: fanout)"},
	},
	shape: shapeTree,
}

func shapeTree(s *Spec) (plan, error) {
	depth, fanout := s.int("depth", 0), s.int("fanout", 0)
	hosts := s.int("hosts", fanout)
	width, switches := 1, 1 // of the lowest level; of all
	for range depth - 1 {
		width *= fanout
		if switches += width; switches > MaxNodes {
			break // Generate refuses it
		}
	}
	build := func(b *builder) {
		for sw := range switches {
			ports := fanout + 1
			if sw >= switches-width {
				ports = hosts + 1
			}
			b.addSwitch("switch-"+numbered(sw, switches), ports)
		}
		for sw := switches - width; sw < switches; sw++ {
			b.addHosts(sw, hosts)
		}
		// Level by level, the switches below sw are numbered from sw*fanout+1.
		for sw := range switches - width {
			for child := range fanout {
				b.link(sw, sw*fanout+1+child)
			}
		}
	}
	return plan{switches, width * hosts, build}, nil
}
