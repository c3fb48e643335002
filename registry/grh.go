package registry

import (
	"encoding/binary"
	"errors"
	"fmt"
	"iter"

	"ibsm/mad"
)

// DemandsGRH reports whether a port demands a GRH of every packet.
func (s *State) DemandsGRH(port mad.GUID) bool {
	_, is := s.grhPorts.get(port)
	return is
}

// GRHPorts iterates over the ports that demand a GRH, in order of GUID.
func (s *State) GRHPorts() iter.Seq[mad.GUID] {
	return func(yield func(mad.GUID) bool) {
		for port := range s.grhPorts.all() {
			if !yield(port) {
				return
			}
		}
	}
}

// TouchedGRHPorts iterates over all ports that demand a GRH in only one of this State and an older one, and
// others, some of them twice. Between States of the same Registry it costs what has changed, not what
// there is.
func (s *State) TouchedGRHPorts(old *State) iter.Seq[mad.GUID] {
	return s.grhPorts.unshared(&old.grhPorts)
}

// PutGRHPort says that the adapter of a port demands a GRH of every packet, such as functions
// that share a LID. No attribute of subnet management says so, but clients at such ports, Linux for one,
// put a GRH on their requests to the SA, and others do not.
type PutGRHPort struct{ Port mad.GUID }

// DeleteGRHPort says that it does not, or that this is not known.
type DeleteGRHPort struct{ Port mad.GUID }

// Kind is KindPutGRHPort.
func (PutGRHPort) Kind() Kind { return KindPutGRHPort }

// Kind is KindDeleteGRHPort.
func (DeleteGRHPort) Kind() Kind { return KindDeleteGRHPort }

const grhPortSize = 8

// AppendTo implements Change.
func (c PutGRHPort) AppendTo(b []byte) []byte {
	return binary.BigEndian.AppendUint64(append(b, byte(KindPutGRHPort)), uint64(c.Port))
}

// AppendTo implements Change.
func (c DeleteGRHPort) AppendTo(b []byte) []byte {
	return binary.BigEndian.AppendUint64(append(b, byte(KindDeleteGRHPort)), uint64(c.Port))
}

func (c PutGRHPort) check() error {
	if c.Port == 0 {
		return errors.New("GUID 0 is not a port, so it cannot demand a GRH")
	}
	return nil
}

func (c DeleteGRHPort) check() error { return nil }

func (c PutGRHPort) apply(r *Registry) error {
	r.grhPorts.put(r.owner, c.Port, struct{}{})
	return nil
}

func (c DeleteGRHPort) apply(r *Registry) error {
	if !r.grhPorts.remove(r.owner, c.Port) {
		return fmt.Errorf("port %s: deleted from the ports that demand a GRH, but it is not one", c.Port)
	}
	return nil
}
