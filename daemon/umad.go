package daemon

import (
	"context"

	"ibsm/conf"
	"ibsm/mad"
	"ibsm/mad/umad"
	"ibsm/sa/client"
)

// umadPort is QP0 of a device, which is closed with it.
type umadPort struct {
	*umad.Port
	dev *umad.Device
}

func (p umadPort) Close() error { return p.dev.Close() }

// HostPort opens the port of this host that the configuration names by its GUID, its device or its interface, or the
// best one. Once open, it stays the same port.
func HostPort(l *conf.Loaded) Opener {
	guid := portGUID(l.Config)
	name := "the best port of this host"
	device := conf.GUIDDevice.In(l.Config)
	switch {
	case device != "":
		name = device
	case guid != 0:
		name = "GUID " + guid.String()
	}
	timeout, retries := conf.TransactionTimeout.In(l.Config),
		min(conf.TransactionRetries.In(l.Config), conf.MostRetries)
	cfg := umad.Config{
		Serve:         !l.DryRun,
		Timeout:       patience(timeout, retries),
		QueryTimeout:  patience(client.DefaultTimeout, client.Retries),
		ReportTimeout: timeout, ReportRetries: retries,
	}
	return Opener{Name: name, Open: func(context.Context) (*Port, error) {
		if device != "" && guid == 0 {
			named, err := namedPort("/", device)
			if err != nil {
				return nil, err
			}
			guid = named
		}
		pair, dev, err := umad.OpenBest("/", guid, cfg)
		if err != nil {
			return nil, err
		}
		guid = pair.GUID()
		return &Port{
			SMI: umadPort{dev.SMI, dev}, GSI: dev.GSI, GUID: pair.SMI.GUID, Name: pair.String() + ", GUID " +
				guid.String(),
			SetIsSM:        func(_ context.Context, is bool) error { return dev.SetIsSM(is) },
			RetriesReports: true,
			State:          dev.State,
			Held:           func() (qp0, qp1 int) { return dev.SMI.Stats().Held, dev.GSI.Stats().Held },
		}, nil
	}}
}

// namedPort is the GUID of the port of a device or an interface of a host.
func namedPort(root, name string) (mad.GUID, error) {
	ports, err := umad.Ports(root)
	if err != nil {
		return 0, err
	}
	return umad.Named(root, ports, name)
}
