package main

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"ibsm/mad"
	"ibsm/mad/sarec"
	"ibsm/mad/smp"
	"ibsm/mad/umad"
)

// eventInterval is from one event to the next.
const eventInterval = 5 * time.Second

// groups creates a multicast group again and again and prints when the Reports of that come,
// which it answers; in the last line after how many ms the first of an event came at the latest,
// and how many there were of one event at most.
func (c *client) groups(events int) error {
	if err := c.ask(subscription(uint16(smp.TrapGroupCreated))); err != nil {
		return fmt.Errorf("subscription: %w", err)
	}
	_, dev, err := umad.OpenBest("/", c.guid, umad.Config{Serve: true, Timeout: time.Second})
	if err != nil {
		return err
	}
	defer dev.Close()
	reports := make(chan report, 1000)
	go receive(dev.GSI, reports)
	var firsts []time.Duration
	copies := 0
	for i := range events {
		p, mgid := c.newGroup(byte(i + 1))
		began := time.Now()
		if err := c.ask(p); err != nil {
			return fmt.Errorf("group: %w", err)
		}
		var after []time.Duration
		for end := time.After(time.Until(began.Add(eventInterval))); end != nil; {
			select {
			case r := <-reports:
				if r.about == mgid {
					after = append(after, r.at.Sub(began).Round(time.Millisecond))
				}
			case <-end:
				end = nil
			}
		}
		fmt.Printf("event %d: Reports after %v\n", i+1, after)
		if len(after) == 0 {
			return errors.New("no Report")
		}
		firsts, copies = append(firsts, after[0]), max(copies, len(after))
	}
	fmt.Println(slices.Max(firsts).Milliseconds(), copies)
	return nil
}

// report is one that came.
type report struct {
	about mad.GID
	at    time.Time
}

// receive answers Reports until the port is closed.
func receive(port *umad.Port, reports chan<- report) {
	ds := make([]mad.Datagram, 16)
	for {
		n, err := port.Recv(ds)
		if err != nil {
			return
		}
		for i := range ds[:n] {
			p := &ds[i].Packet
			if p.MgmtClass() != mad.ClassSA || p.Method() != mad.MethodReport {
				continue
			}
			s := (*sarec.Notice)(p.SAData()[:]).Notice()
			reports <- report{s.Address().GID(), time.Now()}
			p.SetMethod(mad.MethodReportResp)
			if _, err := port.Send(ds[i : i+1]); err != nil {
				fmt.Fprintln(os.Stderr, "saclient:", err)
			}
		}
	}
}

// newGroup is a join that creates a group.
func (c *client) newGroup(n byte) (p mad.Packet, mgid mad.GID) {
	p.SetHeader(mad.ClassSA, mad.MethodSet, sarec.AttrMCMemberRecord, 0)
	p.SetComponentMask(sarec.MCMemberMGID | sarec.MCMemberPortGID | sarec.MCMemberQKey | sarec.MCMemberTClass |
		sarec.MCMemberPKey | sarec.MCMemberSL | sarec.MCMemberFlowLabel | sarec.MCMemberJoinState)
	mgid = mad.GID{0: 0xff, 1: 0x15, 14: 0xab, 15: n}
	rec := (*sarec.MCMemberRecord)(p.SAData()[:])
	rec.SetMGID(mgid)
	rec.SetPortGID(mad.MakeGID(mad.DefaultPrefix, c.guid))
	rec.SetQKey(0xb1b)
	rec.SetPKey(mad.DefaultPKey)
	rec.SetJoinState(1)
	return p, mgid
}
