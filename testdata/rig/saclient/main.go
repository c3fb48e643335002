// saclient registers at the SA what programs of hosts register beside what the kernel
// does: a service, and subscriptions to ports and groups that come and go.
//
//	saclient PORT-GUID
//	saclient subscribe PORT-GUID...      only subscriptions to new groups
//	saclient groups PORT-GUID EVENTS     create groups, print when the Reports come
package main

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"time"

	"ibsm/mad"
	"ibsm/mad/sarec"
	"ibsm/mad/smp"
	"ibsm/mad/umad"
)

// patience is how often a request is sent before it is given up, a second apart.
const patience = 10

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "saclient:", err)
		os.Exit(1)
	}
}

var errUsage = errors.New("usage: saclient PORT-GUID | subscribe PORT-GUID... | groups PORT-GUID EVENTS")

func run(args []string) error {
	switch {
	case len(args) == 1:
		return at(args[0], (*client).register)
	case len(args) == 3 && args[0] == "groups":
		events, err := strconv.Atoi(args[2])
		if err != nil {
			return err
		}
		return at(args[1], func(c *client) error { return c.groups(events) })
	case len(args) > 1 && args[0] == "subscribe":
		for _, guid := range args[1:] {
			subscribe := func(c *client) error { return c.ask(subscription(uint16(smp.TrapGroupCreated))) }
			if err := at(guid, subscribe); err != nil {
				return err
			}
		}
		return nil
	}
	return errUsage
}

// at has the client of a port do something.
func at(guid string, do func(*client) error) error {
	n, err := strconv.ParseUint(guid, 0, 64)
	if err != nil {
		return err
	}
	return do(&client{guid: mad.GUID(n)})
}

func (c *client) register() error {
	if err := c.ask(c.service()); err != nil {
		return fmt.Errorf("service: %w", err)
	}
	for trap := uint16(64); trap < 68; trap++ {
		if err := c.ask(subscription(trap)); err != nil {
			return fmt.Errorf("subscription to trap %d: %w", trap, err)
		}
	}
	return nil
}

// client is a port that asks.
type client struct {
	guid mad.GUID
	tid  mad.TID
}

func (c *client) service() (p mad.Packet) {
	p.SetHeader(mad.ClassSA, mad.MethodSet, sarec.AttrServiceRecord, 0)
	p.SetComponentMask(sarec.ServiceServiceID | sarec.ServiceServiceGID | sarec.ServiceServicePKey |
		sarec.ServiceServiceLease | sarec.ServiceServiceName)
	rec := (*sarec.ServiceRecord)(p.SAData()[:])
	rec.SetServiceID(uint64(c.guid))
	rec.SetServiceGID(mad.MakeGID(mad.DefaultPrefix, c.guid))
	rec.SetServicePKey(mad.DefaultPKey)
	rec.SetServiceLease(0xffffffff) // for ever
	var name [64]byte
	copy(name[:], "rig")
	rec.SetServiceName(name)
	return p
}

func subscription(trap uint16) (p mad.Packet) {
	p.SetHeader(mad.ClassSA, mad.MethodSet, sarec.AttrInformInfo, 0)
	info := (*sarec.InformInfo)(p.SAData()[:])
	info.SetLIDRangeBegin(0xffff)
	info.SetIsGeneric(1)
	info.SetSubscribe(1)
	info.SetType(0xffff)
	info.SetTrapNumber(trap)
	info.SetQPN(1)
	info.SetProducerType(4)
	return p
}

// ask sends a request to whom the port now knows as its master, until there is an answer.
func (c *client) ask(p mad.Packet) error {
	for range patience {
		answer, err := c.try(p)
		switch {
		case err != nil:
			return err
		case answer.TimedOut:
			continue
		case answer.Packet.Status() != mad.StatusOK:
			return fmt.Errorf("refused: %v", answer.Packet.Status())
		}
		return nil
	}
	return fmt.Errorf("no answer in %d attempts", patience)
}

func (c *client) try(p mad.Packet) (answer mad.Datagram, err error) {
	pair, dev, err := umad.OpenBest("/", c.guid, umad.Config{Timeout: time.Second})
	if err != nil {
		return answer, err
	}
	defer dev.Close()
	var master uint64
	text, err := os.ReadFile(fmt.Sprintf("/sys/class/infiniband/%s/ports/%d/sm_lid", pair.GSI.Device, pair.GSI.Number))
	if err == nil {
		_, err = fmt.Sscanf(string(text), "0x%x", &master)
	}
	if err != nil {
		return answer, err
	}
	c.tid++
	p.SetTID(c.tid)
	d := []mad.Datagram{{Addr: mad.Addr{LID: mad.LID(master), QPN: 1}, Packet: p}}
	if _, err := dev.GSI.Send(d); err != nil {
		return answer, err
	}
	_, err = dev.GSI.Recv(d)
	return d[0], err
}
