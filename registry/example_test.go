package registry_test

import (
	"fmt"

	"ibsm/mad"
	"ibsm/registry"
)

// A port creates a group; a reader keeps its picture while the group goes again.
func Example() {
	r := registry.New()
	broadcast := registry.Group{
		MGID: mad.GID{0xff, 0x12, 0x40, 0x1b, 0xff, 0xff, 12: 0xff, 13: 0xff, 14: 0xff, 15: 0xff},
		PKey: mad.DefaultPKey, QKey: 0x0b1b, MTU: mad.MTU2048, Rate: 3,
	}
	mlid, _ := r.AllotMLID(&broadcast, registry.MLIDPolicy{})
	broadcast.MLID = mlid
	port := mad.MakeGID(mad.DefaultPrefix, 0x0002c90300001235)
	changes := []registry.Change{
		registry.PutGroup{Group: broadcast},
		r.Join(registry.Member{MGID: broadcast.MGID, Port: port, JoinState: registry.FullMember}),
	}
	for _, c := range changes {
		if err := r.Apply(c); err != nil {
			fmt.Println(err)
		}
	}
	seen := r.Freeze()

	for _, c := range r.Leave(broadcast.MGID, port, registry.FullMember) {
		_ = r.Apply(c)
	}
	fmt.Printf("change %d: MLID 0x%x, %d full member\n", seen.Seq(), uint16(mlid), seen.FullMembers(broadcast.MGID))
	fmt.Printf("change %d: %d groups\n", r.Seq(), r.Counts().Groups)
	// Output:
	// change 2: MLID 0xc000, 1 full member
	// change 3: 0 groups
}
