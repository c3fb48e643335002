package cabling

import (
	"fmt"
	"iter"
	"strings"

	"ibsm/mad"
	"ibsm/plural"
)

// Kind is a kind of difference between a plan and what there is.
type Kind uint8

// Kinds.
const (
	Missing          Kind = iota // a cable of the plan is not there
	MissingDevice                // a device of the plan, with all its cables
	Added                        // a cable is not in the plan
	AddedDevice                  // a device is not in the plan, with all its cables
	Moved                        // one end of a cable is in another port, which the plan leaves free
	Exchanged                    // cables of which each is in the port of another one
	Shifted                      // cables in consecutive ports, each in the next one
	Crossed                      // cables that are mixed up in another way
	Slower                       // a link is slower than in the plan
	Narrower                     // a link is narrower than in the plan
	Replaced                     // another device is in the place of one of the plan
	ExchangedDevices             // devices of the plan of which each is in the place of another one
	SameName                     // several devices have the name of one of the plan, which has no GUID there
	kinds
)

var kindNames = [kinds]string{
	"missing", "missing device", "added", "added device", "moved", "exchanged", "shifted", "crossed", "slower",
	"narrower", "replaced", "exchanged devices", "same name",
}

// Kinds are all kinds.
func Kinds() iter.Seq[Kind] {
	return func(yield func(Kind) bool) {
		for k := Missing; k < kinds && yield(k); k++ {
		}
	}
}

// String is in the words of ibsmctl.
func (k Kind) String() string { return kindNames[k] }

// Finding is one difference between a plan and what there is.
type Finding struct {
	Kind Kind
	// Devices are those missing, added or exchanged; of a Replaced one that of the plan, and then the one that is
	// there; of SameName the first MaxCables with the name.
	Devices []Place
	// Ports are those that the cables are in, of Moved, Exchanged and Shifted: where the first cable was planned, where
	// the second, and so on; of Moved and Shifted at last the port that the plan leaves free.
	Ports []Place
	// Planned are cables of the plan that are not there, and Present those that are there and not in the plan. Of
	// Slower and Narrower they are one cable, with its planned and its present rate. At most MaxCables of each; More
	// counts those left out.
	Planned, Present []Link
	More             int
}

// MaxCables is how many cables of each kind a Finding has.
const MaxCables = 8

// Place is a device, or a port of one.
type Place struct {
	GUID  mad.GUID     // 0 if the plan does not say
	Name  string       // NodeDescription; "" if the plan does not say
	Type  mad.NodeType // 0 if the plan does not say
	Alone bool         // no other device has this name
	Port  uint8        // 0 for the device
}

// String is the name, or the GUID where there is none, or where several devices have it.
func (p Place) String() string {
	if p.Port == 0 {
		return p.device()
	}
	return fmt.Sprintf("%s port %d", p.device(), p.Port)
}

func (p Place) device() string {
	switch {
	case p.Name == "":
		return p.GUID.String()
	case p.Alone || p.GUID == 0:
		return p.Name
	}
	return fmt.Sprintf("%s (%v)", p.Name, p.GUID)
}

// same reports whether two places are on one device.
func (p Place) same(o Place) bool { return p.GUID == o.GUID && p.Name == o.Name }

// Link is a cable between two ports.
type Link struct {
	Ends  [2]Place
	Width mad.LinkWidth
	Speed mad.LinkSpeed
}

func (l Link) String() string { return l.Ends[0].String() + " - " + l.Ends[1].String() }

// rate is width and speed, of which one may be unknown.
func (l Link) rate() string {
	text := ""
	if l.Width != 0 {
		text = l.Width.String()
	}
	if l.Speed != 0 {
		text += l.Speed.String()
	}
	return text
}

