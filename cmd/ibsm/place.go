package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"

	"ibsm/conf"
	"ibsm/daemon"
	"ibsm/mad"
	"ibsm/sim/fabric"
	"ibsm/sim/ibsim"
	"ibsm/sim/playback"
	"ibsm/topo/net"
)

// opener opens the port that the options name. Nothing is opened yet; a topology that
// cannot be read is wrong usage.
func opener(l *conf.Loaded) (daemon.Opener, error) {
	device := conf.GUIDDevice.In(l.Config)
	switch {
	case device != "" && (l.Fabric != "" || l.IBSim):
		return daemon.Opener{},
			&daemon.UsageError{
				Text: "guid " + device +
					" names a device of this host, and the fabric is simulated; give a GUID, or none",
			}
	case l.Fabric != "" && l.IBSim:
		return daemon.Opener{}, &daemon.UsageError{Text: "--fabric and --ibsim exclude each other"}
	case l.IBSim:
		return simulator()
	case l.Fabric != "":
		return embedded(l.Fabric, daemon.PortGUID(l))
	}
	return daemon.HostPort(l), nil
}

// simulator opens a port of the ibsim that runs.
func simulator() (daemon.Opener, error) {
	cfg, err := ibsim.EnvConfig(os.Getenv)
	if err != nil {
		return daemon.Opener{}, &daemon.UsageError{Text: err.Error()}
	}
	name := "ibsim at " + cfg.String()
	return daemon.Opener{Name: name, Open: func(ctx context.Context) (*daemon.Port, error) {
		p, err := ibsim.Dial(ctx, cfg)
		if err != nil {
			return nil, err
		}
		// ibsim does not give the GUID of a port, only that of its node.
		return &daemon.Port{SMI: p, GUID: p.NodeGUID(), Name: name, SetIsSM: p.SetIsSM, PlainPeers: true}, nil
	}}, nil
}

// embedded opens the port with a GUID, 0 for the first, of a fabric inside this process.
func embedded(spec string, guid mad.GUID) (daemon.Opener, error) {
	if playback.IsSpec(spec) {
		return played(spec, guid)
	}
	n, err := loadNet(spec)
	if err != nil {
		return daemon.Opener{}, err
	}
	f := fabric.New(n, fabric.Config{Seed: 1})
	at, err := attachAt(f, guid)
	if err != nil {
		return daemon.Opener{}, err
	}
	return inProcess(f, at, "embedded fabric "+spec, func(p mad.Port) mad.Port { return p }), nil
}

// inProcess opens a port of a fabric inside this process.
func inProcess(f *fabric.Fabric, at net.End, name string, wrap func(mad.Port) mad.Port) daemon.Opener {
	inside := fabric.NewRealTime(f)
	return daemon.Opener{Name: name, Open: func(context.Context) (*daemon.Port, error) {
		p, err := inside.Open(at)
		if err != nil {
			return nil, err
		}
		return &daemon.Port{SMI: wrap(p), GUID: p.GUID(), Name: name, SetIsSM: p.SetIsSM}, nil
	}}
}

// played opens a port of the devices of a capture, by its GUID. GUID 0 means the port of the recorded manager. It
// prints what the capture holds, and when the port is closed how the devices have answered.
func played(spec string, guid mad.GUID) (daemon.Opener, error) {
	d, err := playback.Load(spec)
	if err != nil {
		return daemon.Opener{},
			&daemon.UsageError{
				Text: err.Error(),
				Hint: "--fabric capture:FILE takes a file of ibsm --record, ibsmctl capture or ibdump",
			}
	}
	fmt.Fprintf(os.Stderr, "%s: %v\n", spec, d)
	f, at := d.Fabric(fabric.Config{Seed: 1}), d.At
	if guid != 0 {
		if at, err = attachAt(f, guid); err != nil {
			return daemon.Opener{}, err
		}
	}
	return inProcess(f, at, "devices of "+spec, func(p mad.Port) mad.Port {
		return &playedPort{Port: p, spec: spec, devices: d}
	}), nil
}

// playedPort is a port of devices that are played back.
type playedPort struct {
	mad.Port
	spec    string
	devices *playback.Devices
	once    sync.Once
}

// Close also prints how the devices have answered.
func (p *playedPort) Close() error {
	p.once.Do(func() { fmt.Fprintf(os.Stderr, "%s: %s\n", p.spec, p.devices.Answered()) })
	return p.Port.Close()
}

// loadNet reads a topology file or generates a topology. What it cannot is wrong usage.
func loadNet(spec string) (*net.Net, error) {
	n, err := net.Load(spec)
	var wrong *net.SpecError
	var unread *fs.PathError
	hint := ""
	switch {
	case err == nil:
		n.Warnings.Warn(os.Stderr)
		return n, nil
	case errors.As(err, &wrong):
		hint = cmp.Or(wrong.Hint, "ibfabric gen --help describes the generators")
	case errors.As(err, &unread):
		hint = "--fabric takes a topology file, a generator such as fattree:k=8, or capture:FILE"
	}
	return nil, &daemon.UsageError{Text: err.Error(), Hint: hint}
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
