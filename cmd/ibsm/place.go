package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"ibsm/conf"
	"ibsm/mad"
	"ibsm/sim/fabric"
	"ibsm/sim/ibsim"
	"ibsm/topo/net"
)

// place is where a manager can run.
type place interface {
	open(ctx context.Context) (smPort, error)
	String() string
}

// newPlace makes what the options ask for. Nothing is opened yet; a topology that
// cannot be read is a mistake of usage.
func newPlace(l *conf.Loaded) (place, error) {
	if l.Fabric != "" && l.IBSim {
		return nil, &usageError{"--fabric and --ibsim exclude each other", ""}
	}
	if l.IBSim {
		cfg, err := ibsim.EnvConfig(os.Getenv)
		if err != nil {
			return nil, &usageError{err.Error(), ""}
		}
		return simulator{cfg}, nil
	}
	if l.Fabric == "" {
		return newUserMAD(l), nil
	}
	n, err := loadNet(l.Fabric)
	if err != nil {
		return nil, err
	}
	f := fabric.New(n, fabric.Config{Seed: 1})
	at, err := attachAt(f, portGUID(l.Config))
	if err != nil {
		return nil, err
	}
	return &embedded{f: f, at: at, spec: l.Fabric, start: time.Now()}, nil
}

// loadNet reads a topology file or makes a topology. What it cannot is a mistake of usage.
func loadNet(spec string) (*net.Net, error) {
	n, err := net.Load(spec)
	var wrong *net.SpecError
	var unread *fs.PathError
	hint := ""
	switch {
	case err == nil:
		return n, nil
	case errors.As(err, &wrong):
		hint = cmp.Or(wrong.Hint, "ibfabric gen --help describes the generators")
	case errors.As(err, &unread):
		hint = "--fabric takes a topology file, or a generator such as fattree:k=8"
	}
	return nil, &usageError{err.Error(), hint}
}

// attachAt is the port with a GUID, or the first port of the first adapter.
func attachAt(f *fabric.Fabric, guid mad.GUID) (net.End, error) {
	if guid != 0 {
		at, ok := f.Find(guid)
		if !ok {
			return at, fmt.Errorf("no port of the fabric has GUID %v", guid)
		}
		return at, nil
	}
	for at := range f.EndPorts() {
		if f.NodeType(at.Node) == mad.CA && f.Peer(at).Node >= 0 {
			return at, nil
		}
	}
	return net.NoEnd, fmt.Errorf("the fabric has no channel adapter with a cable")
}

// simulator is a running ibsim.
type simulator struct{ cfg ibsim.Config }

func (s simulator) String() string { return "ibsim at " + s.cfg.String() }

func (s simulator) open(ctx context.Context) (smPort, error) {
	p, err := ibsim.Dial(ctx, s.cfg)
	if err != nil {
		return nil, err
	}
	return simulatorPort{p}, nil
}

// simulatorPort is a port of ibsim.
type simulatorPort struct{ *ibsim.Port }

// GUID is the node's: ibsim does not tell that of a port.
func (p simulatorPort) GUID() mad.GUID { return p.NodeGUID() }
