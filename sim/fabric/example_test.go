package fabric_test

import (
	"fmt"
	"time"

	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/sim/fabric"
	"ibsm/topo/net"
)

func ExampleNew() {
	n, err := net.Generate("fattree:k=4,levels=2")
	if err != nil {
		fmt.Println(err)
		return
	}
	f := fabric.New(n, fabric.Config{Latency: 5 * time.Microsecond})
	host := int32(len(n.Nodes) - 1)
	st, err := f.Attach(net.End{Node: host, Port: 1})
	if err != nil {
		fmt.Println(err)
		return
	}
	d := make([]mad.Datagram, 1)
	route := mad.MakeRoute(1) // out of port 1, to the leaf switch
	d[0].LID = mad.PermissiveLID
	d[0].Packet.SetDirected(&route, mad.MethodGet, smp.AttrNodeInfo, 0)
	st.Send(d)
	for at, ok := f.Next(); ok; at, ok = f.Next() {
		f.Advance(at)
	}
	if st.Recv(d) == 1 {
		info := smp.NodeInfo(*d[0].Packet.Data())
		fmt.Println(f.Now(), info.NodeType(), info.NumPorts(), "ports")
	}
	// Output: 10µs switch 4 ports
}
