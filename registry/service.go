package registry

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"iter"

	"ibsm/mad"
)

// ServiceKey identifies a service (IBA 15.2.5.14).
type ServiceKey struct {
	ID   uint64
	GID  mad.GID // of the port that offers it, or of a multicast group
	PKey mad.PKey
}

// InfiniteLease is the lease of a service that stays.
const InfiniteLease = 0xffffffff

// Service is a ServiceRecord and when it ends.
type Service struct {
	ServiceKey
	Lease   uint32 // in seconds, as asked for
	Expires int64  // wall time in seconds since 1970; 0 with InfiniteLease
	Key     [16]byte
	Name    [64]byte
	Data    [64]byte // ServiceData8 to ServiceData64 in wire order
}

func compareServices(a, b ServiceKey) int {
	if c := cmp.Compare(a.ID, b.ID); c != 0 {
		return c
	}
	if c := compareGIDs(a.GID, b.GID); c != 0 {
		return c
	}
	return cmp.Compare(a.PKey, b.PKey)
}

// Service returns a service. It is shared and must not be written.
func (s *State) Service(k ServiceKey) (*Service, bool) { return s.services.get(k) }

// Services iterates over all services in order of ID, GID and P_Key. They are shared
// and must not be written.
func (s *State) Services() iter.Seq[*Service] {
	return func(yield func(*Service) bool) {
		for _, v := range s.services.all() {
			if !yield(v) {
				return
			}
		}
	}
}

// ServicesWithID iterates over the services of one ID, as Services does.
func (s *State) ServicesWithID(id uint64) iter.Seq[*Service] {
	return func(yield func(*Service) bool) {
		for k, v := range s.services.from(ServiceKey{ID: id}) {
			if k.ID != id || !yield(v) {
				return
			}
		}
	}
}

// Expired returns the Changes that remove services whose leases are over at now, in
// seconds since 1970, and when the next one will be; 0 if none.
func (s *State) Expired(now int64) (changes []Change, next int64) {
	for k, v := range s.services.all() {
		switch {
		case v.Expires == 0:
		case v.Expires <= now:
			changes = append(changes, DeleteService{k})
		case next == 0 || v.Expires < next:
			next = v.Expires
		}
	}
	return changes, next
}

// PutService registers a service, or replaces it and so renews its lease.
type PutService struct{ Service }

// DeleteService removes a service.
type DeleteService struct{ ServiceKey }

// Kind is KindPutService.
func (PutService) Kind() Kind { return KindPutService }

// Kind is KindDeleteService.
func (DeleteService) Kind() Kind { return KindDeleteService }

const (
	serviceKeySize = 8 + gidSize + 2
	serviceSize    = serviceKeySize + 4 + 8 + 16 + 64 + 64
)

// AppendTo implements Change.
func (c PutService) AppendTo(b []byte) []byte {
	b = c.ServiceKey.appendTo(append(b, byte(KindPutService)))
	b = binary.BigEndian.AppendUint32(b, c.Lease)
	b = binary.BigEndian.AppendUint64(b, uint64(c.Expires))
	return append(append(append(b, c.Key[:]...), c.Name[:]...), c.Data[:]...)
}

// AppendTo implements Change.
func (c DeleteService) AppendTo(b []byte) []byte {
	return c.ServiceKey.appendTo(append(b, byte(KindDeleteService)))
}

func (k *ServiceKey) appendTo(b []byte) []byte {
	b = append(binary.BigEndian.AppendUint64(b, k.ID), k.GID[:]...)
	return binary.BigEndian.AppendUint16(b, uint16(k.PKey))
}

func (r *reader) serviceKey() ServiceKey {
	return ServiceKey{ID: r.u64(), GID: r.gid(), PKey: mad.PKey(r.u16())}
}

func (r *reader) service() Service {
	return Service{
		ServiceKey: r.serviceKey(), Lease: r.u32(), Expires: int64(r.u64()),
		Key: [16]byte(r.take(16)), Name: [64]byte(r.take(64)), Data: [64]byte(r.take(64)),
	}
}

func (c PutService) check() error {
	if c.Expires < 0 || (c.Expires == 0) != (c.Lease == InfiniteLease) {
		return fmt.Errorf("service 0x%016x at %s: a lease of %d s contradicts the end at %d", c.ID, c.GID, c.Lease,
			c.Expires)
	}
	return nil
}

func (c DeleteService) check() error { return nil }

func (c PutService) apply(r *Registry) error {
	v := c.Service
	r.services.put(r.owner, c.ServiceKey, &v)
	return nil
}

func (c DeleteService) apply(r *Registry) error {
	if !r.services.remove(r.owner, c.ServiceKey) {
		return fmt.Errorf("service 0x%016x at %s: deleted, but it does not exist", c.ID, c.GID)
	}
	return nil
}
