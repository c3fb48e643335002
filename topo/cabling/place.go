package cabling

// link is a cable between two ports.
func (c *comparison) link(a, b int32, present bool) Link {
	l := Link{Ends: [2]Place{c.place(a), c.place(b)}}
	if cable := c.planCable[a]; !present && cable != none {
		l.Width, l.Speed = c.plan.Cables[cable].Width, c.plan.Cables[cable].Speed
	}
	if cable := c.presentCable[a]; present && cable != none {
		l.Width, l.Speed = c.present.Cables[cable].Width, c.present.Cables[cable].Speed
	}
	return l
}

// place is a port.
func (c *comparison) place(p int32) Place {
	at := c.at[p]
	if at.Device < int32(len(c.present.Devices)) {
		return c.presentPlace(at.Device, at.Port)
	}
	return c.planPlace(at.Device-int32(len(c.present.Devices)), at.Port)
}

func (c *comparison) presentPlace(device int32, port uint8) Place {
	return c.named(&c.present.Devices[device], port)
}

func (c *comparison) planPlace(device int32, port uint8) Place {
	d := c.plan.Devices[device]
	if at := c.strict[device]; at != none && d.Name == "" {
		d.Name, d.Type = c.present.Devices[at].Name, c.present.Devices[at].Type
	}
	return c.named(&d, port)
}

func (c *comparison) named(d *Device, port uint8) Place {
	if c.names == nil {
		c.names = namesOf(c.plan.Devices, c.present.Devices)
	}
	return Place{GUID: d.GUID, Name: d.Name, Type: d.Type, Alone: c.names[d.Name] <= 1, Port: port}
}

// namesOf is how many devices have each name, in the list where it is most frequent.
func namesOf(lists ...[]Device) map[string]int {
	most := map[string]int{}
	for _, devices := range lists {
		count := make(map[string]int, len(devices))
		for i := range devices {
			name := devices[i].Name
			count[name]++
			most[name] = max(most[name], count[name])
		}
	}
	return most
}

// Links are cables, by index, as findings have them.
func (c *Cabling) Links(cables []int32) (links []Link) {
	names := namesOf(c.Devices)
	for _, i := range cables {
		l := Link{Width: c.Cables[i].Width, Speed: c.Cables[i].Speed}
		for j, e := range c.Cables[i].Ends {
			d := &c.Devices[e.Device]
			l.Ends[j] = Place{GUID: d.GUID, Name: d.Name, Type: d.Type, Alone: names[d.Name] <= 1, Port: e.Port}
		}
		links = append(links, l)
	}
	return links
}