// String is a sentence.
func (f *Finding) String() string {
	switch f.Kind {
	case Missing:
		return fmt.Sprintf("cable %v is missing", f.Planned[0])
	case Added:
		return fmt.Sprintf("cable %v is not in the plan", f.Present[0])
	case MissingDevice:
		return fmt.Sprintf("%v is missing, with %s", f.Devices[0], plural.Of(len(f.Planned)+f.More, "cable"))
	case AddedDevice:
		return fmt.Sprintf("%v is not in the plan, with %s", f.Devices[0], plural.Of(len(f.Present)+f.More, "cable"))
	case Moved:
		return fmt.Sprintf("the cable of %v is in %v instead of %s", f.Present[0].other(f.Ports[1]), f.Ports[1],
			short(f.Ports[0], f.Ports[1]))
	case Exchanged:
		if f.onOne() {
			return fmt.Sprintf("cables %s of %s are exchanged", numbers(f.Ports), f.Ports[0].device())
		}
		return fmt.Sprintf("the cables at %s are exchanged", places(f.Ports))
	case Shifted:
		last := len(f.Ports) - 1
		return fmt.Sprintf("cables %s of %s are shifted by one port, to ports %s", span(f.Ports[:last]),
			f.Ports[0].device(), span(f.Ports[1:]))
	case Slower, Narrower:
		return fmt.Sprintf("link %v is %s instead of %s", f.Present[0], f.Present[0].rate(), f.Planned[0].rate())
	case Replaced:
		was, is := f.Devices[0], f.Devices[1]
		if was.GUID == 0 {
			return fmt.Sprintf("%v is in the place of %s, of which the plan has no GUID", is, was.Name)
		}
		if was.Name != "" && was.Name == is.Name {
			return fmt.Sprintf("%s is another device: its GUID is %v instead of %v", was.Name, is.GUID, was.GUID)
		}
		return fmt.Sprintf("%v is in the place of %v", is, was)
	case SameName:
		return fmt.Sprintf(
			"%d devices are called %s, and the plan has no GUID: it may be any of them, so none is known",
			len(f.Devices)+f.More, f.Devices[0].Name)
	case ExchangedDevices:
		return fmt.Sprintf("%s are exchanged: each has the cables of another one", places(f.Devices))
	}
	return fmt.Sprintf("%s are mixed up: %s", plural.Of(len(f.Present)+len(f.Planned)+f.More, "cable"), f.mixed())
}

// other is the end of a cable that is not at a place.
func (l Link) other(at Place) Place {
	if l.Ends[0] == at {
		return l.Ends[1]
	}
	return l.Ends[0]
}

// mixed says which cables are there instead of which.
func (f *Finding) mixed() string {
	var there, instead []string
	for _, l := range f.Present {
		there = append(there, l.String())
	}
	for _, l := range f.Planned {
		instead = append(instead, l.String())
	}
	text := strings.Join(there, ", ") + " instead of " + strings.Join(instead, ", ")
	if f.More > 0 {
		text += fmt.Sprintf(", and %d more", f.More)
	}
	return text
}

// onOne reports whether all ports are on one device.
func (f *Finding) onOne() bool {
	for _, p := range f.Ports {
		if !p.same(f.Ports[0]) {
			return false
		}
	}
	return true
}

// short is a place next to another one, without its device if they are on the same.
func short(p, beside Place) string {
	if p.same(beside) {
		return fmt.Sprintf("port %d", p.Port)
	}
	return p.String()
}

// span is consecutive ports, in either direction.
func span(ports []Place) string {
	from, to := ports[0].Port, ports[len(ports)-1].Port
	from, to = min(from, to), max(from, to)
	if to == from+1 {
		return fmt.Sprintf("%d and %d", from, to)
	}
	return fmt.Sprintf("%d to %d", from, to)
}

func numbers(ports []Place) string {
	texts := make([]string, len(ports))
	for i, p := range ports {
		texts[i] = fmt.Sprint(p.Port)
	}
	return and(texts)
}

func places(ports []Place) string {
	texts := make([]string, len(ports))
	for i, p := range ports {
		texts[i] = p.String()
	}
	return and(texts)
}

func and(texts []string) string {
	last := len(texts) - 1
	return strings.Join(texts[:last], ", ") + " and " + texts[last]
}
