package daemon

import (
	"context"

	"ibsm/conf"
	"ibsm/mad/umad"
	"ibsm/sa/client"
)

// umadPort is QP0 of a device, which is closed with it.
type umadPort struct {
	*umad.Port
	dev *umad.Device
}

func (p umadPort) Close() error { return p.dev.Close() }

// HostPort opens the port of this host with the GUID that the configuration names, or the
// best one. Once open, it stays the same port.
func HostPort(l *conf.Loaded) Opener {
	guid := portGUID(l.Config)
	name := "the best port of this host"
	if guid != 0 {
		name = "GUID " + guid.String()
	}
	timeout, retries := conf.TransactionTimeout.In(l.Config), min(conf.TransactionRetries.In(l.Config), conf.MostRetries)
	cfg := umad.Config{
		Serve:         !l.DryRun,
		Timeout:       patience(timeout, retries),
		QueryTimeout:  patience(client.DefaultTimeout, client.Retries),
		ReportTimeout: timeout, ReportRetries: retries,
	}
	return Opener{Name: name, Open: func(context.Context) (*Port, error) {
		pair, dev, err := umad.OpenBest("/", guid, cfg)
		if err != nil {
			return nil, err
		}
		guid = pair.GUID()
		return &Port{
			SMI: umadPort{dev.SMI, dev}, GSI: dev.GSI, GUID: pair.SMI.GUID, Name: pair.String() + ", GUID " + guid.String(),
			SetIsSM:        func(_ context.Context, is bool) error { return dev.SetIsSM(is) },
			RetriesReports: true,
			State:          pair.SMI.CurrentState,
			Held:           func() (qp0, qp1 int) { return dev.SMI.Stats().Held, dev.GSI.Stats().Held },
		}, nil
	}}
}
