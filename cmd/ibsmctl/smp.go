package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"ibsm/mad"
	"ibsm/mad/sarec"
	"ibsm/mad/smp"
	"ibsm/mad/umad"
	"ibsm/mad/vports"
	"ibsm/sim/ibsim"
)

// smpSource says where a verb that asks devices itself sends from.
type smpSource struct {
	device    string // a port of this host, "" for the first one with a link
	simulator bool   // a node of a simulator
	keyFile   string // with an M_Key, "" for none
}

// smpLink sends requests one after the other and waits for their answers. It belongs to one goroutine.
type smpLink struct {
	qp0, qp1 mad.Port // which may be the same
	key      mad.MKey
	came     chan mad.Datagram
	failed   chan error // holds one for each queue pair
	tid      uint32
}

// How often a request is sent, and how long an answer may take.
const (
	smpTries   = 3
	smpTimeout = 500 * time.Millisecond
)

// open opens the port that requests leave by.
func (s smpSource) open(ctx context.Context) (*smpLink, error) {
	l := &smpLink{came: make(chan mad.Datagram), failed: make(chan error, 2)}
	if s.keyFile != "" {
		key, err := readMKey(s.keyFile)
		if err != nil {
			return nil, err
		}
		l.key = key
	}
	if s.simulator {
		cfg, err := ibsim.EnvConfig(os.Getenv)
		if err != nil {
			return nil, err
		}
		port, err := ibsim.Dial(ctx, cfg)
		if err != nil {
			return nil, err
		}
		l.qp0, l.qp1 = port, port
		go l.receive(ctx, port)
		return l, nil
	}
	guid := mad.GUID(0)
	if s.device != "" {
		ports, err := umad.Ports("/")
		if err != nil {
			return nil, err
		}
		if guid, err = umad.Named("/", ports, s.device); err != nil {
			return nil, err
		}
	}
	_, dev, err := umad.OpenBest("/", guid, umad.Config{Timeout: smpTimeout})
	if err != nil {
		return nil, err
	}
	l.qp0, l.qp1 = dev.SMI, dev.GSI
	go l.receive(ctx, l.qp0)
	go l.receive(ctx, l.qp1)
	return l, nil
}

// receive passes on what comes to a queue pair, until it is closed or ctx is done.
func (l *smpLink) receive(ctx context.Context, qp mad.Port) {
	batch := make([]mad.Datagram, 16)
	for {
		n, err := qp.Recv(batch)
		for _, d := range batch[:n] {
			select {
			case l.came <- d:
			case <-time.After(smpTimeout): // nobody waits for it
			case <-ctx.Done():
			}
		}
		if err != nil {
			l.failed <- err
			return
		}
	}
}

func (l *smpLink) close() {
	l.qp0.Close()
	if l.qp1 != l.qp0 {
		l.qp1.Close()
	}
}

// exchange sends a request until it is answered, a few times at most.
func (l *smpLink) exchange(ctx context.Context, qp mad.Port, d mad.Datagram) (reply mad.Packet, ok bool, err error) {
	for range smpTries {
		l.tid++
		d.Packet.SetTID(mad.TID(l.tid))
		if _, err := qp.Send([]mad.Datagram{d}); err != nil {
			return reply, false, err
		}
		late := time.NewTimer(smpTimeout)
		for waits := true; waits; {
			select {
			case in := <-l.came:
				p := &in.Packet
				mine := uint32(p.TID()) == l.tid && p.AttrID() == d.Packet.AttrID()
				if mine && !in.TimedOut && p.IsResponse() {
					return *p, true, nil
				}
				waits = !mine // one that comes back has no answer
			case err := <-l.failed:
				return reply, false, err
			case <-late.C:
				waits = false
			case <-ctx.Done():
				return reply, false, ctx.Err()
			}
		}
		late.Stop()
	}
	return reply, false, nil
}

// get gets an attribute of subnet management.
func (l *smpLink) get(ctx context.Context, to target, attr mad.AttrID, mod uint32) (a vports.Answer, err error) {
	d := mad.Datagram{Addr: mad.Addr{LID: to.lid}}
	if to.lid == 0 {
		d.LID = mad.PermissiveLID
		d.Packet.SetDirected(&to.route, mad.MethodGet, attr, mod)
	} else {
		d.Packet.SetHeader(mad.ClassLIDRouted, mad.MethodGet, attr, mod)
	}
	d.Packet.SetMKey(l.key)
	reply, ok, err := l.exchange(ctx, l.qp0, d)
	if !ok {
		return a, err
	}
	return vports.Answer{Answered: true, Status: reply.Status(), Data: *reply.Data()}, nil
}

// find asks the SA for the LID of a port, by a path to it from the port that requests leave by.
func (l *smpLink) find(ctx context.Context, guid mad.GUID) (mad.LID, error) {
	own := target{}
	port, err := l.get(ctx, own, smp.AttrPortInfo, 0)
	if err != nil {
		return 0, err
	}
	node, err := l.get(ctx, own, smp.AttrNodeInfo, 0)
	if err != nil {
		return 0, err
	}
	info, self := smp.PortInfo(port.Data), smp.NodeInfo(node.Data)
	if !port.Answered || !node.Answered || info.MasterSMLID() == 0 {
		return 0, fmt.Errorf("no SA can be asked for GUID %v: no subnet manager has set up the port of this host; give a LID or a directed route", guid)
	}
	d := mad.Datagram{Addr: mad.Addr{LID: info.MasterSMLID(), QPN: 1, SL: info.MasterSMSL()}}
	d.Packet.SetHeader(mad.ClassSA, mad.MethodGet, sarec.AttrPathRecord, 0)
	rec := (*sarec.PathRecord)(d.Packet.SAData()[:64])
	rec.SetDGID(mad.MakeGID(info.GidPrefix(), guid))
	rec.SetSGID(mad.MakeGID(info.GidPrefix(), self.PortGUID()))
	rec.SetNumbPath(1)
	d.Packet.SetComponentMask(sarec.PathDGID | sarec.PathSGID | sarec.PathNumbPath)
	reply, ok, err := l.exchange(ctx, l.qp1, d)
	switch {
	case err != nil:
		return 0, err
	case !ok:
		return 0, fmt.Errorf("the SA at LID %d does not answer; give a LID or a directed route", info.MasterSMLID())
	case reply.Status() != mad.StatusOK:
		return 0, fmt.Errorf("the SA at LID %d knows no path to GUID %v: %v", info.MasterSMLID(), guid, reply.Status())
	}
	lid := (*sarec.PathRecord)(reply.SAData()[:64]).DLID()
	if !lid.IsUnicast() {
		return 0, fmt.Errorf("the SA at LID %d says that GUID %v has LID %d", info.MasterSMLID(), guid, lid)
	}
	return lid, nil
}
