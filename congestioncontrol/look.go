package congestioncontrol

import (
	"bytes"
	"context"

	"ibsm/mad"
)

// State is what devices hold.
type State struct {
	Enabled bool
	Sent    uint64   // requests since the Machine was made
	Devices []Device // by port GUID
}

// Device is what is known of a device.
type Device struct {
	Port     Port
	Standing Standing
	// the wanted attributes that it has accepted, or whose value it refuses, in the order in which they are sent
	Has []Held
}

// Standing is how a device takes the settings.
type Standing uint8

// Standings.
const (
	Complete Standing = iota // it has all of them
	Writing                  // it gets them
	Refusing                 // it refuses the value of an attribute, and has the others
	NoAnswer                 // it does not answer
	NoClass                  // it refuses the class
)

// Held is an attribute that a device knows.
type Held struct {
	Attr    mad.AttrID
	Mod     uint32
	Refused bool
}

// State is what devices hold.
func (m *Machine) State() *State {
	s := &State{Enabled: m.settings.Enabled, Sent: m.tag, Devices: make([]Device, len(m.devices))}
	for i := range m.devices {
		d := &m.devices[i]
		row := Device{Port: d.port, Standing: d.shown()}
		for k, a := range m.wantedOf(d) {
			if k < len(d.holds) && d.holds[k].data != nil && bytes.Equal(d.holds[k].data, a.data) {
				row.Has = append(row.Has, Held{a.id, a.mod, d.holds[k].refused})
				if d.holds[k].refused && row.Standing == Complete {
					row.Standing = Refusing
				}
			}
		}
		s.Devices[i] = row
	}
	return s
}

// shown is the standing of a device that refuses no value.
func (d *device) shown() Standing {
	switch {
	case d.standing == writing:
		return Writing
	case d.standing == complete:
		return Complete
	case d.rounds > 0:
		return NoAnswer
	}
	return NoClass
}

// State is what devices hold; ok is false when ctx is done before.
func (w *Writer) State(ctx context.Context) (s *State, ok bool) {
	ok = w.asker.Do(ctx, func() { s = w.machine.State() })
	return s, ok
}
